/** Formats numbers, times and lists of files. */

/** At most this many files are named in a note. */
const MAX_NAMED_FILES = 3;

/**
 * @param {number} number
 * @param {string} what
 */
export function count(number, what) {
  return `${number} ${what}${number === 1 ? "" : "s"}`;
}

/**
 * @param {string[]} files
 * @returns {string} the first ones, and how many more there are
 */
export function named(files) {
  const rest = files.length - MAX_NAMED_FILES;
  return files.slice(0, MAX_NAMED_FILES).join(", ") + (rest > 0 ? ` and ${count(rest, "more file")}` : "");
}

/**
 * @param {number} cleared the number of inputs
 * @returns {string} what a choice to run them says
 */
export function alsoRun(cleared) {
  return cleared === 1 ? "Also run the cleared input" : `Also run the ${cleared} cleared inputs`;
}

/**
 * @param {number} cleared the number of inputs
 * @returns {string} what a button says that runs them with all others
 */
export function runAgainWith(cleared) {
  return `Run all again, with the ${cleared === 1 ? "cleared input" : `${cleared} cleared inputs`}`;
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
