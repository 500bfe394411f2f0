/**
 * The only way in which the bridge waits for the GPU.
 *
 * Chromium checks for completed work only about every 3 ms; an empty submit (a poke) makes it check at once. However,
 * each poke costs time in the GPU process. There are none at first, because short work is reported at once. Then they
 * come at intervals proportional to the time waited, so that their number grows only logarithmically, and they end when
 * the interval exceeds Chromium's own.
 */

/** @typedef {{ quiet: number, first: number, growth: number, last: number }} Schedule in ms */

/**
 * Twenty dispatches on an H200 end after 0.38 ms with a poke every 0.1 ms, and after 3.1 ms without. Two hundred
 * additions and a wait take 2.6 ms with the first poke after 0.05 ms, and 3.0 ms with the first after 0.15 ms.
 *
 * @type {Schedule}
 */
const ON_GPU = { quiet: 0.05, first: 0.06, growth: 1.1, last: 2 };

/**
 * A software adapter needs the cores that pokes and a busy event loop would use. Means of 250 rounds in JavaScript
 * only, in ms: 1, 10, 28 and 100 dispatches and a wait take 0.9, 1.1, 1.4 and 3.3 with this schedule; 1.1, 1.4, 2.1 and
 * 3.7 with the first poke after 0.2 and the second 0.15 later; 1.6, 2.9, 3.0 and 3.8 without pokes.
 *
 * @type {Schedule}
 */
const ON_CPU = { quiet: 0.25, first: 0.25, growth: 1.1, last: 2 };

/** @param {boolean} isFallback whether the adapter is a software adapter */
export function scheduleFor(isFallback) {
  return isFallback ? ON_CPU : ON_GPU;
}

/** From this time on, in ms, a wait uses a timer; for shorter times it keeps the thread busy, to be exact. */
const SHORTEST_TIMER = 1;

export const INTERRUPTED = "interrupted";

export class Waiter {
  /** @type {Set<(outcome: typeof INTERRUPTED) => void>} one for each wait */
  #waits = new Set();
  /** @type {() => void} */
  #poke;
  /** @type {() => Schedule | null} */
  #schedule;
  #interval = 0;
  #due = 0;
  #poking = false;

  /**
   * @param {() => void} poke makes the browser check for completed work
   * @param {() => Schedule | null} schedule null: no pokes
   */
  constructor(poke, schedule) {
    this.#poke = poke;
    this.#schedule = schedule;
  }

  /**
   * @template T
   * @param {Promise<T>} work continues if the wait is interrupted
   * @returns {Promise<T | typeof INTERRUPTED>}
   */
  async wait(work) {
    /** @type {(outcome: typeof INTERRUPTED) => void} */
    let interrupt = () => {};
    /** @type {Promise<typeof INTERRUPTED>} */
    const interrupted = new Promise((resolve) => {
      interrupt = resolve;
    });
    this.#waits.add(interrupt);
    this.#keepPoking();
    try {
      return await Promise.race([work, interrupted]);
    } finally {
      this.#waits.delete(interrupt);
    }
  }

  /** Ends all current waits. */
  interrupt() {
    for (const interrupt of this.#waits) interrupt(INTERRUPTED);
  }

  /** A new wait restarts the schedule for all waits. */
  async #keepPoking() {
    const schedule = this.#schedule();
    if (schedule === null) return;
    this.#interval = schedule.first;
    this.#due = performance.now() + schedule.quiet;
    if (this.#poking) return;
    this.#poking = true;
    while (this.#interval < schedule.last) {
      const left = this.#due - performance.now();
      if (left > 0) {
        await tick(left);
        if (this.#waits.size === 0) break;
      } else {
        this.#poke();
        this.#interval *= schedule.growth;
        this.#due = performance.now() + this.#interval;
      }
    }
    this.#poking = false;
  }
}

/** @type {(() => void)[]} */
const turns = [];
const channel = new MessageChannel();
channel.port1.onmessage = () => turns.shift()?.();

/** One turn of the event loop, which takes microseconds; setTimeout would take 1 to 4 ms. */
function turn() {
  return new Promise((/** @type {(value: void) => void} */ resolve) => {
    turns.push(resolve);
    channel.port2.postMessage(null);
  });
}

/**
 * Waits at most about `ms`, and at least one turn of the event loop.
 *
 * @param {number} ms
 */
async function tick(ms) {
  if (ms >= SHORTEST_TIMER) await new Promise((resolve) => setTimeout(resolve, ms));
  // Also after a timer: a timer set within a timer's task is delayed to 4 ms.
  await turn();
}
