// Serial scan: an invocation scans a slice of a row, or of several neighbouring rows. If rows are cut
// into slices, other kernels have computed the fold of all earlier slices, and an invocation starts
// from that value.

// <interface>
const WORKGROUP = 256u;
@group(0) @binding(0) var<storage, read> b0: array<f32>;
@group(0) @binding(1) var<storage, read_write> b1: array<f32>;
@group(0) @binding(2) var<storage, read> b2: array<f32>;
@group(0) @binding(3) var<uniform> params: array<vec4u, 2>;
fn combine(x: f32, y: f32) -> f32 { return x + y; }
fn element(v0: f32) -> f32 { return v0; }
// </interface>

@compute @workgroup_size(WORKGROUP)
fn main(
  @builtin(workgroup_id) group: vec3u,
  @builtin(num_workgroups) groups: vec3u,
  @builtin(local_invocation_index) invocation: u32,
) {
  let item = (group.y * groups.x + group.x + params[0].x) * WORKGROUP + invocation;
  let rows = params[0].y;
  if (item >= rows * params[0].z) { return; }
  let row = item % rows;
  let slice = item / rows;
  let first = slice * params[0].w;
  let last = min(first + params[0].w, params[1].x);
  // <start>
  let none = bitcast<f32>(params[1].y);
  var acc0 = none;
  if (slice > 0u) { acc0 = b2[(slice - 1u) * params[1].z + row]; }
  // </start>
  var at = first;
  // <scan>
  for (; at < last; at++) {
    acc0 = combine(acc0, element(b0[row * params[1].x + at]));
    b1[row * params[1].x + at] = acc0;
  }
  // </scan>
}
