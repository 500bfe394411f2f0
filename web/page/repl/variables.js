/** The variables of the session, below the console: requested after each input while the list is open. */

import { cutLabel } from "../ui/bounds.js";
import { inBytes } from "../ui/bytes.js";
import { byId, focusableWhileItScrolls, h } from "../ui/dom.js";
import { readLocal, writeLocal } from "../ui/local.js";

/** @typedef {import("../engine.js").Engine} Engine */
/**
 * @typedef {object} Variable (variables.py)
 * @property {string} name
 * @property {string} value its shape, or the value of a number or string
 * @property {string} type
 * @property {string} device
 * @property {number | null} bytes null if unknown
 * @property {string} note
 */

const KEY = "py_tensor.variables";
/** Delay after an input, so that an input that follows at once does not wait. */
const SETTLED_MS = 150;
const NONE = "No variables.";
const BUSY = "The list appears when the running code has finished.";
const COLUMNS = ["Name", "Shape or value", "Type", "Device", "Memory"];

export class VariablesPanel {
  /** @param {Engine} engine */
  constructor(engine) {
    this.engine = engine;
    this.shown = "";
    this.scroller = h("div", { className: "variables-scroller" }, note(NONE));
    this.scroller.setAttribute("role", "region");
    this.scroller.ariaLabel = "List of variables";
    focusableWhileItScrolls(this.scroller);
    const summary = h("summary", {}, "Variables");
    this.element = h(
      "details",
      { className: "variables", id: "variables", open: readLocal(KEY) === "open" },
      summary,
      this.scroller,
    );
    this.element.addEventListener("toggle", () => {
      writeLocal(KEY, this.element.open ? "open" : "closed");
      this.askSoon();
    });
    engine.addEventListener("ready", () => this.say(NONE)); // a new Python has none
    for (const type of ["ready", "change"]) engine.addEventListener(type, () => this.askSoon());
    byId("panel-console").append(this.element);
  }

  askSoon() {
    clearTimeout(this.timer);
    if (this.element.open) this.timer = setTimeout(() => this.ask(), SETTLED_MS);
  }

  /** @param {string} text shown instead of the list */
  say(text) {
    this.shown = "";
    this.scroller.replaceChildren(note(text));
  }

  async ask() {
    if (!this.engine.isReady) {
      this.say(this.engine.broken ? "Python is not running." : "Python is starting.");
      return;
    }
    /** @type {{ rows: Variable[], more: number } | null} null while something runs */
    const found = await this.engine.query("variables", {});
    if (!found && !this.shown) this.say(BUSY);
    const text = JSON.stringify(found);
    if (!found || text === this.shown) return;
    this.shown = text;
    const head = h("tr", {}, ...COLUMNS.map((name) => h("th", { scope: "col" }, name)));
    const table = h("table", {}, h("thead", {}, head), h("tbody", {}, ...found.rows.map(rowOf)));
    const more = found.more ? [note(`And ${found.more.toLocaleString("en")} more.`)] : [];
    this.scroller.replaceChildren(...(found.rows.length ? [table, ...more] : [note(NONE)]));
  }
}

/** @param {Variable} variable */
function rowOf({ name, value, type, device, bytes, note: remark }) {
  const memory = [bytes === null ? "" : inBytes(bytes), remark].filter(Boolean).join(", ");
  const cells = [value, type, device, memory].map(cutLabel).map((text) => h("td", { title: text }, text));
  return h("tr", {}, h("th", { scope: "row" }, cutLabel(name)), ...cells);
}

/** @param {string} text */
function note(text) {
  return h("p", { className: "variables-note" }, text);
}
