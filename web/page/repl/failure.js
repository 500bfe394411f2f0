/**
 * Shows an error: the message first, then the user's own line with the failing part marked, then its callers; a click
 * shows the full traceback. An input that the user has stopped is no error: a click shows where it was.
 */

import { cut, cutLabel, laidOut } from "../ui/bounds.js";
import { h } from "../ui/dom.js";

/** @typedef {import("../../worker/protocol.js").Outcome} Outcome */
/** @typedef {import("../../worker/protocol.js").Failure} Failure */
/** @typedef {import("../../worker/protocol.js").Place} Place */
/** @typedef {import("../../worker/protocol.js").SourceLine} SourceLine */

/** Largest number of frames shown for a chained error or a member of an exception group. */
const PLACES_OF_OTHERS = 2;
/** Characters of a message. */
const MAX_MESSAGE = 20_000;

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
function drawn({ error, full_error: full, failure, interrupted, seconds }) {
  if (interrupted) return stopped(seconds, cut(error ?? "", MAX_MESSAGE));
  if (!failure) return h("pre", { className: "error" }, ...laidOut(cut(error ?? "", MAX_MESSAGE)));
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

/**
 * @param {number | undefined} seconds that it ran, if known
 * @param {string} traceback
 */
function stopped(seconds, traceback) {
  const words = seconds === undefined ? "Stopped" : `Stopped after ${seconds.toFixed(1)} s`;
  return h("details", { className: "error interrupted" }, h("summary", {}, words), h("pre", {}, ...laidOut(traceback)));
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
  const [headline, ...rest] = cut(text, MAX_MESSAGE).split("\n");
  const name = h("strong", {}, cutLabel(type));
  /** @type {HTMLElement[]} */
  const elements = [h("p", { className: "error-message" }, name, ...laidOut(headline && `: ${headline}`))];
  const detail = rest.join("\n").trimEnd();
  if (detail.trim()) {
    const isDrawn = /^ {2,}\S/m.test(detail);
    elements.push(h("pre", { className: isDrawn ? "error-detail drawn" : "error-detail" }, ...laidOut(detail)));
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
  return repeated ? `${cutLabel(words)} · ${repeated} more times` : cutLabel(words);
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
  return h("details", { className: "frames" }, h("summary", {}, "Full traceback"), h("pre", {}, ...laidOut(cut(text))));
}
