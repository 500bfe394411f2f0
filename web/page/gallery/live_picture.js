/** A picture that Python draws with an example's functions, as often as it is asked to. */

import { Picture } from "../display/image.js";
import { h } from "../ui/dom.js";
import { reasonOf } from "../ui/outcome.js";

/** @typedef {import("../engine.js").Engine} Engine */
/** @typedef {import("../../worker/protocol.js").Bundle} Bundle */
/** @typedef {import("./gallery.js").Example} Example */

/** CSS pixels of a picture's longer side. */
const SIDE = 480;

export class LivePicture {
  /**
   * @param {Engine} engine
   * @param {Example} example
   * @param {string} label
   * @param {"img" | "application"} [role] the latter takes keys, which screen readers hand on then
   */
  constructor(engine, example, label, role = "img") {
    this.engine = engine;
    this.example = example;
    /** @type {Picture | null} */
    this.picture = null;
    this.element = h("div", { className: "live-picture", role, ariaLabel: label });
  }

  /**
   * @param {Record<string, string | number>} values for the function in worker/python/gallery.py
   * @param {Uint32Array<ArrayBuffer>} [frame] pixels to start from; they are gone then
   * @returns {Promise<string | null>} why there is no picture
   */
  async draw(values, frame) {
    const { name, code } = this.example;
    const outcome = await this.engine.draw({ name, code, values, frame }, { onAnswer: (bundle) => this.show(bundle) });
    if (outcome.interrupted) return "Stopped.";
    return outcome.ok ? null : reasonOf(outcome);
  }

  /** @param {Bundle} bundle */
  show(bundle) {
    if (bundle.kind !== "image") return;
    const image = { ...bundle, label: "", scale: SIDE / Math.max(bundle.width, bundle.height) };
    if (this.picture?.redraw(image)) return;
    this.picture = new Picture(image);
    this.element.replaceChildren(this.picture.element);
  }
}
