/**
 * The parameters of dispatches: one uniform buffer, written once per flush.
 *
 * The buffer is a window onto the flush's block. A window is written when the first dispatch needs parameters in it,
 * after all commands that use the previous window are submitted.
 */

/** 4096 dispatches at the usual 256 bytes each. */
const WINDOW = 1 << 20;

export class Params {
  #queue;
  #address = 0;
  #bytes = 0;
  #start = 0;
  #end = 0;

  /** @param {GPUDevice} device */
  constructor(device) {
    this.#queue = device.queue;
    const usage = GPUBufferUsage.UNIFORM | GPUBufferUsage.COPY_DST;
    this.buffer = device.createBuffer({ label: "parameters", size: WINDOW, usage });
  }

  /**
   * Begins a flush, before any of its commands is encoded.
   *
   * @param {import("./stream.js").Block} block
   */
  begin({ address, bytes }) {
    this.#address = address;
    this.#bytes = bytes;
    this.#start = this.#end = 0;
  }

  /**
   * Returns the offset of a dispatch's parameters in the uniform buffer.
   *
   * @param {number} offset in the flush's block, a multiple of 256
   * @param {number} size
   * @param {import("./recorder.js").Recorder} recorder
   * @param {Uint8Array} heap
   * @returns {number}
   */
  locate(offset, size, recorder, heap) {
    if (offset < this.#start || offset + size > this.#end) {
      if (offset + size > this.#bytes || size > WINDOW)
        throw new RangeError(`the block has no parameters at ${offset}`);
      if (this.#end > 0) recorder.submit();
      this.#write(heap, offset);
    }
    return offset - this.#start;
  }

  /**
   * @param {Uint8Array} heap
   * @param {number} start
   */
  #write(heap, start) {
    const bytes = Math.min(this.#bytes - start, WINDOW);
    this.#start = start;
    this.#end = start + bytes;
    this.#queue.writeBuffer(this.buffer, 0, heap, this.#address + start, bytes);
  }
}
