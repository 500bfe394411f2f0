/** Numbers and times, as they are written here. */

/**
 * @param {number} number
 * @param {string} what
 */
export function count(number, what) {
  return `${number} ${what}${number === 1 ? "" : "s"}`;
}

/** @param {number} time ms since 1970 */
export function moment(time) {
  return new Date(time).toLocaleString([], { dateStyle: "medium", timeStyle: "short" });
}
