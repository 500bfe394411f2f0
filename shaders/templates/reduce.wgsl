// Reduction: `lanes` invocations share a row, and a workgroup holds `group_rows` rows (or groups of
// neighbouring rows). Each invocation folds its part of the row, then the lanes are folded in
// workgroup memory, and lane 0 computes and stores the outputs. If rows are cut into slices, which
// belong to different workgroups, the accumulators are stored instead, and a second kernel folds them.

// <interface>
const WORKGROUP = 256u;
@group(0) @binding(0) var<storage, read> b0: array<f32>;
@group(0) @binding(1) var<storage, read_write> b1: array<u32>;
@group(0) @binding(2) var<uniform> params: array<vec4u, 4>;
struct Acc { p0: f32 }
fn identity() -> Acc { return Acc(bitcast<f32>(params[2].z)); }
fn combine(x: Acc, y: Acc) -> Acc { return Acc(x.p0 + y.p0); }
fn element(v0: f32) -> Acc { return Acc(v0); }
fn finish(a0: f32) -> u32 { return bitcast<u32>(a0); }
var<workgroup> shared_accs: array<Acc, 256>;
// </interface>

@compute @workgroup_size(WORKGROUP)
fn main(
  @builtin(workgroup_id) group: vec3u,
  @builtin(num_workgroups) groups: vec3u,
  @builtin(local_invocation_index) invocation: u32,
) {
  let block = group.y * groups.x + group.x + params[0].x;
  let rows = params[0].y;
  let slices = params[0].z;
  let lanes = params[1].y;
  let group_rows = params[1].z;
  let apart = params[1].w;  // invocations from one lane of a row to the next
  let lane = (invocation >> params[2].x) & (lanes - 1u);
  let local_row = (invocation >> params[2].y) & (group_rows - 1u);
  let slice = block % slices;
  let row = (block / slices) * group_rows + local_row;
  // <start>
  var acc0 = identity();
  // </start>
  if (row < rows) {
    let first = slice * params[0].w;
    let last = min(first + params[0].w, params[1].x);
    // <fold>
    let base = row * params[2].w;
    for (var j = first + lane; j < last; j += lanes) {
      acc0 = combine(acc0, element(b0[base + j]));
    }
    // </fold>
  }
  // <share>
  shared_accs[invocation] = acc0;
  for (var half = lanes / 2u; half > 0u; half /= 2u) {
    workgroupBarrier();
    if (lane < half) {
      acc0 = combine(acc0, shared_accs[invocation + half * apart]);
      shared_accs[invocation] = acc0;
    }
  }
  // </share>
  if (lane == 0u && row < rows) {
    // <finish>
    if (slices > 1u) {
      b1[slice * params[3].x + row] = bitcast<u32>(acc0.p0);
    } else {
      b1[row] = finish(acc0.p0);
    }
    // </finish>
  }
}
