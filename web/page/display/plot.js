/** The charts of `plot`, `scatter`, `bar`, `hist` and `contour`: Python's drawing, with pointer and zoom. */

import { colourOf } from "../charts/colours.js";
import { short } from "../charts/numbers.js";
import { followPointer, nearest } from "../charts/pointer.js";
import { cutLabel, MAX_LABEL, moreCharacters } from "../ui/bounds.js";
import { h } from "../ui/dom.js";
import { DrawnByPython } from "./drawn.js";
import { followDrag } from "./zoom.js";

/** @typedef {import("../charts/pointer.js").Near} Near */
/** @typedef {import("../charts/pointer.js").Pointed} Pointed */
/** @typedef {import("./bundles.js").Bundle} Bundle */
/** @typedef {import("./bundles.js").Bar} Bar */
/** @typedef {import("./bundles.js").ContourSeries} ContourSeries */
/** @typedef {import("./bundles.js").CurveSeries} CurveSeries */
/** @typedef {import("./bundles.js").Drawing} Drawing */
/** @typedef {import("./bundles.js").HistogramSeries} HistogramSeries */
/** @typedef {import("./bundles.js").PlotBundle} PlotBundle */
/** @typedef {import("./bundles.js").Series} Series */

const COLOURS = 8;
const LARGEST_WIDTH = 680;
const SMALLEST_WIDTH = 220;
const NAMES = {
  line: "Line chart",
  area: "Area chart",
  scatter: "Scatter chart",
  bar: "Bar chart",
  hist: "Histogram",
  contour: "Contour plot",
};

export class Plot {
  /**
   * @param {PlotBundle} bundle
   * @param {import("./draw.js").Place} place
   */
  constructor(bundle, place) {
    this.bundle = bundle;
    /** What the drawing in the frame shows, and what was asked for last. */
    this.shown = this.asked = "";
    /** What is not shown of the title. */
    this.note = "";
    /** The range of each axis; null: the whole chart. @type {import("./zoom.js").Window | null} */
    this.window = null;
    this.frame = h("div", { className: "plotted-frame" });
    this.element = h("figure", { className: "plotted" }, this.frame);
    this.drawn = new DrawnByPython(place.engine, this.frame, (drawing, of) => {
      if (of === this.bundle) this.show(drawing, this.asked);
    });
    this.redraw(bundle);
    new ResizeObserver(() => this.ask()).observe(this.frame);
  }

  /** @param {Bundle} bundle */
  redraw(bundle) {
    if (bundle.kind !== "plot") return false;
    this.bundle = bounded(bundle);
    const hidden = bundle.title.length - MAX_LABEL;
    this.note = hidden > 0 ? `The title is cut: ${moreCharacters(hidden)}.` : "";
    this.shown = "";
    if (bundle.drawing && !this.window) this.show(bundle.drawing, keyOf(widthIn(bundle.drawing.size[0]), null));
    this.ask();
    return true;
  }

  /** Have it drawn again if its width, or the part to be shown, is another one. */
  ask() {
    if (!this.frame.clientWidth && this.drawn.drawing) return; // it is hidden
    const width = widthIn(this.frame.clientWidth || LARGEST_WIDTH);
    this.asked = keyOf(width, this.window);
    if (this.shown !== this.asked) this.drawn.ask(this.bundle, { width, height: 0, window: this.window });
  }

  /**
   * @param {Drawing} drawing
   * @param {string} key
   */
  show(drawing, key) {
    const { bundle } = this;
    this.shown = key;
    const picture = this.drawn.show(drawing);
    picture.setAttribute("role", "img");
    picture.setAttribute("aria-label", describe(bundle));
    const notes = new Set([...bundle.series.flatMap(notesOf), ...levelsNote(bundle, picture)]);
    if (this.note) notes.add(this.note);
    const said = [...notes].map((note) => h("p", { className: "plotted-note" }, note));
    this.element.replaceChildren(this.frame, ...said);
    const place = placeIn(drawing);
    const series = bundle.series.map((one, i) => pointed(one, i, drawing, place));
    followPointer(picture, series, place, bundle.xlabel);
    followDrag(picture, place, (window) => {
      this.window = window;
      this.ask();
    });
  }
}

/** @param {number} room */
function widthIn(room) {
  return Math.max(SMALLEST_WIDTH, Math.min(LARGEST_WIDTH, room));
}

/**
 * @param {number} width
 * @param {import("./zoom.js").Window | null} window
 */
function keyOf(width, window) {
  return JSON.stringify({ width, window });
}

/**
 * @param {PlotBundle} bundle
 * @returns {PlotBundle} with texts that can be shown
 */
function bounded(bundle) {
  return {
    ...bundle,
    title: cutLabel(bundle.title),
    xlabel: cutLabel(bundle.xlabel),
    ylabel: cutLabel(bundle.ylabel),
    categories: bundle.categories?.map(cutLabel) ?? null,
    series: bundle.series.map((one) => ({ ...one, label: cutLabel(one.label) })),
  };
}

/**
 * @typedef {object} Axis
 * @property {(value: number) => number} at the position of a value; NaN for none
 * @property {(position: number) => number} value
 *
 * @typedef {import("../charts/pointer.js").Box & { x: Axis, y: Axis }} Placed
 */

/**
 * @param {Drawing} drawing
 * @returns {Placed}
 */
function placeIn({ area: [left, right, top, bottom], axes }) {
  return { left, right, top, bottom, x: axisOf(axes.x, left, right), y: axisOf(axes.y, bottom, top) };
}

/**
 * @param {[low: number, high: number, isLog: boolean]} axis
 * @param {number} start
 * @param {number} end
 * @returns {Axis}
 */
function axisOf([low, high, isLog], start, end) {
  // Halves, because the difference may be infinite.
  const [from, to] = isLog ? [Math.log10(low) / 2, Math.log10(high) / 2] : [low / 2, high / 2];
  return {
    at: (value) => start + (((isLog ? Math.log10(value) : value) / 2 - from) / (to - from)) * (end - start),
    value(position) {
      const half = from + ((position - start) / (end - start)) * (to - from);
      return isLog ? 10 ** (2 * half) : 2 * half;
    },
  };
}

/**
 * @param {Series} series
 * @param {number} i
 * @param {Drawing} drawing
 * @param {Placed} place
 * @returns {Pointed} what the pointer finds of it
 */
function pointed(series, i, { hits }, place) {
  const colour = CSS.supports("color", series.color ?? "") ? series.color : null;
  const about = { label: series.label, ink: { look: `series-${i % COLOURS}`, colour } };
  switch (series.mark) {
    case "bar":
    case "hist":
      return { ...about, isAlong: true, near: (x) => nearBar(hits[i], x) };
    case "contour":
      return { ...about, isAlong: false, near: nearInGrid(series, place) };
    default: {
      const isAlong = series.mark !== "scatter";
      const isLine = isAlong && series.lineWidth !== 0 && series.mark === "line";
      return { ...about, isAlong, isLine, near: nearPoint(series, isAlong, place) };
    }
  }
}

/**
 * @param {Bar[]} bars
 * @param {number} x
 * @returns {Near | null}
 */
function nearBar(bars, x) {
  const bar = bars.find(([left, right]) => x >= Math.min(left, right - 1) && x < right);
  if (!bar) return null;
  const [, , at, up, head, value] = bar;
  return { at, up, head: cutLabel(head), text: value.toLocaleString("en", { maximumSignificantDigits: 6 }) };
}

/**
 * @param {CurveSeries} series
 * @param {boolean} isAlong
 * @param {Placed} place
 * @returns {Pointed["near"]}
 */
function nearPoint({ x, y, c, colours }, isAlong, place) {
  const positions = (/** @type {import("./bundles.js").Values} */ values, /** @type {Axis} */ axis) =>
    values.map((value) => (value === null ? Number.NaN : axis.at(value)));
  /** @type {number[][] | null} computed when the pointer comes: an animation is not to wait for it */
  let pixels = null;
  return (at, up) => {
    pixels ??= [positions(x, place.x), positions(y, place.y)];
    const [xs, ys] = pixels;
    const index = nearest(xs, ys, at, isAlong ? null : up);
    if (index < 0) return null;
    const near = { at: xs[index], up: ys[index], head: short(Number(x[index])), text: short(Number(y[index])) };
    const value = c?.[index] ?? null;
    if (value === null || !colours) return near;
    return { ...near, text: `${near.text}, c ${short(value)}`, ink: { look: "", colour: colourOf(colours, value) } };
  };
}

/**
 * @param {ContourSeries} series
 * @param {Placed} place
 * @returns {Pointed["near"]}
 */
function nearInGrid({ x, y, z }, place) {
  const [xs, ys] = [x.map(place.x.at), y.map(place.y.at)];
  return (at, up) => {
    const [column, row] = [nearest(xs, xs, at, null), nearest(ys, ys, up, null)];
    if (row < 0 || column < 0) return null;
    const value = z[row][column];
    const text = value === null ? "nan" : short(value);
    return { at: xs[column], up: ys[row], head: `${short(x[column])}, ${short(y[row])}`, text };
  };
}

// Descriptions ---------------------------------------------------------------------------------------

/**
 * @param {HistogramSeries} series
 * @param {number} i
 */
function interval({ edges, isWhole }, i) {
  if (isWhole && edges[i + 1] - edges[i] === 1) return short(edges[i]);
  return `${short(edges[i])} to ${short(isWhole ? edges[i + 1] - 1 : edges[i + 1])}`;
}

/**
 * @param {CurveSeries | import("./bundles.js").BarSeries} series
 * @returns {{ x: number, y: number }[]}
 */
function finitePoints({ x, y }) {
  return x.flatMap((each, i) => (each === null || y[i] === null ? [] : [{ x: each, y: Number(y[i]) }]));
}

/** @param {Series} series */
function notesOf(series) {
  const notes = [];
  if (series.mark === "hist") {
    const odd = Object.entries(series.other).filter(([, count]) => count > 0);
    const told = odd.map(([name, count]) => `${name} ${count.toLocaleString("en")}`).join(" · ");
    if (odd.length) notes.push(`Not in the bars: ${told}`);
  }
  const what = series.mark === "hist" || series.mark === "contour" ? "element" : "point";
  if (series.step > 1) notes.push(`Drawn from 1 in ${series.step.toLocaleString("en")} ${what}s.`);
  return notes;
}

/**
 * @param {PlotBundle} bundle
 * @param {SVGSVGElement} picture
 * @returns {string[]} whether contour lines are drawn at some of the levels only, because there are so many
 */
function levelsNote({ series }, picture) {
  const levels = series.flatMap((one) => (one.mark === "contour" ? one.levels : []));
  const drawn = picture.querySelectorAll(".level").length;
  return drawn < levels.length ? [`Lines are drawn at 1 in ${Math.ceil(levels.length / drawn)} levels.`] : [];
}

/**
 * A description of the chart.
 *
 * @param {PlotBundle} bundle
 */
function describe(bundle) {
  const kinds = [...new Set(bundle.series.map(({ mark }) => NAMES[mark] ?? NAMES.line))];
  if (kinds.length === 1 && kinds[0] === NAMES.hist && bundle.series.length === 1 && !bundle.title) {
    return describeBins(/** @type {HistogramSeries} */ (bundle.series[0]));
  }
  const kind = kinds.length === 1 ? kinds[0] : "Chart";
  const head = `${kind}${bundle.title ? `: ${bundle.title}` : ""}.`;
  return [head, ...bundle.series.map((series) => describeSeries(series, bundle))].join(" ");
}

/**
 * @param {Series} series
 * @param {PlotBundle} bundle
 */
function describeSeries(series, bundle) {
  const name = series.label || bundle.ylabel || "y";
  if (series.mark === "hist") return `${series.label ? `${series.label}: ` : ""}${describeBins(series)}`;
  if (series.mark === "contour") {
    const levels = series.levels.map(short).join(", ");
    return `${series.label ? `${series.label}: ` : ""}${series.levels.length} levels${levels ? `: ${levels}` : ""}.`;
  }
  const points = finitePoints(series);
  if (!points.length) return `${name}: no finite points.`;
  const low = points.reduce((a, b) => (b.y < a.y ? b : a));
  const high = points.reduce((a, b) => (b.y > a.y ? b : a));
  const at = (/** @type {{ x: number }} */ { x }) => bundle.categories?.[x] ?? short(x);
  const what = series.mark === "bar" ? "bars" : "points";
  return `${name}: ${series.size} ${what}, least ${short(low.y)} at ${at(low)}, greatest ${short(high.y)} at ${at(high)}.`;
}

/** @param {HistogramSeries} series */
function describeBins(series) {
  const { counts, step, size, other } = series;
  const most = Math.max(...counts);
  const odd = Object.entries(other).filter(([, count]) => count > 0);
  const rest = odd.map(([name, count]) => ` ${count} are ${name}.`).join("");
  if (!most) return `Histogram. No element is finite.${rest}`;
  const range = `from ${interval(series, 0)} to ${interval(series, counts.length - 1)}`;
  const counted = step > 1 ? `one in ${step} of ${size}` : `${size - odd.reduce((sum, [, count]) => sum + count, 0)}`;
  const top = counts.indexOf(most);
  return `Histogram of ${counted} elements, ${range}. Most, ${short(most)}, are in ${interval(series, top)}.${rest}`;
}
