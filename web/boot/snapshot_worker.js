/**
 * A worker that leaves a snapshot for the next visit: it boots Python once more, since the Python
 * that the user works in cannot be copied. It is sent the byte that ends it, posts one message when it is done, and is
 * of no more use.
 */

import { Parts } from "./parts.js";
import { bootPlainly } from "./python.js";
import { takeSnapshot } from "./snapshot.js";
import { currentKey, find, keep } from "./store.js";

const quiet = { stdout: () => {}, stderr: () => {} };

/**
 * @param {Uint8Array | null} interruptFlag
 * @returns {Promise<string>} what became of it, for whoever looks for a reason
 */
async function leaveSnapshot(interruptFlag) {
  const key = await currentKey();
  if (await find(key)) return "there is one";
  const py = await bootPlainly(new Parts(), { ...quiet, interruptFlag }, { toSnapshot: true });
  /** @type {import("./snapshot.js").Snapshot} */
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
 * @param {Uint8Array | null} interruptFlag
 */
async function alone(interruptFlag) {
  if (!navigator.locks) return leaveSnapshot(interruptFlag);
  return navigator.locks.request("py_tensor snapshot", { ifAvailable: true }, (lock) =>
    lock ? leaveSnapshot(interruptFlag) : "another page makes it",
  );
}

self.onmessage = async ({ data }) => {
  const outcome = await alone(data && new Uint8Array(data)).catch(String);
  self.postMessage({ outcome });
};
