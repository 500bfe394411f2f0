/**
 * Where the browser keeps the snapshot: IndexedDB, one record at most.
 *
 * Reading 21 MB takes 10 ms there, 15 to 30 in the origin's private file system, 40 from a Cache,
 * and 140 where it was compressed (to 5.5 MB).
 */

import { currentBuild } from "../files.js";
import { inStore, within } from "./database.js";
import { isIntact } from "./snapshot.js";

/** @typedef {import("./snapshot.js").Snapshot} Snapshot */
/** @typedef {Snapshot | { unusable: string }} Kept the snapshot, or why none is to be made */

const SNAPSHOTS = { database: "py_tensor boot", store: "snapshots" };
/** A database that does not answer must not keep Python from starting. */
const PATIENCE_MS = 1500;

/**
 * What a snapshot depends on: every file of the page, the browser, and what Python takes over from
 * it when it starts, its language and its time zone.
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
 * @returns {Promise<Kept | null>} null where nothing is kept under this key, or nothing can be read
 */
export async function find(key) {
  const asked = inStore(SNAPSHOTS, "readonly", (store) => store.get(key));
  const kept = await within(asked, PATIENCE_MS).catch(() => null);
  return typeof kept === "object" ? (kept ?? null) : null; // of another type, a browser has damaged it
}

/**
 * The snapshot under this key, if it is sound; one that is not is removed.
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
 * Keep this, and nothing older. Rejects where there is no room, or no storage at all.
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
