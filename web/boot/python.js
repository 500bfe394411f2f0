/**
 * Pyodide with the library and the page's own Python in it: booted plainly, or from a snapshot.
 *
 * Either way the same files are there and the same modules are imported; nothing of the page is
 * tied to them yet.
 */

import { fetchFile, urlOf } from "./files.js";
import { installSnapshot } from "./snapshot.js";

/** @typedef {import("pyodide").PyodideInterface} PyodideInterface */
/** @typedef {import("./snapshot.js").Snapshot} Snapshot */

/**
 * @typedef {object} Parts what is fetched for a boot
 * @property {Promise<any>} lock Pyodide's lock file
 * @property {Promise<typeof import("pyodide")>} pyodide
 *
 * @typedef {object} Output where Python's lines go while nothing else takes them
 * @property {(line: string) => void} stdout
 * @property {(line: string) => void} stderr
 */

const SOURCES = ["__init__.py", "benchmarks.py", "boot.py", "interrupts.py", "loader.py", "preload.py", "session.py"];
const FOLDER = "/lib/py_tensor_page";

/**
 * Begins to fetch what every boot needs. What fails rejects where it is awaited.
 *
 * @returns {Parts}
 */
export function fetchParts() {
  const lock = fetchFile("pyodide/lock.json").then((response) => response.json());
  /** @type {Promise<typeof import("pyodide")>} */
  const pyodide = import(urlOf("pyodide/pyodide.mjs"));
  const engine = import(urlOf("pyodide/pyodide.asm.js")); // Pyodide would ask for it later
  for (const begun of [lock, pyodide, engine]) begun.catch(() => {});
  return { lock, pyodide };
}

/**
 * @param {Parts} parts
 * @param {Output} output
 * @param {{ toSnapshot?: boolean }} [options] whether a snapshot is to be made of it
 * @returns {Promise<PyodideInterface>}
 */
export async function bootPlainly(parts, output, { toSnapshot = false } = {}) {
  const sources = fetchSources();
  sources.catch(() => {});
  const py = await load(parts, { ...output, packages: ["py-tensor"], _makeSnapshot: toSnapshot });
  py.FS.mkdirTree(FOLDER);
  for (const [name, text] of await sources) py.FS.writeFile(`${FOLDER}/${name}`, text);
  py.runPython("import sys; sys.path.append('/lib')");
  py.runPython("import py_tensor_page.preload");
  return py;
}

/**
 * Rejects where the snapshot does not fit; then a plain boot is still possible.
 *
 * @param {Snapshot} snapshot
 * @param {Parts} parts
 * @param {Output} output
 * @returns {Promise<PyodideInterface>}
 */
export async function bootFromSnapshot(snapshot, parts, output) {
  const py = await load(parts, { ...output, _loadSnapshot: snapshot.memory });
  installSnapshot(py, snapshot);
  return py;
}

/**
 * @param {Parts} parts
 * @param {Record<string, unknown>} options
 */
async function load(parts, options) {
  const { loadPyodide } = await parts.pyodide;
  return loadPyodide({
    indexURL: urlOf("pyodide/"),
    lockFileContents: parts.lock,
    packageBaseUrl: urlOf("wheels/"),
    ...options,
  });
}

/** @returns {Promise<[name: string, text: string][]>} the page's own Python */
function fetchSources() {
  return Promise.all(
    SOURCES.map(
      async (name) => /** @type {[string, string]} */ ([name, await (await fetchFile(`python/${name}`)).text()]),
    ),
  );
}
