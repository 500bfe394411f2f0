// needs: bits.wgsl arithmetic.wgsl
// Library functions for devices whose fma rounds once, which WGSL does not promise. Residuals are then exact.

// x / y, correctly rounded (0.5 ulp): the reciprocal and then the quotient are corrected by their residuals, if no step
// can leave the range of normal numbers. P. Markstein, "Computation of elementary functions on the IBM RISC
// System/6000 processor", IBM J. Res. Dev. 34 (1990).
fn divide_f32(x: f32, y: f32) -> f32 {
  let ax = bitcast<u32>(x) & 0x7fffffffu;
  let ay = bitcast<u32>(y) & 0x7fffffffu;
  if (ay - 0x20000000u < 0x3f000000u && (ax - 0x20000000u < 0x3f000000u || ax == 0u)) {  // 2^-63 to 2^63
    let estimate = 1.0 / y;
    let inverse = fma(fma(-y, estimate, 1.0), estimate, estimate);
    let rough = x * inverse;
    let near = fma(fma(-y, rough, x), inverse, rough);
    let quotient = fma(fma(-y, near, x), inverse, near);
    return bitcast<f32>((bitcast<u32>(quotient) & 0x7fffffffu) | ((bitcast<u32>(x) ^ bitcast<u32>(y)) & 0x80000000u));
  }
  return divide_by_integers_f32(x, y);
}

// The square root, correctly rounded (0.5 ulp): the device's result, corrected by its residual. Markstein, as above.
fn sqrt_f32(x: f32) -> f32 {
  if (bitcast<u32>(x) - 0x10000000u < 0x6f800000u) {  // 2^-95 to inf
    let estimate = sqrt(x);
    return fma(fma(-estimate, estimate, x), 0.5 / estimate, estimate);
  }
  return sqrt_by_integers_f32(x);
}
