// Scatter: each invocation writes one value at the address given by its indices. The function `put`
// combines it with the element there and with other values for the same address.

// <interface>
const WORKGROUP = 256u;
const NOWHERE = 4294967295u;
@group(0) @binding(0) var<storage, read> b0: array<u32>;
@group(0) @binding(1) var<storage, read> b1: array<f32>;
@group(0) @binding(2) var<storage, read_write> b2: array<f32>;
@group(0) @binding(3) var<uniform> params: array<vec4u, 1>;
fn place_at(item: u32) -> u32 { return b0[item]; }
fn value_at(item: u32) -> f32 { return b1[item]; }
fn put(at: u32, item: u32) { b2[at] = value_at(item); }
// </interface>

@compute @workgroup_size(WORKGROUP)
fn main(
  @builtin(workgroup_id) group: vec3u,
  @builtin(num_workgroups) groups: vec3u,
  @builtin(local_invocation_index) invocation: u32,
) {
  let item = (group.y * groups.x + group.x + params[0].x) * WORKGROUP + invocation;
  if (item >= params[0].y) { return; }
  let at = place_at(item);
  if (at != NOWHERE) { put(at, item); }
}
