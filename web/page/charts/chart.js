/**
 * The page's charts: title, legend, axes, marks, colour bar, and the values under the pointer. A chart draws marks
 * (marks.js), and a view may define its own.
 */

import { h, svg } from "../ui/dom.js";
import { barWidth, drawBar } from "./colours.js";
import { inked } from "./marks.js";
import { fixed, shortened, TICK_SIZE, TITLE_SIZE, widthOf, words, wrapped } from "./text.js";

/** @typedef {import("./colours.js").Colours} Colours */
/** @typedef {import("./marks.js").Mark} Mark */
/** @typedef {import("./marks.js").Near} Near */
/** @typedef {import("./marks.js").Place} Place */
/** @typedef {import("./scales.js").Axis} Axis */

/**
 * @typedef {object} Spec
 * @property {string} label what the chart shows, in words
 * @property {string} [title]
 * @property {string} [xlabel]
 * @property {string} [ylabel]
 * @property {(wanted: number) => Axis} x an axis with about `wanted` ticks
 * @property {(wanted: number) => Axis} y
 * @property {Mark[]} marks
 * @property {boolean} [hasLegend] default: if any mark has a label
 * @property {Colours | null} [colours] of the colour bar
 * @property {string[]} [notes] below it
 * @property {string} [className] of the figure
 * @property {number} [ratio] height divided by width
 * @property {number} [largest] width, in CSS pixels
 * @property {string} [empty] the text shown if there is nothing to draw
 *
 * @typedef {{ left: number, right: number, top: number, bottom: number, width: number, height: number }} Area
 */

const LARGEST_WIDTH = 680;
const SMALLEST_WIDTH = 220;
const RATIO = 0.48;
const MIN_HEIGHT = 220; // of the axes, including the text below them
const EDGE = 14;
const LINE = 18;
const KEY = 22;
/** Largest distance from the pointer to a point that it selects, in CSS pixels. */
const REACH = 40;

/**
 * @typedef {object} Chart
 * @property {HTMLElement} element a figure
 * @property {(spec: Spec) => void} redraw draws another chart in it
 *
 * @param {Spec} spec
 * @returns {Chart} redrawn when its width changes, because text does not scale with it
 */
export function drawChart(spec) {
  let shown = spec;
  let drawn = spec.largest ?? LARGEST_WIDTH;
  const frame = h("div", { className: "plotted-frame" });
  const element = h("figure", { className: `plotted ${spec.className ?? ""}`.trim() });
  new ResizeObserver(() => {
    if (!frame.clientWidth) return; // it is hidden
    const width = Math.max(SMALLEST_WIDTH, Math.min(shown.largest ?? LARGEST_WIDTH, frame.clientWidth));
    if (width === drawn) return;
    drawn = width;
    frame.replaceChildren(draw(shown, width));
  }).observe(frame);
  /** @param {Spec} next */
  const redraw = (next) => {
    shown = next;
    frame.replaceChildren(draw(next, drawn));
    const notes = (next.notes ?? []).map((note) => h("p", { className: "plotted-note" }, note));
    element.replaceChildren(frame, ...notes);
  };
  redraw(spec);
  return { element, redraw };
}

/**
 * @param {Spec} spec
 * @param {number} width
 */
function draw(spec, width) {
  const head = headOf(spec, width);
  const height = head.height + Math.round(spec.ratio ? width * spec.ratio : Math.max(MIN_HEIGHT, width * RATIO));
  const picture = canvas(width, height, spec.label);
  picture.append(...head.elements);
  const { area, axes } = layOut(spec, head.height, width, height);
  const place = placeIn(axes, area);
  drawAxes(picture, axes, area, spec);
  if (spec.colours) picture.append(drawBar(spec.colours, area.right, area.top, area.bottom));
  const layer = svg("g", { class: "marks" });
  for (const mark of spec.marks) layer.append(...mark.draw(place));
  picture.append(layer);
  if (spec.marks.some(({ extent }) => extent)) followPointer(picture, spec, place);
  else picture.append(words("name", width / 2, (area.top + area.bottom) / 2, "middle", spec.empty ?? "No data"));
  return picture;
}

/**
 * @param {number} width
 * @param {number} height
 * @param {string} label
 */
export function canvas(width, height, label) {
  const size = { width, height, viewBox: `0 0 ${width} ${height}` };
  return svg("svg", { class: "plotted-picture", role: "img", "aria-label": label, ...size });
}

/**
 * The title and the legend.
 *
 * @param {Spec} spec
 * @param {number} width
 * @returns {{ elements: SVGElement[], height: number }}
 */
function headOf({ title = "", marks, hasLegend }, width) {
  const { elements, height } = drawTitle(title, width);
  const named = marks.filter(({ label }) => label);
  if (!(hasLegend ?? named.length > 0)) return { elements, height };
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
 * @param {string} title
 * @param {number} width
 * @returns {{ elements: SVGElement[], height: number }}
 */
export function drawTitle(title, width) {
  if (!title) return { elements: [], height: 0 };
  const lines = wrapped(title, width);
  const elements = lines.map((text, i) => words("title", 0, TITLE_SIZE + i * 20, "start", text));
  return { elements, height: lines.length * 20 + 6 };
}

/**
 * How the legend shows a mark, 16 by 18.
 *
 * @param {Mark} mark
 */
function keyOf({ key, ink, marker }) {
  const group = svg("g", {});
  if (key === "area") group.append(svg("rect", { class: "column", x: 2, y: 3, width: 12, height: 12, rx: 2 }));
  if (key === "line") group.append(svg("path", { class: "curve", d: "M1 9H15" }));
  if (marker) group.append(svg("path", { class: "spot", d: marker, transform: "translate(8 9)" }));
  else if (key === "spot") group.append(svg("circle", { class: "spot", cx: 8, cy: 9, r: 3.5 }));
  for (const element of group.querySelectorAll("*")) inked(/** @type {SVGElement} */ (element), ink);
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
  const bottom = height - (spec.xlabel ? 42 : 24);
  const y = spec.y(Math.max(2, Math.min(8, (bottom - top) / 48)));
  const left = leftOf(y, spec.ylabel);
  const bar = spec.colours ? barWidth(spec.colours, bottom - top - 8) : 0;
  const area = { left, right: width - Math.max(EDGE, bar), top: top + 8, bottom, width, height };
  return { area, axes: { x: fitting(spec.x, area.right - left), y } };
}

/**
 * @param {Axis} axis that of y
 * @param {string} [name]
 * @returns {number} the space left of the axes
 */
export function leftOf(axis, name) {
  const longest = Math.max(0, ...axis.ticks.map(({ text }) => widthOf(text)));
  return Math.ceil(12 + longest + (name ? 22 : 0));
}

/**
 * An axis whose tick labels do not overlap.
 *
 * @param {(wanted: number) => Axis} make
 * @param {number} length
 */
export function fitting(make, length) {
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
export function placeIn(axes, { left, right, top, bottom }) {
  const y = (/** @type {number} */ value) => bottom - axes.y.at(value) * (bottom - top);
  const zero = y(0); // on a logarithmic axis it is infinitely far
  return {
    x: (value) => left + axes.x.at(value) * (right - left),
    y,
    ...{ left, right, top, bottom },
    base: Number.isFinite(zero) ? Math.min(Math.max(zero, top), bottom) : bottom,
  };
}

/**
 * @param {SVGElement} picture
 * @param {{ x: Axis, y: Axis }} axes
 * @param {Area} area
 * @param {{ xlabel?: string, ylabel?: string, isBare?: boolean }} names bare: without lines across
 */
export function drawAxes(picture, axes, area, { xlabel, ylabel, isBare = false }) {
  const { left, right, top, bottom, width } = area;
  const place = placeIn(axes, area);
  for (const { value, text } of axes.y.ticks) {
    const y = fixed(place.y(value));
    const isShort = isBare || !text;
    const [x1, x2] = isShort ? [left - (text ? 4 : 3), left] : [left, right];
    picture.append(svg("line", { class: isShort ? "base" : "grid", x1, x2, y1: y, y2: y }));
    if (text) picture.append(words("tick", left - 8, y + TICK_SIZE / 3, "end", text));
  }
  if (!isBare) picture.append(svg("line", { class: "base", x1: left, x2: right, y1: bottom, y2: bottom }));
  for (const { value, text } of axes.x.ticks) {
    const x = fixed(place.x(value));
    picture.append(svg("line", { class: "base", x1: x, x2: x, y1: bottom, y2: bottom + (text ? 4 : 3) }));
    if (!text) continue;
    const half = widthOf(text) / 2;
    const inside = Math.max(half, Math.min(x, width - half));
    picture.append(words("tick", inside, bottom + 18, "middle", text));
  }
  const [middle, centre] = [(left + right) / 2, (top + bottom) / 2];
  if (xlabel) picture.append(words("name", middle, bottom + 37, "middle", shortened(xlabel, width)));
  if (ylabel) {
    const turned = { transform: `translate(12 ${fixed(centre)}) rotate(-90)`, "text-anchor": "middle" };
    picture.append(svg("text", { class: "name", ...turned }, shortened(ylabel, bottom - top + 20)));
  }
}

// Values under the pointer ---------------------------------------------------------------------------

/**
 * @param {SVGSVGElement} picture
 * @param {Spec} spec
 * @param {Place} place
 */
function followPointer(picture, spec, place) {
  const layer = svg("g", { class: "pointed", "aria-hidden": "true" });
  picture.append(layer);
  const clear = () => layer.replaceChildren();
  const follow = (/** @type {PointerEvent} */ event) => {
    const box = picture.getBoundingClientRect();
    const scale = picture.width.baseVal.value / box.width;
    const [x, y] = [(event.clientX - box.left) * scale, (event.clientY - box.top) * scale];
    clear();
    if (x < place.left - REACH || x > place.right + REACH || y < place.top - REACH || y > place.bottom + REACH) return;
    const found = pointedAt(spec.marks, x, y, place);
    if (!found.length) return;
    if (found.some(({ mark }) => mark.isAlong && mark.key === "line")) {
      const at = fixed(found[0].near.at);
      layer.append(svg("line", { class: "guide", x1: at, x2: at, y1: place.top, y2: place.bottom }));
    }
    for (const { mark, near } of found) {
      const ring = svg("circle", { class: "ring", cx: fixed(near.at), cy: fixed(near.up), r: 4 });
      layer.append(inked(ring, near.ink ?? mark.ink));
    }
    layer.append(drawTip(spec, found, place));
  };
  picture.addEventListener("pointermove", follow);
  picture.addEventListener("pointerdown", follow);
  picture.addEventListener("pointerleave", clear);
}

/** @typedef {{ mark: Mark, near: Near }} Found */

/**
 * For each series with x values, the value nearest in x; if there is none, the single nearest point.
 *
 * @param {Mark[]} marks
 * @param {number} x
 * @param {number} y
 * @param {Place} place
 * @returns {Found[]}
 */
function pointedAt(marks, x, y, place) {
  /** @type {Found[]} */
  const along = [];
  /** @type {Found | null} */
  let single = null;
  let least = REACH;
  for (const mark of marks) {
    const near = mark.near(x, y, place);
    if (!near) continue;
    const distance = Math.hypot(near.at - x, near.up - y);
    if (mark.isAlong) along.push({ mark, near });
    else if (distance < least) [single, least] = [{ mark, near }, distance];
  }
  if (single) return [single];
  const nearest = Math.min(...along.map(({ near }) => Math.abs(near.at - x)));
  return along.filter(({ near }) => Math.abs(near.at - x) <= nearest + 0.5 || near.head === along[0].near.head);
}

/**
 * @param {Spec} spec
 * @param {Found[]} found
 * @param {Place} place
 */
function drawTip({ xlabel }, found, place) {
  const head = `${xlabel ? `${xlabel} ` : ""}${found[0].near.head}`;
  const rows = found.map(({ mark, near }) => ({
    ink: near.ink ?? mark.ink,
    text: mark.label ? `${mark.label}  ${near.text}` : near.text,
  }));
  return tipAt(found[0].near.at, Math.min(...found.map(({ near }) => near.up)), [head], rows, place);
}

/**
 * A text box beside a position, kept inside its container.
 *
 * @param {number} x
 * @param {number} y
 * @param {string[]} heads
 * @param {{ ink: import("./marks.js").Ink, text: string }[]} rows
 * @param {{ left: number, right: number, top: number, bottom: number }} around
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
