// Ranges of evenly spaced numbers, rounded once. `rounded_ramp` in `py_tensor/ops/float64_bits.py` finds the arguments.

// start + i * step for i = 4096 * row + column; `known` is an index and the float that is its number.
//
// Floats give the sum in coarse units of 2^-23 of the range's size, to within 3 of them. Integers give it modulo 2^32
// in fine units of 2^-52. The difference is therefore known to the fine unit, although nothing has more than 32 bits.
// The last addition, of two floats that are exact, is the only rounding. So a compiler may contract or reorder.
//
// `starts`, `rows` and `columns` are the start, 4096 steps and a step: the whole fine units, and a float of the coarse
// units. `rests` are the fractions of the fine units; the last of them is beside the fine unit.
fn ramp_f32(i: i32, starts: vec2u, rows: vec2u, columns: vec2u, rests: vec2u, unit: vec2u, known: vec2u) -> f32 {
  let row = i >> 12u;
  let column = i & 0xfff;
  let r = f32(row);
  let c = f32(column);
  let coarse = i32(bitcast<f32>(starts.y) + r * bitcast<f32>(rows.y) + c * bitcast<f32>(columns.y));
  let rest = i32(round(bitcast<f32>(rests.x) + r * bitcast<f32>(rests.y) + c * bitcast<f32>(unit.x)));
  let fine = bitcast<i32>(starts.x) + row * bitcast<i32>(rows.x) + column * bitcast<i32>(columns.x) + rest;
  let difference = fine - (coarse << 29u);
  // The upper and lower bits of the sum in fine units. If the sum is large, bit 8 stands for all bits below.
  let is_small = u32(coarse + 64) < 128u;
  let upper = select(coarse, (coarse << 17u) + (difference >> 12u), is_small);
  let lower = select((difference >> 8u) | select(0, 1, (difference & 0xff) != 0), difference & 0xfff, is_small);
  let sum = f32(upper) * select(0x1p29f, 0x1p12f, is_small) + f32(lower) * select(0x1p8f, 1.0, is_small);
  return select(sum * bitcast<f32>(unit.y), bitcast<f32>(known.y), i == bitcast<i32>(known.x));
}
