/**
 * The one way in which the bridge waits for the GPU.
 *
 * Chromium looks for finished work only every 3 ms or so; an empty submit makes it look at once.
 * But each poke costs the GPU process time. So: none at first, as short work is reported at once;
 * then at intervals in proportion to the time waited, so that their number grows only with its
 * logarithm; and none any more when Chromium's own interval is as short.
 */

/** @typedef {{ quiet: number, first: number, growth: number, last: number }} Schedule in ms */

/**
 * Twenty dispatches on an H200 end after 0.38 ms when poked every 0.1 ms, after 3.1 ms when not. Two hundred
 * additions and a wait take 2.6 ms where the first poke comes after 0.05 ms, 3.0 where it comes after 0.15.
 *
 * @type {Schedule}
 */
const ON_GPU = { quiet: 0.05, first: 0.06, growth: 1.1, last: 2 };

/**
 * A software adapter works on the cores that pokes and a busy event loop would take from it. In JavaScript alone, mean
 * of 250 rounds, ms: 1, 10, 28 and 100 dispatches and a wait take 0.9, 1.1, 1.4 and 3.3 so, 1.1, 1.4, 2.1 and 3.7 where
 * the first poke comes after 0.2 and the second 0.15 later, 1.6, 2.9, 3.0 and 3.8 without any.
 *
 * @type {Schedule}
 */
const ON_CPU = { quiet: 0.25, first: 0.25, growth: 1.1, last: 2 };

/** @param {boolean} isFallback whether the adapter is a software adapter */
export function scheduleFor(isFallback) {
  return isFallback ? ON_CPU : ON_GPU;
}

/** How long a wait may hold the thread busy to be on time; from there on a timer is good enough. */
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
   * @param {() => void} poke makes the browser look for finished work
   * @param {() => Schedule | null} schedule null: no pokes
   */
  constructor(poke, schedule) {
    this.#poke = poke;
    this.#schedule = schedule;
  }

  /**
   * @template T
   * @param {Promise<T>} work goes on by itself when the wait is interrupted
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

  /** Ends every wait that is going on. */
  interrupt() {
    for (const interrupt of this.#waits) interrupt(INTERRUPTED);
  }

  /** A new wait begins the schedule anew for all. */
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

/** One turn of the event loop, microseconds long, where setTimeout would take 1 to 4 ms. */
function turn() {
  return new Promise((/** @type {(value: void) => void} */ resolve) => {
    turns.push(resolve);
    channel.port2.postMessage(null);
  });
}

/**
 * Lets time pass: at most about `ms`, and at least one turn of the event loop.
 *
 * @param {number} ms
 */
async function tick(ms) {
  if (ms >= SHORTEST_TIMER) await new Promise((resolve) => setTimeout(resolve, ms));
  // After a timer too: a timer set from within a timer's task is held back to 4 ms.
  await turn();
}
