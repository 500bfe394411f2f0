// Sorting short rows, each by one invocation that puts its elements in place one after the other, by
// their order keys. For adapters on which a barrier costs more than that.

// <interface>
const WORKGROUP = 64u;
@group(0) @binding(0) var<storage, read> b0: array<u32>;
@group(0) @binding(1) var<storage, read_write> b1: array<u32>;
@group(0) @binding(2) var<uniform> params: array<vec4u, 1>;
fn load_raw(row: u32, j: u32) -> u32 { return b0[row * params[0].y + j]; }
fn key_of(raw: u32) -> u32 { return raw; }
fn store_result(row: u32, at: u32, raw: u32, place: u32) { b1[row * params[0].y + at] = raw; }
// </interface>

const LONGEST = 32u;

@compute @workgroup_size(WORKGROUP)
fn main(
  @builtin(workgroup_id) group: vec3u,
  @builtin(num_workgroups) groups: vec3u,
  @builtin(local_invocation_index) invocation: u32,
) {
  let row = (group.y * groups.x + group.x + params[0].z) * WORKGROUP + invocation;
  let length = min(params[0].y, LONGEST);
  if (row >= params[0].x) { return; }
  var keys: array<u32, LONGEST>;
  var places: array<u32, LONGEST>;
  for (var j = 0u; j < length; j++) {
    let key = key_of(load_raw(row, j));
    var at = j;
    while (at > 0u) {
      if (keys[at - 1u] <= key) { break; }
      keys[at] = keys[at - 1u];
      places[at] = places[at - 1u];
      at--;
    }
    keys[at] = key;
    places[at] = j;
  }
  for (var at = 0u; at < length; at++) {
    let place = places[at];
    store_result(row, at, load_raw(row, place), place);
  }
}
