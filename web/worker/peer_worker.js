/**
 * The worker of another library in the benchmarks (tfjs, jax-js), or of the device probes. It handles requests from
 * `link.js` one at a time. Timed work does not share its thread with Python or the page.
 */

import { startPeer } from "./peers/contender.js";
import { probeLimits } from "./peers/probes.js";

/** @typedef {import("./peers/contender.js").Contender<any>} Contender */
/** @typedef {import("./peers/contender.js").PeerName} PeerName */

/** @type {Contender | null} */
let peer = null;

/** @returns {Contender} */
function started() {
  if (!peer) throw new Error("the library has not been started");
  if (peer.isLost) throw new Error("its device was lost");
  return peer;
}

/** The methods of a request; each takes the argument given to `link.js` and returns a JSON value. */
const METHODS = {
  /** @param {{ name: PeerName, software: boolean }} about */
  async start({ name, software }) {
    peer = await startPeer(name, { software });
    return peer.library.version;
  },
  /** @param {import("./peers/contender.js").CaseSpec} about */
  prepare: (about) => started().prepare(about),
  first: () => started().first(),
  /** @param {{ count: number, kept: number }} about */
  sample: (about) => started().sample(about),
  /** @param {{ count: number, kept: number }} about */
  meter: (about) => started().metered(about),
  /** @param {{ call: number, places: number[] }} about */
  values: (about) => started().values(about),
  release: () => started().release(),
  /** @param {{ software: boolean }} about */
  probe: (about) => probeLimits(about),
};

/** @typedef {keyof typeof METHODS} Method */

let last = Promise.resolve();

self.addEventListener("message", ({ data }) => {
  const { id, method, about } = /** @type {{ id: number, method: Method, about: any }} */ (data);
  last = last.then(async () => {
    try {
      self.postMessage({ id, answer: (await METHODS[method](about)) ?? null });
    } catch (error) {
      self.postMessage({ id, error: error instanceof Error ? error.message : String(error) });
    }
  });
});
