/** Time against size, one small chart for each case, both axes logarithmic. */

import { pictureActions, saveRow } from "../display/saving.js";
import { standalone } from "../display/standalone.js";
import { h } from "../ui/dom.js";
import { drawFigure } from "./figure.js";
import { duration } from "./format.js";
import { classOf, legend, shapeOf } from "./marks.js";
import { contendersOf, isMeasured } from "./record.js";
import { decades, through } from "./scales.js";
import { line } from "./series.js";
import { median } from "./statistics.js";

/** @typedef {import("./record.js").Run} Run */
/** @typedef {import("./record.js").Result} Result */

/** Width of a saved chart, in CSS pixels. */
const SAVED_WIDTH = 480;

/**
 * @typedef {object} Series
 * @property {string} contender
 * @property {string} kind its class: "wall", "gpu" (kernels only) or "before" (the run compared with)
 * @property {{ extent: number, seconds: number, title: string }[]} points
 */

/**
 * @param {Run} run
 * @param {Run | null} other a run to draw beneath it
 * @param {Record<string, string>} titles of the suites
 * @returns {HTMLElement | null} null if there is nothing to draw
 */
export function charts(run, other, titles) {
  const suites = [...new Set(run.results.map(({ suite }) => suite))];
  const sections = suites.flatMap((suite) => {
    const cases = [...new Set(run.results.filter((result) => result.suite === suite).map((result) => result.case))];
    const figures = cases.flatMap((name) => {
      const picture = chart(suite, name, run, other);
      return picture ? [picture] : [];
    });
    if (!figures.length) return [];
    const title = suites.length > 1 ? [h("h3", {}, titles[suite] ?? suite)] : [];
    return [...title, h("div", { className: "figures" }, ...figures)];
  });
  if (!sections.length) return null;
  const key = legend(contendersOf(run));
  if (run.results.some(({ contenders }) => Object.values(contenders).some(({ gpu }) => gpu))) {
    const clock = `${run.software ? "the software adapter" : "the GPU"}’s clock in a separate sample`;
    key.append(h("span", { className: "faint" }, `dotted: kernels only, by ${clock}, which can exceed the whole time`));
  }
  if (other) key.append(h("span", { className: "faint" }, `faded: ${other.name ?? "the other run"}`));
  return h("div", { className: "charts" }, key, ...sections);
}

/**
 * @param {string} suite
 * @param {string} name
 * @param {Run} run
 * @param {Run | null} other
 * @returns {HTMLElement | null}
 */
function chart(suite, name, run, other) {
  const results = ofCase(run, suite, name);
  const sizes = new Map(results.map(({ extent, size }) => [Number(extent), size.replaceAll(" ", "")]));
  const series = [
    ...(other ? seriesOf(ofCase(other, suite, name), contendersOf(other), "before") : []),
    ...seriesOf(results, contendersOf(run), "wall"),
  ];
  const shown = series.flatMap(({ points }) => points.filter(({ extent }) => sizes.has(extent)));
  if (!shown.length) return null;

  const extents = [...sizes.keys()].sort((a, b) => a - b);
  const ticks = extents.map((value) => ({ value, text: sizes.get(value) ?? "" }));
  const seconds = shown.map((point) => point.seconds);
  /** @type {import("./figure.js").Spec} */
  const spec = {
    title: name,
    xlabel: "size",
    ylabel: "time per op",
    label: `${name}: time per op against size, log scale; the table has the figures`,
    className: "small",
    ratio: 0.62,
    x: (wanted) => through(ticks, wanted),
    y: decades(seconds, power),
    hasLegend: false, // there is one for all charts
    marks: series.map(({ contender, kind, points }) =>
      line({
        label: "",
        ink: { look: `${classOf(contender)} ${kind}` },
        marker: shapeOf(contender),
        hasSpots: kind !== "gpu",
        points: points
          .filter(({ extent }) => sizes.has(extent))
          .map(({ extent, seconds: y, title }) => ({ x: extent, y, head: sizes.get(extent) ?? "", title })),
      }),
    ),
  };
  const place = h("div", {}, drawFigure(spec));
  const alone = () => {
    const marks = spec.marks.map((mark, i) => ({
      ...mark,
      label: labelOf(series[i], other),
      marker: series[i].kind === "gpu" ? undefined : mark.marker,
    }));
    const element = drawFigure({ ...spec, marks, hasLegend: true, largest: SAVED_WIDTH });
    element.style.width = "max-content";
    place.append(element); // only its place in the panel gives it its colours
    try {
      return standalone(element);
    } finally {
      element.remove();
    }
  };
  place.append(saveRow(pictureActions(alone, name)));
  return place;
}

/**
 * @param {Series} series
 * @param {Run | null} other
 */
function labelOf({ contender, kind }, other) {
  if (kind === "gpu") return `${contender}, kernels only`;
  return kind === "before" ? `${contender}, ${other?.name ?? "the other run"}` : contender;
}

/**
 * @param {Run} run
 * @param {string} suite
 * @param {string} name
 */
function ofCase(run, suite, name) {
  const those = run.results.filter((result) => result.suite === suite && result.case === name && result.extent);
  return those.sort((a, b) => Number(a.extent) - Number(b.extent));
}

/**
 * @param {Result[]} results
 * @param {string[]} contenders
 * @param {"wall" | "before"} kind
 * @returns {Series[]}
 */
function seriesOf(results, contenders, kind) {
  /** @type {Series[]} */
  const series = [];
  for (const contender of contenders) {
    /** @type {Series["points"]} */
    const wall = [];
    /** @type {Series["points"]} */
    const gpu = [];
    for (const { extent, contenders: outcomes } of results) {
      const outcome = outcomes[contender];
      if (!isMeasured(outcome)) continue;
      const seconds = median(outcome.samples);
      wall.push({
        extent: Number(extent),
        seconds,
        title: `${contender}${kind === "before" ? ", before" : ""}: ${duration(seconds)}`,
      });
      if (outcome.gpu && kind === "wall")
        gpu.push({
          extent: Number(extent),
          seconds: outcome.gpu,
          title: `${contender}, kernels: ${duration(outcome.gpu)}`,
        });
    }
    if (gpu.length > 1) series.push({ contender, kind: "gpu", points: gpu });
    if (wall.length) series.push({ contender, kind, points: wall });
  }
  return series;
}

/** @param {number} seconds a power of ten */
function power(seconds) {
  const [unit, factor] =
    seconds < 0.9e-6 ? ["ns", 1e9] : seconds < 0.9e-3 ? ["µs", 1e6] : seconds < 0.9 ? ["ms", 1e3] : ["s", 1];
  return `${Math.round(seconds * Number(factor))} ${unit}`;
}
