/** Measures and places texts. */

import { svg } from "../ui/dom.js";

/** CSS pixels, as in charts.css. */
export const TICK_SIZE = 12;

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
