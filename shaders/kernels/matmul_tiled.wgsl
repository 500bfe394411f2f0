// Matrix product by tiles in workgroup memory: a workgroup computes `BM` x `BN` results, each
// invocation `TM` x `TN` of them in registers. Operands are read in blocks of 4 x 4, turned so that
// both tiles lie with their own index contiguous, whichever way the matrices lie in memory.

// <interface>
const BM = 8u;
const BN = 8u;
const BK = 4u;
const TM = 4u;
const WX = 2u;
const WY = 2u;
const WORKGROUP = 4u;
const GROUPED = 8u;
@group(0) @binding(0) var<storage, read> b0: array<vec4<f32>>;
@group(0) @binding(1) var<storage, read> b1: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read_write> b2: array<vec4<f32>>;
@group(0) @binding(3) var<uniform> params: array<vec4u, 3>;
struct Block { x: vec4<f32>, y: vec4<f32>, z: vec4<f32>, w: vec4<f32> }
fn load_a(base: u32, m: u32, k: u32) -> Block { let a = b0[base + m + k]; return Block(a, a, a, a); }
fn load_b(base: u32, k: u32, n: u32) -> Block { let b = b1[base + n + k]; return Block(b, b, b, b); }
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
  let M = params[0].x;
  let N = params[0].y;
  let K = params[0].z;
  let tiles_m = (M + BM - 1u) / BM;
  let tiles_n = (N + BN - 1u) / BN;
  let block = group.y * groups.x + group.x + params[1].x;
  let batch = block / (tiles_m * tiles_n);
  if (batch >= params[0].w) { return; }
  // Eight rows of tiles at a time: neighbours in time share columns of B in the cache.
  let tile = block % (tiles_m * tiles_n);
  let band = tile / (GROUPED * tiles_n);
  let height = min(tiles_m - band * GROUPED, GROUPED);
  let place = tile % (GROUPED * tiles_n);
  let m0 = (band * GROUPED + place % height) * BM;
  let n0 = (place / height) * BN;
  let tx = invocation % WX;
  let ty = invocation / WX;
  // <bases>
  let base_a = 0u;
  let base_b = 0u;
  // </bases>
  // <start>
  var c0_0 = vec4<f32>();
  // </start>
  for (var k0 = 0u; k0 < K; k0 += BK) {
    // <stage>
    let a = load_a(base_a, m0, k0);
    tile_a[invocation] = a.x;
    let b = load_b(base_b, k0, n0);
    tile_b[invocation] = b.x;
    // </stage>
    workgroupBarrier();
    // <multiply>
    for (var kk = 0u; kk < BK; kk++) {
      let a0 = tile_a[kk * 2u + ty];
      let b0_ = tile_b[kk * 2u + tx];
      c0_0 += a0.x * b0_;
    }
    // </multiply>
    workgroupBarrier();
  }
  // A loop over results, not a call for each: some compilers take exponential time over many
  // guarded stores.
  // <results>
  const COLUMNS = 1u;
  var results = array<vec4<f32>, 1>(c0_0);
  // </results>
  for (var e = 0u; e < TM * COLUMNS; e++) {
    let i = e / COLUMNS;
    let v = e % COLUMNS;
    finish(batch, m0 + (ty + (i / 4u) * WY) * 4u + i % 4u, n0 / 4u + tx + v * WX, results[e]);
  }
}
