// needs: bits.wgsl arithmetic.wgsl math.wgsl
// Counter-based random numbers: element i of a stream is a pure function of (i, key), whatever the workgroup size.
//
// Threefry-2x32 with 20 rounds: J. Salmon et al., "Parallel random numbers: as easy as 1, 2, 3" (SC11), checked
// against Random123's known answers. It needs additions, rotations and xors only.

// Four rounds with the rotations of groups 1, 3 and 5. Exact.
fn threefry_rounds_odd(x: vec2u) -> vec2u {
  var a = x.x + x.y;
  var b = ((x.y << 13u) | (x.y >> 19u)) ^ a;
  a += b;
  b = ((b << 15u) | (b >> 17u)) ^ a;
  a += b;
  b = ((b << 26u) | (b >> 6u)) ^ a;
  a += b;
  b = ((b << 6u) | (b >> 26u)) ^ a;
  return vec2u(a, b);
}

// Four rounds with the rotations of groups 2 and 4. Exact.
fn threefry_rounds_even(x: vec2u) -> vec2u {
  var a = x.x + x.y;
  var b = ((x.y << 17u) | (x.y >> 15u)) ^ a;
  a += b;
  b = ((b << 29u) | (b >> 3u)) ^ a;
  a += b;
  b = ((b << 16u) | (b >> 16u)) ^ a;
  a += b;
  b = ((b << 24u) | (b >> 8u)) ^ a;
  return vec2u(a, b);
}

// Threefry-2x32-20. Exact.
fn threefry2x32(counter: vec2u, key: vec2u) -> vec2u {
  let parity = key.x ^ key.y ^ 0x1bd11bdau;
  var x = threefry_rounds_odd(counter + key);
  x = threefry_rounds_even(x + vec2u(key.y, parity + 1u));
  x = threefry_rounds_odd(x + vec2u(parity, key.x + 2u));
  x = threefry_rounds_even(x + vec2u(key.x, key.y + 3u));
  x = threefry_rounds_odd(x + vec2u(key.y, parity + 4u));
  return x + vec2u(parity, key.x + 5u);
}

// 32 random bits for element `index`: the first word of threefry2x32 at counter (index, 0), key (key0, key1). Exact.
fn random_bits(index: u32, key0: u32, key1: u32) -> u32 { return threefry2x32(vec2u(index, 0u), vec2u(key0, key1)).x; }

// A multiple of 2^-24 in [0, 1): the upper 24 bits of the word. Exact.
fn uniform_from_bits(bits: u32) -> f32 { return f32(i32(bits >> 8u)) * 0x1p-24f; }

// A standard normal by Box-Muller: sqrt(-2 log(u)) * cos(2 pi v) with u = fraction_from_bits(a), which gives values up
// to 6.7, and v = (b >> 8) * 2^-24 in [0, 1). 4 ulp relative to that formula in exact arithmetic: the turn is split
// into quarters in integers, so that the cosine is accurate near its zeros.
fn normal_from_bits(a: u32, b: u32) -> f32 {
  let radius = sqrt_f32(-2.0 * log_f32(fraction_from_bits(a)));
  let turn = b & 0xffffff00u;
  let quarter = (turn + 0x20000000u) >> 30u;
  let angle = f32(bitcast<i32>(turn - (quarter << 30u)) >> 8u) * 3.7450704e-7;  // 2 pi / 2^24; at most pi/4
  return radius * sin_quarter_f32(angle, i32(quarter) + 1);
}

// A standard normal for element `index`, from both words for t = 0.
fn random_normal(index: u32, key0: u32, key1: u32) -> f32 {
  let words = random_words(index, key0, key1, 0u);
  return normal_from_bits(words.x, words.y);
}

// An integer in [low, low + span) from one word: low + floor(bits * span / 2^32), modulo 2^32. Exact; the error of each
// value's probability is at most 2^-32.
fn randint_from_bits(bits: u32, low: i32, span: u32) -> i32 {
  return bitcast<i32>(bitcast<u32>(low) + mulhi_u32(bits, span));
}

// The words for attempt `t` >= 1 of element `index`; `random_bits` uses t = 0. Exact.
fn random_words(index: u32, key0: u32, key1: u32, t: u32) -> vec2u {
  return threefry2x32(vec2u(index, t), vec2u(key0, key1));
}

// (bits + 1/2) * 2^-32, in [2^-33, 1]; small values keep full relative accuracy. Correctly rounded (0.5 ulp).
fn fraction_from_bits(bits: u32) -> f32 {
  return f32(i32(bits >> 16u)) * 0x1p-16f + (f32(i32(bits & 0xffffu)) + 0.5) * 0x1p-32f;
}

// The same for i32(bits), in [-1/2, 1/2]. Correctly rounded (0.5 ulp).
fn centered_from_bits(bits: u32) -> f32 {
  let negative = bits >= 0x80000000u;
  let magnitude = fraction_from_bits(select(bits, ~bits, negative));
  return select(magnitude, -magnitude, negative);
}

// An odd multiple of 2^-24 in (0, 1), from the upper 23 bits. Exact.
fn open_from_bits(bits: u32) -> f32 { return (f32(i32(bits >> 9u)) + 0.5) * 0x1p-23f; }

// A standard exponential by inversion: -log(1 - (bits + 1/2) * 2^-32). 4 ulp, at both ends.
fn exponential_from_bits(bits: u32) -> f32 {
  let large = bits >= 0x80000000u;
  let tail = fraction_from_bits(select(bits, ~bits, large));
  return -select(log1p_f32(-tail), log_f32(tail), large);
}
