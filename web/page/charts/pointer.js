/** The values under the pointer. */

import { svg } from "../ui/dom.js";
import { fixed, widthOf, words } from "./text.js";

/**
 * @typedef {{ look: string, colour?: string | null }} Ink CSS classes, and a colour that overrides theirs
 * @typedef {{ left: number, right: number, top: number, bottom: number }} Box
 *
 * @typedef {object} Near a value near the pointer
 * @property {number} at its x position
 * @property {number} up its y position
 * @property {string} head the value of x
 * @property {string} text
 * @property {Ink} [ink] if it differs from that of its series
 *
 * @typedef {object} Pointed a series whose values the pointer finds
 * @property {string} label empty for none
 * @property {Ink} ink
 * @property {boolean} isAlong by x alone
 * @property {boolean} [isLine]
 * @property {(x: number, y: number) => Near | null} near
 */

/** Largest distance from the pointer to a point that it selects, in CSS pixels. */
const REACH = 40;
const EDGE = 14;

/**
 * @param {SVGSVGElement} picture
 * @param {Pointed[]} series
 * @param {Box} area inside the axes
 * @param {string} [xlabel]
 */
export function followPointer(picture, series, area, xlabel = "") {
  const layer = svg("g", { class: "pointed", "aria-hidden": "true" });
  picture.append(layer);
  const clear = () => layer.replaceChildren();
  const follow = (/** @type {PointerEvent} */ event) => {
    const [x, y] = positionIn(picture, event);
    clear();
    if (x < area.left - REACH || x > area.right + REACH || y < area.top - REACH || y > area.bottom + REACH) return;
    const pointed = pointedAt(series, x, y);
    if (!pointed.length) return;
    if (pointed.some(({ one }) => one.isLine)) {
      const at = fixed(pointed[0].near.at);
      layer.append(svg("line", { class: "guide", x1: at, x2: at, y1: area.top, y2: area.bottom }));
    }
    for (const { one, near } of pointed) {
      if (near.at < area.left - 1 || near.at > area.right + 1 || near.up < area.top - 1 || near.up > area.bottom + 1) {
        continue; // it is not in the part that is shown
      }
      const ring = svg("circle", { class: "ring", cx: fixed(near.at), cy: fixed(near.up), r: 4 });
      layer.append(inked(ring, near.ink ?? one.ink));
    }
    const head = `${xlabel ? `${xlabel} ` : ""}${pointed[0].near.head}`;
    const rows = pointed.map(({ one, near }) => ({
      ink: near.ink ?? one.ink,
      text: one.label ? `${one.label}  ${near.text}` : near.text,
    }));
    layer.append(tipAt(pointed[0].near.at, Math.min(...pointed.map(({ near }) => near.up)), [head], rows, area));
  };
  picture.addEventListener("pointermove", follow);
  picture.addEventListener("pointerdown", follow);
  picture.addEventListener("pointerleave", clear);
}

/**
 * @param {SVGSVGElement} picture
 * @param {PointerEvent} event
 * @returns {[number, number]} where it is in the picture
 */
export function positionIn(picture, event) {
  const box = picture.getBoundingClientRect();
  const scale = picture.width.baseVal.value / box.width;
  return [(event.clientX - box.left) * scale, (event.clientY - box.top) * scale];
}

/**
 * For each series with x values, the value nearest in x; if there is none, the single nearest point.
 *
 * @param {Pointed[]} series
 * @param {number} x
 * @param {number} y
 * @returns {{ one: Pointed, near: Near }[]}
 */
function pointedAt(series, x, y) {
  const all = series.flatMap((one) => {
    const near = one.near(x, y);
    return near ? [{ one, near }] : [];
  });
  const distance = (/** @type {Near} */ { at, up }) => Math.hypot(at - x, up - y);
  const single = all
    .filter(({ one, near }) => !one.isAlong && distance(near) < REACH)
    .sort((a, b) => distance(a.near) - distance(b.near))[0];
  if (single) return [single];
  const along = all.filter(({ one }) => one.isAlong);
  const nearest = Math.min(...along.map(({ near }) => Math.abs(near.at - x)));
  return along.filter(({ near }) => Math.abs(near.at - x) <= nearest + 0.5 || near.head === along[0].near.head);
}

/**
 * @param {ArrayLike<number>} xs positions; NaN for none
 * @param {ArrayLike<number>} ys
 * @param {number} x
 * @param {number | null} y null: the distance in x counts alone
 * @returns {number} the index of the nearest; -1 if there is none
 */
export function nearest(xs, ys, x, y) {
  let [best, least] = [-1, Number.POSITIVE_INFINITY];
  for (let i = 0; i < xs.length; i++) {
    const distance = Number.isNaN(ys[i]) ? Number.NaN : (xs[i] - x) ** 2 + (y === null ? 0 : (ys[i] - y) ** 2);
    if (distance < least) [best, least] = [i, distance];
  }
  return best;
}

/**
 * A text box beside a position, kept inside its container.
 *
 * @param {number} x
 * @param {number} y
 * @param {string[]} heads
 * @param {{ ink: Ink, text: string }[]} rows
 * @param {Box} around
 */
export function tipAt(x, y, heads, rows, around) {
  const lines = [...heads.filter(Boolean), ...rows.map(({ text }) => text)];
  const wide = Math.max(...lines.map((text) => widthOf(text))) + (rows.length ? 16 : 0) + 16;
  const high = lines.length * 16 + 10;
  const left = x + 12 + wide <= around.right + EDGE ? x + 12 : Math.max(0, x - 12 - wide);
  const top = Math.max(around.top, Math.min(y - high / 2, around.bottom - high));
  const tip = svg("g", { class: "tip", transform: `translate(${fixed(left)} ${fixed(top)})` });
  tip.append(svg("rect", { width: fixed(wide), height: high, rx: 6 }));
  let line = 0;
  for (const text of heads.filter(Boolean)) tip.append(words("tick", 8, 17 + 16 * line++, "start", text));
  for (const { ink, text } of rows) {
    tip.append(inked(svg("circle", { class: "spot", cx: 12, cy: 13 + 16 * line, r: 4 }), ink));
    tip.append(words("name", 24, 17 + 16 * line++, "start", text));
  }
  return tip;
}

/**
 * @template {SVGElement} T
 * @param {T} element
 * @param {Ink} ink
 * @returns {T}
 */
export function inked(element, { look, colour }) {
  element.classList.add(...look.split(" ").filter(Boolean));
  if (colour) element.style.setProperty("--colour", colour);
  return element;
}
