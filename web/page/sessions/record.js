/**
 * Converts an input and its outputs to data that the browser can store, and back. Outputs are stored as the data they
 * are drawn from, never as markup: restored data passes through the same functions as output from Python, and so cannot
 * run scripts.
 */

import { problemsWith } from "../bench/validate.js";
import { markCut } from "../repl/terminal.js";
import { h } from "../ui/dom.js";

/** @typedef {import("../display/bundles.js").Bundle} Bundle */
/** @typedef {import("../display/displays.js").Displays} Displays */
/** @typedef {import("../../worker/protocol.js").Outcome} Outcome */
/** @typedef {import("../repl/transcript.js").Entry} Entry */
/** @typedef {import("../repl/transcript.js").Shown} Shown */
/** @typedef {import("../repl/transcript.js").Transcript} Transcript */
/** @typedef {{ text: string, className: string }} Run printed characters of one look */
/** @typedef {"waiting" | "running" | "done" | "failed" | "interrupted" | "dropped"} State */

/**
 * @typedef {object} Printed
 * @property {"printed"} kind
 * @property {Run[]} runs
 * @property {boolean} isCut
 * @property {number} [lost] number of lines that were removed; earlier pages did not store it
 *
 * @typedef {Printed | { kind: "display", bundle: Bundle }} Part
 *
 * @typedef {object} Record
 * @property {string} source empty for output that belongs to no input
 * @property {State} state
 * @property {boolean} [hasRun] without failing, if not in its last run; earlier pages did not store it
 * @property {number} at when it was entered, ms since 1970
 * @property {Part[]} parts in order
 * @property {Outcome | null} outcome null while it runs, or if its outputs were dropped
 * @property {boolean} isCleared from view
 * @property {boolean} isTrimmed its outputs were dropped
 * @property {Cell | null} [cell] its position, if not in the transcript
 *
 * @typedef {{ path: string, line: number }} Cell of a file in the editor, with the number of its first line
 */

const text = { type: "string" };
const maybeText = { type: ["string", "null"] };
const flag = { type: "boolean" };
const SCHEMA = {
  type: "object",
  required: ["source", "state", "at", "parts", "outcome", "isCleared", "isTrimmed"],
  properties: {
    source: text,
    state: { enum: ["waiting", "running", "done", "failed", "interrupted", "dropped"] },
    at: { type: "number" },
    parts: {
      type: "array",
      items: {
        type: "object",
        required: ["kind"],
        properties: {
          kind: { enum: ["printed", "display"] },
          runs: {
            type: "array",
            items: { type: "object", required: ["text", "className"], properties: { text, className: text } },
          },
          isCut: flag,
          lost: { type: "number" },
          bundle: { type: "object", required: ["kind"], properties: { kind: text } },
        },
      },
    },
    outcome: {
      type: ["object", "null"],
      required: ["ok", "result", "error", "full_error", "failure", "interrupted"],
      properties: { ok: flag, result: maybeText, error: maybeText, full_error: maybeText, interrupted: flag },
    },
    hasRun: flag,
    isCleared: flag,
    isTrimmed: flag,
    cell: {
      type: ["object", "null"],
      required: ["path", "line"],
      properties: { path: text, line: { type: "number" } },
    },
  },
};
/** The styles that printed text can have (repl/terminal.js). */
const LOOKS = /^(?:(?:stdout|stderr|typed|bold|dim|italic|underline|colour-\d)(?: |$))*$/;

/**
 * @param {Shown} shown
 * @param {Displays} displays
 * @returns {Promise<Part[]>} its outputs other than the result
 */
export async function partsOf(shown, displays) {
  shown.draw();
  /** @type {Part[]} */
  const parts = [];
  const elements = shown.element.matches("pre") ? [shown.element] : [...shown.element.children];
  for (const element of elements) {
    if (element.matches("pre.printed")) parts.push(printed(element));
    const bundle = element.matches(".display") ? await displays.storable(element) : null;
    if (bundle) parts.push({ kind: "display", bundle });
  }
  return parts;
}

/**
 * @param {Element} element
 * @returns {Part}
 */
function printed(element) {
  const root = /** @type {HTMLElement} */ (element.firstElementChild);
  const runs = [...root.children].map(({ textContent, className }) => ({ text: textContent ?? "", className }));
  const { isCut, lost } = root.dataset;
  return { kind: "printed", runs, isCut: isCut !== undefined, ...(lost && { lost: Number(lost) }) };
}

/**
 * @param {Outcome} outcome
 * @returns {Outcome} in a form that the browser can store
 */
export function storableOutcome(outcome) {
  const { ok, result, error, full_error, failure, interrupted, seconds, isDropped = false, rich = null } = outcome;
  return { ok, result, error, full_error, failure, interrupted, seconds, isDropped, rich };
}

/**
 * @param {Outcome} outcome
 * @returns {State}
 */
export function stateOf({ ok, interrupted, isDropped }) {
  if (ok) return "done";
  if (isDropped) return "dropped";
  return interrupted ? "interrupted" : "failed";
}

/**
 * @param {unknown} value
 * @returns {Record | null} null if it is not a record
 */
export function asRecord(value) {
  return problemsWith(SCHEMA, value).length ? null : /** @type {Record} */ (value);
}

/**
 * @param {unknown} value that the browser can store
 * @returns {number} its approximate size in bytes
 */
export function sizeOf(value) {
  if (typeof value === "string") return 2 * value.length;
  if (ArrayBuffer.isView(value)) return value.byteLength;
  if (typeof value !== "object" || value === null) return 8;
  return Object.entries(value).reduce((sum, [name, part]) => sum + 2 * name.length + sizeOf(part), 0);
}

/** The note on an input that did not finish. */
const UNFINISHED = {
  waiting: "Not run: the page was closed before this input started.",
  running: "Interrupted: the page was closed while this was running.",
};

/**
 * @param {Record} record
 * @param {Transcript} transcript
 * @param {Displays} displays
 * @param {string} trimmed the note shown where outputs were dropped
 * @returns {Entry} not in the transcript yet
 * @throws whatever drawing a damaged record throws
 */
export function restoredEntry(record, transcript, displays, trimmed) {
  const { source, state, parts, outcome } = record;
  const entry = transcript.entryOf(source);
  if (!source) entry.element.replaceChildren();
  entry.element.append(...parts.map((part) => partAgain(part, displays)));
  if (outcome) entry.finish(outcome, (bundle) => displays.restoredResult(bundle));
  else entry.element.className = state === "done" ? "entry done" : "entry failed";
  const words = record.isTrimmed ? trimmed : state === "waiting" || state === "running" ? UNFINISHED[state] : "";
  if (words) entry.element.append(h("p", { className: "note" }, words));
  entry.element.classList.add("restored");
  return entry;
}

/**
 * @param {Part} part
 * @param {Displays} displays
 * @returns {HTMLElement}
 */
export function partAgain(part, displays) {
  return part.kind === "printed" ? printedAgain(part) : displays.restored(part.bundle);
}

/** @param {Printed} part */
function printedAgain({ runs, isCut, lost }) {
  const spans = runs.map(({ text: words, className }) =>
    h("span", { className: LOOKS.test(className) ? className : "" }, words),
  );
  const root = h("span", {}, ...spans);
  if (isCut) markCut(root, lost);
  return h("pre", { className: "printed" }, root);
}
