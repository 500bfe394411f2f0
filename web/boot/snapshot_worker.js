/**
 * A worker that leaves a snapshot for the next visit: it boots Python once more, since the Python
 * that the user works in cannot be copied. It posts one message when it is done, and is of no more use.
 */

import { bootPlainly, fetchParts } from "./python.js";
import { takeSnapshot } from "./snapshot.js";
import { currentKey, find, keep } from "./store.js";

const quiet = { stdout: () => {}, stderr: () => {} };

/** @returns {Promise<string>} what became of it, for whoever looks for a reason */
async function leaveSnapshot() {
  const key = await currentKey();
  if (await find(key)) return "there is one";
  const py = await bootPlainly(fetchParts(), quiet, { toSnapshot: true });
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

/** One page of this origin at a time: others find it done, or have it done by this one. */
function alone() {
  if (!navigator.locks) return leaveSnapshot();
  return navigator.locks.request("py_tensor snapshot", { ifAvailable: true }, (lock) =>
    lock ? leaveSnapshot() : "another page makes it",
  );
}

Promise.resolve(alone()).then(
  (outcome) => self.postMessage({ outcome }),
  (error) => self.postMessage({ outcome: String(error) }),
);
