/** A drawing in the page, with a description for screen readers; it scrolls if it is too wide. */

import { focusableWhileItScrolls, h, markMore, svg } from "../ui/dom.js";

/**
 * @param {string} words description for screen readers
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

/** @param {Element} content content that may be wider than its container */
export function scroller(content) {
  const element = h("div", { className: "scroller" }, content);
  focusableWhileItScrolls(element);
  markMore(element);
  return element;
}
