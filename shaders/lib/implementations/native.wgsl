// needs: bits.wgsl arithmetic.wgsl
// Functions of the library as the device has them: right where it rounds as IEEE 754 says, which WGSL does not promise.

// x / y. Correctly rounded (0.5 ulp) on such a device.
fn divide_f32(x: f32, y: f32) -> f32 { return x / y; }

// The square root. Correctly rounded (0.5 ulp) on such a device.
fn sqrt_f32(x: f32) -> f32 { return sqrt(x); }
