/** Who is faster than whom, as far as the samples tell. */

import { contendersOf, isMeasured, OURS } from "./record.js";
import { compare, median, spread } from "./statistics.js";

/** @typedef {import("./record.js").Run} Run */
/** @typedef {import("./record.js").Result} Result */
/** @typedef {import("./record.js").Outcome} Outcome */
/** @typedef {import("./statistics.js").Ratio} Ratio */

/** Rounds that lie further apart say little. */
export const NOISY = 0.25;

/** What was computed before: a table is drawn anew with every case. @type {WeakMap<object, WeakMap<object, Ratio | null>>} */
const known = new WeakMap();

/**
 * @param {Outcome | undefined} first
 * @param {Outcome | undefined} second
 * @returns {Ratio | null} how many times as fast the first one is; null where one was not measured, or too little
 */
export function ratioOf(first, second) {
  if (!isMeasured(first) || !isMeasured(second)) return null;
  const ratios = known.get(first.samples) ?? new WeakMap();
  known.set(first.samples, ratios);
  if (!ratios.has(second.samples)) ratios.set(second.samples, compare(first.samples, second.samples));
  return ratios.get(second.samples) ?? null;
}

/**
 * How many times as fast py_tensor is as each of the others.
 *
 * @param {Result} result
 * @returns {{ contender: string, ratio: Ratio }[]}
 */
export function factorsOf({ contenders }) {
  return Object.keys(contenders).flatMap((contender) => {
    const ratio = contender === OURS ? null : ratioOf(contenders[OURS], contenders[contender]);
    return ratio ? [{ contender, ratio }] : [];
  });
}

/**
 * @param {Result} result
 * @returns {string | null} the contender that is faster than every other one; null where an interval leaves it open
 */
export function winnerOf({ contenders }) {
  const measured = Object.keys(contenders).filter((name) => isMeasured(contenders[name]));
  if (measured.length < 2) return null;
  const isFastest = (/** @type {string} */ name) =>
    measured.every((other) => other === name || ratioOf(contenders[name], contenders[other])?.verdict === "faster");
  return measured.find(isFastest) ?? null;
}

/**
 * @typedef {object} Standing
 * @property {string} contender
 * @property {number} faster in how many cases py_tensor is
 * @property {number} slower
 * @property {number} unclear
 * @property {number} middle the median of how many times as fast it is
 */

/**
 * How py_tensor stands beside each other contender, in the cases that both were measured in.
 *
 * @param {Run} run
 * @returns {Standing[]}
 */
export function standings(run) {
  return contendersOf(run).flatMap((contender) => {
    if (contender === OURS) return [];
    const ratios = run.results.flatMap(({ contenders }) => ratioOf(contenders[OURS], contenders[contender]) ?? []);
    if (!ratios.length) return [];
    const count = (/** @type {Ratio["verdict"]} */ kind) => ratios.filter(({ verdict }) => verdict === kind).length;
    const middle = median(ratios.map(({ ratio }) => ratio));
    return [{ contender, faster: count("faster"), slower: count("slower"), unclear: count("unclear"), middle }];
  });
}

/** @param {Outcome} outcome */
export function isNoisy(outcome) {
  return isMeasured(outcome) && spread(outcome.samples) > NOISY;
}

/**
 * @typedef {object} Change
 * @property {Result} result
 * @property {string} contender
 * @property {Outcome} before
 * @property {Outcome} now
 */

/**
 * What both runs have measured.
 *
 * @param {Run} run
 * @param {Run} other
 * @returns {Change[]}
 */
export function changes(run, other) {
  const key = (/** @type {Result} */ { suite, case: name, size }) => JSON.stringify([suite, name, size]);
  const before = new Map(other.results.map((result) => [key(result), result]));
  return run.results.flatMap((result) =>
    contendersOf(run).flatMap((contender) => {
      const then = before.get(key(result))?.contenders[contender];
      const now = result.contenders[contender];
      return isMeasured(now) && then && isMeasured(then) ? [{ result, contender, before: then, now }] : [];
    }),
  );
}
