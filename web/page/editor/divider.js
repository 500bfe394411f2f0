/** The border between the editor and the console. It is moved with the pointer or with the arrow keys. */

import { h } from "../ui/dom.js";
import { readLocal, writeLocal } from "../ui/local.js";

const KEY = "py_tensor.editor_width";
/** In percent of the width of both. */
const MIN_PERCENT = 30;
const MAX_PERCENT = 75;
const DEFAULT_PERCENT = 57;
const STEP = 2;

export class Divider {
  /** @param {HTMLElement} editor the element before the console */
  constructor(editor) {
    this.editor = editor;
    this.percent = DEFAULT_PERCENT;
    this.element = h("div", {
      className: "divider",
      role: "separator",
      tabIndex: 0,
      title: "Drag to resize; double-click or Enter to reset",
    });
    this.element.ariaLabel = "Width of the editor";
    this.element.ariaOrientation = "vertical";
    this.element.ariaValueMin = String(MIN_PERCENT);
    this.element.ariaValueMax = String(MAX_PERCENT);
    this.element.setAttribute("aria-controls", editor.id);
    this.set(recalled());
    this.element.addEventListener("pointerdown", (event) => this.grasp(event));
    this.element.addEventListener("pointermove", (event) => this.drag(event));
    this.element.addEventListener("lostpointercapture", () => this.remember());
    this.element.addEventListener("dblclick", () => this.move(DEFAULT_PERCENT));
    this.element.addEventListener("keydown", (event) => this.onKey(event));
    editor.after(this.element);
  }

  /** @param {number} percent of the width, for the editor */
  set(percent) {
    this.percent = Math.min(MAX_PERCENT, Math.max(MIN_PERCENT, percent));
    this.editor.style.setProperty("--share", String(this.percent / (100 - this.percent)));
    this.element.ariaValueNow = String(Math.round(this.percent));
    this.element.ariaValueText = `${Math.round(this.percent)}% of the width`;
  }

  /** @param {number} percent */
  move(percent) {
    this.set(percent);
    this.remember();
  }

  /** @param {PointerEvent} event */
  grasp({ button, pointerId }) {
    if (button === 0) this.element.setPointerCapture(pointerId);
  }

  /** @param {PointerEvent} event */
  drag({ clientX, pointerId }) {
    if (!this.element.hasPointerCapture(pointerId)) return;
    const { left, width } = /** @type {HTMLElement} */ (this.editor.parentElement).getBoundingClientRect();
    const own = this.element.offsetWidth;
    this.set((100 * (clientX - left - own / 2)) / (width - own));
  }

  /** @param {KeyboardEvent} event */
  onKey(event) {
    const { key, ctrlKey, altKey, metaKey } = event;
    const aims = new Map([
      ["ArrowLeft", this.percent - STEP],
      ["ArrowRight", this.percent + STEP],
      ["Home", MIN_PERCENT],
      ["End", MAX_PERCENT],
      ["Enter", DEFAULT_PERCENT],
    ]);
    const aim = aims.get(key);
    if (aim === undefined || ctrlKey || altKey || metaKey) return;
    event.preventDefault();
    this.move(aim);
  }

  remember() {
    writeLocal(KEY, String(Math.round(this.percent)));
  }
}

/** @returns {number} the percentage stored by the last visit */
function recalled() {
  return Number.parseInt(readLocal(KEY) ?? "", 10) || DEFAULT_PERCENT;
}
