// needs: bits.wgsl arithmetic.wgsl
// Elementary functions of f32, within 4 ulp over the whole range on every device.
//
// The builtins are less accurate: WGSL allows log an absolute error of 2^-21 near 1, and sin and cos 2^-11, only within
// [-pi, pi]. SwiftShader's tanh gives NaN beyond 40. The polynomials are Cephes' single-precision ones (S. Moshier,
// netlib.org/cephes/single) unless stated otherwise. Arguments are reduced in integers, because a driver may
// reassociate a float Cody-Waite reduction, even one written with fma (which cost llvmpipe an error of 4e-4).

// exp(r) - 1 for |r| <= 0.35. 1 ulp. A minimax polynomial of degree 6 with an error of 2^-26.
fn expm1_poly_f32(r: f32) -> f32 {
  var p = 1.3882521e-3 * r + 8.3665187e-3;
  p = p * r + 4.1667200e-2;
  p = p * r + 1.6666543e-1;
  p = p * r + 4.9999997e-1;
  return fma(p * r, r, r);
}

// exp(x): 2 ulp; overflow gives inf, underflow a subnormal or 0.
fn exp_f32(x: f32) -> f32 { return exp_by_integers_f32(x); }

// The same, with the argument reduced in integers.
fn exp_by_integers_f32(x: f32) -> f32 {
  if (is_nan(x)) { return x; }
  if (x > 88.722839) { return f32_inf(); }
  if (x < -103.972084) { return 0.0; }
  return exp_scaled_f32(x, 0);
}

// exp(x) * 2^n for |x| < 104. 2 ulp. x - k ln2 is computed in Q25 fixed point.
fn exp_scaled_f32(x: f32, n: i32) -> f32 {
  let a = abs(x);
  let k = i32(a * 1.44269504 + 0.5);
  let fixed = i32(u32(a * 0x1p25f)) - k * 23258160;  // 23258160 = ceil(ln2 * 2^25)
  let reduced = f32(fixed) * 0x1p-25f + f32(k) * 1.904654300e-09;
  let r = select(reduced, a, k == 0);
  let negative = x < 0.0;
  return scale_pow2_f32(expm1_poly_f32(select(r, -r, negative)) + 1.0, n + select(k, -k, negative));
}

// exp(x) - 1: 3 ulp; keeps -0. Near 0 it is computed from half the argument, which is in the range of the polynomial.
fn expm1_f32(x: f32) -> f32 {
  let a = abs(x);
  if (a < 0x1p-25f) { return x; }
  if (a < 0.5) {
    let p = expm1_poly_f32(0.5 * x);
    return fma(p, p, 2.0 * p);
  }
  let e = exp_f32(x);
  return select(e - 1.0, e, (bitcast<u32>(e) & 0x7f800000u) == 0x7f800000u);
}

// log((1 + x) * 2^e) for 1 + x in [0.707, 1.415]. 1 ulp. Cephes logf.c.
fn log_poly_f32(x: f32, e: f32) -> f32 {
  let z = x * x;
  var p = 7.0376836292e-2 * x - 1.1514610310e-1;
  p = p * x + 1.1676998740e-1;
  p = p * x - 1.2420140846e-1;
  p = p * x + 1.4249322787e-1;
  p = p * x - 1.6668057665e-1;
  p = p * x + 2.0000714765e-1;
  p = p * x - 2.4999993993e-1;
  p = p * x + 3.3333331174e-1;
  p = p * x * z;
  p = fma(e, -2.12194440e-4, p);
  p = fma(-0.5, z, p);
  return fma(e, 0.693359375, x + p);
}

// The natural logarithm: 1 ulp, subnormals included; 0 gives -inf, x < 0 gives NaN.
fn log_f32(x: f32) -> f32 {
  let b = bitcast<u32>(x);
  let tiny = b < 0x00800000u;  // subnormal: use the integer mantissa, which is 2^149 times as large
  let normal = select(b, bitcast<u32>(f32(i32(b))), tiny);
  let e = i32(normal - 0x3f3504f3u) >> 23u;  // so that the mantissa lies in [sqrt(0.5), sqrt(2))
  let ordinary = log_poly_f32(bitcast<f32>(normal - (u32(e) << 23u)) - 1.0, f32(e - select(0, 149, tiny)));
  let special = select(select(x, f32_nan(), b > 0x80000000u), f32_inf_signed(0x80000000u), (b << 1u) == 0u);
  return select(ordinary, special, b - 1u >= 0x7f7fffffu);  // zeros, inf, NaN, negative
}

// log(1 + x): 3 ulp; keeps -0; -1 gives -inf, x < -1 gives NaN.
fn log1p_f32(x: f32) -> f32 {
  if (abs(x) < 0x1p-25f || bitcast<u32>(x) == 0x7f800000u || is_nan(x)) { return x; }
  if (x > -0.2928932 && x < 0.41421356) { return log_poly_f32(x, 0.0); }
  return log_f32(1.0 + x);
}

// 1 / (1 + exp(-x)): 3 ulp; saturates at 0 and 1. It uses exp(-|x|), so that neither tail loses accuracy.
fn sigmoid_f32(x: f32) -> f32 {
  let e = exp_f32(-abs(x));
  return select(select(1.0, e, x < 0.0) / (1.0 + e), x, is_nan(x));
}

// The hyperbolic tangent: 2 ulp; keeps -0, saturates at -1 and 1. Both ranges are computed for every x, because SIMD
// vectors and warps contain values of both, and a branch costs more than either. Near 0 it is Cephes' polynomial
// (tanhf.c), elsewhere 1 - 2 / (exp(2a) + 1). The latter damps errors of exp so much that one constant for ln 2
// suffices, and exp needs no special cases.
fn tanh_f32(x: f32) -> f32 {
  let a = abs(x);
  let near = select(a, 9.02, a > 9.02);  // tanh rounds to 1 from there on; min, max and round are slow on a CPU
  let k = bitcast<i32>(fma(near, 2.88539008, 0x1.8p23f)) - 0x4b400000;  // the nearest integer, from the lowest bits
  let r = fma(f32(k), -0.693147182, 2.0 * near);
  let e = bitcast<f32>(bitcast<i32>(expm1_poly_f32(r) + 1.0) + (k << 23u));
  let z = a * a;
  var p = -5.70498872745e-3 * z + 2.06390887954e-2;
  p = p * z - 5.37397155531e-2;
  p = p * z + 1.33314422036e-1;
  p = p * z - 3.33332819422e-1;
  let t = select(1.0 - 2.0 / (e + 1.0), fma(p * z, a, a), a <= 0.625);
  return select(copysign_f32(t, x), x, is_nan(x));
}

// The hyperbolic sine: 3 ulp; keeps -0; overflow gives an infinity. Cephes sinhf.c.
fn sinh_f32(x: f32) -> f32 {
  let a = abs(x);
  if (a < 1e-4 || is_nan(x)) { return x; }
  if (a > 1.0) {
    let e = exp_scaled_f32(min(a, 100.0), -1);  // exp(a) / 2, which overflows later than exp(a)
    return copysign_f32(e - 0.25 / e, x);
  }
  let z = x * x;
  var p = 2.03721912945e-4 * z + 8.33028376239e-3;
  p = p * z + 1.66667160211e-1;
  return fma(p * z, x, x);
}

// The hyperbolic cosine: 3 ulp; overflow gives inf.
fn cosh_f32(x: f32) -> f32 {
  if (is_nan(x)) { return x; }
  let e = exp_scaled_f32(min(abs(x), 100.0), -1);
  return e + 0.25 / e;
}

// An angle reduced to [-pi/4, pi/4], and the number of quarter turns subtracted.
struct ReducedAngle { r: f32, quarter: i32 }

// x minus the nearest multiple of pi/2, 1 ulp over the whole range of finite x. Payne-Hanek in integers: 96 bits of
// 2/pi chosen by the exponent, times the mantissa, modulo 2^96.
fn reduce_angle_f32(x: f32) -> ReducedAngle {
  if (abs(x) <= 0.785398163) { return ReducedAngle(x, 0); }
  let b = bitcast<u32>(x);
  let m = (b & 0x007fffffu) | 0x00800000u;
  let position = ((b >> 23u) & 0xffu) - 124u;  // |x| = m * 2^(position - 26), position in [2, 130]
  // The words of 2/pi from word position / 32 on, chosen by selects, because an indexed array would be in memory.
  let w1 = (position & 32u) != 0u;
  let w2 = (position & 64u) != 0u;
  let w4 = (position & 128u) != 0u;
  let s0 = select(0u, 0xa2f9836eu, w1);
  let s1 = select(0xa2f9836eu, 0x4e441529u, w1);
  let s2 = select(0x4e441529u, 0xfc2757d1u, w1);
  let s3 = select(0xfc2757d1u, 0xf534ddc0u, w1);
  let s4 = select(0xf534ddc0u, 0xdb629599u, w1);
  let s5 = select(0xdb629599u, 0x3c439041u, w1);
  let d0 = select(select(s0, s2, w2), 0xf534ddc0u, w4);
  let d1 = select(select(s1, s3, w2), 0xdb629599u, w4);
  let d2 = select(select(s2, s4, w2), 0x3c439041u, w4);
  let d3 = select(select(s3, s5, w2), 0xfe5163abu, w4);
  let s = position & 31u;
  let a0 = (d0 << s) | ((d1 >> 1u) >> (31u - s));
  let a1 = (d1 << s) | ((d2 >> 1u) >> (31u - s));
  let a2 = (d2 << s) | ((d3 >> 1u) >> (31u - s));
  let low = m * a2;
  let middle_low = m * a1;
  let middle = middle_low + mulhi_u32(m, a2);
  let top = m * a0 + mulhi_u32(m, a1) + select(0u, 1u, middle < middle_low);
  // top has 6 integer bits; the fraction of a quarter turn follows, in 64 bits.
  let hi = (top << 6u) | (middle >> 26u);
  let lo = (middle << 6u) | (low >> 26u);
  let flip = hi >> 31u;  // above one half: count backwards from the next quarter
  let mask = 0u - flip;
  let fraction_lo = (lo ^ mask) + flip;
  let fraction_hi = (hi ^ mask) + select(0u, flip, fraction_lo == 0u);
  let zeros = min(countLeadingZeros(fraction_hi), 31u);  // no f32 comes nearer to a multiple of pi/2 than 2^-31
  let normalized = (fraction_hi << zeros) | ((fraction_lo >> 1u) >> (31u - zeros));
  let magnitude = f32(i32(mulhi_u32(normalized, 0x6487ed51u))) * bitcast<f32>((97u - zeros) << 23u);  // pi/2 in Q30
  let quarter = i32((top >> 26u) + flip);
  let negative = (b >> 31u) != 0u;
  return ReducedAngle(select(magnitude, -magnitude, negative != (flip != 0u)), select(quarter, -quarter, negative));
}

// sin(r) for |r| <= pi/4. 1 ulp. Cephes sinf.c.
fn sin_poly_f32(r: f32) -> f32 {
  let z = r * r;
  var p = -1.9515295891e-4 * z + 8.3321608736e-3;
  p = p * z - 1.6666654611e-1;
  return fma(p * z, r, r);
}

// cos(r) for |r| <= pi/4. 1 ulp. Cephes sinf.c.
fn cos_poly_f32(r: f32) -> f32 {
  let z = r * r;
  var p = 2.443315711809948e-5 * z - 1.388731625493765e-3;
  p = p * z + 4.166664568298827e-2;
  return fma(p * z, z, fma(-0.5, z, 1.0));
}

// sin(r + quarter * pi/2) for |r| <= pi/4. 1 ulp of the value at r.
fn sin_quarter_f32(r: f32, quarter: i32) -> f32 {
  let v = select(sin_poly_f32(r), cos_poly_f32(r), (quarter & 1) != 0);
  return select(v, -v, (quarter & 2) != 0);
}

// The sine: 2 ulp for every finite x; keeps -0; inf gives NaN.
fn sin_f32(x: f32) -> f32 {
  if (abs(x) < 1e-4) { return x; }
  if (!is_finite(x)) { return f32_nan(); }
  let t = reduce_angle_f32(x);
  return sin_quarter_f32(t.r, t.quarter);
}

// The cosine: 2 ulp for every finite x; inf gives NaN.
fn cos_f32(x: f32) -> f32 {
  if (!is_finite(x)) { return f32_nan(); }
  let t = reduce_angle_f32(x);
  return sin_quarter_f32(t.r, t.quarter + 1);
}

// The tangent: 4 ulp for every finite x; keeps -0; inf gives NaN.
fn tan_f32(x: f32) -> f32 {
  if (abs(x) < 1e-4) { return x; }
  if (!is_finite(x)) { return f32_nan(); }
  let t = reduce_angle_f32(x);
  let s = sin_poly_f32(t.r);
  let c = cos_poly_f32(t.r);
  let odd = (t.quarter & 1) != 0;
  return select(s, -c, odd) / select(c, s, odd);
}

// asin(x) for 0 <= x <= 0.5, given z = x * x. 1 ulp. Cephes asinf.c.
fn asin_poly_f32(z: f32, x: f32) -> f32 {
  var p = 4.2163199048e-2 * z + 2.4181311049e-2;
  p = p * z + 4.5470025998e-2;
  p = p * z + 7.4953002686e-2;
  p = p * z + 1.6666752422e-1;
  return fma(p * z, x, x);
}

// The arc sine: 3 ulp; keeps -0; |x| > 1 gives NaN.
fn asin_f32(x: f32) -> f32 {
  let a = abs(x);
  if (a < 1e-4) { return x; }
  if (is_nan(x) || a > 1.0) { return f32_nan(); }
  if (a <= 0.5) { return asin_poly_f32(x * x, x); }
  let z = 0.5 * (1.0 - a);
  let v = 1.57079633 - 2.0 * asin_poly_f32(z, sqrt_f32(z));
  return select(v, -v, x < 0.0);
}

// The arc cosine: 3 ulp; |x| > 1 gives NaN.
fn acos_f32(x: f32) -> f32 {
  let a = abs(x);
  if (is_nan(x) || a > 1.0) { return f32_nan(); }
  if (a <= 0.5) { return 1.57079633 - (asin_poly_f32(x * x, x) + 4.37113883e-8); }
  let z = 0.5 * (1.0 - a);
  let v = 2.0 * asin_poly_f32(z, sqrt_f32(z));
  return select(v, 3.14159265 - v, x < 0.0);
}

// The arc tangent: 4 ulp; keeps -0; inf gives pi/2. Cephes atanf.c.
fn atan_f32(x: f32) -> f32 {
  let a = abs(x);
  if (a < 1e-4 || is_nan(x)) { return x; }
  if (a > 1e9) { return copysign_f32(1.57079633, x); }
  let far = a > 2.41421356;
  let near = a <= 0.414213562;
  let t = select(select(a - 1.0, -1.0, far), a, near) / select(select(a + 1.0, a, far), 1.0, near);
  let offset = select(select(0.785398163, 1.57079633, far), 0.0, near);
  let z = t * t;
  var p = 8.05374449538e-2 * z - 1.38776856032e-1;
  p = p * z + 1.99777106478e-1;
  p = p * z - 3.33329491539e-1;
  return copysign_f32(offset + fma(p * z, t, t), x);
}

// The hypotenuse for these legs: 3 ulp. It is the longer leg times the hypotenuse for 1 and the quotient of the legs,
// which does not overflow. An infinite leg gives inf, whatever the other is.
fn hypot_f32(x: f32, y: f32) -> f32 {
  let a = abs_f32(x);
  let b = abs_f32(y);
  if (is_inf(a) | is_inf(b)) { return f32_inf(); }
  if (is_nan(a) | is_nan(b)) { return f32_nan(); }
  let is_small = max(a, b) < 0x1p-60f;
  let scale = select(1.0, 0x1p60f, is_small);
  let long = max(a, b) * scale;
  if (long == 0.0) { return 0.0; }
  let quotient = divide_f32(min(a, b) * scale, long);
  return long * sqrt_f32(1.0 + quotient * quotient) * select(1.0, 0x1p-60f, is_small);
}

// The angle of the point (x, y): 4 ulp. The signs of zeros matter.
fn atan2_f32(y: f32, x: f32) -> f32 {
  if (is_nan(y) | is_nan(x)) { return f32_nan(); }
  var quotient = divide_f32(abs_f32(y), abs_f32(x));
  quotient = select(quotient, 0.0, is_nan(quotient));  // 0 / 0, or flushed subnormals
  let angle = atan_f32(select(quotient, 1.0, is_inf(y) & is_inf(x)));
  return copysign_f32(select(angle, 3.14159265 - (angle + 8.742278e-8), sign_bit(x)), y);
}

// The inverse hyperbolic sine: 4 ulp; keeps -0 and infinities.
fn asinh_f32(x: f32) -> f32 {
  let a = abs_f32(x);
  if (is_nan(a) | is_inf(a)) { return x; }
  // Not copysign: Mesa's llvmpipe uses the wrong bits if the result is a component of a vector.
  let small = log1p_f32(a + divide_f32(a * a, 1.0 + sqrt_f32(1.0 + a * a)));
  let found = select(small, log_f32(a) + 0.6931472, a > 1e9);
  return select(found, neg_f32(found), sign_bit(x));
}

// The inverse hyperbolic cosine: 4 ulp; NaN below 1.
fn acosh_f32(x: f32) -> f32 {
  if (is_nan(x) || x < 1.0) { return f32_nan(); }
  if (x > 1e9) { return log_f32(x) + 0.6931472; }
  let t = x - 1.0;
  return log1p_f32(t + sqrt_f32(t * (2.0 + t)));
}

// The inverse hyperbolic tangent: 4 ulp; infinite at -1 and 1, NaN beyond.
fn atanh_f32(x: f32) -> f32 {
  let a = abs_f32(x);
  return copysign_f32(0.5 * log1p_f32(divide_f32(2.0 * a, 1.0 - a)), x);
}

// The error function: 3 ulp; keeps -0, saturates at -1 and 1. Cephes ndtrf.c.
fn erf_f32(x: f32) -> f32 {
  let a = abs(x);
  if (is_nan(x)) { return x; }
  if (a < 1.0) {
    let z = x * x;
    var p = 7.853861353153693e-5 * z - 8.010193625184903e-4;
    p = p * z + 5.188327685732524e-3;
    p = p * z - 2.685381193529856e-2;
    p = p * z + 1.128358514861418e-1;
    p = p * z - 3.761262582423300e-1;
    p = p * z + 1.128379165726710;
    return p * x;
  }
  if (a > 4.0) { return copysign_f32(1.0, x); }
  let q = 1.0 / a;
  let y = q * q;
  var p = 0.0;
  if (a < 2.0) {
    p = 2.326819970068386e-2 * y - 1.387039388740657e-1;
    p = p * y + 3.687424674597105e-1;
    p = p * y - 5.824733027278666e-1;
    p = p * y + 6.210004621745983e-1;
    p = p * y - 4.944515323274145e-1;
    p = p * y + 3.404879937665872e-1;
    p = p * y - 2.741127028184656e-1;
    p = p * y + 5.638259427386472e-1;
  } else {
    p = -1.047766399936249e1 * y + 1.297719955372516e1;
    p = p * y - 7.495518717768503;
    p = p * y + 2.921019019210786;
    p = p * y - 1.015265279202700;
    p = p * y + 4.218463358204948e-1;
    p = p * y - 2.820767439740514e-1;
    p = p * y + 5.641895067754075e-1;
  }
  return copysign_f32(1.0 - exp_f32(-x * x) * q * p, x);
}

// The cube root: 2 ulp; keeps -0 and infinities. The mantissa takes two Halley steps from an estimate by the bits,
// whose error is at most 1/20; its exponent is reduced by a multiple of 3.
fn cbrt_f32(x: f32) -> f32 {
  let magnitude = bitcast<u32>(x) & 0x7fffffffu;
  if ((magnitude == 0u) | (magnitude >= 0x7f800000u)) { return x; }
  let parts = split_f32(magnitude);
  let third = (parts.exponent + 299) / 3 - 142;  // of exponent - 127, rounded down
  let rest = parts.exponent - 127 - 3 * third;
  let v = bitcast<f32>((parts.mantissa & 0x007fffffu) | (u32(127 + rest) << 23u));  // in [1, 8)
  var t = bitcast<f32>(bitcast<u32>(v) / 3u + 0x2a5119f2u);
  t += t * (v - t * t * t) / (2.0 * t * t * t + v);
  t += t * (v - t * t * t) / (2.0 * t * t * t + v);
  return copysign_f32(scale_pow2_f32(t, third), x);
}

// The modified Bessel function of order 0: 4 ulp; overflow gives inf. Minimax polynomials: near 0 in x^2 / 4 like its
// power series, elsewhere for sqrt(x) exp(-x) I0(x) in 1 / x.
fn i0_f32(x: f32) -> f32 {
  let a = abs_f32(x);
  if (is_nan(a) | (a > 100.0)) { return select(f32_inf(), a, is_nan(a)); }
  if (a <= 5.0) {
    let y = 0.25 * a * a;
    var p = 9.93845110e-12 * y + 5.87748017e-10;
    p = p * y + 3.95351130e-8;
    p = p * y + 1.92842481e-6;
    p = p * y + 6.94456394e-5;
    p = p * y + 1.73610973e-3;
    p = p * y + 2.77777780e-2;
    p = p * y + 0.25;
    return fma(fma(p, y, 1.0), y, 1.0);
  }
  let z = 1.0 / a;
  var p = -7.03058548e1 * z + 2.75258732e1;
  p = p * z - 5.85108176e-2;
  p = p * z - 9.06201661e-1;
  p = p * z + 2.12837085e-1;
  p = p * z + 1.71346813e-2;
  p = p * z + 2.84746028e-2;
  p = p * z + 4.98609580e-2;
  p = p * z + 3.98942322e-1;
  return scale_pow2_f32(exp_scaled_f32(a, -20) * (p / sqrt_f32(a)), 20);
}
