// Running folds by tiles: `LANES` invocations share a row, and a workgroup holds `ROWS` of them. They
// load `LANES` neighbours of one or four elements at a time, four times, fold their own elements, and
// exchange the results: a tree over the lanes for all four at once, then the four one after the other.
// A row may be cut into slices of several tiles, each with a workgroup of its own; what the slices
// before fold to is then computed by other kernels, and a workgroup goes on from there.

// <interface>
const WORKGROUP = 256u;
const LANES = 4u;
const ROWS = 64u;
@group(0) @binding(0) var<storage, read> b0: array<f32>;
@group(0) @binding(1) var<storage, read_write> b1: array<f32>;
@group(0) @binding(2) var<uniform> params: array<vec4u, 2>;
fn combine(x: f32, y: f32) -> f32 { return x + y; }
fn element(v0: f32) -> f32 { return v0; }
var<workgroup> shared_sums: array<vec4<f32>, 512>;
// </interface>

@compute @workgroup_size(WORKGROUP)
fn main(
  @builtin(workgroup_id) group: vec3u,
  @builtin(num_workgroups) groups: vec3u,
  @builtin(local_invocation_index) invocation: u32,
) {
  let block = group.y * groups.x + group.x + params[1].x;
  let slices = params[0].y;
  let slice = block % slices;
  let lane = invocation % LANES;
  let row = (block / slices) * ROWS + invocation / LANES;
  let first = slice * params[0].z;
  let last = min(first + params[0].z, params[0].w);
  let inside = row < params[0].x;
  // <start>
  let none = bitcast<f32>(params[1].y);
  var carry0 = none;
  // </start>
  for (var tile = first; tile < last; tile += 4u * LANES) {
    // <load>
    let at = row * params[0].w + tile + lane;
    var x0 = none;
    var x1 = none;
    var x2 = none;
    var x3 = none;
    if (inside && tile + lane < last) { x0 = element(b0[at]); }
    if (inside && tile + lane + LANES < last) { x1 = element(b0[at + LANES]); }
    if (inside && tile + lane + 2u * LANES < last) { x2 = element(b0[at + 2u * LANES]); }
    if (inside && tile + lane + 3u * LANES < last) { x3 = element(b0[at + 3u * LANES]); }
    // </load>
    // <share>
    var sums = vec4<f32>(x0, x1, x2, x3);
    shared_sums[invocation] = sums;
    workgroupBarrier();
    if (lane >= 1u) { sums = shared_sums[(invocation + 511u) % 512u] + sums; }
    shared_sums[invocation + 256u] = sums;
    workgroupBarrier();
    if (lane >= 2u) { sums = shared_sums[(invocation + 254u) % 512u] + sums; }
    shared_sums[invocation] = sums;
    workgroupBarrier();
    var before = vec4<f32>(none);
    if (lane >= 1u) { before = shared_sums[(invocation + 511u) % 512u]; }
    let all = shared_sums[invocation - lane + LANES - 1u];
    // </share>
    // <place>
    let round1 = all.x;
    let round2 = combine(round1, all.y);
    let round3 = combine(round2, all.z);
    let prefix0 = combine(carry0, before.x);
    let prefix1 = combine(carry0, combine(round1, before.y));
    let prefix2 = combine(carry0, combine(round2, before.z));
    let prefix3 = combine(carry0, combine(round3, before.w));
    carry0 = combine(carry0, combine(round3, all.w));
    // </place>
    // <store>
    if (inside && tile + lane < last) { b1[at] = combine(prefix0, x0); }
    if (inside && tile + lane + LANES < last) { b1[at + LANES] = combine(prefix1, x1); }
    if (inside && tile + lane + 2u * LANES < last) { b1[at + 2u * LANES] = combine(prefix2, x2); }
    if (inside && tile + lane + 3u * LANES < last) { b1[at + 3u * LANES] = combine(prefix3, x3); }
    // </store>
    workgroupBarrier();
  }
}
