/**
 * A worker that leaves a snapshot for the next visit: it boots Python once more, since the Python
 * that the user works in cannot be copied. It is sent the byte that ends it, posts one message when it is done, and is
 * of no more use.
 */

import { Parts } from "./boot/parts.js";
import { bootPlainly } from "./boot/python.js";
import { Signals } from "./boot/signals.js";
import { takeSnapshot } from "./boot/snapshot.js";
import { currentKey, find, keep } from "./boot/store.js";

const quiet = { stdout: () => {}, stderr: () => {} };

/**
 * @param {Signals} signals
 * @returns {Promise<string>} what became of it, for whoever looks for a reason
 */
async function leaveSnapshot(signals) {
  const key = await currentKey();
  if (await find(key)) return "there is one";
  const py = await bootPlainly(new Parts(), { ...quiet, signals }, { toSnapshot: true });
  /** @type {import("./boot/snapshot.js").Snapshot} */
  let snapshot;
  try {
    snapshot = await takeSnapshot(py);
  } catch (error) {
    // It would fail at every visit.
    await keep(key, { unusable: String(error) });
    throw error;
  }
  await keep(key, snapshot);
  return "kept";
}

/**
 * One page of this origin at a time: others find it done, or have it done by this one.
 *
 * @param {Signals} signals
 */
async function alone(signals) {
  if (!navigator.locks) return leaveSnapshot(signals);
  return navigator.locks.request("py_tensor snapshot", { ifAvailable: true }, (lock) =>
    lock ? leaveSnapshot(signals) : "another page makes it",
  );
}

self.onmessage = async ({ data }) => {
  const outcome = await alone(new Signals(data)).catch(String);
  self.postMessage({ outcome });
};
