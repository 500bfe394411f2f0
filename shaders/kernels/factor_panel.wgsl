// A panel of an LU decomposition with row exchanges: one workgroup for each matrix of a batch, column-major. The panel
// has the columns from `start` on, from row `start` down. A column is updated with the products of all earlier columns
// only when its turn comes, so that it is written few times. Each invocation always processes the same rows, `ROWS` at
// a time.

// <interface>
const WORKGROUP = 256u;
const PANEL = 32u;
const ROWS = 1u;
const N = 0u;  // the number of a row of an invocation, for which its text is repeated
alias Number = f32;
fn minus_product(x: Number, a: Number, b: Number) -> Number { return fma(-a, b, x); }
fn product(a: Number, b: Number) -> Number { return a * b; }
fn quotient(a: Number, b: Number) -> Number { return divide_f32(a, b); }
fn size(x: Number) -> f32 { return abs_f32(x); }
fn real(x: f32) -> Number { return x; }
@group(0) @binding(0) var<storage, read_write> b0: array<f32>;
@group(0) @binding(1) var<storage, read_write> b1: array<u32>;
@group(0) @binding(2) var<uniform> params: array<vec4u, 2>;
// </interface>

const LANES = 16u;  // invocations that compare the candidates of all
const UNUSED = 0xffffffffu;
var<workgroup> keys: array<u32, WORKGROUP>;
var<workgroup> rows: array<u32, WORKGROUP>;
var<workgroup> corner: array<Number, PANEL * PANEL>;  // the pivot rows, row-major
var<workgroup> pivots: array<u32, PANEL>;
var<workgroup> places: array<u32, 2u * PANEL>;  // the origins of the panel's top rows and of the rows of pivots
var<workgroup> slots: array<u32, PANEL>;  // the position of each pivot in `places`
var<workgroup> inverse: Number;

@compute @workgroup_size(WORKGROUP)
fn main(
  @builtin(workgroup_id) group: vec3u,
  @builtin(num_workgroups) groups: vec3u,
  @builtin(local_invocation_index) invocation: u32,
) {
  let matrix = group.y * groups.x + group.x + params[0].x;
  if (matrix >= params[0].y) { return; }
  let length = params[0].w;
  let start = params[1].x;
  let width = params[1].y;
  let count = length - start;
  let base = matrix * params[0].z + start * length + start;
  for (var j = 0u; j < width; j++) {
    let column = base + j * length;
    var best = 0u;
    var row = j;
    for (var i = invocation; i < count; i += ROWS * WORKGROUP) {
      // <load>
      let rN = min(i + N * WORKGROUP, count - 1u);
      var xN = b0[column + rN];
      // </load>
      var c = 0u;
      var at = base;
      for (; c + 4u < j; c += 4u) {
        // <four>
        xN = reduced(xN, at + rN, length, c * PANEL + j);
        // </four>
        at += 4u * length;
      }
      for (; c + 1u < j; c++) {
        // <one>
        xN = minus_product(xN, b0[at + rN], corner[c * PANEL + j]);
        // </one>
        at += length;
      }
      // <last>
      if (rN == i + N * WORKGROUP && rN >= j) {
        if (j > 0u) { xN = finished(xN, at + rN, column + rN, c * PANEL + j); }
        let keyN = bitcast<u32>(size(xN));  // NaN is the largest
        if (keyN > best) {
          best = keyN;
          row = rN;
        }
      }
      // </last>
    }
    keys[invocation] = best;
    rows[invocation] = row;
    workgroupBarrier();
    if (invocation < LANES) {
      for (var k = invocation + LANES; k < WORKGROUP; k += LANES) {
        if (keys[k] > best || (keys[k] == best && rows[k] < row)) {
          best = keys[k];
          row = rows[k];
        }
      }
      keys[invocation] = best;
      rows[invocation] = row;
    }
    storageBarrier();
    workgroupBarrier();
    best = keys[0];
    row = rows[0];
    for (var k = 1u; k < LANES; k++) {
      if (keys[k] > best || (keys[k] == best && rows[k] < row)) {
        best = keys[k];
        row = rows[k];
      }
    }
    if (invocation < width) {
      let at = base + invocation * length;
      let x = b0[at + row];
      b0[at + row] = b0[at + j];
      b0[at + j] = x;
      corner[j * PANEL + invocation] = x;
    }
    if (invocation == 0u) { pivots[j] = row; }
    workgroupBarrier();
    if (invocation == j) {
      let pivot = corner[j * PANEL + j];
      inverse = Number();  // for a column of zeros
      if (best != 0u) { inverse = quotient(real(1.0), pivot); }
    } else if (invocation > j && invocation < width) {
      var x = corner[j * PANEL + invocation];
      for (var c = 0u; c < j; c++) {
        x = minus_product(x, corner[j * PANEL + c], corner[c * PANEL + invocation]);
      }
      corner[j * PANEL + invocation] = x;
      b0[base + invocation * length + j] = x;
    }
    storageBarrier();
    workgroupBarrier();
  }
  for (var i = invocation; i < count; i += WORKGROUP) {
    if (i < width) { continue; }
    let at = base + (width - 1u) * length + i;
    b0[at] = product(b0[at], inverse);
  }

  // The row exchanges for the other columns: the origins of the top rows, and of the rows where pivots were.
  if (invocation < width) {
    let row = pivots[invocation];
    var slot = row;
    if (row >= width) {
      slot = PANEL;
      while (pivots[slot - PANEL] != row) { slot++; }
    }
    slots[invocation] = slot;
  }
  for (var k = invocation; k < 2u * PANEL; k += WORKGROUP) { places[k] = k; }
  workgroupBarrier();
  let into = matrix * (3u * PANEL + 1u);
  if (invocation == 0u) {
    var exchanges = 0u;
    if (start > 0u) { exchanges = b1[into + 3u * PANEL]; }
    for (var j = 0u; j < width; j++) {
      let other = places[slots[j]];
      places[slots[j]] = places[j];
      places[j] = other;
      if (pivots[j] != j) { exchanges++; }
    }
    b1[into + 3u * PANEL] = exchanges;
  }
  workgroupBarrier();
  for (var k = invocation; k < PANEL; k += WORKGROUP) {
    let is_own = k < width && slots[k] == PANEL + k;
    b1[into + k] = row_at(places[k], width);
    b1[into + PANEL + k] = row_at(places[PANEL + k], width);
    b1[into + 2u * PANEL + k] = select(UNUSED, pivots[k], is_own);
  }
}

// Subtract from an element the products of four elements of its row with four elements of its column.
fn reduced(x: Number, at: u32, length: u32, above: u32) -> Number {
  let x0 = b0[at];
  let x1 = b0[at + length];
  let x2 = b0[at + 2u * length];
  let x3 = b0[at + 3u * length];
  let first = minus_product(minus_product(x, x0, corner[above]), x1, corner[above + PANEL]);
  return minus_product(minus_product(first, x2, corner[above + 2u * PANEL]), x3, corner[above + 3u * PANEL]);
}

// Subtract the last of these products; its left factor is first scaled, because its pivot is known by now.
fn finished(x: Number, at: u32, place: u32, above: u32) -> Number {
  let last = product(b0[at], inverse);
  b0[at] = last;
  let found = minus_product(x, last, corner[above]);
  b0[place] = found;
  return found;
}

// The row, counted from the panel's top, for an entry of `places`.
fn row_at(place: u32, width: u32) -> u32 {
  if (place < PANEL) { return place; }
  return pivots[place - PANEL];
}
