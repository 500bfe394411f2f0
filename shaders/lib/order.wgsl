// Order keys: unsigned integers that order like the values, so that argmax and argmin can compare keys, with ties and
// NaN as in NumPy. The maximum has the largest order_key, and the minimum has the largest order_key_min. NaN has the
// largest key of both.

// The key of x for a maximum. NaN (any) is 0xffffffff, -0 and +0 are the same; subnormals are distinct. Exact.
fn order_key_f32(x: f32) -> u32 {
  let b = bitcast<u32>(x);
  let magnitude = b & 0x7fffffffu;
  let key = select(0x80000000u + magnitude, 0x80000000u - magnitude, (b >> 31u) != 0u);
  return select(key, 0xffffffffu, magnitude > 0x7f800000u);
}

// The key of x for a maximum. Exact.
fn order_key_i32(x: i32) -> u32 { return bitcast<u32>(x) ^ 0x80000000u; }

// The key of x for a maximum. Exact.
fn order_key_u32(x: u32) -> u32 { return x; }

// The key of x for a minimum. NaN (any) is 0xffffffff, -0 and +0 are the same; subnormals are distinct. Exact.
fn order_key_min_f32(x: f32) -> u32 {
  let b = bitcast<u32>(x);
  let magnitude = b & 0x7fffffffu;
  let key = select(0x80000000u - magnitude, 0x80000000u + magnitude, (b >> 31u) != 0u);
  return select(key, 0xffffffffu, magnitude > 0x7f800000u);
}

// The key of x for a minimum. Exact.
fn order_key_min_i32(x: i32) -> u32 { return bitcast<u32>(x) ^ 0x7fffffffu; }

// The key of x for a minimum. Exact.
fn order_key_min_u32(x: u32) -> u32 { return ~x; }

// The integer that orders like x among all values, -0 below +0, and NaN (any) above everything. Exact.
fn rank_f32(x: f32) -> i32 {
  let b = bitcast<i32>(x);
  let magnitude = b & 0x7fffffff;
  return select(magnitude, ~magnitude, b < -8388607);  // -0 to -inf
}

// The same with NaN (any) below everything. Exact.
fn rank_min_f32(x: f32) -> i32 {
  let b = bitcast<i32>(x);
  let magnitude = b & 0x7fffffff;
  return select(~magnitude, magnitude, (b >= 0) & (b < 0x7f800001));  // +0 to inf
}

// The value of this rank; NaN for the rank of NaN. Exact.
fn f32_from_rank(rank: i32) -> f32 { return bitcast<f32>(rank ^ ((rank >> 31u) & 0x7fffffff)); }
