/** Objects of other libraries: sanitized HTML; and SVG, PNG and JPEG as images, in which no scripts run. */

import { isSlowLine } from "../ui/bounds.js";
import { focusableWhileItScrolls, h } from "../ui/dom.js";
import { sanitized } from "./sanitize.js";

/** @typedef {import("./bundles.js").ForeignBundle} ForeignBundle */

/** Elements of an SVG, with those that it uses again; its parser and layout run in the page's thread. */
const MAX_ELEMENTS = 20_000;
const MAX_DEPTH = 500;
const MAX_ATTRIBUTES = 1000;
/** The size of a primitive of a filter, which computes each pixel. */
const PRIMITIVE = 40;
const FILTER = /[;{\s]filter\s*:/;
/** In an attribute, or in a property of one with the name `style`. */
const REFERENCE = /(?:(?<name>[\w-]+)\s*:\s*)?url\(\s*["']?#(?<id>[^"')\s]+)/g;
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
  const root = new DOMParser().parseFromString(svg, "image/svg+xml").documentElement; // runs no scripts and loads nothing
  const styles = [...root.getElementsByTagName("style")].map((style) => style.textContent ?? "");
  const own = styles.some((style) => FILTER.test(style)) ? PRIMITIVE : 1;
  return sizeOf(root, { known: new Map(), referring: new Map(), own }, 0) > MAX_ELEMENTS;
}

/**
 * @param {Element} element
 * @param {{ known: Map<Element, number>, referring: Map<Element, boolean>, own: number }} counts the sizes of other
 *   elements, 0 while one is counted, because an element may use itself; see `refers`; the size of an element alone
 * @param {number} depth
 * @returns {number} the number of elements that are drawn
 */
function sizeOf(element, counts, depth) {
  if (depth > 2 * MAX_DEPTH) return Number.POSITIVE_INFINITY;
  const counted = counts.known.get(element);
  if (counted !== undefined) return counted;
  counts.known.set(element, 0);
  let size = element.localName.startsWith("fe") ? PRIMITIVE : counts.own;
  for (const [name, id] of references(element)) {
    const used = element.ownerDocument.getElementById(id);
    if (!used) continue;
    const drawn = sizeOf(used, counts, depth + 1);
    // Clips and gradients that use nothing else cost little, and charts have one for each line.
    const isDrawn = element.localName === "use" || drawn >= PRIMITIVE || refers(used, counts.referring);
    if (name.startsWith("marker")) size += drawn * vertices(element);
    else if (isDrawn) size += drawn;
  }
  for (const child of element.children) size += sizeOf(child, counts, depth + 1);
  counts.known.set(element, size);
  return size;
}

/**
 * @param {Element} element
 * @param {Map<Element, boolean>} known the results for other elements
 * @returns {boolean} whether anything in an element refers to another one
 */
function refers(element, known) {
  const before = known.get(element);
  if (before !== undefined) return before;
  const isReferring = [element, ...element.getElementsByTagName("*")].some(
    (inner) => [...references(inner)].length > 0,
  );
  known.set(element, isReferring);
  return isReferring;
}

/**
 * @param {Element} element
 * @returns {Iterable<[string, string]>} the names of properties, and the ids of the elements that they refer to
 */
function* references(element) {
  for (const { localName, value } of element.attributes) {
    if (localName === "href" && value.trim().startsWith("#")) yield [localName, value.trim().slice(1)];
    for (const { groups } of value.matchAll(REFERENCE)) yield [groups?.name ?? localName, groups?.id ?? ""];
  }
}

/** @param {Element} line a path or a polyline, with a marker at each of its vertices */
function vertices(line) {
  const numbers = `${line.getAttribute("points") ?? ""} ${line.getAttribute("d") ?? ""}`.match(/[\d.]+/g);
  return Math.ceil((numbers?.length ?? 0) / 2);
}
