// One pass of a discrete Fourier transform (Stockham's autosort form of the Cooley-Tukey algorithm). A workgroup takes
// `COLUMNS` neighbouring columns, transforms the `LENGTH` strided elements of each, and stores them in the order that
// the next pass reads. Between stages, invocations exchange elements through workgroup memory: first the real parts,
// then the imaginary parts.

// <interface>
const COLUMNS = 64u;
const LENGTH = 2u;
const WORKGROUP = 64u;
@group(0) @binding(0) var<storage, read> b0: array<vec2f>;
@group(0) @binding(1) var<storage, read_write> b1: array<vec2f>;
@group(0) @binding(2) var<uniform> params: array<vec4u, 2>;
fn load(place: Column, j: u32) -> vec2f { return b0[(place.outer * params[1].x + j) * params[0].z + place.inner]; }
fn put(place: Column, j: u32, value: vec2f) { b1[(place.outer * params[1].x + j) * params[0].z + place.inner] = value; }
// </interface>

// The position of a column: its outer and inner index, and its first element along the axis.
struct Column { outer: u32, inner: u32, first: u32, is_inside: bool }

// Column `number` of all `params[0].y`: each outer index has `params[0].w` rows of `params[0].z` inner elements.
fn column(number: u32) -> Column {
  let row = number / params[0].z;
  let outer = row / params[0].w;
  return Column(outer, number - row * params[0].z, row - outer * params[0].w, number < params[0].y);
}

@compute @workgroup_size(WORKGROUP)
fn main(
  @builtin(workgroup_id) group: vec3u,
  @builtin(num_workgroups) groups: vec3u,
  @builtin(local_invocation_index) invocation: u32,
) {
  let tile = (group.y * groups.x + group.x + params[0].x) * COLUMNS;
  let step = params[0].w;  // from one element of a column to the next
  let before = params[1].y;  // the product of the lengths of earlier passes
  let whole = before * LENGTH;
  let inverse = bitcast<f32>(params[1].z);  // 1 / whole
  // <stages>
  let place = column(tile + invocation);
  if (place.is_inside) {
    let x = load(place, place.first);
    let y = load(place, place.first + step);
    put(place, place.first * 2u, x + y);
    put(place, place.first * 2u + 1u, x - y);
  }
  // </stages>
}
