// Elimination with row exchanges for matrices that fit in workgroup memory: `UNITS` matrices per workgroup and `TEAM`
// invocations per matrix, each with one row. Rows are not moved: each invocation finds the pivot of a column itself,
// among the rows not used yet. Then the right-hand sides become solutions (`SOLVES`), or the pivots and the number of
// row exchanges are stored.

// <interface>
const TEAM = 16u;
const UNITS = 4u;
const ROOM = 528u;
const PANEL = 32u;
const SOLVES = true;
alias Number = f32;
fn minus_product(x: Number, a: Number, b: Number) -> Number { return fma(-a, b, x); }
fn product(a: Number, b: Number) -> Number { return a * b; }
fn quotient(a: Number, b: Number) -> Number { return divide_f32(a, b); }
fn size(x: Number) -> f32 { return abs_f32(x); }
fn real(x: f32) -> Number { return x; }
@group(0) @binding(0) var<storage, read> b0: array<f32>;
@group(0) @binding(1) var<storage, read_write> b1: array<f32>;
@group(0) @binding(2) var<storage, read_write> b2: array<u32>;
@group(0) @binding(3) var<uniform> params: array<vec4u, 2>;
fn note_exchanges(at: u32, count: u32) { b2[at] = count; }
// </interface>

var<workgroup> cells: array<Number, UNITS * ROOM>;  // the matrices, column-major
var<workgroup> pivots: array<u32, UNITS * TEAM>;  // the row of each pivot

@compute @workgroup_size(UNITS * TEAM)
fn main(
  @builtin(workgroup_id) group: vec3u,
  @builtin(num_workgroups) groups: vec3u,
  @builtin(local_invocation_index) invocation: u32,
) {
  let own = invocation / TEAM;
  let row = invocation % TEAM;
  let first = own * ROOM;
  let matrix = (group.y * groups.x + group.x + params[0].x) * UNITS + own;
  let n = params[0].w;
  let columns = params[1].x;
  let is_used = matrix < params[0].y && row < n;
  let base = matrix * params[0].z;
  if (is_used) {
    for (var c = 0u; c < columns; c++) { cells[first + c * TEAM + row] = b0[base + c * n + row]; }
  }
  workgroupBarrier();

  var left = 0xffffffffu >> (32u - n);  // a bit for each row that was not a pivot row yet
  var turn = n;
  var exchanges = 0u;
  for (var k = 0u; k < n; k++) {
    let column = first + k * TEAM;
    var pivot = firstTrailingBit(left);
    var best = 0u;
    for (var rest = left; rest != 0u; rest &= rest - 1u) {
      let r = firstTrailingBit(rest);
      let key = bitcast<u32>(size(cells[column + r]));  // NaN is the largest
      if (key > best) {
        best = key;
        pivot = r;
      }
    }
    exchanges += countOneBits(left & ((1u << pivot) - 1u));
    left &= ~(1u << pivot);
    if (row == pivot) {
      turn = k;
      pivots[own * TEAM + k] = row;
    }
    if (best != 0u && ((left >> row) & 1u) == 1u) {
      let factor = quotient(cells[column + row], cells[column + pivot]);
      for (var c = k + 1u; c < columns; c++) {
        let at = first + c * TEAM;
        cells[at + row] = minus_product(cells[at + row], factor, cells[at + pivot]);
      }
    }
    workgroupBarrier();
  }

  if (!SOLVES) {
    if (is_used) { b1[base + turn * (n + 1u)] = cells[first + turn * TEAM + row]; }
    if (is_used && row == 0u) { note_exchanges(matrix * (3u * PANEL + 1u) + 3u * PANEL, exchanges); }
    return;
  }
  for (var k = n - 1u; k > 0u; k--) {
    let pivot = pivots[own * TEAM + k];
    if (turn < k) {
      let above = product(cells[first + k * TEAM + row], quotient(real(1.0), cells[first + k * TEAM + pivot]));
      for (var c = n; c < columns; c++) {
        let at = first + c * TEAM;
        cells[at + row] = minus_product(cells[at + row], above, cells[at + pivot]);
      }
    }
    workgroupBarrier();
  }
  if (is_used) {
    for (var c = n; c < columns; c++) {
      b1[base + c * n + turn] = quotient(cells[first + c * TEAM + row], cells[first + turn * TEAM + row]);
    }
  }
}
