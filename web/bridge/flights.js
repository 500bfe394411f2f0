/** Flushes on their way: submitted, and not yet known to be done and free of errors. */

export class Flights {
  /** @type {Set<Promise<void>>} oldest first */
  #flights = new Set();

  get count() {
    return this.#flights.size;
  }

  /** @param {Promise<unknown>} landing resolves, never rejects */
  launch(landing) {
    const flight = landing.then(() => {
      this.#flights.delete(flight);
    });
    this.#flights.add(flight);
  }

  /**
   * Flights may land out of order by microseconds only: the GPU works through them in turn.
   *
   * @param {number} count
   * @returns {Promise<unknown>} when at most so many of those now in flight remain
   */
  atMost(count) {
    const flights = [...this.#flights];
    return Promise.all(flights.slice(0, Math.max(0, flights.length - count)));
  }
}
