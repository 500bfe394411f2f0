// Radix sort, moving, without workgroup memory: each invocation goes backwards along one tile, and puts
// every element before the one of the same digit that it moved last. Where a run of one digit in one
// tile ends tell the counts of all tiles up to it, added up; that place is kept there.

// <interface>
const WORKGROUP = 64u;
const TILE = 4096u;
@group(0) @binding(0) var<storage, read> b0: array<u32>;
@group(0) @binding(1) var<storage, read_write> b1: array<u32>;
@group(0) @binding(2) var<storage, read_write> b2: array<u32>;
@group(0) @binding(3) var<uniform> params: array<vec4u, 2>;
fn load_raw(row: u32, j: u32) -> u32 { return b0[row * params[0].y + j]; }
fn load_place(row: u32, j: u32) -> u32 { return j; }
fn key_of(raw: u32) -> u32 { return raw; }
fn end_of(run: u32) -> u32 { return b1[run]; }
fn store_end(run: u32, end: u32) { b1[run] = end; }
fn store_raw(row: u32, at: u32, raw: u32) { b2[row * params[0].y + at] = raw; }
fn store_place(row: u32, at: u32, place: u32) {}
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
  let first = tile * TILE;
  for (var j = min(first + TILE, params[0].y); j > first; j--) {
    let raw = load_raw(row, j - 1u);
    let run = base + ((key_of(raw) >> params[1].x) % digits) * tiles;
    let end = end_of(run) - 1u;
    store_end(run, end);
    let at = end - row * params[0].y;
    store_raw(row, at, raw);
    store_place(row, at, load_place(row, j - 1u));
  }
}
