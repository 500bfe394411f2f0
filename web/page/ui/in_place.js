/**
 * Code in a view that is shown read-only at first, and can be edited and run in place. The edited code is kept in
 * `localStorage`.
 */

import { PROGRAM } from "../views.js";
import { button, h, watchFocus } from "./dom.js";
import { readLocal, writeLocal } from "./local.js";
import { warnIfOutdated } from "./status.js";
import { stopBar } from "./stop_button.js";
import { loadStyles } from "./styles.js";
import { showConsole } from "./tabs.js";

/** @typedef {import("../editor/program.js").Program} Program */

const PREFIX = "py_tensor.program ";

export class InPlace {
  /**
   * @param {import("../views.js").Parts} parts
   * @param {string} title
   * @param {string} label accessible name of the code
   * @param {string} text
   * @param {HTMLElement} shown until it is edited
   * @param {string} file its name in the editor, which no other program of the page has
   */
  constructor(parts, title, label, text, shown, file) {
    this.parts = parts;
    this.title = title;
    this.label = label;
    this.original = text;
    this.key = PREFIX + file;
    /** As edited in an earlier visit. */
    this.edited = readLocal(this.key);
    /** Why the edited text could not be saved. */
    this.unsaved = h("p", { className: "note", role: "status" });
    this.place = h("div", {}, shown);
    /** @type {Promise<Program | null> | null} */
    this.loading = null;
    /** @type {Program | null} */
    this.program = null;
    this.reset = button("Reset", "button", () => this.program?.reset());
    this.reset.title = "Restore the original program";
    this.reset.hidden = true;
    this.edit = button("Edit", "button", async () => {
      const isFocusUnmoved = watchFocus();
      const program = await this.load();
      if (isFocusUnmoved()) program?.code.focus();
    });
    let isAsked = false;
    const run = button("Run", "button primary", async () => {
      if (isAsked) return; // a second click while the editor loads
      isAsked = true;
      const program = await this.load();
      isAsked = false;
      program?.run("all");
    });
    run.title = "Run it with the variables of the console";
    const open = button("Open in the editor", "button", () => {
      showConsole();
      void parts.editor.openProgram(file, this.text);
    });
    this.buttons = [run, this.edit, this.reset, open];
    /** Below the output, which may be far below the buttons. */
    this.running = stopBar(parts.engine, () => run.focus({ preventScroll: true })); // the picture stays in view
    if (this.edited !== null) void this.load();
  }

  get text() {
    return this.program ? `${this.program.code.text}\n` : (this.edited ?? this.original);
  }

  load() {
    this.loading ??= this.make();
    return this.loading;
  }

  async make() {
    try {
      const [module] = await Promise.all([PROGRAM.load(), loadStyles(...PROGRAM.styles)]);
      const keep = (/** @type {string} */ text) => this.keep(text);
      this.program = new module.Program(this.parts, this.label, this.title, this.original, this.text, keep);
      this.place.replaceChildren(this.program.element, this.unsaved);
      this.edit.hidden = true;
      this.reset.hidden = false;
      return this.program;
    } catch (error) {
      this.loading = null;
      const words = (await warnIfOutdated()) ? "A newer version of this page is available." : `${error}`;
      this.place.append(h("p", { className: "note" }, `The editor could not be loaded. ${words}`));
      return null;
    }
  }

  /** @param {string} text as edited */
  keep(text) {
    const problem = writeLocal(this.key, text === this.original.trimEnd() ? null : text);
    const words = problem && `This text is not saved: ${problem}. It is lost when the page closes.`;
    if (words !== this.unsaved.textContent) this.unsaved.textContent = words;
  }
}
