/** Pixels on a canvas, enlarged so that they can be seen. */

import { h } from "../ui/dom.js";

/** @typedef {import("./bundles.js").Bundle} Bundle */
/** @typedef {Omit<import("./bundles.js").ImageBundle, "kind">} Image */

/** Size in CSS pixels to which small images are enlarged, by an integer factor of at most `MOST`. */
const SMALL = 256;
const MOST = 48;

/**
 * @param {{ width: number, height: number, scale: number | null }} image
 * @returns {number} CSS pixels per pixel
 */
export function enlargement({ width, height, scale }) {
  return scale ?? Math.min(MOST, Math.max(1, Math.floor(SMALL / Math.max(width, height))));
}

export class Picture {
  /** @param {Image} image */
  constructor(image) {
    this.canvas = h("canvas", { className: "picture" });
    this.hasBitmaps = image.bitmap !== undefined;
    this.element = h("div", { className: "picture-frame" }, this.canvas);
    this.show(image);
  }

  /**
   * @param {Bundle} bundle
   * @returns {boolean} false if this canvas cannot show it: the kind of a canvas's context cannot change
   */
  redraw(bundle) {
    if (bundle.kind !== "image" || this.hasBitmaps !== (bundle.bitmap !== undefined)) return false;
    const isAlike = bundle.width === this.canvas.width && bundle.height === this.canvas.height;
    if (isAlike) this.show(bundle);
    return isAlike;
  }

  /** @param {Image} image */
  show({ width, height, scale, label, bitmap, bytes, png }) {
    const { canvas } = this;
    if (canvas.width !== width) canvas.width = width;
    if (canvas.height !== height) canvas.height = height;
    const factor = enlargement({ width, height, scale });
    const natural = `${width * factor}px`;
    canvas.style.width = scale === null ? `min(${natural}, ${(90 * width) / height}vh)` : natural;
    canvas.classList.toggle("fitted", scale === null);
    canvas.style.aspectRatio = `${width} / ${height}`;
    canvas.classList.toggle("enlarged", factor > 1);
    if (label) Object.assign(canvas, { role: "img", ariaLabel: label });
    if (bitmap) canvas.getContext("bitmaprenderer")?.transferFromImageBitmap(bitmap);
    else if (bytes) canvas.getContext("2d")?.putImageData(new ImageData(bytes, width, height), 0, 0);
    else if (png) decoding.set(canvas, decode(png, canvas));
  }
}

/** Pictures of an earlier visit that have not been drawn yet. @type {WeakMap<HTMLCanvasElement, Promise<void>>} */
const decoding = new WeakMap();

/**
 * @param {Element} element
 * @returns {Promise<unknown> | null} null if all its pictures are drawn
 */
export function decodingIn(element) {
  const pending = [...element.querySelectorAll("canvas")].flatMap((canvas) => decoding.get(canvas) ?? []);
  return pending.length ? Promise.all(pending) : null;
}

/**
 * @param {HTMLCanvasElement} canvas
 * @returns {Promise<Blob>} the picture on the canvas
 */
export async function pngOf(canvas) {
  await decoding.get(canvas);
  /** @type {Blob | null} */
  const blob = await new Promise((resolve) => canvas.toBlob(resolve));
  if (!blob) throw new Error("The browser could not encode this picture.");
  return blob;
}

/**
 * @param {Uint8Array<ArrayBuffer>} png
 * @param {HTMLCanvasElement} canvas stays empty if the data is not an image
 */
async function decode(png, canvas) {
  const bitmap = await createImageBitmap(new Blob([png], { type: "image/png" })).catch(() => null);
  if (bitmap) canvas.getContext("2d")?.drawImage(bitmap, 0, 0);
  bitmap?.close();
  decoding.delete(canvas);
}
