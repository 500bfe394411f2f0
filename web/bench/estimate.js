/** How long a choice of benchmarks takes, before anything is measured: an order of magnitude. */

import { isSoftware } from "../ui/adapter.js";

/** @typedef {import("../protocol.js").Info} Info */
/** @typedef {import("../protocol.js").SuiteInfo} SuiteInfo */
/** @typedef {import("./form.js").Choice} Choice */

/** What a device does in a second, and how long the shortest op takes it. */
/** @typedef {{ "GFLOP/s": number, "GB/s": number, least: number }} Speed */

/** Of NumPy in the page, a software adapter and a middling GPU. @type {Record<string, Speed>} */
const SPEEDS = {
  cpu: { "GFLOP/s": 2, "GB/s": 2, least: 1e-5 },
  software: { "GFLOP/s": 5, "GB/s": 2, least: 3e-4 },
  gpu: { "GFLOP/s": 1000, "GB/s": 100, least: 3e-5 },
};

/** Operands, upload and whatever is compiled for the first time. */
const SET_UP_SECONDS = 0.2;

/**
 * @param {SuiteInfo} suite
 * @param {Choice} choice
 * @param {Info} info
 * @returns {number} seconds
 */
export function estimate(suite, choice, info) {
  const webgpu = isSoftware(info) ? SPEEDS.software : SPEEDS.gpu;
  const chosen = suite.work.filter((w) => choice.cases.includes(w.case) && choice.sizes.includes(w.size));
  const contenders = choice.contenders.filter((device) => device === "cpu" || info.backend === "webgpu");
  let seconds = 0;
  for (const { work, unit } of chosen) {
    for (const device of contenders) {
      const { least, ...rates } = device === "cpu" ? SPEEDS.cpu : webgpu;
      const one = Math.max(least, work / rates[/** @type {keyof typeof rates} */ (unit)] / 1e9);
      seconds += Math.min(choice.budget, secondsToMeasure(one));
    }
  }
  return Math.min(choice.total, seconds);
}

/**
 * One case on one contender, as `Bench` (benchmarks.py) goes about it: a check, warm-ups, rounds.
 *
 * @param {number} one seconds
 */
function secondsToMeasure(one) {
  const round = Math.max(one, Math.min(20 * one, 0.1));
  const rounds = Math.max(7 * round, Math.min(30 * round, 0.25));
  return SET_UP_SECONDS + 3 * one + 2 * round + rounds;
}
