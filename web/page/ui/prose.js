/** Text with a little markup, as elements: `code` between backquotes, and paragraphs. */

import { h } from "./dom.js";

/**
 * @param {string} text
 * @returns {(Node | string)[]} with an element for text between single or double backquotes
 */
export function inline(text) {
  return text
    .split(/(``[^`]+``|`[^`]+`)/)
    .filter(Boolean)
    .map((part) => (part.startsWith("`") ? h("code", {}, part.replaceAll("`", "")) : part));
}

/**
 * @param {string} text
 * @returns {HTMLElement[]} its paragraphs, which empty lines separate
 */
export function paragraphs(text) {
  return text.split(/\n{2,}/).map((paragraph) => h("p", {}, ...inline(paragraph.replaceAll("\n", " "))));
}
