/** A program of the page, edited and run in place. */

import { h } from "../ui/dom.js";
import { EditorView } from "../vendor/codemirror.js";
import { Code } from "./code.js";
import { run } from "./running.js";

export class Program {
  /**
   * @param {import("../views.js").Parts} parts
   * @param {string} name what it is, for a screen reader
   * @param {string} title
   * @param {string} original
   * @param {string} text as edited so far
   * @param {(text: string) => void} onChange
   */
  constructor({ engine, repl }, name, title, original, text, onChange) {
    this.repl = repl;
    this.title = title;
    /** @type {AbortController | null} */
    this.following = null;
    this.original = original.trimEnd();
    this.code = new Code(text.trimEnd(), name, true, {
      onChange: () => onChange(this.code.text),
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
      title: this.title,
      say: (words) => {
        this.said.textContent = words;
      },
    });
    if (how === "all") this.follow();
  }

  /** Keep the output in view as it grows, until the user does something. */
  follow() {
    this.following?.abort();
    const following = new AbortController();
    const { signal } = following;
    const sizes = new ResizeObserver(() => this.showEnd());
    for (const output of this.code.element.children) sizes.observe(output);
    signal.addEventListener("abort", () => sizes.disconnect());
    for (const type of ["wheel", "touchmove", "pointerdown", "keydown"]) {
      window.addEventListener(type, () => following.abort(), { signal, passive: true });
    }
    this.following = following;
  }

  /** Scroll to the output of a long program. */
  showEnd() {
    this.code.view.dispatch({ effects: EditorView.scrollIntoView(this.code.text.length, { y: "nearest" }) });
    requestAnimationFrame(() => this.code.element.lastElementChild?.scrollIntoView({ block: "nearest" }));
  }

  /** Restore the original program. */
  reset() {
    this.code.remove();
    this.code.replace(this.original, true);
  }
}
