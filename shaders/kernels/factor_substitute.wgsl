// Solves triangular systems of up to `PANEL` equations: some invocations solve one right-hand side each, and all of
// them load and store. Right-hand sides are `step` elements apart; the columns or rows of the triangle are a pitch
// apart. Row exchanges of the decomposition are applied first.

// <interface>
const WORKGROUP = 128u;
const PANEL = 32u;
const BY_ROWS = false;
const BACKWARD = false;
const EXCHANGES = true;
alias Number = f32;
fn minus_product(x: Number, a: Number, b: Number) -> Number { return fma(-a, b, x); }
fn quotient(a: Number, b: Number) -> Number { return divide_f32(a, b); }
fn conjugate(x: Number) -> Number { return x; }
fn divided(x: Number, diagonal: Number) -> Number { return x; }
fn triangle(at: u32) -> Number { return b0[at]; }
@group(0) @binding(0) var<storage, read_write> b0: array<f32>;
@group(0) @binding(1) var<storage, read> b1: array<u32>;
fn place(at: u32) -> u32 { return b1[at]; }
@group(0) @binding(2) var<uniform> params: array<vec4u, 3>;
// </interface>

const SPAN = 32u;  // right-hand sides of a workgroup
const ABREAST = WORKGROUP / PANEL;  // right-hand sides loaded at a time
const UNUSED = 0xffffffffu;
var<workgroup> factor: array<Number, PANEL * PANEL>;
var<workgroup> sides: array<Number, PANEL * SPAN>;
var<workgroup> others: array<Number, PANEL * SPAN>;

// The position of one equation of a right-hand side. No two elements of a row or a column share a bank.
fn spot(equation: u32, side: u32) -> u32 { return equation * SPAN + ((side ^ equation) % SPAN); }

@compute @workgroup_size(WORKGROUP)
fn main(
  @builtin(workgroup_id) group: vec3u,
  @builtin(num_workgroups) groups: vec3u,
  @builtin(local_invocation_index) invocation: u32,
) {
  let block = group.y * groups.x + group.x + params[0].x;
  let count = params[0].z;  // right-hand sides
  let strips = (count + SPAN - 1u) / SPAN;
  let matrix = block / strips;
  if (matrix >= params[0].y) { return; }
  let first = block % strips * SPAN;
  let width = params[0].w;
  let step = params[1].z;
  let base = matrix * params[1].x + params[1].y + first * step;
  let number = min(SPAN, count - first);
  let corner = matrix * params[1].w + params[2].x;
  for (var k = invocation; k < PANEL * PANEL; k += WORKGROUP) {
    if (k / PANEL < width && k % PANEL < width) { factor[k] = triangle(corner + k / PANEL * params[2].y + k % PANEL); }
  }
  let equation = invocation % PANEL;
  let is_there = equation < width;
  if (EXCHANGES) {
    let record = matrix * (3u * PANEL + 1u) + equation;
    let source = place(record);
    let other = place(record + PANEL);
    for (var side = invocation / PANEL; side < number; side += ABREAST) {
      let at = base + side * step;
      if (is_there) {
        sides[spot(equation, side)] = b0[at + source];
        others[spot(equation, side)] = b0[at + other];
      }
    }
    storageBarrier();
    workgroupBarrier();
    let goes_to = place(record + 2u * PANEL);
    if (is_there && goes_to != UNUSED) {
      for (var side = invocation / PANEL; side < number; side += ABREAST) {
        b0[base + side * step + goes_to] = others[spot(equation, side)];
      }
    }
  } else if (is_there) {
    for (var side = invocation / PANEL; side < number; side += ABREAST) {
      sides[spot(equation, side)] = b0[base + side * step + equation];
    }
  }
  workgroupBarrier();
  if (invocation < number) {
    for (var turn = 0u; turn < width; turn++) {
      var row = turn;
      var known = 0u;
      if (BACKWARD) {
        row = width - 1u - turn;
        known = row + 1u;
      }
      var x = sides[spot(row, invocation)];
      for (var k = 0u; k < turn; k++) {
        x = minus_product(x, entry(row, known + k), sides[spot(known + k, invocation)]);
      }
      sides[spot(row, invocation)] = divided(x, entry(row, row));
    }
  }
  workgroupBarrier();
  if (is_there) {
    for (var side = invocation / PANEL; side < number; side += ABREAST) {
      b0[base + side * step + equation] = sides[spot(equation, side)];
    }
  }
}

fn entry(row: u32, column: u32) -> Number {
  if (BY_ROWS) { return factor[row * PANEL + column]; }
  return factor[column * PANEL + row];
}
