/**
 * What went wrong on the GPU, as values that cross into Python.
 *
 * WebGPU tells of an error long after the call that caused it, in a message that names the object
 * by its label. Here such a message becomes a Failure, and waits until Python asks.
 */

/**
 * @typedef {"validation" | "out-of-memory" | "internal" | "lost" | "exception" | "index"} FailureKind "index" says of
 *   results that are there what their operands were: `message` is JSON of words that CHECK found, as [position, word]
 *
 * @typedef {object} Failure
 * @property {number} flush the flush that failed; 0: none in particular; -1: the very call that reports it
 * @property {FailureKind} kind
 * @property {string} label of the pipeline or dispatch, or of the buffer; "" when unknown
 * @property {string} message
 * @property {number} [line] in the WGSL text, from 1
 * @property {string} [lineText]
 * @property {number} [serial] counts up, of those that wait until Python has noted them
 */

/** The `flush` of a failure that belongs to no flush. */
export const UNATTRIBUTED = 0;
/** The `flush` of a failure of the read, allocation or wait that returns it. */
export const THIS_CALL = -1;

/** An error that the bridge itself finds in the command stream, with the kind Dawn would give it. */
export class StreamError extends Error {
  /** @type {FailureKind} */
  kind = "validation";
}

/**
 * Failures that have settled and that Python has not yet noted. Until it says that it has, every wait
 * reports them: whoever gets a report may have been interrupted or cancelled, and never read it.
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

  /** @param {number} serial of the last that was noted */
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
 * The first three carry the label of the dispatch, the surest first: Dawn shares one shader module
 * among equal texts, under the label it had first. A buffer's label only says which buffer.
 */
const LABELS = ["ComputePipeline", "BindGroup", "ShaderModule", "Buffer"].map(
  (object) => new RegExp(`\\[(?:Invalid )?${object}(?:Descriptor)? "+([^"]+)"+\\]`),
);

/**
 * The label that an error message of WebGPU names.
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
