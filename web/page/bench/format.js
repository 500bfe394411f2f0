/** Figures formatted for people. */

/**
 * @param {number} seconds
 * @returns {string} three significant digits, in ns, µs, ms or s
 */
export function duration(seconds) {
  if (seconds < 1e-6) return `${significant(seconds * 1e9)} ns`;
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
 * @param {number} rate
 * @param {string} unit GB/s or GFLOP/s
 * @returns {string} 1234 GB/s is 1.23 TB/s
 */
export function rateText(rate, unit) {
  return rate >= 1000 ? `${significant(rate / 1000)} ${unit.replace("G", "T")}` : `${significant(rate)} ${unit}`;
}

/**
 * @param {number} part
 * @returns {string} of a whole
 */
export function percent(part) {
  const value = 100 * part;
  return `${value >= 10 ? value.toFixed(0) : value >= 1 ? value.toFixed(1) : value.toPrecision(1)} %`;
}

/**
 * @param {number} seconds
 * @returns {string} an approximate duration in words
 */
export function roughly(seconds) {
  return seconds < 90 ? `${Math.max(1, Math.round(seconds))} s` : `${Math.round(seconds / 60)} min`;
}
