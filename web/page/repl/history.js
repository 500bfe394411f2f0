/** The input history, stored across reloads. */

const KEY = "py_tensor.history";
const LIMIT = 500;

export class History {
  constructor() {
    const { entries, isDamaged } = load();
    /** Oldest first. @type {string[]} */
    this.entries = entries;
    /** Whether part of the stored history could not be read. */
    this.isDamaged = isDamaged;
    /** The current walk. @type {Walk | null} */
    this.walk = null;
  }

  /** @param {string} text */
  add(text) {
    this.walk = null;
    if (!text.trim() || this.entries.at(-1) === text) return;
    this.entries = [...this.entries, text].slice(-LIMIT);
    save(this.entries);
  }

  /**
   * Step through the entries that begin with the text before the caret at the start of the walk. A walk ends when the
   * text is changed.
   *
   * @param {-1 | 1} step back or forward
   * @param {string} text the present text of the input
   * @param {string} beforeCaret
   * @returns {string | null} the new text; null at either end
   */
  move(step, text, beforeCaret) {
    if (this.walk?.shown !== text) this.walk = new Walk(this.entries, text, beforeCaret);
    return this.walk.move(step);
  }

  /**
   * @param {string} part
   * @param {number} [before] only entries before this index
   * @returns {number} the index of the newest entry that contains it; -1 if none does
   */
  find(part, before = this.entries.length) {
    return this.entries.findLastIndex((entry, index) => index < before && entry.includes(part));
  }
}

class Walk {
  /**
   * @param {string[]} entries
   * @param {string} draft
   * @param {string} prefix
   */
  constructor(entries, draft, prefix) {
    const found = entries.filter((entry) => entry.startsWith(prefix) && entry !== draft);
    this.stops = [...found.filter((entry, index) => found[index + 1] !== entry), draft];
    this.position = this.stops.length - 1;
    this.shown = draft;
  }

  /** @param {-1 | 1} step */
  move(step) {
    const stop = this.stops.at(this.position + step);
    if (stop === undefined || this.position + step < 0) return null;
    this.position += step;
    this.shown = stop;
    return stop;
  }
}

/** @returns {{ entries: string[], isDamaged: boolean }} */
function load() {
  let text = "[]";
  try {
    text = localStorage.getItem(KEY) ?? text;
  } catch {
    // Storage is unavailable.
  }
  try {
    const stored = JSON.parse(text);
    const entries = stored.filter((/** @type {unknown} */ entry) => typeof entry === "string");
    return { entries, isDamaged: entries.length < stored.length };
  } catch {
    return { entries: [], isDamaged: true };
  }
}

/** @param {string[]} entries */
function save(entries) {
  try {
    localStorage.setItem(KEY, JSON.stringify(entries));
  } catch {
    // Storage is unavailable or full: the history then lasts as long as the page.
  }
}
