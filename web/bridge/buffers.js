/** The GPU buffers of one device, by the numbers Python gave them. Numbers are never used again. */

export class Buffers {
  #device;
  /** @type {Map<number, GPUBuffer>} */
  #table = new Map();
  #bytes = 0;
  #usage = GPUBufferUsage.STORAGE | GPUBufferUsage.COPY_SRC | GPUBufferUsage.COPY_DST;

  /** @param {GPUDevice} device */
  constructor(device) {
    this.#device = device;
  }

  get count() {
    return this.#table.size;
  }

  get bytes() {
    return this.#bytes;
  }

  /**
   * @param {number} id
   * @param {number} size
   */
  create(id, size) {
    if (this.#table.has(id)) throw new Error(`buffer ${id} exists already`);
    this.#table.set(id, this.#device.createBuffer({ label: `buffer ${id}`, size, usage: this.#usage }));
    this.#bytes += size;
  }

  /**
   * @param {number} id
   * @returns {GPUBuffer}
   */
  get(id) {
    const buffer = this.#table.get(id);
    if (buffer === undefined) throw new Error(`buffer ${id} does not exist`);
    return buffer;
  }

  /**
   * Takes a buffer out of the table; destroying it is the caller's, who knows when it is free.
   * One that is not there is no error: after an interrupt Python cannot know what came to be.
   *
   * @param {number} id
   * @returns {GPUBuffer | undefined}
   */
  remove(id) {
    const buffer = this.#table.get(id);
    if (buffer === undefined) return undefined;
    this.#table.delete(id);
    this.#bytes -= buffer.size;
    return buffer;
  }
}
