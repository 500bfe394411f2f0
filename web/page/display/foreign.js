/** Objects of other libraries: sanitized HTML; and SVG, PNG and JPEG as images, in which no scripts run. */

import { isSlowLine } from "../ui/bounds.js";
import { focusableWhileItScrolls, h } from "../ui/dom.js";
import { sanitized } from "./sanitize.js";

/** @typedef {import("./bundles.js").ForeignBundle} ForeignBundle */

/** Elements of an SVG, with those that it uses again; its parser and layout run in the page's thread. */
const MAX_ELEMENTS = 20_000;
const MAX_DEPTH = 500;
const MAX_ATTRIBUTES = 1000;
/** In attributes in quotation marks, ">" ends no tag. */
const TAG = /<(?<end>\/?)[a-z][\w:.-]*(?<attributes>(?:[^\w:.<>-](?:[^<>"']|"[^"<]*"|'[^'<]*')*)?)>/gi;

/**
 * @param {ForeignBundle} bundle
 * @returns {HTMLElement}
 */
export function drawForeign({ kind, data, label }) {
  if (kind === "html") {
    const element = h("div", { className: "foreign" }, sanitized(data));
    focusableWhileItScrolls(element);
    return element;
  }
  if (kind === "svg" && isSlow(data)) {
    return h("p", { className: "note" }, "This SVG is not shown: it is so large that it would block the page.");
  }
  const src = kind === "svg" ? `data:image/svg+xml,${encoded(data)}` : `data:image/${kind};base64,${data}`;
  return h("img", { className: "foreign-image", src, alt: label });
}

/** @param {string} text lone surrogates become the replacement character, because URLs cannot hold them */
function encoded(text) {
  return encodeURIComponent(text.replaceAll(/\p{Cs}/gu, "\ufffd"));
}

/**
 * @param {string} svg
 * @returns {boolean} whether the browser would take seconds to draw it
 */
function isSlow(svg) {
  if (svg.split(/[<>]/).some(isSlowLine)) return true;
  let depth = 0;
  let count = 0;
  for (const { groups } of svg.matchAll(TAG)) {
    const { end = "", attributes = "" } = groups ?? {};
    if (end) depth = Math.max(0, depth - 1);
    if (end) continue;
    const isTooMuch = ++count > MAX_ELEMENTS || ++depth > MAX_DEPTH;
    if (isTooMuch || attributes.split("=", MAX_ATTRIBUTES + 1).length > MAX_ATTRIBUTES) return true;
    if (attributes.endsWith("/")) depth--;
  }
  const parsed = new DOMParser().parseFromString(svg, "image/svg+xml"); // runs no scripts and loads nothing
  return sizeOf(parsed.documentElement, new Map(), 0) > MAX_ELEMENTS;
}

/**
 * @param {Element} element
 * @param {Map<Element, number>} known those of other elements; 0 while it is counted, because an element may use itself
 * @param {number} depth
 * @returns {number} the number of elements that are drawn
 */
function sizeOf(element, known, depth) {
  if (depth > 2 * MAX_DEPTH) return Number.POSITIVE_INFINITY;
  const counted = known.get(element);
  if (counted !== undefined) return counted;
  known.set(element, 0);
  const used = element.localName === "use" ? usedBy(element) : null;
  let size = 1 + (used ? sizeOf(used, known, depth + 1) : 0);
  for (const child of element.children) size += sizeOf(child, known, depth + 1);
  known.set(element, size);
  return size;
}

/** @param {Element} use */
function usedBy(use) {
  const href = use.getAttribute("href") ?? use.getAttributeNS("http://www.w3.org/1999/xlink", "href") ?? "";
  return use.ownerDocument.getElementById(href.trim().replace(/^#/, ""));
}
