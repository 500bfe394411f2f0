/**
 * What this machine's GPU can do through WebGPU, for the benchmarks to be measured by: the bandwidth of a
 * plain copy, and the rate of float32 multiply-adds. Both kernels read their operands from memory and
 * store all that they compute, and the results are checked, so no compiler can leave anything out.
 */

/** @typedef {typeof import("../../../web/bridge/waiting.js")} Waiting */

/**
 * @typedef {object} Probed
 * @property {"GB/s" | "GFLOP/s"} unit
 * @property {number} work bytes read and written, or multiplications and additions, of one dispatch
 * @property {number} dispatches in each sample
 * @property {number[]} seconds for one dispatch, in each sample
 */

const WORKGROUP = 256;
const SAMPLES = 7;

/** Sizes that a GPU and a software adapter take some milliseconds for. */
const ON_HARDWARE = { copied: 2 ** 28, copies: 100, invocations: 2 ** 20, turns: 256, runs: 20 };
const ON_SOFTWARE = { copied: 2 ** 26, copies: 4, invocations: 2 ** 14, turns: 64, runs: 2 };

const COPY = /* wgsl */ `
@group(0) @binding(0) var<storage, read> source: array<vec4f>;
@group(0) @binding(1) var<storage, read_write> target_: array<vec4f>;

@compute @workgroup_size(${WORKGROUP})
fn copy(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) groups: vec3u) {
  let i = id.y * groups.x * ${WORKGROUP}u + id.x;
  if (i < arrayLength(&source)) {
    target_[i] = source[i];
  }
}`;

/** Independent chains of four numbers in each invocation: enough to hide the time of an instruction. */
const CHAINS = 8;
/** Steps of each chain in a turn of the loop, so that the loop itself costs little. */
const UNROLLED = 8;
const chains = Array.from({ length: CHAINS }, (_, n) => n);

const MULTIPLY_ADD = /* wgsl */ `
struct Params { turns: u32, factor: f32, term: f32 }
@group(0) @binding(0) var<storage, read> params: Params;
@group(0) @binding(1) var<storage, read_write> results: array<vec4f>;

@compute @workgroup_size(${WORKGROUP})
fn multiply_add(@builtin(global_invocation_id) id: vec3u) {
  let factor = vec4f(params.factor);
  let term = vec4f(params.term);
  let first = vec4f(f32(id.x & 1023u)) + vec4f(0, 1, 2, 3);
  ${chains.map((n) => `var chain${n} = first + ${n};`).join("\n  ")}
  for (var turn = 0u; turn < params.turns; turn++) {
    ${Array.from({ length: UNROLLED }, () => chains.map((n) => `chain${n} = fma(chain${n}, factor, term);`).join(" ")).join("\n    ")}
  }
  ${chains.map((n) => `results[id.x * ${CHAINS} + ${n}] = chain${n};`).join("\n  ")}
}`;

/** @param {{ software: boolean }} options @returns {Promise<{ copy: Probed, multiplyAdd: Probed }>} */
export async function probe({ software }) {
  const adapter = await navigator.gpu.requestAdapter({ powerPreference: "high-performance" });
  if (!adapter) throw new Error("no WebGPU adapter");
  const { maxBufferSize, maxStorageBufferBindingSize } = adapter.limits;
  const device = await adapter.requestDevice({ requiredLimits: { maxBufferSize, maxStorageBufferBindingSize } });
  try {
    const bench = new Bench(device, software, await import(new URL("bridge/waiting.js", location.href).href));
    const sizes = software ? ON_SOFTWARE : ON_HARDWARE;
    const bytes = Math.min(sizes.copied, maxStorageBufferBindingSize);
    const copy = await probeCopy(bench, bytes, sizes.copies);
    return { copy, multiplyAdd: await probeMultiplyAdd(bench, sizes.invocations, sizes.turns, sizes.runs) };
  } finally {
    device.destroy();
  }
}

/**
 * @param {Bench} bench
 * @param {number} bytes
 * @param {number} dispatches
 * @returns {Promise<Probed>}
 */
async function probeCopy(bench, bytes, dispatches) {
  const source = bench.buffer(bytes);
  const target = bench.buffer(bytes);
  const numbers = new Float32Array(2 ** 20).map((_, i) => i);
  for (let at = 0; at < bytes; at += numbers.byteLength) bench.device.queue.writeBuffer(source, at, numbers);
  const groups = bytes / 16 / WORKGROUP;
  const wide = Math.min(groups, 2 ** 15);
  const seconds = await bench.time(COPY, [source, target], [wide, Math.ceil(groups / wide)], dispatches);
  const last = await bench.read(target, bytes - numbers.byteLength, numbers.byteLength);
  if (last.some((x, i) => x !== i)) throw new Error("the copy is wrong");
  return { unit: "GB/s", work: 2 * bytes, dispatches, seconds };
}

/**
 * @param {Bench} bench
 * @param {number} invocations
 * @param {number} turns of the loop in each
 * @param {number} dispatches
 * @returns {Promise<Probed>}
 */
async function probeMultiplyAdd(bench, invocations, turns, dispatches) {
  const [factor, term] = [1 - 2 ** -10, 0.25]; // float32 holds them exactly; the limit is far away
  const params = bench.buffer(16);
  const results = bench.buffer(invocations * CHAINS * 16);
  const values = new DataView(new ArrayBuffer(16));
  values.setUint32(0, turns, true);
  values.setFloat32(4, factor, true);
  values.setFloat32(8, term, true);
  bench.device.queue.writeBuffer(params, 0, values);
  const seconds = await bench.time(MULTIPLY_ADD, [params, results], [invocations / WORKGROUP, 1], dispatches);
  const steps = turns * UNROLLED;
  const got = await bench.read(results, 0, 4096);
  const limit = term / (1 - factor);
  const isWrong = got.some((x, i) => {
    const lane = i % 4;
    const chain = Math.floor(i / 4) % CHAINS;
    const start = (Math.floor(i / 4 / CHAINS) % 1024) + lane + chain;
    return !(Math.abs(x - (limit + (start - limit) * factor ** steps)) < 1e-3 * limit);
  });
  if (isWrong) throw new Error("the multiply-adds are wrong");
  return { unit: "GFLOP/s", work: invocations * CHAINS * 4 * steps * 2, dispatches, seconds };
}

class Bench {
  /**
   * @param {GPUDevice} device
   * @param {boolean} software
   * @param {Waiting} waiting
   */
  constructor(device, software, { Waiter, scheduleFor }) {
    this.device = device;
    this.waiter = new Waiter(
      () => device.queue.submit([]),
      () => scheduleFor(software),
    );
  }

  /** @param {number} size */
  buffer(size) {
    const usage = GPUBufferUsage.STORAGE | GPUBufferUsage.COPY_DST | GPUBufferUsage.COPY_SRC;
    return this.device.createBuffer({ size, usage });
  }

  /**
   * Times a kernel: seconds for one dispatch, of so many in one submit.
   *
   * @param {string} code
   * @param {GPUBuffer[]} buffers
   * @param {[number, number]} groups
   * @param {number} dispatches
   */
  async time(code, buffers, groups, dispatches) {
    const module = this.device.createShaderModule({ code });
    const pipeline = await this.device.createComputePipelineAsync({ layout: "auto", compute: { module } });
    const entries = buffers.map((buffer, binding) => ({ binding, resource: { buffer } }));
    const group = this.device.createBindGroup({ layout: pipeline.getBindGroupLayout(0), entries });
    const seconds = [];
    for (let i = -2; i < SAMPLES; i++) {
      const started = performance.now();
      const encoder = this.device.createCommandEncoder();
      const pass = encoder.beginComputePass();
      pass.setPipeline(pipeline);
      pass.setBindGroup(0, group);
      for (let n = 0; n < dispatches; n++) pass.dispatchWorkgroups(...groups);
      pass.end();
      this.device.queue.submit([encoder.finish()]);
      await this.waiter.wait(this.device.queue.onSubmittedWorkDone());
      if (i >= 0) seconds.push((performance.now() - started) / 1000 / dispatches); // the first two warm up
    }
    return seconds;
  }

  /**
   * @param {GPUBuffer} buffer
   * @param {number} offset
   * @param {number} size
   */
  async read(buffer, offset, size) {
    const staging = this.device.createBuffer({ size, usage: GPUBufferUsage.MAP_READ | GPUBufferUsage.COPY_DST });
    const encoder = this.device.createCommandEncoder();
    encoder.copyBufferToBuffer(buffer, offset, staging, 0, size);
    this.device.queue.submit([encoder.finish()]);
    await staging.mapAsync(GPUMapMode.READ);
    return new Float32Array(staging.getMappedRange());
  }
}
