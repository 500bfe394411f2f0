/**
 * Shows an error: the message first, then the user's own line with the failing part marked, then its callers; a click
 * shows the full traceback. An interrupt is shown as a single, unobtrusive line.
 */

import { h } from "../ui/dom.js";

/** @typedef {import("../../worker/protocol.js").Outcome} Outcome */
/** @typedef {import("../../worker/protocol.js").Failure} Failure */
/** @typedef {import("../../worker/protocol.js").Place} Place */
/** @typedef {import("../../worker/protocol.js").SourceLine} SourceLine */

/** Largest number of frames shown for a chained error or a member of an exception group. */
const PLACES_OF_OTHERS = 2;

/** The outcome that each element shows. @type {WeakMap<Element, Outcome>} */
const outcomes = new WeakMap();

/**
 * @param {Element} element
 * @returns {{ text: string, type: string, message: string } | null} text: the traceback; null if it shows no failure of an input
 */
export function failureOf(element) {
  const outcome = outcomes.get(element);
  if (!outcome) return null;
  const { failure } = outcome;
  const text = outcome.error ?? "";
  if (failure) return { text, type: failure.type, message: failure.message };
  const [, type = "Error", message = text] = /^(\w+)(?:: (.*))?$/s.exec(text) ?? [];
  return { text, type, message };
}

/**
 * @param {Outcome} outcome of an input that failed
 * @returns {HTMLElement}
 */
export function drawFailure(outcome) {
  const element = drawn(outcome);
  outcomes.set(element, outcome);
  return element;
}

/** @param {Outcome} outcome */
function drawn({ error, full_error: full, failure, interrupted }) {
  if (interrupted) return interruption(failure);
  if (!failure) return h("pre", { className: "error" }, error ?? "");
  const element = h("div", { className: "error" }, ...parts(failure));
  if (full !== null || failure.hides) element.append(everyFrame(full ?? error ?? ""));
  return element;
}

/**
 * The number of the line of the input that failed, or that called the failing code.
 *
 * @param {Outcome} outcome
 * @returns {number | null} null if no line of the input is involved
 */
export function lineAtFault({ failure, interrupted }) {
  const place = failure?.places.find(({ input }) => input === failure.input);
  return interrupted ? null : (place?.lines.at(0)?.number ?? null);
}

/** @param {Failure | null} failure */
function interruption(failure) {
  const element = h("p", { className: "error interrupted" }, "KeyboardInterrupt");
  const place = failure?.places.at(-1);
  const line = place?.lines.at(0);
  if (line && (line.number > 1 || place?.function !== "<module>")) {
    element.append(` at line ${line.number}: ${(line.before + line.marked + line.after).trim()}`);
  }
  return element;
}

/**
 * @param {Failure} failure
 * @returns {HTMLElement[]}
 */
function parts(failure) {
  return [...message(failure), ...places(failure, Number.POSITIVE_INFINITY), ...others(failure)];
}

/**
 * The first line is prose. Later lines may be aligned, so they keep their columns.
 *
 * @param {Failure} failure
 */
function message({ type, message: text }) {
  const [headline, ...rest] = text.split("\n");
  const name = h("strong", {}, type);
  /** @type {HTMLElement[]} */
  const elements = [h("p", { className: "error-message" }, name, headline && `: ${headline}`)];
  const detail = rest.join("\n").trimEnd();
  if (detail.trim()) {
    const isDrawn = /^ {2,}\S/m.test(detail);
    elements.push(h("pre", { className: isDrawn ? "error-detail drawn" : "error-detail" }, detail));
  }
  return elements;
}

/**
 * Innermost frame first: the one that failed.
 *
 * @param {Failure} failure
 * @param {number} most
 */
function places({ places: all, input }, most) {
  return [...all]
    .reverse()
    .slice(0, most)
    .flatMap((place, depth) => {
      const name = nameOf(place, depth, input);
      const label = name ? [h("p", { className: "error-where" }, name)] : [];
      const gap = place.skipped ? [h("p", { className: "error-where" }, `… ${place.skipped} more calls`)] : [];
      return [h("div", { className: "error-place" }, ...label, ...place.lines.map(drawLine)), ...gap];
    });
}

/**
 * @param {Place} place
 * @param {number} depth distance from the frame that failed
 * @param {number} current the input that failed
 * @returns {string} such as "called in train, an earlier input"; empty if there is nothing to say
 */
function nameOf({ input, file, function: name, repeated }, depth, current) {
  const inside = name === "<module>" ? "" : `in ${name}`;
  const call = depth > 0 ? `called ${inside || "here"}` : inside;
  const source = input === null ? file.split("/").at(-1) : input === current ? "" : "an earlier input";
  const words = [call, source].filter(Boolean).join(", ");
  return repeated ? `${words} · ${repeated} more times` : words;
}

/** @param {SourceLine} line */
function drawLine({ number, before, marked, after }) {
  const gutter = h("span", { className: "error-number" }, String(number));
  const place = marked ? [h("mark", {}, marked)] : [];
  return h("div", { className: "error-line" }, gutter, h("code", {}, before, ...place, after));
}

/**
 * Its causes, and the members of an exception group.
 *
 * @param {Failure} failure
 * @returns {HTMLElement[]}
 */
function others({ link, origin, exceptions }) {
  const elements = exceptions.map((part, i) => other(`${i + 1} of ${exceptions.length}`, part));
  if (origin) elements.push(other(link === "cause" ? "Caused by" : "While handling", origin));
  return elements;
}

/**
 * @param {string} label
 * @param {Failure} failure
 */
function other(label, failure) {
  const words = h("p", { className: "error-link" }, label);
  const inner = [...message(failure), ...places(failure, PLACES_OF_OTHERS), ...others(failure)];
  return h("div", { className: "error-other" }, words, ...inner);
}

/** @param {string} text */
function everyFrame(text) {
  return h("details", { className: "frames" }, h("summary", {}, "Full traceback"), h("pre", {}, text));
}
