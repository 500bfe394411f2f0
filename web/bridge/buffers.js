/**
 * The GPU buffers of one device, by the numbers Python gave them. Numbers are never used again.
 *
 * A slab is a buffer cut into slices of one size, which have the numbers behind its own. Whatever takes a buffer takes
 * a slice.
 */

/** A buffer, or a slice of one. @typedef {{ buffer: GPUBuffer, offset: number, size: number }} Range */
/** @typedef {{ buffer: GPUBuffer, slices: number }} Whole */

export class Buffers {
  #device;
  /** @type {Map<number, Whole>} */
  #table = new Map();
  /** @type {Map<number, Range>} of buffers and of slices */
  #ranges = new Map();
  #bytes = 0;
  #usage = GPUBufferUsage.STORAGE | GPUBufferUsage.COPY_SRC | GPUBufferUsage.COPY_DST;

  /** @param {GPUDevice} device */
  constructor(device) {
    this.#device = device;
  }

  /** Buffers, however many slices they have. */
  get count() {
    return this.#table.size;
  }

  get bytes() {
    return this.#bytes;
  }

  /**
   * @param {number} id
   * @param {number} size
   * @param {number} slices of a slab, which have the ids behind this one; 0 for any other buffer
   */
  create(id, size, slices) {
    for (let each = id; each <= id + slices; each++) {
      if (this.#ranges.has(each)) throw new Error(`buffer ${each} exists already`);
    }
    const buffer = this.#device.createBuffer({ label: `buffer ${id}`, size, usage: this.#usage });
    this.#table.set(id, { buffer, slices });
    this.#ranges.set(id, { buffer, offset: 0, size });
    const part = size / slices;
    for (let n = 0; n < slices; n++) this.#ranges.set(id + 1 + n, { buffer, offset: n * part, size: part });
    this.#bytes += size;
  }

  /**
   * @param {number} id of a buffer or a slice
   * @returns {Range}
   */
  get(id) {
    const range = this.#ranges.get(id);
    if (range === undefined) throw new Error(`buffer ${id} does not exist`);
    return range;
  }

  /**
   * Takes a buffer, and with it its slices, out of the table; destroying it is the caller's, who knows when it is free.
   * One that is not there is no error: after an interrupt Python cannot know what came to be.
   *
   * @param {number} id of a whole buffer
   * @returns {Whole | undefined}
   */
  remove(id) {
    const whole = this.#table.get(id);
    if (whole === undefined) return undefined;
    this.#table.delete(id);
    for (let each = id; each <= id + whole.slices; each++) this.#ranges.delete(each);
    this.#bytes -= whole.buffer.size;
    return whole;
  }
}
