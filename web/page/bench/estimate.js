/** How long a choice of benchmarks takes: at first an order of magnitude, refined as cases finish. */

import { isSoftware } from "../ui/adapter.js";
import { isOnGpu } from "./limits.js";

/** @typedef {import("../../worker/protocol.js").Info} Info */
/** @typedef {import("../../worker/protocol.js").SuiteInfo} SuiteInfo */
/** @typedef {import("./form.js").Choice} Choice */

/** Throughput of a device, and the duration of its shortest op in seconds. */
/** @typedef {{ "GFLOP/s": number, "GB/s": number, least: number }} Speed */

/** For NumPy in the page, a software adapter and a mid-range GPU. @type {Record<string, Speed>} */
const SPEEDS = {
  cpu: { "GFLOP/s": 0.5, "GB/s": 2, least: 1e-5 },
  software: { "GFLOP/s": 5, "GB/s": 2, least: 3e-4 },
  gpu: { "GFLOP/s": 1000, "GB/s": 100, least: 3e-5 },
};

/** Seconds to create operands, upload them and compile. */
const SET_UP_SECONDS = 0.2;
/** Seconds to measure the device's limits, once per run. */
const LIMITS_SECONDS = 2;
/** `SAMPLE_SECONDS` of measuring.py. */
const SAMPLE_SECONDS = 0.02;
const WARM_UPS = 3;

/**
 * @param {Choice} choice
 * @param {Info} info
 * @returns {number[]} seconds for each case, in the order in which they run
 */
export function estimates(choice, info) {
  const webgpu = isSoftware(info) ? SPEEDS.software : SPEEDS.gpu;
  const contenders = choice.contenders.filter((name) => !isOnGpu(name) || info.backend === "webgpu");
  return choice.suites.flatMap((chosen) => {
    const suite = /** @type {SuiteInfo} */ (info.suites.find(({ key }) => key === chosen.suite));
    const sizes = suite.sizes.filter((size) => chosen.sizes.includes(size));
    return chosen.cases.flatMap((name) =>
      sizes.map((size) => {
        const { work, unit } = /** @type {SuiteInfo["work"][0]} */ (
          suite.work.find((w) => w.case === name && w.size === size)
        );
        const seconds = contenders.map((contender) => {
          const { least, ...rates } = isOnGpu(contender) ? webgpu : SPEEDS.cpu;
          const one = Math.max(least, work / rates[/** @type {keyof typeof rates} */ (unit)] / 1e9);
          return 3 * one > choice.budget ? 0 : Math.min(choice.budget, secondsToMeasure(one, choice.rounds));
        });
        return seconds.reduce((sum, part) => sum + part, 0);
      }),
    );
  });
}

/**
 * One case on one contender, following `measuring.py`: checks, warm-ups, then rounds that each begin with a load.
 *
 * @param {number} one seconds
 * @param {number} rounds
 */
function secondsToMeasure(one, rounds) {
  const sample = Math.max(one, SAMPLE_SECONDS);
  return SET_UP_SECONDS + 3 * one + (WARM_UPS + 2 * rounds) * sample;
}

/**
 * @param {number[]} cases the result of `estimates`
 * @returns {number} total seconds, ignoring the total budget
 */
export function estimate(cases) {
  return LIMITS_SECONDS + cases.reduce((sum, part) => sum + part, 0);
}

/** Progress of a run and the time left: the estimates, corrected by how long the finished cases took. */
export class Progress {
  /**
   * @param {number[]} cases the result of `estimates`
   * @param {number} most seconds for all
   */
  constructor(cases, most) {
    this.cases = cases;
    this.most = most;
    this.whole = cases.reduce((sum, part) => sum + part, 0);
    this.finished = 0;
    this.part = 0;
    /** Seconds since the first case began. */
    this.passed = 0;
  }

  /** @returns {number} fraction of the time, from 0 to 1 */
  get fraction() {
    return this.whole ? this.#done / this.whole : 0;
  }

  get #done() {
    const current = this.cases[this.finished] ?? 0;
    return this.cases.slice(0, this.finished).reduce((sum, part) => sum + part, 0) + this.part * current;
  }

  /** @returns {number} seconds */
  get left() {
    const done = this.#done;
    const pace = done > 0 && this.passed > 1 ? this.passed / done : 1;
    return Math.max(0, Math.min(pace * (this.whole - done), this.most - this.passed));
  }
}
