/**
 * Error scopes, which attribute every error of the GPU to its cause.
 *
 * The three scopes enclose a whole flush rather than each call, because each pop costs a round trip to the GPU process.
 */

import { labelIn } from "./failures.js";

/** @typedef {import("./failures.js").Failure} Failure */
/** @typedef {import("./failures.js").FailureKind} FailureKind */
/** @typedef {import("./pipelines.js").Pipelines} Pipelines */

/**
 * Outermost first. Out of memory is popped first, and so reported first, because later validation errors are its
 * consequences.
 *
 * @type {readonly GPUErrorFilter[]}
 */
const FILTERS = ["validation", "internal", "out-of-memory"];

/** @param {GPUDevice} device */
export function openScopes(device) {
  for (const filter of FILTERS) device.pushErrorScope(filter);
}

/**
 * Closes what `openScopes` opened; never rejects.
 *
 * @param {GPUDevice} device
 * @param {Pipelines} pipelines to explain errors in shaders
 * @param {number} flush the flush number for the failures
 * @returns {Promise<Failure[]>}
 */
export async function closeScopes(device, pipelines, flush) {
  const kinds = FILTERS.toReversed();
  // A lost device returns null or rejects; the loss is reported separately.
  const popped = kinds.map(() => device.popErrorScope().catch(() => null));
  const errors = await Promise.all(popped);
  /** @type {Failure[]} */
  const failures = [];
  for (const [i, error] of errors.entries()) {
    if (error) failures.push(await explain(error, kinds[i], pipelines, flush));
  }
  return failures;
}

/**
 * @param {GPUError} error
 * @param {FailureKind} kind
 * @param {Pipelines} pipelines
 * @param {number} flush
 * @returns {Promise<Failure>}
 */
export async function explain(error, kind, pipelines, flush) {
  const label = labelIn(error.message);
  const where = label ? await pipelines.firstShaderError(label) : null;
  return { flush, kind, label, message: error.message.trim(), ...where };
}
