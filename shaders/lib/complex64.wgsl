// needs: bits.wgsl arithmetic.wgsl convert.wgsl int64.wgsl math.wgsl order.wgsl pow.wgsl
// Complex numbers as vectors of a real and an imaginary part. Branch cuts are those of C99's Annex G and NumPy, and the
// sign of a zero determines the side of a cut. Errors are within 4 ulp of the result's absolute value unless a function
// says otherwise. Order is lexicographic: by the real parts, then by the imaginary parts.

alias complex64 = vec2<f32>;

// Whether a part is NaN.
fn is_nan_complex64(x: vec2f) -> bool { return is_nan(x.x) | is_nan(x.y); }

// -x, i * x and -i * x.
fn neg_complex64(x: vec2f) -> vec2f { return vec2f(neg_f32(x.x), neg_f32(x.y)); }
fn times_i(x: vec2f) -> vec2f { return vec2f(neg_f32(x.y), x.x); }
fn times_minus_i(x: vec2f) -> vec2f { return vec2f(x.y, neg_f32(x.x)); }

// The complex conjugate.
fn conj_complex64(x: vec2f) -> vec2f { return vec2f(x.x, neg_f32(x.y)); }

// x * y.
fn mul_complex64(x: vec2f, y: vec2f) -> vec2f {
  return vec2f(subtract_f32(x.x * y.x, x.y * y.y), x.x * y.y + x.y * y.x);
}

// x / y (R. L. Smith, Algorithm 116, 1962).
fn divide_complex64(x: vec2f, y: vec2f) -> vec2f {
  if (abs_f32(y.x) >= abs_f32(y.y)) {
    if (!bool_from_complex64(y)) { return vec2f(divide_f32(x.x, abs_f32(y.x)), divide_f32(x.y, abs_f32(y.x))); }
    let ratio = divide_f32(y.y, y.x);
    let divisor = y.x + y.y * ratio;
    return vec2f(divide_f32(x.x + x.y * ratio, divisor), divide_f32(subtract_f32(x.y, x.x * ratio), divisor));
  }
  let ratio = divide_f32(y.x, y.y);
  let divisor = y.y + y.x * ratio;
  return vec2f(divide_f32(x.x * ratio + x.y, divisor), divide_f32(subtract_f32(x.y * ratio, x.x), divisor));
}

// 1 / x; NaN for 0, as in NumPy.
fn reciprocal_complex64(x: vec2f) -> vec2f {
  return select(vec2f(f32_nan()), divide_complex64(vec2f(1.0, 0.0), x), bool_from_complex64(x));
}

// |x|, without intermediate overflow.
fn abs_complex64(x: vec2f) -> f32 { return hypot_f32(x.x, x.y); }

// The number of absolute value 1 with the angle of x, or 0 for 0.
fn sign_complex64(x: vec2f) -> vec2f {
  if (!bool_from_complex64(x)) { return vec2f(0.0); }
  if (is_inf(x.x) != is_inf(x.y)) {
    return select(vec2f(0.0, copysign_f32(1.0, x.y)), vec2f(copysign_f32(1.0, x.x), 0.0), is_inf(x.x));
  }
  let half = x * 0.5;  // its length does not overflow
  let is_small = max(abs_f32(x.x), abs_f32(x.y)) < 1e-37;
  let y = select(half, x, is_small);
  let length = select(hypot_f32(y.x, y.y), f32_nan(), is_inf(x.x));
  return vec2f(divide_f32(y.x, length), divide_f32(y.y, length));
}

// Whether x == y, x < y and x <= y. With a NaN, the comparisons < and <= are false.
fn eq_complex64(x: vec2f, y: vec2f) -> bool { return eq_f32(x.x, y.x) & eq_f32(x.y, y.y); }
fn less_complex64(x: vec2f, y: vec2f) -> bool {
  let whole = !is_nan(x.y) & !is_nan(y.y);
  return (lt_f32(x.x, y.x) & whole) | (eq_f32(x.x, y.x) & lt_f32(x.y, y.y));
}
fn less_equal_complex64(x: vec2f, y: vec2f) -> bool { return less_complex64(x, y) | eq_complex64(x, y); }

// The larger and the smaller of two numbers; a NaN if there is one, and the first of two NaN.
fn max_complex64(x: vec2f, y: vec2f) -> vec2f { return select(y, x, is_nan_complex64(x) | less_equal_complex64(y, x)); }
fn min_complex64(x: vec2f, y: vec2f) -> vec2f { return select(y, x, is_nan_complex64(x) | less_equal_complex64(x, y)); }

// Keys for a maximum and for a minimum, as integers of 64 bits; numbers with a NaN have the largest key.
fn order_key_complex64(x: vec2f) -> vec2u {
  return select(vec2u(order_key_f32(x.y), order_key_f32(x.x)), vec2u(0xffffffffu), is_nan_complex64(x));
}
fn order_key_min_complex64(x: vec2f) -> vec2u {
  return select(vec2u(order_key_min_f32(x.y), order_key_min_f32(x.x)), vec2u(0xffffffffu), is_nan_complex64(x));
}

// The sort key. Numbers with a NaN come last: first those whose imaginary part is NaN, then those whose real part is
// NaN, then those with both; each kind is sorted by its other part.
fn sort_key_complex64(x: vec2f) -> vec2u {
  let kind = select(0u, 1u, is_nan(x.y)) + select(0u, 2u, is_nan(x.x));
  let lower = order_key_f32(select(x.y, x.x, kind == 1u));
  return vec2u(lower, select(0xfffffff0u + kind, order_key_f32(x.x), kind == 0u));
}

// Whether x is not 0.
fn bool_from_complex64(x: vec2f) -> bool { return bool_from_f32(x.x) | bool_from_f32(x.y); }

// The real part.
fn i32_from_complex64(x: vec2f) -> i32 { return i32_from_f32(x.x); }
fn u32_from_complex64(x: vec2f) -> u32 { return u32_from_f32(x.x); }
fn f32_from_complex64(x: vec2f) -> f32 { return x.x; }
fn int64_from_complex64(x: vec2f) -> vec2u { return int64_from_f32(x.x); }
fn uint64_from_complex64(x: vec2f) -> vec2u { return uint64_from_f32(x.x); }

// x * y, but 0 where x is 0 and y is infinite or NaN.
fn zero_or_product(x: f32, y: f32) -> f32 { return select(x * y, x, !bool_from_f32(x) & !is_finite(y)); }

// exp(x) times these factors; the exponential alone may overflow where the product does not.
fn exp_times(x: f32, factors: vec2f) -> vec2f {
  let half = exp_f32(0.5 * x);
  let large = vec2f(zero_or_product(factors.x, half), zero_or_product(factors.y, half));
  let huge = vec2f(zero_or_product(large.x, half), zero_or_product(large.y, half));
  let power = exp_f32(x);
  let plain = vec2f(zero_or_product(factors.x, power), zero_or_product(factors.y, power));
  return select(plain, huge, (x > 80.0) & is_finite(x));
}

// Cosine and sine.
fn circle(angle: f32) -> vec2f { return vec2f(cos_f32(angle), sin_f32(angle)); }

// e to the power x.
fn exp_complex64(x: vec2f) -> vec2f {
  if (!bool_from_f32(x.y)) { return vec2f(exp_f32(x.x), x.y); }
  if (is_inf(x.x) & !is_finite(x.y)) {  // 0, or an infinity with an undefined angle
    return select(vec2f(x.x, f32_nan()), vec2f(0.0), sign_bit(x.x));
  }
  return exp_times(x.x, circle(x.y));
}

// 2 to the power x. The error grows with the imaginary part.
fn exp2_complex64(x: vec2f) -> vec2f {
  let angle = x.y * 0.6931472;
  if (is_finite(x.x) & is_finite(x.y) & (abs_f32(x.x) < 126.0)) { return exp2_f32(x.x) * circle(angle); }
  return exp_complex64(vec2f(x.x * 0.6931472, angle));
}

// exp(x) - 1, accurate near 0. For a zero it is +0, as the array API standard requires.
fn expm1_complex64(x: vec2f) -> vec2f {
  if (!bool_from_f32(x.y)) { return vec2f(select(0.0, expm1_f32(x.x), bool_from_f32(x.x)), x.y); }
  if (abs_f32(x.x) > 1.0 || !is_finite(x.x) || !is_finite(x.y)) { return exp_complex64(x) - vec2f(1.0, 0.0); }
  let half = sin_f32(0.5 * x.y);
  return vec2f(expm1_f32(x.x) * cos_f32(x.y) - 2.0 * half * half, exp_f32(x.x) * sin_f32(x.y));
}

// The logarithm of the absolute value. Near 1 it is computed from the difference between the squared value and 1.
fn log_abs(x: vec2f) -> f32 {
  let a = abs_f32(x.x);
  let b = abs_f32(x.y);
  if (is_inf(a) | is_inf(b)) { return f32_inf(); }
  if (is_nan(a) | is_nan(b)) { return f32_nan(); }
  let long = max(a, b);
  let short = min(a, b);
  if (abs_f32(long - 1.0) < 0.3) { return 0.5 * log1p_f32((long - 1.0) * (long + 1.0) + short * short); }
  let quotient = divide_f32(short, long);
  return log_f32(long) + 0.5 * log1p_f32(select(quotient * quotient, 0.0, is_nan(quotient)));
}

// The logarithm with an imaginary part in [-pi, pi]; the cut is the negative real axis.
fn log_complex64(x: vec2f) -> vec2f { return vec2f(log_abs(x), atan2_f32(x.y, x.x)); }
fn log2_complex64(x: vec2f) -> vec2f { return log_complex64(x) * 1.442695; }
fn log10_complex64(x: vec2f) -> vec2f { return log_complex64(x) * 0.4342945; }

// log(1 + x), accurate near 0.
fn log1p_complex64(x: vec2f) -> vec2f {
  let angle = atan2_f32(x.y, 1.0 + x.x);
  if (max(abs_f32(x.x), abs_f32(x.y)) > 0.5 || is_nan_complex64(x)) { return vec2f(log_abs(vec2f(1.0 + x.x, x.y)), angle); }
  return vec2f(0.5 * log1p_f32(x.x * (2.0 + x.x) + x.y * x.y), angle);
}

// The square root with a nonnegative real part, as in NumPy; the cut is the negative real axis.
fn sqrt_complex64(x: vec2f) -> vec2f {
  if (is_inf(x.y)) { return vec2f(f32_inf(), x.y); }
  if (is_nan(x.x)) { return vec2f(f32_nan()); }
  if (is_inf(x.x)) {
    let zero = copysign_f32(select(0.0, f32_nan(), is_nan(x.y)), x.y);
    return select(vec2f(x.x, zero), vec2f(abs_f32(zero), copysign_f32(f32_inf(), x.y)), sign_bit(x.x));
  }
  if (is_nan(x.y)) { return vec2f(f32_nan()); }
  if (!bool_from_complex64(x)) { return vec2f(0.0, x.y); }
  let size = max(abs_f32(x.x), abs_f32(x.y));
  let scale = select(select(1.0, 0x1p40f, size < 0x1p-60f), 0x1p-40f, size > 0x1p60f);
  let back = select(select(1.0, 0x1p-20f, size < 0x1p-60f), 0x1p20f, size > 0x1p60f);
  let y = x * scale;
  let root = sqrt_f32(0.5 * (abs_f32(y.x) + hypot_f32(y.x, y.y)));
  let other = divide_f32(0.5 * abs_f32(y.y), root);
  let real = select(root, other, sign_bit(x.x));
  return vec2f(real * back, copysign_f32(select(other, root, sign_bit(x.x)) * back, x.y));
}

// x to the power y: by products for a small integer y, otherwise by the logarithm, with an error that grows with the
// absolute value of y * log(x). 0 to a power with a positive real part is 0.
fn pow_complex64(x: vec2f, y: vec2f) -> vec2f {
  if (!bool_from_complex64(y)) { return vec2f(1.0, 0.0); }
  if (!bool_from_complex64(x)) {
    return select(vec2f(f32_nan()), vec2f(0.0), (y.x > 0.0) & !is_nan_complex64(y));
  }
  if (!bool_from_f32(y.y) && is_finite(y.x) && abs_f32(y.x) < 100.0 && y.x == floor(y.x)) {
    var result = vec2f(1.0, 0.0);
    var square = x;
    var left = u32(abs_f32(y.x));
    for (var i = 0; i < 7; i++) {
      if ((left & 1u) != 0u) { result = mul_complex64(result, square); }
      left >>= 1u;
      if (left == 0u) { break; }
      square = mul_complex64(square, square);
    }
    if (y.x < 0.0) { return divide_complex64(vec2f(1.0, 0.0), result); }
    return result;
  }
  return exp_complex64(mul_complex64(y, log_complex64(x)));
}

// Hyperbolic functions.
fn sinh_complex64(x: vec2f) -> vec2f {
  if (!bool_from_f32(x.y)) { return vec2f(sinh_f32(x.x), x.y); }
  if (is_inf(x.x) & !is_finite(x.y)) { return vec2f(x.x, f32_nan()); }
  let turn = circle(x.y);
  if (abs_f32(x.x) > 80.0) {
    let half = exp_times(abs_f32(x.x), turn * 0.5);
    return select(half, vec2f(neg_f32(half.x), half.y), sign_bit(x.x));
  }
  return vec2f(zero_or_product(sinh_f32(x.x), turn.x), cosh_f32(x.x) * turn.y);
}

fn cosh_complex64(x: vec2f) -> vec2f {
  if (!bool_from_f32(x.y)) { return vec2f(cosh_f32(x.x), select(x.y, neg_f32(x.y), sign_bit(x.x))); }
  if (is_inf(x.x) & !is_finite(x.y)) { return vec2f(f32_inf(), f32_nan()); }
  let turn = circle(x.y);
  if (abs_f32(x.x) > 80.0) {
    let half = exp_times(abs_f32(x.x), turn * 0.5);
    return select(half, vec2f(half.x, neg_f32(half.y)), sign_bit(x.x));
  }
  return vec2f(cosh_f32(x.x) * turn.x, zero_or_product(sinh_f32(x.x), turn.y));
}

// W. Kahan, Branch cuts for complex elementary functions, 1987. The sign of the imaginary part at an infinity follows
// the array API standard.
fn tanh_complex64(x: vec2f) -> vec2f {
  if (!bool_from_f32(x.y)) { return vec2f(tanh_f32(x.x), x.y); }
  if (is_nan(x.x)) { return vec2f(f32_nan()); }
  if (!is_finite(x.y) & !is_inf(x.x)) { return vec2f(select(f32_nan(), x.x, !bool_from_f32(x.x)), f32_nan()); }
  let turn = circle(x.y);
  if (abs_f32(x.x) > 11.0) {
    let rest = select(4.0 * turn.x * turn.y * exp_f32(-2.0 * abs_f32(x.x)), copysign_f32(0.0, x.y), is_inf(x.x));
    return vec2f(copysign_f32(1.0, x.x), rest);
  }
  let tangent = tan_f32(x.y);
  let beta = 1.0 + tangent * tangent;
  let s = sinh_f32(x.x);
  let rho = sqrt_f32(1.0 + s * s);
  if (is_inf(beta)) { return vec2f(divide_f32(rho, s), divide_f32(1.0, tangent)); }
  let divisor = 1.0 + beta * s * s;
  return vec2f(divide_f32(beta * rho * s, divisor), divide_f32(tangent, divisor));
}

// The trigonometric functions, by the hyperbolic ones.
fn sin_complex64(x: vec2f) -> vec2f { return times_minus_i(sinh_complex64(times_i(x))); }
fn cos_complex64(x: vec2f) -> vec2f { return cosh_complex64(times_i(x)); }
fn tan_complex64(x: vec2f) -> vec2f { return times_minus_i(tanh_complex64(times_i(x))); }

// The inverse functions are also Kahan's, with the roots of 1 - x and 1 + x.
fn asin_complex64(x: vec2f) -> vec2f {
  if (!is_finite(x.x) || !is_finite(x.y)) { return asin_of_infinite(x); }
  if (max(abs_f32(x.x), abs_f32(x.y)) > 1e9) { return asin_of_large(x); }
  let below = sqrt_complex64(vec2f(1.0 - x.x, neg_f32(x.y)));
  let above = sqrt_complex64(vec2f(1.0 + x.x, x.y));
  let real = atan2_f32(x.x, abs_f32(mul_complex64(below, above).x));
  return vec2f(real, copysign_f32(asinh_f32(mul_complex64(conj_complex64(below), above).y), x.y));
}
fn acos_complex64(x: vec2f) -> vec2f {
  if (!is_finite(x.x) || !is_finite(x.y)) {
    let found = asin_of_infinite(x);
    return vec2f(1.5707964 - found.x, neg_f32(found.y));
  }
  if (max(abs_f32(x.x), abs_f32(x.y)) > 1e9) {
    return vec2f(abs_f32(atan2_f32(x.y, x.x)), copysign_f32(log_abs(x) + 0.6931472, neg_f32(x.y)));
  }
  let below = sqrt_complex64(vec2f(1.0 - x.x, neg_f32(x.y)));
  let above = sqrt_complex64(vec2f(1.0 + x.x, x.y));
  let imaginary = asinh_f32(mul_complex64(conj_complex64(above), below).y);
  return vec2f(2.0 * atan2_f32(below.x, above.x), copysign_f32(imaginary, neg_f32(x.y)));
}
// The arc sine if a part is infinite or NaN.
fn asin_of_infinite(x: vec2f) -> vec2f {
  if (is_inf(x.y)) { return vec2f(select(atan2_f32(x.x, f32_inf()), x.x, is_nan(x.x)), x.y); }
  if (is_inf(x.x)) { return vec2f(select(copysign_f32(1.5707964, x.x), x.y, is_nan(x.y)), copysign_f32(f32_inf(), x.y)); }
  return vec2f(select(x.x, f32_nan(), bool_from_f32(x.x)), f32_nan());
}
// The arc sine of a large number.
fn asin_of_large(x: vec2f) -> vec2f {
  return vec2f(atan2_f32(x.x, abs_f32(x.y)), copysign_f32(log_abs(x) + 0.6931472, x.y));
}
fn acosh_complex64(x: vec2f) -> vec2f {
  let found = acos_complex64(x);
  return select(times_minus_i(found), times_i(found), sign_bit(found.y));
}
fn asinh_complex64(x: vec2f) -> vec2f { return times_minus_i(asin_complex64(times_i(x))); }
fn atanh_complex64(x: vec2f) -> vec2f {
  let quarter = copysign_f32(1.5707964, x.y);
  if (is_inf(x.x) | is_inf(x.y)) { return vec2f(copysign_f32(0.0, x.x), select(quarter, x.y, is_nan(x.y))); }
  if (is_nan_complex64(x)) { return vec2f(select(x.x, f32_nan(), bool_from_f32(x.x)), f32_nan()); }
  if (max(abs_f32(x.x), abs_f32(x.y)) > 1e9) { return vec2f(copysign_f32(reciprocal_complex64(x).x, x.x), quarter); }
  let a = abs_f32(x.x);
  let square = x.y * x.y;
  let gap = hypot_f32(1.0 - a, x.y);  // to the nearer of the poles 1 and -1
  let near = 0.5 * (0.6931472 - log_f32(gap));
  let real = select(0.25 * log1p_f32(divide_f32(4.0 * a, (1.0 - a) * (1.0 - a) + square)), near, gap < 1e-6);
  let angle = 0.5 * atan2_f32(2.0 * x.y, subtract_f32((1.0 - a) * (1.0 + a), square));
  return vec2f(copysign_f32(real, x.x), angle);
}
fn atan_complex64(x: vec2f) -> vec2f { return times_minus_i(atanh_complex64(times_i(x))); }
