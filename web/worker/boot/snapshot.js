/**
 * A snapshot: Python's memory with all that was imported, and the files that go with it.
 *
 * Pyodide's own snapshot (an undocumented option) is the Wasm memory alone. Its file system lives in
 * JavaScript, as does the list of loaded packages, so both are kept beside it.
 */

/** @typedef {import("pyodide").PyodideInterface} PyodideInterface */

/**
 * @typedef {object} Snapshot
 * @property {Uint8Array} memory as Pyodide wants it
 * @property {ArrayBuffer} digest SHA-256 of all else
 * @property {{ path: string, data: Uint8Array }[]} files
 * @property {Record<string, string>} packages from their names to where they came from
 */

/** What is there after a boot and not in Pyodide's own files. */
const FOLDERS = ["/lib/python3.13/site-packages", "/lib/py_tensor_page"];

/**
 * The snapshot of a Python that has run nothing of the user's, and will not be used any more.
 *
 * @param {PyodideInterface} py booted with `toSnapshot`
 * @returns {Promise<Snapshot>}
 */
export async function takeSnapshot(py) {
  py.runPython("import py_tensor_page.preload; py_tensor_page.preload.before_snapshot()");
  py.setInterruptBuffer(/** @type {any} */ (undefined)); // whoever loads it has another one
  const files = FOLDERS.flatMap((folder) => filesIn(py, folder));
  const packages = { ...py.loadedPackages };
  for (const name of Object.keys(packages)) delete py.loadedPackages[name]; // or it refuses
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
 * @returns {Promise<boolean>} whether it is what was kept
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
