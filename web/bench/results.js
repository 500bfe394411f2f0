/** What a run of the benchmarks has found so far. */

/**
 * @typedef {object} About
 * @property {string} case
 * @property {string} size
 * @property {number} extent
 * @property {string} device
 *
 * @typedef {About & { event: "measured", unit: string, median: number, least: number, most: number,
 *   samples: number[], queued: number, rate: number, error: number }} Measured
 * @typedef {About & { event: "skipped" | "wrong", reason: string }} NotMeasured
 * @typedef {About & { event: "working", label: string }} Working
 * @typedef {{ event: "begin", total: number }} Begin
 * @typedef {Measured | NotMeasured | Working | Begin} Step what benchmarks.py reports
 * @typedef {Measured | NotMeasured} Result
 */

/** Devices of py_tensor, and what a reader calls them. @type {Record<string, string>} */
export const CONTENDERS = { webgpu: "WebGPU", cpu: "NumPy" };

/** In percent; rounds that lie further apart say little. */
const NOISY = 25;

/**
 * Half the distance between the quartiles of the rounds, in percent of the median.
 *
 * @param {Measured} result
 * @returns {number}
 */
export function spread({ samples }) {
  const sorted = samples.toSorted((a, b) => a - b);
  const at = (/** @type {number} */ part) => sorted[Math.round(part * (sorted.length - 1))];
  return (50 * (at(0.75) - at(0.25))) / at(0.5);
}

/**
 * @param {Result} result
 * @returns {boolean}
 */
export function isNoisy(result) {
  return result.event === "measured" && spread(result) > NOISY;
}

export class Results {
  constructor() {
    /** @type {Result[]} */
    this.all = [];
  }

  /** @param {Result} result */
  add(result) {
    this.all.push(result);
  }

  /** One row for each case and size, in the order in which they were run. */
  rows() {
    /** @type {Map<string, { case: string, size: string, byDevice: Record<string, Result> }>} */
    const rows = new Map();
    for (const result of this.all) {
      const key = `${result.case}/${result.size}`;
      const row = rows.get(key) ?? { case: result.case, size: result.size, byDevice: {} };
      row.byDevice[result.device] = result;
      rows.set(key, row);
    }
    return [...rows.values()];
  }

  /** The measured ones, by case. */
  byCase() {
    /** @type {Map<string, Measured[]>} */
    const cases = new Map();
    for (const result of this.all) {
      const measured = cases.get(result.case) ?? [];
      cases.set(result.case, measured);
      if (result.event === "measured") measured.push(result);
    }
    return cases;
  }
}
