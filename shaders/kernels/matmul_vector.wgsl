// Product of a matrix and a vector, for adapters that run four invocations in one vector of a CPU: each invocation sums
// `ROWS` rows side by side, so that an element of the vector, and a turn of the loop, serves all of them.

// <interface>
const WORKGROUP = 16u;
const ROWS = 2u;
const CHAIN = 256u;
@group(0) @binding(0) var<storage, read> b0: array<f32>;
@group(0) @binding(1) var<storage, read> b1: array<f32>;
@group(0) @binding(2) var<storage, read_write> b2: array<f32>;
@group(0) @binding(3) var<uniform> params: array<vec4u, 2>;
fn load_a(at: u32) -> f32 { return b0[at]; }
fn load_b(at: u32) -> f32 { return b1[at]; }
fn finish(batch: u32, m: u32, n4: u32, acc: vec4<f32>) { b2[batch * params[0].x + m] = acc.x; }
// </interface>

@compute @workgroup_size(WORKGROUP)
fn main(
  @builtin(workgroup_id) group: vec3u,
  @builtin(num_workgroups) groups: vec3u,
  @builtin(local_invocation_index) invocation: u32,
) {
  let M = params[0].x;
  let K = params[0].z;
  let blocks = (M + ROWS - 1u) / ROWS;
  let block = (group.y * groups.x + group.x + params[1].x) * WORKGROUP + invocation;
  let batch = block / blocks;
  if (batch >= params[0].w) { return; }
  let m = (block % blocks) * ROWS;
  // <bases>
  let base_a = 0u;
  let base_b = 0u;
  // </bases>
  // Rows past the end read the last one.
  // <start>
  let along_a = 1u;
  let along_b = 1u;
  var at_b = base_b;
  var at_a0 = base_a + min(m + 0u, M - 1u) * K;
  var at_a1 = base_a + min(m + 1u, M - 1u) * K;
  var sum0 = f32();
  var sum1 = f32();
  // </start>
  // In parts, so that errors grow with the length of a part and with the number of parts, not with their product.
  for (var k = 0u; k < K;) {
    let stop = min(K, k + CHAIN);
    // <parts>
    var part0 = f32();
    var part1 = f32();
    // </parts>
    for (; k + 3u < stop; k += 4u) {
      // <four>
      for (var i = 0u; i < 4u; i++) {
        part0 += load_a(at_a0 + i * along_a) * load_b(at_b + i * along_b);
        part1 += load_a(at_a1 + i * along_a) * load_b(at_b + i * along_b);
      }
      at_a0 += 4u * along_a;
      at_a1 += 4u * along_a;
      at_b += 4u * along_b;
      // </four>
    }
    for (; k < stop; k++) {
      // <one>
      part0 += load_a(at_a0) * load_b(at_b);
      part1 += load_a(at_a1) * load_b(at_b);
      at_a0 += along_a;
      at_a1 += along_a;
      at_b += along_b;
      // </one>
    }
    // <join>
    sum0 += part0;
    sum1 += part1;
    // </join>
  }
  // <results>
  var results = array<f32, ROWS>(sum0, sum1);
  // </results>
  for (var e = 0u; e < ROWS; e++) {
    finish(batch, m + e, 0u, vec4(results[e]));
  }
}
