/** Syntax-highlighted code as text nodes and spans, for reading, not for editing. */

import { classHighlighter, highlightCode, pythonLanguage } from "../vendor/codemirror.js";
import { focusableWhileItScrolls, h } from "./dom.js";

/** The WGSL keywords, by the same classes. */
const WGSL =
  /(?<comment>\/\/[^\n]*)|(?<keyword>\b(?:fn|var|let|const|override|if|else|for|loop|while|return|break|continue|continuing|switch|case|default|struct|enable|alias|true|false|discard|requires|diagnostic)\b)|(?<typeName>\b(?:f32|u32|i32|f16|bool|vec[234][fiuh]?|mat[234]x[234][fh]?|array|atomic|ptr)\b)|(?<number>\b(?:0x[0-9a-fA-F]+[iu]?|\d+\.?\d*(?:[eE][+-]?\d+)?[iufh]?))|(?<meta>@\w+)/g;

/**
 * @param {string} code
 * @returns {Node[][]} for each line its pieces, which contain the code as text
 */
export function highlightedLines(code) {
  /** @type {Node[][]} */
  const lines = [[]];
  highlightCode(
    code,
    pythonLanguage.parser.parse(code),
    classHighlighter,
    (text, className) => lines.at(-1)?.push(className ? h("span", { className }, text) : document.createTextNode(text)),
    () => lines.push([]),
  );
  return lines;
}

/**
 * @param {string} code
 * @returns {DocumentFragment}
 */
export function highlightedPython(code) {
  const fragment = document.createDocumentFragment();
  for (const [i, line] of highlightedLines(code).entries()) fragment.append(i ? "\n" : "", ...line);
  return fragment;
}

/**
 * @param {string} code
 * @returns {DocumentFragment}
 */
export function highlightedWgsl(code) {
  const fragment = document.createDocumentFragment();
  let at = 0;
  for (const match of code.matchAll(WGSL)) {
    const [kind] = Object.entries(match.groups ?? {}).find(([, text]) => text !== undefined) ?? ["name"];
    fragment.append(code.slice(at, match.index), h("span", { className: `tok-${kind}` }, match[0]));
    at = match.index + match[0].length;
  }
  fragment.append(code.slice(at));
  return fragment;
}

/**
 * A block of code that the keyboard can scroll if it is too wide.
 *
 * @param {DocumentFragment | string} content
 * @param {string} label for screen readers
 */
export function codeBlock(content, label) {
  const block = h("pre", { className: "code" }, h("code", {}, content));
  block.setAttribute("aria-label", label);
  block.setAttribute("role", "region");
  focusableWhileItScrolls(block);
  return block;
}
