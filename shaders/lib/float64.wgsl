// needs: bits.wgsl arithmetic.wgsl int64.wgsl
// IEEE 754's binary64 as its bits, two words as in int64.wgsl, computed with integers only, so that no compiler's
// rules for floats matter. Every result is correctly rounded, ties to even, like NumPy's float64; but subnormal
// operands and results are zeros with their sign, which is invisible in float32.

// The sign bit of x, in the upper word.
fn sign_of_float64(x: vec2u) -> u32 { return x.y & 0x80000000u; }

// The biased exponent of x.
fn exponent_of_float64(x: vec2u) -> i32 { return i32((x.y >> 20u) & 0x7ffu); }

// The 53 bits of the mantissa of x, of a normal number; 0 for a zero or subnormal number.
fn mantissa_of_float64(x: vec2u) -> vec2u {
  return select(vec2u(x.x, (x.y & 0x000fffffu) | 0x00100000u), vec2u(0u), (x.y & 0x7ff00000u) == 0u);
}

// NaN, and an infinity with a sign.
fn float64_nan() -> vec2u { return vec2u(0u, 0x7ff80000u); }
fn float64_inf_signed(sign: u32) -> vec2u { return vec2u(0u, 0x7ff00000u | sign); }

// Whether x is NaN.
fn is_nan_float64(x: vec2u) -> bool { return less_uint64(vec2u(0u, 0x7ff00000u), vec2u(x.x, x.y & 0x7fffffffu)); }

// x shifted right by n bits; the lowest bit is set if a bit that is set was lost.
fn jammed_right(x: vec2u, n: u32) -> vec2u {
  let word = select(x, vec2u(x.y, 0u), n >= 32u);
  let lost = select(0u, x.x, n >= 32u);
  let by = n & 31u;
  let low = (word.x >> by) | ((word.y << 1u) << (31u - by));
  let rest = lost | (word.x & ((1u << by) - 1u));
  let shifted = vec2u(low | select(0u, 1u, rest != 0u), word.y >> by);
  return select(shifted, vec2u(select(0u, 1u, any(x != vec2u(0u))), 0u), n >= 64u);
}

// x shifted left until its top bit is set, for x != 0; and the number of bits.
struct Normalized64 { bits: vec2u, by: i32 }
fn normalized_64(x: vec2u) -> Normalized64 {
  let word = select(x, vec2u(0u, x.x), x.y == 0u);
  let by = countLeadingZeros(word.y);
  let bits = vec2u(word.x << by, (word.y << by) | ((word.x >> 1u) >> (31u - by)));
  return Normalized64(bits, i32(by) + select(0, 32, x.y == 0u));
}

// The float64 nearest to m * 2^(exponent - 1086), where the top bit of m is set; its lowest bit may stand for others.
fn rounded_float64(sign: u32, exponent: i32, m: vec2u) -> vec2u {
  if (exponent <= 0) { return vec2u(0u, sign); }
  if (exponent >= 2047) { return float64_inf_signed(sign); }
  let up = ((m.x & 0x7ffu) + ((m.x >> 11u) & 1u) + 0x3ffu) >> 11u;
  let kept = vec2u((m.x >> 11u) | (m.y << 21u), (m.y >> 11u) + (u32(exponent - 1) << 20u));
  return add_64(kept, vec2u(up, 0u)) | vec2u(0u, sign);
}

// x * n.
fn scaled_float64(x: vec2u, n: u32) -> vec2u {
  let exponent = exponent_of_float64(x);
  let mantissa = mantissa_of_float64(x);
  if (exponent == 2047) { return select(x, float64_nan(), n == 0u); }
  if ((n == 0u) | (exponent == 0)) { return vec2u(0u, sign_of_float64(x)); }
  let zeros = countLeadingZeros(n);
  let factor = n << zeros;
  let a = vec2u(mantissa.x << 11u, (mantissa.y << 11u) | (mantissa.x >> 21u));
  let low = a.x * factor;
  let product = add_64(vec2u(a.y * factor, mulhi_u32(a.y, factor)), vec2u(mulhi_u32(a.x, factor), 0u));
  // The product has 95 or 96 bits.
  let is_short = (product.y >> 31u) == 0u;
  let moved = vec2u((product.x << 1u) | (low >> 31u), (product.y << 1u) | (product.x >> 31u));
  let rest = select(low, low << 1u, is_short);
  let m = select(product, moved, is_short) | vec2u(select(0u, 1u, rest != 0u), 0u);
  return rounded_float64(sign_of_float64(x), exponent + 32 - i32(zeros) - select(0, 1, is_short), m);
}

// x / n, for 0 < n < 2^31.
fn over_float64(x: vec2u, n: u32) -> vec2u {
  let exponent = exponent_of_float64(x);
  if (exponent == 2047) { return x; }
  if (exponent == 0) { return vec2u(0u, sign_of_float64(x)); }
  let mantissa = mantissa_of_float64(x);
  let divisor = vec2u(n, 0u);
  let first = divide_uint64(vec2u(mantissa.x << 11u, (mantissa.y << 11u) | (mantissa.x >> 21u)), divisor);
  let second = divide_uint64(vec2u(0u, first.rest.x), divisor);  // the next 32 bits
  let upper = normalized_64(first.quotient);  // shifted by at most 31, because the quotient is at least 2^32
  let by = u32(upper.by);
  let rest = (second.quotient.x << by) | second.rest.x;
  let lower = ((second.quotient.x >> 1u) >> (31u - by)) | select(0u, 1u, rest != 0u);
  return rounded_float64(sign_of_float64(x), exponent - upper.by, upper.bits | vec2u(lower, 0u));
}

// x + y.
fn add_float64(x: vec2u, y: vec2u) -> vec2u {
  let swapped = less_uint64(vec2u(x.x, x.y & 0x7fffffffu), vec2u(y.x, y.y & 0x7fffffffu));
  let large = select(x, y, swapped);
  let small = select(y, x, swapped);
  let exponent = exponent_of_float64(large);
  let is_difference = ((x.y ^ y.y) >> 31u) != 0u;
  if (exponent == 2047) {
    let cancels = is_difference & (exponent_of_float64(small) == 2047);
    return select(large, float64_nan(), is_nan_float64(large) | cancels);
  }
  let a = mantissa_of_float64(large);
  let b = mantissa_of_float64(small);
  let aligned = jammed_right(
    vec2u(b.x << 10u, (b.y << 10u) | (b.x >> 22u)), u32(exponent - exponent_of_float64(small)));
  let wide = vec2u(a.x << 10u, (a.y << 10u) | (a.x >> 22u));
  let sum = add_64(wide, select(aligned, neg_64(aligned), is_difference));
  if (all(sum == vec2u(0u))) { return vec2u(0u, x.y & y.y & 0x80000000u); }
  let m = normalized_64(sum);
  return rounded_float64(sign_of_float64(large), exponent + 1 - m.by, m.bits);
}

// x - y.
fn sub_float64(x: vec2u, y: vec2u) -> vec2u { return add_float64(x, y ^ vec2u(0u, 0x80000000u)); }

// start + i * step, the element of a range that NumPy computes in float64.
fn ramp_float64(i: i32, start: vec2u, step: vec2u) -> vec2u {
  return add_float64(scaled_float64(step, u32(i)), start);
}

// Number i of those that divide an interval into `count` parts, as NumPy computes it.
fn division_float64(i: i32, count: i32, low: vec2u, high: vec2u) -> vec2u {
  if (i == count) { return high; }
  return ramp_float64(i, low, over_float64(sub_float64(high, low), u32(count)));
}

// The nearest float64.
fn float64_from_uint64(x: vec2u) -> vec2u {
  let m = normalized_64(x);
  return select(rounded_float64(0u, 1086 - m.by, m.bits), vec2u(0u), all(x == vec2u(0u)));
}
fn float64_from_int64(x: vec2u) -> vec2u { return float64_from_uint64(abs_int64(x)) | vec2u(0u, x.y & 0x80000000u); }
fn float64_from_u32(x: u32) -> vec2u { return float64_from_uint64(vec2u(x, 0u)); }
fn float64_from_i32(x: i32) -> vec2u { return float64_from_int64(int64_from_i32(x)); }

// The same number. Exact; subnormal numbers too.
fn float64_from_f32(x: f32) -> vec2u {
  let b = bitcast<u32>(x);
  let magnitude = b & 0x7fffffffu;
  let parts = split_f32(max(magnitude, 1u));
  let mantissa = parts.mantissa & 0x007fffffu;
  let exponent = select(u32(parts.exponent + 896), 2047u, magnitude >= 0x7f800000u);
  let bits = vec2u(mantissa << 29u, (exponent << 20u) | (mantissa >> 3u));
  return select(bits, vec2u(0u), magnitude == 0u) | vec2u(0u, b & 0x80000000u);
}

// The nearest f32, ties to even; subnormal numbers too.
fn f32_from_float64(x: vec2u) -> f32 {
  let sign = sign_of_float64(x);
  let exponent = exponent_of_float64(x) - 896;
  if (exponent >= 255) { return select(f32_inf_signed(sign), f32_nan(), is_nan_float64(x)); }
  let mantissa = mantissa_of_float64(x);
  // 24 bits of the result with 7 more, the last of which stands for all others.
  let top = (mantissa.y << 10u) | (mantissa.x >> 22u) | select(0u, 1u, (mantissa.x & 0x003fffffu) != 0u);
  let down = u32(clamp(1 - exponent, 0, 31));
  let m = (top >> down) | select(0u, 1u, (top & ((1u << down) - 1u)) != 0u);
  let up = ((m & 0x7fu) + ((m >> 7u) & 1u) + 0x3fu) >> 7u;
  return bitcast<f32>(sign | ((u32(max(exponent - 1, 0)) << 23u) + (m >> 7u) + up));
}

// The smallest f32 >= x. Exact.
fn f32_above_float64(x: vec2u) -> f32 {
  let near = f32_from_float64(x);
  let is_below = less_int64(order_key_float64(float64_from_f32(near)), order_key_float64(x));
  return select(near, nextafter_f32(near, f32_inf()), is_below);
}

// An int64 that orders like x; -0 and 0 are alike. Exact.
fn order_key_float64(x: vec2u) -> vec2u { return select(x, neg_64(vec2u(x.x, x.y & 0x7fffffffu)), top_bit_64(x)); }

// x rounded up or down to an integer; the nearest int64 if there is none.
fn whole_float64(x: vec2u, is_up: bool) -> vec2u {
  let negative = top_bit_64(x);
  let exponent = exponent_of_float64(x);
  if (exponent >= 1086) { return select(vec2u(0xffffffffu, 0x7fffffffu), vec2u(0u, 0x80000000u), negative); }
  let mantissa = mantissa_of_float64(x);
  let wide = vec2u(mantissa.x << 10u, (mantissa.y << 10u) | (mantissa.x >> 22u));  // |x| * 2^(1085 - exponent)
  let down = vec2u(u32(min(1085 - exponent, 63)), 0u);
  let whole = right_shift_uint64(wide, down);
  let grows = any(left_shift_uint64(whole, down) != wide) & (negative != is_up);
  let magnitude = add_64(whole, vec2u(select(0u, 1u, grows), 0u));
  return select(magnitude, neg_64(magnitude), negative);
}
fn floor_float64(x: vec2u) -> vec2u { return whole_float64(x, false); }
fn ceil_float64(x: vec2u) -> vec2u { return whole_float64(x, true); }

// x rounded down, then as an integer. NaN and values that do not fit give the same as conversions of floats that do not
// fit: -2^31 or -2^63. For uint64, negative values are modulo 2^64, NaN gives 2^63, and values from 2^64 on give 0.
fn i32_floor_float64(x: vec2u) -> i32 {
  return select(i32_from_int64(floor_float64(x)), i32(-2147483648), exponent_of_float64(x) >= 1054);
}
fn int64_floor_float64(x: vec2u) -> vec2u {
  return select(floor_float64(x), vec2u(0u, 0x80000000u), exponent_of_float64(x) >= 1086);
}
fn uint64_floor_float64(x: vec2u) -> vec2u {
  if ((exponent_of_float64(x) < 1086) | top_bit_64(x) | is_nan_float64(x)) { return int64_floor_float64(x); }
  return select(vec2u(0u), left_shift_uint64(mantissa_of_float64(x), vec2u(11u, 0u)), exponent_of_float64(x) == 1086);
}
