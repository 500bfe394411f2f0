// Matrix product without workgroup memory: each invocation computes 4 x 4 results in registers
// from blocks of 4 x 4 of either operand. For adapters where a barrier costs more than a load.

// <interface>
const WORKGROUP = 64u;
@group(0) @binding(0) var<storage, read> b0: array<vec4<f32>>;
@group(0) @binding(1) var<storage, read> b1: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read_write> b2: array<vec4<f32>>;
@group(0) @binding(3) var<uniform> params: array<vec4u, 2>;
struct Block { x: vec4<f32>, y: vec4<f32>, z: vec4<f32>, w: vec4<f32> }
fn load_a(base: u32, m: u32, k: u32) -> Block { let a = b0[base + m + k]; return Block(a, a, a, a); }
fn load_b(base: u32, k: u32, n: u32) -> Block { let b = b1[base + n + k]; return Block(b, b, b, b); }
fn finish(batch: u32, m: u32, n4: u32, acc: vec4<f32>) { b2[m + n4] = acc; }
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
  let blocks_m = (M + 3u) / 4u;
  let blocks_n = (N + 3u) / 4u;
  let block = (group.y * groups.x + group.x + params[1].x) * WORKGROUP + invocation;
  let batch = block / (blocks_m * blocks_n);
  if (batch >= params[0].w) { return; }
  let place = block % (blocks_m * blocks_n);
  let m = (place / blocks_n) * 4u;
  let n4 = place % blocks_n;
  // <bases>
  let base_a = 0u;
  let base_b = 0u;
  // </bases>
  // <zero>
  var c0 = vec4<f32>();
  var c1 = vec4<f32>();
  var c2 = vec4<f32>();
  var c3 = vec4<f32>();
  // </zero>
  // <multiply>
  for (var k = 0u; k < K; k += 4u) {
    let a = load_a(base_a, m, k);
    let b = load_b(base_b, k, n4 * 4u);
    c0 += a.x.x * b.x + a.y.x * b.y + a.z.x * b.z + a.w.x * b.w;
    c1 += a.x.y * b.x + a.y.y * b.y + a.z.y * b.z + a.w.y * b.w;
    c2 += a.x.z * b.x + a.y.z * b.y + a.z.z * b.z + a.w.z * b.w;
    c3 += a.x.w * b.x + a.y.w * b.y + a.z.w * b.z + a.w.w * b.w;
  }
  // </multiply>
  // A loop, not four calls: some compilers take exponential time over many guarded stores.
  // <results>
  var results = array<vec4<f32>, 4>(c0, c1, c2, c3);
  // </results>
  for (var i = 0u; i < 4u; i++) {
    finish(batch, m + i, n4, results[i]);
  }
}
