// needs: bits.wgsl arithmetic.wgsl math.wgsl
// Functions of the library for a device that evaluates floats as they are written, which WGSL does not promise:
// arguments are reduced in floats, after W. Cody and W. Waite, "Software Manual for the Elementary Functions" (1980).

// exp(x): 2 ulp; overflow gives inf, underflow a subnormal or 0.
fn exp_f32(x: f32) -> f32 {
  if ((bitcast<u32>(x) & 0x7fffffffu) < 0x42ae0000u) {  // 87
    let shifted = fma(x, 1.44269504, 12582912.0);  // 1.5 * 2^23: the nearest integer stands in the lowest bits
    let k = shifted - 12582912.0;
    let r = fma(k, -1.42860677e-6, fma(k, -0.693145752, x));
    return bitcast<f32>(bitcast<u32>(expm1_poly_f32(r) + 1.0) + (bitcast<u32>(shifted) << 23u));
  }
  return exp_by_integers_f32(x);
}
