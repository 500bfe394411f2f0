/**
 * Looks over a library's shoulder at its device: how long its kernels compile, how long they run by the GPU's own
 * clock, how many dispatches and submits there are. Only while something is metered do the device's methods differ
 * from the browser's, so nothing that is timed meanwhile goes through here.
 */

/**
 * @typedef {object} Metered
 * @property {number | null} gpu seconds; null where the device has no clock
 * @property {number} dispatches
 * @property {number} submits
 */

/** Of a query set, as WebGPU bounds it. */
const MOST_QUERIES = 4096;

export class Meter {
  /** Where each pass writes its first timestamp; its second one follows. @type {{ set: GPUQuerySet, used: number }[]} */
  #sets = [];
  /** @type {[start: number, end: number][]} */
  #compiling = [];
  /** @type {Promise<unknown>[]} */
  #awaited = [];

  /** @param {GPUDevice} device */
  constructor(device) {
    this.device = device;
    /** Whether the passes to come are timed. */
    this.hasClock = device.features.has("timestamp-query");
    this.dispatches = 0;
    this.submits = 0;
  }

  /**
   * @template T
   * @param {() => Promise<T>} work
   * @returns {Promise<{ value: T, seconds: number }>} what it gave, and how long kernels were compiled for it
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
        // The answer to this comes after the pipeline is made: commands of a device are carried out in order.
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
   * @param {() => Promise<unknown>} work makes its encoders itself, and has submitted them when it ends
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
        if ([...buffers].length) this.submits += 1; // an empty one only asks the browser to look for finished work
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
    if (!current || current.used === MOST_QUERIES) {
      current = { set: this.device.createQuerySet({ type: "timestamp", count: MOST_QUERIES }), used: 0 };
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

  /** @returns {Promise<number>} what all passes took together */
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
 * Puts other methods before those of one object.
 *
 * @template {object} T
 * @param {T} target
 * @param {{ [K in keyof T]?: (original: T[K]) => T[K] }} wrappers from the bound method to what stands in its place
 * @returns {() => void} takes them away again
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
 * @returns {number} what they cover together
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
