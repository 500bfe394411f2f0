/** The upper bound on a kernel's speed, from measurements of the device: the roofline model. */

import { median } from "./statistics.js";

/** @typedef {import("./record.js").Probe} Probe */
/** @typedef {import("./record.js").Probes} Probes */
/** @typedef {import("./record.js").Result} Result */
/** @typedef {import("./record.js").Measured} Measured */

/**
 * @typedef {object} Roof
 * @property {number} bandwidth GB/s of a plain copy
 * @property {number} peak GFLOP/s of independent multiply-adds
 */

/** Contenders that run on the device that the probes measured. */
const ON_THE_GPU = new Set(["py_tensor", "tfjs", "jax-js"]);

/** @param {string} contender */
export function isOnGpu(contender) {
  return ON_THE_GPU.has(contender);
}

/**
 * @param {Probes | undefined} probes
 * @returns {Roof | null}
 */
export function roofOf(probes) {
  const bandwidth = rateOf(probes?.copy);
  const peak = rateOf(probes?.multiplyAdd);
  return bandwidth && peak ? { bandwidth, peak } : null;
}

/** @param {Probe | undefined} probe */
function rateOf(probe) {
  return probe?.work && probe.seconds.length ? probe.work / median(probe.seconds) / 1e9 : null;
}

/**
 * @param {Roof} roof
 * @param {number} intensity flops per byte
 * @returns {number} GFLOP/s (Williams, Waterman, Patterson, "Roofline", Communications of the ACM 52(4), 2009)
 */
export function attainable({ bandwidth, peak }, intensity) {
  return Math.min(peak, bandwidth * intensity);
}

/**
 * @param {Result} result
 * @param {Measured} outcome
 * @returns {{ intensity: number, rate: number } | null} flops per byte, and GFLOP/s; null if the case has no such
 *   figures
 */
export function placeUnderRoof(result, outcome) {
  if (!result.flops || !result.bytes) return null;
  const rate = result.flops / (median(outcome.samples) * result.ops) / 1e9;
  return { intensity: result.flops / result.bytes, rate };
}

/** If the GPU is busy for a smaller part of the time than this, overhead dominates. */
export const BUSY = 0.5;

/**
 * @param {Measured} outcome
 * @returns {number | null} fraction of the time in which the GPU is busy, by timestamp queries; null if unknown
 */
export function busyPart({ gpu, samples }) {
  return typeof gpu === "number" ? gpu / median(samples) : null;
}

/**
 * @param {Result} result
 * @param {Measured} outcome
 * @param {Probes | undefined} probes
 * @returns {number | null} fraction of the roofline bound for those flops and bytes; above 1 if a cache helps
 */
export function partOfLimit(result, outcome, probes) {
  const roof = roofOf(probes);
  const place = placeUnderRoof(result, outcome);
  return roof && place ? place.rate / attainable(roof, place.intensity) : null;
}
