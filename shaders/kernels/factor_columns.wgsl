// A panel of a Cholesky decomposition. Each workgroup factors the diagonal block together with `SIDES` rows below it;
// the first workgroup of a matrix stores the block. An invocation holds `EACH` elements of one column. In each step,
// the invocations of one column share it through workgroup memory, and the others subtract its products from their
// columns. At the end, each column is divided by the square root of its diagonal element.

// <interface>
const WORKGROUP = 256u;
const PANEL = 32u;
const EACH = 8u;
const N = 0u;  // the number of an element of an invocation, for which its text is repeated
alias Number = f32;
fn minus_product(x: Number, a: Number, b: Number) -> Number { return fma(-a, b, x); }
fn conjugate(x: Number) -> Number { return x; }
fn times(a: Number, b: f32) -> Number { return a * b; }
fn divided_by_real(a: Number, b: f32) -> Number { return divide_f32(a, b); }
fn real_part(x: Number) -> f32 { return x; }
fn real(x: f32) -> Number { return x; }
@group(0) @binding(0) var<storage, read> b0: array<f32>;
@group(0) @binding(1) var<storage, read_write> b1: array<f32>;
@group(0) @binding(2) var<uniform> params: array<vec4u, 2>;
// </interface>

const ABREAST = WORKGROUP / PANEL;  // rows loaded at a time
const ROWS = ABREAST * EACH;
const SIDES = ROWS - PANEL;
var<workgroup> shown: array<Number, 2u * ROWS>;  // the columns of this step and of the next

@compute @workgroup_size(WORKGROUP)
fn main(
  @builtin(workgroup_id) group: vec3u,
  @builtin(num_workgroups) groups: vec3u,
  @builtin(local_invocation_index) invocation: u32,
) {
  let block = group.y * groups.x + group.x + params[0].x;
  let length = params[0].w;
  let start = params[1].x;
  let width = params[1].y;
  let below = length - start - width;
  let strips = max((below + SIDES - 1u) / SIDES, 1u);
  let matrix = block / strips;
  if (matrix >= params[0].y) { return; }
  let first = block % strips * SIDES;
  let column = invocation % PANEL;
  let row = invocation / PANEL;
  let base = matrix * params[0].z + start * (length + 1u) + column;
  // The rows of the block come first, then the rows below.
  let others = base + (width + first) * length - PANEL * length;
  let end = PANEL + min(SIDES, below - first);
  // <load>
  let rowN = row + N * ABREAST;
  let atN = select(others, base, rowN < PANEL) + rowN * length;
  let is_blockN = rowN < PANEL;
  let is_ownN = column < width && select(rowN < end, rowN < width, is_blockN);
  var xN = Number();
  if (is_ownN) { xN = b0[atN]; }
  // </load>
  var pivot = 0.0;  // of this column
  for (var j = 0u; j < width; j++) {
    let turn = j % 2u * ROWS;
    if (column == j) {
      // <show>
      shown[turn + rowN] = xN;
      // </show>
    }
    workgroupBarrier();
    let square = real_part(shown[turn + j]);
    if (column == j) { pivot = square; }
    if (column > j) {
      let scale = select(f32_nan(), inverseSqrt(square), square > 0.0);
      let factor = times(times(conjugate(shown[turn + column]), scale), scale);
      // <step>
      xN = minus_product(xN, shown[turn + rowN], factor);
      // </step>
    }
  }
  let root = sqrt_f32(pivot);
  // <finish>
  if (is_ownN && (!is_blockN || first == 0u)) {
    if (rowN == column) { xN = real(root); } else { xN = divided_by_real(xN, root); }
    b1[atN] = xN;
  }
  // </finish>
}
