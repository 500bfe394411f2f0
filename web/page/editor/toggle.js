/**
 * The editor's button in the console, and files dropped on the page. The editor itself is loaded when first opened.
 */

import { byId, h, watchFocus } from "../ui/dom.js";
import { warnIfOutdated } from "../ui/status.js";
import { loadStyles } from "../ui/styles.js";
import { EDITOR } from "../views.js";
import { isNotebook } from "./cells.js";
import { droppedFiles } from "./dropped.js";

/** @typedef {import("./pane.js").Pane} Pane */
/** @typedef {import("./pane.js").Workplace} Workplace */

export class EditorToggle {
  /** @param {Workplace} workplace */
  constructor(workplace) {
    this.workplace = workplace;
    this.root = byId("editor");
    /** @type {Promise<Pane> | null} */
    this.pane = null;
    /** The editor was opened before the session. */
    this.isAsked = false;
    this.button = h("button", { type: "button", className: "button", id: "editor-button", textContent: "Editor" });
    this.button.title = "Write programs, and open files";
    this.button.setAttribute("aria-controls", this.root.id);
    this.button.setAttribute("aria-expanded", "false");
    this.button.addEventListener("click", () => (this.isOpen ? this.close() : void this.open()));
    byId("sessions").before(this.button);
    const { sessions } = workplace;
    sessions.addEventListener("opened", () => void this.follow());
    sessions.showCell = async (cell, entry) => {
      const pane = await this.show();
      return pane ? pane.showCell(cell.path, entry) : cell.path;
    };
    sessions.beforeAgain = async (paths) => {
      const notebooks = paths.filter(isNotebook);
      if (notebooks.length) await (await this.loaded())?.beforeAgain(notebooks);
    };
    this.takeDrops();
  }

  get isOpen() {
    return !this.root.hidden;
  }

  /** Another session was opened. */
  async follow() {
    const { sessions } = this.workplace;
    await sessions.opened;
    const isLoaded = this.pane !== null;
    const isKeptOpen = sessions.session.about.editor?.isOpen ?? this.isOpen;
    if (isKeptOpen || this.isAsked) await this.show();
    else this.hide();
    this.isAsked = false;
    if (isLoaded) await (await this.pane)?.restore();
  }

  async open() {
    this.isAsked = !this.workplace.sessions.isOpen;
    const isFocusUnmoved = watchFocus();
    const pane = await this.show();
    pane?.keep();
    if (isFocusUnmoved()) pane?.focus();
    if (this.root.getBoundingClientRect().bottom > innerHeight) this.root.scrollIntoView({ block: "nearest" });
    return pane;
  }

  async close() {
    this.hide();
    this.workplace.repl.focus();
    (await this.pane)?.keep();
  }

  /**
   * Open a program of the page for editing.
   *
   * @param {string} name of its file
   * @param {string} code
   */
  async openProgram(name, code) {
    const isFocusUnmoved = watchFocus();
    await (await this.open())?.addProgram(name, code, isFocusUnmoved);
  }

  hide() {
    this.root.hidden = true;
    this.button.setAttribute("aria-expanded", "false");
  }

  async show() {
    this.root.hidden = false;
    this.button.setAttribute("aria-expanded", "true");
    return this.loaded();
  }

  /** @returns {Promise<Pane | null>} null if it could not be loaded */
  async loaded() {
    this.pane ??= this.load();
    try {
      return await this.pane;
    } catch (error) {
      this.pane = null;
      this.hide();
      const words = (await warnIfOutdated()) ? "A newer version of this page is available." : `${error}`;
      this.workplace.repl.transcript.note(`The editor could not be loaded. ${words}`);
      return null;
    }
  }

  async load() {
    const [{ Pane }] = await Promise.all([EDITOR.load(), loadStyles(...EDITOR.styles)]);
    const pane = new Pane(this.workplace, this.root, () => this.close());
    await pane.restore();
    return pane;
  }

  /** By default, a browser navigates to a file that is dropped on the page. */
  takeDrops() {
    const panel = byId("panel-console");
    const isOurs = (/** @type {DragEvent} */ { dataTransfer }) =>
      !panel.hidden && dataTransfer?.types.includes("Files");
    document.addEventListener(
      "dragover",
      (event) => {
        if (!isOurs(event)) return;
        event.preventDefault();
        event.stopPropagation();
        panel.classList.add("dropping");
      },
      { capture: true },
    );
    document.addEventListener("dragleave", (event) => {
      if (!event.relatedTarget) panel.classList.remove("dropping");
    });
    document.addEventListener(
      "drop",
      (event) => {
        if (!isOurs(event)) return;
        event.preventDefault();
        event.stopPropagation();
        panel.classList.remove("dropping");
        const files = droppedFiles(/** @type {DataTransfer} */ (event.dataTransfer));
        const isFocusUnmoved = watchFocus();
        void this.open().then(async (pane) => pane?.addFiles(await files, isFocusUnmoved));
      },
      { capture: true },
    );
  }
}
