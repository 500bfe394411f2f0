// Householder reflections for a panel of a QR decomposition: one workgroup for each matrix of a batch, column-major.
// Stores the vectors v, and the triangle S for which the product of all reflections is I - V S^-1 V^H. S has the inner
// products of the vectors, and on the diagonal half their squared lengths (Joffrain et al., Accumulating Householder
// transformations, revisited, 2006). A group of invocations processes each column of the panel.

// <interface>
const WORKGROUP = 256u;
const PANEL = 32u;
alias Number = f32;
fn plus_product(x: Number, a: Number, b: Number) -> Number { return fma(a, b, x); }
fn minus_product(x: Number, a: Number, b: Number) -> Number { return fma(-a, b, x); }
fn conjugate(x: Number) -> Number { return x; }
fn square(x: Number) -> f32 { return x * x; }
fn magnitude(x: Number) -> f32 { return abs_f32(x); }
fn size(x: Number) -> f32 { return abs_f32(x); }
fn divided_by_real(a: Number, b: f32) -> Number { return divide_f32(a, b); }
fn real(x: f32) -> Number { return x; }
@group(0) @binding(0) var<storage, read_write> b0: array<f32>;
@group(0) @binding(1) var<storage, read_write> b1: array<f32>;
@group(0) @binding(2) var<storage, read_write> b2: array<f32>;
@group(0) @binding(3) var<uniform> params: array<vec4u, 3>;
// </interface>

const GROUP = WORKGROUP / PANEL;  // invocations for each column
const LANES = 16u;  // invocations that add up the results of all
var<workgroup> keys: array<u32, WORKGROUP>;
var<workgroup> sums: array<f32, WORKGROUP>;
var<workgroup> products: array<Number, WORKGROUP>;

@compute @workgroup_size(WORKGROUP)
fn main(
  @builtin(workgroup_id) group: vec3u,
  @builtin(num_workgroups) groups: vec3u,
  @builtin(local_invocation_index) invocation: u32,
) {
  let matrix = group.y * groups.x + group.x + params[0].x;
  if (matrix >= params[0].y) { return; }
  let length = params[0].z;
  let count = length - params[0].w;
  let width = params[1].x;
  let base = matrix * params[1].y + params[1].z;
  let vectors = matrix * params[1].w + params[2].x;
  let triangle = matrix * params[2].y + params[2].z;
  let own = invocation / GROUP;
  let lane = invocation % GROUP;
  for (var j = 0u; j < width; j++) {
    let column = base + j * length;
    let vector = vectors + j * length;
    var largest = 0u;
    for (var i = j + invocation; i < count; i += WORKGROUP) { largest = max(largest, bitcast<u32>(size(b0[column + i]))); }
    keys[invocation] = largest;
    workgroupBarrier();
    if (invocation < LANES) {
      for (var k = invocation + LANES; k < WORKGROUP; k += LANES) { largest = max(largest, keys[k]); }
      keys[invocation] = largest;
    }
    workgroupBarrier();
    largest = keys[0];
    for (var k = 1u; k < LANES; k++) { largest = max(largest, keys[k]); }
    // Elements are scaled to be near 1 before squaring, so that no square overflows.
    let exponent = clamp(i32(largest >> 23u), 2, 252);
    let scale = bitcast<f32>(u32(254 - exponent) << 23u);
    var sum = 0.0;
    for (var i = j + invocation; i < count; i += WORKGROUP) { sum += square(b0[column + i] * scale); }
    sums[invocation] = sum;
    workgroupBarrier();
    if (invocation < LANES) {
      for (var k = invocation + LANES; k < WORKGROUP; k += LANES) { sum += sums[k]; }
      sums[invocation] = sum;
    }
    workgroupBarrier();
    sum = sums[0];
    for (var k = 1u; k < LANES; k++) { sum += sums[k]; }
    let norm = sqrt_f32(sum);
    let head = b0[column + j] * scale;
    let head_size = magnitude(head);
    let is_zero = bitcast<u32>(norm) == 0u;
    let divisor = select(norm, 1.0, is_zero);
    var turn = real(1.0);
    if (bitcast<u32>(head_size) != 0u) { turn = divided_by_real(head, head_size); }
    let half = 1.0 + divide_f32(head_size, divisor);  // of the squared length
    workgroupBarrier();
    for (var i = invocation; i < count; i += WORKGROUP) {
      var x = Number();
      if (i >= j) { x = divided_by_real(b0[column + i] * scale, divisor); }
      if (i == j && !is_zero) { x += turn; }
      b1[vector + i] = x;
      if (i > j) { b0[column + i] = Number(); }
      if (i == j) { b0[column + i] = turn * (-norm / scale); }
    }
    storageBarrier();
    workgroupBarrier();
    var dot = Number();
    if (own < width && own != j) {
      let other = select(base, vectors, own < j) + own * length;
      var i = j + lane;
      for (; i + 3u * GROUP < count; i += 4u * GROUP) {
        let y0 = element(other + i, own < j);
        let y1 = element(other + i + GROUP, own < j);
        let y2 = element(other + i + 2u * GROUP, own < j);
        let y3 = element(other + i + 3u * GROUP, own < j);
        dot = plus_product(dot, conjugate(b1[vector + i]), y0);
        dot = plus_product(dot, conjugate(b1[vector + i + GROUP]), y1);
        dot = plus_product(dot, conjugate(b1[vector + i + 2u * GROUP]), y2);
        dot = plus_product(dot, conjugate(b1[vector + i + 3u * GROUP]), y3);
      }
      for (; i < count; i += GROUP) { dot = plus_product(dot, conjugate(b1[vector + i]), element(other + i, own < j)); }
    }
    products[invocation] = dot;
    workgroupBarrier();
    dot = products[invocation - lane];
    for (var k = 1u; k < GROUP; k++) { dot += products[invocation - lane + k]; }
    if (own > j && own < width) {
      let factor = divided_by_real(dot, half);
      let at = base + own * length;
      var i = j + lane;
      for (; i + 3u * GROUP < count; i += 4u * GROUP) {
        let y0 = b0[at + i];
        let y1 = b0[at + i + GROUP];
        let y2 = b0[at + i + 2u * GROUP];
        let y3 = b0[at + i + 3u * GROUP];
        let v1 = b1[vector + i + GROUP];
        let v2 = b1[vector + i + 2u * GROUP];
        let v3 = b1[vector + i + 3u * GROUP];
        b0[at + i] = minus_product(y0, b1[vector + i], factor);
        b0[at + i + GROUP] = minus_product(y1, v1, factor);
        b0[at + i + 2u * GROUP] = minus_product(y2, v2, factor);
        b0[at + i + 3u * GROUP] = minus_product(y3, v3, factor);
      }
      for (; i < count; i += GROUP) { b0[at + i] = minus_product(b0[at + i], b1[vector + i], factor); }
    } else if (own <= j && lane == 0u) {
      b2[triangle + own * PANEL + j] = conjugate(dot);
      if (own == j) { b2[triangle + own * PANEL + j] = real(half); }
    }
    storageBarrier();
    workgroupBarrier();
  }
}

// An element of a vector, or of a column.
fn element(at: u32, is_vector: bool) -> Number {
  if (is_vector) { return b1[at]; }
  return b0[at];
}
