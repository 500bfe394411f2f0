/**
 * The browser's storage of the snapshot: IndexedDB, with at most one record.
 *
 * Reading 21 MB takes 10 ms from IndexedDB, 15 to 30 ms from the origin private file system, 40 ms
 * from a Cache, and 140 ms if it is compressed (to 5.5 MB).
 */

import { currentBuild } from "../files.js";
import { inStore, within } from "./database.js";
import { isIntact } from "./snapshot.js";

/** @typedef {import("./snapshot.js").Snapshot} Snapshot */
/** @typedef {Snapshot | { unusable: string }} Kept the snapshot, or why none should be made */

const SNAPSHOTS = { database: "py_tensor boot", store: "snapshots" };
/** A database that does not respond must not keep Python from starting. */
const PATIENCE_MS = 1500;

/**
 * The key of a snapshot. It depends on every file of the page, the browser, and the browser settings
 * that Python reads when it starts: the language and the time zone.
 *
 * @returns {Promise<string>}
 */
export async function currentKey() {
  const build = await currentBuild();
  const { timeZone } = Intl.DateTimeFormat().resolvedOptions();
  return JSON.stringify([build, navigator.userAgent, navigator.language, timeZone]);
}

/**
 * @param {string} key
 * @returns {Promise<Kept | null>} null if nothing is stored under this key, or it cannot be read
 */
export async function find(key) {
  const asked = inStore(SNAPSHOTS, "readonly", (store) => store.get(key));
  const kept = await within(asked, PATIENCE_MS).catch(() => null);
  return typeof kept === "object" ? (kept ?? null) : null; // another type means damaged storage
}

/**
 * The snapshot under this key if it is intact; a damaged one is removed.
 *
 * @param {string} key
 * @returns {Promise<Snapshot | null>}
 */
export async function findSnapshot(key) {
  const kept = await find(key);
  if (kept === null || "unusable" in kept) return null;
  if (await isIntact(kept).catch(() => false)) return kept;
  await remove(key).catch(() => {});
  return null;
}

/**
 * Stores a record and removes older ones. Rejects if there is no space or no storage.
 *
 * @param {string} key
 * @param {Kept} kept
 */
export async function keep(key, kept) {
  await inStore(SNAPSHOTS, "readwrite", (store) => {
    store.clear();
    return store.put(kept, key);
  });
}

/** @param {string} key */
export async function remove(key) {
  await inStore(SNAPSHOTS, "readwrite", (store) => store.delete(key));
}
