// A user-defined kernel: each invocation runs the body for one index.

// <interface>
const WORKGROUP = 64u;
@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> y: array<f32>;
@group(0) @binding(2) var<uniform> params: array<vec4u, 1>;
// </interface>

@compute @workgroup_size(WORKGROUP)
fn main(
  @builtin(workgroup_id) group: vec3u,
  @builtin(num_workgroups) groups: vec3u,
  @builtin(local_invocation_index) invocation: u32,
) {
  let index = (group.y * groups.x + group.x + params[0].x) * WORKGROUP + invocation;
  if (index >= params[0].y) { return; }
  // <body>
  y[index] = x[index];
  // </body>
}
