/** An image with title, axes, colour bar, and the values under the pointer. */

import { channelsAt } from "../charts/colours.js";
import { short } from "../charts/numbers.js";
import { tipAt } from "../charts/pointer.js";
import { cutLabel } from "../ui/bounds.js";
import { h, svg } from "../ui/dom.js";
import { DrawnByPython } from "./drawn.js";
import { enlargement, Picture } from "./image.js";

/** @typedef {import("../charts/colours.js").Colours} Colours */
/** @typedef {import("./bundles.js").Bundle} Bundle */
/** @typedef {import("./bundles.js").Drawing} Drawing */
/** @typedef {import("./bundles.js").FigureFacts} FigureFacts */
/** @typedef {import("./image.js").Image} Image */

const LARGEST_WIDTH = 960;

/**
 * @param {Image & { figure: FigureFacts | null }} image
 * @param {import("./draw.js").Place} place
 * @returns {import("./draw.js").Drawn} only the picture, if there is nothing to add
 */
export function drawImage(image, place) {
  return image.figure ? new ImageFigure(image, image.figure, place) : new Picture(image);
}

class ImageFigure {
  /**
   * @param {Image} image
   * @param {FigureFacts} facts
   * @param {import("./draw.js").Place} place
   */
  constructor(image, facts, place) {
    this.facts = bounded(facts);
    this.image = image;
    this.picture = new Picture(image);
    this.layer = svg("g", { class: "pointed" });
    this.frame = h("div", { className: "plotted-frame image-frame" }, this.picture.canvas);
    this.element = h("figure", { className: "plotted image-figure" }, this.frame);
    this.probe = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
    if (this.probe) this.probe.canvas.width = this.probe.canvas.height = 1;
    this.drawn = new DrawnByPython(place.engine, this.frame, (drawing, of) => {
      if (of === this.image) this.show(drawing);
    });
    this.drawing = image.drawing ?? bareDrawing(image);
    this.show(this.drawing);
    new ResizeObserver(() => this.layOut()).observe(this.element);
    this.frame.addEventListener("pointermove", (event) => this.point(event));
    this.frame.addEventListener("pointerdown", (event) => this.point(event));
    this.frame.addEventListener("pointerleave", () => this.layer.replaceChildren());
  }

  /** @param {Bundle} bundle */
  redraw(bundle) {
    if (bundle.kind !== "image" || !bundle.figure || !this.picture.redraw(bundle)) return false;
    this.facts = bounded(bundle.figure);
    this.image = bundle;
    const { drawing } = bundle;
    if (drawing && drawing.svg !== this.drawing.svg) this.show(drawing);
    else this.place(); // the picture has sized itself
    this.layOut();
    return true;
  }

  /** Have it drawn again if its width is another one; until then it is scaled. */
  layOut() {
    const width = Math.min(LARGEST_WIDTH, this.element.clientWidth);
    if (!width) return; // it is hidden
    this.scale();
    if (Math.min(LARGEST_WIDTH, this.drawing.size[0]) === width) return;
    const height = this.element.closest(".screen")?.clientHeight ?? innerHeight;
    this.drawn.ask(/** @type {Bundle} */ (this.image), { width, height, window: null });
  }

  /** @param {Drawing} drawing */
  show(drawing) {
    this.drawing = drawing;
    const picture = this.drawn.show(drawing);
    picture.setAttribute("aria-hidden", "true"); // its label is on the canvas
    picture.append(this.layer);
    this.place();
    this.scale();
  }

  /** Position the picture inside the axes. */
  place() {
    const [left, right, top, bottom] = this.drawing.area;
    const { style } = this.picture.canvas;
    Object.assign(style, {
      left: `${left}px`,
      top: `${top}px`,
      width: `${right - left}px`,
      height: `${bottom - top}px`,
    });
  }

  scale() {
    const room = this.element.clientWidth || this.drawing.width;
    this.frame.style.zoom = String(Math.min(1, room / this.drawing.width));
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
    const { layer } = this;
    const [left, right, top, bottom] = this.drawing.area;
    layer.replaceChildren();
    const box = this.frame.getBoundingClientRect();
    const scale = Number(this.frame.style.zoom);
    const [x, y] = [(event.clientX - box.left) / scale, (event.clientY - box.top) / scale];
    const { width, height } = this.picture.canvas;
    const column = Math.floor(((x - left) / (right - left)) * width);
    const row = Math.floor(((y - top) / (bottom - top)) * height);
    if (column < 0 || row < 0 || column >= width || row >= height) return;
    const [first, last, lowest, highest] = this.extent();
    const across = first + ((column + 0.5) / width) * (last - first);
    const up = highest + ((row + 0.5) / height) * (lowest - highest);
    const { xlabel, ylabel } = this.facts;
    const head = this.isCounted()
      ? `row ${Math.floor(up)}, column ${Math.floor(across)}`
      : `${xlabel || "x"} ${short(across)}, ${ylabel || "y"} ${short(up)}`;
    layer.append(
      tipAt(x, y, [head, this.valueAt(column, row)], [], { top, bottom, left: 0, right: this.drawing.width }),
    );
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
 * @param {Image} image
 * @returns {Drawing} of nothing, for a picture of an earlier build until Python has drawn what is around it
 */
function bareDrawing(image) {
  const width = Math.min(image.width * enlargement(image), LARGEST_WIDTH / 2);
  const height = (width * image.height) / image.width;
  const empty = `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}"/>`;
  return {
    svg: empty,
    width,
    size: [0, 0],
    area: [0, width, 0, height],
    axes: { x: [0, 1, false], y: [0, 1, false] },
    hits: [],
  };
}
