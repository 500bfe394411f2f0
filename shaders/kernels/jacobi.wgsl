// Jacobi rotations of Hermitian matrices of up to `SIDE` rows, in workgroup memory. A round rotates disjoint pairs of
// columns in parallel; after SIDE - 1 rounds, which are a sweep, every pair has been rotated. See
// py_tensor/codegen/jacobi.py for the method.
//
// With `IS_HERMITIAN`, the matrices come from a buffer, and their eigenvectors are stored with the eigenvalues as an
// additional row. Otherwise the matrix is the Gram matrix of two blocks of columns, and these blocks are multiplied by
// its eigenvectors in place. A workgroup processes `UNITS` matrices with `HALF` by `HALF` invocations each.

// <interface>
const SIDE = 32u;
const UNITS = 1u;
const IS_HERMITIAN = false;
@group(0) @binding(0) var<storage, read_write> b0: array<f32>;
@group(0) @binding(1) var<storage, read_write> b1: array<atomic<u32>>;
@group(0) @binding(2) var<uniform> params: array<vec4u, 3>;
alias Number = f32;
fn real(x: f32) -> Number { return x; }
fn real_part(x: Number) -> f32 { return x; }
fn norm(x: Number) -> f32 { return abs(x); }
fn conjugate(x: Number) -> Number { return x; }
fn plain_product(a: Number, b: Number) -> Number { return a * b; }
fn load_element(at: u32) -> f32 { return b0[at]; }
fn store_element(at: u32, x: f32) { b0[at] = x; }
fn last_sweep(item: u32) -> u32 { return atomicLoad(&b1[item]); }
fn note_sweep(item: u32, sweep: u32) { atomicMax(&b1[item], sweep); }
// </interface>

const HALF = SIDE / 2u;
const STRIDE = SIDE + 1u;
const AREA = SIDE * STRIDE;
var<workgroup> square: array<Number, UNITS * AREA>;  // the rotated matrix; or rows of the blocks
var<workgroup> vectors: array<Number, UNITS * AREA>;  // the product of all rotations; or rows of the blocks
var<workgroup> cosines: array<f32, UNITS * HALF>;
var<workgroup> sines: array<Number, UNITS * HALF>;
var<workgroup> places: array<u32, UNITS * SIDE>;  // the positions of the eigenvectors in order
var<workgroup> scales: array<f32, UNITS * SIDE>;  // factors that normalize the eigenvectors after rounding errors
var<workgroup> apart: atomic<u32>;
var<workgroup> answer: u32;

var<private> is_first: bool;  // the first invocation of the workgroup
var<private> own: u32;  // the number of the matrix in the workgroup
var<private> inside: u32;  // the number of the invocation for this matrix; i and j are its row and column
var<private> i: u32;
var<private> j: u32;
var<private> is_used: bool;
var<private> start: u32;  // the start of the whole matrix in the buffer
var<private> blocks: vec2u;

fn at(row: u32, column: u32) -> u32 { return own * AREA + row * STRIDE + column; }

// The row and the column of each of an invocation's four elements.
fn row_of(k: u32) -> u32 { return i + k / 2u * HALF; }
fn column_of(k: u32) -> u32 { return j + k % 2u * HALF; }

// The column of the whole matrix.
fn whole_column(column: u32) -> u32 { return select(blocks.x, blocks.y, column >= HALF) * HALF + column % HALF; }

// Two of `count` players that meet in a round of a tournament; `count` is even.
fn players(count: u32, round: u32, pair: u32) -> vec2u {
  let last = count - 1u;
  let one = select((round + pair) % last, last, pair == 0u);
  let other = (round + last - pair) % last;
  return vec2u(min(one, other), max(one, other));
}

fn load_square() {
  let n = params[0].z;
  for (var k = 0u; k < 4u; k++) {
    let r = row_of(k);
    let c = column_of(k);
    var element = Number();
    if (is_used && r < n && c < n) {
      element = load_element(start + max(r, c) * n + min(r, c));
      if (r < c) { element = conjugate(element); }
      if (r == c) { element = real(real_part(element)); }
    }
    square[at(r, c)] = element;
  }
}

// An element of `SIDE` rows of the blocks.
fn loaded_element(first: u32, end: u32, k: u32) -> Number {
  let n = params[0].z;
  let row = first + row_of(k);
  let column = whole_column(column_of(k));
  var element = Number();
  if (is_used && row < end && column < n) { element = load_element(start + row * n + column); }
  return element;
}

fn multiply_columns() {
  let length = params[0].w;
  var sums = array<Number, 4>();
  for (var first = 0u; first < length; first += SIDE) {
    for (var k = 0u; k < 4u; k++) { vectors[at(row_of(k), column_of(k))] = loaded_element(first, length, k); }
    workgroupBarrier();
    for (var r = 0u; r < SIDE; r++) {
      let x0 = conjugate(vectors[at(r, i)]);
      let x1 = conjugate(vectors[at(r, i + HALF)]);
      let y0 = vectors[at(r, j)];
      let y1 = vectors[at(r, j + HALF)];
      sums[0] += plain_product(x0, y0);
      sums[1] += plain_product(x0, y1);
      sums[2] += plain_product(x1, y0);
      sums[3] += plain_product(x1, y1);
    }
    workgroupBarrier();
  }
  for (var k = 0u; k < 4u; k++) { square[at(row_of(k), column_of(k))] = sums[k]; }
}

// The size up to which an off-diagonal element counts as 0, relative to two diagonal elements.
fn limit_of(x: f32, y: f32) -> f32 {
  let least = bitcast<f32>(params[2].w);
  return bitcast<f32>(params[2].z) * sqrt(max(abs(x), least)) * sqrt(max(abs(y), least));
}

// Whether any off-diagonal element of any matrix of the workgroup does not count as 0.
fn is_any_apart() -> bool {
  if (is_first) { atomicStore(&apart, 0u); }
  workgroupBarrier();
  for (var k = 0u; k < 4u; k++) {
    let r = row_of(k);
    let c = column_of(k);
    let limit = limit_of(real_part(square[at(r, r)]), real_part(square[at(c, c)]));
    if (r < c && norm(square[at(r, c)]) > limit) { atomicStore(&apart, 1u); }
  }
  workgroupBarrier();
  if (is_first) { answer = atomicLoad(&apart); }
  return workgroupUniformLoad(&answer) == 1u;
}

// The cosine and the sine of the rotation that zeroes an off-diagonal element; the sine has the complex phase of that
// element (Golub and Van Loan, Matrix Computations, 8.5). Their squares must add up to 1 as exactly as possible.
fn choose_rotation(round: u32) {
  let pair = players(SIDE, round, inside);
  let across = square[at(pair.x, pair.y)];
  let x = real_part(square[at(pair.x, pair.x)]);
  let y = real_part(square[at(pair.y, pair.y)]);
  let size = norm(across);
  var cosine = 1.0;
  var sine = Number();
  if (size > limit_of(x, y)) {
    let between = abs(y - x);
    let tangent = 2.0 * size / (between + sqrt(between * between + 4.0 * size * size));
    cosine = divide_f32(1.0, sqrt_f32(1.0 + tangent * tangent));
    sine = across * (select(tangent, -tangent, y < x) * divide_f32(cosine, size));
  }
  cosines[own * HALF + inside] = cosine;
  sines[own * HALF + inside] = sine;
}

fn rotate(round: u32) {
  if (inside < HALF) { choose_rotation(round); }
  workgroupBarrier();
  let p = players(SIDE, round, i);
  let q = players(SIDE, round, j);
  let c = cosines[own * HALF + j];
  let s = sines[own * HALF + j];
  let back = conjugate(s);
  let x0 = square[at(p.x, q.x)];
  let x1 = square[at(p.x, q.y)];
  let y0 = square[at(p.y, q.x)];
  let y1 = square[at(p.y, q.y)];
  let u0 = x0 * c - plain_product(x1, back);
  let u1 = plain_product(x0, s) + x1 * c;
  let v0 = y0 * c - plain_product(y1, back);
  let v1 = plain_product(y0, s) + y1 * c;
  let row_c = cosines[own * HALF + i];
  let row_s = sines[own * HALF + i];
  let row_back = conjugate(row_s);
  square[at(p.x, q.x)] = u0 * row_c - plain_product(row_s, v0);
  square[at(p.x, q.y)] = u1 * row_c - plain_product(row_s, v1);
  square[at(p.y, q.x)] = plain_product(row_back, u0) + v0 * row_c;
  square[at(p.y, q.y)] = plain_product(row_back, u1) + v1 * row_c;
  for (var k = 0u; k < 2u; k++) {
    let row = i + k * HALF;
    let x = vectors[at(row, q.x)];
    let y = vectors[at(row, q.y)];
    vectors[at(row, q.x)] = x * c - plain_product(y, back);
    vectors[at(row, q.y)] = plain_product(x, s) + y * c;
  }
  workgroupBarrier();
}

// The order of the eigenvectors, by ascending (Hermitian) or descending eigenvalues. Columns of padding come last.
fn find_order() {
  if (inside < SIDE) {
    let n = params[0].z;
    let value = real_part(square[at(inside, inside)]);
    let is_there = whole_column(inside) < n;
    var place = 0u;
    for (var k = 0u; k < SIDE; k++) {
      let other = real_part(square[at(k, k)]);
      let other_is_there = whole_column(k) < n;
      let is_less = select(other > value, other < value, IS_HERMITIAN);
      let is_before = is_less || (other == value && k < inside);
      if (select(other_is_there, is_before, is_there == other_is_there)) { place++; }
    }
    places[own * SIDE + place] = inside;
    var squares = 0.0;
    for (var k = 0u; k < SIDE; k++) {
      let x = vectors[at(k, inside)];
      squares += real_part(plain_product(conjugate(x), x));
    }
    scales[own * SIDE + place] = 1.5 - 0.5 * squares;
  }
  workgroupBarrier();
}

fn store_vectors() {
  let n = params[0].z;
  let result = start + start / n;  // each matrix has an additional row
  for (var k = 0u; k < 4u; k++) {
    let r = row_of(k);
    let c = column_of(k);
    let place = places[own * SIDE + c];
    let scale = scales[own * SIDE + c];
    if (is_used && r < n && c < n) {
      store_element(result + r * n + c, vectors[at(r, place)] * scale);
      if (r == 0u) { store_element(result + n * n + c, real(real_part(square[at(place, place)]) * scale * scale)); }
    }
  }
}

fn multiply_blocks() {
  let n = params[0].z;
  let rows = params[1].x;
  for (var first = 0u; first < rows; first += SIDE) {
    for (var k = 0u; k < 4u; k++) { square[at(row_of(k), column_of(k))] = loaded_element(first, rows, k); }
    workgroupBarrier();
    let place0 = places[own * SIDE + j];
    let place1 = places[own * SIDE + j + HALF];
    var sums = array<Number, 4>();
    for (var c = 0u; c < SIDE; c++) {
      let x0 = square[at(i, c)];
      let x1 = square[at(i + HALF, c)];
      let y0 = vectors[at(c, place0)];
      let y1 = vectors[at(c, place1)];
      sums[0] += plain_product(x0, y0);
      sums[1] += plain_product(x0, y1);
      sums[2] += plain_product(x1, y0);
      sums[3] += plain_product(x1, y1);
    }
    for (var k = 0u; k < 4u; k++) {
      let row = first + row_of(k);
      let column = whole_column(column_of(k));
      if (is_used && row < rows && column < n) { store_element(start + row * n + column, sums[k] * scales[own * SIDE + column_of(k)]); }
    }
    workgroupBarrier();
  }
  storageBarrier();
}

@compute @workgroup_size(UNITS * HALF * HALF)
fn main(
  @builtin(workgroup_id) group: vec3u,
  @builtin(num_workgroups) groups: vec3u,
  @builtin(local_invocation_index) invocation: u32,
) {
  is_first = invocation == 0u;
  own = invocation / (HALF * HALF);
  inside = invocation % (HALF * HALF);
  i = inside / HALF;
  j = inside % HALF;
  let unit = (group.y * groups.x + group.x + params[0].x) * UNITS + own;
  let pairs = params[1].y / 2u;
  let item = unit / pairs;
  is_used = unit < params[0].y;
  start = item * params[1].x * params[0].z;
  blocks = players(params[1].y, params[1].z, unit % pairs);
  let sweep = params[1].w;
  if (is_first) { answer = select(0u, 1u, sweep > 0u && last_sweep(item) < sweep); }
  if (workgroupUniformLoad(&answer) == 1u) { return; }  // nothing was left to rotate

  for (var turn = 0u; turn < params[2].x; turn++) {
    if (IS_HERMITIAN) { load_square(); } else { multiply_columns(); }
    for (var k = 0u; k < 4u; k++) {
      let r = row_of(k);
      let c = column_of(k);
      vectors[at(r, c)] = real(select(0.0, 1.0, r == c));
    }
    workgroupBarrier();
    var is_rotated = false;
    for (var count = 0u; count < params[2].y; count++) {
      if (!is_any_apart()) { break; }
      is_rotated = true;
      for (var round = 0u; round < SIDE - 1u; round++) { rotate(round); }
    }
    if (!is_rotated && !IS_HERMITIAN) { break; }
    find_order();
    if (IS_HERMITIAN) {
      store_vectors();
    } else {
      multiply_blocks();
      if (is_first) { note_sweep(item, sweep + 1u); }
    }
  }
}
