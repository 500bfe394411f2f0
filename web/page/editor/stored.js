/**
 * The outputs in a notebook file (nbformat 4): printed text, errors, and displays and results as PNG, JPEG, SVG or
 * text. HTML and other types are never shown.
 */

import { TerminalText } from "../repl/terminal.js";
import { resultBlock } from "../repl/transcript.js";
import { cut } from "../ui/bounds.js";
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
 * @param {any} output of a cell in a file, not checked yet
 * @returns {boolean} whether there is something to show
 */
export function hasOutput(output) {
  const { output_type: type, text, data } = output ?? {};
  if (type === "stream") return textOf(text) !== "";
  return type === "error" || (Boolean(data) && (type === "display_data" || type === "execute_result"));
}

/**
 * @param {Entry} entry of the cell
 * @param {unknown[]} outputs for which `hasOutput` is true
 * @param {Console} repl
 */
export function drawStored(entry, outputs, { displays }) {
  /** @type {string | null} */
  let error = null;
  let interrupted = false;
  for (const output of outputs) {
    const { output_type: type, name, text, data, ename, evalue, traceback } = /** @type {any} */ (output ?? {});
    if (type === "stream") entry.print(textOf(text), name === "stderr" ? "stderr" : "stdout");
    else if (type === "error") {
      error = plain(cut(textOf(traceback, "\n") || `${textOf(ename) || "Error"}: ${textOf(evalue)}`));
      interrupted = ename === "KeyboardInterrupt" && !textOf(evalue); // a program's own may have a message
    } else entry.show(drawn(data, displays));
  }
  const ok = error === null;
  entry.finish({ ok, result: null, error, full_error: null, failure: null, interrupted });
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
