// Scatter into few elements: each workgroup combines a chunk of the values in workgroup memory, and then combines the
// results with the elements once.

// <interface>
const WORKGROUP = 256u;
const NOWHERE = 4294967295u;
const BINS = 4096u;
@group(0) @binding(0) var<storage, read> b0: array<u32>;
@group(0) @binding(1) var<storage, read_write> b1: array<atomic<u32>>;
@group(0) @binding(2) var<uniform> params: array<vec4u, 2>;
alias Element = u32;
var<workgroup> bins: array<atomic<Element>, BINS>;
fn place_at(item: u32) -> u32 { return b0[item]; }
fn value_at(item: u32) -> Element { return 1u; }
fn none() -> Element { return 0u; }
fn combine(at: u32, value: Element) { atomicAdd(&bins[at], value); }
fn put(at: u32, value: Element) { atomicAdd(&b1[at], value); }
// </interface>

@compute @workgroup_size(WORKGROUP)
fn main(
  @builtin(workgroup_id) group: vec3u,
  @builtin(num_workgroups) groups: vec3u,
  @builtin(local_invocation_index) invocation: u32,
) {
  let first = (group.y * groups.x + group.x + params[0].x) * params[0].z;
  let last = min(first + params[0].z, params[0].y);
  for (var at = invocation; at < params[0].w; at += WORKGROUP) { atomicStore(&bins[at], none()); }
  workgroupBarrier();
  for (var item = first + invocation; item < last; item += WORKGROUP) {
    let at = place_at(item);
    if (at != NOWHERE) { combine(at, value_at(item)); }
  }
  workgroupBarrier();
  for (var at = invocation; at < params[0].w; at += WORKGROUP) {
    let value = atomicLoad(&bins[at]);
    if (value != none()) { put(at, value); }
  }
}
