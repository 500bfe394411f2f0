// needs: bits.wgsl arithmetic.wgsl math.wgsl
// Library functions for devices that evaluate float expressions as written, which WGSL does not promise. Arguments are
// reduced in floats, after W. Cody and W. Waite, "Software Manual for the Elementary Functions" (1980).

// exp(x): 2 ulp; overflow gives inf, underflow a subnormal or 0. It has no branch, which would cost more than
// everything else with a CPU's SIMD. Instead, the argument is clamped, and 2^n is multiplied in as two normal numbers.
fn exp_f32(x: f32) -> f32 {
  let inside = select(select(x, 89.0, x > 89.0), -104.0, x < -104.0);  // `clamp` costs twice as much with a CPU's SIMD
  let shifted = fma(inside, 1.44269504, 12582912.0);  // 1.5 * 2^23: the lowest bits are the nearest integer n
  let k = shifted - 12582912.0;
  let r = fma(k, -1.42860677e-6, fma(k, -0.693145752, inside));
  let n = bitcast<i32>(shifted) - 0x4b400000;
  let half = n >> 1u;
  let scaled = (expm1_poly_f32(r) + 1.0) * bitcast<f32>((half + 127) << 23u) * bitcast<f32>((n - half + 127) << 23u);
  return select(scaled, x, is_nan(x));
}
