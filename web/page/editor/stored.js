/**
 * The outputs in a notebook file (nbformat 4): printed text, errors, and displays and results as PNG, JPEG, SVG or
 * text. HTML and other types are never shown.
 */

import { TerminalText } from "../repl/terminal.js";
import { resultBlock } from "../repl/transcript.js";
import { h } from "../ui/dom.js";

/** @typedef {import("../repl/console.js").Console} Console */
/** @typedef {import("../repl/transcript.js").Entry} Entry */
/** @typedef {import("../display/bundles.js").ForeignBundle} ForeignBundle */

/** Types of pictures, the preferred one first. @type {[string, ForeignBundle["kind"]][]} */
const PICTURES = [
  ["image/png", "png"],
  ["image/jpeg", "jpeg"],
  ["image/svg+xml", "svg"],
];

/**
 * @param {string} source of the cell
 * @param {unknown[]} outputs of the cell in the file, not checked yet
 * @param {Console} repl
 * @returns {Entry | null} null if they contain no output
 */
export function storedEntry(source, outputs, { transcript, displays }) {
  const entry = transcript.entryOf(source);
  /** @type {string | null} */
  let error = null;
  for (const output of outputs) {
    const { output_type: type, name, text, data, ename, evalue, traceback } = /** @type {any} */ (output ?? {});
    if (type === "stream" && textOf(text)) entry.print(textOf(text), name === "stderr" ? "stderr" : "stdout");
    else if (type === "error")
      error = plain(textOf(traceback, "\n") || `${textOf(ename) || "Error"}: ${textOf(evalue)}`);
    else if (data && (type === "display_data" || type === "execute_result")) entry.show(drawn(data, displays));
  }
  if (error === null && entry.element.childElementCount < 2) return null;
  const ok = error === null;
  entry.finish({ ok, result: null, error, full_error: null, failure: null, interrupted: false });
  return entry;
}

/**
 * @param {Record<string, unknown>} mimes data by MIME type
 * @param {import("../display/displays.js").Displays} displays
 * @returns {HTMLElement}
 */
function drawn(mimes, displays) {
  const text = textOf(mimes["text/plain"]);
  const [type, kind] = PICTURES.find(([mime]) => textOf(mimes[mime])) ?? [];
  if (type && kind) {
    const picture = textOf(mimes[type]);
    const data = kind === "svg" ? picture : picture.replaceAll(/\s/g, "");
    return displays.restored({ kind, data, label: text || "Picture" });
  }
  if (text) return resultBlock(text);
  return h("p", { className: "note" }, `Not shown: output of type ${Object.keys(mimes).slice(0, 3).join(", ")}.`);
}

/**
 * @param {unknown} value a text or the lines of one, not checked yet
 * @param {string} [joint]
 * @returns {string} "" for anything else, which may not even be convertible to a string
 */
function textOf(value, joint = "") {
  const lines = Array.isArray(value) ? value : [value];
  return lines.every((line) => typeof line === "string") ? lines.join(joint) : "";
}

/** @param {string} text with the colours of a terminal, which are left out */
function plain(text) {
  const element = h("pre");
  const terminal = new TerminalText(element);
  terminal.write(text, "");
  terminal.draw();
  return element.textContent ?? "";
}
