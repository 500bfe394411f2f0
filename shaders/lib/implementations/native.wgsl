// needs: bits.wgsl arithmetic.wgsl
// Library functions as the device implements them, for devices that round as in IEEE 754, which WGSL does not promise.

// x / y. Correctly rounded (0.5 ulp) on such a device.
fn divide_f32(x: f32, y: f32) -> f32 { return x / y; }

// The square root. Correctly rounded (0.5 ulp) on such a device.
fn sqrt_f32(x: f32) -> f32 { return sqrt(x); }
