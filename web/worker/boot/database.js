/**
 * Storage for the next visit: IndexedDB, with one database and one object store for each purpose.
 *
 * A database of a newer version, or with other object stores, is left unchanged.
 */

/** @typedef {{ database: string, store: string }} Place the names of the database and of the store */

/** The version of every database. A page with another form of records must use a higher one. */
const VERSION = 1;

/** Storage cannot be used. The message is a clause that says why, for a sentence of the page. */
export class StorageError extends Error {}

/** Another program of this origin, or a newer version of the page, has written the database. */
export class Foreign extends StorageError {}

/** A newer version of the page has written the database. */
export class Newer extends Foreign {}

/** The browser does not let this page store anything. */
export class Refused extends StorageError {}

/** The browser cannot open or read a database, now or for good. */
class Failed extends StorageError {}

/** A database did not respond in time. */
export class Silent extends StorageError {}

/** A database has no object store, so nothing is or can be stored in it. */
export class Empty extends StorageError {}

const SPACE_PATIENCE_MS = 1000;
const NEWER = "a newer version of this page has written the stored data, which this version leaves unchanged";
const UNKNOWN = "the stored data has an unknown form, and is left unchanged";
export const REFUSED = "the browser stores no data for this page (private window or settings)";
const SILENT = "the browser’s storage does not respond";
const EMPTY = "the database was not created completely";

/**
 * @template T
 * @param {Place} place
 * @param {IDBTransactionMode} mode
 * @param {(store: IDBObjectStore) => IDBRequest<T>} ask
 * @returns {Promise<T>} the result of the request, once the transaction is complete
 * @throws {StorageError} if the database cannot be opened; otherwise the error of the transaction
 */
export async function inStore({ database: name, store }, mode, ask) {
  const database = await open(name, store);
  try {
    if (!database.objectStoreNames.contains(store)) {
      throw database.objectStoreNames.length ? new Foreign(UNKNOWN) : new Empty(EMPTY);
    }
    return await new Promise((resolve, reject) => {
      const transaction = database.transaction(store, mode);
      transaction.onabort = () => reject(transaction.error ?? new DOMException("aborted", "AbortError"));
      try {
        const request = ask(transaction.objectStore(store));
        transaction.oncomplete = () => resolve(request.result);
      } catch (error) {
        reject(error);
        transaction.abort(); // otherwise what was asked before would be written
      }
    });
  } finally {
    database.close();
  }
}

/**
 * @param {unknown} error of storing or reading something
 * @returns {string} why, as a clause
 */
export function reasonOf(error) {
  if (error instanceof StorageError) return error.message;
  const { name, message } = error instanceof Error ? error : new Error(String(error));
  if (name === "QuotaExceededError") return "browser storage is full";
  return `the browser’s storage failed (${message || name})`;
}

/**
 * @typedef {object} Space in bytes, for this origin
 * @property {number} used 0 if the browser does not say
 * @property {number} room what can still be stored; Infinity if the browser does not say. It may be less: Chromium names
 *   the same amount whatever is used
 */

/** @returns {Promise<Space>} */
export async function measureSpace() {
  try {
    const { quota, usage: used = 0 } = await within(navigator.storage.estimate(), SPACE_PATIENCE_MS);
    return { used, room: quota === undefined ? Number.POSITIVE_INFINITY : Math.max(0, quota - used) };
  } catch {
    return { used: 0, room: Number.POSITIVE_INFINITY };
  }
}

/** A timeout is divided into this many short waits, so that one period of a busy thread counts as one of them only. */
const WAITS = 10;

/**
 * @template T
 * @param {Promise<T>} asked
 * @param {number} patience ms
 * @returns {Promise<T>} rejected with `Silent` if there is no answer in time, because a database may never respond
 */
export async function within(asked, patience) {
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer;
  /** @type {Promise<never>} */
  const late = new Promise((_, reject) => {
    let left = WAITS;
    const wait = () => {
      if (left === 0) reject(new Silent(SILENT));
      else timer = setTimeout(wait, patience / WAITS);
      left -= 1;
    };
    wait();
  });
  try {
    return await Promise.race([asked, late]);
  } finally {
    clearTimeout(timer);
  }
}

/**
 * @param {string} name
 * @param {string} store created with the database
 * @returns {Promise<IDBDatabase>}
 */
async function open(name, store) {
  try {
    const request = indexedDB.open(name, VERSION);
    request.onupgradeneeded = () => request.result.createObjectStore(store);
    return await new Promise((resolve, reject) => {
      request.onsuccess = () => resolve(request.result);
      request.onerror = () => reject(request.error);
    });
  } catch (error) {
    throw whyClosed(error);
  }
}

/**
 * @param {unknown} error of opening a database
 * @returns {unknown} in words, except if storage is full
 */
function whyClosed(error) {
  const { name, message } = error instanceof Error ? error : new Error(String(error));
  switch (name) {
    case "QuotaExceededError":
      return error;
    case "VersionError":
      return new Newer(NEWER);
    case "UnknownError": // the disk cannot be read or is full, or the files of the browser are damaged
    case "AbortError": // the connection was closed, for example because the user deletes the data of the site
    case "TimeoutError":
      return new Failed(`the browser could not open its storage (${message || name})`);
    default: // SecurityError; InvalidStateError in private windows of Firefox; there is no `indexedDB`
      return new Refused(REFUSED);
  }
}
