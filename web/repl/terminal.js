/**
 * Text as a terminal shows it: a carriage return goes back to overwrite the line, a backspace one
 * character; colours become classes. Every other escape sequence is left out.
 */

import { h } from "../ui/dom.js";

/** @typedef {{ text: string, className: string }} Run characters of one look */

/** Of what was printed, so much is kept. */
const CHARACTERS = 200_000;
/** What of a line is beyond this cannot be gone back to. */
const LINE = 10_000;
/** A sequence that has not ended by then is none. */
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

/** The attributes that a code switches on, and those that another switches off. */
/** @type {Record<number, string>} */
const ON = { 1: "bold", 2: "dim", 3: "italic", 4: "underline" };
/** @type {Record<number, string[]>} */
const OFF = { 22: ["bold", "dim"], 23: ["italic"], 24: ["underline"] };

export class TerminalText {
  /** @param {HTMLElement} root an empty one */
  constructor(root) {
    this.root = root;
    this.unfinished = "";
    /** @type {Run[]} lines that are over, and not drawn yet */
    this.over = [];
    /** @type {Run[]} the line that can still be overwritten */
    this.line = [];
    this.column = 0;
    /** @type {HTMLElement[]} what shows that line */
    this.drawnLine = [];
    this.drawnCharacters = 0;
    /** @type {Set<string>} */
    this.looks = new Set();
    this.colour = "";
  }

  // Reading ----------------------------------------------------------------------------------------

  /**
   * @param {string} text
   * @param {string} className of all of it, besides what it says itself
   */
  write(text, className) {
    const whole = this.unfinished + text;
    this.unfinished = UNFINISHED.exec(whole.slice(-SEQUENCE))?.[0] ?? "";
    for (const match of whole.slice(0, whole.length - this.unfinished.length).matchAll(TOKEN)) {
      this.take(match, className);
    }
  }

  /**
   * @param {RegExpExecArray} match
   * @param {string} className
   */
  take({ 0: token, groups }, className) {
    if (groups?.text) this.put({ text: token, className: this.lookOf(className) });
    else if (token === "\r") this.column = 0;
    else if (token === "\b") this.column = Math.max(0, this.column - 1);
    else if (groups?.final === "m") this.setLooks(groups.codes);
    else if (groups?.final === "K") this.erase(Number(groups.codes));
  }

  /** @param {Run} run with any number of line ends */
  put({ text, className }) {
    const [first, last] = [text.indexOf("\n"), text.lastIndexOf("\n")];
    if (first >= 0) {
      this.overwrite({ text: text.slice(0, first), className });
      this.finishLine();
      append(this.over, { text: text.slice(first, last + 1), className });
    }
    this.overwrite({ text: text.slice(last + 1), className });
    if (lengthOf(this.line) > LINE) this.finishLine();
  }

  /** @param {Run} run */
  overwrite(run) {
    const end = this.column + run.text.length;
    const after = part(this.line, end);
    this.line = part(this.line, 0, this.column);
    for (const piece of [run, ...after]) append(this.line, piece);
    this.column = end;
  }

  finishLine() {
    for (const run of this.line) append(this.over, run);
    this.line = [];
    this.column = 0;
  }

  /** @param {number} what 0: the rest of the line; 1: what is before it; 2: all of it */
  erase(what) {
    const blank = { text: " ".repeat(what ? this.column : 0), className: "" };
    const after = what === 1 ? part(this.line, this.column) : [];
    this.line = what ? [blank, ...after] : part(this.line, 0, this.column);
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
   * One of 256 colours, or of millions; of these the first 16 alone are shown.
   *
   * @param {38 | 48} code letters, or what is behind them
   * @param {number[]} numbers those of the sequence that follow; taken out
   */
  setColourOfMany(code, numbers) {
    const [form, index] = numbers.splice(0, numbers[0] === 2 ? 4 : 2);
    if (code === 38) this.colour = form === 5 && index < 16 ? `colour-${index % 8}` : "";
  }

  // Drawing ----------------------------------------------------------------------------------------

  draw() {
    for (const node of this.drawnLine) node.remove();
    this.root.append(...this.over.map((run) => this.drawn(run)));
    this.over = [];
    this.forgetOldest();
    this.drawnLine = this.line.map(span);
    this.root.append(...this.drawnLine);
  }

  /** @param {Run} run */
  drawn({ text, className }) {
    const kept = text.slice(-CHARACTERS);
    this.drawnCharacters += kept.length;
    return span({ text: kept, className });
  }

  forgetOldest() {
    while (this.drawnCharacters > CHARACTERS && this.root.childNodes.length > 1) {
      this.drawnCharacters -= this.root.firstChild?.textContent?.length ?? 0;
      this.root.firstChild?.remove();
      this.root.dataset.isCut = "";
    }
  }
}

/** @param {Run} run */
function span({ text, className }) {
  return h("span", { className }, text);
}

/**
 * @param {Run[]} runs
 * @param {Run} run joins the last one, if it looks the same
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
