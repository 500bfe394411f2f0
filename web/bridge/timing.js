/** Measures the GPU time of each dispatch by timestamp queries, with one compute pass per dispatch. */

const TIMED_AT_ONCE = 2048;
const MAX_SETS = 32;

/** @typedef {{ pipeline: number, begin: bigint, end: bigint }} Timing in ns of the GPU's clock */

export class Timer {
  #device;
  /** @type {GPUQuerySet[]} filled one after the other; dispatches beyond the last one are not timed */
  #sets = [];
  /** @type {number[]} the pipeline of each timed dispatch */
  #pipelines = [];
  #marked = 0;

  /** @param {GPUDevice} device with the feature "timestamp-query" */
  constructor(device) {
    this.#device = device;
  }

  /**
   * Returns the timestamp writes of the next pass, which has one dispatch.
   *
   * @param {number} pipeline
   * @returns {GPUComputePassTimestampWrites | undefined} undefined if there is no room left
   */
  next(pipeline) {
    const place = this.#pipelines.length % TIMED_AT_ONCE;
    if (place === 0) {
      if (this.#sets.length === MAX_SETS) return undefined;
      this.#sets.push(this.#device.createQuerySet({ type: "timestamp", count: 2 * TIMED_AT_ONCE }));
    }
    this.#pipelines.push(pipeline);
    const querySet = /** @type {GPUQuerySet} */ (this.#sets.at(-1));
    return { querySet, beginningOfPassWriteIndex: 2 * place, endOfPassWriteIndex: 2 * place + 1 };
  }

  /** Marks the position to which `rewind` returns. */
  mark() {
    this.#marked = this.#pipelines.length;
  }

  /** Drops the dispatches recorded since the mark, which were never submitted. */
  rewind() {
    this.#pipelines.length = this.#marked;
    this.#sets.length = Math.ceil(this.#marked / TIMED_AT_ONCE);
  }

  /**
   * Reads the times, after all timed dispatches are submitted. The timer must not be used afterwards.
   *
   * @returns {Promise<Timing[]>} in the order of the dispatches
   */
  async collect() {
    const counts = this.#sets.map((_, n) => Math.min(TIMED_AT_ONCE, this.#pipelines.length - n * TIMED_AT_ONCE));
    const times = await Promise.all(this.#sets.map((set, n) => this.#read(set, 2 * counts[n])));
    for (const set of this.#sets) set.destroy();
    return this.#pipelines.map((pipeline, n) => {
      const stamps = times[Math.floor(n / TIMED_AT_ONCE)];
      const place = 2 * (n % TIMED_AT_ONCE);
      return { pipeline, begin: stamps[place], end: stamps[place + 1] };
    });
  }

  /**
   * @param {GPUQuerySet} set
   * @param {number} count
   */
  async #read(set, count) {
    const size = 8 * count;
    const resolved = this.#device.createBuffer({
      label: "timestamps",
      size,
      usage: GPUBufferUsage.QUERY_RESOLVE | GPUBufferUsage.COPY_SRC,
    });
    const staging = this.#device.createBuffer({
      label: "timestamps to read",
      size,
      usage: GPUBufferUsage.MAP_READ | GPUBufferUsage.COPY_DST,
    });
    const encoder = this.#device.createCommandEncoder();
    encoder.resolveQuerySet(set, 0, count, resolved, 0);
    encoder.copyBufferToBuffer(resolved, 0, staging, 0, size);
    this.#device.queue.submit([encoder.finish()]);
    await staging.mapAsync(GPUMapMode.READ);
    const stamps = new BigUint64Array(staging.getMappedRange()).slice();
    staging.destroy();
    resolved.destroy();
    return stamps;
  }
}
