/** A picture or chart as a standalone SVG: a chart with its computed styles and the text around it. */

import { svg } from "../ui/dom.js";

/** The style properties of shapes and text that are copied. */
const STYLES = [
  "fill",
  "fill-opacity",
  "stroke",
  "stroke-width",
  "stroke-opacity",
  "stroke-dasharray",
  "stroke-linecap",
  "stroke-linejoin",
  "opacity",
  "font-family",
  "font-size",
  "font-weight",
  "text-anchor",
];
const MARGIN = 10;
/** PNG pixels per pixel of the chart. */
const SCALE = 2;

/**
 * The figure in its present state, in light colours on white. Parts not in view are copied into the page for a moment.
 *
 * @param {HTMLElement} element
 * @returns {string} an SVG document
 */
export function standalone(element) {
  const isShown = element.checkVisibility();
  const figure = isShown ? element : copyOf(element);
  if (!isShown) document.body.append(figure);
  const { colorScheme, color } = figure.style;
  Object.assign(figure.style, { colorScheme: "light", color: "var(--ink)" });
  try {
    return drawn(figure);
  } finally {
    Object.assign(figure.style, { colorScheme, color });
    if (!isShown) figure.remove();
  }
}

/**
 * @param {HTMLElement} figure
 * @returns {HTMLElement} with its pictures, which cloning does not copy
 */
function copyOf(figure) {
  const copy = /** @type {HTMLElement} */ (figure.cloneNode(true));
  const pictures = figure.querySelectorAll("canvas");
  for (const [i, canvas] of copy.querySelectorAll("canvas").entries()) {
    canvas.getContext("2d")?.drawImage(pictures[i], 0, 0);
  }
  return copy;
}

/** @param {HTMLElement} figure */
function drawn(figure) {
  const { left, top, width } = figure.getBoundingClientRect();
  const shown = [...figure.children].filter((child) => child.childNodes.length > 0); // the line of values may be empty
  const height = Math.max(0, ...shown.map((child) => child.getBoundingClientRect().bottom - top));
  const size = { width: Math.ceil(width) + 2 * MARGIN, height: Math.ceil(height) + 2 * MARGIN };
  const root = svg("svg", { ...size, viewBox: `${-MARGIN} ${-MARGIN} ${size.width} ${size.height}` });
  root.append(svg("rect", { x: -MARGIN, y: -MARGIN, ...size, fill: "#fff" }));
  for (const picture of figure.querySelectorAll("svg")) {
    if (picture.parentElement?.closest("svg")) continue;
    const box = picture.getBoundingClientRect();
    const copy = styled(picture);
    for (const [name, value] of Object.entries({ x: box.left - left, y: box.top - top })) {
      copy.setAttribute(name, value.toFixed(1));
    }
    root.append(copy);
  }
  for (const canvas of figure.querySelectorAll("canvas")) {
    const box = canvas.getBoundingClientRect();
    const place = { x: box.left - left, y: box.top - top, width: box.width, height: box.height };
    root.append(imageOf(canvas, place));
  }
  root.append(...wordsIn(figure, left, top));
  return new XMLSerializer().serializeToString(root);
}

/**
 * @param {HTMLCanvasElement} canvas
 * @param {Record<string, number>} place
 */
function imageOf(canvas, place) {
  const { imageRendering } = getComputedStyle(canvas);
  const look = { "image-rendering": imageRendering, preserveAspectRatio: "none" }; // a thin picture may be widened
  return svg("image", { ...place, ...look, href: canvas.toDataURL() });
}

/**
 * @param {HTMLCanvasElement} canvas
 * @returns {string} an SVG of the size at which it is shown
 */
export function svgOfCanvas(canvas) {
  const { width, height } = canvas.getBoundingClientRect();
  const size = width && height ? { width, height } : { width: canvas.width, height: canvas.height };
  return documentOf(imageOf(canvas, size), size);
}

/**
 * @param {string} href a picture in a data URL
 * @param {number} width
 * @param {number} height
 */
export function svgAround(href, width, height) {
  return documentOf(svg("image", { href, width, height }), { width, height });
}

/**
 * @param {SVGElement} image
 * @param {{ width: number, height: number }} size
 */
function documentOf(image, { width, height }) {
  return new XMLSerializer().serializeToString(svg("svg", { width, height, viewBox: `0 0 ${width} ${height}` }, image));
}

/**
 * @param {SVGElement} picture
 * @returns {SVGElement} a copy that needs no style sheet
 */
function styled(picture) {
  const copy = /** @type {SVGElement} */ (picture.cloneNode(true));
  const copies = [copy, ...copy.querySelectorAll("*")];
  for (const [i, original] of [picture, ...picture.querySelectorAll("*")].entries()) {
    const styles = getComputedStyle(original);
    for (const name of STYLES) copies[i].setAttribute(name, styles.getPropertyValue(name));
    copies[i].removeAttribute("class");
  }
  copy.setAttribute("overflow", "visible");
  return copy;
}

/**
 * Title, legend and notes, which are not SVG in the page.
 *
 * @param {HTMLElement} figure
 * @param {number} left
 * @param {number} top
 * @returns {SVGElement[]}
 */
function wordsIn(figure, left, top) {
  const walker = document.createTreeWalker(figure, NodeFilter.SHOW_TEXT);
  const found = [];
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const parent = /** @type {HTMLElement} */ (node.parentElement);
    if (parent.closest("svg, button") || !node.textContent?.trim()) continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    const box = range.getBoundingClientRect();
    if (!box.width) continue;
    const styles = getComputedStyle(parent);
    const y = box.top - top + box.height / 2;
    const look = {
      "font-family": styles.fontFamily,
      "font-size": styles.fontSize,
      "font-weight": styles.fontWeight,
      fill: styles.color,
    };
    found.push(svg("text", { x: box.left - left, y, dy: "0.35em", ...look }, node.textContent.trim()));
  }
  return found;
}

/**
 * @param {string} document an SVG
 * @returns {Promise<Blob>} a PNG of it
 */
export async function pngOfSvg(document) {
  const picture = new Image();
  picture.src = `data:image/svg+xml,${encodeURIComponent(document.replaceAll(/\p{Cs}/gu, "\ufffd"))}`;
  await picture.decode();
  const { naturalWidth: width, naturalHeight: height } = picture;
  if (!width || !height) throw new Error("This SVG has no size of its own; save it as SVG.");
  const canvas = new OffscreenCanvas(SCALE * width, SCALE * height);
  canvas.getContext("2d")?.drawImage(picture, 0, 0, canvas.width, canvas.height);
  return canvas.convertToBlob();
}
