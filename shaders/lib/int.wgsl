// i32 and u32 arithmetic with Python's and NumPy's semantics, except that a divisor of 0 gives 0 (as in NumPy, which
// also warns; a GPU cannot raise). Everything here is exact and wraps modulo 2^32.

// x // y rounded towards minus infinity. y == 0 gives 0; -2^31 // -1 gives -2^31, like WGSL's own division.
fn floor_divide_i32(x: i32, y: i32) -> i32 {
  let q = x / y;
  let r = x - q * y;
  return select(q - select(0, 1, (r != 0) & ((r ^ y) < 0)), 0, y == 0);
}

// x // y. y == 0 gives 0.
fn floor_divide_u32(x: u32, y: u32) -> u32 { return select(x / y, 0u, y == 0u); }

// x % y with the sign of y. y == 0 gives 0; -2^31 % -1 gives 0.
fn remainder_i32(x: i32, y: i32) -> i32 {
  let r = x - (x / y) * y;
  return select(r + select(0, y, (r != 0) & ((r ^ y) < 0)), 0, y == 0);
}

// x % y. y == 0 gives 0.
fn remainder_u32(x: u32, y: u32) -> u32 { return select(x % y, 0u, y == 0u); }

// x to the power y, modulo 2^32. x^0 is 1. By repeated squaring.
fn pow_u32(x: u32, y: u32) -> u32 {
  var result = 1u;
  var square = x;
  var left = y;
  for (var i = 0; i < 32; i++) {
    if (left == 0u) { break; }
    result *= select(1u, square, (left & 1u) != 0u);
    square *= square;
    left >>= 1u;
  }
  return result;
}

// x to the power y, modulo 2^32. x^0 is 1; a negative y gives the integer part of the true result: 0, but 1 for x == 1
// and +-1 for x == -1.
fn pow_i32(x: i32, y: i32) -> i32 {
  let unit = (x == 1) | (x == -1);  // x^y == x^-y: the parity of y is enough
  let exponent = bitcast<u32>(y) & select(0xffffffffu, 1u, unit);
  return select(bitcast<i32>(pow_u32(bitcast<u32>(x), exponent)), 0, (y < 0) & !unit);
}

// x * 2^y, modulo 2^32; 0 if y is negative, or 32 or more.
fn left_shift_i32(x: i32, y: i32) -> i32 { return bitcast<i32>(left_shift_u32(bitcast<u32>(x), bitcast<u32>(y))); }

// x * 2^y, modulo 2^32; 0 for a y of 32 or more, which WGSL would take modulo 32.
fn left_shift_u32(x: u32, y: u32) -> u32 { return select(x << (y & 31u), 0u, y > 31u); }

// x / 2^y rounded towards minus infinity; 0 or -1 if y is negative, or 32 or more.
fn right_shift_i32(x: i32, y: i32) -> i32 { return x >> min(bitcast<u32>(y), 31u); }

// x / 2^y rounded down; 0 for a y of 32 or more.
fn right_shift_u32(x: u32, y: u32) -> u32 { return select(x >> (y & 31u), 0u, y > 31u); }

// -1, 0 or 1.
fn sign_i32(x: i32) -> i32 { return select(select(0, 1, x > 0), -1, x < 0); }

// 0 or 1.
fn sign_u32(x: u32) -> u32 { return select(0u, 1u, x != 0u); }

// 1 / x rounded towards 0; 0 for 0.
fn reciprocal_i32(x: i32) -> i32 { return select(0, x, abs(x) == 1); }

// 1 / x rounded down; 0 for 0.
fn reciprocal_u32(x: u32) -> u32 { return select(0u, x, x == 1u); }

// |x|; -2^31 is unchanged, as in NumPy.
fn abs_i32(x: i32) -> i32 { return select(x, -x, x < 0); }

// The greatest common divisor; for 0 and y it is y. By shifts and differences (Stein, Computational problems associated
// with Racah algebra, 1967): each step removes at least one bit from one of the two.
fn gcd_u32(x: u32, y: u32) -> u32 {
  if ((x == 0u) | (y == 0u)) { return x | y; }
  var a = x >> countTrailingZeros(x);
  var b = y;
  for (var i = 0; i < 64; i++) {
    if (b == 0u) { break; }
    b >>= countTrailingZeros(b);
    let larger = max(a, b);
    a = min(a, b);
    b = larger - a;
  }
  return a << countTrailingZeros(x | y);
}
// The same for |x| and |y|.
fn gcd_i32(x: i32, y: i32) -> i32 { return bitcast<i32>(gcd_u32(bitcast<u32>(abs_i32(x)), bitcast<u32>(abs_i32(y)))); }

// The least common multiple, modulo 2^32; 0 if x or y is 0.
fn lcm_u32(x: u32, y: u32) -> u32 {
  let divisor = gcd_u32(x, y);
  return select(x / max(divisor, 1u) * y, 0u, divisor == 0u);
}
// The same for |x| and |y|, modulo 2^32.
fn lcm_i32(x: i32, y: i32) -> i32 { return bitcast<i32>(lcm_u32(bitcast<u32>(abs_i32(x)), bitcast<u32>(abs_i32(y)))); }

// The number of bits set in x.
fn count_bits_u32(x: u32) -> i32 { return i32(countOneBits(x)); }
// The number of bits set in |x|.
fn count_bits_i32(x: i32) -> i32 { return i32(countOneBits(bitcast<u32>(abs_i32(x)))); }
