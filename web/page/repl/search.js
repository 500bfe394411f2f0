/** Ctrl-R: search the history backwards; the prompt shows the match. */

import { h } from "../ui/dom.js";

/** @typedef {import("./history.js").History} History */

/**
 * @typedef {object} Prompt
 * @property {string} text the text of the prompt
 * @property {() => void} focus
 */

export class HistorySearch {
  /**
   * @param {History} history
   * @param {Prompt} prompt
   * @param {HTMLElement} place the search field is inserted after it
   */
  constructor(history, prompt, place) {
    this.history = history;
    this.prompt = prompt;
    this.input = h("input", { className: "search-input", autocomplete: "off", spellcheck: false });
    this.input.setAttribute("aria-label", "Search the history");
    this.state = h("span", { className: "search-state" });
    this.state.setAttribute("role", "status");
    const hint = h("span", { className: "search-hint" }, "Ctrl R older · Enter accepts · Esc cancels");
    this.row = h("div", { className: "search-row", hidden: true }, "search: ", this.input, this.state, hint);
    place.after(this.row);
    this.draft = "";
    /** Index in the history of the match shown. */
    this.at = -1;
    this.input.addEventListener("input", () => this.show(this.history.find(this.input.value)));
    this.input.addEventListener("keydown", (event) => this.onKey(event));
    this.input.addEventListener("blur", () => this.close());
  }

  open() {
    this.draft = this.prompt.text;
    this.at = this.history.entries.length;
    this.input.value = "";
    this.state.textContent = "";
    this.row.hidden = false;
    this.input.focus();
    this.row.scrollIntoView({ block: "nearest" });
  }

  close() {
    this.row.hidden = true;
  }

  /** @param {number} index of the entry; -1 if none was found; the previous match then stays */
  show(index) {
    if (!this.input.value) {
      this.at = this.history.entries.length;
      this.prompt.text = this.draft;
      this.state.textContent = "";
      return;
    }
    this.state.textContent = index < 0 ? "nothing found" : "";
    if (index < 0) return;
    this.at = index;
    this.prompt.text = this.history.entries[index];
  }

  /** @param {KeyboardEvent} event */
  onKey(event) {
    if (event.isComposing) return;
    const isControl = event.ctrlKey && !event.altKey && !event.metaKey;
    const key = isControl ? `Ctrl-${event.key.toLowerCase()}` : event.key;
    if (key === "Ctrl-r") this.show(this.history.find(this.input.value, this.at));
    else if (key === "Enter" || key === "Tab") this.prompt.focus();
    else if (key === "Escape" || key === "Ctrl-c" || key === "Ctrl-g") this.leave();
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  leave() {
    this.prompt.text = this.draft;
    this.prompt.focus();
  }
}
