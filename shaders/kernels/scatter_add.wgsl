// Scatter, combining in order, second part: each invocation combines the runs of equal addresses that
// begin in its chunk with their elements. If the last run continues in later chunks, it also combines
// the heads of those chunks, or of whole groups of chunks.

// <interface>
const WORKGROUP = 256u;
const NOWHERE = 4294967295u;
const GROUP = 256u;
@group(0) @binding(0) var<storage, read> b0: array<f32>;
@group(0) @binding(1) var<storage, read> b1: array<u32>;
@group(0) @binding(2) var<storage, read> b2: array<i32>;
@group(0) @binding(3) var<storage, read> b3: array<f32>;
@group(0) @binding(4) var<storage, read_write> b4: array<f32>;
@group(0) @binding(5) var<uniform> params: array<vec4u, 1>;
alias Element = f32;
fn combined(x: Element, y: Element) -> Element { return x + y; }
fn value_at(item: u32) -> Element { return b0[item]; }
fn place_of(p: u32) -> u32 { return b1[b2[p]]; }
fn sorted_value(p: u32) -> Element { return value_at(u32(b2[p])); }
fn head_of(chunk: u32) -> Element { return b3[chunk]; }
fn load_element(at: u32) -> Element { return b4[at]; }
fn store_element(at: u32, total: Element) { b4[at] = total; }
// </interface>

@compute @workgroup_size(WORKGROUP)
fn main(
  @builtin(workgroup_id) group: vec3u,
  @builtin(num_workgroups) groups: vec3u,
  @builtin(local_invocation_index) invocation: u32,
) {
  let chunk = (group.y * groups.x + group.x + params[0].x) * WORKGROUP + invocation;
  let chunks = params[0].y;
  if (chunk >= chunks) { return; }
  let length = params[0].w;
  let first = chunk * length;
  let last = min(first + length, params[0].z);
  var p = first;
  if (chunk > 0u) {
    let before = place_of(first - 1u);
    while (p < last && place_of(p) == before) { p++; }
  }
  while (p < last) {
    let at = place_of(p);
    if (at == NOWHERE) { return; }
    var total = load_element(at);
    while (p < last && place_of(p) == at) {
      total = combined(total, sorted_value(p));
      p++;
    }
    var next = chunk + 1u;
    while (p == last && next < chunks && place_of(next * length) == at) {
      if (next % GROUP == 0u) {
        total = combined(total, head_of(chunks + next / GROUP));
        next += GROUP;
      } else {
        total = combined(total, head_of(next));
        next++;
      }
    }
    store_element(at, total);
  }
}
