/** Time against size, one small chart for each case, both axes logarithmic. */

import { between, decades, through } from "../ui/axis.js";
import { h, svg } from "../ui/dom.js";
import { duration } from "./format.js";
import { classOf, legend, mark } from "./marks.js";
import { contendersOf, isMeasured } from "./record.js";
import { median } from "./statistics.js";

/** @typedef {import("./record.js").Run} Run */
/** @typedef {import("./record.js").Result} Result */

const WIDTH = 300;
const HEIGHT = 190;
const LEFT = 46;
const RIGHT = 12;
const TOP = 10;
const BOTTOM = 26;

/**
 * @typedef {object} Series
 * @property {string} contender
 * @property {string} name
 * @property {string} kind its class: of "wall", "gpu" (the kernels alone) and "before" (of the run compared with)
 * @property {{ extent: number, seconds: number, title: string }[]} points
 */

/**
 * @param {Run} run
 * @param {Run | null} other a run to lay under it
 * @param {Record<string, string>} titles of the suites
 * @returns {HTMLElement | null} null where nothing has a place on an axis
 */
export function charts(run, other, titles) {
  const suites = [...new Set(run.results.map(({ suite }) => suite))];
  const sections = suites.flatMap((suite) => {
    const cases = [...new Set(run.results.filter((result) => result.suite === suite).map((result) => result.case))];
    const figures = cases.flatMap((name) => {
      const picture = chart(suite, name, run, other);
      return picture ? [h("figure", {}, h("figcaption", {}, name), /** @type {any} */ (picture))] : [];
    });
    if (!figures.length) return [];
    const title = suites.length > 1 ? [h("h3", {}, titles[suite] ?? suite)] : [];
    return [...title, h("div", { className: "figures" }, ...figures)];
  });
  if (!sections.length) return null;
  const key = legend(contendersOf(run));
  if (run.results.some(({ contenders }) => Object.values(contenders).some(({ gpu }) => gpu))) {
    key.append(h("span", { className: "faint" }, "dotted: kernels only, by the GPU’s clock"));
  }
  if (other) key.append(h("span", { className: "faint" }, `faded: ${other.name ?? "the other run"}`));
  return h("div", { className: "charts" }, key, ...sections);
}

/**
 * @param {string} suite
 * @param {string} name
 * @param {Run} run
 * @param {Run | null} other
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
  const inset = 3 * Math.max(...[...sizes.values()].map((size) => size.length)) + 2;
  const x = between(through(extents), LEFT + inset, WIDTH - RIGHT - inset);
  const y = between(decades(shown.map(({ seconds }) => seconds)), HEIGHT - BOTTOM, TOP);
  const label = `${name}: time per op against size, log scale; the table has the figures`;
  const picture = svg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": label });
  for (const { value } of y.ticks) {
    const height = y.at(value);
    picture.append(svg("line", { class: "grid", x1: LEFT, x2: WIDTH - RIGHT, y1: height, y2: height }));
    picture.append(svg("text", { class: "tick", x: LEFT - 6, y: height + 3.5, "text-anchor": "end" }, power(value)));
  }
  for (const extent of extents) {
    const middle = { class: "tick", x: x.at(extent), y: HEIGHT - 8, "text-anchor": "middle" };
    picture.append(svg("text", middle, sizes.get(extent) ?? ""));
  }
  for (const { contender, kind, points } of series) {
    const places = points
      .filter(({ extent }) => sizes.has(extent))
      .map((point) => ({ ...point, at: [x.at(point.extent), y.at(point.seconds)] }));
    const path = places.map(({ at }) => at.map((part) => part.toFixed(1)).join(",")).join(" ");
    picture.append(svg("polyline", { class: `series ${classOf(contender)} ${kind}`, points: path }));
    if (kind !== "gpu") {
      for (const { at, title } of places) picture.append(mark(contender, at[0], at[1], title, kind));
    }
  }
  return picture;
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
    for (const { extent, size, contenders: outcomes } of results) {
      const outcome = outcomes[contender];
      if (!isMeasured(outcome)) continue;
      const seconds = median(outcome.samples);
      wall.push({ extent: Number(extent), seconds, title: `${contender}, ${size}: ${duration(seconds)}` });
      if (outcome.gpu && kind === "wall") gpu.push({ extent: Number(extent), seconds: outcome.gpu, title: "" });
    }
    if (gpu.length > 1) series.push({ contender, name: contender, kind: "gpu", points: gpu });
    if (wall.length) series.push({ contender, name: contender, kind, points: wall });
  }
  return series;
}

/** @param {number} seconds a power of ten */
function power(seconds) {
  const [unit, factor] =
    seconds < 0.9e-6 ? ["ns", 1e9] : seconds < 0.9e-3 ? ["µs", 1e6] : seconds < 0.9 ? ["ms", 1e3] : ["s", 1];
  return `${Math.round(seconds * Number(factor))} ${unit}`;
}
