/**
 * The figures of benchmarks: title, legend, logarithmic axes and marks. They are drawn here and not by Python, because
 * Python is what is measured while they change.
 */

import { followPointer, inked } from "../charts/pointer.js";
import { fixed, TICK_SIZE, widthOf, words } from "../charts/text.js";
import { h, svg } from "../ui/dom.js";

/** @typedef {import("./scales.js").Axis} Axis */
/** @typedef {import("./series.js").Mark} Mark */
/** @typedef {import("./series.js").Place} Place */

/**
 * @typedef {object} Spec
 * @property {string} label what the figure shows, in words
 * @property {string} title
 * @property {string} xlabel
 * @property {string} ylabel
 * @property {(wanted: number) => Axis} x an axis with about `wanted` ticks
 * @property {Axis} y
 * @property {Mark[]} marks
 * @property {boolean} [hasLegend]
 * @property {string} className of the figure
 * @property {number} [ratio] height divided by width
 * @property {number} [largest] width, in CSS pixels
 *
 * @typedef {{ left: number, right: number, top: number, bottom: number, width: number, height: number }} Area
 */

const TITLE_SIZE = 14;
const LARGEST_WIDTH = 680;
const SMALLEST_WIDTH = 220;
const RATIO = 0.48;
const MIN_HEIGHT = 220; // of the axes, including the text below them
const EDGE = 14;
const LINE = 18;
const KEY = 22;
/**
 * @param {Spec} spec
 * @returns {HTMLElement} a figure, redrawn when its width changes, because text does not scale with it
 */
export function drawFigure(spec) {
  const largest = spec.largest ?? LARGEST_WIDTH;
  let drawn = largest;
  const frame = h("div", { className: "plotted-frame" });
  new ResizeObserver(() => {
    if (!frame.clientWidth) return; // it is hidden
    const width = Math.max(SMALLEST_WIDTH, Math.min(largest, frame.clientWidth));
    if (width === drawn) return;
    drawn = width;
    frame.replaceChildren(draw(spec, width));
  }).observe(frame);
  frame.append(draw(spec, drawn));
  return h("figure", { className: `plotted ${spec.className}` }, frame);
}

/**
 * @param {Spec} spec
 * @param {number} width
 */
function draw(spec, width) {
  const head = headOf(spec, width);
  const height = head.height + Math.round(spec.ratio ? width * spec.ratio : Math.max(MIN_HEIGHT, width * RATIO));
  const size = { width, height, viewBox: `0 0 ${width} ${height}` };
  const picture = svg("svg", { class: "plotted-picture", role: "img", "aria-label": spec.label, ...size });
  picture.append(...head.elements);
  const { area, axes } = layOut(spec, head.height, width, height);
  const place = placeIn(axes, area);
  drawAxes(picture, axes, area, spec);
  const layer = svg("g", { class: "marks" });
  for (const mark of spec.marks) layer.append(...mark.draw(place));
  picture.append(layer);
  const pointed = spec.marks.map(({ label, ink, isLine, near }) => ({
    ...{ label, ink, isLine, isAlong: isLine },
    near: (/** @type {number} */ x, /** @type {number} */ y) => near(x, y, place),
  }));
  followPointer(picture, pointed, area, spec.xlabel);
  return picture;
}

/**
 * The title and the legend.
 *
 * @param {Spec} spec
 * @param {number} width
 * @returns {{ elements: SVGElement[], height: number }}
 */
function headOf({ title, marks, hasLegend }, width) {
  const lines = wrapped(title, width);
  const elements = lines.map((text, i) => words("title", 0, TITLE_SIZE + i * 20, "start", text));
  const height = lines.length * 20 + 6;
  const named = marks.filter(({ label }) => label);
  if (!hasLegend) return { elements, height };
  const legend = svg("g", { class: "legend" });
  let [left, line] = [0, 0];
  for (const mark of named) {
    const text = shortened(mark.label, width - KEY);
    const wide = KEY + widthOf(text);
    if (left && left + wide > width) [left, line] = [0, line + 1];
    const entry = svg("g", { class: "key", transform: `translate(${fixed(left)} ${height + line * LINE})` });
    entry.append(keyOf(mark), words("tick", KEY, 13, "start", text));
    legend.append(entry);
    left += wide + 18;
  }
  return { elements: [...elements, legend], height: height + (line + 1) * LINE + 6 };
}

/**
 * How the legend shows a mark, 16 by 18.
 *
 * @param {Mark} mark
 */
function keyOf({ isLine, ink, marker }) {
  const group = svg("g", {});
  if (isLine) group.append(inked(svg("path", { class: "curve", d: "M1 9H15" }), ink));
  if (marker) group.append(inked(svg("path", { class: "spot", d: marker, transform: "translate(8 9)" }), ink));
  return group;
}

/**
 * Axes take the space that their ticks and names need; the number of ticks depends on what is left.
 *
 * @param {Spec} spec
 * @param {number} top
 * @param {number} width
 * @param {number} height
 */
function layOut(spec, top, width, height) {
  const { y } = spec;
  const longest = Math.max(0, ...y.ticks.map(({ text }) => widthOf(text)));
  const area = { left: Math.ceil(34 + longest), right: width - EDGE, top: top + 8, bottom: height - 42, width, height };
  return { area, axes: { x: fitting(spec.x, area.right - area.left), y } };
}

/**
 * An axis whose tick labels do not overlap.
 *
 * @param {(wanted: number) => Axis} make
 * @param {number} length
 */
function fitting(make, length) {
  let wanted = Math.max(1, Math.floor(length / 64));
  for (;;) {
    const axis = make(wanted);
    const written = axis.ticks.filter(({ text }) => text);
    const needed = written.reduce((sum, { text }) => sum + widthOf(text) + 12, 0);
    if (needed <= length + 40 || wanted <= 1) return axis;
    wanted = Math.min(wanted - 1, Math.floor((wanted * length) / needed));
  }
}

/**
 * @param {{ x: Axis, y: Axis }} axes
 * @param {Area} area
 * @returns {Place}
 */
function placeIn(axes, { left, right, top, bottom }) {
  return {
    x: (value) => left + axes.x.at(value) * (right - left),
    y: (value) => bottom - axes.y.at(value) * (bottom - top),
    ...{ left, right, top, bottom },
  };
}

/**
 * @param {SVGElement} picture
 * @param {{ x: Axis, y: Axis }} axes
 * @param {Area} area
 * @param {Spec} spec
 */
function drawAxes(picture, axes, area, { xlabel, ylabel }) {
  const { left, right, top, bottom, width } = area;
  const place = placeIn(axes, area);
  for (const { value, text } of axes.y.ticks) {
    const y = fixed(place.y(value));
    picture.append(svg("line", { class: "grid", x1: left, x2: right, y1: y, y2: y }));
    picture.append(words("tick", left - 8, y + TICK_SIZE / 3, "end", text));
  }
  picture.append(svg("line", { class: "base", x1: left, x2: right, y1: bottom, y2: bottom }));
  for (const { value, text } of axes.x.ticks) {
    const x = fixed(place.x(value));
    picture.append(svg("line", { class: "base", x1: x, x2: x, y1: bottom, y2: bottom + (text ? 4 : 3) }));
    if (!text) continue;
    const half = widthOf(text) / 2;
    const inside = Math.max(half, Math.min(x, width - half));
    picture.append(words("tick", inside, bottom + 18, "middle", text));
  }
  const [middle, centre] = [(left + right) / 2, (top + bottom) / 2];
  picture.append(words("name", middle, bottom + 37, "middle", shortened(xlabel, width)));
  const turned = { transform: `translate(12 ${fixed(centre)}) rotate(-90)`, "text-anchor": "middle" };
  picture.append(svg("text", { class: "name", ...turned }, shortened(ylabel, bottom - top + 20)));
}

/**
 * @param {string} text
 * @param {number} width
 * @returns {string} as much of the text as fits
 */
function shortened(text, width) {
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
function wrapped(text, width) {
  /** @type {string[]} */
  const lines = [];
  for (const word of text.split(/\s+/)) {
    const longer = lines.length ? `${lines[lines.length - 1]} ${word}` : word;
    if (lines.length && widthOf(longer, TITLE_SIZE, 600) <= width) lines[lines.length - 1] = longer;
    else lines.push(word);
  }
  return lines;
}
