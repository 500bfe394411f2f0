/**
 * Pyodide with the library and the page's Python modules, booted plainly or from a snapshot.
 *
 * Either way, the same files exist and the same modules are imported. Nothing is connected to the
 * page yet.
 */

import { urlOf } from "../files.js";
import { fetchModules, installModules } from "./modules.js";
import { STDLIB_URL } from "./parts.js";
import { installSnapshot } from "./snapshot.js";

/** @typedef {import("pyodide").PyodideInterface} PyodideInterface */
/** @typedef {import("./parts.js").Parts} Parts */
/** @typedef {import("./snapshot.js").Snapshot} Snapshot */

/**
 * @typedef {object} Output receives Python's output before the streams are redirected
 * @property {(line: string) => void} stdout
 * @property {(line: string) => void} stderr
 *
 * @typedef {Output & { signals: import("./signals.js").Signals }} Options signals: interrupt Python's loops, and a boot
 *   that is no longer wanted
 */

/** The shortest WebAssembly module: a magic number and a version. */
const NOTHING = new Uint8Array([0, 0x61, 0x73, 0x6d, 1, 0, 0, 0]);

/**
 * @param {Parts} parts
 * @param {Options} options
 * @param {{ toSnapshot?: boolean }} [purpose] whether a snapshot will be made of it
 * @returns {Promise<PyodideInterface>}
 */
export async function bootPlainly(parts, options, { toSnapshot = false } = {}) {
  const modules = fetchModules();
  modules.catch(() => {});
  const py = await load(parts, { ...options, packages: ["py-tensor"], _makeSnapshot: toSnapshot });
  installModules(py, await modules);
  py.runPython("import sys; sys.path.append('/lib')");
  py.runPython("import py_tensor_page.preload");
  return py;
}

/**
 * Rejects if the snapshot does not fit; a plain boot is still possible then.
 *
 * @param {Snapshot} snapshot
 * @param {Parts} parts
 * @param {Options} options
 * @returns {Promise<PyodideInterface>}
 */
export async function bootFromSnapshot(snapshot, parts, options) {
  const py = await load(parts, { ...options, _loadSnapshot: snapshot.memory });
  installSnapshot(py, snapshot);
  return py;
}

/**
 * @param {Parts} parts
 * @param {Options & Record<string, unknown>} options including Pyodide's own options
 */
async function load(parts, { signals, ...options }) {
  const { loadPyodide } = await parts.pyodide;
  requireWebAssembly();
  const py = await parts.load(() =>
    loadPyodide({
      indexURL: urlOf("pyodide/"),
      lockFileContents: parts.lock,
      stdLibURL: STDLIB_URL,
      packageBaseUrl: urlOf("wheels/"),
      ...options,
    }),
  );
  signals.attach(/** @type {any} */ (py)._module);
  py.setInterruptBuffer(/** @type {any} */ (signals));
  return py;
}

/** Throws if WebAssembly is not allowed; Pyodide would wait forever without a message. */
function requireWebAssembly() {
  if (typeof WebAssembly === "undefined") throw new Error("This browser has no WebAssembly, which Python needs.");
  try {
    new WebAssembly.Module(NOTHING);
  } catch (error) {
    const policy = "its server's Content-Security-Policy must allow 'wasm-unsafe-eval'";
    throw new Error(`This page may not run WebAssembly: ${policy} (${error}).`);
  }
}
