/** Colour scales and colour bars. */

import { svg } from "../ui/dom.js";
import { linearAxis } from "./scales.js";
import { fixed, widthOf, words } from "./text.js";

/** @typedef {import("./scales.js").Tick} Tick */

/**
 * @typedef {object} Colours what values look like
 * @property {string[]} stops evenly spaced, each #rrggbb, from the smallest value
 * @property {[number, number]} range the values of the first and the last; equal if there is only one value
 * @property {number[]} [levels] the values that are drawn, if they are few
 */

const BAR = 12;
const GAP = 14;
const TICK = 4;
let bars = 0;

/**
 * @param {string[]} stops
 * @param {number} at from 0 to 1
 * @returns {[number, number, number]} red, green, blue, from 0 to 255
 */
export function channelsAt(stops, at) {
  const place = Math.min(Math.max(at, 0), 1) * (stops.length - 1);
  const low = Math.min(Math.floor(place), stops.length - 2);
  const [from, to] = [stops[low], stops[low + 1]].map((stop) => Number.parseInt(stop.slice(1), 16));
  const mixed = [16, 8, 0].map((shift) => {
    const [x, y] = [(from >> shift) & 255, (to >> shift) & 255];
    return Math.floor(x + (y - x) * (place - low) + 0.5);
  });
  return [mixed[0], mixed[1], mixed[2]];
}

/**
 * @param {Colours} colours
 * @param {number} value
 */
export function colourOf({ stops, range: [low, high] }, value) {
  const share = high > low ? (value / 2 - low / 2) / (high / 2 - low / 2) : 0.5;
  return `rgb(${channelsAt(stops, share).join(" ")})`;
}

/**
 * @param {Colours} colours
 * @param {number} height
 * @returns {Tick[]}
 */
function ticksOf({ range: [low, high], levels }, height) {
  const axis = linearAxis(low, high, Math.max(3, height / 36));
  if (low === high) return axis.ticks.filter(({ value }) => value === low);
  if (!levels) return axis.ticks;
  const every = Math.ceil((levels.length * 16) / Math.max(height, 16));
  return levels.flatMap((value, i) => (i % every ? [] : [{ value, text: shortLevel(value) }]));
}

/** @param {number} value */
function shortLevel(value) {
  return String(Number(value.toPrecision(4))).replace("-", "−");
}

/**
 * @param {Colours} colours
 * @param {number} height
 * @returns {number} width of the colour bar with its labels
 */
export function barWidth(colours, height) {
  const longest = Math.max(0, ...ticksOf(colours, height).map(({ text }) => widthOf(text)));
  return GAP + BAR + TICK + 4 + longest;
}

/**
 * @param {Colours} colours
 * @param {number} left the right end of what it stands beside
 * @param {number} top
 * @param {number} bottom
 */
export function drawBar(colours, left, top, bottom) {
  const { stops, range } = colours;
  const height = bottom - top;
  const id = `colour-bar-${++bars}`;
  const gradient = svg("linearGradient", { id, x1: 0, y1: 1, x2: 0, y2: 0 });
  for (const [i, stop] of stops.entries()) {
    gradient.append(svg("stop", { offset: i / (stops.length - 1), "stop-color": stop }));
  }
  const x = left + GAP;
  const bar = svg("g", { class: "colour-bar" }, gradient);
  bar.append(svg("rect", { x, y: top, width: BAR, height, fill: `url(#${id})` }));
  const [low, high] = range;
  for (const { value, text } of ticksOf(colours, height)) {
    const y = low === high ? (top + bottom) / 2 : bottom - ((value / 2 - low / 2) / (high / 2 - low / 2)) * height;
    const end = x + BAR + TICK;
    bar.append(svg("line", { class: "base", x1: x + BAR, x2: end, y1: fixed(y), y2: fixed(y) }));
    bar.append(words("tick", end + 4, y + 4, "start", text));
  }
  return bar;
}
