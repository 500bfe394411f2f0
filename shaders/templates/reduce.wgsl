// Reduction: `LANES` invocations share a row of the kept dimensions, and a workgroup holds `ROWS`
// such rows (or groups of `WIDTH` neighbouring rows). Each invocation folds its part of the row,
// then the lanes are folded in workgroup memory, and lane 0 finishes the row. A row may be cut
// into slices, each with a workgroup of its own; a second kernel then folds the slices.

// <interface>
const WORKGROUP = 256u;
const LANES = 8u;
const ROWS = 32u;
@group(0) @binding(0) var<storage, read> b0: array<f32>;
@group(0) @binding(1) var<storage, read_write> b1: array<f32>;
@group(0) @binding(2) var<uniform> params: array<vec4u, 3>;
struct Acc { p0: f32 }
fn identity() -> Acc { return Acc(bitcast<f32>(params[1].y)); }
fn combine(x: Acc, y: Acc) -> Acc { return Acc(x.p0 + y.p0); }
fn element(v0: f32) -> Acc { return Acc(v0); }
fn finish(a0: f32) -> f32 { return a0; }
var<workgroup> shared_accs: array<Acc, 256>;
// </interface>

@compute @workgroup_size(WORKGROUP)
fn main(
  @builtin(workgroup_id) group: vec3u,
  @builtin(num_workgroups) groups: vec3u,
  @builtin(local_invocation_index) invocation: u32,
) {
  let block = group.y * groups.x + group.x + params[1].x;
  let rows = params[0].x;
  let slices = params[0].y;
  let slice = block % slices;
  // <place>
  let lane = invocation % LANES;
  let local_row = invocation / LANES;
  // </place>
  let row = (block / slices) * ROWS + local_row;
  // <start>
  var acc0 = identity();
  // </start>
  if (row < rows) {
    let first = slice * params[0].z;
    let last = min(first + params[0].z, params[0].w);
    // <fold>
    let base = row * params[1].z;
    for (var j = first + lane; j < last; j += LANES) {
      acc0 = combine(acc0, element(b0[base + j]));
    }
    // </fold>
  }
  // <share>
  shared_accs[invocation] = acc0;
  workgroupBarrier();
  if (lane < 4u) { shared_accs[invocation] = combine(shared_accs[invocation], shared_accs[(invocation + 4u) % 256u]); }
  workgroupBarrier();
  if (lane < 2u) { shared_accs[invocation] = combine(shared_accs[invocation], shared_accs[(invocation + 2u) % 256u]); }
  workgroupBarrier();
  if (lane < 1u) { shared_accs[invocation] = combine(shared_accs[invocation], shared_accs[(invocation + 1u) % 256u]); }
  acc0 = shared_accs[invocation];
  // </share>
  if (lane == 0u && row < rows) {
    // <finish>
    b1[row] = finish(acc0.p0);
    // </finish>
  }
}
