// Radix sort, counting, without workgroup memory: each invocation counts the digits of one tile in
// counters of its own.

// <interface>
const WORKGROUP = 64u;
const TILE = 4096u;
@group(0) @binding(0) var<storage, read> b0: array<u32>;
@group(0) @binding(1) var<storage, read_write> b1: array<u32>;
@group(0) @binding(2) var<uniform> params: array<vec4u, 2>;
fn load_raw(row: u32, j: u32) -> u32 { return b0[row * params[0].y + j]; }
fn key_of(raw: u32) -> u32 { return raw; }
fn count_of(run: u32) -> u32 { return b1[run]; }
fn store_count(run: u32, count: u32) { b1[run] = count; }
// </interface>

@compute @workgroup_size(WORKGROUP)
fn main(
  @builtin(workgroup_id) group: vec3u,
  @builtin(num_workgroups) groups: vec3u,
  @builtin(local_invocation_index) invocation: u32,
) {
  let item = (group.y * groups.x + group.x + params[0].z) * WORKGROUP + invocation;
  let tiles = params[0].w;
  let row = item / tiles;
  let tile = item % tiles;
  if (row >= params[0].x) { return; }
  let digits = params[1].y;
  let base = row * digits * tiles + tile;
  for (var d = 0u; d < digits; d++) { store_count(base + d * tiles, 0u); }
  let last = min((tile + 1u) * TILE, params[0].y);
  for (var j = tile * TILE; j < last; j++) {
    let run = base + ((key_of(load_raw(row, j)) >> params[1].x) % digits) * tiles;
    store_count(run, count_of(run) + 1u);
  }
}
