/**
 * Notebooks as programs: `# %%` begins a code cell, and `# %% [markdown]` a text cell, whose text is in comments (the
 * "percent" format of Jupytext, which Spyder and VS Code also read). If a cell itself contains such a line, the program
 * has an additional `# ` in it.
 */

import { cellsOf, endOfCode, isMarker } from "./cells.js";

/** @typedef {import("./cells.js").Cell} Place of a cell in the program */
/** @typedef {{ cell: NotebookCell, from: number, to: number }} Tracked where the code of a cell is; -1: deleted there */

/**
 * @typedef {object} NotebookCell a cell as in the file, possibly with other keys
 * @property {string} cell_type
 * @property {string} [id]
 * @property {string | string[]} source
 * @property {{ title?: unknown }} [metadata]
 * @property {unknown} [outputs]
 * @property {unknown} [execution_count]
 */

/** Lines within a cell that would begin a cell, or that are escaped. */
const WITHIN = /^([ \t]*)#(?=(?: #)*[ \t]*(?:%%|In\[[ \d]*\]))/gm;
const ESCAPED = /^([ \t]*)# #(?=(?: #)*[ \t]*(?:%%|In\[[ \d]*\]))/gm;
const NOT_ASCII = /[\u0080-\uffff]/;
/** A number, as the value of a key or in a list; a text may contain others. */
const NUMBER = /[[,:]\s*-?\d/g;
/** The text of numbers is kept in files with at most this many: it takes 1 s for a million. */
const MAX_NUMBERS = 200_000;

export class Notebook {
  /**
   * @param {string} json of the file; "" for a new one
   * @throws {SyntaxError} if it is not a notebook
   */
  constructor(json) {
    const isNew = !json.trim();
    /** The file's contents. */
    this.file = isNew ? blank() : hasMoreNumbers(json) ? JSON.parse(json) : JSON.parse(json, exact);
    if (!Array.isArray(this.file?.cells)) throw new SyntaxError("a notebook has a list of cells");
    // The formatting of the file.
    this.indent = isNew ? " " : (/^\s*\{\r?\n([ \t]+)/.exec(json)?.[1] ?? "");
    this.end = isNew || json.endsWith("\n") ? "\n" : "";
    this.isAscii = /\\u(?!00[01])/.test(json) && !NOT_ASCII.test(json);
    /** The ids of all cells, including past ones. */
    this.ids = new Set(this.cells.map((cell) => cell?.id));
    /** Cells that were removed from the program, and may return. @type {NotebookCell[]} */
    this.removed = [];
    /** Cells whose outputs were removed from view together with code. @type {WeakSet<NotebookCell>} */
    this.unseen = new WeakSet();
  }

  /** @returns {NotebookCell[]} one for each cell of the program */
  get cells() {
    return this.file.cells;
  }

  get json() {
    const json = JSON.stringify(this.file, null, this.indent) + this.end;
    return this.isAscii ? json.replaceAll(new RegExp(NOT_ASCII, "g"), inHex) : json;
  }

  get program() {
    return this.cells.map(percent).join("\n");
  }

  /**
   * @param {string} program the program of the cells
   * @param {number} from
   * @param {number} to
   * @returns {NotebookCell | undefined} the cell at exactly this range
   */
  cellOf(program, from, to) {
    const end = endOfCode(program, from, to);
    return this.cells[
      placesOf(program).findIndex((place) => place.from === from && endOfCode(program, from, place.to) === end)
    ];
  }

  /**
   * Update the cells from the program: cells with the same text are unchanged, and edited ones get the new source and
   * title. If code was replaced together with its outputs, these are dropped.
   *
   * A cell of the program is the notebook cell whose code ends in it, since the outputs are there: of a cell that was
   * split, the last part. Otherwise it is a removed cell with the same text, or the one that begins in it.
   *
   * @param {string} program
   * @param {Tracked[]} tracked where the cells are in it
   */
  follow(program, tracked) {
    const places = placesOf(program);
    const texts = places.map(({ from, to }) => program.slice(from, to).trimEnd());
    const free = new Set([...this.cells, ...this.removed]); // of removed ones the newest first
    /** @type {(NotebookCell | undefined)[]} */
    const found = places.map(() => undefined);
    const isSame = (/** @type {NotebookCell} */ cell, /** @type {number} */ i) => percent(cell).trimEnd() === texts[i];
    const within = (/** @type {number} */ i, /** @type {"from" | "to"} */ mark) => {
      const { from, to } = places[i];
      const marked = tracked.filter((one) => one[mark] >= from && one[mark] <= to).map(({ cell }) => cell);
      return marked.filter((cell) => free.has(cell) && cell.cell_type === typeOf(places[i]));
    };
    /** @param {(i: number) => NotebookCell | undefined} find */
    const fill = (find) => {
      for (const i of places.keys()) {
        found[i] ??= find(i);
        if (found[i]) free.delete(found[i]);
      }
    };
    fill((i) => {
      const joined = within(i, "to");
      return joined.find((cell) => isSame(cell, i)) ?? joined.findLast(hasOutputs) ?? joined.at(-1);
    });
    fill((i) => [...free].find((cell) => isSame(cell, i)));
    fill((i) => within(i, "from")[0]);
    this.removed = [...free];
    this.file.cells = found.map((cell, i) => {
      if (!cell) return this.create(texts[i], places[i], i);
      return isSame(cell, i) ? cell : this.edit(cell, texts[i], places[i]);
    });
  }

  /**
   * @param {NotebookCell} cell
   * @param {string} text
   * @param {Place} place
   * @returns {NotebookCell} the same cell
   */
  edit(cell, text, { title, isText }) {
    const source = sourceOf(text, isText);
    cell.source = typeof cell.source === "string" ? source : linesOf(source);
    if (!isText && title !== titleOf(cell)) {
      const { title: _title, ...metadata } = cell.metadata ?? {};
      cell.metadata = title ? { ...metadata, title } : metadata;
    }
    if (this.unseen.has(cell)) this.hold(cell, [], null);
    return cell;
  }

  /**
   * @param {string} text
   * @param {Place} place
   * @param {number} i
   * @returns {NotebookCell}
   */
  create(text, place, i) {
    const source = linesOf(sourceOf(text, place.isText));
    let n = i + 1;
    while (this.ids.has(`cell-${n}`)) n++;
    this.ids.add(`cell-${n}`);
    const hasId = this.file.nbformat !== 4 || this.file.nbformat_minor >= 5;
    const id = hasId ? { id: `cell-${n}` } : {};
    const type = typeOf(place);
    if (type !== "code") return { cell_type: type, ...id, metadata: {}, source };
    const metadata = place.title ? { title: place.title } : {};
    return { cell_type: type, execution_count: null, ...id, metadata, outputs: [], source };
  }

  /** Remove all outputs. */
  clear() {
    for (const cell of this.cells) if (cell.cell_type === "code") this.hold(cell, [], null);
  }

  /** The count of the next cell that runs. */
  get nextCount() {
    // A number whose text is kept, such as 1.0, is an object without a prototype.
    const counts = this.cells.map(({ execution_count: count }) => /** @type {any} */ (count)?.rawJSON ?? count);
    return 1 + Math.max(0, ...counts.map((count) => Number(count) || 0));
  }

  /**
   * @param {NotebookCell} cell of code
   * @param {object[]} outputs in nbformat
   * @param {number | null} count
   */
  hold(cell, outputs, count) {
    cell.outputs = outputs;
    cell.execution_count = count;
    this.unseen.delete(cell);
  }
}

/**
 * @param {string} code of a notebook's program
 * @returns {string} as in its cells; the lines are the same, except for escaped ones
 */
export function unescaped(code) {
  return code.replace(ESCAPED, "$1#");
}

/** @param {string} character */
function inHex(character) {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
}

function blank() {
  return {
    cells: [],
    metadata: {
      kernelspec: { display_name: "Python 3", language: "python", name: "python3" },
      language_info: { name: "python" },
    },
    nbformat: 4,
    nbformat_minor: 5,
  };
}

/** @param {string} json whether it has more numbers than MAX_NUMBERS */
function hasMoreNumbers(json) {
  let count = 0;
  for (const _ of json.matchAll(NUMBER)) if (++count > MAX_NUMBERS) return true;
  return false;
}

/**
 * For `JSON.parse`: keeps the text of numbers that JavaScript would format differently, such as 1.0, if the browser
 * provides it.
 *
 * @param {string} _name
 * @param {unknown} value
 * @param {{ source?: string }} [context]
 */
function exact(_name, value, context) {
  const { rawJSON } = /** @type {any} */ (JSON);
  if (typeof value !== "number" || !rawJSON || context?.source === undefined) return value;
  return String(value) === context.source ? value : rawJSON(context.source);
}

/**
 * @param {string} program
 * @returns {Place[]} the positions of the cells in its notebook
 */
export function placesOf(program) {
  return cellsOf(program).filter(({ from, to }) => program.slice(from, to).trim());
}

/** @param {NotebookCell} cell */
function percent(cell) {
  const { cell_type: type, source } = cell;
  const text = (Array.isArray(source) ? source.join("") : String(source ?? "")).replaceAll("\r\n", "\n").trimEnd();
  const title = titleOf(cell);
  if (type === "code") return `# %%${title && " "}${title}\n${escaped(text)}\n`;
  return `# %% [${type}]\n${escaped(text.replace(/^(?=.)/gm, "# ").replace(/^$/gm, "#"))}\n`;
}

/** @param {string} text of a cell */
function escaped(text) {
  return text.replace(WITHIN, "$1# #");
}

/** @param {NotebookCell} cell */
function titleOf({ metadata }) {
  const title = typeof metadata?.title === "string" ? metadata.title.trim() : "";
  return /[\r\n]|^\[/.test(title) ? "" : title;
}

/** @param {NotebookCell} cell */
function hasOutputs({ outputs }) {
  return Array.isArray(outputs) && outputs.length > 0;
}

/** @param {Place} place */
function typeOf({ isText, title }) {
  if (!isText) return "code";
  return title.startsWith("[raw]") ? "raw" : "markdown";
}

/**
 * @param {string} text of a cell in the program
 * @param {boolean} isText
 * @returns {string}
 */
function sourceOf(text, isText) {
  const lines = text.split("\n");
  const body = (isMarker(lines[0]) ? lines.slice(1) : lines).join("\n").replace(/^\n+/, "").trimEnd();
  return isText ? unescaped(body).replace(/^# ?/gm, "") : unescaped(body);
}

/**
 * @param {string} text
 * @returns {string[]} its lines, each with its newline, as in nbformat
 */
function linesOf(text) {
  return text.match(/[^\n]*\n|[^\n]+/g) ?? [];
}
