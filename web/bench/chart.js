/** Time against size, one small chart for each case, both axes logarithmic. */

import { h, svg } from "../ui/dom.js";
import { duration } from "./format.js";
import { CONTENDERS } from "./results.js";

/** @typedef {import("./results.js").Measured} Measured */
/** @typedef {import("./results.js").Results} Results */

const WIDTH = 300;
const HEIGHT = 190;
const LEFT = 46;
const RIGHT = 12;
const TOP = 10;
const BOTTOM = 26;

/**
 * @param {Results} results
 * @param {string[]} devices
 * @returns {HTMLElement}
 */
export function charts(results, devices) {
  const figures = [...results.byCase()]
    .filter(([, measured]) => measured.length)
    .map(([name, measured]) =>
      h("figure", {}, h("figcaption", {}, name), /** @type {any} */ (chart(name, measured, devices))),
    );
  const legend = h("p", { className: "legend" });
  for (const device of devices) {
    legend.append(h("span", { className: `key ${device}` }, CONTENDERS[device]));
  }
  return h("div", { className: "charts" }, legend, h("div", { className: "figures" }, ...figures));
}

/**
 * @param {string} name
 * @param {Measured[]} measured
 * @param {string[]} devices
 */
function chart(name, measured, devices) {
  const extents = [...new Set(measured.map(({ extent }) => extent))].sort((a, b) => a - b);
  const [low, high] = decades(measured.flatMap(({ least, most }) => [least, most]));
  const inset = 3 * Math.max(...extents.map((extent) => sizeLabel(measured, extent).length)) + 2;
  const x = scale(Math.log(extents[0]), Math.log(extents[extents.length - 1]), LEFT + inset, WIDTH - RIGHT - inset);
  const y = scale(low, high, HEIGHT - BOTTOM, TOP);
  const atX = (/** @type {number} */ extent) => x(Math.log(extent));
  const atY = (/** @type {number} */ seconds) => y(Math.log10(seconds));

  const label = `${name}: time for one against size, logarithmic; the table has the figures`;
  const picture = svg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": label });
  for (let decade = low; decade <= high; decade++) {
    const height = y(decade);
    picture.append(svg("line", { class: "grid", x1: LEFT, x2: WIDTH - RIGHT, y1: height, y2: height }));
    picture.append(svg("text", { class: "tick", x: LEFT - 6, y: height + 3.5, "text-anchor": "end" }, power(decade)));
  }
  for (const extent of extents) {
    const middle = { class: "tick", x: atX(extent), y: HEIGHT - 8, "text-anchor": "middle" };
    picture.append(svg("text", middle, sizeLabel(measured, extent)));
  }
  for (const device of devices) {
    const points = measured.filter((m) => m.device === device).sort((a, b) => a.extent - b.extent);
    const path = points.map((m) => `${atX(m.extent).toFixed(1)},${atY(m.median).toFixed(1)}`).join(" ");
    picture.append(svg("polyline", { class: `series ${device}`, points: path }));
    for (const m of points) {
      const title = svg("title", {}, `${CONTENDERS[device]}, ${m.size}: ${duration(m.median)}`);
      const place = { cx: atX(m.extent), cy: atY(m.median), r: 3.5 };
      picture.append(svg("circle", { class: `point ${device}`, ...place }, title));
    }
  }
  return picture;
}

/**
 * @param {Measured[]} measured
 * @param {number} extent
 */
function sizeLabel(measured, extent) {
  const size = measured.find((m) => m.extent === extent)?.size ?? "";
  return size.replaceAll(" ", "");
}

/**
 * The powers of ten around some durations, at least one apart.
 *
 * @param {number[]} seconds
 * @returns {[number, number]}
 */
function decades(seconds) {
  const low = Math.floor(Math.log10(Math.min(...seconds)));
  const high = Math.ceil(Math.log10(Math.max(...seconds)));
  return [low, Math.max(high, low + 1)];
}

/**
 * @param {number} from
 * @param {number} to
 * @param {number} start
 * @param {number} end
 * @returns {(value: number) => number} linear; a single value is put in the middle
 */
function scale(from, to, start, end) {
  return (value) => (from === to ? (start + end) / 2 : start + ((value - from) / (to - from)) * (end - start));
}

/** @param {number} decade */
function power(decade) {
  const [unit, offset] = decade < -3 ? ["µs", 6] : decade < 0 ? ["ms", 3] : ["s", 0];
  return `${Number(`1e${decade + Number(offset)}`)} ${unit}`;
}
