/** A picture that Python draws with an example's functions, as often as it is asked to. */

import { Picture } from "../display/image.js";
import { saversOf } from "../display/saving.js";
import { h } from "../ui/dom.js";
import { reasonOf } from "../ui/outcome.js";

/** @typedef {import("../engine.js").Engine} Engine */
/** @typedef {import("../../worker/protocol.js").Bundle} Bundle */
/** @typedef {import("./gallery.js").Example} Example */

/** CSS pixels of a picture's longer side. */
const SIDE = 480;
/** What takes longer is marked as under way. */
const MARKED_AFTER_MS = 250;

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
    /** The buttons that save it, once there is a picture. */
    this.savers = h("div");
    /** Is told of a picture that takes long. */
    this.onSlow = () => {};
  }

  /**
   * @param {Record<string, string | number>} values for the function in worker/python/gallery.py
   * @param {Uint32Array<ArrayBuffer>} [frame] pixels to start from; they are gone then
   * @returns {Promise<string | null>} why there is no picture
   */
  async draw(values, frame) {
    const { name, code } = this.example;
    // The frames of a camera follow each other: none of them is waited for.
    const mark = frame ? undefined : setTimeout(() => this.setBusy(true), MARKED_AFTER_MS);
    const outcome = await this.engine.draw({ name, code, values, frame }, { onAnswer: (bundle) => this.show(bundle) });
    clearTimeout(mark);
    this.setBusy(false);
    if (outcome.interrupted) return "Stopped.";
    return outcome.ok ? null : reasonOf(outcome);
  }

  /** @param {boolean} isBusy */
  setBusy(isBusy) {
    this.element.ariaBusy = String(isBusy);
    if (isBusy && this.engine.isReady) this.onSlow();
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
