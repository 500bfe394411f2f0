/** Contour lines by marching squares. Pure. */

/** @typedef {[number, number, number, number]} Segment x and y of both ends, in columns and rows */

/**
 * The edges of a cell that a line joins, indexed by the corners above the level: 1 for the first corner, 2 for the next
 * clockwise, and so on. Edge 0 is the one in the first row, edge 1 the right one. Saddles, 5 and 10, have two lines.
 *
 * @type {[number, number][][]}
 */
const CASES = [
  [],
  [[3, 0]],
  [[0, 1]],
  [[3, 1]],
  [[1, 2]],
  [],
  [[0, 2]],
  [[3, 2]],
  [[2, 3]],
  [[2, 0]],
  [],
  [[2, 1]],
  [[1, 3]],
  [[1, 0]],
  [[0, 3]],
  [],
];
/** Lines of a saddle whose centre is below the level (first) or above it. @type {[number, number][][]} */
const FIVE = [
  [
    [3, 0],
    [1, 2],
  ],
  [
    [0, 1],
    [2, 3],
  ],
];

/**
 * The contour lines of a grid at a level, linearly interpolated between its points (Lorensen and Cline, 1987, in two
 * dimensions). Cells with a non-finite corner have no lines.
 *
 * @param {(number | null)[][]} rows
 * @param {number} level
 * @returns {Segment[]}
 */
export function contourLines(rows, level) {
  /** @type {Segment[]} */
  const segments = [];
  for (let i = 0; i + 1 < rows.length; i++) {
    for (let j = 0; j + 1 < rows[i].length; j++) {
      const [a, b, c, d] = [rows[i][j], rows[i][j + 1], rows[i + 1][j + 1], rows[i + 1][j]];
      if (a === null || b === null || c === null || d === null) continue;
      const found = Number(a >= level) + 2 * Number(b >= level) + 4 * Number(c >= level) + 8 * Number(d >= level);
      for (const [from, to] of linesOf(found, a / 4 + b / 4 + c / 4 + d / 4 >= level)) {
        segments.push([...crossing(from, i, j, a, b, c, d, level), ...crossing(to, i, j, a, b, c, d, level)]);
      }
    }
  }
  return segments;
}

/**
 * @param {number} found
 * @param {boolean} isHigh whether the centre is above the level
 */
function linesOf(found, isHigh) {
  if (found !== 5 && found !== 10) return CASES[found];
  return FIVE[Number(isHigh === (found === 5))];
}

/**
 * @param {number} edge
 * @param {number} i
 * @param {number} j
 * @param {number} a
 * @param {number} b
 * @param {number} c
 * @param {number} d
 * @param {number} level
 * @returns {[number, number]}
 */
function crossing(edge, i, j, a, b, c, d, level) {
  if (edge === 0) return [j + share(a, b, level), i];
  if (edge === 1) return [j + 1, i + share(b, c, level)];
  if (edge === 2) return [j + share(d, c, level), i + 1];
  return [j, i + share(a, d, level)];
}

/**
 * The position of a level between two values.
 *
 * @param {number} from
 * @param {number} to another one
 * @param {number} level
 */
function share(from, to, level) {
  return (level / 2 - from / 2) / (to / 2 - from / 2); // the difference itself may be infinite
}
