/** What was typed, across reloads. */

const KEY = "py_tensor.history";
const LIMIT = 500;

export class History {
  constructor() {
    /** @type {string[]} */
    this.entries = load();
    this.position = this.entries.length;
    this.draft = "";
  }

  /** @param {string} text */
  add(text) {
    if (text.trim() && this.entries.at(-1) !== text) {
      this.entries = [...this.entries, text].slice(-LIMIT);
      save(this.entries);
    }
    this.position = this.entries.length;
    this.draft = "";
  }

  /**
   * @param {-1 | 1} step back or forth
   * @param {string} text what stands in the input now; kept when it is not from the history
   * @returns {string | null} null at either end
   */
  move(step, text) {
    const position = this.position + step;
    if (position < 0 || position > this.entries.length) return null;
    if (this.position === this.entries.length) this.draft = text;
    this.position = position;
    return this.entries[position] ?? this.draft;
  }
}

/** @returns {string[]} */
function load() {
  try {
    const stored = JSON.parse(localStorage.getItem(KEY) ?? "[]");
    return Array.isArray(stored) ? stored.filter((entry) => typeof entry === "string") : [];
  } catch {
    return []; // no storage, or not ours
  }
}

/** @param {string[]} entries */
function save(entries) {
  try {
    localStorage.setItem(KEY, JSON.stringify(entries));
  } catch {
    // No storage, or it is full: the history then lasts as long as the page.
  }
}
