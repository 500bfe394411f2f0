// Solves triangular systems of up to `PANEL` equations: each invocation has one right side. Right sides lie one after
// the other, `step` apart. Of a decomposition with row exchanges these are made before.

// <interface>
const PANEL = 32u;
const BACKWARD = false;
const EXCHANGES = true;
alias Number = f32;
fn minus_product(x: Number, a: Number, b: Number) -> Number { return fma(-a, b, x); }
fn divided(x: Number, diagonal: Number) -> Number { return x; }
fn triangle(at: u32) -> Number { return b0[at]; }
@group(0) @binding(0) var<storage, read_write> b0: array<f32>;
@group(0) @binding(1) var<storage, read> b1: array<u32>;
fn place(at: u32) -> u32 { return b1[at]; }
@group(0) @binding(2) var<uniform> params: array<vec4u, 3>;
// </interface>

const SPAN = 32u;  // invocations, and right sides
const UNUSED = 0xffffffffu;
var<workgroup> factor: array<Number, PANEL * PANEL>;
var<workgroup> sides: array<Number, PANEL * SPAN>;
var<workgroup> others: array<Number, PANEL * SPAN>;

// Where an equation of a side lies: no two of a row or a column share a bank.
fn spot(equation: u32, side: u32) -> u32 { return equation * SPAN + ((side ^ equation) % SPAN); }

@compute @workgroup_size(SPAN)
fn main(
  @builtin(workgroup_id) group: vec3u,
  @builtin(num_workgroups) groups: vec3u,
  @builtin(local_invocation_index) invocation: u32,
) {
  let block = group.y * groups.x + group.x + params[0].x;
  let count = params[0].z;  // right sides
  let strips = (count + SPAN - 1u) / SPAN;
  let matrix = block / strips;
  if (matrix >= params[0].y) { return; }
  let first = block % strips * SPAN;
  let width = params[0].w;
  let step = params[1].z;
  let base = matrix * params[1].x + params[1].y + first * step;
  let number = min(SPAN, count - first);
  let corner = matrix * params[1].w + params[2].x;
  for (var k = invocation; k < PANEL * PANEL; k += SPAN) {
    let row = k / PANEL;
    let column = k % PANEL;
    if (row < width && column < width) { factor[k] = triangle(corner + row * params[2].y + column * params[2].z); }
  }
  if (EXCHANGES) {
    let record = matrix * (3u * PANEL + 1u);
    for (var side = 0u; side < number; side++) {
      let at = base + side * step;
      if (invocation < width) {
        sides[spot(invocation, side)] = b0[at + place(record + invocation)];
        others[spot(invocation, side)] = b0[at + place(record + PANEL + invocation)];
      }
    }
    storageBarrier();
    workgroupBarrier();
    if (invocation < width) {
      let target_row = place(record + 2u * PANEL + invocation);
      if (target_row != UNUSED) {
        for (var side = 0u; side < number; side++) {
          b0[base + side * step + target_row] = others[spot(invocation, side)];
        }
      }
    }
  } else if (invocation < width) {
    for (var side = 0u; side < number; side++) { sides[spot(invocation, side)] = b0[base + side * step + invocation]; }
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
        x = minus_product(x, factor[row * PANEL + known + k], sides[spot(known + k, invocation)]);
      }
      sides[spot(row, invocation)] = divided(x, factor[row * PANEL + row]);
    }
  }
  workgroupBarrier();
  if (invocation < width) {
    for (var side = 0u; side < number; side++) { b0[base + side * step + invocation] = sides[spot(invocation, side)]; }
  }
}
