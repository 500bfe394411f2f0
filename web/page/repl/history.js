/** The input history, stored across reloads. */

import { readLocal, writeLocal } from "../ui/local.js";

const KEY = "py_tensor.history";
const LIMIT = 500;
const DAMAGED = "The saved input history was damaged. What is left is kept.";
const NEWER =
  "A newer version of this page has written the input history. It is left unchanged: what you enter now is not added.";
/** Characters that are stored; an entry with more than half of them is left out, because it would displace the others. */
const MAX_STORED = 500_000;

export class History {
  constructor() {
    const { entries, problem } = load();
    /** Oldest first. @type {string[]} */
    this.entries = entries;
    /** What is wrong with the stored history, as a sentence; "" if nothing. */
    this.problem = problem;
    /** The current walk. @type {Walk | null} */
    this.walk = null;
    this.isStored = true;
    /** Called when storing fails, but did not fail before. */
    this.onUnsaved = (/** @type {string} */ _reason) => {};
  }

  /** @param {string} text */
  add(text) {
    this.addAll([text]);
  }

  /** @param {string[]} texts which are stored at once: a pasted session may have thousands */
  addAll(texts) {
    this.walk = null;
    const all = [...this.entries, ...texts.slice(-LIMIT).filter((text) => text.trim())];
    this.entries = all.filter((text, i) => text !== all[i - 1]).slice(-LIMIT);
    if (this.problem !== NEWER) this.store();
  }

  store() {
    const reason = writeLocal(KEY, JSON.stringify(newest(this.entries)));
    if (reason && this.isStored) this.onUnsaved(reason);
    this.isStored = !reason;
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

/** @returns {{ entries: string[], problem: string }} */
function load() {
  try {
    const stored = JSON.parse(readLocal(KEY) ?? "[]");
    if (isNewer(stored)) return { entries: [], problem: NEWER };
    const entries = stored.filter((/** @type {unknown} */ entry) => typeof entry === "string");
    return { entries, problem: entries.length < stored.length ? DAMAGED : "" };
  } catch {
    return { entries: [], problem: DAMAGED };
  }
}

/** @param {unknown} stored not a list: a newer version of the page may need to store more than the entries */
function isNewer(stored) {
  return typeof stored === "object" && stored !== null && !Array.isArray(stored);
}

/**
 * The newest entries, as many as are stored.
 * @param {string[]} entries
 */
function newest(entries) {
  let room = MAX_STORED;
  const short = entries.filter(({ length }) => length <= MAX_STORED / 2);
  const first = short.findLastIndex(({ length }) => {
    room -= length;
    return room < 0;
  });
  return short.slice(first + 1);
}
