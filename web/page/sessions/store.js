/**
 * Stores sessions in IndexedDB: one record describing the session, one for each input and one for each file. Each input
 * is written separately, so that appending does not rewrite the session.
 */

import { inStore, Silent, within } from "../../worker/boot/database.js";

/**
 * @typedef {object} About description of a session, without its contents
 * @property {1} format
 * @property {string} id
 * @property {string} name
 * @property {number} created in ms since 1970
 * @property {number} changed in ms since 1970
 * @property {number} inputs number of inputs
 * @property {number} bytes size of its inputs and outputs
 * @property {number} files number of files
 * @property {number} fileBytes
 * @property {EditorState} [editor] absent if the editor was never opened
 *
 * @typedef {object} EditorState the stored state of the editor, apart from its files
 * @property {boolean} isOpen
 * @property {string[]} tabs paths of the files that have a tab
 * @property {string | null} shown path of the file whose tab is shown
 *
 * @typedef {{ path: string, bytes: Uint8Array<ArrayBuffer> }} File below the home folder
 * @typedef {{ n: number, record: unknown }} Numbered an input's record, by its place in the session
 */

const SESSIONS = { database: "py_tensor sessions", store: "sessions" };
/** Timeout, so that the page works if the database does not answer. */
const PATIENCE_MS = 3000;

export { Silent };

/** The stored sessions cannot be read, and were removed. */
export class Damaged extends Error {}

/** @returns {Promise<About[]>} the most recently changed one first */
export async function listSessions() {
  /** @type {unknown[]} */
  const found = await ask("readonly", (store) => store.getAll(all("about")));
  return found.filter(isAbout).sort((a, b) => b.changed - a.changed);
}

/**
 * @param {string} id
 * @returns {Promise<Numbered[]>} its inputs, in order
 */
export async function readInputs(id) {
  const range = all("input", id);
  const keys = await ask("readonly", (store) => store.getAllKeys(range));
  const records = await ask("readonly", (store) => store.getAll(range));
  return records.map((record, i) => ({ n: Number(/** @type {IDBValidKey[]} */ (keys[i])[2]), record }));
}

/**
 * @param {string} id
 * @returns {Promise<File[]>}
 */
export async function readFiles(id) {
  const range = all("file", id);
  /** @type {IDBRequest<IDBValidKey[]> | undefined} */
  let keys;
  /** @type {unknown[]} */
  const contents = await ask("readonly", (store) => {
    keys = store.getAllKeys(range); // in one transaction with the contents
    return store.getAll(range);
  });
  return contents.flatMap((bytes, i) => {
    const path = /** @type {IDBValidKey[] | undefined} */ (keys?.result[i])?.[2];
    return bytes instanceof Uint8Array && typeof path === "string" ? [{ path, bytes: bytes.slice() }] : [];
  });
}

/**
 * @param {string} id
 * @param {string} path
 * @returns {Promise<File["bytes"] | null>} null if there is no such file
 */
export async function readFile(id, path) {
  const bytes = await ask("readonly", (store) => store.get(["file", id, path]));
  return bytes instanceof Uint8Array ? bytes.slice() : null;
}

/** @param {About} about */
export async function putAbout(about) {
  await ask("readwrite", (store) => store.put(about, ["about", about.id]));
}

/**
 * @param {About} about of the session, with this input
 * @param {number} n
 * @param {unknown} record
 */
export async function putInput(about, n, record) {
  await ask("readwrite", (store) => {
    store.put(record, ["input", about.id, n]);
    return store.put(about, ["about", about.id]);
  });
}

/**
 * @param {About} about of the session, without this input
 * @param {number} n
 */
export async function removeInput(about, n) {
  await ask("readwrite", (store) => {
    store.delete(["input", about.id, n]);
    return store.put(about, ["about", about.id]);
  });
}

/**
 * Store whether inputs are shown.
 *
 * @param {string} id
 * @param {number[]} numbers
 * @param {boolean} isCleared
 */
export async function markCleared(id, numbers, isCleared) {
  await ask("readwrite", (store) => {
    const requests = numbers.map((n) => {
      const request = store.get(["input", id, n]);
      request.onsuccess = () => {
        if (request.result) store.put({ ...request.result, isCleared }, ["input", id, n]);
      };
      return request;
    });
    return requests[0];
  });
}

/**
 * @param {About} about of the session, with these files
 * @param {File[]} changed
 * @param {string[]} removed
 */
export async function putFiles(about, changed, removed) {
  await ask("readwrite", (store) => {
    for (const path of removed) store.delete(["file", about.id, path]);
    for (const { path, bytes } of changed) store.put(bytes, ["file", about.id, path]);
    return store.put(about, ["about", about.id]);
  });
}

/** @param {string} id of the session to delete completely */
export async function removeSession(id) {
  await ask("readwrite", (store) => {
    store.delete(all("input", id));
    store.delete(all("file", id));
    return store.delete(["about", id]);
  });
}

/**
 * @param {string} from
 * @param {About} about of the copy
 */
export async function copySession(from, about) {
  await ask("readwrite", (store) => {
    for (const kind of ["input", "file"]) {
      const request = store.openCursor(all(kind, from));
      request.onsuccess = () => {
        const cursor = request.result;
        if (!cursor) return;
        const [, , place] = /** @type {IDBValidKey[]} */ (cursor.key);
        store.put(cursor.value, [kind, about.id, place]);
        cursor.continue();
      };
    }
    return store.put(about, ["about", about.id]);
  });
}

/**
 * @template T
 * @param {IDBTransactionMode} mode
 * @param {(store: IDBObjectStore) => IDBRequest<T>} request
 * @returns {Promise<T>}
 */
async function ask(mode, request) {
  try {
    return await within(inStore(SESSIONS, mode, request), PATIENCE_MS);
  } catch (error) {
    if (nameOf(error) !== "NotFoundError") throw error;
    indexedDB.deleteDatabase(SESSIONS.database); // its object store is missing, so nothing can be stored in it
    throw new Damaged("the stored sessions are damaged");
  }
}

/** @param {unknown} error */
export function nameOf(error) {
  return error instanceof DOMException || error instanceof Error ? error.name : "";
}

/** @param {string[]} start of the keys */
function all(...start) {
  return IDBKeyRange.bound(start, [...start, []]); // arrays sort after all other keys
}

/**
 * @param {any} value
 * @returns {value is About}
 */
function isAbout(value) {
  const numbers = ["created", "changed", "inputs", "bytes", "files", "fileBytes"];
  return (
    value?.format === 1 &&
    typeof value.id === "string" &&
    typeof value.name === "string" &&
    numbers.every((name) => Number.isFinite(value[name]))
  );
}
