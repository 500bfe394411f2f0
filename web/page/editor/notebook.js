/**
 * Notebooks as programs: `# %%` begins a cell of code, `# %% [markdown]` one of text, which stands in comments (the
 * "percent" format of Jupytext, which Spyder and VS Code read too).
 */

import { cellsOf, isMarker } from "./cells.js";

/**
 * @typedef {object} NotebookCell
 * @property {string} cell_type
 * @property {string | string[]} source
 * @property {{ title?: unknown }} [metadata]
 * @property {unknown} [outputs]
 */

/**
 * @param {string} json
 * @returns {string} the program
 * @throws {SyntaxError} where it is no notebook
 */
export function programOf(json) {
  const notebook = JSON.parse(json);
  if (!Array.isArray(notebook?.cells)) throw new SyntaxError("a notebook has a list of cells");
  return notebook.cells.map(percent).join("\n");
}

/**
 * @param {string} json of a notebook
 * @returns {{ from: number, to: number, outputs: unknown[] }[]} the outputs of its cells of code, with the place of
 *   each cell in the program
 */
export function outputsOf(json) {
  let from = 0;
  return JSON.parse(json).cells.flatMap((/** @type {NotebookCell} */ cell) => {
    const { cell_type: type, outputs } = cell;
    const place = { from, to: from + percent(cell).length - 1 };
    from = place.to + 2;
    return type === "code" && Array.isArray(outputs) && outputs.length ? [{ ...place, outputs }] : [];
  });
}

/** @param {NotebookCell} cell */
function percent({ cell_type: type, source, metadata }) {
  const text = (Array.isArray(source) ? source.join("") : String(source ?? "")).replaceAll("\r\n", "\n").trimEnd();
  const title = typeof metadata?.title === "string" ? ` ${metadata.title}` : "";
  if (type === "code") return `# %%${title}\n${text}\n`;
  return `# %% [${type}]\n${text.replace(/^(?=.)/gm, "# ").replace(/^$/gm, "#")}\n`;
}

/**
 * @param {string} program
 * @param {string} opened the notebook's JSON when it was opened, or "". Its metadata stay, and cells with the same
 *   text keep their outputs, as they are there
 * @returns {string} a notebook in nbformat 4.5
 */
export function notebookOf(program, opened) {
  const old = parsed(opened);
  const unchanged = (old.cells ?? []).map((cell) => ({ cell, text: percent(cell).trimEnd() }));
  const cells = cellsOf(program)
    .filter(({ from, to }) => program.slice(from, to).trim())
    .map((cell, i) => {
      const text = program.slice(cell.from, cell.to).trimEnd();
      const made = jupyterCell(text, cell, i);
      const at = unchanged.findIndex((other) => other.text === text);
      return at < 0 ? made : { ...made, ...unchanged.splice(at, 1)[0]?.cell };
    });
  const ids = new Set();
  for (const cell of cells) {
    while (ids.has(cell.id)) cell.id += "x";
    ids.add(cell.id);
  }
  const metadata = {
    kernelspec: { display_name: "Python 3", language: "python", name: "python3" },
    language_info: { name: "python" },
    ...old.metadata,
  };
  return `${JSON.stringify({ cells, metadata, nbformat: 4, nbformat_minor: 5 }, null, 1)}\n`;
}

/**
 * @param {string} text
 * @param {import("./cells.js").Cell} cell
 * @param {number} i
 */
function jupyterCell(text, { isText, title }, i) {
  const lines = text.split("\n");
  const body = (isMarker(lines[0]) ? lines.slice(1) : lines).join("\n").replace(/^\n+|\s+$/g, "");
  const id = `cell-${i + 1}`;
  if (!isText) {
    const metadata = title ? { title } : {};
    return { cell_type: "code", id, execution_count: null, metadata, outputs: [], source: linesOf(body) };
  }
  const type = /^\[raw\]/.test(title) ? "raw" : "markdown";
  return { cell_type: type, id, metadata: {}, source: linesOf(body.replace(/^# ?/gm, "")) };
}

/**
 * @param {string} json
 * @returns {{ metadata?: object, cells?: any[] }}
 */
function parsed(json) {
  try {
    return JSON.parse(json);
  } catch {
    return {}; // there is none yet
  }
}

/**
 * @param {string} text
 * @returns {string[]} its lines, each with its newline, as nbformat has them
 */
function linesOf(text) {
  return text.match(/[^\n]*\n|[^\n]+/g) ?? [];
}
