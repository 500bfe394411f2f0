/**
 * A snapshot: Python's memory with all imported modules, and the files that belong to it.
 *
 * Pyodide's own snapshot (an undocumented option) is only the Wasm memory. The file system and the
 * list of loaded packages are in JavaScript, so both are stored with it.
 */

/** @typedef {import("pyodide").PyodideInterface} PyodideInterface */

/**
 * @typedef {object} Snapshot
 * @property {Uint8Array} memory in Pyodide's format
 * @property {ArrayBuffer} digest SHA-256 of everything else
 * @property {{ path: string, data: Uint8Array }[]} files
 * @property {Record<string, string>} packages name -> origin
 */

/** The folders that a boot adds to Pyodide's own files. */
const FOLDERS = ["/lib/python3.13/site-packages", "/lib/py_tensor_page"];

/**
 * Takes a snapshot of a Python that has not run user code and will not be used again.
 *
 * @param {PyodideInterface} py booted with `toSnapshot`
 * @returns {Promise<Snapshot>}
 */
export async function takeSnapshot(py) {
  py.runPython("import py_tensor_page.preload; py_tensor_page.preload.before_snapshot()");
  py.setInterruptBuffer(/** @type {any} */ (undefined)); // the worker that loads it sets its own
  const files = FOLDERS.flatMap((folder) => filesIn(py, folder));
  const packages = { ...py.loadedPackages };
  for (const name of Object.keys(packages)) delete py.loadedPackages[name]; // otherwise Pyodide refuses
  const memory = /** @type {any} */ (py).makeMemorySnapshot();
  return { memory, digest: await digestOf({ memory, files, packages }), files, packages };
}

/**
 * Completes a Python that was loaded with the snapshot's memory.
 *
 * @param {PyodideInterface} py
 * @param {Snapshot} snapshot
 */
export function installSnapshot(py, { files, packages }) {
  for (const { path, data } of files) {
    py.FS.mkdirTree(path.slice(0, path.lastIndexOf("/")));
    py.FS.writeFile(path, data);
  }
  Object.assign(py.loadedPackages, packages);
  py.runPython("import py_tensor_page.preload; py_tensor_page.preload.after_snapshot()");
}

/**
 * @param {Snapshot} snapshot
 * @returns {Promise<boolean>} whether it is undamaged
 */
export async function isIntact(snapshot) {
  const [found, kept] = [new Uint8Array(await digestOf(snapshot)), new Uint8Array(snapshot.digest)];
  return found.length === kept.length && found.every((byte, i) => byte === kept[i]);
}

/** @param {Omit<Snapshot, "digest">} snapshot */
async function digestOf({ memory, files, packages }) {
  const listed = JSON.stringify([files.map(({ path, data }) => [path, data.length]), packages]);
  const parts = [...files.map(({ data }) => data), new TextEncoder().encode(listed)];
  const others = await new Blob(/** @type {BlobPart[]} */ (parts)).arrayBuffer();
  const hash = (/** @type {BufferSource} */ bytes) => crypto.subtle.digest("SHA-256", bytes);
  const hashes = await Promise.all([hash(/** @type {Uint8Array<ArrayBuffer>} */ (memory)), hash(others)]);
  return hash(await new Blob(hashes).arrayBuffer());
}

/**
 * @param {PyodideInterface} py
 * @param {string} folder
 * @returns {{ path: string, data: Uint8Array }[]}
 */
function filesIn(py, folder) {
  return py.FS.readdir(folder)
    .filter((/** @type {string} */ name) => ![".", "..", "__pycache__"].includes(name))
    .flatMap((/** @type {string} */ name) => {
      const path = `${folder}/${name}`;
      return py.FS.isDir(py.FS.stat(path).mode) ? filesIn(py, path) : [{ path, data: py.FS.readFile(path) }];
    });
}
