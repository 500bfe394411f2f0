/** A chart as a document of its own: its SVG with the styles it has here, and the words around it. */

import { svg } from "../ui/dom.js";

/** What style sheets say of shapes and letters. */
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
/** Pixels of a PNG for each of the chart. */
const SCALE = 2;

/**
 * The figure as it stands, in light colours on white. What is not in the page is put there for a moment.
 *
 * @param {HTMLElement} element
 * @returns {string} an SVG document
 */
export function standalone(element) {
  const { isConnected } = element;
  const figure = isConnected ? element : copyOf(element);
  if (!isConnected) document.body.append(figure);
  const { colorScheme, color } = figure.style;
  Object.assign(figure.style, { colorScheme: "light", color: "var(--ink)" });
  try {
    return drawn(figure);
  } finally {
    Object.assign(figure.style, { colorScheme, color });
    if (!isConnected) figure.remove();
  }
}

/**
 * @param {HTMLElement} figure
 * @returns {HTMLElement} with its pictures, which a clone has not
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
  const shown = [...figure.children].filter((child) => child.childNodes.length > 0); // the line for values may be empty
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
    const { imageRendering } = getComputedStyle(canvas);
    root.append(svg("image", { ...place, href: canvas.toDataURL(), "image-rendering": imageRendering }));
  }
  root.append(...wordsIn(figure, left, top));
  return new XMLSerializer().serializeToString(root);
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
 * Title, legend and notes, which are no SVG in the page.
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
