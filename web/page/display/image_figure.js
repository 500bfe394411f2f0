/** An image with title, axes, colour bar, and the values under the pointer. */

import { canvas, drawAxes, drawTitle, fitting, leftOf, tipAt } from "../charts/chart.js";
import { barWidth, channelsAt, drawBar } from "../charts/colours.js";
import { linearAxis, short } from "../charts/scales.js";
import { cutLabel } from "../ui/bounds.js";
import { h, svg } from "../ui/dom.js";
import { enlargement, Picture } from "./image.js";

/** @typedef {import("../charts/colours.js").Colours} Colours */
/** @typedef {import("./bundles.js").Bundle} Bundle */
/** @typedef {import("./bundles.js").FigureFacts} FigureFacts */
/** @typedef {import("./image.js").Image} Image */

const LARGEST_WIDTH = 960;
const MIN_BAR = 90;
const MIN_SIDE = 12;
/** The height that a picture may always have, and the room that it leaves for an input and the prompt. */
const MIN_HEIGHT = 240;
const PROMPT = 150;
const EDGE = 8;

/**
 * @param {Image & { figure: FigureFacts | null }} image
 * @returns {import("./draw.js").Drawn} only the picture, if there is nothing to add
 */
export function drawImage(image) {
  return image.figure ? new ImageFigure(image, image.figure) : new Picture(image);
}

class ImageFigure {
  /**
   * @param {Image} image
   * @param {FigureFacts} facts
   */
  constructor(image, facts) {
    this.facts = bounded(facts);
    this.image = image;
    this.picture = new Picture(image);
    this.frame = h("div", { className: "plotted-frame image-frame" }, this.picture.canvas);
    this.element = h("figure", { className: "plotted image-figure" }, this.frame);
    this.probe = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
    if (this.probe) this.probe.canvas.width = this.probe.canvas.height = 1;
    /** @type {SVGSVGElement | null} */
    this.drawn = null;
    this.width = 0;
    this.layOut(LARGEST_WIDTH / 2);
    new ResizeObserver(() => {
      const width = Math.min(LARGEST_WIDTH, this.element.clientWidth);
      if (width && width !== this.width) this.layOut(width);
    }).observe(this.element);
    this.frame.addEventListener("pointermove", (event) => this.point(event));
    this.frame.addEventListener("pointerdown", (event) => this.point(event));
    this.frame.addEventListener("pointerleave", () => this.drawn?.querySelector(".pointed")?.replaceChildren());
  }

  /** @param {Bundle} bundle */
  redraw(bundle) {
    if (bundle.kind !== "image" || !bundle.figure || !this.picture.redraw(bundle)) return false;
    const facts = bounded(bundle.figure);
    const isAlike = JSON.stringify(facts) === JSON.stringify(this.facts);
    this.facts = facts;
    this.image = bundle;
    this.place(); // the picture has sized itself
    if (!isAlike) this.layOut(this.width);
    return true;
  }

  /** @param {number} width of the whole figure */
  layOut(width) {
    this.width = width;
    const { title, xlabel, ylabel, hasAxes, colours } = this.facts;
    const [left, right, bottom, top] = this.extent();
    const head = drawTitle(title, width);
    const y = (/** @type {number} */ high) =>
      turned(
        linearAxis(Math.min(top, bottom), Math.max(top, bottom), Math.max(1, high / 40), this.isCounted()),
        top < bottom,
      );
    const before = hasAxes ? leftOf(y(400), ylabel) : 0;
    const behind = Math.max(colours ? barWidth(colours, 400) : 0, EDGE);
    const below = hasAxes ? (xlabel ? 42 : 24) : 0;
    const start = head.height + EDGE;
    const [across, high] = this.sizeIn(width - before - behind, start + below);
    const area = { left: before, right: before + across, top: start, bottom: start + high };
    const barEnd = Math.max(area.bottom, start + (colours ? MIN_BAR : 0));
    const height = Math.max(area.bottom + below, barEnd + EDGE);
    const whole = Math.max(before + across + behind, Math.min(width, 160));
    const picture = canvas(whole, height, this.image.label);
    picture.removeAttribute("role"); // it is on the canvas
    picture.removeAttribute("aria-label");
    picture.setAttribute("aria-hidden", "true");
    picture.append(...head.elements);
    if (hasAxes) {
      const make = (/** @type {number} */ wanted) =>
        turned(linearAxis(Math.min(left, right), Math.max(left, right), wanted, this.isCounted()), right < left);
      const axes = { x: fitting(make, across), y: y(high) };
      drawAxes(picture, axes, { ...area, width: whole, height }, { xlabel, ylabel, isBare: true });
    }
    if (colours) picture.append(drawBar(colours, area.right, area.top, barEnd));
    picture.append(svg("g", { class: "pointed" }));
    this.area = area;
    this.place();
    if (this.drawn) this.drawn.replaceWith(picture);
    else this.frame.append(picture);
    this.drawn = picture;
  }

  /** Position the picture inside the axes. */
  place() {
    const { left, right, top, bottom } = this.area ?? { left: 0, right: 0, top: 0, bottom: 0 };
    const { style } = this.picture.canvas;
    Object.assign(style, {
      left: `${left}px`,
      top: `${top}px`,
      width: `${right - left}px`,
      height: `${bottom - top}px`,
    });
  }

  /**
   * @param {number} room
   * @param {number} around the height of what is above and below the picture
   * @returns {[number, number]} width and height of the picture, which fits into the console with the prompt
   */
  sizeIn(room, around) {
    const { width, height, scale } = this.image;
    const screen = this.element.closest(".screen")?.clientHeight ?? innerHeight;
    const highest = Math.max(MIN_HEIGHT, screen - around - PROMPT);
    const most = scale === null ? (highest * width) / height : Number.POSITIVE_INFINITY;
    const across = Math.min(width * enlargement(this.image), most, Math.max(room, 40));
    return [Math.max(across, MIN_SIDE), Math.max((across * height) / width, MIN_SIDE)];
  }

  /** @returns {[number, number, number, number]} the values at the left, right, bottom and top ends */
  extent() {
    const { extent, of } = this.facts;
    const { width, height } = of ?? this.image;
    return extent ?? [-0.5, width - 0.5, height - 0.5, -0.5];
  }

  isCounted() {
    return this.facts.extent === null;
  }

  /** @param {PointerEvent} event */
  point(event) {
    const layer = this.drawn?.querySelector(".pointed");
    const { area } = this;
    if (!layer || !area) return;
    layer.replaceChildren();
    const box = this.frame.getBoundingClientRect();
    const [x, y] = [event.clientX - box.left, event.clientY - box.top];
    const { width, height } = this.picture.canvas;
    const column = Math.floor(((x - area.left) / (area.right - area.left)) * width);
    const row = Math.floor(((y - area.top) / (area.bottom - area.top)) * height);
    if (column < 0 || row < 0 || column >= width || row >= height) return;
    const [left, right, bottom, top] = this.extent();
    const across = left + ((column + 0.5) / width) * (right - left);
    const up = top + ((row + 0.5) / height) * (bottom - top);
    const { xlabel, ylabel } = this.facts;
    const head = this.isCounted()
      ? `row ${Math.floor(up)}, column ${Math.floor(across)}`
      : `${xlabel || "x"} ${short(across)}, ${ylabel || "y"} ${short(up)}`;
    layer.append(tipAt(x, y, [head, this.valueAt(column, row)], [], { ...area, left: 0, right: this.width }));
  }

  /**
   * The value of a pixel, computed from its colour without asking Python for the element.
   *
   * @param {number} column
   * @param {number} row
   */
  valueAt(column, row) {
    if (!this.probe) return "";
    this.probe.clearRect(0, 0, 1, 1);
    this.probe.drawImage(this.picture.canvas, column, row, 1, 1, 0, 0, 1, 1);
    const [r, g, b, a] = this.probe.getImageData(0, 0, 1, 1).data;
    const { colours, isWhole } = this.facts;
    if (!colours) return this.facts.hasValues ? "" : `${r}, ${g}, ${b}${a < 255 ? `, ${a}` : ""}`;
    if (!a) return "nan";
    const [low, high] = colours.range;
    const value = low + (high - low) * shareOf(colours, r, g, b);
    if (isWhole && high - low <= 255) return short(Math.round(value));
    const digits = Math.max(
      1,
      Math.ceil(Math.log10((255 * Math.max(Math.abs(low), Math.abs(high))) / (high - low || 1))),
    );
    return `≈ ${short(Number(value.toPrecision(Math.min(digits, 6))))}`;
  }
}

/**
 * @param {FigureFacts} facts
 * @returns {FigureFacts}
 */
function bounded(facts) {
  const { title, xlabel, ylabel } = facts;
  return { ...facts, title: cutLabel(title), xlabel: cutLabel(xlabel), ylabel: cutLabel(ylabel) };
}

/**
 * @param {Colours} colours
 * @param {number} r
 * @param {number} g
 * @param {number} b
 * @returns {number} from 0 to 1, in steps of 1 / 255
 */
function shareOf({ stops }, r, g, b) {
  let [best, least] = [0, Number.POSITIVE_INFINITY];
  for (let n = 0; n < 256; n++) {
    const [red, green, blue] = channelsAt(stops, n / 255);
    const distance = (red - r) ** 2 + (green - g) ** 2 + (blue - b) ** 2;
    if (distance < least) [best, least] = [n, distance];
  }
  return best / 255;
}

/**
 * @param {import("../charts/scales.js").Axis} axis
 * @param {boolean} isTurned its lower end is on the other side
 * @returns {import("../charts/scales.js").Axis}
 */
function turned(axis, isTurned) {
  return isTurned ? { ...axis, at: (value) => 1 - axis.at(value) } : axis;
}
