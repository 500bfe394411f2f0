/** Measures text, so that charts can reserve space for it. */

import { svg } from "../ui/dom.js";

/** CSS pixels, as in charts.css. */
export const TICK_SIZE = 12;
export const TITLE_SIZE = 14;

/** @type {CanvasRenderingContext2D | null} */
let context = null;
let family = "";

/**
 * @param {string} text
 * @param {number} [size]
 * @param {number} [weight]
 */
export function widthOf(text, size = TICK_SIZE, weight = 400) {
  if (!context) {
    context = document.createElement("canvas").getContext("2d");
    family = getComputedStyle(document.documentElement).fontFamily;
  }
  if (!context) return text.length * size * 0.6;
  context.font = `${weight} ${size}px ${family}`;
  return context.measureText(text).width;
}

/**
 * @param {string} text
 * @param {number} width
 * @returns {string} as much of the text as fits
 */
export function shortened(text, width) {
  if (widthOf(text) <= width) return text;
  let [kept, tooMuch] = [0, text.length];
  while (tooMuch - kept > 1) {
    const middle = Math.ceil((kept + tooMuch) / 2);
    if (widthOf(`${text.slice(0, middle)}…`) <= width) kept = middle;
    else tooMuch = middle;
  }
  return `${text.slice(0, kept).trimEnd()}…`;
}

/**
 * @param {string} text
 * @param {number} width
 * @returns {string[]} its lines
 */
export function wrapped(text, width) {
  /** @type {string[]} */
  const lines = [];
  for (const word of text.split(/\s+/)) {
    const longer = lines.length ? `${lines[lines.length - 1]} ${word}` : word;
    if (lines.length && widthOf(longer, TITLE_SIZE, 600) <= width) lines[lines.length - 1] = longer;
    else lines.push(word);
  }
  return lines;
}

/**
 * @param {string} className
 * @param {number} x
 * @param {number} y
 * @param {"start" | "middle" | "end"} anchor
 * @param {string} text
 */
export function words(className, x, y, anchor, text) {
  return svg("text", { class: className, x: fixed(x), y: fixed(y), "text-anchor": anchor }, text);
}

/** @param {number} value a place in a picture, in CSS pixels */
export function fixed(value) {
  return Number(value.toFixed(1));
}
