/** Formats numbers and times. */

/**
 * @param {number} number
 * @param {string} what
 */
export function count(number, what) {
  return `${number} ${what}${number === 1 ? "" : "s"}`;
}

/**
 * @param {number} time ms since 1970
 * @returns {string} such as "Nov 26, 7:17 AM"; with the year if it is another one
 */
export function moment(time) {
  const then = new Date(time);
  const year = then.getFullYear() === new Date().getFullYear() ? undefined : "numeric";
  return then.toLocaleString([], { year, month: "short", day: "numeric", hour: "numeric", minute: "2-digit" });
}
