// Scan by tiles: `lanes` = 2 to the power `row_at` invocations share a row. In a tile, each of them
// makes four loads of one or four elements, with neighbouring lanes side by side. It scans its own
// elements of each load. Then the results are scanned over the lanes, for all four loads at once, and
// then over the four loads. If rows are cut into slices of several tiles, other kernels have computed
// the fold of all earlier slices, and a workgroup starts from that value.

// <interface>
const WORKGROUP = 256u;
@group(0) @binding(0) var<storage, read> b0: array<f32>;
@group(0) @binding(1) var<storage, read_write> b1: array<f32>;
@group(0) @binding(2) var<storage, read> b2: array<f32>;
@group(0) @binding(3) var<uniform> params: array<vec4u, 3>;
fn combine(x: f32, y: f32) -> f32 { return x + y; }
fn element(v0: f32) -> f32 { return v0; }
alias Four = vec4<f32>;
// </interface>

var<workgroup> shared_sums: array<Four, 2u * WORKGROUP>;

@compute @workgroup_size(WORKGROUP)
fn main(
  @builtin(workgroup_id) group: vec3u,
  @builtin(num_workgroups) groups: vec3u,
  @builtin(local_invocation_index) invocation: u32,
) {
  let block = group.y * groups.x + group.x + params[0].x;
  let slices = params[0].z;
  let slice = block % slices;
  let lanes = params[1].y;
  let row_at = params[1].z;
  let lane = invocation & (lanes - 1u);
  let row = (block / slices) * (WORKGROUP >> row_at) + (invocation >> row_at);
  let first = slice * params[0].w;
  let last = min(first + params[0].w, params[1].x);
  let inside = row < params[0].y;
  // <start>
  let none = bitcast<f32>(params[1].w);
  var acc0 = none;
  if (slice > 0u) { acc0 = b2[(slice - 1u) * params[2].x + row]; }
  // </start>
  for (var tile = first; tile < last; tile += 4u * lanes) {
    // <load>
    let at = row * params[1].x + tile + lane;
    var x0 = none;
    var x1 = none;
    var x2 = none;
    var x3 = none;
    if (inside && tile + lane < last) { x0 = element(b0[at]); }
    if (inside && tile + lane + lanes < last) { x1 = element(b0[at + lanes]); }
    if (inside && tile + lane + 2u * lanes < last) { x2 = element(b0[at + 2u * lanes]); }
    if (inside && tile + lane + 3u * lanes < last) { x3 = element(b0[at + 3u * lanes]); }
    var sums = Four(x0, x1, x2, x3);
    // </load>
    // Scan over the lanes, with steps 1, 2, 4, ... (Hillis and Steele, Data parallel algorithms, 1986).
    shared_sums[invocation] = sums;
    workgroupBarrier();
    var half = 0u;  // the start of the newest sums in `shared_sums`
    for (var apart = 1u; apart < lanes; apart *= 2u) {
      if (lane >= apart) {
        let far = shared_sums[(invocation + half + 2u * WORKGROUP - apart) % (2u * WORKGROUP)];
        sums = Four(combine(far.x, sums.x), combine(far.y, sums.y), combine(far.z, sums.z), combine(far.w, sums.w));
      }
      half = WORKGROUP - half;
      shared_sums[invocation + half] = sums;
      workgroupBarrier();
    }
    var before = Four(none, none, none, none);
    if (lane >= 1u) { before = shared_sums[invocation + half - 1u]; }
    let all = shared_sums[invocation - lane + half + lanes - 1u];
    // The start value of each of the four loads, and of the next tile.
    let round1 = all.x;
    let round2 = combine(round1, all.y);
    let round3 = combine(round2, all.z);
    let prefix0 = combine(acc0, before.x);
    let prefix1 = combine(acc0, combine(round1, before.y));
    let prefix2 = combine(acc0, combine(round2, before.z));
    let prefix3 = combine(acc0, combine(round3, before.w));
    acc0 = combine(acc0, combine(round3, all.w));
    // <store>
    if (inside && tile + lane < last) { b1[at] = combine(prefix0, x0); }
    if (inside && tile + lane + lanes < last) { b1[at + lanes] = combine(prefix1, x1); }
    if (inside && tile + lane + 2u * lanes < last) { b1[at + 2u * lanes] = combine(prefix2, x2); }
    if (inside && tile + lane + 3u * lanes < last) { b1[at + 3u * lanes] = combine(prefix3, x3); }
    // </store>
    workgroupBarrier();
  }
}
