/**
 * The transcript is a single tab stop: the arrow keys move between entries, and Tab moves on to the buttons of the
 * focused entry (repl.css hides the buttons of the others).
 */

const ENTRY = ".entry";

export class RovingFocus {
  /** @param {HTMLElement} root of the entries */
  constructor(root) {
    this.root = root;
    /** The entry that Tab focuses. @type {HTMLElement | null} */
    this.current = null;
    root.addEventListener("focusin", ({ target }) => {
      const entry = target instanceof Element ? target.closest(ENTRY) : null;
      if (entry instanceof HTMLElement) this.moveTo(entry);
    });
    root.addEventListener("keydown", (event) => {
      const entry = event.target instanceof Element && event.target.matches(ENTRY) ? event.target : null;
      const next = entry && this.neighbour(entry, event.key);
      if (!next) return;
      event.preventDefault();
      next.focus();
    });
  }

  /**
   * Make a new entry the tab stop, unless another entry has the focus.
   *
   * @param {HTMLElement} entry
   */
  add(entry) {
    entry.tabIndex = -1;
    if (!this.root.contains(document.activeElement)) this.moveTo(entry);
  }

  /** @param {HTMLElement} entry */
  moveTo(entry) {
    if (this.current) this.current.tabIndex = -1;
    entry.tabIndex = 0;
    this.current = entry;
  }

  /**
   * @param {Element} entry
   * @param {string} key
   */
  neighbour(entry, key) {
    /** @type {NodeListOf<HTMLElement>} */
    const found = this.root.querySelectorAll(`:scope > ${ENTRY}`);
    const entries = [...found];
    const at = entries.indexOf(/** @type {HTMLElement} */ (entry));
    const to = { ArrowUp: at - 1, ArrowDown: at + 1, Home: 0, End: entries.length - 1 }[key];
    return to === undefined ? null : (entries[to] ?? null);
  }
}
