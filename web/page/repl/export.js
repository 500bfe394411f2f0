/** A session as a Jupyter notebook with its outputs, pictures included. */

import { failureOf } from "./failure.js";
import { mimesOf } from "./outputs.js";
import { IMPORT } from "./script.js";
import { sourceOf } from "./transcript.js";

/** @typedef {import("./outputs.js").Mimes} Mimes */
/**
 * @typedef {"stdout" | "stderr"} Stream
 * @typedef {{ kind: "result", text: string } | { kind: "printed", name: Stream, text: string }} TextOutput
 * @typedef {{ kind: "error", text: string, type: string, message: string }} ErrorOutput text: the traceback
 * @typedef {{ kind: "display", data: () => Promise<Mimes> }} DisplayOutput
 *
 * @typedef {object} Cell an input and its outputs
 * @property {string} source
 * @property {boolean} ok it ran and did not fail
 * @property {(TextOutput | ErrorOutput | DisplayOutput)[]} outputs in order
 */

/**
 * The inputs and outputs in parts of a transcript. Their elements need not be in the page.
 *
 * @param {Iterable<Element>} parts
 * @returns {Cell[]}
 */
export function cellsOf(parts) {
  const entries = [...parts].filter((part) => part.matches(".entry:has(.source)"));
  return entries.map((entry) => ({
    source: sourceOf(entry),
    ok: entry.classList.contains("done"),
    outputs: [...entry.children].flatMap(outputOf),
  }));
}

/**
 * @param {Element} element of an entry
 * @returns {Cell["outputs"]}
 */
function outputOf(element) {
  if (element.matches(".source, .note, .tensor, button")) return [];
  if (element.matches("pre.printed")) return printed(element);
  if (element.matches("pre.result")) return [{ kind: "result", text: textOf(element).replace(/\n$/, "") }];
  const failure = failureOf(element);
  if (failure) return [{ kind: "error", ...failure }];
  return [{ kind: "display", data: () => mimesOf(element) }];
}

/** @param {Element} element whose parts of one style are elements (repl/terminal.js) */
function printed(element) {
  /** @type {{ kind: "printed", name: Stream, text: string }[]} */
  const found = [];
  for (const part of element.firstElementChild?.children ?? []) {
    const name = part.classList.contains("stderr") ? "stderr" : "stdout";
    const last = found.at(-1);
    if (last?.name === name) last.text += textOf(part);
    else found.push({ kind: "printed", name, text: textOf(part) });
  }
  return found;
}

/**
 * @param {Cell[]} cells
 * @returns {Promise<object>} a notebook in nbformat 4.5
 */
export async function notebookOf(cells) {
  const all = [{ source: IMPORT, ok: true, outputs: [] }, ...cells];
  return {
    cells: await Promise.all(all.map(codeCell)),
    metadata: {
      kernelspec: { display_name: "Python 3", language: "python", name: "python3" },
      language_info: { name: "python" },
    },
    nbformat: 4,
    nbformat_minor: 5,
  };
}

/**
 * @param {Cell} cell
 * @param {number} i
 */
async function codeCell({ source, outputs }, i) {
  const count = i + 1;
  return {
    cell_type: "code",
    id: `input-${count}`,
    execution_count: count,
    metadata: {},
    outputs: await writtenOutputs(outputs, count),
    source: linesOf(source),
  };
}

/**
 * @param {Cell["outputs"]} outputs
 * @param {number} count of the input
 * @returns {Promise<object[]>} in nbformat
 */
export async function writtenOutputs(outputs, count) {
  const written = await Promise.all(outputs.map((output) => writtenOutput(output, count)));
  return written.filter((output) => output !== null);
}

/**
 * @param {Cell["outputs"][number]} output
 * @param {number} count
 */
async function writtenOutput(output, count) {
  if (output.kind === "display") {
    const data = await output.data();
    const lines = Object.entries(data).map(([mime, text]) => [mime, mime === "image/png" ? text : linesOf(text)]);
    return lines.length ? { output_type: "display_data", data: Object.fromEntries(lines), metadata: {} } : null;
  }
  if (output.kind === "printed") return { output_type: "stream", name: output.name, text: linesOf(output.text) };
  if (output.kind === "error") return errorOutput(output);
  const data = { "text/plain": linesOf(output.text) };
  return { output_type: "execute_result", execution_count: count, data, metadata: {} };
}

/** @param {ErrorOutput} error */
function errorOutput({ text, type, message }) {
  const ename = type.split(".").at(-1); // without the class or function that contains the exception's class
  return { output_type: "error", ename, evalue: message, traceback: text.trimEnd().split("\n") };
}

/**
 * @param {string} text
 * @returns {string[]} its lines, each with its newline, as in nbformat
 */
function linesOf(text) {
  return text.match(/[^\n]*\n|[^\n]+/g) ?? [];
}

/** @param {Element} element */
function textOf(element) {
  return element.textContent ?? "";
}
