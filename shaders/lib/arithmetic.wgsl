// needs: bits.wgsl
// Exact f32 arithmetic: division, square root, NumPy's floor division and remainder, rounding, order.
//
// WGSL leaves much to the device: 2.5 ulp for x / y, more for sqrt, "indeterminate" results for NaN and infinity, lost
// signs of zero. Here, the device's result is only an estimate, which is corrected by its exact residual in integers.

// -x: flips the sign bit, so -0, infinities and NaN are right. Exact.
fn neg_f32(x: f32) -> f32 { return bitcast<f32>(bitcast<u32>(x) ^ 0x80000000u); }

// |x|: clears the sign bit, also of NaN. Exact.
fn abs_f32(x: f32) -> f32 { return bitcast<f32>(bitcast<u32>(x) & 0x7fffffffu); }

// x * x. Correctly rounded (0.5 ulp), like WGSL's multiplication.
fn square_f32(x: f32) -> f32 { return x * x; }

// max(x, 0); NaN propagates, -0 gives +0. Exact.
fn relu_f32(x: f32) -> f32 {
  return select(x, 0.0, (bitcast<u32>(x) - 0x80000000u) <= 0x7f800000u);  // bits of -0 to -inf
}

// The sign of x as -1, 0 or 1; +0 for both zeros, NaN for NaN (np.sign). Exact.
fn sign_f32(x: f32) -> f32 {
  let b = bitcast<u32>(x);
  let magnitude = b & 0x7fffffffu;
  let unit = bitcast<f32>((b & 0x80000000u) | select(0x3f800000u, 0u, magnitude == 0u));
  return select(select(unit, 0.0, magnitude == 0u), x, magnitude > 0x7f800000u);
}

// The larger of x and y; NaN where either is NaN; x where both are zeros (np.maximum). Exact, subnormals included.
fn maximum_f32(x: f32, y: f32) -> f32 { return select(x, y, ordered_i32(y) > ordered_i32(x)); }

// The smaller of x and y; NaN where either is NaN; x where both are zeros (np.minimum). Exact, subnormals included.
fn minimum_f32(x: f32, y: f32) -> f32 { return select(x, y, ordered_i32(neg_f32(y)) > ordered_i32(neg_f32(x))); }

// Whether neither x nor y is NaN. Exact.
fn are_ordered_f32(x: f32, y: f32) -> bool {
  return max(bitcast<i32>(x) & 0x7fffffff, bitcast<i32>(y) & 0x7fffffff) <= 0x7f800000;
}

// x == y by IEEE 754: false for NaN, -0 == +0. Exact, subnormals included.
fn eq_f32(x: f32, y: f32) -> bool { return are_ordered_f32(x, y) & (ordered_i32(x) == ordered_i32(y)); }

// x != y by IEEE 754: true for NaN. Exact, subnormals included.
fn ne_f32(x: f32, y: f32) -> bool { return !(are_ordered_f32(x, y) & (ordered_i32(x) == ordered_i32(y))); }

// x < y by IEEE 754: false for NaN. Exact, subnormals included.
fn lt_f32(x: f32, y: f32) -> bool { return are_ordered_f32(x, y) & (ordered_i32(x) < ordered_i32(y)); }

// x <= y by IEEE 754: false for NaN. Exact, subnormals included.
fn le_f32(x: f32, y: f32) -> bool { return are_ordered_f32(x, y) & (ordered_i32(x) <= ordered_i32(y)); }

// `rounded` with the sign bit of x if |x| < 2^23, else x: from 2^23 on every f32 is an integer, infinite or NaN.
fn keep_integral_f32(x: f32, rounded: f32) -> f32 {
  let b = bitcast<u32>(x);
  return select(copysign_f32(rounded, x), x, (b & 0x7fffffffu) >= 0x4b000000u);
}

// The largest integer <= x; keeps -0, inf and NaN. Exact.
fn floor_f32(x: f32) -> f32 { return keep_integral_f32(x, floor(x)); }

// The smallest integer >= x; keeps -0, inf and NaN, and gives -0 for -1 < x < 0. Exact.
fn ceil_f32(x: f32) -> f32 { return keep_integral_f32(x, ceil(x)); }

// x without its fraction (np.trunc); keeps -0, inf and NaN. Exact.
fn trunc_f32(x: f32) -> f32 { return keep_integral_f32(x, trunc(x)); }

// The nearest integer, halves to even (np.round); keeps -0, inf and NaN. Exact.
fn round_f32(x: f32) -> f32 { return keep_integral_f32(x, round(x)); }

// The square root, correctly rounded (0.5 ulp), so that perfect squares are exact; -0 gives -0, x < 0 gives NaN.
fn sqrt_f32(x: f32) -> f32 { return sqrt_by_integers_f32(x); }

// The same: the device's sqrt of a value in [1, 4) is corrected by its residual in integers (WGSL promises about 4
// ulp).
fn sqrt_by_integers_f32(x: f32) -> f32 {
  let b = bitcast<u32>(x);
  if (b - 1u >= 0x7f7fffffu) {  // +0, inf, any NaN, anything negative
    return select(x, f32_nan(), b > 0x80000000u);
  }
  let parts = split_f32(b);
  let exponent = parts.exponent - 127;
  let mantissa = parts.mantissa << u32(exponent & 1);  // [2^23, 2^25), for an even exponent
  let estimate = sqrt(f32(i32(mantissa)) * 0x1p-23f);
  var root = u32(i32(estimate * 0x1p23f));
  // The residual mantissa * 2^23 - root^2 is small, so 32 bits hold it. A Newton step in whole ulps comes within one
  // ulp of the correct root, which has a residual in (-root, root].
  var residual = i32((mantissa << 23u) - root * root);
  let step = i32(round(f32(residual) * 0x1p-24f / estimate));
  residual -= step * (2 * i32(root) + step);
  root += u32(step);
  root += select(0u, 1u, residual > i32(root)) - select(0u, 1u, residual <= -i32(root));
  return bitcast<f32>((u32((exponent >> 1u) + 126) << 23u) + root);
}

// x / y, correctly rounded (0.5 ulp) for normal results, with IEEE 754's results for 0, inf, NaN, huge, tiny and
// subnormal operands.
fn divide_f32(x: f32, y: f32) -> f32 { return divide_by_integers_f32(x, y); }

// The same: the device's quotient of the mantissas is only an estimate, corrected by its exact residual in integers.
fn divide_by_integers_f32(x: f32, y: f32) -> f32 {
  let ax = bitcast<u32>(x) & 0x7fffffffu;
  let ay = bitcast<u32>(y) & 0x7fffffffu;
  let sign = (bitcast<u32>(x) ^ bitcast<u32>(y)) & 0x80000000u;
  let px = split_f32(ax);
  let py = split_f32(ay);
  let less = px.mantissa < py.mantissa;
  let numerator = px.mantissa << select(0u, 1u, less);  // numerator / divisor is in [1, 2)
  let divisor = i32(py.mantissa);
  let inverse = 1.0 / f32(divisor);
  var quotient = i32(f32(i32(numerator)) * inverse * 0x1p23f);
  // numerator * 2^23 - quotient * divisor is small, so 32 bits hold it. A step in whole ulps comes within one ulp of
  // the correct quotient, which has a residual of at most half the divisor.
  var residual = i32(numerator << 23u) - quotient * divisor;
  let step = i32(round(f32(residual) * inverse));
  residual -= step * divisor;
  quotient += step + select(0, 1, 2 * residual > divisor) - select(0, 1, 2 * residual < -divisor);
  let finite = scale_pow2_f32(
    bitcast<f32>(sign | u32(quotient + 0x3f000000)), px.exponent - py.exponent - select(0, 1, less));
  let largest = max(ax, ay);
  let limit = select(bitcast<f32>(sign), f32_inf_signed(sign), ax > ay);  // x/0 and inf/y; 0/y and x/inf
  let special = (largest >= 0x7f800000u) | (min(ax, ay) == 0u);
  let undefined = (largest > 0x7f800000u) | (special & (ax == ay));  // NaN, 0/0, inf/inf
  return select(select(finite, limit, special), f32_nan(), undefined);
}

// 1 / x. Correctly rounded (0.5 ulp); special values as for divide_f32.
fn reciprocal_f32(x: f32) -> f32 { return divide_f32(1.0, x); }

// C's fmod for finite x and finite y != 0: x - trunc(x / y) * y with the sign of x, exact. Long division of the
// mantissas in steps of 8 bits: two steps for quotients up to 2^8, at most 36.
fn fmod_finite_f32(x: f32, y: f32) -> f32 {
  let ax = bitcast<u32>(x) & 0x7fffffffu;
  let ay = bitcast<u32>(y) & 0x7fffffffu;
  if (ax < ay) { return x; }
  let ex = max(ax >> 23u, 1u);
  let ey = max(ay >> 23u, 1u);
  let my = (ay & 0x007fffffu) | select(0u, 0x00800000u, ay >= 0x00800000u);
  var rest = (ax & 0x007fffffu) | select(0u, 0x00800000u, ax >= 0x00800000u);
  var left = ex - ey;
  for (var i = 0; i < 36; i++) {
    rest = rest % my;
    if (left == 0u || rest == 0u) { break; }
    let step = min(left, 8u);
    rest = rest << step;
    left -= step;
  }
  // rest * 2^(ey - 150), assembled in integers so that subnormal results are not flushed
  let b = bitcast<u32>(f32(i32(rest)));
  let normal = rest != 0u && (b >> 23u) + ey > 150u;
  let magnitude = select(rest << ((ey - 1u) & 31u), b + ((ey - 150u) << 23u), normal);
  return bitcast<f32>((bitcast<u32>(x) & 0x80000000u) | magnitude);
}

// C's fmod with its special cases: NaN for a NaN, an infinite x, or y == 0; x for an infinite y. Exact.
fn fmod_f32(x: f32, y: f32) -> f32 {
  let ax = bitcast<u32>(x) & 0x7fffffffu;
  let ay = bitcast<u32>(y) & 0x7fffffffu;
  if (ax >= 0x7f800000u || ay == 0u || ay > 0x7f800000u) { return f32_nan(); }
  return fmod_finite_f32(x, y);  // an infinite y exceeds every finite x, so the result is x
}

// x * 2^64 for a finite x below 2^63, by bits: exact for subnormals, even where the device flushes them.
fn scale_up_f32(x: f32) -> f32 {
  let magnitude = bitcast<u32>(x) & 0x7fffffffu;
  let subnormal = f32(i32(magnitude & 0x007fffffu)) * 0x1p-85f;
  return copysign_f32(select(bitcast<f32>(magnitude + 0x20000000u), subnormal, magnitude < 0x00800000u), x);
}

// x % y with the sign of y, as np.remainder: exact fmod, then one addition of y (0.5 ulp) where the signs differ;
// a zero result has the sign of y. Source: npy_divmod in NumPy's npy_math_internal.h.src.
fn remainder_f32(x: f32, y: f32) -> f32 {
  let rest = fmod_f32(x, y);
  let magnitude = bitcast<u32>(rest) & 0x7fffffffu;
  if (magnitude > 0x7f800000u) { return rest; }
  if (magnitude == 0u) { return copysign_f32(rest, y); }
  if (sign_bit(rest) == sign_bit(y)) { return rest; }
  if (is_inf(y)) { return y; }
  let tiny = (bitcast<u32>(y) & 0x7fffffffu) < 0x10000000u;  // 2^-95: the sum may not meet a subnormal
  let sum = select(rest, scale_up_f32(rest), tiny) + select(y, scale_up_f32(y), tiny);
  return scale_pow2_f32(sum, select(0, -64, tiny));
}

// np.floor_divide: bit for bit NumPy's result, whose steps (npy_divmod) this follows, its roundings included.
fn floor_divide_f32(x: f32, y: f32) -> f32 {
  let ax = bitcast<u32>(x) & 0x7fffffffu;
  let ay = bitcast<u32>(y) & 0x7fffffffu;
  let sign = (bitcast<u32>(x) ^ bitcast<u32>(y)) & 0x80000000u;
  if (max(ax, ay) > 0x7f800000u || ax == 0x7f800000u) {
    return select(f32_nan(), f32_inf_signed(sign), ay == 0u && ax == 0x7f800000u);
  }
  if (ay == 0u) { return select(f32_inf_signed(sign), f32_nan(), ax == 0u); }
  let tiny = max(ax, ay) < 0x10000000u;  // 2^-95: no subtraction below may meet a subnormal
  let a = select(x, scale_up_f32(x), tiny);
  let b = select(y, scale_up_f32(y), tiny);
  let rest = fmod_finite_f32(a, b);
  var quotient = divide_f32(a - rest, b);
  let rest_nonzero = (bitcast<u32>(rest) & 0x7fffffffu) != 0u;
  if (rest_nonzero && sign_bit(rest) != sign_bit(y)) { quotient -= 1.0; }
  if ((bitcast<u32>(quotient) & 0x7fffffffu) == 0u) { return bitcast<f32>(sign); }
  let floored = floor_f32(quotient);
  if ((bitcast<u32>(quotient) & 0x7fffffffu) >= 0x4b000000u) { return quotient; }  // integral or infinite
  return select(floored, floored + 1.0, quotient - floored > 0.5);
}

// x - y, 0.5 ulp. A compiler that assumes that NaN and infinity do not occur folds x - x to 0, but it is NaN for an
// infinite x (seen on NVIDIA). Changing the sign in the bits prevents that.
fn subtract_f32(x: f32, y: f32) -> f32 { return x + neg_f32(y); }
