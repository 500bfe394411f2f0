/** The contents of the editor's files: the text of a program or a notebook, and their bytes. */

import { isSlowLine } from "../ui/bounds.js";
import { isNotebook } from "./cells.js";
import { followText } from "./code.js";
import { Notebook } from "./notebook.js";

/** @typedef {import("../sessions/store.js").File} KeptFile */

/** A longer text is not opened; a notebook, which may contain pictures, always is. */
const LONGEST_TEXT = 2 * 2 ** 20;
/** CodeMirror draws a whole line at least once: a line of 200,000 spaces takes 2 s. */
const MAX_LINE = 50_000;

/**
 * @param {string} path
 * @returns {boolean} whether the file has cells to run: a program or a notebook
 */
export function isProgram(path) {
  return /\.(?:py|ipynb)$/i.test(path);
}

/**
 * @param {string} path
 * @param {Uint8Array} bytes
 * @returns {{ text: string, json: string, notebook: Notebook | null } | null} the text in the editor; null if the file
 *   is not text, or is too long or has too long lines
 */
export function textOf(path, bytes) {
  const text = bytes.byteLength > LONGEST_TEXT && !isNotebook(path) ? null : decoded(bytes);
  if (text === null) return null;
  if (!isNotebook(path)) return editable({ text: text.replaceAll(/\r\n?/g, "\n"), json: "", notebook: null });
  try {
    const notebook = new Notebook(text);
    return editable({ text: notebook.program, json: text, notebook });
  } catch {
    return null;
  }
}

/**
 * @template {{ text: string }} T
 * @param {T} opened
 * @returns {T | null} null if it has a line that is too long to edit
 */
function editable(opened) {
  return opened.text.split("\n").some((line) => line.length > MAX_LINE || isSlowLine(line)) ? null : opened;
}

/**
 * @param {string} path
 * @param {string} to its new name
 * @param {KeptFile["bytes"]} bytes
 * @returns {KeptFile["bytes"]} the content under the new name: the same, unless a program becomes a notebook or a
 *   notebook a program
 */
export function converted(path, to, bytes) {
  const isPython = (/** @type {string} */ name) => /\.py$/i.test(name);
  const text = textOf(path, bytes)?.text;
  if (text === undefined) return bytes;
  if (isNotebook(path) && isPython(to)) return encoded(text);
  const isWritten = text.trim() !== "" && textOf(to, bytes) !== null; // the JSON of a notebook
  return isPython(path) && isNotebook(to) && !isWritten ? notebookBytes(text) : bytes;
}

/**
 * @param {string} text of its program
 * @param {Notebook | null} [notebook] that is changed; by default a new one
 * @returns {KeptFile["bytes"]} the file of the notebook
 */
export function notebookBytes(text, notebook) {
  const changed = notebook ?? new Notebook("");
  followText(changed, text);
  return encoded(changed.json);
}

/** @param {string} text */
export function encoded(text) {
  return new TextEncoder().encode(text);
}

/**
 * @param {Uint8Array} bytes
 * @returns {string | null} the text; null if the bytes are not UTF-8 or contain a NUL
 */
export function decoded(bytes) {
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    return text.includes("\0") ? null : text;
  } catch {
    return null;
  }
}

/**
 * @param {string} path of a file that is not text
 * @returns {string} code that reads the file
 */
export function codeToRead(path) {
  const name = JSON.stringify(path);
  if (/\.np[yz]$/i.test(path)) return `pt.load(${name})`;
  if (/\.(?:png|jpe?g|webp|gif|bmp|avif)$/i.test(path)) return `pt.imshow(pt.imread(${name}))`;
  if (/\.whl$/i.test(path)) return `import micropip\nawait micropip.install("emfs:/home/pyodide/" + ${name})`;
  return `open(${name}, "rb").read()`;
}
