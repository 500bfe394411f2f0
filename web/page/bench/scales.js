/** Logarithmic axes. Pure. */

import { short } from "../charts/numbers.js";

/** @typedef {{ value: number, text: string }} Tick one without text is a minor one */
/**
 * @typedef {object} Axis
 * @property {(value: number) => number} at position from 0, the lower end, to 1
 * @property {Tick[]} ticks
 * @property {number} low the value at the lower end
 * @property {number} high
 */

/**
 * A logarithmic axis from one power of ten to another.
 *
 * @param {number[]} values positive, not empty
 * @param {(value: number) => string} [write]
 * @returns {Axis}
 */
export function decades(values, write = short) {
  const low = Math.floor(Math.log10(Math.min(...values)));
  const high = Math.max(low + 1, Math.ceil(Math.log10(Math.max(...values)) - 1e-9));
  const step = Math.ceil((high - low) / 6);
  const ticks = [];
  for (let power = low; power <= high; power += step) ticks.push({ value: 10 ** power, text: write(10 ** power) });
  return { at: (value) => (Math.log10(value) - low) / (high - low), ticks, low: 10 ** low, high: 10 ** high };
}

/**
 * A logarithmic axis with these ticks, and room beyond the first and the last.
 *
 * @param {Tick[]} ticks of positive, ascending values; a single one is put in the middle
 * @param {number} wanted the largest number of labels
 * @returns {Axis}
 */
export function through(ticks, wanted) {
  const [first, last] = [Math.log(ticks[0].value), Math.log(ticks[ticks.length - 1].value)];
  const room = (last - first) / 8 || Math.LN2;
  const [low, high] = [first - room, last + room];
  const every = Math.max(1, Math.ceil(ticks.length / wanted));
  return {
    at: (value) => (Math.log(value) - low) / (high - low),
    ticks: ticks.map(({ value, text }, i) => ({ value, text: i % every ? "" : text })),
    low: Math.exp(low),
    high: Math.exp(high),
  };
}
