/**
 * Buffers that the GPU copies into and JavaScript maps. A read takes one and gives it back. There are as many as reads
 * in flight, plus a bounded number of idle ones.
 */

const MAX_IDLE = 8;
const MAX_IDLE_BYTES = 64 << 20;
const MIN_BYTES = 4096;

export class StagingPool {
  #device;
  /** @type {GPUBuffer[]} oldest first */
  #idle = [];
  #idleBytes = 0;
  #usage = GPUBufferUsage.MAP_READ | GPUBufferUsage.COPY_DST;

  /** The number of all buffers, idle or not. */
  count = 0;
  bytes = 0;

  /** @param {GPUDevice} device */
  constructor(device) {
    this.#device = device;
  }

  /**
   * @param {number} size
   * @returns {GPUBuffer} an unmapped buffer of at least that size
   */
  take(size) {
    const found = this.#idle.findIndex((buffer) => buffer.size >= size && buffer.size <= 4 * Math.max(size, MIN_BYTES));
    if (found >= 0) {
      const [buffer] = this.#idle.splice(found, 1);
      this.#idleBytes -= buffer.size;
      return buffer;
    }
    // Powers of two, so that reads of slightly different sizes can share buffers; large ones are not kept anyway.
    const rounded = size > MAX_IDLE_BYTES ? size : 2 ** Math.ceil(Math.log2(Math.max(size, MIN_BYTES)));
    const buffer = this.#device.createBuffer({ label: "staging", size: rounded, usage: this.#usage });
    this.count++;
    this.bytes += rounded;
    return buffer;
  }

  /** @param {GPUBuffer} buffer valid and unmapped */
  giveBack(buffer) {
    this.#idle.push(buffer);
    this.#idleBytes += buffer.size;
    while (this.#idle.length > MAX_IDLE || this.#idleBytes > MAX_IDLE_BYTES) {
      const oldest = /** @type {GPUBuffer} */ (this.#idle.shift());
      this.#idleBytes -= oldest.size;
      this.discard(oldest);
    }
  }

  /** @param {GPUBuffer} buffer a taken buffer that must not be used again */
  discard(buffer) {
    buffer.destroy();
    this.count--;
    this.bytes -= buffer.size;
  }
}
