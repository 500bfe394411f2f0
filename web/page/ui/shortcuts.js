/** The sheet of keyboard shortcuts: opened by "?" outside text fields or as an input, or by a button below the console. */

import { button, byId, h } from "./dom.js";

/** @type {[title: string, keys: [keys: string[], words: string][]][]} */
const GROUPS = [
  [
    "At the prompt",
    [
      [["Enter"], "Run the input; in an unfinished block, a new line"],
      [["Shift Enter"], "New line"],
      [["Tab"], "Complete, or indent; leave an empty prompt"],
      [["Ctrl Space"], "List the completions"],
      [["↑", "↓"], "Earlier and later inputs"],
      [["Ctrl R"], "Search the history"],
      [["Ctrl C"], "Interrupt running code, or clear the input"],
      [["Ctrl L"], "Clear the console"],
      [["Esc", "Tab"], "Leave the prompt"],
      [["name?"], "Help; name?? also shows the source"],
      [["?"], "Show this list (as the whole input)"],
    ],
  ],
  [
    "In the editor",
    [
      [["Ctrl Enter"], "Run the cell or the selection"],
      [["Shift Enter"], "Run the cell and go to the next"],
      [["Ctrl Shift Enter"], "Run all cells"],
      [["Ctrl S"], "Save the file"],
      [["Ctrl F"], "Find and replace"],
      [["Esc", "Tab"], "Leave the text"],
      [["←", "→"], "Resize the editor (focus its border)"],
      [["Enter"], "Reset its width (focus its border)"],
    ],
  ],
  [
    "In the outputs",
    [
      [["↑", "↓"], "Go from entry to entry"],
      [["Home", "End"], "First and last entry"],
      [["Tab"], "Go to the buttons of the entry"],
    ],
  ],
  [
    "Everywhere",
    [
      [["Ctrl C"], "Interrupt running code"],
      [["←", "→"], "Change the view, from its tab"],
      [["Esc"], "Close help, a menu or a list"],
      [["?"], "Show this list (when you are not typing)"],
    ],
  ],
];

export class ShortcutSheet {
  constructor() {
    const close = button("Close", "button", () => this.sheet.close());
    const groups = GROUPS.map(([title, keys]) =>
      h(
        "section",
        {},
        h("h3", {}, title),
        h("dl", { className: "shortcut-list" }, ...keys.flatMap(([names, words]) => line(names, words))),
      ),
    );
    const head = h("header", {}, h("h2", {}, "Keyboard shortcuts"), close);
    this.sheet = h("dialog", { className: "sheet shortcuts", id: "shortcuts" }, head, ...groups);
    this.sheet.ariaLabel = "Keyboard shortcuts";
    this.sheet.addEventListener("click", ({ target }) => {
      if (target === this.sheet) this.sheet.close(); // on the backdrop
    });
    document.body.append(this.sheet);
    const opener = button("Shortcuts", "button quiet", () => this.open());
    opener.id = "shortcuts-button";
    opener.ariaHasPopup = "dialog";
    byId("keys").after(opener);
    // Before the console sends the key to its prompt.
    document.addEventListener("keydown", (event) => this.onKey(event), { capture: true });
  }

  open() {
    if (!this.sheet.open) this.sheet.showModal();
  }

  /** @param {KeyboardEvent} event */
  onKey(event) {
    if (event.key !== "?" || event.ctrlKey || event.altKey || event.metaKey || takesText(event)) return;
    event.preventDefault();
    this.open();
  }
}

/**
 * @param {string[]} names
 * @param {string} words
 */
function line(names, words) {
  const keys = names.flatMap((name, i) => [...(i ? [" "] : []), h("kbd", {}, name)]);
  return [h("dt", {}, ...keys), h("dd", {}, words)];
}

/** @param {KeyboardEvent} event */
function takesText(event) {
  const [target] = event.composedPath(); // including in an editor's shadow root
  return target instanceof HTMLElement && (target.isContentEditable || target.matches("input, textarea, select"));
}
