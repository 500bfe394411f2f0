// Rows: kernels that pass over the same rows several times. `lanes` invocations share a row, and a
// workgroup holds `group_rows` rows. Each stage folds the row and passes its result to every lane, for
// later stages and for the outputs. The row is loaded from memory once, then from the cache.

// <interface>
const WORKGROUP = 256u;
@group(0) @binding(0) var<storage, read> b0: array<f32>;
@group(0) @binding(1) var<storage, read_write> b1: array<f32>;
@group(0) @binding(2) var<uniform> params: array<vec4u, 3>;
struct Acc0 { p0: f32 }
fn identity0() -> Acc0 { return Acc0(bitcast<f32>(params[2].x)); }
fn combine0(x: Acc0, y: Acc0) -> Acc0 { return Acc0(x.p0 + y.p0); }
fn element0(v0: f32) -> Acc0 { return Acc0(v0); }
fn spread(v0: f32, v1: f32) -> f32 { return v0 / v1; }
var<workgroup> shared_accs0: array<Acc0, 256>;
// </interface>

@compute @workgroup_size(WORKGROUP)
fn main(
  @builtin(workgroup_id) group: vec3u,
  @builtin(num_workgroups) groups: vec3u,
  @builtin(local_invocation_index) invocation: u32,
) {
  let block = group.y * groups.x + group.x + params[0].x;
  let rows = params[0].y;
  let lanes = params[0].w;
  let group_rows = params[1].x;
  let apart = params[1].y;  // invocations from one lane of a row to the next
  let lane = (invocation >> params[1].z) & (lanes - 1u);
  let local_row = (invocation >> params[1].w) & (group_rows - 1u);
  let row = block * group_rows + local_row;
  let first = 0u;
  let last = params[0].z;
  // <stages>
  var acc00 = identity0();
  if (row < rows) {
    for (var at = first + lane; at < last; at += lanes) {
      acc00 = combine0(acc00, element0(b0[row * last + at]));
    }
  }
  shared_accs0[invocation] = acc00;
  workgroupBarrier();
  for (var other = 1u; other < lanes; other++) {
    acc00 = combine0(acc00, shared_accs0[invocation - lane + (lane + other) % lanes]);
  }
  let t0 = acc00.p0;
  // </stages>
  if (row < rows) {
    // <spread>
    for (var j = lane; j < last; j += lanes) {
      b1[row * last + j] = spread(b0[row * last + j], t0);
    }
    // </spread>
  }
}
