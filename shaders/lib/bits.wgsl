// Floats seen as their bits, and the 64-bit integer arithmetic that WGSL lacks.
//
// WGSL implementations may assume that NaN and infinity do not occur ("Floating Point Evaluation"), so `x != x` may
// fold to false. Every test here uses the bits, which no float rule can rewrite.

// Whether x is a NaN of any sign and payload. Exact. Signed, because SIMD instructions of CPUs only compare signed
// integers.
fn is_nan(x: f32) -> bool { return (bitcast<i32>(x) & 0x7fffffff) > 0x7f800000; }

// Whether x is +inf or -inf. Exact.
fn is_inf(x: f32) -> bool { return (bitcast<u32>(x) & 0x7fffffffu) == 0x7f800000u; }

// Whether x is neither NaN nor infinite. Exact.
fn is_finite(x: f32) -> bool { return (bitcast<u32>(x) & 0x7f800000u) != 0x7f800000u; }

// Whether the sign bit is set, also for -0 and NaN. Exact.
fn sign_bit(x: f32) -> bool { return (bitcast<u32>(x) >> 31u) != 0u; }

// +inf. The `let` keeps it out of constant evaluation, where it would be a shader-creation error.
fn f32_inf() -> f32 { let bits = 0x7f800000u; return bitcast<f32>(bits); }

// A quiet NaN; see f32_inf for the `let`.
fn f32_nan() -> f32 { let bits = 0x7fc00000u; return bitcast<f32>(bits); }

// +inf or -inf, with the sign of bit 31 of `sign`. Exact.
fn f32_inf_signed(sign: u32) -> f32 { let bits = 0x7f800000u; return bitcast<f32>(bits | (sign & 0x80000000u)); }

// |x| with the sign bit of `sign`, for NaN too. Exact.
fn copysign_f32(x: f32, sign: f32) -> f32 {
  return bitcast<f32>((bitcast<u32>(x) & 0x7fffffffu) | (bitcast<u32>(sign) & 0x80000000u));
}

// An integer that orders like x, with NaN (any) above everything, -0 equal to +0, and subnormals distinct. Exact.
fn ordered_i32(x: f32) -> i32 {
  let b = bitcast<i32>(x);
  let magnitude = b & 0x7fffffff;
  return select(magnitude, -magnitude, b < -8388607);  // -0 to -inf
}

// The next number after x towards y: y if they are equal, and -0 when reaching 0 from below. Exact, subnormals
// included.
fn nextafter_f32(x: f32, y: f32) -> f32 {
  if (is_nan(x) | is_nan(y)) { return f32_nan(); }
  let from_x = ordered_i32(x);
  let to_y = ordered_i32(y);
  if (from_x == to_y) { return y; }
  let next = from_x + select(-1, 1, to_y > from_x);
  let magnitude = bitcast<f32>(bitcast<u32>(max(next, -next)));
  return copysign_f32(magnitude, select(f32(next), x, next == 0));
}

// The parts of a magnitude: |x| = mantissa * 2^(exponent - 150), mantissa in [2^23, 2^24).
struct Float32Parts { mantissa: u32, exponent: i32 }

// The parts of the finite positive f32 with these bits, subnormal or not; for 0, mantissa 2^23. Exact. A subnormal is
// normalized by converting its integer mantissa, which is cheaper than counting leading zeros.
fn split_f32(bits: u32) -> Float32Parts {
  let subnormal = bits < 0x00800000u;
  let normal = select(bits, bitcast<u32>(f32(i32(bits))), subnormal);
  return Float32Parts((normal & 0x007fffffu) | 0x00800000u, i32(normal >> 23u) - select(0, 149, subnormal));
}

// The fraction of x: its mantissa in [0.5, 1) with its sign; zeros, infinities and NaN are unchanged. Exact.
fn frexp_fraction_f32(x: f32) -> f32 {
  let magnitude = bitcast<u32>(x) & 0x7fffffffu;
  let fraction = bitcast<f32>((split_f32(magnitude).mantissa & 0x007fffffu) | 0x3f000000u);
  return select(copysign_f32(fraction, x), x, (magnitude == 0u) | (magnitude >= 0x7f800000u));
}

// The exponent e for which that fraction times 2^e is x; 0 for zeros, infinities and NaN. Exact.
fn frexp_exponent_f32(x: f32) -> i32 {
  let magnitude = bitcast<u32>(x) & 0x7fffffffu;
  return select(split_f32(magnitude).exponent - 126, 0, (magnitude == 0u) | (magnitude >= 0x7f800000u));
}

// The distance to the next number away from 0, with the sign of x; NaN for infinities. Exact.
fn spacing_f32(x: f32) -> f32 {
  let magnitude = bitcast<u32>(x) & 0x7fffffffu;
  if (magnitude >= 0x7f800000u) { return f32_nan(); }
  if (magnitude == 0u) { return bitcast<f32>(1u); }
  let e = max(magnitude >> 23u, 1u);
  let distance = select(1u << ((e - 1u) & 31u), (e - 23u) << 23u, e > 23u);
  return copysign_f32(bitcast<f32>(select(distance, 0x7f800000u, magnitude == 0x7f7fffffu)), x);
}

// v * 2^n for a normal v, by the exponent field: overflow gives inf. Exact for a normal result; a subnormal one is
// rounded by the device's multiplication, or flushed to zero.
fn scale_pow2_f32(v: f32, n: i32) -> f32 {
  let b = bitcast<u32>(v);
  let e = i32((b >> 23u) & 0xffu) + n;
  let low = e < 1;
  let scaled = bitcast<f32>((b & 0x807fffffu) | (u32(clamp(e, -30, 255) + select(0, 64, low)) << 23u));
  return select(select(scaled, scaled * 0x1p-64f, low), f32_inf_signed(b), e > 254);
}

// x * 2^n: overflow gives an infinity. Exact for a normal result.
fn ldexp_f32(x: f32, n: i32) -> f32 {
  let magnitude = bitcast<u32>(x) & 0x7fffffffu;
  if ((magnitude == 0u) | (magnitude >= 0x7f800000u)) { return x; }
  let parts = split_f32(magnitude);
  let normal = bitcast<f32>((parts.mantissa & 0x007fffffu) | 0x3f800000u | (bitcast<u32>(x) & 0x80000000u));
  return scale_pow2_f32(normal, clamp(n, -1000, 1000) + parts.exponent - 127);
}

// The upper 32 bits of the 64-bit product a * b: WGSL has neither u64 nor a multiply-high. Exact.
fn mulhi_u32(a: u32, b: u32) -> u32 {
  let al = a & 0xffffu;
  let ah = a >> 16u;
  let bl = b & 0xffffu;
  let bh = b >> 16u;
  let lh = al * bh;
  let hl = ah * bl;
  let middle = ((al * bl) >> 16u) + (lh & 0xffffu) + (hl & 0xffffu);
  return ah * bh + (lh >> 16u) + (hl >> 16u) + (middle >> 16u);
}
