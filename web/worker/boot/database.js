/** Storage for the next visit: IndexedDB, with one database and one object store for each purpose. */

/** @typedef {{ database: string, store: string }} Place the names of the database and of the store */

/**
 * @template T
 * @param {Place} place
 * @param {IDBTransactionMode} mode
 * @param {(store: IDBObjectStore) => IDBRequest<T>} ask
 * @returns {Promise<T>} the result of the request, once the transaction is complete
 */
export async function inStore(place, mode, ask) {
  const database = await open(place);
  try {
    return await new Promise((resolve, reject) => {
      const transaction = database.transaction(place.store, mode);
      const request = ask(transaction.objectStore(place.store));
      transaction.oncomplete = () => resolve(request.result);
      transaction.onabort = () => reject(transaction.error ?? request.error);
    });
  } finally {
    database.close();
  }
}

/** A database did not respond in time. */
export class Silent extends Error {}

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
      if (left === 0) reject(new Silent("the browser's storage does not respond"));
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
 * @param {Place} place
 * @returns {Promise<IDBDatabase>}
 */
function open({ database, store }) {
  return new Promise((resolve, reject) => {
    const request = indexedDB.open(database, 1);
    request.onupgradeneeded = () => request.result.createObjectStore(store);
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
}
