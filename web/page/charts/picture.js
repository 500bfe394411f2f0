/** Drawings of Python (py_tensor/display/drawing.py) as elements of the page. */

import { svg } from "../ui/dom.js";

/** Characters; the largest chart has a tenth of it. */
const MAX_TEXT = 8_000_000;

const ELEMENTS = new Set("svg g path line rect circle text linearGradient stop clipPath".split(" "));
const ATTRIBUTES = new Set(
  (
    "xmlns class width height viewBox color x y x1 x2 y1 y2 cx cy r rx d transform fill stroke opacity offset id " +
    "stop-color stroke-width stroke-dasharray stroke-linecap stroke-linejoin text-anchor font-family font-size " +
    "font-weight clip-path data-colour"
  ).split(" "),
);

/**
 * @param {unknown} text an SVG; of a file it may be anything
 * @returns {SVGSVGElement} without what no drawing has, such as scripts and links
 */
export function pictureOf(text) {
  if (typeof text !== "string" || text.length > MAX_TEXT) return svg("svg");
  const root = new DOMParser().parseFromString(text, "image/svg+xml").documentElement;
  if (!(root instanceof SVGSVGElement)) return svg("svg");
  for (const element of [root, ...root.querySelectorAll("*")]) {
    if (!ELEMENTS.has(element.localName)) element.remove();
    for (const name of element.getAttributeNames()) if (!ATTRIBUTES.has(name)) element.removeAttribute(name);
  }
  const picture = document.adoptNode(root);
  for (const element of picture.querySelectorAll("[data-colour]")) {
    const { style, dataset } = /** @type {SVGElement} */ (element);
    style.setProperty("--colour", dataset.colour ?? "");
  }
  return picture;
}
