/** The outcome of an input in one line, for views without a transcript. */

/** @typedef {import("../../worker/protocol.js").Outcome} Outcome */

/**
 * @param {Outcome} outcome of an input that failed
 * @returns {string} the exception and the first line of its message
 */
export function reasonOf({ failure, error }) {
  if (failure) return `${failure.type}: ${failure.message}`.split("\n")[0];
  return error?.trimEnd().split("\n").at(-1) ?? "It failed.";
}
