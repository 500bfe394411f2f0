// needs: bits.wgsl arithmetic.wgsl math.wgsl rng.wgsl
// Random numbers by rejection sampling. Element `index` draws its own random words for each attempt, and loops until
// one is accepted.
//
// f32 has 24 bits, and logarithms of probabilities are small differences of large numbers. Therefore the distance from
// a mean is kept separately from the mean, and Stirling's series is subtracted analytically (C. Loader, "Fast and
// accurate computation of binomial probabilities", 2000).

// The maximum number of attempts: each is accepted with a probability above one half, so no element needs them all.
const ATTEMPTS = 128u;

// 3 (log(1 + s) - s + s^2 / 2 - s^3 / 3) for s > -1.
fn gamma_excess(s: f32) -> f32 {
  if (abs(s) < 0.125) {
    let p = (((s * 0.11111111 - 0.125) * s + 0.14285714) * s - 0.16666667) * s + 0.2;
    return 3.0 * (s * s) * (s * s) * (p * s - 0.25);
  }
  return 3.0 * (log1p_f32(s) - s + s * s * (0.5 - s * 0.33333333));
}

// A sample of the gamma distribution of shape >= 1. G. Marsaglia and W. W. Tsang, "A simple method for generating gamma
// variables", ACM Transactions on Mathematical Software 26 (2000).
fn gamma_variate(index: u32, key0: u32, key1: u32, shape: f32) -> f32 {
  let d = shape - 0.33333333;
  let c = 0.33333333 / sqrt(d);
  for (var t = 1u; t < ATTEMPTS; t += 2u) {
    let words = random_words(index, key0, key1, t);
    let u = open_from_bits(random_words(index, key0, key1, t + 1u).x);
    let x = normal_from_bits(words.x, words.y);
    let s = c * x;
    let v = 1.0 + s;
    if (v > 0.0) {
      if (u < 1.0 - 0.0331 * (x * x) * (x * x) || log_f32(u) < d * gamma_excess(s)) { return d * v * v * v; }
    }
  }
  return d;
}

// mean * ((1 + x) log(1 + x) - x) for x = d / mean >= -1.
fn deviance(d: f32, mean: f32) -> f32 {
  let x = d / mean;
  if (abs(x) < 0.125) {
    var p = x * 0.013888889 - 0.017857143;
    p = p * x + 0.023809524;
    p = p * x - 0.033333333;
    p = p * x + 0.05;
    p = p * x - 0.083333333;
    p = p * x + 0.16666667;
    return d * x * (0.5 - p * x);
  }
  let ratio = max(1.0 + x, 1e-30);
  return mean * (ratio * log_f32(ratio) - x);
}

// log(k!) - (k log k - k) for a whole k >= 0: Stirling's series.
fn stirling_excess(k: f32) -> f32 {
  if (k < 1.5) { return k; }
  let y = 1.0 / k;
  let z = y * y;
  let series = y * (0.083333333 - z * (0.0027777778 - z * (7.9365079e-4 - z * 5.9523810e-4)));
  return 0.5 * log_f32(6.2831853 * k) + series;
}

// The contribution of a count k = mean + d to minus the logarithm of a probability.
fn count_excess(d: f32, mean: f32, k: f32) -> f32 { return deviance(d, mean) + stirling_excess(k); }

// 1/2 - |u| for a uniform u in (-1/2, 1/2), whose sign is the top bit. Exact.
fn margin_from_bits(bits: u32) -> f32 { return (f32(i32((bits >> 8u) & 0x7fffffu)) + 0.5) * 0x1p-24f; }

// The Poisson distribution for rates up to 2147020237: below 10 by inversion, else by PTRS of W. Hoermann, "The
// transformed rejection method for generating Poisson random variables", Insurance: Mathematics and Economics 12
// (1993).
fn poisson_variate(index: u32, key0: u32, key1: u32, rate: f32) -> i32 {
  if (rate < 10.0) {
    let u = fraction_from_bits(random_words(index, key0, key1, 1u).x);
    var p = exp_f32(-rate);
    var above = -expm1_f32(-rate);  // the probability of more than k
    var k = 0;
    while (u < above && p > 3e-8) {
      k++;
      p *= rate / f32(k);
      above -= p;
    }
    return k;
  }
  let root = sqrt(rate);
  let b = 0.931 + 2.53 * root;
  let a = -0.059 + 0.02483 * b;
  let inverse_alpha = 1.1239 + 1.1328 / (b - 3.4);
  let inside = 0.9277 - 3.6224 / (b - 2.0);
  let whole = floor(rate);
  let part = rate - whole;
  for (var t = 1u; t < ATTEMPTS; t++) {
    let words = random_words(index, key0, key1, t);
    let margin = margin_from_bits(words.x);
    let u = select(0.5 - margin, margin - 0.5, words.x >= 0x80000000u);
    let v = open_from_bits(words.y);
    let step = floor((2.0 * a / margin + b) * u + part + 0.43);
    if (step >= -whole && step <= 2147483520.0 - whole && (margin >= 0.013 || v <= margin)) {
      let hat = log_f32(v * inverse_alpha / (a / (margin * margin) + b));
      if ((margin >= 0.07 && v <= inside) || hat <= -count_excess(step - part, rate, whole + step)) {
        return i32(whole) + i32(step);
      }
    }
  }
  return i32(whole);
}

// A number as an integer and a fraction in [0, 1).
struct WholeAndPart { whole: u32, part: f32 }

// n * p for 2^-30 < p <= 1/2. Exact except for the last bits of the fraction.
fn exact_product(n: u32, p: f32) -> WholeAndPart {
  let bits = bitcast<u32>(p);
  let mantissa = (bits & 0x7fffffu) | 0x800000u;
  let shift = 150u - (bits >> 23u);  // p = mantissa * 2^-shift, shift in [24, 54]
  let high = mulhi_u32(n, mantissa);
  let low = n * mantissa;
  let s = shift & 31u;
  let above = (high << 1u) << (31u - s);  // shifts by 32 are not defined
  let short = shift < 32u;
  let whole = select(high >> s, above | (low >> s), short);
  let rest = select(above | (low >> s), (low << 1u) << (31u - s), short);
  return WholeAndPart(whole, f32(i32(rest >> 8u)) * 0x1p-24f);
}

// The binomial distribution for p <= 1/2: below a mean of 10 by inversion, else by BTRS of W. Hoermann, "The
// generation of binomial random variates", Journal of Statistical Computation and Simulation 46 (1993).
fn binomial_variate(index: u32, key0: u32, key1: u32, n: u32, p: f32) -> i32 {
  let size = f32(i32(n));
  let q = 1.0 - p;
  let mean = size * p;
  if (mean < 10.0) {
    let u = fraction_from_bits(random_words(index, key0, key1, 1u).x);
    let none = size * log1p_f32(-p);
    var probability = exp_f32(none);
    var above = -expm1_f32(none);  // the probability of more than k
    var k = 0u;
    while (u < above && probability > 3e-8 && k < n) {
      k++;
      probability *= f32(i32(n - k + 1u)) / f32(i32(k)) * (p / q);
      above -= probability;
    }
    return i32(k);
  }
  let center = exact_product(n, p);
  let deviation = sqrt(mean * q);
  let b = 1.15 + 2.53 * deviation;
  let a = -0.0873 + 0.0248 * b + 0.01 * p;
  let alpha = (2.83 + 5.1 / b) * deviation;
  let inside = 0.92 - 4.2 / b;
  let whole = f32(i32(center.whole));
  let mode = floor(center.part + p);  // relative to the integer part of the mean
  let most = binomial_excess(center, mode, size, p);
  for (var t = 1u; t < ATTEMPTS; t++) {
    let words = random_words(index, key0, key1, t);
    let margin = margin_from_bits(words.x);
    let u = select(0.5 - margin, margin - 0.5, words.x >= 0x80000000u);
    let v = open_from_bits(words.y);
    let step = floor((2.0 * a / margin + b) * u + center.part + 0.5);
    if (step >= -whole && step <= f32(i32(n - center.whole))) {
      let hat = log_f32(v * alpha / (a / (margin * margin) + b));
      if ((margin >= 0.07 && v <= inside) || hat <= most - binomial_excess(center, step, size, p)) {
        return i32(center.whole) + i32(step);
      }
    }
  }
  return i32(center.whole);
}

// Minus the logarithm of the probability of the mean's integer part plus `step`, up to a constant.
fn binomial_excess(mean: WholeAndPart, step: f32, size: f32, p: f32) -> f32 {
  let d = step - mean.part;
  let k = f32(i32(mean.whole)) + step;
  return count_excess(d, size * p, k) + count_excess(-d, size * (1.0 - p), size - k);
}

// The margins of a 2 by 2 contingency table, which define a hypergeometric distribution, and its mean.
struct Table { of_kind: u32, drawn: u32, all: u32, whole: u32, part: f32 }

// Minus the logarithm of the probability of the mean's integer part plus `step`, up to a constant.
fn hypergeometric_excess(table: Table, step: f32) -> f32 {
  let d = step - table.part;
  let k = table.whole + u32(i32(step));
  let mean = f32(i32(table.whole)) + table.part;
  let r = f32(i32(table.of_kind));
  let m = f32(i32(table.drawn));
  let others = f32(i32(table.all - table.of_kind - table.drawn));
  return count_excess(d, mean, f32(i32(k))) + count_excess(-d, r - mean, f32(i32(table.of_kind - k)))
    + count_excess(-d, m - mean, f32(i32(table.drawn - k)))
    + count_excess(d, others + mean, f32(i32(table.all - table.of_kind - table.drawn + k)));
}

// The number of items of a kind that has r of `all` items, among m drawn; r and m are at most half of all. The mean is
// whole + part. Up to 9 items are drawn one by one; otherwise by HRUA of E. Stadlober, "The ratio of uniforms approach
// for generating discrete random variates", Journal of Computational and Applied Mathematics 31 (1990).
fn hypergeometric_variate(index: u32, key0: u32, key1: u32, r: u32, m: u32, all: u32, whole: u32, part: f32) -> i32 {
  if (m < 10u) {
    var left = r;
    for (var i = 0u; i < m; i++) {
      let word = random_words(index, key0, key1, i + 1u).x;
      left -= select(0u, 1u, mulhi_u32(word, all - i) < left);
    }
    return i32(r - left);
  }
  let table = Table(r, m, all, whole, part);
  let total = f32(i32(all));
  let least = -f32(i32(whole));
  let most = f32(i32(min(r, m) - whole));
  let share = f32(i32(r)) / total;
  let mean = part - least;
  let deviation = sqrt(f32(i32(m)) * share * (1.0 - share) * (f32(i32(all - m)) / (total - 1.0)) + 0.5);
  let width = 1.7155278 * deviation + 0.89891616;
  let mode = floor(part + (f32(i32(r + m + 1u)) - 2.0 * mean) / (total + 2.0));
  let top = hypergeometric_excess(table, mode);
  for (var t = 1u; t < ATTEMPTS; t++) {
    let words = random_words(index, key0, key1, t);
    let x = open_from_bits(words.x);
    let step = floor(part + 0.5 + width * (open_from_bits(words.y) - 0.5) / x);
    if (step >= least && step <= most && abs(step) <= 16.0 * deviation + 1.0) {
      let lower = top - hypergeometric_excess(table, step);
      if (x * (4.0 - x) - 3.0 <= lower || (x * (x - lower) < 1.0 && 2.0 * log_f32(x) <= lower)) {
        return i32(whole) + i32(step);
      }
    }
  }
  return i32(whole);
}

// The von Mises distribution about 0; the proposal is a wrapped Cauchy distribution. D. J. Best and N. I. Fisher,
// "Efficient simulation of the von Mises distribution", Applied Statistics 28 (1979). Below 1e-7 kappa makes no
// difference.
fn vonmises_variate(index: u32, key0: u32, key1: u32, kappa: f32) -> f32 {
  let k = clamp(kappa, 1e-7, 1e15);
  let q = sqrt(1.0 + 4.0 * k * k);
  let root = sqrt(1.0 + q);
  let near = 2.0 * k * root / ((q + 1.0) * (root + 1.41421356));
  let large = (1.41421356 * root - 1.0 - 1.0 / (2.0 * k + q)) / (2.0 * k);
  let rho = select(1.0 - large, near, k < 1.0);
  let below = select(large, 1.0 - near, k < 1.0);
  let e = below * below / (2.0 * rho);
  let narrow = below / (2.0 - below);
  for (var t = 1u; t < ATTEMPTS; t++) {
    let words = random_words(index, key0, key1, t);
    let turn = centered_from_bits(words.x);
    let part = min(abs(turn), max(0.5 - abs(turn), 0x1p-33f));
    let tangent = sin_poly_f32(3.14159265 * part) / cos_poly_f32(3.14159265 * part);
    let slope = select(1.0 / tangent, tangent, abs(turn) < 0.25);
    let square = slope * slope;
    let c = k * e * (1.0 + 2.0 * square / (e * (1.0 + square) + 2.0));
    let v = open_from_bits(words.y);
    if (c * (2.0 - c) > v || log_f32(c / v) + 1.0 >= c) { return copysign_f32(2.0 * atan_f32(narrow * slope), turn); }
  }
  return 0.0;
}

// Zipf's distribution with the exponent 1 + a, a > 0, limited to numbers up to 2147483520. L. Devroye, "Non-Uniform
// Random Variate Generation", 1986, X.6.1.
fn zipf_variate(index: u32, key0: u32, key1: u32, a: f32) -> i32 {
  if (a > 60.0) { return 1; }
  let two = expm1_f32(0.69314718 * a);  // 2^a - 1
  let least = exp_f32(-21.487562 * a);  // smaller uniform numbers would exceed the largest int
  for (var t = 1u; t < ATTEMPTS; t++) {
    let words = random_words(index, key0, key1, t);
    let u = least + (1.0 - least) * fraction_from_bits(words.x);
    let x = max(floor(exp_f32(-log_f32(u) / a)), 1.0);
    let rise = expm1_f32(a * log1p_f32(1.0 / x));  // (1 + 1/x)^a - 1
    if (x <= 2147483520.0 && open_from_bits(words.y) * x * rise / two <= (rise + 1.0) / (two + 1.0)) {
      return i32(x);
    }
  }
  return 1;
}
