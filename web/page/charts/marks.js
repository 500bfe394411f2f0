/** Marks that show a series: lines, areas, points, bars and contours. `Mark` is the interface that a chart uses. */

import { svg } from "../ui/dom.js";
import { colourOf } from "./colours.js";
import { contourLines } from "./contour.js";
import { short } from "./scales.js";
import { fixed } from "./text.js";

/** @typedef {import("./colours.js").Colours} Colours */

/** @typedef {{ x: number, y: number, head?: string, title?: string }} Point what is said instead of its x, and its y */
/**
 * @typedef {{ look: string, colour?: string | null, dashes?: string, width?: number }} Ink CSS classes, and a colour,
 *   dashes and line width that override them
 */

/**
 * @typedef {object} Place maps values to positions in the picture, in CSS pixels
 * @property {(value: number) => number} x
 * @property {(value: number) => number} y
 * @property {number} left
 * @property {number} right
 * @property {number} top
 * @property {number} bottom
 * @property {number} base position of 0, or of the nearest end of the axis
 *
 * @typedef {object} Near a value near the pointer
 * @property {number} at its x position
 * @property {number} up its y position
 * @property {string} head the value of x
 * @property {string} text
 * @property {Ink} [ink] if it differs from that of its mark
 *
 * @typedef {object} Extent
 * @property {[number, number]} x
 * @property {[number, number]} y
 * @property {boolean} isWhole every x is an integer
 * @property {boolean} isWholeUp every y is
 *
 * @typedef {object} Mark
 * @property {string} label in the legend; empty for none
 * @property {Ink} ink
 * @property {"line" | "area" | "spot"} key how the legend shows it
 * @property {string} [marker] a path around (0, 0) for each point
 * @property {boolean} isAlong the pointer finds its values by x alone
 * @property {Extent | null} extent null if there is nothing to draw
 * @property {boolean} [isTight] the axes end where it does
 * @property {string} [note] what of it is not drawn
 * @property {(place: Place) => SVGElement[]} draw
 * @property {(x: number, y: number, place: Place) => Near | null} near
 */

/** Lines with at most this many points show a spot at each. */
const SPARSE = 40;

/** More bars of one series are drawn as one element. */
const MAX_BARS = 200;

/** Segments of the contour lines of one series: noise has hundreds of thousands. */
const MAX_SEGMENTS = 30_000;

/** Between points that are closer than this, in CSS pixels, markers leave no room for dashes. */
const DENSE = 24;

/**
 * @template {SVGElement} T
 * @param {T} element
 * @param {Ink} ink
 * @returns {T}
 */
export function inked(element, { look, colour, dashes, width }) {
  element.classList.add(...look.split(" ").filter(Boolean));
  if (colour) element.style.setProperty("--colour", colour);
  if (!element.classList.contains("curve")) return element;
  if (typeof dashes === "string") element.style.strokeDasharray = dashes || "none";
  if (width) element.style.strokeWidth = `${width}`;
  return element;
}

/**
 * @param {object} series
 * @param {string} series.label
 * @param {Ink} series.ink
 * @param {(Point | null)[]} series.points null for a gap
 * @param {string} [series.marker] "" for none
 * @param {boolean} [series.isArea] fill the area between the line and the base
 * @param {number | null} [series.base] a value that the y axis must include
 * @param {boolean} [series.hasSpots] a spot at each point; default: if there are few points, or a marker
 * @param {boolean} [series.hasLine]
 * @returns {Mark}
 */
export function line({ label, ink, points, marker, isArea = false, base = null, hasSpots, hasLine = true }) {
  const withSpots = hasSpots ?? (marker ? true : marker !== "" && points.length <= SPARSE && !isArea);
  return {
    label,
    ink,
    marker,
    key: isArea ? "area" : hasLine ? "line" : "spot",
    isAlong: true,
    extent: extentOf(points, isArea ? base : null),
    draw(place) {
      const path = svg("path", {
        class: "curve",
        d: runsOf(points)
          .map((run) => pathOf(run, place))
          .join(""),
      });
      const fills = isArea ? runsOf(points).map((run) => svg("path", { class: "fill", d: filled(run, place) })) : [];
      const spots = withSpots ? points.flatMap((point) => (point ? [spot(point, place, marker, 2)] : [])) : [];
      const drawn = marker && ink.dashes && isDense(points, place) ? { ...ink, dashes: "" } : ink;
      return [...fills, ...(hasLine ? [path] : []), ...spots].map((element) => inked(element, drawn));
    },
    near: (x, _, place) => nearest(points, place, x, null),
  };
}

/**
 * @param {object} series
 * @param {string} series.label
 * @param {Ink} series.ink
 * @param {(Point | null)[]} series.points
 * @param {string} [series.marker]
 * @param {number} [series.radius]
 * @param {(number | null)[] | null} [series.values] values that determine the colours
 * @param {Colours | null} [series.colours]
 * @returns {Mark}
 */
export function spots({ label, ink, points, marker, radius = 2.75, values = null, colours = null }) {
  const inkOf = (/** @type {number} */ value) => ({
    look: `${ink.look} valued`,
    colour: colours && colourOf(colours, value),
  });
  return {
    label,
    ink,
    marker,
    key: "spot",
    isAlong: false,
    extent: extentOf(points),
    draw: (place) =>
      points.flatMap((point, i) => {
        if (!point) return [];
        const value = values?.[i] ?? null;
        if (value === null || !colours) return [inked(spot(point, place, marker, radius), ink)];
        return [inked(spot(point, place, marker, radius), inkOf(value))];
      }),
    near(x, y, place) {
      const found = nearest(points, place, x, y);
      const value = values?.[found?.index ?? -1] ?? null;
      if (!found || value === null || !colours) return found;
      return { ...found, text: `${found.text}, c ${short(value)}`, ink: inkOf(value) };
    },
  };
}

/** @typedef {{ from: number, to: number, y: number, name: string, hit?: [number, number] }} Bar `hit`: where it is found */

/**
 * @param {object} series
 * @param {string} series.label
 * @param {Ink} series.ink
 * @param {Bar[]} series.bars from left to right
 * @param {number | null} [series.base] where the bars begin; the y axis includes it
 * @param {boolean} [series.isTight]
 * @param {boolean} [series.isClear] translucent
 * @returns {Mark}
 */
export function columns({ label, ink, bars, base = 0, isTight = false, isClear = false }) {
  const corners = bars.flatMap(({ from, to, y }) => [
    { x: from, y },
    { x: to, y },
  ]);
  return {
    label,
    ink,
    key: "area",
    isAlong: true,
    isTight,
    extent: extentOf(corners, base),
    draw(place) {
      const look = `column${isClear ? " clear" : ""}`;
      const boxes = bars.map((bar) => {
        const { left, right, top, bottom } = boxOf(bar, place);
        const gap = right - left > 4 ? 1 : 0;
        const [x, y, width] = [left, top, Math.max(0.5, right - left - gap)].map(fixed);
        return { x, y, width, height: fixed(bottom - top) };
      });
      if (bars.length <= MAX_BARS) return boxes.map((box) => inked(svg("rect", { class: look, ...box }), ink));
      const d = boxes.map(({ x, y, width, height }) => `M${x} ${y}h${width}v${height}h${-width}Z`).join("");
      return [inked(svg("path", { class: look, d }), ink)];
    },
    near(x, _, place) {
      const bar = bars.find((each) => {
        const { left, right } = boxOf(each.hit ? { ...each, from: each.hit[0], to: each.hit[1] } : each, place);
        return x >= Math.min(left, right - 1) && x < right;
      });
      if (!bar) return null;
      const { left, right } = boxOf(bar, place);
      return { at: (left + right) / 2, up: place.y(bar.y), head: bar.name, text: bar.y.toLocaleString("en", FULL) };
    },
  };
}

/** Of a number in words. */
const FULL = { maximumSignificantDigits: 6 };

/**
 * @param {Bar} bar
 * @param {Place} place
 */
function boxOf({ from, to, y }, place) {
  const [one, other] = [place.x(from), place.x(to)];
  const [end, base] = [place.y(y), place.base];
  return {
    left: Math.min(one, other),
    right: Math.max(one, other),
    top: Math.min(end, base),
    bottom: Math.max(end, base),
  };
}

/**
 * @param {object} series
 * @param {number[]} series.x of the columns of the grid
 * @param {number[]} series.y of its rows
 * @param {(number | null)[][]} series.z
 * @param {number[]} series.levels
 * @param {Colours | null} series.colours null: all in one
 * @param {string} series.label
 * @param {Ink} series.ink
 * @returns {Mark}
 */
export function contours({ x, y, z, levels, colours, label, ink }) {
  const corners = x.flatMap((each) => [
    { x: each, y: y[0] },
    { x: each, y: y[y.length - 1] },
  ]);
  const lines = levels.map((level) => ({ level, segments: contourLines(z, level) }));
  const every = Math.ceil(lines.reduce((sum, { segments }) => sum + segments.length, 0) / MAX_SEGMENTS);
  const drawn = every > 1 ? lines.filter((_, i) => i % every === 0) : lines;
  return {
    label,
    ink,
    key: "line",
    isAlong: false,
    isTight: true,
    note: drawn.length < lines.length ? `Lines are drawn at 1 in ${every} levels.` : "",
    extent: x.length && y.length ? extentOf([...corners, ...y.map((each) => ({ x: x[0], y: each }))]) : null,
    draw(place) {
      const across = (/** @type {number} */ at) => fixed(place.x(between(x, at)));
      const up = (/** @type {number} */ at) => fixed(place.y(between(y, at)));
      return drawn.map(({ level, segments }) => {
        const d = segments.map(([a, b, c, e]) => `M${across(a)} ${up(b)}L${across(c)} ${up(e)}`).join("");
        const levelInk = colours ? { ...ink, colour: colourOf(colours, level) } : ink;
        return inked(svg("path", { class: "curve level", d }), levelInk);
      });
    },
    near(at, up, place) {
      const column = closest(x, (value) => Math.abs(place.x(value) - at));
      const row = closest(y, (value) => Math.abs(place.y(value) - up));
      const value = z[row]?.[column];
      const head = `${short(x[column])}, ${short(y[row])}`;
      const text = value === null || value === undefined ? "nan" : short(value);
      return { at: place.x(x[column]), up: place.y(y[row]), head, text };
    },
  };
}

/**
 * @param {number[]} values
 * @param {(value: number) => number} distance
 */
function closest(values, distance) {
  return values.reduce((best, value, i) => (distance(value) < distance(values[best]) ? i : best), 0);
}

/**
 * @param {number[]} values
 * @param {number} at an index, with its fraction
 */
function between(values, at) {
  const low = Math.min(Math.floor(at), values.length - 1);
  const high = Math.min(low + 1, values.length - 1);
  return values[low] + (values[high] - values[low]) * (at - low);
}

/**
 * @param {Point} point
 * @param {Place} place
 * @param {string | undefined} marker
 * @param {number} r
 */
export function spot({ x, y }, place, marker, r) {
  const [cx, cy] = [fixed(place.x(x)), fixed(place.y(y))];
  if (marker) return svg("path", { class: "spot", d: marker, transform: `translate(${cx} ${cy})` });
  return svg("circle", { class: "spot", cx, cy, r });
}

/**
 * @param {(Point | null)[]} points
 * @param {number | null} [base] one more value of y
 * @returns {Extent | null}
 */
function extentOf(points, base = null) {
  /** @type {Extent} */
  const found = { x: [Infinity, -Infinity], y: [Infinity, -Infinity], isWhole: true, isWholeUp: true };
  for (const point of points) {
    if (!point) continue;
    found.x = [Math.min(found.x[0], point.x), Math.max(found.x[1], point.x)];
    found.y = [Math.min(found.y[0], point.y), Math.max(found.y[1], point.y)];
    found.isWhole &&= Number.isInteger(point.x);
    found.isWholeUp &&= Number.isInteger(point.y);
  }
  if (found.x[0] > found.x[1]) return null;
  if (base !== null) found.y = [Math.min(found.y[0], base), Math.max(found.y[1], base)];
  return found;
}

/**
 * @param {(Point | null)[]} points
 * @returns {Point[][]} runs of points without a gap
 */
function runsOf(points) {
  /** @type {Point[][]} */
  const runs = [[]];
  for (const point of points) {
    if (point) runs[runs.length - 1].push(point);
    else runs.push([]);
  }
  return runs.filter((run) => run.length);
}

/**
 * @param {Point[]} run
 * @param {Place} place
 */
function pathOf(run, place) {
  return run.map(({ x, y }, i) => `${i ? "L" : "M"}${fixed(place.x(x))} ${fixed(place.y(y))}`).join("");
}

/**
 * @param {(Point | null)[]} points
 * @param {Place} place
 */
function isDense(points, place) {
  const at = runsOf(points).map((run) => run.map(({ x, y }) => [place.x(x), place.y(y)]));
  const steps = at.flatMap((run) => run.slice(1).map(([x, y], i) => Math.hypot(x - run[i][0], y - run[i][1])));
  return steps.reduce((sum, step) => sum + step, 0) < DENSE * steps.length;
}

/**
 * @param {Point[]} run
 * @param {Place} place
 */
function filled(run, place) {
  const [first, last] = [run[0], run[run.length - 1]].map(({ x }) => fixed(place.x(x)));
  return `${pathOf(run, place)}L${last} ${fixed(place.base)}L${first} ${fixed(place.base)}Z`;
}

/**
 * @param {(Point | null)[]} points
 * @param {Place} place
 * @param {number} x
 * @param {number | null} y a y value to include
 * @returns {(Near & { index: number }) | null}
 */
function nearest(points, place, x, y) {
  let index = -1;
  let least = Number.POSITIVE_INFINITY;
  for (const [i, point] of points.entries()) {
    if (!point) continue;
    const distance = (place.x(point.x) - x) ** 2 + (y === null ? 0 : (place.y(point.y) - y) ** 2);
    if (distance < least) [least, index] = [distance, i];
  }
  const found = points[index];
  if (!found) return null;
  const text = found.title ?? short(found.y);
  return { at: place.x(found.x), up: place.y(found.y), head: found.head ?? short(found.x), text, index };
}
