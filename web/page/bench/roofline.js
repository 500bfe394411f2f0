/** Where cases lie under the roof of the device: GFLOP/s against flops per byte, both logarithmic. */

import { between, decades } from "../ui/axis.js";
import { focusableWhileItScrolls, h, svg } from "../ui/dom.js";
import { rateText, significant } from "./format.js";
import { attainable, BUSY, busyPart, isOnGpu, placeUnderRoof, roofOf } from "./limits.js";
import { legend, mark } from "./marks.js";
import { contendersOf, isMeasured, OURS } from "./record.js";

/** @typedef {import("./record.js").Run} Run */
/** @typedef {{ contender: string, suite: string, name: string, size: string, extent: number, intensity: number, rate: number,
 *   isOverhead: boolean }} Place */

const WIDTH = 640;
const HEIGHT = 330;
const LEFT = 62;
const RIGHT = 16;
const TOP = 24;
const BOTTOM = 44;
/** Of a label, for each character, and in height. */
const LETTER = 6.2;
const LINE = 13;

/**
 * @param {Run} run
 * @returns {HTMLElement | null} null where the device has not been measured, or nothing on it
 */
export function roofline(run) {
  const roof = roofOf(run.probes);
  const places = placesOf(run);
  if (!roof || !places.length) return null;
  const ridge = roof.peak / roof.bandwidth;
  const across = decades([ridge, ...places.map(({ intensity }) => intensity)]);
  const { low: least, high: most } = across;
  const x = between(across, LEFT, WIDTH - RIGHT);
  const rates = [2 * roof.peak, attainable(roof, least), ...places.map(({ rate }) => rate)];
  const y = between(decades(rates), HEIGHT - BOTTOM, TOP);

  const label = "Roofline: rate against flops per byte, log scale; the details table has the figures";
  const picture = svg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": label });
  for (const { value } of y.ticks) {
    const height = y.at(value);
    picture.append(svg("line", { class: "grid", x1: LEFT, x2: WIDTH - RIGHT, y1: height, y2: height }));
    const text = { class: "tick", x: LEFT - 6, y: height + 3.5, "text-anchor": "end" };
    picture.append(svg("text", text, plain(value)));
  }
  for (const { value } of x.ticks) {
    const text = { class: "tick", x: x.at(value), y: HEIGHT - BOTTOM + 16, "text-anchor": "middle" };
    picture.append(svg("text", text, plain(value)));
  }
  const below = { class: "tick", x: (LEFT + WIDTH - RIGHT) / 2, y: HEIGHT - 8, "text-anchor": "middle" };
  picture.append(svg("text", below, "flops per byte"));
  picture.append(svg("text", { class: "tick", x: LEFT - 6, y: TOP - 10, "text-anchor": "end" }, "GFLOP/s"));

  const corners = [least, Math.min(Math.max(ridge, least), most), most];
  const path = corners.map((at) => `${x.at(at).toFixed(1)},${y.at(attainable(roof, at)).toFixed(1)}`).join(" ");
  picture.append(svg("polyline", { class: "roof", points: path }));
  /** @type {Box[]} */
  const taken = [];
  const peakText = `multiply-adds: ${rateText(roof.peak, "GFLOP/s")}`;
  place(picture, taken, peakText, WIDTH - RIGHT, y.at(roof.peak) - 6, "end", "roof-label");
  const copyText = `a copy: ${rateText(roof.bandwidth, "GB/s")}`;
  const corner = Math.min(ridge, most);
  const middle = Math.sqrt(least * corner);
  place(picture, taken, copyText, x.at(middle) + 8, y.at(attainable(roof, middle)) + 16, "start", "roof-label");

  for (const { contender, name, size, intensity, rate, isOverhead } of places) {
    const part = significant((100 * rate) / attainable(roof, intensity));
    const words = isOverhead ? "mostly overhead" : `${part} % of the device's limit`;
    const title = `${contender}, ${name}, ${size}: ${rateText(rate, "GFLOP/s")}, ${words}`;
    picture.append(mark(contender, x.at(intensity), y.at(rate), title, isOverhead ? "overhead" : ""));
    taken.push(box(x.at(intensity) - 4, y.at(rate) + 4, 8, 8));
  }
  for (const { name, intensity, rate } of largest(places)) {
    const [left, top] = [x.at(intensity), y.at(rate)];
    place(picture, taken, name, left + 8, top + 3.5, "start", "tick") ||
      place(picture, taken, name, left - 8, top + 3.5, "end", "tick") ||
      place(picture, taken, name, left - 4, top - 9, "start", "tick") ||
      place(picture, taken, name, left - 4, top + 18, "start", "tick");
  }
  const those = contendersOf(run).filter((name) => places.some(({ contender }) => contender === name));
  const key = legend(those);
  if (places.some(({ isOverhead }) => isOverhead)) {
    key.append(h("span", { className: "faint" }, "faded: mostly overhead, not kernels"));
  }
  const scroller = h("div", { className: "picture-scroller" }, /** @type {any} */ (picture));
  focusableWhileItScrolls(scroller);
  return h("figure", { className: "roofline" }, h("figcaption", {}, "Roofline"), key, scroller);
}

/**
 * @param {Run} run
 * @returns {Place[]}
 */
function placesOf(run) {
  return run.results.flatMap((result) =>
    Object.entries(result.contenders).flatMap(([contender, outcome]) => {
      const found = isOnGpu(contender) && isMeasured(outcome) ? placeUnderRoof(result, outcome) : null;
      if (!found || !isMeasured(outcome)) return [];
      const { suite, case: name, size, extent = 0 } = result;
      const isOverhead = (busyPart(outcome) ?? 1) < BUSY;
      return [{ contender, suite, name, size, extent, isOverhead, ...found }];
    }),
  );
}

/**
 * Of each case py_tensor's place with its largest size: that one bears the name.
 *
 * @param {Place[]} places
 */
function largest(places) {
  /** @type {Map<string, Place>} */
  const found = new Map();
  for (const one of places) {
    const key = JSON.stringify([one.suite, one.name]);
    if (one.contender === OURS && one.extent >= (found.get(key)?.extent ?? 0)) found.set(key, one);
  }
  return [...found.values()].sort((a, b) => b.rate - a.rate);
}

/** @typedef {{ left: number, right: number, top: number, bottom: number }} Box */

/**
 * @param {number} x
 * @param {number} y of its lower edge
 * @param {number} width
 * @param {number} height
 * @returns {Box}
 */
function box(x, y, width, height) {
  return { left: x, right: x + width, top: y - height, bottom: y };
}

/**
 * Writes a label, unless it would lie on something that is there.
 *
 * @param {SVGSVGElement} picture
 * @param {Box[]} taken
 * @param {string} text
 * @param {number} x
 * @param {number} y
 * @param {"start" | "end"} anchor
 * @param {string} kind
 * @returns {boolean} whether it is there
 */
function place(picture, taken, text, x, y, anchor, kind) {
  const width = text.length * LETTER;
  const start = anchor === "end" ? x - width : x;
  const wanted = box(start, y + 3, width, LINE);
  const isFree = taken.every(
    ({ left, right, top, bottom }) =>
      wanted.right < left || wanted.left > right || wanted.bottom < top || wanted.top > bottom,
  );
  if (!isFree || wanted.right > WIDTH || wanted.left < LEFT) return false;
  taken.push(wanted);
  picture.append(svg("text", { class: kind, x, y, "text-anchor": anchor }, text));
  return true;
}

/** @param {number} value a power of ten */
function plain(value) {
  return value < 1 ? String(Number(value.toPrecision(1))) : value.toLocaleString("en");
}
