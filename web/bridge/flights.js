/** Flushes in flight: submitted, and not yet known to be complete and free of errors. */

export class Flights {
  /** @type {Set<{ flush: number, landed: Promise<void> }>} oldest first */
  #flights = new Set();

  get count() {
    return this.#flights.size;
  }

  /**
   * @param {number} flush
   * @param {Promise<unknown>} landing resolves, never rejects
   */
  launch(flush, landing) {
    const flight = { flush, landed: landing.then(() => void this.#flights.delete(flight)) };
    this.#flights.add(flight);
  }

  /**
   * @param {number} last
   * @returns {Promise<unknown>} resolves when all flushes now in flight up to number `last` have landed
   */
  landed(last = Number.POSITIVE_INFINITY) {
    const awaited = [...this.#flights].filter(({ flush }) => flush <= last);
    return Promise.all(awaited.map(({ landed }) => landed));
  }
}
