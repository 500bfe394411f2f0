/** Reading GPU memory into the Wasm heap. Several reads may be in flight at once. */

import { THIS_CALL, thrownFailure } from "./failures.js";
import { closeScopes, openScopes } from "./scopes.js";

/** @typedef {import("./failures.js").Failure} Failure */
/** @typedef {import("./session.js").Session} Session */

/** How long a failed mapping waits for the report of a lost device, its usual cause, in ms. */
const LOSS_GRACE = 100;

/** A copy of a part of a buffer to memory that JavaScript can map. */
export class Readback {
  #session;
  #id;
  #offset;
  #bytes;
  /** @type {GPUBuffer | null} */
  #staging = null;
  /** The reasons if it did not arrive. @type {Failure[]} */
  failures = [];
  /** Resolves, never rejects, when the bytes have arrived or `failures` has the reasons. @type {Promise<void>} */
  arrived = Promise.resolve();

  /**
   * @param {Session} session
   * @param {number} id
   * @param {number} offset
   * @param {number} bytes
   */
  constructor(session, id, offset, bytes) {
    this.#session = session;
    this.#id = id;
    this.#offset = offset;
    this.#bytes = bytes;
  }

  /**
   * @param {number} id
   * @param {number} offset
   * @param {number} bytes
   */
  isOf(id, offset, bytes) {
    return this.#id === id && this.#offset === offset && this.#bytes === bytes;
  }

  /** Copies and submits before it returns, so that the contents are those at the time of the call. */
  fetch() {
    const { device, recorder, pipelines } = this.#session;
    openScopes(device);
    /** @type {Promise<unknown>} */
    let mapped = Promise.resolve(null);
    try {
      this.record();
      recorder.submit();
      mapped = this.#mapped();
    } catch (error) {
      recorder.abandon();
      this.failures.push(thrownFailure(THIS_CALL, error, `buffer ${this.#id}`));
    }
    this.arrived = this.#arrive(closeScopes(device, pipelines, THIS_CALL), mapped);
  }

  /** The first half of a fetch whose caller submits, with its own error scopes. */
  record() {
    const { buffers, staging, recorder } = this.#session;
    const source = buffers.get(this.#id);
    this.#staging = staging.take(this.#copied);
    recorder.copy(source.buffer, source.offset + this.#offset, this.#staging, 0, this.#copied);
  }

  /** The second half, after the submit. */
  map() {
    this.arrived = this.#arrive(Promise.resolve([]), this.#mapped());
  }

  /** @returns {Promise<unknown>} null, or the error */
  #mapped() {
    const mapping = /** @type {GPUBuffer} */ (this.#staging).mapAsync(GPUMapMode.READ, 0, this.#copied);
    return mapping.then(
      () => null,
      (error) => error,
    );
  }

  /**
   * @param {Promise<Failure[]>} found
   * @param {Promise<unknown>} mapped
   */
  async #arrive(found, mapped) {
    this.failures.push(...(await found));
    const obstacle = await mapped;
    if (obstacle === null || this.failures.length > 0) return;
    this.failures.push(thrownFailure(THIS_CALL, obstacle, `buffer ${this.#id}`));
    const grace = new Promise((resolve) => setTimeout(resolve, LOSS_GRACE));
    await Promise.race([this.#session.device.lost, grace]);
  }

  /**
   * Copies the bytes to the heap, after a fetch without failures.
   *
   * @param {Uint8Array} heap
   * @param {number} destination
   */
  deliver(heap, destination) {
    const source = /** @type {GPUBuffer} */ (this.#staging).getMappedRange(0, this.#copied);
    heap.set(new Uint8Array(source, 0, this.#bytes), destination);
  }

  /** Returns the nonzero words as [position, word], after a fetch without failures. */
  nonzero() {
    const source = /** @type {GPUBuffer} */ (this.#staging).getMappedRange(0, this.#copied);
    return [...new Uint32Array(source).entries()].filter(([, word]) => word !== 0);
  }

  /** Gives the staging buffer back, after a fetch, delivered or not. */
  release() {
    if (this.#staging === null) return;
    if (this.failures.length > 0) {
      this.#session.staging.discard(this.#staging);
    } else {
      this.#staging.unmap();
      this.#session.staging.giveBack(this.#staging);
    }
    this.#staging = null;
  }

  /** The number of copied bytes: copies are whole words. */
  get #copied() {
    return 4 * Math.ceil(this.#bytes / 4);
  }
}
