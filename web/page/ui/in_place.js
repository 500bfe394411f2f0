/**
 * Code in a view that is shown read-only at first, and can be edited and run in place. The edited code is kept in
 * `localStorage`.
 */

import { PROGRAM } from "../views.js";
import { button, h, watchFocus } from "./dom.js";
import { warnIfOutdated } from "./status.js";
import { stopButton } from "./stop_button.js";
import { loadStyles } from "./styles.js";
import { showConsole } from "./tabs.js";

/** @typedef {import("../editor/program.js").Program} Program */

const PREFIX = "py_tensor.program ";

export class InPlace {
  /**
   * @param {import("../views.js").Parts} parts
   * @param {string} label accessible name
   * @param {string} text
   * @param {HTMLElement} shown until it is edited
   * @param {string} file its name in the editor, which no other program of the page has
   */
  constructor(parts, label, text, shown, file) {
    this.parts = parts;
    this.label = label;
    this.original = text;
    this.key = PREFIX + file;
    /** As edited in an earlier visit. */
    this.edited = read(this.key);
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
    /** The last of a row of buttons, because it comes and goes. */
    this.stop = stopButton(parts.engine, () => run.focus());
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
      const keep = (/** @type {string} */ text) => write(this.key, text === this.original.trimEnd() ? null : text);
      this.program = new module.Program(this.parts, this.label, this.original, this.text, keep);
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

/** @param {string} key */
function read(key) {
  try {
    return localStorage.getItem(key);
  } catch {
    return null; // storage is unavailable
  }
}

/**
 * @param {string} key
 * @param {string | null} text null: remove it
 */
function write(key, text) {
  try {
    if (text === null) localStorage.removeItem(key);
    else localStorage.setItem(key, text);
  } catch {
    // Storage is unavailable or full: the edited text is lost when the page is left.
  }
}
