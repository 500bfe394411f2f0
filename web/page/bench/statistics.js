/** Statistics of timing samples. Pure and deterministic. */

/** With fewer samples no interval is shown. */
export const FEW = 5;
const RESAMPLES = 2000;
const CONFIDENCE = 0.95;

/**
 * @param {readonly number[]} samples not empty
 * @param {number} part from 0 (the smallest) to 1 (the largest)
 * @returns {number} interpolated between neighbours, as NumPy's `quantile` does by default
 */
export function quantile(samples, part) {
  return quantileOfSorted(Float64Array.from(samples).sort(), part);
}

/**
 * @param {Float64Array} sorted
 * @param {number} part
 */
function quantileOfSorted(sorted, part) {
  const place = part * (sorted.length - 1);
  const below = Math.floor(place);
  const above = Math.min(below + 1, sorted.length - 1);
  return sorted[below] + (place - below) * (sorted[above] - sorted[below]);
}

/** @param {readonly number[]} samples not empty */
export function median(samples) {
  return quantile(samples, 0.5);
}

/**
 * @param {readonly number[]} samples not empty
 * @returns {number} half the distance between the quartiles, as a part of the median
 */
export function spread(samples) {
  return (quantile(samples, 0.75) - quantile(samples, 0.25)) / 2 / median(samples);
}

/**
 * @typedef {object} Ratio
 * @property {number} ratio of the medians, second to first: how many times as fast the first one is
 * @property {number} low the 95 % confidence interval of the ratio
 * @property {number} high
 * @property {"faster" | "slower" | "unclear"} verdict on the first one; unclear if the interval includes 1
 */

/**
 * Compares two sets of samples by the percentile bootstrap (Efron and Tibshirani, An Introduction to the Bootstrap,
 * 1993, chapter 13): both are resampled with replacement many times, and the interval spans the middle 95 % of the
 * ratios of medians.
 *
 * @param {readonly number[]} first
 * @param {readonly number[]} second
 * @returns {Ratio | null} null if there are too few samples
 */
export function compare(first, second) {
  if (Math.min(first.length, second.length) < FEW) return null;
  const random = generator(1);
  const ratios = new Float64Array(RESAMPLES);
  const draws = [new Float64Array(first.length), new Float64Array(second.length)];
  for (let i = 0; i < RESAMPLES; i++) {
    ratios[i] = drawnMedian(second, draws[1], random) / drawnMedian(first, draws[0], random);
  }
  ratios.sort();
  const low = quantileOfSorted(ratios, (1 - CONFIDENCE) / 2);
  const high = quantileOfSorted(ratios, (1 + CONFIDENCE) / 2);
  const verdict = low > 1 ? "faster" : high < 1 ? "slower" : "unclear";
  return { ratio: median(second) / median(first), low, high, verdict };
}

/**
 * @param {readonly number[]} samples
 * @param {Float64Array} into
 * @param {() => number} random
 */
function drawnMedian(samples, into, random) {
  for (let i = 0; i < into.length; i++) into[i] = samples[Math.floor(random() * samples.length)];
  return quantileOfSorted(into.sort(), 0.5);
}

/**
 * The generator mulberry32, so that intervals are reproducible.
 *
 * @param {number} seed
 * @returns {() => number} uniform in [0, 1)
 */
function generator(seed) {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
