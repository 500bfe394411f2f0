/** The charts of `plot`, `scatter`, `bar`, `hist` and `contour`. */

import { drawChart } from "../charts/chart.js";
import { columns, contours, line, spots } from "../charts/marks.js";
import { linearAxis, logAxis, namedAxis, short } from "../charts/scales.js";
import { cutLabel } from "../ui/bounds.js";

/** @typedef {import("../charts/marks.js").Bar} Bar */
/** @typedef {import("../charts/marks.js").Ink} Ink */
/** @typedef {import("../charts/marks.js").Mark} Mark */
/** @typedef {import("../charts/marks.js").Point} Point */
/** @typedef {import("../charts/scales.js").Axis} Axis */
/** @typedef {import("./bundles.js").BarSeries} BarSeries */
/** @typedef {import("./bundles.js").ContourSeries} ContourSeries */
/** @typedef {import("./bundles.js").CurveSeries} CurveSeries */
/** @typedef {import("./bundles.js").HistogramSeries} HistogramSeries */
/** @typedef {import("./bundles.js").PlotBundle} PlotBundle */
/** @typedef {import("./bundles.js").Series} Series */

const COLOURS = 8;
/** Points of the scatter charts in one chart, each of which is an element. */
const MAX_SPOTS = 5000;
const NAMES = {
  line: "Line chart",
  area: "Area chart",
  scatter: "Scatter chart",
  bar: "Bar chart",
  hist: "Histogram",
  contour: "Contour plot",
};

/**
 * @param {PlotBundle} bundle
 * @returns {import("./draw.js").Drawn}
 */
export function drawPlot(bundle) {
  const { element, redraw } = drawChart(specOf(bounded(bundle)));
  return {
    element,
    redraw(next) {
      if (next.kind !== "plot") return false;
      redraw(specOf(bounded(next)));
      return true;
    },
  };
}

/**
 * @param {PlotBundle} bundle
 * @returns {PlotBundle} with texts that can be drawn, and not too many points
 */
function bounded(bundle) {
  const { title, xlabel, ylabel, categories, series } = bundle;
  const spots = series.reduce((sum, one) => sum + (one.mark === "scatter" ? one.x.length : 0), 0);
  const every = Math.ceil(spots / MAX_SPOTS);
  return {
    ...bundle,
    title: cutLabel(title),
    xlabel: cutLabel(xlabel),
    ylabel: cutLabel(ylabel),
    categories: categories?.map(cutLabel) ?? null,
    series: series.map((one) => {
      const named = { ...one, label: cutLabel(one.label) };
      return named.mark === "scatter" && every > 1 ? thinned(named, every) : named;
    }),
  };
}

/**
 * @param {CurveSeries} series
 * @param {number} every
 * @returns {CurveSeries} with one of `every` points
 */
function thinned(series, every) {
  const { x, y, c, step } = series;
  const isKept = (/** @type {unknown} */ _, /** @type {number} */ i) => i % every === 0;
  return { ...series, x: x.filter(isKept), y: y.filter(isKept), c: c?.filter(isKept), step: step * every };
}

/**
 * @param {PlotBundle} bundle
 * @returns {import("../charts/chart.js").Spec}
 */
function specOf(bundle) {
  const { title, xlabel, ylabel, series } = bundle;
  const marks = series.map((one, i) => markOf(one, i, bundle));
  return {
    ...{ title, xlabel, ylabel, marks },
    label: describe(bundle),
    x: axisOver(marks, "x", bundle),
    y: axisOver(marks, "y", bundle),
    colours: series.map(coloursOf).find((found) => found !== null) ?? null,
    notes: [...new Set([...series.flatMap(notesOf), ...marks.flatMap(({ note }) => note || [])])],
    empty: "No finite values",
  };
}

/**
 * @param {Series} series
 * @param {number} i
 * @param {PlotBundle} bundle
 * @returns {Mark}
 */
function markOf(series, i, bundle) {
  const { label } = series;
  const ink = { look: lookOf(i), colour: CSS.supports("color", series.color ?? "") ? series.color : null };
  const base = bundle.yscale === "log" ? null : 0;
  switch (series.mark) {
    case "scatter": {
      const colours = coloursOf(series);
      const radius = Math.sqrt((series.s ?? 24) / Math.PI);
      return spots({
        label,
        ink,
        points: pointsOf(series, bundle),
        radius,
        values: series.c,
        colours,
        marker: series.marker,
      });
    }
    case "bar":
      return columns({ label, ink, base, bars: barsOf(series, bundle) });
    case "hist":
      return columns({
        label,
        ink,
        base,
        isTight: true,
        bars: binsOf(series, bundle),
        isClear: isOneOfMany(series, bundle),
      });
    case "contour":
      return contours({ ...series, ink, colours: coloursOf(series) });
    default:
      return line({
        ...{ label, base, marker: series.marker, isArea: series.mark === "area", hasLine: series.lineWidth !== 0 },
        ink: { ...ink, dashes: series.dashes, width: series.lineWidth },
        points: pointsOf(series, bundle),
      });
  }
}

/**
 * The CSS classes of a series: when the colours run out, lines are dashed, then dotted.
 *
 * @param {number} i
 */
function lookOf(i) {
  return `series-${i % COLOURS} ${["", "dashed", "dotted"][Math.floor(i / COLOURS) % 3]}`.trim();
}

/**
 * @param {Series} series
 * @returns {import("../charts/colours.js").Colours | null}
 */
function coloursOf(series) {
  return ("colours" in series && series.colours) || null;
}

/**
 * @param {CurveSeries | BarSeries} series
 * @param {{ xscale: "linear" | "log", yscale: "linear" | "log" }} scales
 * @returns {(Point | null)[]} null for a gap
 */
function pointsOf({ x, y }, { xscale, yscale }) {
  const isShown = (/** @type {number | null} */ value, /** @type {string} */ scale) =>
    value !== null && (scale === "linear" || value > 0);
  return x.map((each, i) =>
    isShown(each, xscale) && isShown(y[i], yscale) ? { x: Number(each), y: Number(y[i]) } : null,
  );
}

/**
 * The bars of several series stand side by side.
 *
 * @param {BarSeries} series
 * @param {PlotBundle} bundle
 * @returns {Bar[]}
 */
function barsOf(series, bundle) {
  const together = bundle.series.filter(({ mark }) => mark === "bar");
  const width = series.width / together.length;
  const begin = together.indexOf(series) * width - series.width / 2;
  return pointsOf(series, bundle).flatMap((point) => {
    if (!point) return [];
    const name = bundle.categories?.[point.x] ?? short(point.x);
    /** @type {[number, number]} */
    const hit = [point.x - series.width / 2, point.x + series.width / 2];
    return [{ from: point.x + begin, to: point.x + begin + width, y: point.y, name, hit }];
  });
}

/**
 * @param {HistogramSeries} series
 * @param {PlotBundle} bundle
 * @returns {Bar[]} bars of integers are centred on them
 */
function binsOf(series, { yscale }) {
  const { counts, edges, isWhole } = series;
  const shift = isWhole ? 0.5 : 0;
  const room = edges[0] === edges[edges.length - 1] ? Math.abs(edges[0]) / 20 || 0.1 : 0; // all values are equal
  return counts.flatMap((y, i) => {
    if (yscale === "log" && !y) return [];
    return [{ from: edges[i] - shift - room, to: edges[i + 1] - shift + room, y, name: interval(series, i) }];
  });
}

/**
 * @param {HistogramSeries} series
 * @param {number} i
 */
function interval({ edges, isWhole }, i) {
  if (isWhole && edges[i + 1] - edges[i] === 1) return short(edges[i]);
  return `${short(edges[i])} to ${short(isWhole ? edges[i + 1] - 1 : edges[i + 1])}`;
}

/**
 * @param {Mark[]} marks
 * @param {"x" | "y"} which
 * @param {PlotBundle} bundle
 * @returns {(wanted: number) => Axis}
 */
function axisOver(marks, which, bundle) {
  const names = which === "x" ? bundle.categories : null;
  if (names) return (wanted) => namedAxis(names, wanted);
  const extents = marks.flatMap(({ extent }) => (extent ? [extent] : []));
  const low = Math.min(...extents.map((extent) => extent[which][0]));
  const high = Math.max(...extents.map((extent) => extent[which][1]));
  const isLog = (which === "x" ? bundle.xscale : bundle.yscale) === "log";
  if (!extents.length) return (wanted) => (isLog ? logAxis(1, 10, wanted) : linearAxis(0, 1, wanted));
  const hasColumns = bundle.series.some(({ mark }) => mark === "bar" || mark === "hist");
  if (isLog) {
    const room = which === "y" ? (high / low) ** 0.04 : 1;
    return (wanted) => logAxis(hasColumns && which === "y" ? low / 2 : low / room, high * room, wanted);
  }
  const isWhole = extents.every((extent) => (which === "x" ? extent.isWhole : extent.isWholeUp));
  // Leave a margin so that points are not drawn on an edge; lines span the full width.
  const isTight = marks.some((mark) => mark.isTight);
  const hasRoom =
    which === "y"
      ? !marks.every((mark) => mark.isTight && !hasColumns)
      : !isTight && marks.some(({ key }) => key !== "line");
  const room = hasRoom && low < high ? high / 20 - low / 20 : 0;
  const from = low === 0 && hasBase(marks) ? 0 : Math.max(low - room, -Number.MAX_VALUE);
  const to = high === 0 && hasBase(marks) ? 0 : Math.min(high + room, Number.MAX_VALUE);
  const middles = which === "x" ? middlesOf(bundle) : [];
  const hasWholeMiddles = middles.length > 0 && middles.every(Number.isInteger);
  const each = middles.map((value) => ({ value, text: short(value) }));
  const haveTicks = areEven(middles) && new Set(each.map(({ text }) => text)).size === each.length;
  return (wanted) => {
    const axis = linearAxis(from, to, wanted, isWhole || hasWholeMiddles);
    return haveTicks && each.length <= wanted ? { ...axis, ticks: each } : axis;
  };
}

/**
 * @param {PlotBundle} bundle
 * @returns {number[]} the values in the middle of the bars, ascending; empty if there are other marks
 */
function middlesOf({ series }) {
  const found = series.map((one) => {
    if (one.mark === "bar") return one.x.filter((x) => x !== null);
    return one.mark === "hist" && isOfSingles(one) ? one.edges.slice(0, -1) : null;
  });
  if (found.includes(null)) return [];
  return [...new Set(found.flatMap((values) => values ?? []))].sort((a, b) => a - b);
}

/** @param {HistogramSeries} series whether each bin counts a single integer */
function isOfSingles({ isWhole, edges }) {
  return isWhole && edges[1] - edges[0] === 1;
}

/** @param {number[]} values ascending; whether they have equal distances */
function areEven(values) {
  if (!values.length) return false;
  const step = (values[values.length - 1] - values[0]) / (values.length - 1 || 1);
  return values.every((value, i) => Math.abs(value - values[0] - i * step) <= 1e-6 * step);
}

/**
 * Whether a histogram may overlap another one.
 *
 * @param {HistogramSeries} series
 * @param {PlotBundle} bundle
 */
function isOneOfMany(series, bundle) {
  return bundle.series.some((other) => other.mark === "hist" && other !== series);
}

/** @param {Mark[]} marks whether any of them starts at 0 */
function hasBase(marks) {
  return marks.some(({ key }) => key === "area");
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
  const points = pointsOf(series, { xscale: "linear", yscale: "linear" }).filter((p) => p !== null);
  if (!points.length) return `${name}: no finite points.`;
  const low = points.reduce((a, b) => (b.y < a.y ? b : a));
  const high = points.reduce((a, b) => (b.y > a.y ? b : a));
  const at = (/** @type {Point} */ { x }) => bundle.categories?.[x] ?? short(x);
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
