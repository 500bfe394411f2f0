// Radix sort, counting: count each digit of the keys in each tile of a row. A workgroup counts one
// tile, with 16 copies of every counter to reduce contention.

// <interface>
const WORKGROUP = 256u;
const TILE = 2048u;
@group(0) @binding(0) var<storage, read> b0: array<u32>;
@group(0) @binding(1) var<storage, read_write> b1: array<u32>;
@group(0) @binding(2) var<uniform> params: array<vec4u, 2>;
fn load_raw(row: u32, j: u32) -> u32 { return b0[row * params[0].z + j]; }
fn key_of(raw: u32) -> u32 { return raw; }
fn store_count(run: u32, count: u32) { b1[run] = count; }
// </interface>

const DIGITS = 16u;
const COPIES = 16u;
var<workgroup> found: array<atomic<u32>, DIGITS * COPIES>;

@compute @workgroup_size(WORKGROUP)
fn main(
  @builtin(workgroup_id) group: vec3u,
  @builtin(num_workgroups) groups: vec3u,
  @builtin(local_invocation_index) invocation: u32,
) {
  let block = group.y * groups.x + group.x + params[0].x;
  let length = params[0].z;
  let tiles = params[0].w;
  let row = block / tiles;
  let tile = block % tiles;
  for (var k = invocation; k < DIGITS * COPIES; k += WORKGROUP) { atomicStore(&found[k], 0u); }
  workgroupBarrier();
  if (row < params[0].y) {
    let last = min((tile + 1u) * TILE, length);
    for (var j = tile * TILE + invocation; j < last; j += WORKGROUP) {
      let digit = (key_of(load_raw(row, j)) >> params[1].x) % DIGITS;
      atomicAdd(&found[digit * COPIES + invocation % COPIES], 1u);
    }
  }
  workgroupBarrier();
  if (invocation < DIGITS && row < params[0].y) {
    var count = 0u;
    for (var k = 0u; k < COPIES; k++) { count += atomicLoad(&found[invocation * COPIES + k]); }
    store_count((row * DIGITS + invocation) * tiles + tile, count);
  }
}
