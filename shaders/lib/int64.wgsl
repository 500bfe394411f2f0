// needs: bits.wgsl arithmetic.wgsl
// Integers of 64 bits as two words, the lower word first, as in memory. Everything here is exact except the conversion
// to f32, and wraps modulo 2^64. Signed integers are in two's complement; functions whose names end in `_64` serve both
// kinds. A divisor of 0 gives 0.

alias int64 = vec2<u32>;
alias uint64 = vec2<u32>;

// x + y.
fn add_64(x: vec2u, y: vec2u) -> vec2u {
  let low = x.x + y.x;
  return vec2u(low, x.y + y.y + select(0u, 1u, low < x.x));
}

// x - y.
fn sub_64(x: vec2u, y: vec2u) -> vec2u { return vec2u(x.x - y.x, x.y - y.y - select(0u, 1u, x.x < y.x)); }

// -x.
fn neg_64(x: vec2u) -> vec2u { return sub_64(vec2u(0u), x); }

// x * y.
fn mul_64(x: vec2u, y: vec2u) -> vec2u { return vec2u(x.x * y.x, mulhi_u32(x.x, y.x) + x.x * y.y + x.y * y.x); }

// x < y.
fn less_uint64(x: vec2u, y: vec2u) -> bool { return (x.y < y.y) | ((x.y == y.y) & (x.x < y.x)); }
fn less_int64(x: vec2u, y: vec2u) -> bool { return less_uint64(order_key_int64(x), order_key_int64(y)); }

// The larger and the smaller of two numbers.
fn max_uint64(x: vec2u, y: vec2u) -> vec2u { return select(x, y, less_uint64(x, y)); }
fn max_int64(x: vec2u, y: vec2u) -> vec2u { return select(x, y, less_int64(x, y)); }
fn min_uint64(x: vec2u, y: vec2u) -> vec2u { return select(x, y, less_uint64(y, x)); }
fn min_int64(x: vec2u, y: vec2u) -> vec2u { return select(x, y, less_int64(y, x)); }

// Keys for a maximum and for a minimum: unsigned integers whose order is that of the values, or the reverse.
fn order_key_uint64(x: vec2u) -> vec2u { return x; }
fn order_key_int64(x: vec2u) -> vec2u { return x ^ vec2u(0u, 0x80000000u); }
fn order_key_min_uint64(x: vec2u) -> vec2u { return ~x; }
fn order_key_min_int64(x: vec2u) -> vec2u { return x ^ vec2u(0xffffffffu, 0x7fffffffu); }

// Whether the top bit, the sign, is set.
fn top_bit_64(x: vec2u) -> bool { return (x.y >> 31u) != 0u; }

// |x|; -2^63 is unchanged, as in NumPy.
fn abs_int64(x: vec2u) -> vec2u { return select(x, neg_64(x), top_bit_64(x)); }

// -1, 0 or 1.
fn sign_uint64(x: vec2u) -> vec2u { return vec2u(select(0u, 1u, any(x != vec2u(0u))), 0u); }
fn sign_int64(x: vec2u) -> vec2u { return select(sign_uint64(x), vec2u(0xffffffffu), top_bit_64(x)); }
// 1 / x rounded towards 0; 0 for 0.
fn reciprocal_uint64(x: vec2u) -> vec2u { return select(vec2u(0u), x, all(x == vec2u(1u, 0u))); }
fn reciprocal_int64(x: vec2u) -> vec2u {
  return select(reciprocal_uint64(x), x, all(x == vec2u(0xffffffffu)));
}

struct Quotient64 { quotient: vec2u, rest: vec2u }

// x / y rounded down, and the remainder; both are 0 for y == 0. Each step finds 19 bits of the quotient by floats, and
// the exact remainder. After four steps the remainder is below 2 * y. There is no loop, because drivers on CPUs limit
// the loop iterations of an invocation.
fn divide_uint64(x: vec2u, y: vec2u) -> Quotient64 {
  if (all(y == vec2u(0u))) { return Quotient64(vec2u(0u), vec2u(0u)); }
  if ((x.y | y.y) == 0u) {
    let quotient = x.x / y.x;
    return Quotient64(vec2u(quotient, 0u), vec2u(x.x - quotient * y.x, 0u));
  }
  let inverse = 0.99999905 / f32_from_uint64(y);  // smaller by 2^-20, which exceeds all rounding errors
  let first = closer_quotient(Quotient64(vec2u(0u), x), y, inverse);
  let second = closer_quotient(first, y, inverse);
  let third = closer_quotient(second, y, inverse);
  let last = closer_quotient(third, y, inverse);
  if (less_uint64(last.rest, y)) { return last; }
  return Quotient64(add_64(last.quotient, vec2u(1u, 0u)), sub_64(last.rest, y));
}

// Increase a quotient that was too small, by an estimate from the remainder.
fn closer_quotient(found: Quotient64, y: vec2u, inverse: f32) -> Quotient64 {
  let more = magnitude_from_f32(f32_from_uint64(found.rest) * inverse);
  return Quotient64(add_64(found.quotient, more), sub_64(found.rest, mul_64(more, y)));
}

// x // y rounded towards minus infinity; -2^63 // -1 gives -2^63.
fn floor_divide_uint64(x: vec2u, y: vec2u) -> vec2u { return divide_uint64(x, y).quotient; }
fn floor_divide_int64(x: vec2u, y: vec2u) -> vec2u {
  let found = divide_uint64(abs_int64(x), abs_int64(y));
  let magnitude = add_64(found.quotient, sign_uint64(found.rest));
  return select(found.quotient, neg_64(magnitude), top_bit_64(x) != top_bit_64(y));
}

// x % y with the sign of y.
fn remainder_uint64(x: vec2u, y: vec2u) -> vec2u { return divide_uint64(x, y).rest; }
fn remainder_int64(x: vec2u, y: vec2u) -> vec2u {
  let divisor = abs_int64(y);
  let rest = divide_uint64(abs_int64(x), divisor).rest;
  let turned = any(rest != vec2u(0u)) & (top_bit_64(x) != top_bit_64(y));
  let magnitude = select(rest, sub_64(divisor, rest), turned);
  return select(magnitude, neg_64(magnitude), top_bit_64(y));
}

// The greatest common divisor; for 0 and y it is y. The method is that of `gcd_u32`.
fn gcd_uint64(x: vec2u, y: vec2u) -> vec2u {
  if (all(x == vec2u(0u)) | all(y == vec2u(0u))) { return x | y; }
  var a = shifted_down(x, vec2u(trailing_zeros_64(x), 0u), 0u);
  var b = y;
  for (var i = 0; i < 128; i++) {
    if (all(b == vec2u(0u))) { break; }
    b = shifted_down(b, vec2u(trailing_zeros_64(b), 0u), 0u);
    let larger = max_uint64(a, b);
    a = min_uint64(a, b);
    b = sub_64(larger, a);
  }
  return left_shift_uint64(a, vec2u(trailing_zeros_64(x | y), 0u));
}
fn gcd_int64(x: vec2u, y: vec2u) -> vec2u { return gcd_uint64(abs_int64(x), abs_int64(y)); }

// The number of trailing zero bits of a nonzero x.
fn trailing_zeros_64(x: vec2u) -> u32 { return select(countTrailingZeros(x.y) + 32u, countTrailingZeros(x.x), x.x != 0u); }

// The least common multiple, modulo 2^64; 0 if x or y is 0.
fn lcm_uint64(x: vec2u, y: vec2u) -> vec2u { return mul_64(divide_uint64(x, gcd_uint64(x, y)).quotient, y); }
fn lcm_int64(x: vec2u, y: vec2u) -> vec2u { return lcm_uint64(abs_int64(x), abs_int64(y)); }

// The number of bits set in |x|.
fn count_bits_uint64(x: vec2u) -> i32 { return i32(countOneBits(x.x) + countOneBits(x.y)); }
fn count_bits_int64(x: vec2u) -> i32 { return count_bits_uint64(abs_int64(x)); }

// x to the power y, by repeated squaring; x^0 is 1.
fn pow_uint64(x: vec2u, y: vec2u) -> vec2u {
  var result = vec2u(1u, 0u);
  var square = x;
  var left = y;
  for (var i = 0; i < 64; i++) {
    if (all(left == vec2u(0u))) { break; }
    if ((left.x & 1u) != 0u) { result = mul_64(result, square); }
    square = mul_64(square, square);
    left = vec2u((left.x >> 1u) | (left.y << 31u), left.y >> 1u);
  }
  return result;
}

// The same; a negative y gives the integer part of the true result: 0, but 1 for x == 1 and +-1 for x == -1.
fn pow_int64(x: vec2u, y: vec2u) -> vec2u {
  let unit = all(x == vec2u(1u, 0u)) | all(x == vec2u(0xffffffffu));  // the parity of y is enough
  let result = pow_uint64(x, select(y, vec2u(y.x & 1u, 0u), unit));
  return select(result, vec2u(0u), top_bit_64(y) & !unit);
}

// x * 2^y; 0 if y is negative, or 64 or more.
fn left_shift_uint64(x: vec2u, y: vec2u) -> vec2u {
  let n = y.x & 31u;
  let low = x.x << n;
  let high = (x.y << n) | ((x.x >> 1u) >> (31u - n));
  let shifted = select(vec2u(low, high), vec2u(0u, low), (y.x & 32u) != 0u);
  return select(shifted, vec2u(0u), (y.y != 0u) | (y.x > 63u));
}
fn left_shift_int64(x: vec2u, y: vec2u) -> vec2u { return left_shift_uint64(x, y); }

// x / 2^y rounded towards minus infinity; 0 or -1 if y is negative, or 64 or more.
fn right_shift_uint64(x: vec2u, y: vec2u) -> vec2u { return shifted_down(x, y, 0u); }
fn right_shift_int64(x: vec2u, y: vec2u) -> vec2u { return shifted_down(x, y, select(0u, 0xffffffffu, top_bit_64(x))); }

// The same, with words of `sign` shifted in from above.
fn shifted_down(x: vec2u, y: vec2u, sign: u32) -> vec2u {
  let n = y.x & 31u;
  let low = (x.x >> n) | ((x.y << 1u) << (31u - n));
  let high = (x.y >> n) | ((sign << 1u) << (31u - n));
  let shifted = select(vec2u(low, high), vec2u(high, sign), (y.x & 32u) != 0u);
  return select(shifted, vec2u(sign), (y.y != 0u) | (y.x > 63u));
}

// Whether x is not 0.
fn bool_from_int64(x: vec2u) -> bool { return any(x != vec2u(0u)); }
fn bool_from_uint64(x: vec2u) -> bool { return any(x != vec2u(0u)); }

// 0 or 1.
fn int64_from_bool(x: bool) -> vec2u { return vec2u(select(0u, 1u, x), 0u); }
fn uint64_from_bool(x: bool) -> vec2u { return vec2u(select(0u, 1u, x), 0u); }

// Modulo 2^64; between the two kinds, the same bits.
fn int64_from_i32(x: i32) -> vec2u { return vec2u(bitcast<u32>(x), select(0u, 0xffffffffu, x < 0)); }
fn uint64_from_i32(x: i32) -> vec2u { return int64_from_i32(x); }
fn int64_from_u32(x: u32) -> vec2u { return vec2u(x, 0u); }
fn uint64_from_u32(x: u32) -> vec2u { return vec2u(x, 0u); }
fn int64_from_uint64(x: vec2u) -> vec2u { return x; }
fn uint64_from_int64(x: vec2u) -> vec2u { return x; }

// Modulo 2^32.
fn i32_from_int64(x: vec2u) -> i32 { return bitcast<i32>(x.x); }
fn i32_from_uint64(x: vec2u) -> i32 { return bitcast<i32>(x.x); }
fn u32_from_int64(x: vec2u) -> u32 { return x.x; }
fn u32_from_uint64(x: vec2u) -> u32 { return x.x; }

// |x| without its fraction, modulo 2^64.
fn magnitude_from_f32(x: f32) -> vec2u {
  let exponent = (bitcast<u32>(x) >> 23u) & 0xffu;
  let mantissa = (bitcast<u32>(x) & 0x007fffffu) | 0x00800000u;  // |x| = mantissa * 2^(exponent - 150)
  let down = 150u - exponent;
  let small = vec2u(select(mantissa >> (down & 31u), 0u, down > 31u), 0u);
  return select(small, left_shift_uint64(vec2u(mantissa, 0u), vec2u(exponent - 150u, 0u)), exponent >= 150u);
}

// Truncation towards 0; NaN and values that do not fit give -2^63, like x86-64's conversion instruction.
fn int64_from_f32(x: f32) -> vec2u {
  let magnitude = magnitude_from_f32(x);
  let outside = (bitcast<u32>(x) & 0x7fffffffu) >= 0x5f000000u;
  return select(select(magnitude, neg_64(magnitude), sign_bit(x)), vec2u(0u, 0x80000000u), outside);
}

// The same below 2^63, modulo 2^64; truncation from 2^63 on, and 0 from 2^64 on. NaN gives 2^63.
fn uint64_from_f32(x: f32) -> vec2u {
  let b = bitcast<u32>(x);
  let above = select(magnitude_from_f32(x), vec2u(0u), b >= 0x5f800000u);
  return select(int64_from_f32(x), above, (b >= 0x5f000000u) & (b <= 0x7f800000u));
}

// The nearest f32, ties to even. Correctly rounded (0.5 ulp).
fn f32_from_uint64(x: vec2u) -> f32 {
  let zeros = select(countLeadingZeros(x.x) + 32u, countLeadingZeros(x.y), x.y != 0u);
  let n = left_shift_uint64(x, vec2u(zeros, 0u));
  let rest = ((n.y & 0xffu) << 1u) | select(0u, 1u, n.x != 0u);
  let up = (rest + ((n.y >> 8u) & 1u) + 0xffu) >> 9u;
  let bits = ((189u - zeros) << 23u) + (n.y >> 8u) + up;
  return select(bitcast<f32>(bits), 0.0, all(x == vec2u(0u)));
}
fn f32_from_int64(x: vec2u) -> f32 {
  let magnitude = f32_from_uint64(abs_int64(x));
  return select(magnitude, neg_f32(magnitude), top_bit_64(x));
}

// An index as the nearest i32.
fn index_from_int64(x: vec2u) -> i32 {
  let fits = x.y == select(0u, 0xffffffffu, (x.x >> 31u) != 0u);
  return select(select(2147483647, i32(-2147483648), top_bit_64(x)), bitcast<i32>(x.x), fits);
}
fn index_from_uint64(x: vec2u) -> i32 { return bitcast<i32>(select(min(x.x, 0x7fffffffu), 0x7fffffffu, x.y != 0u)); }
