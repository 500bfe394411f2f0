// Sort rows of up to `TILE` elements in workgroup memory (Batcher's bitonic sort). A workgroup holds
// as many rows as fit, each padded to a power of two, `width`. Equal keys are ordered by their
// positions, which makes the sort stable and puts the padding last.

// <interface>
const WORKGROUP = 256u;
@group(0) @binding(0) var<storage, read> b0: array<u32>;
@group(0) @binding(1) var<storage, read_write> b1: array<u32>;
@group(0) @binding(2) var<uniform> params: array<vec4u, 1>;
fn load_raw(row: u32, j: u32) -> u32 { return b0[row * params[0].z + j]; }
fn key_of(raw: u32) -> u32 { return raw; }
fn store_result(row: u32, at: u32, raw: u32, place: u32) { b1[row * params[0].z + at] = raw; }
// </interface>

const TILE = 4u * WORKGROUP;
var<workgroup> keys: array<u32, TILE>;
var<workgroup> places: array<u32, TILE>;

@compute @workgroup_size(WORKGROUP)
fn main(
  @builtin(workgroup_id) group: vec3u,
  @builtin(num_workgroups) groups: vec3u,
  @builtin(local_invocation_index) invocation: u32,
) {
  let block = group.y * groups.x + group.x + params[0].x;
  let rows = params[0].y;
  let length = params[0].z;
  let width = params[0].w;
  let first = block * (TILE / width);
  for (var k = 0u; k < 4u; k++) {
    let slot = k * WORKGROUP + invocation;
    let row = first + slot / width;
    let j = slot % width;
    var key = 0xffffffffu;
    if (row < rows && j < length) { key = key_of(load_raw(row, j)); }
    keys[slot] = key;
    places[slot] = j;
  }
  workgroupBarrier();
  for (var size = 2u; size <= width; size *= 2u) {
    for (var apart = size / 2u; apart > 0u; apart /= 2u) {
      for (var k = 0u; k < 2u; k++) {
        let pair = k * WORKGROUP + invocation;
        let low = ((pair / apart) * 2u * apart + pair % apart) % TILE;
        let high = (low + apart) % TILE;
        let key_low = keys[low];
        let key_high = keys[high];
        let place_low = places[low];
        let place_high = places[high];
        let above = key_low > key_high || (key_low == key_high && place_low > place_high);
        let rising = ((low % width) & size) == 0u;
        if (above == rising) {
          keys[low] = key_high;
          keys[high] = key_low;
          places[low] = place_high;
          places[high] = place_low;
        }
      }
      workgroupBarrier();
    }
  }
  for (var k = 0u; k < 4u; k++) {
    let slot = k * WORKGROUP + invocation;
    let row = first + slot / width;
    let at = slot % width;
    if (row < rows && at < length) {
      let place = places[slot];
      store_result(row, at, load_raw(row, place), place);
    }
  }
}
