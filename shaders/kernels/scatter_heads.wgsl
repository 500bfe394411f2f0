// Scatter, combining in order, first part: the values are sorted by address and cut into chunks of
// `params[0].w`. Each invocation combines the leading values of its chunk that have one address.

// <interface>
const WORKGROUP = 256u;
const NOWHERE = 4294967295u;
@group(0) @binding(0) var<storage, read> b0: array<f32>;
@group(0) @binding(1) var<storage, read> b1: array<u32>;
@group(0) @binding(2) var<storage, read> b2: array<i32>;
@group(0) @binding(3) var<storage, read_write> b3: array<f32>;
@group(0) @binding(4) var<uniform> params: array<vec4u, 1>;
alias Element = f32;
fn combined(x: Element, y: Element) -> Element { return x + y; }
fn value_at(item: u32) -> Element { return b0[item]; }
fn place_of(p: u32) -> u32 { return b1[b2[p]]; }
fn sorted_value(p: u32) -> Element { return value_at(u32(b2[p])); }
fn store_head(chunk: u32, total: Element) { b3[chunk] = total; }
// </interface>

@compute @workgroup_size(WORKGROUP)
fn main(
  @builtin(workgroup_id) group: vec3u,
  @builtin(num_workgroups) groups: vec3u,
  @builtin(local_invocation_index) invocation: u32,
) {
  let chunk = (group.y * groups.x + group.x + params[0].x) * WORKGROUP + invocation;
  if (chunk >= params[0].y) { return; }
  let first = chunk * params[0].w;
  let last = min(first + params[0].w, params[0].z);
  let at = place_of(first);
  if (at == NOWHERE) { return; }
  var total = sorted_value(first);
  for (var p = first + 1u; p < last && place_of(p) == at; p++) { total = combined(total, sorted_value(p)); }
  store_head(chunk, total);
}
