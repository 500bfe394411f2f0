/** A button that opens a list of actions. */

import { h } from "./dom.js";

export class Menu {
  /**
   * @param {string} label
   * @param {HTMLElement[]} items buttons, and choices that leave it open
   */
  constructor(label, items) {
    this.summary = h("summary", { className: "button quiet" }, label);
    this.element = h("details", { className: "menu" }, this.summary, h("div", { className: "menu-items" }, ...items));
    this.closeByItself();
  }

  /** On Escape, and when an action is chosen or something else is clicked or focused. */
  closeByItself() {
    const { element, summary } = this;
    element.addEventListener("keydown", (event) => {
      if (event.key !== "Escape" || !element.open) return;
      event.preventDefault();
      element.open = false;
      summary.focus();
    });
    element.addEventListener(
      "click",
      ({ target }) => {
        if (!(target instanceof Element && target.closest("button"))) return;
        element.open = false;
        summary.focus(); // the action may move the focus
      },
      { capture: true },
    );
    for (const type of ["click", "focusin"]) {
      document.addEventListener(type, ({ target }) => {
        if (target instanceof Node && !element.contains(target)) element.open = false;
      });
    }
  }
}
