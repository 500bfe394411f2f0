// Conversions between bool, i32, u32 and f32, one function per ordered pair, with the results of NumPy's astype on
// x86-64.
//
// WGSL clamps a float that does not fit an integer, and does not define how large integers round to f32. In these cases
// the result is assembled from bits.

// Whether x is not 0. Exact.
fn bool_from_i32(x: i32) -> bool { return x != 0; }

// Whether x is not 0. Exact.
fn bool_from_u32(x: u32) -> bool { return x != 0u; }

// Whether x is neither 0 nor -0: NaN and subnormals are true. Exact.
fn bool_from_f32(x: f32) -> bool { return (bitcast<u32>(x) & 0x7fffffffu) != 0u; }

// 0 or 1. Exact.
fn i32_from_bool(x: bool) -> i32 { return select(0, 1, x); }

// The same 32 bits: modulo 2^32. Exact.
fn i32_from_u32(x: u32) -> i32 { return bitcast<i32>(x); }

// Truncation towards 0; NaN and values that do not fit give -2^31, like x86's conversion instruction. Exact.
fn i32_from_f32(x: f32) -> i32 {
  return select(i32(x), i32(-2147483648), (bitcast<u32>(x) & 0x7fffffffu) >= 0x4f000000u);
}

// 0 or 1. Exact.
fn u32_from_bool(x: bool) -> u32 { return select(0u, 1u, x); }

// The same 32 bits: modulo 2^32. Exact.
fn u32_from_i32(x: i32) -> u32 { return bitcast<u32>(x); }

// Truncation towards 0, then modulo 2^32, like x86-64's conversion through int64; NaN and values that do not fit an
// int64 give 0. Exact.
fn u32_from_f32(x: f32) -> u32 {
  let b = bitcast<u32>(x);
  let exponent = (b >> 23u) & 0xffu;
  let mantissa = (b & 0x007fffffu) | 0x00800000u;  // |x| = mantissa * 2^(exponent - 150)
  let up = exponent - 150u;
  let down = 150u - exponent;
  let large = select(mantissa << (up & 31u), 0u, up > 31u);
  let small = select(mantissa >> (down & 31u), 0u, down > 31u);
  let magnitude = select(small, large, exponent >= 150u);
  return select(magnitude, 0u - magnitude, (b >> 31u) != 0u);
}

// 0 or 1. Exact.
fn f32_from_bool(x: bool) -> f32 { return select(0.0, 1.0, x); }

// The nearest f32, ties to even. Correctly rounded (0.5 ulp).
fn f32_from_i32(x: i32) -> f32 {
  let magnitude = f32_from_u32(select(bitcast<u32>(x), 0u - bitcast<u32>(x), x < 0));
  return select(magnitude, -magnitude, x < 0);
}

// The nearest f32, ties to even. Correctly rounded (0.5 ulp): the upper 24 bits, plus one if the lower 8 round up.
fn f32_from_u32(x: u32) -> f32 {
  let zeros = countLeadingZeros(x | 1u);
  let n = x << zeros;
  let up = ((n & 0xffu) + ((n >> 8u) & 1u) + 0x7fu) >> 8u;
  let bits = ((157u - zeros) << 23u) + (n >> 8u) + up;
  return select(bitcast<f32>(bits), 0.0, x == 0u);
}

// Wrap a computed i32 to int8: its low 8 bits, sign-extended. Exact.
fn wrap_int8(x: i32) -> i32 { return extractBits(x, 0u, 8u); }

// Wrap a computed i32 to int16: its low 16 bits, sign-extended. Exact.
fn wrap_int16(x: i32) -> i32 { return extractBits(x, 0u, 16u); }

// Wrap a computed i32 to uint8: its low 8 bits. Exact.
fn wrap_uint8(x: i32) -> i32 { return x & 0xff; }

// Wrap a computed i32 to uint16: its low 16 bits. Exact.
fn wrap_uint16(x: i32) -> i32 { return x & 0xffff; }

// The number with these bits in IEEE 754's binary16. Exact, subnormals included.
fn f32_from_f16_bits(bits: u32) -> f32 {
  let sign = (bits & 0x8000u) << 16u;
  let magnitude = bits & 0x7fffu;
  let normal = (magnitude << 13u) + select(0x38000000u, 0x70000000u, magnitude >= 0x7c00u);
  let small = bitcast<u32>(f32(magnitude) * 5.9604645e-8);  // 2^-24
  return bitcast<f32>(sign | select(normal, small, magnitude < 0x0400u));
}

// The binary16 bits (IEEE 754) of the nearest number, ties to even. Correctly rounded, subnormals included.
fn f16_bits_from_f32(x: f32) -> u32 {
  let b = bitcast<u32>(x);
  let magnitude = b & 0x7fffffffu;
  let rest = magnitude - 0x38000000u;
  let normal = (rest + 0xfffu + ((rest >> 13u) & 1u)) >> 13u;
  let small = u32(round(bitcast<f32>(min(magnitude, 0x38800000u)) * 16777216.0));
  let finite = select(normal, small, magnitude < 0x38800000u);
  let large = select(finite, 0x7c00u, magnitude >= 0x477ff000u);
  return ((b >> 16u) & 0x8000u) | select(large, 0x7e00u, magnitude > 0x7f800000u);
}

// Round a computed f32 to float16. Correctly rounded.
fn wrap_float16(x: f32) -> f32 { return f32_from_f16_bits(f16_bits_from_f32(x)); }

// The bfloat16 bits, the upper 16 bits of an f32, of the nearest number, ties to even. Correctly rounded.
fn bf16_bits_from_f32(x: f32) -> u32 {
  let b = bitcast<u32>(x);
  let nearest = (b + 0x7fffu + ((b >> 16u) & 1u)) >> 16u;
  return select(nearest, ((b >> 16u) & 0x8000u) | 0x7fc0u, (b & 0x7fffffffu) > 0x7f800000u);
}

// Round a computed f32 to bfloat16. Correctly rounded.
fn wrap_bfloat16(x: f32) -> f32 { return bitcast<f32>(bf16_bits_from_f32(x) << 16u); }
