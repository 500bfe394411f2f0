// Cholesky decompositions of matrices that fit in workgroup memory: `UNITS` matrices per workgroup and `TEAM`
// invocations per matrix, each with one row. In each step, every invocation computes its element of one column, and all
// of them compute the diagonal element.

// <interface>
const TEAM = 16u;
const UNITS = 4u;
alias Number = f32;
fn minus_product(x: Number, a: Number, b: Number) -> Number { return fma(-a, b, x); }
fn conjugate(x: Number) -> Number { return x; }
fn square(x: Number) -> f32 { return x * x; }
fn divided_by_real(a: Number, b: f32) -> Number { return divide_f32(a, b); }
fn real_part(x: Number) -> f32 { return x; }
fn real(x: f32) -> Number { return x; }
@group(0) @binding(0) var<storage, read> b0: array<f32>;
@group(0) @binding(1) var<storage, read_write> b1: array<f32>;
@group(0) @binding(2) var<uniform> params: array<vec4u, 1>;
// </interface>

const PITCH = TEAM + 1u;
var<workgroup> cells: array<Number, UNITS * TEAM * PITCH>;  // the matrices, row-major

@compute @workgroup_size(UNITS * TEAM)
fn main(
  @builtin(workgroup_id) group: vec3u,
  @builtin(num_workgroups) groups: vec3u,
  @builtin(local_invocation_index) invocation: u32,
) {
  let own = invocation / TEAM;
  let row = invocation % TEAM;
  let first = own * TEAM * PITCH;
  let matrix = (group.y * groups.x + group.x + params[0].x) * UNITS + own;
  let n = params[0].w;
  let is_used = matrix < params[0].y && row < n;
  let base = matrix * params[0].z;
  if (is_used) {
    for (var r = row; r < n; r++) { cells[first + r * PITCH + row] = b0[base + r * n + row]; }
  }
  workgroupBarrier();

  let own_row = first + row * PITCH;
  var root = 0.0;  // the diagonal element of this row
  for (var k = 0u; k < n; k++) {
    if (row >= k) {
      let top = first + k * PITCH;
      var x = cells[own_row + k];
      var rest = real_part(cells[top + k]);
      for (var c = 0u; c < k; c++) {
        let y = cells[top + c];
        x = minus_product(x, cells[own_row + c], conjugate(y));
        rest -= square(y);
      }
      let found = sqrt_f32(rest);
      if (row == k) {
        root = found;
      } else {
        cells[own_row + k] = divided_by_real(x, found);
      }
    }
    workgroupBarrier();
  }
  cells[own_row + row] = real(root);
  workgroupBarrier();
  if (is_used) {
    for (var r = row; r < n; r++) { b1[base + r * n + row] = cells[first + r * PITCH + row]; }
  }
}
