/**
 * The limits of this machine's GPU through WebGPU, to which the benchmarks are compared: the bandwidth of a plain copy,
 * the rate of float32 multiply-adds, and the time until a number computed by small kernels is available in JavaScript.
 * The kernels read their operands from memory and store all results, and the results are checked, so a compiler cannot
 * leave anything out. Each probe starts small and doubles its work until a sample takes long enough, so that it suits a
 * GPU of any size.
 */

import { scheduleFor, Waiter } from "../../bridge/waiting.js";

/**
 * @typedef {object} Probed
 * @property {"GB/s" | "GFLOP/s"} unit
 * @property {number} work bytes read and written, or multiplications and additions, of one dispatch
 * @property {number} dispatches per sample
 * @property {number[]} seconds for one dispatch, in each sample
 */

const WORKGROUP = 256;
const SAMPLES = 7;
/** The fewest samples, taken even if the budget is exceeded. */
const FEWEST = 3;
/** The least time of a sample. */
const SAMPLE_SECONDS = 0.02;
/** The time budget of a probe: after it, work is no longer doubled and no optional sample begins. */
const BUDGET_SECONDS = 2;

/** Bytes: smaller copies may stay in a cache, and larger ones are not faster. */
const COPIED = { first: 2 ** 22, least: 2 ** 25, most: 2 ** 28 };
/** The largest number fills the largest GPU. */
const INVOCATIONS = { first: 2 ** 10, most: 2 ** 20 };
/** Passes of the loop in each invocation. */
const TURNS = 64;
const MAX_DISPATCHES = 2 ** 10;

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

/** Independent chains of four numbers in each invocation: enough to hide the latency of an instruction. */
const CHAINS = 8;
/** Steps of each chain in a pass of the loop, so that the loop itself costs little. */
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

/** Adds one to sixteen numbers: a minimal dispatch. */
const INCREMENT = /* wgsl */ `
@group(0) @binding(0) var<storage, read_write> numbers: array<f32>;

@compute @workgroup_size(16)
fn increment(@builtin(global_invocation_id) id: vec3u) {
  numbers[id.x] += 1;
}`;

/** The names of the probes in messages. @type {Record<string, string>} */
const NAMES = {
  copy: "the copy",
  multiplyAdd: "the multiply-adds",
  readOfOne: "the read of a number",
  readOfHundred: "the read after 100 kernels",
};

/** The numbers of dispatches before a read. */
const FEW = 1;
const MANY = 100;

/**
 * @typedef {object} Reads
 * @property {number[]} seconds from the call to the number, on average, in each sample
 */

/**
 * The limits for the kernels of any library. A limit that could not be measured is missing, and `problem` says why.
 *
 * @typedef {{ copy?: Probed, multiplyAdd?: Probed, readOfOne?: Reads, readOfHundred?: Reads, problem?: string }} Limits
 */

/**
 * @param {{ software: boolean }} options
 * @returns {Promise<Limits>}
 */
export async function probeLimits({ software }) {
  /** @type {Limits} */
  const limits = {};
  /** @type {Record<string, (bench: Bench) => Promise<Probed | Reads>>} */
  const probes = {
    copy: probeCopy,
    multiplyAdd: probeMultiplyAdd,
    readOfOne: (bench) => probeRead(bench, FEW),
    readOfHundred: (bench) => probeRead(bench, MANY),
  };
  for (const [name, probe] of Object.entries(probes)) {
    try {
      Object.assign(limits, { [name]: await onDevice(software, probe) });
    } catch (error) {
      limits.problem ??= `${NAMES[name]}: ${error instanceof Error ? error.message : error}`;
    }
  }
  return limits;
}

/**
 * @template T
 * @param {boolean} software
 * @param {(bench: Bench) => Promise<T>} work
 * @returns {Promise<T>}
 */
async function onDevice(software, work) {
  const adapter = await navigator.gpu.requestAdapter({ powerPreference: "high-performance" });
  if (!adapter) throw new Error("no WebGPU adapter");
  const { maxBufferSize, maxStorageBufferBindingSize } = adapter.limits;
  const device = await adapter.requestDevice({ requiredLimits: { maxBufferSize, maxStorageBufferBindingSize } });
  try {
    return await work(new Bench(device, software));
  } finally {
    device.destroy();
  }
}

/**
 * @param {Bench} bench
 * @returns {Promise<Probed>}
 */
async function probeCopy(bench) {
  const most = Math.min(COPIED.most, bench.device.limits.maxStorageBufferBindingSize);
  const numbers = new Float32Array(2 ** 20).map((_, i) => i);
  let bytes = COPIED.first;
  for (;;) {
    const source = bench.buffer(bytes);
    const target = bench.buffer(bytes);
    for (let at = 0; at < bytes; at += numbers.byteLength) bench.device.queue.writeBuffer(source, at, numbers);
    const groups = bytes / 16 / WORKGROUP;
    const wide = Math.min(groups, 2 ** 15);
    const timing = await bench.timing(COPY, [source, target], [wide, Math.ceil(groups / wide)]);
    const isEnough = timing.seconds >= SAMPLE_SECONDS && bytes >= COPIED.least;
    if (isEnough || 2 * bytes > most || !bench.leaves(8 * timing.seconds)) {
      const timed = await timing.samples();
      const last = await bench.read(target, bytes - numbers.byteLength, numbers.byteLength);
      if (last.some((x, i) => x !== i)) throw new Error("a wrong result");
      return { unit: "GB/s", work: 2 * bytes, ...timed };
    }
    source.destroy();
    target.destroy();
    bytes *= 2;
  }
}

/**
 * @param {Bench} bench
 * @returns {Promise<Probed>}
 */
async function probeMultiplyAdd(bench) {
  const [factor, term] = [1 - 2 ** -10, 0.25]; // exact in float32; the chains converge slowly to a limit
  const params = bench.buffer(16);
  const values = new DataView(new ArrayBuffer(16));
  values.setUint32(0, TURNS, true);
  values.setFloat32(4, factor, true);
  values.setFloat32(8, term, true);
  bench.device.queue.writeBuffer(params, 0, values);
  const steps = TURNS * UNROLLED;
  let invocations = INVOCATIONS.first;
  for (;;) {
    const results = bench.buffer(invocations * CHAINS * 16);
    const timing = await bench.timing(MULTIPLY_ADD, [params, results], [invocations / WORKGROUP, 1]);
    if (timing.seconds >= SAMPLE_SECONDS || 2 * invocations > INVOCATIONS.most || !bench.leaves(8 * timing.seconds)) {
      const timed = await timing.samples();
      const limit = term / (1 - factor);
      const isWrong = (await bench.read(results, 0, 4096)).some((x, i) => {
        const lane = i % 4;
        const chain = Math.floor(i / 4) % CHAINS;
        const start = (Math.floor(i / 4 / CHAINS) % 1024) + lane + chain;
        return !(Math.abs(x - (limit + (start - limit) * factor ** steps)) < 1e-3 * limit);
      });
      if (isWrong) throw new Error("a wrong result");
      return { unit: "GFLOP/s", work: invocations * CHAINS * 4 * steps * 2, ...timed };
    }
    results.destroy();
    invocations *= 2;
  }
}

/**
 * The time from the call to a number that depends on `dispatches` dispatches in sequence: one pass, one submit with the
 * copy, and the mapping. No library can be faster.
 *
 * @param {Bench} bench
 * @param {number} dispatches
 * @returns {Promise<Reads>}
 */
async function probeRead(bench, dispatches) {
  const { device } = bench;
  const numbers = bench.buffer(64);
  const staging = device.createBuffer({ size: 4, usage: GPUBufferUsage.MAP_READ | GPUBufferUsage.COPY_DST });
  const { pipeline, group } = await bench.pipeline(INCREMENT, [numbers]);
  let expected = 0;
  const call = async () => {
    const encoder = device.createCommandEncoder();
    const pass = encoder.beginComputePass();
    pass.setPipeline(pipeline);
    pass.setBindGroup(0, group);
    for (let n = 0; n < dispatches; n++) pass.dispatchWorkgroups(1);
    pass.end();
    encoder.copyBufferToBuffer(numbers, 0, staging, 0, 4);
    device.queue.submit([encoder.finish()]);
    await bench.waiter.wait(staging.mapAsync(GPUMapMode.READ));
    expected += dispatches;
    const [got] = new Float32Array(staging.getMappedRange());
    if (got !== expected) throw new Error(`${got} instead of ${expected}`);
    staging.unmap();
  };
  const calls = async (/** @type {number} */ count) => {
    for (let i = 0; i < count; i++) await call();
  };
  await calls(2); // warms up
  const { seconds } = await bench.samples(calls, await secondsOf(() => calls(1)));
  return { seconds };
}

class Bench {
  /**
   * @param {GPUDevice} device
   * @param {boolean} software
   */
  constructor(device, software) {
    this.device = device;
    this.begun = performance.now();
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
   * @param {string} code
   * @param {GPUBuffer[]} buffers
   */
  async pipeline(code, buffers) {
    const module = this.device.createShaderModule({ code });
    const pipeline = await this.device.createComputePipelineAsync({ layout: "auto", compute: { module } });
    const entries = buffers.map((buffer, binding) => ({ binding, resource: { buffer } }));
    return { pipeline, group: this.device.createBindGroup({ layout: pipeline.getBindGroupLayout(0), entries }) };
  }

  /**
   * A kernel to be timed: the seconds of one dispatch so far, and a function that takes samples.
   *
   * @param {string} code
   * @param {GPUBuffer[]} buffers
   * @param {[number, number]} groups
   */
  async timing(code, buffers, groups) {
    const { pipeline, group } = await this.pipeline(code, buffers);
    const run = async (/** @type {number} */ dispatches) => {
      const encoder = this.device.createCommandEncoder();
      const pass = encoder.beginComputePass();
      pass.setPipeline(pipeline);
      pass.setBindGroup(0, group);
      for (let n = 0; n < dispatches; n++) pass.dispatchWorkgroups(...groups);
      pass.end();
      this.device.queue.submit([encoder.finish()]);
      await this.waiter.wait(this.device.queue.onSubmittedWorkDone());
    };
    await run(1); // compiles
    const seconds = await secondsOf(() => run(1));
    return { seconds, samples: () => this.samples(run, seconds) };
  }

  /**
   * Doubles the number of runs until they take long enough, and takes samples of that many runs.
   *
   * @param {(runs: number) => Promise<void>} run
   * @param {number} seconds approximate time of one run
   * @returns {Promise<{ dispatches: number, seconds: number[] }>} seconds: the time of one run, in each sample
   */
  async samples(run, seconds) {
    let dispatches = 1;
    let last = seconds;
    while (last < SAMPLE_SECONDS && dispatches < MAX_DISPATCHES && this.leaves(4 * last)) {
      dispatches *= 2;
      last = await secondsOf(() => run(dispatches));
    }
    const found = [];
    while (found.length < FEWEST || (found.length < SAMPLES && this.leaves(last))) {
      found.push((await secondsOf(() => run(dispatches))) / dispatches);
    }
    return { dispatches, seconds: found };
  }

  /**
   * @param {number} seconds
   * @returns {boolean} whether the budget has that much time left
   */
  leaves(seconds) {
    return (performance.now() - this.begun) / 1000 + seconds < BUDGET_SECONDS;
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

/**
 * @param {() => Promise<void>} work
 * @returns {Promise<number>}
 */
async function secondsOf(work) {
  const started = performance.now();
  await work();
  return (performance.now() - started) / 1000;
}
