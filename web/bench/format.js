/** Figures as a person reads them. */

/**
 * @param {number} seconds
 * @returns {string} three significant digits, in µs, ms or s
 */
export function duration(seconds) {
  if (seconds < 1e-3) return `${significant(seconds * 1e6)} µs`;
  if (seconds < 1) return `${significant(seconds * 1e3)} ms`;
  return `${significant(seconds)} s`;
}

/**
 * @param {number} value
 * @returns {string} three significant digits, never in exponent form
 */
export function significant(value) {
  if (value >= 100) return value.toFixed(0);
  return value.toFixed(Math.max(0, Math.min(3, 2 - Math.floor(Math.log10(Math.max(value, 1e-3))))));
}

/**
 * Half the distance between the quartiles of the rounds, in percent of the median.
 *
 * @param {number[]} samples
 * @returns {string}
 */
export function spread(samples) {
  const sorted = samples.toSorted((a, b) => a - b);
  const at = (/** @type {number} */ part) => sorted[Math.round(part * (sorted.length - 1))];
  return `±${Math.round((50 * (at(0.75) - at(0.25))) / at(0.5))} %`;
}
