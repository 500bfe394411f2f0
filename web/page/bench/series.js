/** What the figures draw for their series: lines and points. `Mark` is the interface that a figure uses. */

import { inked, nearest } from "../charts/pointer.js";
import { fixed } from "../charts/text.js";
import { svg } from "../ui/dom.js";

/** @typedef {import("../charts/pointer.js").Ink} Ink */
/** @typedef {import("../charts/pointer.js").Near} Near */
/** @typedef {{ x: number, y: number, head: string, title: string }} Point what is said of its x, and of its y */

/**
 * @typedef {object} Place maps values to positions in the picture, in CSS pixels
 * @property {(value: number) => number} x
 * @property {(value: number) => number} y
 * @property {number} left
 * @property {number} right
 * @property {number} top
 * @property {number} bottom
 *
 * @typedef {object} Mark
 * @property {string} label in the legend; empty for none
 * @property {Ink} ink
 * @property {string} [marker] a path around (0, 0) for each point
 * @property {boolean} isLine
 * @property {(place: Place) => SVGElement[]} draw
 * @property {((x: number, y: number, place: Place) => Near | null)} near
 */

/**
 * @param {object} series
 * @param {string} series.label
 * @param {Ink} series.ink
 * @param {Point[]} series.points
 * @param {string} series.marker
 * @param {boolean} series.hasSpots
 * @returns {Mark}
 */
export function line({ label, ink, points, marker, hasSpots }) {
  return {
    ...{ label, ink, marker, isLine: true },
    draw(place) {
      const d = points.map(({ x, y }) => `${fixed(place.x(x))} ${fixed(place.y(y))}`).join("L");
      const spots = hasSpots ? points.map((point) => spot(point, place, marker)) : [];
      return [svg("path", { class: "curve", d: `M${d}` }), ...spots].map((element) => inked(element, ink));
    },
    near: (x, _, place) => nearestPoint(points, place, x, null),
  };
}

/**
 * @param {object} series
 * @param {Ink} series.ink
 * @param {Point} series.point
 * @param {string} series.marker
 * @returns {Mark} a single point
 */
export function singlePoint({ ink, point, marker }) {
  return {
    ...{ label: "", ink, marker, isLine: false },
    draw: (place) => [inked(spot(point, place, marker), ink)],
    near: (x, y, place) => nearestPoint([point], place, x, y),
  };
}

/**
 * @param {Point} point
 * @param {Place} place
 * @param {string} marker
 */
function spot({ x, y }, place, marker) {
  const transform = `translate(${fixed(place.x(x))} ${fixed(place.y(y))})`;
  return svg("path", { class: "spot", d: marker, transform });
}

/**
 * @param {Point[]} points
 * @param {Place} place
 * @param {number} x
 * @param {number | null} y null: the distance in x counts alone
 * @returns {Near | null}
 */
function nearestPoint(points, place, x, y) {
  const [xs, ys] = [points.map((point) => place.x(point.x)), points.map((point) => place.y(point.y))];
  const i = nearest(xs, ys, x, y);
  return i < 0 ? null : { at: xs[i], up: ys[i], head: points[i].head, text: points[i].title };
}
