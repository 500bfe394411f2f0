/**
 * Text of the editor that was not stored when the page was left: `localStorage` is written at once, IndexedDB is not.
 * Each session has its own key, and is open in one tab at a time (claim.js). So tabs do not overwrite each other's
 * text.
 */

import { readLocal, writeLocal } from "../ui/local.js";

/** @typedef {{ path: string, text: string }} Typed the text of a file as the editor shows it */

const PREFIX = "py_tensor.editor ";

/**
 * @param {string} id of the session
 * @param {Typed[]} files
 */
export function keepUnstored(id, files) {
  writeLocal(PREFIX + id, JSON.stringify(files)); // if it is unavailable or full, this text is lost
}

/**
 * @param {string} id of the session
 * @returns {Typed[]} the text, which is kept until `forgetUnstored`, because storing it may fail again
 */
export function readUnstored(id) {
  try {
    const files = JSON.parse(readLocal(PREFIX + id) ?? "[]");
    return files.map((/** @type {Typed} */ { path, text }) => ({ path: String(path), text: String(text) }));
  } catch {
    return []; // damaged
  }
}

/** @param {string} id of the session */
export function forgetUnstored(id) {
  writeLocal(PREFIX + id, null);
}
