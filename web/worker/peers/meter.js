/**
 * Observes a library's use of its device: how long its kernels take to compile and to run (by the GPU's clock), and the
 * number of dispatches and submits. The device's methods are only wrapped during these measurements, so normal timings
 * are not affected.
 */

/**
 * @typedef {object} Metered
 * @property {number | null} gpu seconds; null if the device has no clock
 * @property {number} dispatches
 * @property {number} submits
 */

/** WebGPU's limit for a query set. */
const MAX_QUERIES = 4096;

export class Meter {
  /** Each pass writes two consecutive timestamps to a set. @type {{ set: GPUQuerySet, used: number }[]} */
  #sets = [];
  /** @type {[start: number, end: number][]} */
  #compiling = [];
  /** @type {Promise<unknown>[]} */
  #awaited = [];

  /** @param {GPUDevice} device */
  constructor(device) {
    this.device = device;
    /** Whether passes can be timed. */
    this.hasClock = device.features.has("timestamp-query");
    this.dispatches = 0;
    this.submits = 0;
  }

  /**
   * @template T
   * @param {() => Promise<T>} work
   * @returns {Promise<{ value: T, seconds: number }>} its result, and the time spent compiling kernels
   */
  async compiling(work) {
    const { device } = this;
    this.#compiling = [];
    this.#awaited = [];
    let begun = 0;
    const restore = overriding(device, {
      createShaderModule: (create) => (descriptor) => {
        begun = performance.now();
        return create(descriptor);
      },
      createComputePipeline: (create) => (descriptor) => {
        const start = begun || performance.now();
        const pipeline = create(descriptor);
        // A device executes commands in order, so this resolves after the pipeline is made.
        device.pushErrorScope("internal");
        this.#ends(start, device.popErrorScope());
        begun = 0;
        return pipeline;
      },
      createComputePipelineAsync: (create) => (descriptor) => {
        const start = begun || performance.now();
        begun = 0;
        return this.#ends(start, create(descriptor));
      },
    });
    try {
      const value = await work();
      await Promise.allSettled(this.#awaited);
      return { value, seconds: lengthOfUnion(this.#compiling) / 1000 };
    } finally {
      restore();
    }
  }

  /**
   * @template T
   * @param {number} start
   * @param {Promise<T>} ready
   * @returns {Promise<T>}
   */
  #ends(start, ready) {
    const end = () => void this.#compiling.push([start, performance.now()]);
    this.#awaited.push(ready.then(end, end));
    return ready;
  }

  /**
   * @param {() => Promise<unknown>} work creates its own encoders and submits them before it ends
   * @returns {Promise<Metered>}
   */
  async running(work) {
    const { device } = this;
    this.dispatches = this.submits = 0;
    const restoreDevice = overriding(device, {
      createCommandEncoder: (create) => (descriptor) => {
        const encoder = create(descriptor);
        overriding(encoder, {
          beginComputePass: (begin) => (about) => this.#counted(begin(this.#timed(about))),
        });
        return encoder;
      },
    });
    const restoreQueue = overriding(device.queue, {
      submit: (submit) => (buffers) => {
        if ([...buffers].length) this.submits += 1; // an empty submit only makes the browser check for completed work
        submit(buffers);
      },
    });
    try {
      await work();
      restoreDevice();
      restoreQueue();
      return { gpu: this.hasClock ? await this.#seconds() : null, dispatches: this.dispatches, submits: this.submits };
    } finally {
      restoreDevice();
      restoreQueue();
      for (const { set } of this.#sets.splice(0)) set.destroy();
    }
  }

  /** @param {GPUComputePassDescriptor} [about] */
  #timed(about) {
    if (!this.hasClock || about?.timestampWrites) return about;
    let current = this.#sets.at(-1);
    if (!current || current.used === MAX_QUERIES) {
      current = { set: this.device.createQuerySet({ type: "timestamp", count: MAX_QUERIES }), used: 0 };
      this.#sets.push(current);
    }
    const [beginningOfPassWriteIndex, endOfPassWriteIndex] = [current.used, current.used + 1];
    current.used += 2;
    return { ...about, timestampWrites: { querySet: current.set, beginningOfPassWriteIndex, endOfPassWriteIndex } };
  }

  /** @param {GPUComputePassEncoder} pass */
  #counted(pass) {
    overriding(pass, {
      dispatchWorkgroups:
        (dispatch) =>
        (...counts) => {
          this.dispatches += 1;
          dispatch(...counts);
        },
      dispatchWorkgroupsIndirect:
        (dispatch) =>
        (...place) => {
          this.dispatches += 1;
          dispatch(...place);
        },
    });
    return pass;
  }

  /** @returns {Promise<number>} the total time of all passes */
  async #seconds() {
    const { device } = this;
    let nanoseconds = 0;
    for (const { set, used } of this.#sets) {
      const size = 8 * used;
      const resolved = device.createBuffer({ size, usage: GPUBufferUsage.QUERY_RESOLVE | GPUBufferUsage.COPY_SRC });
      const staging = device.createBuffer({ size, usage: GPUBufferUsage.MAP_READ | GPUBufferUsage.COPY_DST });
      const encoder = device.createCommandEncoder();
      encoder.resolveQuerySet(set, 0, used, resolved, 0);
      encoder.copyBufferToBuffer(resolved, 0, staging, 0, size);
      device.queue.submit([encoder.finish()]);
      await staging.mapAsync(GPUMapMode.READ);
      const times = new BigUint64Array(staging.getMappedRange());
      for (let i = 0; i < used; i += 2) nanoseconds += Math.max(0, Number(times[i + 1] - times[i]));
      resolved.destroy();
      staging.destroy();
    }
    return nanoseconds / 1e9;
  }
}

/**
 * Wraps methods of one object.
 *
 * @template {object} T
 * @param {T} target
 * @param {{ [K in keyof T]?: (original: T[K]) => T[K] }} wrappers bound method -> replacement
 * @returns {() => void} removes the wrappers
 */
function overriding(target, wrappers) {
  for (const [name, wrap] of Object.entries(/** @type {Record<string, any>} */ (wrappers))) {
    const original = /** @type {any} */ (target)[name];
    /** @type {any} */ (target)[name] = wrap(original.bind(target));
  }
  return () => {
    for (const name of Object.keys(wrappers)) delete (/** @type {any} */ (target)[name]);
  };
}

/**
 * @param {[start: number, end: number][]} intervals
 * @returns {number} the length of their union
 */
export function lengthOfUnion(intervals) {
  let length = 0;
  let reached = Number.NEGATIVE_INFINITY;
  for (const [start, end] of intervals.sort((a, b) => a[0] - b[0])) {
    length += Math.max(0, end - Math.max(start, reached));
    reached = Math.max(reached, end);
  }
  return length;
}
