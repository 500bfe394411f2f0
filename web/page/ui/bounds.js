/**
 * Bounds on the texts and lists of programs and files. They are applied where these enter the page, and a sentence says
 * what is not shown.
 */

import { h } from "./dom.js";

/** Characters of a block of text. */
const MAX_TEXT = 100_000;
/** Characters of a label, a name or a title. */
export const MAX_LABEL = 500;
/** An input is named by this many characters of its first line. */
const MAX_NAME = 40;
/** Characters of a line in a script that browsers lay out in quadratic time: a line of 100,000 takes 14 s to 30 s. */
const MAX_LINE = 500;
const MAX_SLOW = 10_000;
/** Combining marks, right-to-left scripts, and characters that change the direction. */
const COMPLEX =
  /[\p{M}\u0590-\u08ff\u200e\u200f\u202a-\u202e\u2066-\u2069\ufb1d-\ufdff\ufe70-\ufeff\u{10800}-\u{10fff}\u{1e800}-\u{1efff}]/u;
const PARTS = new RegExp(`[\\s\\S]{1,${MAX_LINE}}`, "gu");

/**
 * @param {number} count
 * @param {string} what in the plural, such as "outputs"
 * @returns {string} a sentence
 */
export function notShown(count, what) {
  if (count === 1) return `1 more ${what.slice(0, -1)} is not shown.`;
  return `${count.toLocaleString("en")} more ${what} are not shown.`;
}

/**
 * @param {number} count
 * @returns {string} what follows a text that is shown in part
 */
export function moreCharacters(count) {
  return `… ${count.toLocaleString("en")} more characters`;
}

/**
 * @param {string} source
 * @returns {string} the beginning of its first line, which names it
 */
export function firstLine(source) {
  const [line] = source.trim().split("\n", 1);
  return line.length > MAX_NAME ? `${line.slice(0, MAX_NAME)}…` : line;
}

/**
 * @param {string} text
 * @param {number} [most] characters
 * @param {string} [joint] before the words that say how much is left out
 * @returns {string}
 */
export function cut(text, most = MAX_TEXT, joint = "\n") {
  const more = text.length - most;
  return more > 0 ? `${text.slice(0, most)}${joint}${moreCharacters(more)}` : text;
}

/**
 * @param {string} text of a label, a name or a title
 * @returns {string}
 */
export function cutLabel(text) {
  return cut(text, MAX_LABEL, " ");
}

/**
 * @param {string} text
 * @returns {(Node | string)[]} the same text, with breaks in lines whose layout would take seconds
 */
export function laidOut(text) {
  if (text.length <= MAX_LINE || !COMPLEX.test(text)) return [text];
  /** @type {(Node | string)[]} */
  const nodes = [];
  for (const line of text.split(/(?<=\n)/)) {
    const last = nodes.at(-1);
    if (line.length > MAX_LINE) nodes.push(...(line.match(PARTS) ?? []).map(block));
    else if (typeof last === "string") nodes[nodes.length - 1] = last + line;
    else nodes.push(line);
  }
  return nodes;
}

/**
 * @param {string} line
 * @returns {boolean} whether its layout would take seconds
 */
export function isSlowLine(line) {
  return line.length > MAX_SLOW && COMPLEX.test(line);
}

/** @param {string} text */
function block(text) {
  return h("span", { className: "line-part" }, text);
}
