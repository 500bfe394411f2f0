/** A session as files: a Python script, and a Jupyter notebook with its outputs as text. */

/**
 * @typedef {object} Cell an input and what came of it
 * @property {string} source
 * @property {string} printed
 * @property {string | null} result
 * @property {string | null} error the traceback
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
    printed: [...entry.querySelectorAll("pre.printed")].map(textOf).join(""),
    result: firstText(entry, "pre.result"),
    error: linesShown(entry.querySelector(".error")),
  }));
}

/**
 * @param {Cell[]} cells
 * @returns {string} a script of the inputs; what is not Python, such as %timeit, is a comment
 */
export function scriptOf(cells) {
  const inputs = cells.map(({ source }) => (NO_PYTHON.test(source) ? source.replace(/^/gm, "# ") : source));
  return `${[IMPORT, ...inputs].join("\n\n")}\n`;
}

/**
 * @param {Cell[]} cells
 * @returns {object} a notebook in nbformat 4.5
 */
export function notebookOf(cells) {
  return {
    cells: [{ source: IMPORT, printed: "", result: null, error: null }, ...cells].map(codeCell),
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
function codeCell(cell, i) {
  const count = i + 1;
  const { source, printed, result, error } = cell;
  const outputs = [];
  if (printed) outputs.push({ output_type: "stream", name: "stdout", text: linesOf(printed) });
  if (result !== null) {
    const data = { "text/plain": linesOf(result) };
    outputs.push({ output_type: "execute_result", execution_count: count, data, metadata: {} });
  }
  if (error !== null) outputs.push(errorOutput(error));
  return {
    cell_type: "code",
    id: `input-${count}`,
    execution_count: count,
    metadata: {},
    outputs,
    source: linesOf(source),
  };
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

/**
 * @param {Element} entry
 * @param {string} selector
 */
function firstText(entry, selector) {
  const found = entry.querySelector(selector);
  return found ? textOf(found).replace(/\n$/, "") : null;
}

/** @param {Element | null} element whose parts stand below each other */
function linesShown(element) {
  return element instanceof HTMLElement ? element.innerText.trimEnd() : null;
}
