/**
 * Encodes commands of one device, with one encoder until the next submit and one compute pass until the next copy.
 */

export class Recorder {
  #device;
  #counters;
  /** @type {GPUCommandEncoder | null} */
  #encoder = null;
  /** @type {GPUComputePassEncoder | null} */
  #pass = null;
  /** @type {GPUComputePipeline | null} the pipeline set in the pass */
  #pipeline = null;
  #offset = new Uint32Array(1);
  /** @type {GPUBuffer[]} */
  #pendingDestruction = [];
  /** @type {import("./timing.js").Timer | null} set while dispatches are timed, each in a separate pass */
  timer = null;

  /**
   * @param {GPUDevice} device
   * @param {import("./session.js").Counters} counters
   */
  constructor(device, counters) {
    this.#device = device;
    this.#counters = counters;
  }

  /**
   * @param {number} id of the pipeline
   * @param {GPUComputePipeline} pipeline
   * @param {GPUBindGroup} group
   * @param {number} offset of the parameters
   * @param {number} x
   * @param {number} y
   * @param {number} z
   */
  dispatch(id, pipeline, group, offset, x, y, z) {
    if (this.timer !== null) this.#closePass();
    const pass = this.#pass ?? this.#openPass(this.timer?.next(id));
    if (pipeline !== this.#pipeline) {
      pass.setPipeline(pipeline);
      this.#pipeline = pipeline;
    }
    this.#offset[0] = offset;
    pass.setBindGroup(0, group, this.#offset, 0, 1);
    pass.dispatchWorkgroups(x, y, z);
    this.#counters.dispatches++;
  }

  /**
   * @param {GPUBuffer} source
   * @param {number} sourceOffset
   * @param {GPUBuffer} target
   * @param {number} targetOffset
   * @param {number} bytes
   */
  copy(source, sourceOffset, target, targetOffset, bytes) {
    this.#closePass();
    this.#open().copyBufferToBuffer(source, sourceOffset, target, targetOffset, bytes);
  }

  /**
   * @param {GPUBuffer} buffer
   * @param {number} offset
   * @param {number} bytes
   */
  clear(buffer, offset, bytes) {
    this.#closePass();
    this.#open().clearBuffer(buffer, offset, bytes);
  }

  /**
   * @param {GPUBuffer} source
   * @param {number} offset
   * @param {number} bytesPerRow
   * @param {GPUTexture} texture
   * @param {number} width
   * @param {number} height
   */
  copyToTexture(source, offset, bytesPerRow, texture, width, height) {
    this.#closePass();
    this.#open().copyBufferToTexture({ buffer: source, offset, bytesPerRow }, { texture }, [width, height]);
  }

  /** Submits the encoded commands, if any. */
  submit() {
    this.timer?.mark();
    if (this.#encoder === null) return;
    this.#closePass();
    const commands = this.#encoder.finish();
    this.#encoder = null;
    this.#device.queue.submit([commands]);
    this.#counters.submits++;
    this.#destroyPending();
  }

  /** Drops the commands that are encoded but not submitted. */
  abandon() {
    this.timer?.rewind();
    this.#encoder = null;
    this.#pass = null;
    this.#destroyPending();
  }

  /**
   * Destroys a buffer once no unsubmitted command can use it: a submit that uses a destroyed buffer fails as a whole.
   *
   * @param {GPUBuffer} buffer
   */
  destroy(buffer) {
    this.#pendingDestruction.push(buffer);
    if (this.#encoder === null) this.#destroyPending();
  }

  #open() {
    this.#encoder ??= this.#device.createCommandEncoder();
    return this.#encoder;
  }

  /** @param {GPUComputePassTimestampWrites} [timestampWrites] */
  #openPass(timestampWrites) {
    this.#pass = this.#open().beginComputePass({ timestampWrites });
    this.#pipeline = null;
    return this.#pass;
  }

  #closePass() {
    this.#pass?.end();
    this.#pass = null;
  }

  #destroyPending() {
    for (const buffer of this.#pendingDestruction.splice(0)) buffer.destroy();
  }
}
