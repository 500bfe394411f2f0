/** Which contender is faster, as far as the samples can tell. */

import { contendersOf, isMeasured, leadOf } from "./record.js";
import { compare, median, spread } from "./statistics.js";

/** @typedef {import("./record.js").Run} Run */
/** @typedef {import("./record.js").Result} Result */
/** @typedef {import("./record.js").Outcome} Outcome */
/** @typedef {import("./statistics.js").Ratio} Ratio */

/** Samples with a larger spread than this are too noisy to compare. */
export const NOISY = 0.25;

/** Cache of ratios: the table is redrawn after every case. @type {WeakMap<object, WeakMap<object, Ratio | null>>} */
const known = new WeakMap();

/**
 * @param {Outcome | undefined} first
 * @param {Outcome | undefined} second
 * @returns {Ratio | null} how many times as fast the first one is; null if either was not measured, or not often enough
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
  const lead = leadOf(Object.keys(contenders));
  return Object.keys(contenders).flatMap((contender) => {
    const ratio = contender === lead ? null : ratioOf(contenders[lead], contenders[contender]);
    return ratio ? [{ contender, ratio }] : [];
  });
}

/**
 * @param {Result} result
 * @returns {string | null} the contender that is faster than all others; null if an interval includes 1
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
 * @property {number} faster number of cases in which py_tensor is faster
 * @property {number} slower
 * @property {number} unclear
 * @property {number} middle the median speed ratio
 */

/**
 * How py_tensor compares with each other contender, over the cases in which both were measured.
 *
 * @param {Run} run
 * @returns {Standing[]}
 */
export function standings(run) {
  const names = contendersOf(run);
  const lead = leadOf(names);
  return names.flatMap((contender) => {
    if (contender === lead) return [];
    const ratios = run.results.flatMap(({ contenders }) => ratioOf(contenders[lead], contenders[contender]) ?? []);
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
 * The results that both runs contain.
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
