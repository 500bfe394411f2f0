/** A program of the page's, edited and run where it stands. */

import { h } from "../ui/dom.js";
import { EditorView } from "../vendor/codemirror.js";
import { Code } from "./code.js";
import { run } from "./running.js";

export class Program {
  /**
   * @param {import("../views.js").Parts} parts
   * @param {string} name what it is, for a screen reader
   * @param {string} text
   */
  constructor({ engine, repl }, name, text) {
    this.repl = repl;
    this.original = text;
    this.code = new Code(text.trimEnd(), name, true, {
      onChange: () => {},
      onMove: () => {},
      onRun: (how, at) => this.run(how, at),
      onSave: () => {},
      onGone: () => {},
      query: (method, args) => engine.query(method, args),
    });
    this.said = h("p", { className: "unseen" });
    this.said.setAttribute("role", "status");
    this.element = h("div", { className: "program" }, this.code.element, this.said);
  }

  /**
   * @param {import("./code.js").How} how
   * @param {number} [at]
   */
  run(how, at) {
    run(this.code, this.repl, how, at, {
      say: (words) => {
        this.said.textContent = words;
        if (how === "all") this.showEnd();
      },
    });
    if (how === "all") this.showEnd();
  }

  /** Bring the output of a long program into view. */
  showEnd() {
    this.code.view.dispatch({ effects: EditorView.scrollIntoView(this.code.text.length, { y: "nearest" }) });
    requestAnimationFrame(() => this.code.element.lastElementChild?.scrollIntoView({ block: "nearest" }));
  }

  /** Be as it was at first. */
  reset() {
    this.code.remove();
    this.code.replace(this.original.trimEnd(), true);
  }
}
