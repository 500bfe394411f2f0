/** What Python draws for the page, and draws again in another size. */

import { pictureOf } from "../charts/picture.js";

/** @typedef {import("./bundles.js").Bundle} Bundle */
/** @typedef {import("./bundles.js").Drawing} Drawing */
/** @typedef {{ width: number, height: number, window: import("./zoom.js").Window | null }} Wanted */

export class DrawnByPython {
  /**
   * @param {import("../engine.js").Engine} engine
   * @param {HTMLElement} frame of the drawing
   * @param {(drawing: Drawing, bundle: Bundle) => void} onDrawing gets the answer to a request
   */
  constructor(engine, frame, onDrawing) {
    this.engine = engine;
    this.frame = frame;
    this.onDrawing = onDrawing;
    /** @type {Drawing | null} */
    this.drawing = null;
    /** @type {SVGSVGElement | null} */
    this.picture = null;
    /** The request to make next. @type {{ bundle: Bundle, wanted: Wanted } | null} */
    this.next = null;
    this.isAsking = false;
  }

  /**
   * @param {Drawing} drawing
   * @returns {SVGSVGElement} the picture of it, which is now in the frame
   */
  show(drawing) {
    const picture = pictureOf(drawing.svg);
    if (this.picture) this.picture.replaceWith(picture);
    else this.frame.append(picture);
    this.drawing = drawing;
    this.picture = picture;
    return picture;
  }

  /**
   * Request another drawing; until it is there, the browser scales the present one. Of several requests the last counts.
   *
   * @param {Bundle} bundle
   * @param {Wanted} wanted
   */
  async ask(bundle, wanted) {
    this.next = { bundle, wanted };
    if (this.isAsking) return;
    this.isAsking = true;
    while (this.next) {
      const { bundle, wanted } = this.next;
      this.next = null;
      const { drawing: _drawing, bitmap: _bitmap, bytes: _bytes, png: _png, ...facts } = /** @type {any} */ (bundle);
      const drawing = await this.engine.redraw({ bundle: facts, ...wanted }).catch(() => null);
      if (drawing && !this.next) this.onDrawing(drawing, bundle);
    }
    this.isAsking = false;
  }
}
