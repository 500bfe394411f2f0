/** A session as files: a Python script, and a Jupyter notebook with its outputs, pictures included. */

import { mimesOf } from "./outputs.js";

/** @typedef {import("./outputs.js").Mimes} Mimes */
/**
 * @typedef {{ kind: "printed" | "result" | "error", text: string }} TextOutput of an error the traceback
 * @typedef {{ kind: "display", data: () => Promise<Mimes> }} DisplayOutput
 *
 * @typedef {object} Cell an input and what came of it
 * @property {string} source
 * @property {boolean} ok it has run, and did not fail
 * @property {(TextOutput | DisplayOutput)[]} outputs in order
 */

const IMPORT = "import py_tensor as pt";
/** An input that is a magic, or asks for help. */
const NO_PYTHON = /^\s*(%|\?)|^[^\n#"']*\?{1,2}\s*$/;

/**
 * The inputs and outputs that parts of a transcript show.
 *
 * @param {Iterable<Element>} parts
 * @returns {Cell[]}
 */
export function cellsOf(parts) {
  const entries = [...parts].filter((part) => part.matches(".entry:has(.source)"));
  return entries.map((entry) => ({
    source: [...entry.querySelectorAll(".source .line code")].map(textOf).join("\n"),
    ok: entry.classList.contains("done"),
    outputs: [...entry.children].flatMap(outputOf),
  }));
}

/**
 * The same of entries that are about to leave the page: their pictures are taken now, and need it no more.
 *
 * @param {Iterable<Element>} parts
 * @returns {Cell[]}
 */
export function cellsOfLeaving(parts) {
  const cells = cellsOf(parts);
  for (const output of cells.flatMap(({ outputs }) => outputs)) {
    if (output.kind !== "display") continue;
    const data = output.data();
    output.data = () => data;
  }
  return cells;
}

/**
 * @param {Element} element of an entry
 * @returns {Cell["outputs"]}
 */
function outputOf(element) {
  if (element.matches(".source, .note, .tensor, button")) return [];
  if (element.matches("pre.printed")) return [{ kind: "printed", text: textOf(element) }];
  if (element.matches("pre.result")) return [{ kind: "result", text: textOf(element).replace(/\n$/, "") }];
  if (element.matches(".error")) return [{ kind: "error", text: linesShown(element) }];
  return [{ kind: "display", data: () => mimesOf(element) }];
}

/**
 * @param {Cell[]} cells
 * @returns {string} a script of the inputs that ran without failing; what is not Python, such as %timeit, is a comment
 */
export function scriptOf(cells) {
  const ran = cells.filter(({ ok }) => ok);
  const inputs = ran.map(({ source }) => (NO_PYTHON.test(source) ? source.replace(/^/gm, "# ") : source));
  return `${[IMPORT, ...inputs].join("\n\n")}\n`;
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
  const written = await Promise.all(outputs.map((output) => writtenOutput(output, count)));
  return {
    cell_type: "code",
    id: `input-${count}`,
    execution_count: count,
    metadata: {},
    outputs: written.filter((output) => output !== null),
    source: linesOf(source),
  };
}

/**
 * @param {TextOutput | DisplayOutput} output
 * @param {number} count
 */
async function writtenOutput(output, count) {
  if (output.kind === "display") {
    const data = await output.data();
    const lines = Object.entries(data).map(([mime, text]) => [mime, mime === "image/png" ? text : linesOf(text)]);
    return lines.length ? { output_type: "display_data", data: Object.fromEntries(lines), metadata: {} } : null;
  }
  if (output.kind === "printed") return { output_type: "stream", name: "stdout", text: linesOf(output.text) };
  if (output.kind === "error") return errorOutput(output.text);
  const data = { "text/plain": linesOf(output.text) };
  return { output_type: "execute_result", execution_count: count, data, metadata: {} };
}

/** @param {string} traceback whose last line that begins at the margin names the exception */
function errorOutput(traceback) {
  const lines = traceback.trimEnd().split("\n");
  const last = lines.findLast((line) => /^[\w.]+(?:Error|Exception|Interrupt|Exit|Warning|Group)\b/.test(line)) ?? "";
  const [, ename = "Error", evalue = ""] = /^([\w.]+)(?:: (.*))?$/.exec(last) ?? [];
  return { output_type: "error", ename, evalue, traceback: lines };
}

/**
 * @param {string} text
 * @returns {string[]} its lines, each with its newline, as nbformat has them
 */
function linesOf(text) {
  return text.match(/[^\n]*\n|[^\n]+/g) ?? [];
}

/** @param {Element} element */
function textOf(element) {
  return element.textContent ?? "";
}

/** @param {Element} element whose parts stand below each other */
function linesShown(element) {
  return /** @type {HTMLElement} */ (element).innerText.trimEnd();
}
