/** Code of a view that is read at first, and edited and run in its place. */

import { PROGRAM } from "../views.js";
import { button, h } from "./dom.js";
import { warnIfOutdated } from "./status.js";
import { loadStyles } from "./styles.js";
import { showConsole } from "./tabs.js";

/** @typedef {import("../editor/program.js").Program} Program */

export class InPlace {
  /**
   * @param {import("../views.js").Parts} parts
   * @param {string} label what it is, for a screen reader
   * @param {string} text
   * @param {HTMLElement} shown until it is edited
   * @param {string} file its name in the editor
   */
  constructor(parts, label, text, shown, file) {
    this.parts = parts;
    this.label = label;
    this.original = text;
    this.place = h("div", {}, shown);
    /** @type {Promise<Program | null> | null} */
    this.loading = null;
    /** @type {Program | null} */
    this.program = null;
    this.reset = button("Reset", "button", () => this.program?.reset());
    this.reset.hidden = true;
    this.edit = button("Edit", "button", async () => (await this.load())?.code.focus());
    const run = button("Run", "button primary", async () => (await this.load())?.run("all"));
    const open = button("Open in the editor", "button", () => {
      showConsole();
      void parts.editor.openProgram(file, this.text);
    });
    this.buttons = [run, this.edit, this.reset, open];
  }

  get text() {
    return this.program ? `${this.program.code.text}\n` : this.original;
  }

  load() {
    this.loading ??= this.make();
    return this.loading;
  }

  async make() {
    try {
      const [module] = await Promise.all([PROGRAM.load(), loadStyles(...PROGRAM.styles)]);
      this.program = new module.Program(this.parts, this.label, this.original);
      this.place.replaceChildren(this.program.element);
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
}
