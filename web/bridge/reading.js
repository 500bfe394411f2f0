/** Reading GPU memory into the Wasm heap. Several reads may be under way at once. */

import { THIS_CALL, thrownFailure } from "./failures.js";
import { download } from "./heap.js";
import { closeScopes, openScopes } from "./scopes.js";

/** @typedef {import("./failures.js").Failure} Failure */
/** @typedef {import("./session.js").Session} Session */

/** ms that a failed mapping waits for the news of a lost device, its usual cause. */
const LOSS_GRACE = 100;

/** A copy of a part of a buffer, on its way to where JavaScript can see it. */
export class Readback {
  #session;
  #bytes;
  /** @type {GPUBuffer | null} */
  #staging = null;
  /** Why it did not arrive. @type {Failure[]} */
  failures = [];

  /**
   * @param {Session} session
   * @param {number} bytes
   */
  constructor(session, bytes) {
    this.#session = session;
    this.#bytes = bytes;
  }

  /**
   * Copies and submits before it returns, so that the contents are those of this moment.
   *
   * @param {number} id
   * @param {number} offset
   * @returns {Promise<void>} resolves, never rejects, when the bytes are there or `failures` says why not
   */
  async fetch(id, offset) {
    const { device, buffers, staging, recorder, pipelines } = this.#session;
    /** @type {Promise<unknown>} */
    let mapped = Promise.resolve(null);
    openScopes(device);
    try {
      const source = buffers.get(id);
      this.#staging = staging.take(this.#copied);
      recorder.copy(source, offset, this.#staging, 0, this.#copied);
      recorder.submit();
      mapped = this.#staging.mapAsync(GPUMapMode.READ, 0, this.#copied).catch((error) => error);
    } catch (error) {
      recorder.abandon();
      this.failures.push(thrownFailure(THIS_CALL, error, `buffer ${id}`));
    }
    this.failures.push(...(await closeScopes(device, pipelines, THIS_CALL)));
    const obstacle = await mapped;
    if (!obstacle || this.failures.length > 0) return;
    this.failures.push(thrownFailure(THIS_CALL, obstacle, `buffer ${id}`));
    await Promise.race([device.lost, new Promise((resolve) => setTimeout(resolve, LOSS_GRACE))]);
  }

  /**
   * Once fetched without failures.
   *
   * @param {Uint8Array} heap
   * @param {number} destination
   * @param {number} mode
   */
  deliver(heap, destination, mode) {
    const source = /** @type {GPUBuffer} */ (this.#staging).getMappedRange(0, this.#copied);
    download(source, this.#bytes, heap, destination, mode);
  }

  /** Once fetched, delivered or not. */
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

  /** Copies go by whole words. */
  get #copied() {
    return 4 * Math.ceil(this.#bytes / 4);
  }
}
