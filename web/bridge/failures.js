/**
 * Errors of the GPU as values for Python.
 *
 * WebGPU reports an error long after the call that caused it, in a message that names the object by its label. Here
 * such a message becomes a Failure, which is kept until Python asks for it.
 */

/**
 * @typedef {"validation" | "out-of-memory" | "internal" | "lost" | "exception" | "index"} FailureKind "index" is about
 *   operands, and the results are valid: `message` is JSON of the words that CHECK found, as [position, word]
 *
 * @typedef {object} Failure
 * @property {number} flush the flush that failed; 0: none in particular; -1: the call that reports it
 * @property {FailureKind} kind
 * @property {string} label of the pipeline or dispatch, or of the buffer; "" when unknown
 * @property {string} message
 * @property {number} [line] in the WGSL text, from 1
 * @property {string} [lineText]
 * @property {number} [serial] an increasing number, for failures kept until Python has noted them
 */

/** The `flush` of a failure that belongs to no flush. */
export const UNATTRIBUTED = 0;
/** The `flush` of a failure of the read, allocation or wait that returns it. */
export const THIS_CALL = -1;

/** An error that the bridge itself finds in the command stream, with the kind that Dawn would report. */
export class StreamError extends Error {
  /** @type {FailureKind} */
  kind = "validation";
}

/**
 * Failures that Python has not noted yet. Until it says that it has, every wait reports them, because the receiver of a
 * report may have been interrupted or cancelled before reading it.
 */
export class FailureLog {
  /** @type {Failure[]} oldest first */
  #open = [];
  #recorded = 0;

  get open() {
    return [...this.#open];
  }

  /** @param {Failure} failure */
  record(failure) {
    this.#open.push({ ...failure, serial: ++this.#recorded });
  }

  /** @param {number} serial the number of the last failure that was noted */
  forget(serial) {
    this.#open = this.#open.filter((failure) => Number(failure.serial) > serial);
  }
}

/**
 * @param {Failure[]} failures
 * @returns {string} a JSON array, or "" when there are none
 */
export function report(failures) {
  return failures.length === 0 ? "" : JSON.stringify(failures);
}

/**
 * @param {string} message
 * @returns {Failure}
 */
export function lostFailure(message) {
  return { flush: THIS_CALL, kind: "lost", label: "", message };
}

/**
 * @param {number} flush
 * @param {[number, number][]} words
 * @returns {Failure}
 */
export function outOfRangeFailure(flush, words) {
  return { flush, kind: "index", label: "", message: JSON.stringify(words) };
}

/**
 * @param {number} flush
 * @param {unknown} error anything thrown
 * @param {string} label
 * @returns {Failure}
 */
export function thrownFailure(flush, error, label) {
  const kind = error instanceof StreamError ? error.kind : "exception";
  return { flush, kind, label, message: messageOf(error) };
}

/**
 * @param {unknown} error
 * @returns {string}
 */
export function messageOf(error) {
  return error instanceof Error ? error.message : String(error);
}

/**
 * Dawn writes [ShaderModule "name"], [Invalid ComputePipeline "name"], [BindGroupDescriptor ""name""].
 * The first three have the label of the dispatch, the most reliable first: Dawn shares one shader module among equal
 * texts, under its first label. A buffer's label identifies only the buffer.
 */
const LABELS = ["ComputePipeline", "BindGroup", "ShaderModule", "Buffer"].map(
  (object) => new RegExp(`\\[(?:Invalid )?${object}(?:Descriptor)? "+([^"]+)"+\\]`),
);

/**
 * Returns the label in an error message of WebGPU.
 *
 * @param {string} message
 * @returns {string}
 */
export function labelIn(message) {
  for (const pattern of LABELS) {
    const match = pattern.exec(message);
    if (match) return match[1];
  }
  return "";
}
