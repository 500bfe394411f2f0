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

/**
 * @template T
 * @param {Promise<T>} asked
 * @param {number} patience ms
 * @returns {Promise<T>} rejected where the answer does not come in time: a database may never give one
 */
export function within(asked, patience) {
  return new Promise((resolve, reject) => {
    setTimeout(() => reject(new Error("the browser's storage does not answer")), patience);
    asked.then(resolve, reject);
  });
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
