/**
 * A worker that makes a snapshot for the next visit: it boots another Python, because the user's cannot be copied. It
 * receives the interrupt buffer that can end it, posts one message when it is done, and is then finished.
 */

import { Parts } from "./boot/parts.js";
import { bootPlainly } from "./boot/python.js";
import { Signals } from "./boot/signals.js";
import { takeSnapshot } from "./boot/snapshot.js";
import { currentKey, find, keep } from "./boot/store.js";

const quiet = { stdout: () => {}, stderr: () => {} };

/**
 * @param {Signals} signals
 * @returns {Promise<string>} the outcome, for debugging
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
    // Record the failure: it would repeat at every visit.
    await keep(key, { unusable: String(error) });
    throw error;
  }
  await keep(key, snapshot);
  return "kept";
}

/**
 * Make the snapshot in only one page of this origin at a time; others do nothing.
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
