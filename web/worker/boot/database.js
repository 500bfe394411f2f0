/** What the browser keeps for the next visit: IndexedDB, one database with one store for each purpose. */

/** @typedef {{ database: string, store: string }} Place by their names */

/**
 * @template T
 * @param {Place} place
 * @param {IDBTransactionMode} mode
 * @param {(store: IDBObjectStore) => IDBRequest<T>} ask
 * @returns {Promise<T>} what the request brought, once the transaction is complete
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

/** A database gave no answer in time. */
export class Silent extends Error {}

/** A patience is as many short waits: time in which this thread is busy, and hears no answer, is one of them. */
const WAITS = 10;

/**
 * @template T
 * @param {Promise<T>} asked
 * @param {number} patience ms
 * @returns {Promise<T>} rejected by `Silent` where the answer does not come in time: a database may never give one
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
