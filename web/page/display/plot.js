/** Charts: lines and points against two axes, and the bars of a histogram. */

import { linearAxis, logAxis, short } from "../ui/axis.js";
import { h, svg } from "../ui/dom.js";

/** @typedef {import("../ui/axis.js").Axis} Axis */
/** @typedef {import("./bundles.js").PlotBundle} PlotBundle */
/** @typedef {import("./bundles.js").HistogramBundle} HistogramBundle */
/** @typedef {import("./bundles.js").Series} Series */
/** @typedef {{ x: number, y: number }} Point */
/** @typedef {{ left: number, right: number, top: number, bottom: number }} Area */

const LARGEST_WIDTH = 680;
const SMALLEST_WIDTH = 240;
const RATIO = 0.48;
const CHARACTER = 6.7; // px of a tick's text
const COLOURS = 8;

/**
 * @param {PlotBundle} bundle
 * @returns {{ element: HTMLElement }}
 */
export function drawPlot(bundle) {
  const caption = bundle.title ? [h("figcaption", { className: "plotted-title" }, bundle.title)] : [];
  const named = bundle.series.filter(({ label }) => label);
  const legend = named.length ? [drawLegend(bundle.series)] : [];
  const figure = h("figure", { className: "plotted" }, ...caption, ...legend);
  const readout = h("p", { className: "readout", ariaHidden: "true" });
  const drawn = drawAsWideAs(figure, (width) => pictureOf(bundle, width, readout));
  const steps = bundle.series.map(({ step }) => step);
  figure.append(drawn, readout, ...partNote(Math.max(1, ...steps), "point"));
  return { element: figure };
}

/**
 * @param {HistogramBundle} bundle
 * @returns {HTMLElement}
 */
export function drawHistogram(bundle) {
  const figure = h("figure", { className: "plotted" });
  figure.append(drawAsWideAs(figure, (width) => barsOf(bundle, width)));
  const odd = Object.entries(bundle.other).filter(([, count]) => count > 0);
  if (odd.length) {
    const words = odd.map(([name, count]) => `${name} ${count.toLocaleString("en")}`).join(" · ");
    figure.append(h("p", { className: "readout" }, `Not in the bars: ${words}`));
  }
  figure.append(...partNote(bundle.step, "element"));
  return figure;
}

/**
 * @param {number} step of so many one was looked at
 * @param {string} what
 */
function partNote(step, what) {
  if (step === 1) return [];
  const text = `Drawn from 1 in ${step.toLocaleString("en")} ${what}s.`;
  return [h("p", { className: "readout" }, text)];
}

/**
 * Text does not scale with a chart, so it is drawn anew for another width.
 *
 * @param {HTMLElement} figure
 * @param {(width: number) => SVGElement} make
 */
function drawAsWideAs(figure, make) {
  const frame = h("div", { className: "plotted-frame" }, make(LARGEST_WIDTH));
  let drawn = LARGEST_WIDTH;
  new ResizeObserver(() => {
    if (!figure.clientWidth) return; // it is hidden
    const width = Math.max(SMALLEST_WIDTH, Math.min(LARGEST_WIDTH, figure.clientWidth));
    if (width === drawn) return;
    drawn = width;
    frame.replaceChildren(make(width));
  }).observe(figure);
  return frame;
}

// Lines and points -----------------------------------------------------------------------------------

/**
 * @param {PlotBundle} bundle
 * @param {number} width
 * @param {HTMLElement} readout shows what the pointer is near to
 */
function pictureOf(bundle, width, readout) {
  const curves = bundle.series.map((series) => pointsOf(series, bundle));
  const all = curves.flat().filter((point) => point !== null);
  const axes = {
    x: axisOf(all, "x", bundle.xscale, width / 80, bundle.mark === "scatter"),
    y: axisOf(all, "y", bundle.yscale, 5, true),
  };
  const area = areaOf(axes.y, width, bundle);
  const place = placer(axes, area);
  const picture = canvas(width, describe(bundle));
  drawAxes(picture, axes, area, bundle);
  const lines = svg("g", {});
  picture.append(lines);
  for (const [i, curve] of curves.entries()) {
    const look = lookOf(i);
    if (bundle.mark === "line") lines.append(svg("path", { class: `curve ${look}`, d: pathOf(curve, place) }));
    const isSparse = curve.length <= 40;
    if (bundle.mark === "scatter" || isSparse) {
      const r = bundle.mark === "scatter" ? 2.5 : 2;
      for (const point of curve) {
        if (point === null) continue;
        const [cx, cy] = place(point);
        lines.append(svg("circle", { class: `spot ${look}`, cx: fixed(cx), cy: fixed(cy), r }));
      }
    }
  }
  if (!all.length) picture.append(emptyNote(width, area, "No finite points"));
  else followPointer(picture, bundle, curves, place, readout);
  return picture;
}

/**
 * @param {Series} series
 * @param {PlotBundle} bundle
 * @returns {(Point | null)[]} null where there is a gap
 */
function pointsOf({ x, y }, { xscale, yscale }) {
  const isShown = (/** @type {number | null} */ value, /** @type {string} */ scale) =>
    value !== null && (scale === "linear" || value > 0);
  return x.map((each, i) =>
    isShown(each, xscale) && isShown(y[i], yscale) ? { x: Number(each), y: Number(y[i]) } : null,
  );
}

/**
 * @param {Point[]} points
 * @param {"x" | "y"} which
 * @param {"linear" | "log"} scale
 * @param {number} wanted
 * @param {boolean} hasRoom beyond the last points: along an edge they would be hard to see
 * @returns {Axis}
 */
function axisOf(points, which, scale, wanted, hasRoom) {
  let [low, high] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (const point of points) {
    low = Math.min(low, point[which]);
    high = Math.max(high, point[which]);
  }
  if (low > high) [low, high] = scale === "log" ? [1, 10] : [0, 1];
  if (scale === "log") return logAxis(low, high, wanted);
  const isWhole = points.every((point) => Number.isInteger(point[which]));
  if (!hasRoom || low === high) return linearAxis(low, high, wanted, isWhole);
  const room = high / 20 - low / 20;
  return linearAxis(Math.max(low - room, -Number.MAX_VALUE), Math.min(high + room, Number.MAX_VALUE), wanted, isWhole);
}

/**
 * @param {(Point | null)[]} curve
 * @param {(point: Point) => [number, number]} place
 */
function pathOf(curve, place) {
  let path = "";
  let isDown = false;
  for (const point of curve) {
    if (point === null) isDown = false;
    else {
      const [x, y] = place(point);
      path += `${isDown ? "L" : "M"}${fixed(x)} ${fixed(y)}`;
      isDown = true;
    }
  }
  return path;
}

/**
 * The nearest point of each series, by its place from left to right.
 *
 * @param {SVGElement} picture
 * @param {PlotBundle} bundle
 * @param {(Point | null)[][]} curves
 * @param {(point: Point) => [number, number]} place
 * @param {HTMLElement} readout
 */
function followPointer(picture, bundle, curves, place, readout) {
  const marks = svg("g", { class: "marks" });
  picture.append(marks);
  picture.addEventListener("pointermove", (event) => {
    const box = picture.getBoundingClientRect();
    const [at, height] = [event.clientX - box.left, event.clientY - box.top];
    const found = curves.map((curve) => nearest(curve, place, at, bundle.mark === "scatter" ? height : null));
    marks.replaceChildren(
      ...found.flatMap((point, i) => {
        if (point === null) return [];
        const [cx, cy] = place(point);
        return [svg("circle", { class: `mark series-${i % COLOURS}`, cx, cy, r: 4 })];
      }),
    );
    const first = found.find((point) => point !== null);
    const values = found.map((point, i) => (point ? `${bundle.series[i].label || "y"} ${short(point.y)}` : ""));
    const all = [first ? `${bundle.xlabel || "x"} ${short(first.x)}` : "", ...values];
    readout.textContent = all.filter(Boolean).join(" · ");
  });
  picture.addEventListener("pointerleave", () => {
    marks.replaceChildren();
    readout.textContent = "";
  });
}

/**
 * @param {(Point | null)[]} curve
 * @param {(point: Point) => [number, number]} place
 * @param {number} x
 * @param {number | null} y where that counts as well
 */
function nearest(curve, place, x, y) {
  /** @type {Point | null} */
  let best = null;
  let least = Number.POSITIVE_INFINITY;
  for (const point of curve) {
    if (point === null) continue;
    const [px, py] = place(point);
    const distance = (px - x) ** 2 + (y === null ? 0 : (py - y) ** 2);
    if (distance < least) [least, best] = [distance, point];
  }
  return best;
}

/**
 * The classes of a series: when colours run out, lines are dashed, then dotted.
 *
 * @param {number} i
 */
function lookOf(i) {
  return `series-${i % COLOURS} ${["", "dashed", "dotted"][Math.floor(i / COLOURS)]}`.trim();
}

/** @param {Series[]} series */
function drawLegend(series) {
  const items = series.map(({ label }, i) => {
    const key = svg("svg", {
      class: "plotted-key",
      viewBox: "0 0 16 10",
      width: 16,
      height: 10,
      "aria-hidden": "true",
    });
    key.append(svg("path", { class: `curve ${lookOf(i)}`, d: "M1 5H15" }));
    return h("li", {}, key, label || `series ${i}`);
  });
  return h("ul", { className: "plotted-legend" }, ...items);
}

/**
 * What the chart shows, in words.
 *
 * @param {PlotBundle} bundle
 */
function describe(bundle) {
  const head = `${bundle.mark === "line" ? "Line chart" : "Scatter chart"}${bundle.title ? `: ${bundle.title}` : ""}.`;
  const lines = bundle.series.map((series) => {
    const points = pointsOf(series, { ...bundle, xscale: "linear", yscale: "linear" }).filter((p) => p !== null);
    const name = series.label || bundle.ylabel || "y";
    if (!points.length) return `${name}: no finite points.`;
    const low = points.reduce((a, b) => (b.y < a.y ? b : a));
    const high = points.reduce((a, b) => (b.y > a.y ? b : a));
    return (
      `${name}: ${series.size} points, least ${short(low.y)} at ${short(low.x)}, ` +
      `greatest ${short(high.y)} at ${short(high.x)}.`
    );
  });
  return [head, ...lines].join(" ");
}

// Bars ---------------------------------------------------------------------------------------------------

/**
 * @param {HistogramBundle} bundle
 * @param {number} width
 */
function barsOf(bundle, width) {
  const { counts, edges, isBool, isWhole } = bundle;
  const most = Math.max(1, ...counts);
  const ticks = isBool
    ? edges.slice(0, -1).map((value) => ({ value: value + 0.5, text: value ? "True" : "False" }))
    : linearAxis(edges[0], edges[edges.length - 1], width / 80, isWhole).ticks;
  const [low, high] = edges[0] < edges[edges.length - 1] ? [edges[0], edges[edges.length - 1]] : [-1, 1];
  const axes = {
    x: { at: (/** @type {number} */ value) => (value / 2 - low / 2) / (high / 2 - low / 2), ticks },
    y: linearAxis(0, most * 1.05, 4, true),
  };
  const area = areaOf(axes.y, width, { xlabel: "", ylabel: "" });
  const place = placer(axes, area);
  const picture = canvas(width, describeBars(bundle));
  drawAxes(picture, axes, area, { xlabel: "", ylabel: "" });
  const bars = svg("g", { class: "columns" });
  const isSingle = edges[0] === edges[edges.length - 1];
  for (const [i, count] of counts.entries()) {
    const [left, top] = place({ x: isSingle ? -0.1 : edges[i], y: count });
    const [right, bottom] = place({ x: isSingle ? 0.1 : edges[i + 1], y: 0 });
    const gap = right - left > 4 ? 1 : 0;
    const title = svg("title", {}, `${interval(bundle, i)}: ${count.toLocaleString("en")}`);
    const size = { x: fixed(left), y: fixed(top), width: fixed(right - left - gap), height: fixed(bottom - top) };
    bars.append(svg("rect", { class: "column", ...size }, title));
  }
  picture.append(bars);
  return picture;
}

/**
 * @param {HistogramBundle} bundle
 * @param {number} i
 */
function interval({ edges, isWhole, isBool }, i) {
  if (isBool) return edges[i] ? "True" : "False";
  if (isWhole && edges[i + 1] - edges[i] === 1) return short(edges[i]);
  return `${short(edges[i])} to ${short(isWhole ? edges[i + 1] - 1 : edges[i + 1])}`;
}

/** @param {HistogramBundle} bundle */
function describeBars(bundle) {
  const { counts, step, size } = bundle;
  const total = counts.reduce((a, b) => a + b, 0);
  const top = counts.indexOf(Math.max(...counts));
  const odd = Object.entries(bundle.other).filter(([, count]) => count > 0);
  const rest = odd.map(([name, count]) => ` ${count} are ${name}.`).join("");
  if (!total) return `Histogram. No element is finite.${rest}`;
  const last = counts.length - 1;
  const range = `from ${interval(bundle, 0)} to ${interval(bundle, last)}`;
  const counted = step > 1 ? `one in ${step} of ${size}` : `${total}`;
  return `Histogram of ${counted} elements, ${range}. Most, ${counts[top]}, are in ${interval(bundle, top)}.${rest}`;
}

// Common -------------------------------------------------------------------------------------------------

/**
 * @param {number} width
 * @param {string} label
 */
function canvas(width, label) {
  const height = Math.round(Math.max(200, width * RATIO));
  const size = { width, height, viewBox: `0 0 ${width} ${height}` };
  return svg("svg", { class: "plotted-picture", role: "img", "aria-label": label, ...size });
}

/**
 * @param {Axis} y
 * @param {number} width
 * @param {{ xlabel: string, ylabel: string }} words
 * @returns {Area}
 */
function areaOf(y, width, { xlabel, ylabel }) {
  const longest = Math.max(0, ...y.ticks.map(({ text }) => text.length));
  const height = Math.round(Math.max(200, width * RATIO));
  const left = 14 + CHARACTER * longest + (ylabel ? 20 : 0);
  return { left, right: width - 14, top: 10, bottom: height - (xlabel ? 46 : 28) };
}

/**
 * @param {{ x: Axis, y: Axis }} axes
 * @param {Area} area
 * @returns {(point: Point) => [number, number]}
 */
function placer(axes, { left, right, top, bottom }) {
  return ({ x, y }) => [left + axes.x.at(x) * (right - left), bottom - axes.y.at(y) * (bottom - top)];
}

/**
 * @param {SVGElement} picture
 * @param {{ x: Axis, y: Axis }} axes
 * @param {Area} area
 * @param {{ xlabel: string, ylabel: string }} words
 */
function drawAxes(picture, axes, area, { xlabel, ylabel }) {
  const { left, right, top, bottom } = area;
  for (const { value, text } of axes.y.ticks) {
    const y = fixed(bottom - axes.y.at(value) * (bottom - top));
    picture.append(svg("line", { class: "grid", x1: left, x2: right, y1: y, y2: y }));
    picture.append(svg("text", { class: "tick", x: left - 8, y, dy: "0.35em", "text-anchor": "end" }, text));
  }
  picture.append(svg("line", { class: "base", x1: left, x2: right, y1: bottom, y2: bottom }));
  for (const { value, text } of axes.x.ticks) {
    const x = left + axes.x.at(value) * (right - left);
    picture.append(svg("line", { class: "base", x1: fixed(x), x2: fixed(x), y1: bottom, y2: bottom + 4 }));
    const inside = Math.min(x, right + 12 - (CHARACTER * text.length) / 2);
    picture.append(svg("text", { class: "tick", x: fixed(inside), y: bottom + 18, "text-anchor": "middle" }, text));
  }
  const [middle, centre] = [(left + right) / 2, (top + bottom) / 2];
  if (xlabel) {
    picture.append(svg("text", { class: "name", x: middle, y: bottom + 38, "text-anchor": "middle" }, xlabel));
  }
  if (ylabel) {
    const turned = { transform: `translate(12 ${centre}) rotate(-90)`, "text-anchor": "middle" };
    picture.append(svg("text", { class: "name", ...turned }, ylabel));
  }
}

/**
 * @param {number} width
 * @param {Area} area
 * @param {string} words
 */
function emptyNote(width, { top, bottom }, words) {
  return svg("text", { class: "name", x: width / 2, y: (top + bottom) / 2, "text-anchor": "middle" }, words);
}

/** @param {number} value */
function fixed(value) {
  return Number(value.toFixed(1));
}
