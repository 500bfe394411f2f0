/** Files dropped on the page, including those in folders. */

/** @typedef {{ path: string, file: File }} Dropped */

/**
 * @param {DataTransfer} transfer empty once its event has been handled
 * @returns {Promise<Dropped[]>}
 */
export async function droppedFiles(transfer) {
  const entries = [...transfer.items].flatMap((item) => item.webkitGetAsEntry?.() ?? []);
  const files = [...transfer.files];
  if (!entries.some(({ isDirectory }) => isDirectory)) return files.map((file) => ({ path: file.name, file }));
  /** @type {Dropped[]} */
  const found = [];
  for (const entry of entries) await walk(entry, entry.name, found);
  return found;
}

/**
 * @param {FileSystemEntry} entry
 * @param {string} path
 * @param {Dropped[]} found
 */
async function walk(entry, path, found) {
  if (entry.name.startsWith(".")) return;
  if (entry.isFile) {
    const file = /** @type {FileSystemFileEntry} */ (entry);
    found.push({ path, file: await new Promise((resolve, reject) => file.file(resolve, reject)) });
    return;
  }
  const reader = /** @type {FileSystemDirectoryEntry} */ (entry).createReader();
  for (;;) {
    /** @type {FileSystemEntry[]} */
    const some = await new Promise((resolve, reject) => reader.readEntries(resolve, reject)); // in batches
    if (!some.length) return;
    for (const each of some) await walk(each, `${path}/${each.name}`, found);
  }
}
