// Radix sort, moving: each workgroup stably sorts a tile of a row by one digit of the keys in
// workgroup memory, and stores the elements of each digit as a contiguous run. The end of a run is
// the sum of the counts up to it, over all tiles.

// <interface>
const WORKGROUP = 256u;
const TILE = 2048u;
@group(0) @binding(0) var<storage, read> b0: array<u32>;
@group(0) @binding(1) var<storage, read> b1: array<u32>;
@group(0) @binding(2) var<storage, read_write> b2: array<u32>;
@group(0) @binding(3) var<uniform> params: array<vec4u, 2>;
fn load_raw(row: u32, j: u32) -> u32 { return b0[row * params[0].z + j]; }
fn load_place(row: u32, j: u32) -> u32 { return j; }
fn key_of(raw: u32) -> u32 { return raw; }
fn end_of(run: u32) -> u32 { return b1[run]; }
fn store_raw(row: u32, at: u32, raw: u32) { b2[row * params[0].z + at] = raw; }
fn store_place(row: u32, at: u32, place: u32) {}
const MOVES_PLACES = false;
// </interface>

const DIGITS = 16u;
const EACH = TILE / WORKGROUP;
// Counters of 16 bits, with those of digits d and d + 8 in one word. Words of one digit are
// contiguous, one for each invocation. A gap follows every eighth word, so that invocations that read
// eight consecutive words use different banks.
const WORDS = DIGITS / 2u * WORKGROUP;
const CELLS = WORDS + WORDS / 8u;
var<workgroup> cells: array<u32, CELLS>;
var<workgroup> sums: array<u32, 2u * WORKGROUP>;
var<workgroup> starts: array<u32, DIGITS>;

fn cell_of(word: u32) -> u32 { return (word + word / 8u) % CELLS; }

@compute @workgroup_size(WORKGROUP)
fn main(
  @builtin(workgroup_id) group: vec3u,
  @builtin(num_workgroups) groups: vec3u,
  @builtin(local_invocation_index) invocation: u32,
) {
  let block = group.y * groups.x + group.x + params[0].x;
  let length = params[0].z;
  let tiles = params[0].w;
  let shift = params[1].x;
  let row = block / tiles;
  let tile = block % tiles;
  let first = tile * TILE;
  let inside = row < params[0].y;
  let held = select(0u, min(TILE, length - first), inside);

  for (var d = 0u; d < DIGITS / 2u; d++) { cells[cell_of(d * WORKGROUP + invocation)] = 0u; }
  // Each invocation counts its own eight neighbours in its own counters.
  var raws: array<u32, EACH>;
  var places: array<u32, EACH>;
  var digits: array<u32, EACH>;
  var ranks: array<u32, EACH>;
  for (var k = 0u; k < EACH; k++) {
    let at = invocation * EACH + k;
    if (at < held) {
      let raw = load_raw(row, first + at);
      let digit = (key_of(raw) >> shift) % DIGITS;
      let cell = cell_of((digit % 8u) * WORKGROUP + invocation);
      let half = (digit / 8u) * 16u;
      raws[k] = raw;
      if (MOVES_PLACES) { places[k] = load_place(row, first + at); }
      digits[k] = digit;
      ranks[k] = (cells[cell] >> half) % 65536u;
      cells[cell] += 1u << half;
    }
  }
  workgroupBarrier();

  // Add up the counters in the order of digits and invocations. First, each invocation adds up eight.
  var sum = 0u;
  for (var k = 0u; k < 8u; k++) { sum += cells[cell_of(invocation * 8u + k)]; }
  // Then scan these sums over all invocations (Hillis and Steele, Data parallel algorithms, 1986).
  sums[invocation] = sum;
  workgroupBarrier();
  var from_half = 0u;
  for (var apart = 1u; apart < WORKGROUP; apart *= 2u) {
    if (invocation >= apart) { sum += sums[(from_half + invocation - apart) % (2u * WORKGROUP)]; }
    from_half = WORKGROUP - from_half;
    sums[(from_half + invocation) % (2u * WORKGROUP)] = sum;
    workgroupBarrier();
  }
  let all = sums[(from_half + WORKGROUP - 1u) % (2u * WORKGROUP)];
  var before = 0u;
  if (invocation > 0u) { before = sums[(from_half + invocation - 1u) % (2u * WORKGROUP)]; }
  before += all << 16u;  // digits from 8 on come after all others
  for (var k = 0u; k < 8u; k++) {
    let cell = cell_of(invocation * 8u + k);
    let count = cells[cell];
    cells[cell] = before;
    before += count;
  }
  workgroupBarrier();

  // The position of each element in the sorted tile, and the target of the tile's first element of each digit.
  for (var k = 0u; k < EACH; k++) {
    let word = cells[cell_of((digits[k] % 8u) * WORKGROUP + invocation)];
    ranks[k] += (word >> ((digits[k] / 8u) * 16u)) % 65536u;
  }
  if (invocation < DIGITS && inside) {
    let word = cells[cell_of((invocation % 8u) * WORKGROUP)];
    let local = (word >> ((invocation / 8u) * 16u)) % 65536u;
    let run = (row * DIGITS + invocation) * tiles + tile;
    var begin = 0u;
    if (run > 0u) { begin = end_of(run - 1u); }
    starts[invocation] = begin - row * length - local;
  }
  workgroupBarrier();

  for (var k = 0u; k < EACH; k++) {
    if (invocation * EACH + k < held) { cells[ranks[k] % CELLS] = raws[k]; }
  }
  workgroupBarrier();
  var targets: array<u32, EACH>;
  for (var k = 0u; k < EACH; k++) {
    let at = k * WORKGROUP + invocation;
    if (at < held) {
      let raw = cells[at];
      targets[k] = starts[(key_of(raw) >> shift) % DIGITS] + at;
      store_raw(row, targets[k], raw);
    }
  }
  if (MOVES_PLACES) {
    workgroupBarrier();
    for (var k = 0u; k < EACH; k++) {
      if (invocation * EACH + k < held) { cells[ranks[k] % CELLS] = places[k]; }
    }
    workgroupBarrier();
    for (var k = 0u; k < EACH; k++) {
      let at = k * WORKGROUP + invocation;
      if (at < held) { store_place(row, targets[k], cells[at]); }
    }
  }
}
