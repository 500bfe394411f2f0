// Determinants from LU decompositions, column-major, with one invocation per matrix. The exponent of the product of the
// pivots is kept separately, so that intermediate products do not overflow.

// <interface>
const WORKGROUP = 64u;
const PANEL = 32u;
const LOGARITHM = false;
alias Number = f32;
fn product(a: Number, b: Number) -> Number { return a * b; }
fn magnitude(x: Number) -> f32 { return abs_f32(x); }
fn size(x: Number) -> f32 { return abs_f32(x); }
fn signed(x: Number) -> Number { return sign_f32(x); }
fn real(x: f32) -> Number { return x; }
@group(0) @binding(0) var<storage, read> b0: array<f32>;
@group(0) @binding(1) var<storage, read> b1: array<u32>;
@group(0) @binding(2) var<storage, read_write> b2: array<f32>;
@group(0) @binding(3) var<uniform> params: array<vec4u, 1>;
// </interface>

@compute @workgroup_size(WORKGROUP)
fn main(
  @builtin(workgroup_id) group: vec3u,
  @builtin(num_workgroups) groups: vec3u,
  @builtin(local_invocation_index) invocation: u32,
) {
  let matrix = (group.y * groups.x + group.x + params[0].x) * WORKGROUP + invocation;
  if (matrix >= params[0].y) { return; }
  let length = params[0].z;
  let exchanges = b1[matrix * (3u * PANEL + 1u) + 3u * PANEL];
  var found = real(select(1.0, -1.0, exchanges % 2u == 1u));
  var exponent = 0;
  for (var k = 0u; k < length; k++) {
    let pivot = b0[matrix * params[0].w + k * (length + 1u)];
    let by = exponent_of(size(pivot));
    found = product(found, pivot * power(-by));
    let more = exponent_of(size(found));
    found *= power(-more);
    exponent += by + more;
  }
  if (LOGARITHM) {
    b2[2u * matrix] = signed(found);
    b2[2u * matrix + 1u] = real(log_f32(magnitude(found)) + f32(exponent) * 0.6931472);
  } else {
    let half = clamp(exponent, -126, 126);
    b2[matrix] = found * power(half) * power(clamp(exponent - half, -126, 126));
  }
}

// The approximate exponent of a number; 0 for 0, infinities and NaN.
fn exponent_of(x: f32) -> i32 {
  let exponent = i32(bitcast<u32>(x) >> 23u);
  return select(clamp(exponent - 127, -120, 120), 0, exponent == 0 || exponent == 255);
}

fn power(exponent: i32) -> f32 { return bitcast<f32>(u32(exponent + 127) << 23u); }
