// Matrix product for adapters that run four invocations in one vector of a CPU, where a barrier costs thousands of
// instructions and a load four. The invocations of a quad share a block of `ROWS` x `COLUMNS` results: each loads its
// own elements of A and of B and gets the others' of B by swaps, so that the quad loads nothing twice.

// <directives>
enable subgroups;
diagnostic(off, subgroup_uniformity);  // a quad that leaves, leaves whole
// </directives>
// <interface>
const WORKGROUP = 16u;
const ROWS = 4u;
const COLUMNS = 4u;
@group(0) @binding(0) var<storage, read> b0: array<f32>;
@group(0) @binding(1) var<storage, read> b1: array<f32>;
@group(0) @binding(2) var<storage, read_write> b2: array<vec4<f32>>;
@group(0) @binding(3) var<uniform> params: array<vec4u, 2>;
alias Columns = u32;
fn columns(lane: u32) -> Columns { return lane; }
fn load_a(at: u32) -> f32 { return b0[at]; }
fn load_b(at: Columns) -> vec4<f32> {
  let b = b1[at];
  return vec4<f32>(b, quadSwapX(b), quadSwapY(b), quadSwapDiagonal(b));
}
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
  let blocks_m = (M + ROWS - 1u) / ROWS;
  let blocks_n = (N + COLUMNS - 1u) / COLUMNS;
  let block = ((group.y * groups.x + group.x + params[1].x) * WORKGROUP + invocation) / 4u;
  let lane = invocation % 4u;
  let batch = block / (blocks_m * blocks_n);
  if (batch >= params[0].w) { return; }
  let place = block % (blocks_m * blocks_n);
  let m = (place / blocks_n) * ROWS + lane;
  let n = (place % blocks_n) * COLUMNS;
  // <bases>
  let base_a = 0u;
  let base_b = 0u;
  // </bases>
  // Rows and columns past the end read the last one.
  // <start>
  let a_at0 = base_a + min(m, M - 1u);
  let b_at0 = base_b + min(n + columns(lane), Columns(N - 1u));
  var c0_0 = vec4<f32>();
  // </start>
  for (var k = 0u; k < K; k += 2u) {
    let second = k + 1u < K;
    let k1 = select(k, k + 1u, second);
    // <multiply>
    c0_0 += load_a(a_at0 + k) * load_b(b_at0 + k);
    c0_0 += select(0.0, load_a(a_at0 + k1), second) * select(vec4<f32>(), load_b(b_at0 + k1), second);
    // </multiply>
  }
  // A loop over results, not a call for each: some compilers take exponential time over many guarded stores.
  // <results>
  var results = array<vec4<f32>, 1>(c0_0);
  // </results>
  for (var e = 0u; e < ROWS * COLUMNS / 16u; e++) {
    // Component s belongs to column lane ^ s of four.
    let swapped = results[e];
    let paired = select(swapped, swapped.yxwz, (lane & 1u) != 0u);
    let ordered = select(paired, paired.zwxy, (lane & 2u) != 0u);
    finish(batch, m + (e / (COLUMNS / 4u)) * 4u, n / 4u + e % (COLUMNS / 4u), ordered);
  }
}
