// Elementwise kernel: each invocation computes `TURNS` groups of neighbouring elements of every
// output. The function `compute` is the expression; the code around it loads operands and stores
// results.

// <interface>
const WORKGROUP = 256u;
const TURNS = 1u;
@group(0) @binding(0) var<storage, read> b0: array<vec4<f32>>;
@group(0) @binding(1) var<storage, read_write> b1: array<vec4<f32>>;
@group(0) @binding(2) var<uniform> params: array<vec4u, 1>;
fn compute(v0: f32) -> f32 { return -v0; }
// </interface>

@compute @workgroup_size(WORKGROUP)
fn main(
  @builtin(workgroup_id) group: vec3u,
  @builtin(num_workgroups) groups: vec3u,
  @builtin(local_invocation_index) invocation: u32,
) {
  let items = params[0].y;
  let first = (group.y * groups.x + group.x + params[0].x) * TURNS * WORKGROUP + invocation;
  // <ahead>
  let given = params;
  // </ahead>
  for (var turn = 0u; turn < TURNS; turn++) {
    let item = first + turn * WORKGROUP;
    if (item >= items) { return; }
    // <work>
    let a0 = b0[item];
    b1[item] = vec4<f32>(compute(a0.x), compute(a0.y), compute(a0.z), compute(a0.w));
    // </work>
  }
}
