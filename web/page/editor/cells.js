/** A program's cells: what begins with a line `# %%`, as Spyder, VS Code and Jupytext have them. */

const MARKER = /^[ \t]*#[ \t]*(?:%%|In\[[ \d]*\]:?)(?<rest>.*)$/;

/**
 * @typedef {object} Cell
 * @property {number} from where it begins, with its marker
 * @property {number} to where it ends, without the last end of line
 * @property {number} line the number of its first line, from 1
 * @property {string} title what its marker says
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
 * @param {string} text
 * @returns {Cell[]} in order, without one that is empty before the first marker
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
      const isText = /^\[(?:markdown|md|raw)\]/.test(title);
      cells.push({ from, to, line: i + 1, title, isText });
    } else last.to = to;
    from = to + 1;
  }
  const [first] = cells;
  const isBlank = cells.length > 1 && !text.slice(first.from, first.to).trim();
  return isBlank ? cells.slice(1) : cells;
}

/**
 * @param {Cell[]} cells of a text
 * @param {number} at a place in it
 * @returns {Cell} the one that the place is in
 */
export function cellAt(cells, at) {
  return cells.findLast(({ from }) => from <= at) ?? cells[0];
}

/**
 * The code between two places, behind as many empty lines as stand before it: its lines have the numbers that the
 * editor shows.
 *
 * @param {string} text
 * @param {number} from
 * @param {number} to
 */
export function numbered(text, from, to) {
  return "\n".repeat(lineOf(text, from) - 1) + text.slice(from, to).trimEnd();
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
