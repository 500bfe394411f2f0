/** How a drawing stands in the page: with words for a screen reader, and scrolled where it is too wide. */

import { focusableWhileItScrolls, h, markMore, svg } from "../ui/dom.js";

/**
 * @param {string} words what a screen reader says
 * @param {number} width
 * @param {number} height
 * @param {SVGElement[]} parts
 */
export function figure(words, width, height, ...parts) {
  const drawing = svg(
    "svg",
    { class: "diagram", viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": words },
    ...parts,
  );
  return scroller(drawing);
}

/** @param {Element} content what may be wider than its place */
export function scroller(content) {
  const element = h("div", { className: "scroller" }, content);
  focusableWhileItScrolls(element);
  markMore(element);
  return element;
}
