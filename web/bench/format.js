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
 * @param {number} seconds
 * @returns {string} as one says how long something will take
 */
export function roughly(seconds) {
  return seconds < 90 ? `${Math.max(1, Math.round(seconds))} s` : `${Math.round(seconds / 60)} min`;
}
