/**
 * The GPU buffers of one device, by ids that Python assigns and never reuses.
 *
 * A slab is a buffer divided into slices of equal size, whose ids follow its own. A slice can be used wherever a buffer
 * can.
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

  /** The number of buffers, not counting slices. */
  get count() {
    return this.#table.size;
  }

  get bytes() {
    return this.#bytes;
  }

  /**
   * @param {number} id
   * @param {number} size
   * @param {number} slices the number of slices of a slab, whose ids follow this one; 0 for other buffers
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
   * Removes a buffer and its slices from the table. The caller destroys it, because it knows when the buffer is unused.
   * An unknown id is not an error: after an interrupt Python cannot know which buffers were created.
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
