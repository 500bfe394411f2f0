/**
 * Stores sessions in IndexedDB: one record describing the session, one for each input and one for each file. Each input
 * is written separately, so that appending does not rewrite the session.
 */

import { Empty, inStore, StorageError, within } from "../../worker/boot/database.js";

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
/** Contents may be large: a slow disk writes this many bytes per ms, and a read may take this long. */
const BYTES_PER_MS = 2000;
const READING_PATIENCE_MS = 60_000;
/** Records are read in groups of at most this many, and of about this many bytes. */
const MAX_GROUP = 500;
const MAX_GROUP_BYTES = 16 * 2 ** 20;

/** The database of the sessions had no object store, and was removed. */
export class Damaged extends Error {}

/** @returns {Promise<About[]>} the most recently changed one first */
export async function listSessions() {
  /** @type {unknown[]} */
  const found = await ask("readonly", (store) => store.getAll(all("about")));
  return found.filter(isAbout).sort((a, b) => b.changed - a.changed);
}

/**
 * @param {string} id
 * @returns {Promise<Numbered[]>} its inputs, in order; the record of one that cannot be read is undefined
 */
export async function readInputs(id) {
  const inputs = [];
  for await (const group of readRecords(all("input", id))) {
    for (const { key, value } of group) inputs.push({ n: Number(key[2]), record: value });
  }
  return inputs;
}

/**
 * @param {string} id
 * @returns {AsyncGenerator<{ path: string, bytes: File["bytes"] | null }[]>} its files in groups, so that not all of
 *   them are in memory twice; null: the file cannot be read
 */
export async function* readFiles(id) {
  for await (const group of readRecords(all("file", id))) {
    yield group.map(({ key, value }) => ({ path: String(key[2]), bytes: bytesOf(value) }));
  }
}

/**
 * @param {IDBKeyRange} range
 * @returns {AsyncGenerator<{ key: IDBValidKey[], value: unknown }[]>} undefined: the record cannot be read, which does
 *   not affect the others
 */
async function* readRecords(range) {
  const keys = await ask("readonly", (store) => store.getAllKeys(range));
  let size = 16;
  for (let i = 0; i < keys.length; ) {
    const wanted = keys.slice(i, i + size);
    try {
      const group = await readGroup(IDBKeyRange.bound(wanted[0], wanted.at(-1)));
      const bytes = group.reduce((sum, { value }) => sum + (value instanceof Uint8Array ? value.byteLength : 0), 0);
      size = bytes < MAX_GROUP_BYTES / 4 ? Math.min(2 * size, MAX_GROUP) : Math.max(1, Math.floor(size / 2));
      i += wanted.length;
      yield group;
    } catch (error) {
      if (error instanceof StorageError) throw error;
      if (wanted.length === 1) {
        i += 1;
        yield [{ key: /** @type {IDBValidKey[]} */ (wanted[0]), value: undefined }];
      }
      size = 1;
    }
  }
}

/** @param {IDBKeyRange} range */
async function readGroup(range) {
  /** @type {IDBRequest<IDBValidKey[]> | undefined} */
  let keys;
  const read = (/** @type {IDBObjectStore} */ store) => {
    keys = store.getAllKeys(range); // in one transaction with the values
    return store.getAll(range);
  };
  const values = await ask("readonly", read, READING_PATIENCE_MS);
  return values.map((value, i) => ({ key: /** @type {IDBValidKey[]} */ (keys?.result[i]), value }));
}

/**
 * @param {unknown} value
 * @returns {File["bytes"] | null} with a buffer of its own, which can be transferred
 */
function bytesOf(value) {
  if (!(value instanceof Uint8Array)) return null;
  const bytes = /** @type {File["bytes"]} */ (value);
  return bytes.byteLength === bytes.buffer.byteLength ? bytes : bytes.slice();
}

/**
 * @param {string} id
 * @param {string} path
 * @returns {Promise<File["bytes"] | null>} null if there is no such file, or it is damaged
 */
export async function readFile(id, path) {
  return bytesOf(await ask("readonly", (store) => store.get(["file", id, path]), READING_PATIENCE_MS));
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
  const write = (/** @type {IDBObjectStore} */ store) => {
    for (const path of removed) store.delete(["file", about.id, path]);
    for (const { path, bytes } of changed) store.put(bytes, ["file", about.id, path]);
    return store.put(about, ["about", about.id]);
  };
  const size = changed.reduce((sum, { bytes }) => sum + bytes.byteLength, 0);
  await ask("readwrite", write, PATIENCE_MS + size / BYTES_PER_MS);
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
  const copy = (/** @type {IDBObjectStore} */ store) => {
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
  };
  const size = about.bytes + about.fileBytes;
  await ask("readwrite", copy, PATIENCE_MS + (2 * size) / BYTES_PER_MS); // each record is read and written
}

/**
 * @template T
 * @param {IDBTransactionMode} mode
 * @param {(store: IDBObjectStore) => IDBRequest<T>} request
 * @param {number} [patience] ms
 * @returns {Promise<T>}
 */
async function ask(mode, request, patience = PATIENCE_MS) {
  try {
    return await within(inStore(SESSIONS, mode, request), patience);
  } catch (error) {
    if (!(error instanceof Empty)) throw error;
    indexedDB.deleteDatabase(SESSIONS.database); // so that it can be created again
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
