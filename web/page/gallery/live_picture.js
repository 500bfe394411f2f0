/** A picture that Python draws on request with an example's functions. */

import { Picture } from "../display/image.js";
import { saversOf } from "../display/saving.js";
import { h } from "../ui/dom.js";
import { reasonOf } from "../ui/outcome.js";

/** @typedef {import("../engine.js").Engine} Engine */
/** @typedef {import("../../worker/protocol.js").Bundle} Bundle */
/** @typedef {import("./gallery.js").Example} Example */

/** Longer side of a picture, in CSS pixels. */
const SIDE = 480;
/** Drawings that take longer show a busy mark. */
const MARKED_AFTER_MS = 250;

export class LivePicture {
  /**
   * @param {Engine} engine
   * @param {Example} example
   * @param {string} label
   * @param {"img" | "application"} [role] the latter handles keys, which screen readers then pass on
   */
  constructor(engine, example, label, role = "img") {
    this.engine = engine;
    this.example = example;
    /** @type {Picture | null} */
    this.picture = null;
    this.element = h("div", { className: "live-picture", role, ariaLabel: label });
    /** The buttons that save it, once there is a picture. */
    this.savers = h("div");
    /** Called for a picture that takes long, with what it waits for, or null once it is computed. */
    this.onSlow = (/** @type {import("../engine.js").Job | null} */ _blocker) => {};
  }

  /**
   * @param {Record<string, string | number>} values for the function in worker/python/gallery.py
   * @param {Uint32Array<ArrayBuffer>} [frame] pixels to start from; they are transferred
   * @returns {Promise<string | null>} why there is no picture
   */
  async draw(values, frame) {
    const { name, code } = this.example;
    // Camera frames follow each other quickly, so they show no busy mark.
    let isMarked = false;
    const mark = () => {
      isMarked = true;
      this.element.ariaBusy = "true";
      if (this.engine.isReady) this.onSlow(this.engine.blockerOf(listener));
    };
    const timer = frame ? undefined : setTimeout(mark, MARKED_AFTER_MS);
    /** @type {import("../engine.js").Listener} */
    const listener = {
      onStart: () => {
        if (isMarked) mark();
      },
      onAnswer: (bundle) => this.show(bundle),
    };
    const outcome = await this.engine.draw({ name, code, values, frame }, listener);
    clearTimeout(timer);
    this.element.ariaBusy = "false";
    if (outcome.interrupted) return "Stopped.";
    return outcome.ok ? null : reasonOf(outcome);
  }

  /** @param {Bundle} bundle */
  show(bundle) {
    if (bundle.kind !== "image") return;
    const image = { ...bundle, label: "", scale: SIDE / Math.max(bundle.width, bundle.height) };
    if (this.picture?.redraw(image)) return;
    if (!this.picture) this.savers.append(...saversOf(bundle, () => this.element));
    this.picture = new Picture(image);
    this.element.replaceChildren(this.picture.element);
  }
}
