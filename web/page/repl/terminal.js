/**
 * Text as a terminal shows it: a carriage return moves to the start of the line to overwrite it, a backspace moves back
 * one character, and the cursor can move among the last lines (as for several progress bars). Colours become classes.
 * All other escape sequences are dropped.
 *
 * Only changed text is updated in the page, because a screen reader reads whatever is inserted, and would read redrawn
 * lines again.
 */

import { laidOut } from "../ui/bounds.js";
import { h } from "../ui/dom.js";

/** @typedef {{ text: string, className: string }} Run characters with the same style */
/** @typedef {{ element: HTMLElement, text: string }} Drawn a run as drawn in the page */
/**
 * @typedef {object} Block lines in the page, drawn together
 * @property {Row[]} rows
 * @property {Drawn[]} drawn not empty
 *
 * @typedef {object} Row a line
 * @property {Run[]} runs
 * @property {Run | null} end the line feed after it, if there is one
 * @property {Block | null} block the block that contains it
 * @property {boolean} isChanged changed since it was drawn
 */

/** Largest amount of printed text that is kept. */
const CHARACTERS = 200_000;
/** The end of a text that is read: long enough for that amount, unless most of it is escape sequences. */
const MAX_READ = 2 * CHARACTERS;
/** A change of style costs the page as much as this many characters. */
const STYLE = 16;
/** Number of differently styled runs that are kept. */
const MAX_RUNS = CHARACTERS / STYLE;
/** The cursor cannot move back to a line with more runs: each overwriting character copies them. */
const MAX_RUNS_OF_LINE = 200;
/** The cursor cannot move back to columns beyond this one. */
const LINE = 10_000;
/** Number of lines that the cursor can move back to. */
const ROWS = 32;
/** An escape sequence that has not ended by this length is invalid. */
const SEQUENCE = 1000;

const ESC = "\u001b";
const BELL = "\u0007";
const CONTROLS = "\\u0000-\\u0008\\u000b-\\u001f\\u007f";
const TOKEN = new RegExp(
  [
    `${ESC}\\[(?<codes>[0-?]*)[ -/]*(?<final>[@-~])`,
    `${ESC}\\][^${BELL}${ESC}]*(?:${BELL}|${ESC}\\\\)`,
    `${ESC}[ -/]*[0-Z\\\\^-~]`,
    `(?<text>[^${CONTROLS}]+)`,
    `[${CONTROLS}]`,
  ].join("|"),
  "g",
);
const UNFINISHED = new RegExp(`${ESC}(?:\\[[0-?]*[ -/]*|\\][^${BELL}${ESC}]*${ESC}?|[ -/]*)$`);

/** The attributes that each code turns on, and those that each code turns off. */
/** @type {Record<number, string>} */
const ON = { 1: "bold", 2: "dim", 3: "italic", 4: "underline" };
/** @type {Record<number, string[]>} */
const OFF = { 22: ["bold", "dim"], 23: ["italic"], 24: ["underline"] };

export class TerminalText {
  /** @param {HTMLElement} root an empty one */
  constructor(root) {
    this.root = root;
    this.unfinished = "";
    /** @type {Run[]} finished lines that are not drawn yet */
    this.over = [];
    /** The lines that can still be overwritten. @type {Row[]} */
    this.rows = [emptyRow()];
    /** The position of the cursor among them. */
    this.row = 0;
    this.column = 0;
    /** Blocks of finished lines in the page. */
    this.drawnCharacters = 0;
    /** Number of lines that were removed. */
    this.lost = 0;
    /** @type {Set<string>} */
    this.looks = new Set();
    this.colour = "";
  }

  // Reading ----------------------------------------------------------------------------------------

  /**
   * @param {string} text
   * @param {string} className for all of it, besides its own colours
   */
  write(text, className) {
    const whole = this.unfinished + this.readable(text);
    this.unfinished = UNFINISHED.exec(whole.slice(-SEQUENCE))?.[0] ?? "";
    for (const match of whole.slice(0, whole.length - this.unfinished.length).matchAll(TOKEN)) {
      this.take(match, className);
    }
  }

  /**
   * @param {string} text
   * @returns {string} its end, if it is too long to read: then the end replaces all that was written before
   */
  readable(text) {
    const first = text.length - MAX_READ;
    if (first <= 0) return text;
    const at = text.indexOf("\n", first) + 1 || first;
    this.letGo(this.rows.length);
    for (const run of this.over.splice(0)) this.lose(run.text);
    this.lose(this.root.textContent ?? "");
    this.root.replaceChildren();
    this.drawnCharacters = 0;
    this.unfinished = "";
    this.lose(text.slice(0, at));
    return text.slice(at);
  }

  /**
   * @param {RegExpExecArray} match
   * @param {string} className
   */
  take({ 0: token, groups }, className) {
    if (groups?.text) this.put({ text: token, className: this.lookOf(className) });
    else if (token === "\r") this.column = 0;
    else if (token === "\b") this.column = Math.max(0, this.column - 1);
    else if (token.length > SEQUENCE) return;
    else if (groups?.final === "m") this.setLooks(groups.codes);
    else if (groups?.final) this.control(groups.final, Number.parseInt(groups.codes, 10));
  }

  /**
   * @param {string} final final character of a sequence that moves the cursor or erases
   * @param {number} number NaN if none is given
   */
  control(final, number) {
    const count = Math.max(1, number || 1);
    if (final === "A") this.row = Math.max(0, this.row - count);
    else if (final === "B") this.row = Math.min(this.rows.length - 1, this.row + count);
    else if (final === "C") this.column = Math.min(LINE, this.column + count);
    else if (final === "D") this.column = Math.max(0, this.column - count);
    else if (final === "G") this.column = Math.min(LINE, count - 1);
    else if (final === "K") this.eraseInLine(number || 0);
    else if (final === "J") this.eraseBelow();
  }

  /** @param {Run} run with any number of line ends */
  put({ text, className }) {
    const lines = this.skipped({ text, className }).split("\n");
    for (const [i, line] of lines.entries()) {
      if (line) this.overwrite({ text: line, className });
      if (i < lines.length - 1) this.lineFeed(className);
    }
    if (lengthOf(this.line) > LINE || this.line.length > MAX_RUNS_OF_LINE) this.letGo(this.rows.length);
  }

  /**
   * Handle without parsing those lines of a long text that can no longer be overwritten.
   *
   * @param {Run} run
   * @returns {string} the rest
   */
  skipped({ text, className }) {
    if (text.length < LINE || this.row < this.rows.length - 1) return text;
    let at = text.length;
    for (let i = 0; i <= ROWS && at >= 0; i++) at = text.lastIndexOf("\n", at - 1);
    const first = text.indexOf("\n");
    if (at <= first) return text;
    this.overwrite({ text: text.slice(0, first), className });
    this.letGo(this.rows.length);
    append(this.over, { text: text.slice(first, at + 1), className });
    return text.slice(at + 1);
  }

  get line() {
    return this.rows[this.row].runs;
  }

  set line(runs) {
    this.rows[this.row].runs = runs;
    this.rows[this.row].isChanged = true;
  }

  /** @param {Run} run */
  overwrite(run) {
    const end = this.column + run.text.length;
    const gap = this.column - lengthOf(this.line);
    if (gap === 0) {
      append(this.line, run);
      this.rows[this.row].isChanged = true;
      this.column = end;
      return;
    }
    const before = part(this.line, 0, this.column);
    const after = part(this.line, end);
    this.line = [];
    const blank = { text: " ".repeat(Math.max(0, gap)), className: "" };
    for (const piece of [...before, blank, run, ...after]) append(this.line, piece);
    this.column = end;
  }

  /** @param {string} className of the line end */
  lineFeed(className) {
    const line = this.rows[this.row];
    if (!line.end) {
      line.end = { text: "\n", className };
      line.isChanged = true;
    }
    this.row += 1;
    this.column = 0;
    if (this.row === this.rows.length) this.rows.push(emptyRow());
    if (this.rows.length > ROWS) this.letGo(1);
  }

  /**
   * Finish the first lines: they can no longer be overwritten.
   *
   * @param {number} count
   */
  letGo(count) {
    for (const row of this.rows.splice(0, count)) {
      if (row.block) {
        if (row.isChanged) this.redraw(row.block);
        this.drawnCharacters += lengthOf(runsOf([row]));
      } else {
        for (const run of runsOf([row])) append(this.over, run);
      }
    }
    this.row = Math.max(0, this.row - count);
    if (!this.rows.length) {
      this.rows = [emptyRow()];
      this.column = 0;
    }
  }

  /** @param {number} what 0: the rest of the line; 1: the part before the cursor; 2: all of it */
  eraseInLine(what) {
    const blank = { text: " ".repeat(what ? this.column : 0), className: "" };
    const rest = what === 1 ? part(this.line, this.column) : [];
    this.line = [...(what ? [] : part(this.line, 0, this.column)), blank, ...rest];
  }

  /** The rest of the line, and the lines below. */
  eraseBelow() {
    this.eraseInLine(0);
    for (const row of this.rows.splice(this.row + 1)) withdraw(row);
    this.rows[this.row].end = null;
  }

  /** At the end of the output, erased text (such as a removed progress bar) takes no space. */
  end() {
    while (this.rows.length && isBlank(this.rows[this.rows.length - 1])) withdraw(/** @type {Row} */ (this.rows.pop()));
    if (!this.rows.length) this.rows.push(emptyRow());
    this.row = this.rows.length - 1;
  }

  /** @returns {Run[]} the last line, which is removed here to be shown elsewhere */
  takeLine() {
    const line = /** @type {Row} */ (this.rows.pop());
    withdraw(line);
    this.rows.push(emptyRow());
    this.column = 0;
    return line.runs;
  }

  // Looks ------------------------------------------------------------------------------------------

  /** @param {string} className */
  lookOf(className) {
    return [className, ...this.looks, this.colour].filter(Boolean).join(" ");
  }

  /** @param {string} codes of an SGR sequence: numbers between semicolons */
  setLooks(codes) {
    const numbers = codes.split(/[;:]/).map(Number);
    while (numbers.length) {
      const code = numbers.shift() ?? 0;
      if (code === 38 || code === 48) this.setColourOfMany(code, numbers);
      else this.setLook(code);
    }
  }

  /** @param {number} code */
  setLook(code) {
    if (code === 0) this.looks.clear();
    if (code === 0 || code === 39) this.colour = "";
    if (ON[code]) this.looks.add(ON[code]);
    for (const look of OFF[code] ?? []) this.looks.delete(look);
    const colour = code >= 90 ? code - 90 : code - 30;
    if (colour >= 0 && colour < 8) this.colour = `colour-${colour}`;
  }

  /**
   * A colour from the 256-colour palette or a 24-bit colour; only the first 16 palette colours are shown.
   *
   * @param {38 | 48} code text colour or background
   * @param {number[]} numbers the remaining numbers of the sequence; those used are removed
   */
  setColourOfMany(code, numbers) {
    const [form, index] = numbers.splice(0, numbers[0] === 2 ? 4 : 2);
    if (code === 38) this.colour = form === 5 && index < 16 ? `colour-${index % 8}` : "";
  }

  // Drawing ----------------------------------------------------------------------------------------

  draw() {
    for (const run of this.over.splice(0, this.over.length - MAX_RUNS)) this.lose(run.text);
    // Rows not drawn yet are the last ones; finished lines not drawn yet come before them.
    this.root.append(...this.over.map((run) => this.drawn(run)));
    this.over = [];
    this.forgetOldest();
    for (const { block, isChanged } of this.rows) if (block && isChanged) this.redraw(block);
    const rows = this.rows.filter(({ block }) => !block);
    this.place(rows.slice(0, -1), null);
    this.place(rows.slice(-1), null); // separately, because it is the one that changes
  }

  /** @param {Block} block some of whose lines changed or were removed */
  redraw({ rows, drawn }) {
    const below = drawn[drawn.length - 1].element.nextSibling;
    if (rows.length === 1) {
      this.place(rows, below, drawn);
      return;
    }
    erase(drawn);
    for (const row of rows) this.place([row], below);
  }

  /**
   * Put lines into the page.
   *
   * @param {Row[]} rows
   * @param {Node | null} below the node after them
   * @param {Drawn[]} [drawn] their existing elements
   */
  place(rows, below, drawn = []) {
    const runs = runsOf(rows);
    const changed = drawn.findIndex(({ element }, i) => element.className !== runs[i]?.className);
    if (changed >= 0) erase(drawn.splice(changed));
    for (const [i, run] of runs.entries()) {
      if (drawn[i]) {
        rewrite(drawn[i], run.text);
      } else {
        const element = span(run);
        this.root.insertBefore(element, below);
        drawn.push({ element, text: run.text });
      }
    }
    const block = drawn.length ? { rows, drawn } : null;
    for (const row of rows) Object.assign(row, { block, isChanged: false });
  }

  /** @param {Run} run */
  drawn({ text, className }) {
    const first = Math.max(0, text.length - CHARACTERS);
    const kept = text.slice((first && text.indexOf("\n", first - 1) + 1) || first);
    this.drawnCharacters += kept.length;
    this.lose(text.slice(0, text.length - kept.length));
    return span({ text: kept, className });
  }

  /** @param {string} text */
  lose(text) {
    if (!text) return;
    for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) this.lost++;
    markCut(this.root, this.lost);
  }

  forgetOldest() {
    const kept = this.rows.find(({ block }) => block)?.block?.drawn[0].element ?? this.root.lastChild;
    let runs = this.root.childElementCount;
    while (this.drawnCharacters + STYLE * runs > CHARACTERS && this.root.firstChild !== kept) {
      runs--;
      const text = this.root.firstChild?.textContent ?? "";
      this.drawnCharacters -= text.length;
      this.root.firstChild?.remove();
      this.lose(text);
    }
  }
}

/**
 * Say above printed text how much of it was removed.
 *
 * @param {HTMLElement} root
 * @param {number} [lines] 0 if only a part of a line was removed; undefined if it is unknown
 */
export function markCut(root, lines) {
  const count = lines ? `${lines.toLocaleString("en")} earlier line${lines === 1 ? "" : "s"}` : "earlier output";
  root.dataset.isCut = `${count} not kept`;
  if (lines !== undefined) root.dataset.lost = String(lines);
}

/** @returns {Row} */
function emptyRow() {
  return { runs: [], end: null, block: null, isChanged: true };
}

/**
 * @param {Row[]} rows
 * @returns {Run[]} the visible runs
 */
function runsOf(rows) {
  /** @type {Run[]} */
  const all = [];
  for (const { runs, end } of rows) {
    for (const run of runs) append(all, run);
    if (end) append(all, end);
  }
  return all;
}

/** @param {Row} row to be removed from the page */
function withdraw(row) {
  const { block } = row;
  if (!block) return;
  block.rows = block.rows.filter((other) => other !== row);
  if (!block.rows.length) erase(block.drawn);
  for (const other of block.rows) other.isChanged = true;
}

/** @param {Drawn[]} drawn */
function erase(drawn) {
  for (const { element } of drawn) element.remove();
}

/**
 * @param {Drawn} drawn
 * @param {string} text the new text; an unchanged part is not touched
 */
function rewrite(drawn, text) {
  const nodes = laidOut(text);
  if (nodes.length === 1 && text.startsWith(drawn.text)) {
    drawn.element.append(...[text.slice(drawn.text.length)].filter(Boolean));
  } else drawn.element.replaceChildren(...nodes);
  drawn.text = text;
}

/** @param {Row} row that was erased, or not begun */
function isBlank({ runs, end }) {
  return (runs.length > 0 || !end) && !runs.some(({ text }) => text.trim());
}

/** @param {Run} run */
function span({ text, className }) {
  return h("span", { className }, ...laidOut(text));
}

/**
 * @param {Run[]} runs
 * @param {Run} run merged into the last run if it has the same style
 */
function append(runs, run) {
  const last = runs.at(-1);
  if (last?.className === run.className) runs[runs.length - 1] = { ...last, text: last.text + run.text };
  else if (run.text) runs.push(run);
}

/** @param {Run[]} runs */
function lengthOf(runs) {
  return runs.reduce((sum, { text }) => sum + text.length, 0);
}

/**
 * The characters from `start` to before `end`.
 *
 * @param {Run[]} runs
 * @param {number} start
 * @param {number} [end]
 * @returns {Run[]}
 */
function part(runs, start, end = Number.POSITIVE_INFINITY) {
  let at = 0;
  return runs.flatMap(({ text, className }) => {
    const kept = text.slice(Math.max(0, start - at), Math.max(0, end - at));
    at += text.length;
    return kept ? [{ text: kept, className }] : [];
  });
}
