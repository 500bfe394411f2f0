// Tiled matrix product: a workgroup computes `BM` x `BN` results, and each invocation computes
// `TM` x `TN` of them in registers. `WK` invocations share each result, and each adds up its part of
// every slice. In workgroup memory, both tiles have their own index contiguous, whatever the layout
// of the matrices. While a slice of depth `BK` is multiplied, the next one is loaded into registers.

// <interface>
const BM = 8u;
const BN = 8u;
const BK = 4u;
const TM = 4u;
const WX = 2u;
const WY = 2u;
const WK = 1u;
const ACROSS = 2u;
const WORKGROUP = 4u;
const GROUPED = 8u;
@group(0) @binding(0) var<storage, read> b0: array<vec4<f32>>;
@group(0) @binding(1) var<storage, read> b1: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read_write> b2: array<vec4<f32>>;
@group(0) @binding(3) var<uniform> params: array<vec4u, 3>;
fn finish(batch: u32, m: u32, n4: u32, acc: vec4<f32>) { b2[m + n4] = acc; }
var<workgroup> tile_a: array<vec4<f32>, 8>;
var<workgroup> tile_b: array<vec4<f32>, 8>;
// </interface>

@compute @workgroup_size(WORKGROUP)
fn main(
  @builtin(workgroup_id) group: vec3u,
  @builtin(num_workgroups) groups: vec3u,
  @builtin(local_invocation_index) invocation: u32,
) {
  let M = params[0].y;
  let N = params[0].z;
  let K = params[0].w;
  let tiles_m = (M + BM - 1u) / BM;
  let tiles_n = (N + BN - 1u) / BN;
  let block = group.y * groups.x + group.x + params[0].x;
  let batch = block / (tiles_m * tiles_n);
  if (batch >= params[1].x) { return; }
  // The part of k that is summed here; all of k if there is one part.
  let start = batch / params[1].z * params[1].y;
  let end = min(start + params[1].y, K);
  // Tiles are ordered by bands of eight rows, so that workgroups that run together share columns of B in the cache.
  let tile = block % (tiles_m * tiles_n);
  let band = tile / (GROUPED * tiles_n);
  let height = min(tiles_m - band * GROUPED, GROUPED);
  let place = tile % (GROUPED * tiles_n);
  let m0 = (band * GROUPED + place % height) * BM;
  let n0 = (place / height) * BN;
  // Invocations are in blocks of `ACROSS` columns, so that those that run together read few rows of either tile.
  let part = invocation % (ACROSS * WY);
  let tx = (invocation % (WX * WY) / (ACROSS * WY)) * ACROSS + part % ACROSS;
  let ty = part / ACROSS;
  let tk = invocation / (WX * WY);
  // <bases>
  let base_a = 0u;
  let base_b = 0u;
  // </bases>
  // <start>
  let a_at = base_a + m0 + invocation;
  let b_at = base_b + n0 + invocation;
  var a_next0 = vec4<f32>();
  var b_next0 = vec4<f32>();
  var c0_0 = vec4<f32>();
  // </start>
  // <first>
  a_next0 = b0[a_at];
  b_next0 = b1[b_at];
  // </first>
  for (var k0 = start; k0 < end; k0 += BK) {
    // <keep>
    tile_a[invocation] = select(vec4<f32>(), a_next0, k0 < end);
    tile_b[invocation] = select(vec4<f32>(), b_next0, k0 < end);
    // </keep>
    workgroupBarrier();
    let next = k0 + BK;
    if (next < end) {
      // <next>
      a_next0 = b0[a_at + next];
      b_next0 = b1[b_at + next];
      // </next>
    }
    // <multiply>
    for (var kk = 0u; kk < BK; kk++) {
      let a0 = tile_a[kk * 2u + ty];
      let b0_ = tile_b[kk * 2u + tx];
      c0_0 += a0.x * b0_;
    }
    // </multiply>
    workgroupBarrier();
  }
  // A loop over results rather than a call for each, because some compilers take exponential time
  // for many guarded stores.
  // <results>
  const COLUMNS = 1u;
  var results = array<vec4<f32>, 1>(c0_0);
  // </results>
  for (var e = 0u; e < TM * COLUMNS; e++) {
    let row = m0 + e / COLUMNS / 4u * WY * 4u + e / COLUMNS % 4u;
    let column = n0 + e % COLUMNS * WX * 4u;
    // <finish>
    finish(batch, row + ty * 4u, column / 4u + tx, results[e]);
    // </finish>
  }
}
