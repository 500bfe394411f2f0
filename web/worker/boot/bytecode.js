/** The bytecode of the library and of the page's Python, as bytecode.mjs has compiled it. */

import { fetchFile, unpacked } from "../files.js";

/** @typedef {import("pyodide").PyodideInterface} PyodideInterface */
/** @typedef {{ path: string, data: Uint8Array }} File its path is below /lib */

const NEWLINE = 10;

/** @returns {Promise<File[]>} */
export async function fetchBytecode() {
  const response = unpacked(await fetchFile("worker/python/bytecode.bin"));
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
 * Put it where Python looks for it; it is taken where it was made from the source that is there.
 *
 * @param {PyodideInterface} py
 * @param {File[]} files
 */
export function installBytecode(py, files) {
  for (const { path, data } of files) {
    py.FS.mkdirTree(`/lib/${path.slice(0, path.lastIndexOf("/"))}`);
    py.FS.writeFile(`/lib/${path}`, data);
  }
}
