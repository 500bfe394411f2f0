// needs: bits.wgsl arithmetic.wgsl math.wgsl convert.wgsl
// x^y with the special cases of C99, which are also NumPy's. exp(y * log(x)) in f32 would lose |y * log(x)| ulp. The
// logarithm here has 32 bits and is computed in integers, so that no driver can reassociate its low bits away.

// A logarithm to base 2: |log2| = mantissa * 2^-scale; the mantissa is 0 or has its top bit set.
struct FixedLog2 { mantissa: u32, scale: i32, negative: bool }

// log2 of the finite positive float with these bits, to a relative 2^-31. With m in [sqrt(1/2), sqrt(2)) and
// s = (m - 1) / (m + 1), log2(m) = 2/ln2 * (s + s^3/3 + s^5/5 + ...); s by long division to 32 bits.
fn log2_fixed(bits: u32) -> FixedLog2 {
  let parts = split_f32(bits);
  let m = parts.mantissa;
  let upper = m > 11863283u;  // sqrt(2) * 2^23: take m / 2
  let e = parts.exponent - 127 + select(0, 1, upper);
  let one = select(0x00800000u, 0x01000000u, upper);
  let distance = bitcast<u32>(f32(i32(select(m - one, one - m, upper))));  // normalized by the conversion
  let numerator = (distance & 0x007fffffu) | 0x00800000u;
  let shift = 150u - (distance >> 23u);  // |m - one| = numerator * 2^-shift
  let denominator = m + one;
  let divisor = f32(i32(denominator));
  let quotient = f32(i32(numerator)) / divisor;  // (1/4, 1)
  let q = u32(i32(quotient * 0x1p16f));
  let residual = i32((numerator << 16u) - q * denominator);  // the true difference is small, so 32 bits hold it
  let s = (q << 16u) + u32(i32(f32(residual) / divisor * 0x1p16f + 0.5));
  let short_s = select(0u, 1u, s < 0x80000000u);
  let normal_s = s << short_s;
  let r = quotient * bitcast<f32>((127u - min(shift, 30u)) << 23u);
  let z = r * r;
  var series = z * 0.0909090909 + 0.111111111;
  series = series * z + 0.142857143;
  series = series * z + 0.2;
  series = series * z + 0.333333333;
  let factor = 0xb8aa3b29u + u32(i32(series * z * 3098164009.0 + 0.86));  // 2/ln2 in Q30, with its rounding error
  let product = mulhi_u32(normal_s, factor) + ((normal_s * factor) >> 31u);
  let t = select(product, 0u, m == one);  // |log2(m)| = t * 2^-scale
  let scale = 30u + shift + short_s;  // at least 31
  // e and log2(m) as one 64-bit number whole.fraction; they are subtracted if their signs differ.
  let fraction = select(t >> ((scale - 32u) & 31u), t << 1u, scale < 32u);
  let opposite = upper == (e > 0);
  let lo = select(fraction, 0u - fraction, opposite);
  let hi = u32(abs(e)) - select(0u, 1u, opposite & (fraction != 0u));
  let zeros = 158u - (bitcast<u32>(f32(i32(hi))) >> 23u);  // leading zeros of hi: at least 24
  // One of three has all significant bits: log2(m) alone, the fraction (at least 1/2 then), or both words.
  let short_t = select(0u, 1u, t < 0x80000000u);
  let short_lo = select(0u, 1u, lo < 0x80000000u);
  let above_one = FixedLog2((hi << (zeros & 31u)) | (lo >> ((32u - zeros) & 31u)), i32(zeros), e < 0);
  let below_one = FixedLog2(lo << short_lo, i32(32u + short_lo), e < 0);
  let alone = FixedLog2(t << short_t, i32(scale + short_t), upper);
  if (e == 0) { return alone; }
  if (hi == 0u) { return below_one; }
  return above_one;
}

// A logarithm as a float: mantissa * 2^-scale, negated if `negative`. Correctly rounded (0.5 ulp).
fn log_from_fixed_f32(mantissa: u32, scale: i32, negative: bool) -> f32 {
  let magnitude = f32_from_u32(mantissa) * bitcast<f32>(u32(127 - min(scale, 126)) << 23u);  // 0 has any scale
  return select(magnitude, -magnitude, negative);
}

// The logarithm to base 2: 1 ulp, exact for powers of 2; special values as for log_f32.
fn log2_f32(x: f32) -> f32 {
  let b = bitcast<u32>(x);
  if (b - 1u >= 0x7f7fffffu) { return log_f32(x); }
  let fixed = log2_fixed(b);
  return log_from_fixed_f32(fixed.mantissa, fixed.scale, fixed.negative);
}

// The logarithm to base 10: 1 ulp, exact for powers of 10; special values as for log_f32.
fn log10_f32(x: f32) -> f32 {
  let b = bitcast<u32>(x);
  if (b - 1u >= 0x7f7fffffu) { return log_f32(x); }
  let fixed = log2_fixed(b);
  let mantissa = mulhi_u32(fixed.mantissa, 0x9a209a85u);  // log10(2) in Q33
  return log_from_fixed_f32(mantissa, fixed.scale + 1, fixed.negative);
}

// 2^x: 2 ulp, exact for integers; overflow gives inf, underflow a subnormal or 0.
fn exp2_f32(x: f32) -> f32 {
  if (is_nan(x)) { return x; }
  if (x >= 128.0) { return f32_inf(); }
  if (x < -150.0) { return 0.0; }
  return exp2_fixed_f32(u32(round(abs(x) * 0x1p24f)), x < 0.0);
}

// 2^(fixed * 2^-24), fixed < 2^32, or its reciprocal. 1 ulp. The polynomial is Cephes expf.c's.
fn exp2_fixed_f32(fixed: u32, negative: bool) -> f32 {
  let n = (fixed >> 24u) + ((fixed >> 23u) & 1u);
  let fraction = f32(i32(fixed - (n << 24u))) * 0x1p-24f;
  let r = select(fraction, -fraction, negative) * 0.693147181;
  var p = 1.9875691500e-4 * r + 1.3981999507e-3;
  p = p * r + 8.3334519073e-3;
  p = p * r + 4.1665795894e-2;
  p = p * r + 1.6666665459e-1;
  p = p * r + 5.0000001201e-1;
  return scale_pow2_f32(fma(p * r, r, r) + 1.0, select(i32(n), -i32(n), negative));
}

// x to the power y (np.power): 3 ulp for normal results; every special case as in C99's pow.
fn pow_f32(x: f32, y: f32) -> f32 {
  let bx = bitcast<u32>(x);
  let by = bitcast<u32>(y);
  let ax = bx & 0x7fffffffu;
  let ay = by & 0x7fffffffu;
  // Is y an integer, and an odd one? The bit of weight 1 of its mantissa is 150 - ey.
  let ey = ay >> 23u;
  let my = (ay & 0x007fffffu) | 0x00800000u;
  let unit = (150u - ey) & 31u;
  let whole = (ey >= 127u) & (ey <= 150u) & ((my & ((1u << unit) - 1u)) == 0u);
  let odd = whole & (((my >> unit) & 1u) != 0u);
  let sign = select(0u, bx & 0x80000000u, odd);
  // |y * log2(x)| = product * 2^weight. A subnormal y counts as a small normal one: the result is 1 either way.
  let log2_x = log2_fixed(ax);
  let product = mulhi_u32(log2_x.mantissa, my << 8u);
  let weight = i32(ey) - 126 - log2_x.scale;
  let down = -weight - 24;  // to Q24
  let rounded = ((product >> u32(clamp(down - 1, 0, 31))) + 1u) >> 1u;
  let fixed = select(select(select(product, rounded, down > 0), 0u, down > 32), product << 1u, down < 0);
  let finite = exp2_fixed_f32(fixed, log2_x.negative != (by >= 0x80000000u));
  // Above 256, and for x or y of 0 or infinity, the result is 0 or infinity.
  let past = (down < -1) | ((down == -1) & (product >= 0x80000000u));
  let extreme = past | (ax == 0u) | (max(ax, ay) == 0x7f800000u);
  let grows = (ax > 0x3f800000u) == (by < 0x80000000u);
  let limit = select(0u, 0x7f800000u, grows);
  let magnitude = select(select(bitcast<u32>(finite), limit, extreme), 0x3f800000u, ax == 0x3f800000u);
  let fractional = (ey < 151u) & !whole;
  let undefined = (max(ax, ay) > 0x7f800000u) | ((bx > 0x80000000u) & (bx < 0xff800000u) & fractional);
  let one = (bx == 0x3f800000u) | (ay == 0u);  // even for NaN
  return bitcast<f32>(select(select(magnitude | sign, 0x7fc00000u, undefined), 0x3f800000u, one));
}
