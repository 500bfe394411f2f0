// Subtracts a matrix product from the result, or stores it; each workgroup computes a tile of 64 rows and columns. The
// result and the right operand are column-major. The left operand has arbitrary strides.

// <interface>
const STEP = 16u;
const LEFT_BY_ROWS = false;
const LOWER = false;
const R = 0u;  // the row and the column of a result of an invocation, for which its text is repeated
const C = 0u;
alias Number = f32;
fn plus_product(x: Number, a: Number, b: Number) -> Number { return fma(a, b, x); }
fn conjugate(x: Number) -> Number { return x; }
fn left(at: u32) -> Number { return b0[at]; }
fn right(at: u32) -> Number { return b0[at]; }
@group(0) @binding(0) var<storage, read_write> b0: array<f32>;
fn put(at: u32, x: Number) { b0[at] -= x; }
@group(0) @binding(1) var<uniform> params: array<vec4u, 4>;
// </interface>

const TILE = 64u;
const SIDE = 16u;  // invocations along each side of a tile
const PITCH = STEP + 1u;  // neighbours in a tile are in different banks
var<workgroup> lefts: array<Number, TILE * PITCH>;
var<workgroup> rights: array<Number, TILE * PITCH>;

@compute @workgroup_size(256)
fn main(
  @builtin(workgroup_id) group: vec3u,
  @builtin(num_workgroups) groups: vec3u,
  @builtin(local_invocation_index) invocation: u32,
) {
  let block = group.y * groups.x + group.x + params[0].x;
  let rows = params[0].z;
  let columns = params[0].w;
  let inner = params[1].x;
  let tall = (rows + TILE - 1u) / TILE;
  let tiles = tall * ((columns + TILE - 1u) / TILE);
  let matrix = block / tiles;
  if (matrix >= params[0].y) { return; }
  let row = block % tiles % tall * TILE;
  let column = block % tiles / tall * TILE;
  if (LOWER && row > column) { return; }
  let a = matrix * params[1].y + params[1].z;
  let b = matrix * params[2].y + params[2].z;
  let c = matrix * params[3].x + params[3].y;
  let by_row = params[1].w;
  let by_term = params[2].x;
  let i = invocation % SIDE;
  let j = invocation / SIDE;
  // <start>
  var sRC = Number();
  // </start>
  for (var start = 0u; start < inner; start += STEP) {
    for (var k = invocation; k < TILE * STEP; k += 256u) {
      var at = k % TILE;
      var term = k / TILE;
      if (LEFT_BY_ROWS) {
        at = k / STEP;
        term = k % STEP;
      }
      var x = Number();
      if (row + at < rows && start + term < inner) { x = left(a + (row + at) * by_row + (start + term) * by_term); }
      lefts[at * PITCH + term] = x;
      var y = Number();
      at = k / STEP;
      term = k % STEP;
      if (column + at < columns && start + term < inner) { y = right(b + (column + at) * params[2].w + start + term); }
      rights[at * PITCH + term] = y;
    }
    workgroupBarrier();
    for (var k = 0u; k < STEP; k++) {
      // <rows>
      let aR = lefts[(i + R * SIDE) * PITCH + k];
      // </rows>
      // <columns>
      let bC = rights[(j + C * SIDE) * PITCH + k];
      // </columns>
      // <step>
      sRC = plus_product(sRC, aR, bC);
      // </step>
    }
    workgroupBarrier();
  }
  // <finish>
  if (row + i + R * SIDE < rows && column + j + C * SIDE < columns) {
    put(c + (column + j + C * SIDE) * params[3].z + row + i + R * SIDE, sRC);
  }
  // </finish>
}
