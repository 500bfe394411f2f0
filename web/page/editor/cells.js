/** The cells of a program: each begins with a line `# %%`, as in Spyder, VS Code and Jupytext. */

const MARKER = /^[ \t]*#[ \t]*(?:%%|In\[[ \d]*\]:?)(?<rest>.*)$/;
const TEXT = /^\[(?:markdown|md|raw)\]/;

/**
 * @typedef {object} Cell
 * @property {number} from where it begins, with its marker
 * @property {number} to where it ends, without the last end of line
 * @property {number} line the number of its first line, from 1
 * @property {string} title the text of its marker
 * @property {boolean} isText `# %% [markdown]`: comments, not code
 */

/**
 * @param {string} line
 * @returns {boolean} whether a cell begins with it
 */
export function isMarker(line) {
  return MARKER.test(line);
}

/**
 * @param {string} line
 * @returns {boolean} whether a cell of code begins with it
 */
export function isCodeMarker(line) {
  const rest = MARKER.exec(line)?.groups?.rest;
  return rest !== undefined && !TEXT.test(rest.trim());
}

/**
 * @param {string} text
 * @returns {Cell[]} in order; an empty cell before the first marker is left out
 */
export function cellsOf(text) {
  /** @type {Cell[]} */
  const cells = [];
  let from = 0;
  for (const [i, line] of text.split("\n").entries()) {
    const marker = MARKER.exec(line)?.groups;
    const to = from + line.length;
    const last = cells.at(-1);
    if (marker || !last) {
      const title = (marker?.rest ?? "").trim();
      cells.push({ from, to, line: i + 1, title, isText: TEXT.test(title) });
    } else last.to = to;
    from = to + 1;
  }
  const [first] = cells;
  const isBlank = cells.length > 1 && !text.slice(first.from, first.to).trim();
  return isBlank ? cells.slice(1) : cells;
}

/**
 * @param {Cell[]} cells of a text
 * @param {number} at a position in it
 * @returns {Cell} the cell that contains the position
 */
export function cellAt(cells, at) {
  return cells.findLast(({ from }) => from <= at) ?? cells[0];
}

/**
 * Precede code by empty lines, so that line numbers match the editor.
 *
 * @param {string} source
 * @param {number} line the number of its first line
 */
export function numbered(source, line) {
  return "\n".repeat(line - 1) + source;
}

/**
 * @param {string} text
 * @param {number} at
 * @returns {number} the number of the line, from 1
 */
export function lineOf(text, at) {
  return text.slice(0, at).split("\n").length;
}

/**
 * @param {string} text
 * @param {number} from
 * @param {number} to
 * @returns {number} the end of the last line in between that is not blank
 */
export function endOfCode(text, from, to) {
  return from + text.slice(from, to).trimEnd().length;
}

/** @param {string} path */
export function isNotebook(path) {
  return /\.ipynb$/i.test(path);
}
