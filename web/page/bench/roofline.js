/** The roofline chart: GFLOP/s against flops per byte, both axes logarithmic. */

import { widthOf, words } from "../charts/text.js";
import { pictureActions, saveRow } from "../display/saving.js";
import { standalone } from "../display/standalone.js";
import { h, svg } from "../ui/dom.js";
import { drawFigure } from "./figure.js";
import { rateText, significant } from "./format.js";
import { attainable, BUSY, busyPart, isOnGpu, placeUnderRoof, roofOf } from "./limits.js";
import { classOf, legend, shapeOf } from "./marks.js";
import { contendersOf, isMeasured, OURS } from "./record.js";
import { decades } from "./scales.js";
import { singlePoint } from "./series.js";

/** @typedef {import("./record.js").Run} Run */
/** @typedef {{ contender: string, suite: string, name: string, size: string, extent: number, intensity: number, rate: number,
 *   isOverhead: boolean }} Place */

/** The height of a label. */
const LINE = 13;

/**
 * @param {Run} run
 * @returns {HTMLElement | null} null if the device, or everything on it, is unmeasured
 */
export function roofline(run) {
  const roof = roofOf(run.probes);
  const places = placesOf(run);
  if (!roof || !places.length) return null;
  const ridge = roof.peak / roof.bandwidth;
  const across = decades([ridge, ...places.map(({ intensity }) => intensity)]);
  const { low: least, high: most } = across;
  const rates = [2 * roof.peak, attainable(roof, least), ...places.map(({ rate }) => rate)];
  const key = legend(contendersOf(run).filter((name) => places.some(({ contender }) => contender === name)));
  if (places.some(({ isOverhead }) => isOverhead)) {
    key.append(h("span", { className: "faint" }, "faded: mostly overhead, not kernels"));
  }
  const figure = drawFigure({
    title: "Roofline",
    label: "Roofline: rate against flops per byte, log scale; the details table has the figures",
    xlabel: "flops per byte",
    ylabel: "GFLOP/s",
    className: "roofline",
    largest: 736,
    x: () => across,
    y: decades(rates, plain),
    marks: [
      limits(roof, least, most),
      ...places.map((place) => pointOf(place, roof)),
      names(places, roof, least, most),
    ],
  });
  figure.prepend(key);
  return h("div", {}, figure, saveRow(pictureActions(() => standalone(figure), "Roofline")));
}

/** @typedef {NonNullable<ReturnType<typeof roofOf>>} Roof */
/** @typedef {import("./series.js").Mark} Mark */

/** Defaults for a mark without hover values. */
const SILENT = { label: "", ink: { look: "" }, isLine: false, near: () => null };

/**
 * @param {Roof} roof
 * @param {number} least flops per byte, at the left end
 * @param {number} most
 * @returns {Mark}
 */
function limits(roof, least, most) {
  const ridge = roof.peak / roof.bandwidth;
  const corners = [least, Math.min(Math.max(ridge, least), most), most];
  return {
    ...SILENT,
    draw(on) {
      const path = corners.map((at) => `${on.x(at).toFixed(1)} ${on.y(attainable(roof, at)).toFixed(1)}`).join("L");
      return [svg("path", { class: "roof", d: `M${path}` })];
    },
  };
}

/**
 * @param {Place} place
 * @param {Roof} roof
 * @returns {Mark}
 */
function pointOf({ contender, name, size, intensity, rate, isOverhead }, roof) {
  const part = significant((100 * rate) / attainable(roof, intensity));
  const told = isOverhead ? "mostly overhead" : `${part} % of the device's limit`;
  const title = `${contender}: ${rateText(rate, "GFLOP/s")}, ${told}`;
  return singlePoint({
    ink: { look: `${classOf(contender)} ${isOverhead ? "overhead" : ""}` },
    marker: shapeOf(contender),
    point: { x: intensity, y: rate, head: `${name}, ${size}: ${significant(intensity)}`, title },
  });
}

/**
 * Labels of the limits and of py_tensor's cases, where there is room.
 *
 * @param {Place[]} places
 * @param {Roof} roof
 * @param {number} least
 * @param {number} most
 * @returns {Mark}
 */
function names(places, roof, least, most) {
  const corner = Math.min(roof.peak / roof.bandwidth, most);
  const middle = Math.sqrt(least * corner);
  return {
    ...SILENT,
    draw(on) {
      const writer = new Writer(on);
      writer.write(
        `multiply-adds: ${rateText(roof.peak, "GFLOP/s")}`,
        on.right,
        on.y(roof.peak) - 6,
        "end",
        "roof-label",
      );
      const copy = `a copy: ${rateText(roof.bandwidth, "GB/s")}`;
      writer.write(copy, on.x(middle) + 8, on.y(attainable(roof, middle)) + 16, "start", "roof-label");
      for (const { intensity, rate } of places) writer.taken.push(box(on.x(intensity) - 4, on.y(rate) + 4, 8, 8));
      for (const { name, intensity, rate } of largest(places)) {
        const [left, top] = [on.x(intensity), on.y(rate)];
        writer.write(name, left + 8, top + 3.5, "start", "tick") ||
          writer.write(name, left - 8, top + 3.5, "end", "tick") ||
          writer.write(name, left - 4, top - 9, "start", "tick") ||
          writer.write(name, left - 4, top + 18, "start", "tick");
      }
      return writer.written;
    },
  };
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
 * For each case, the point of py_tensor at the largest size: it gets the label.
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

/** Places labels where they overlap nothing. */
class Writer {
  /** @param {import("./series.js").Place} on */
  constructor(on) {
    this.on = on;
    /** @type {Box[]} */
    this.taken = [];
    /** @type {SVGElement[]} */
    this.written = [];
  }

  /**
   * @param {string} text
   * @param {number} x
   * @param {number} y
   * @param {"start" | "end"} anchor
   * @param {string} kind
   * @returns {boolean} whether there was room for it
   */
  write(text, x, y, anchor, kind) {
    const width = widthOf(text);
    const start = anchor === "end" ? x - width : x;
    const wanted = box(start, y + 3, width, LINE);
    const isFree = this.taken.every(
      ({ left, right, top, bottom }) =>
        wanted.right < left || wanted.left > right || wanted.bottom < top || wanted.top > bottom,
    );
    if (!isFree || wanted.right > this.on.right + 1 || wanted.left < this.on.left) return false;
    this.taken.push(wanted);
    this.written.push(words(kind, x, y, anchor, text));
    return true;
  }
}

/** @param {number} value a power of ten */
function plain(value) {
  return value < 1 ? String(Number(value.toPrecision(1))) : value.toLocaleString("en");
}
