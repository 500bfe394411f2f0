// Cholesky decompositions of blocks on the diagonal of matrices, in place: a workgroup for each, in its memory.

// <interface>
const WORKGROUP = 64u;
const PANEL = 32u;
alias Number = f32;
fn minus_product(x: Number, a: Number, b: Number) -> Number { return fma(-a, b, x); }
fn conjugate(x: Number) -> Number { return x; }
fn divided_by_real(a: Number, b: f32) -> Number { return divide_f32(a, b); }
fn real_part(x: Number) -> f32 { return x; }
fn real(x: f32) -> Number { return x; }
@group(0) @binding(0) var<storage, read_write> b0: array<f32>;
@group(0) @binding(1) var<uniform> params: array<vec4u, 2>;
// </interface>

var<workgroup> block: array<Number, PANEL * PANEL>;

@compute @workgroup_size(WORKGROUP)
fn main(
  @builtin(workgroup_id) group: vec3u,
  @builtin(num_workgroups) groups: vec3u,
  @builtin(local_invocation_index) invocation: u32,
) {
  let matrix = group.y * groups.x + group.x + params[0].x;
  if (matrix >= params[0].y) { return; }
  let length = params[0].w;
  let width = params[1].y;
  let base = matrix * params[0].z + params[1].x * (length + 1u);
  for (var k = invocation; k < PANEL * PANEL; k += WORKGROUP) {
    if (k / PANEL < width && k % PANEL < width) { block[k] = b0[base + k / PANEL * length + k % PANEL]; }
  }
  workgroupBarrier();
  for (var j = 0u; j < width; j++) {
    let root = sqrt_f32(real_part(block[j * PANEL + j]));
    workgroupBarrier();
    for (var i = j + invocation; i < width; i += WORKGROUP) {
      var x = real(root);
      if (i > j) { x = divided_by_real(block[i * PANEL + j], root); }
      block[i * PANEL + j] = x;
    }
    workgroupBarrier();
    for (var k = invocation; k < PANEL * PANEL; k += WORKGROUP) {
      let row = k / PANEL;
      let column = k % PANEL;
      if (column > j && row >= column && row < width) {
        block[k] = minus_product(block[k], block[row * PANEL + j], conjugate(block[column * PANEL + j]));
      }
    }
    workgroupBarrier();
  }
  for (var k = invocation; k < PANEL * PANEL; k += WORKGROUP) {
    if (k / PANEL < width && k % PANEL < width) { b0[base + k / PANEL * length + k % PANEL] = block[k]; }
  }
}
