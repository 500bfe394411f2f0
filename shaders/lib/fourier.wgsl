// needs: convert.wgsl
// Functions for discrete Fourier transforms.

// exp(-2 pi i k / n) for k < n < 2^28; `inverse` is 1 / n. The angle is measured in integers from the nearest quarter
// of a turn, so that it is small and exact: t quarters, with t from -1/2 to 1/2. The polynomials are minimax on this
// range. The error of each part is within 1.5 ulp of 1.
fn root_of_unity(k: u32, n: u32, inverse: f32) -> vec2f {
  let quarter = u32(f32(4u * k) * inverse + 0.5);
  let t = f32(bitcast<i32>(4u * k - quarter * n)) * inverse;
  let s = t * t;
  let across = t * (1.570796322 + s * (-0.6459634786 + s * (0.07968022807 + s * -0.004602176997)));
  let along = 1.0 + s * (-1.233700541 + s * (0.2536692039 + s * (-0.02086007132 + s * 0.000903631704)));
  let turned = select(vec2f(along, -across), vec2f(-across, -along), (quarter & 1u) != 0u);
  return select(turned, -turned, (quarter & 2u) != 0u);
}

// x * y with the fewest operations; NaN if a part overflows.
fn turned_by(x: vec2f, y: vec2f) -> vec2f { return vec2f(x.x * y.x - x.y * y.y, x.x * y.y + x.y * y.x); }

// x with its parts swapped if `flag` is set.
fn exchanged(x: vec2f, flag: bool) -> vec2f { return select(x, x.yx, flag); }
