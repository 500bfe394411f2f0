/** The page's Python modules, and the bytecode of these and of the library, as packed by web/build/bytecode.mjs. */

import { fetchFile, unpacked } from "../files.js";

/** @typedef {import("pyodide").PyodideInterface} PyodideInterface */
/** @typedef {{ path: string, data: Uint8Array }} File the path is relative to /lib */

const NEWLINE = 10;

/** @returns {Promise<File[]>} */
export async function fetchModules() {
  const response = unpacked(await fetchFile("worker/python/modules.bin"));
  const bytes = new Uint8Array(await response.arrayBuffer());
  let at = bytes.indexOf(NEWLINE) + 1;
  /** @type {[path: string, size: number][]} */
  const sizes = JSON.parse(new TextDecoder().decode(bytes.subarray(0, at)));
  return sizes.map(([path, size]) => {
    at += size;
    return { path, data: bytes.subarray(at - size, at) };
  });
}

/**
 * Installs the modules where Python finds them. Python uses bytecode that matches the installed source.
 *
 * @param {PyodideInterface} py
 * @param {File[]} files
 */
export function installModules(py, files) {
  for (const { path, data } of files) {
    py.FS.mkdirTree(`/lib/${path.slice(0, path.lastIndexOf("/"))}`);
    py.FS.writeFile(`/lib/${path}`, data);
  }
}
