/** Runs the code of a file and shows each output below its code. */

import { button, h } from "../ui/dom.js";
import { lineOf, numbered } from "./cells.js";
import { outputsOf } from "./notebook.js";
import { storedEntry } from "./stored.js";

/** @typedef {import("../../worker/protocol.js").Outcome} Outcome */
/** @typedef {import("../repl/console.js").Console} Console */
/** @typedef {import("../repl/transcript.js").Entry} Entry */
/** @typedef {import("../repl/transcript.js").Shown} Shown */
/** @typedef {import("../sessions/kept.js").Input} Input */
/** @typedef {import("./cells.js").Cell} Cell */
/** @typedef {import("./code.js").Code} Code */
/** @typedef {import("./code.js").How} How */
/** @typedef {{ from: number, to: number, name: string }} Range code that runs as one input */

/**
 * @param {Code} code
 * @param {How} how
 * @param {number | undefined} at start of the cell to run; by default the cell with the caret
 * @returns {Range[]}
 */
function rangesOf(code, how, at) {
  const { cells, selection } = code;
  const name = (/** @type {Cell} */ cell) =>
    cells.length === 1 ? "the program" : `cell ${cells.findIndex(({ from }) => from === cell.from) + 1}`;
  if (how === "here" && at === undefined && selection) return [{ ...selection, name: "the selection" }];
  const one = at === undefined ? code.cell : cells.find(({ from }) => from === at);
  const meant = how === "all" ? cells : cells.filter(({ from }) => from === one?.from);
  return meant.filter(({ isText }) => !isText).map((cell) => ({ ...cell, name: name(cell) }));
}

/** Of so many outputs in a notebook file the first are shown: each takes longer than the one before. */
const MOST_STORED = 300;

/** The entry of each output. @type {WeakMap<Element, Shown>} */
const entries = new WeakMap();
/** Of each output that a notebook file holds: which one it is. @type {WeakMap<Element, string>} */
const keys = new WeakMap();

/**
 * @typedef {object} Run
 * @property {(words: string) => void} say called with a sentence when the code has ended
 * @property {string} [path] of the file; without it the session does not store the outputs
 */

/**
 * Run a program, a cell or the selection. After a failure, the remaining cells do not run.
 *
 * @param {Code} code
 * @param {Console} repl
 * @param {How} how
 * @param {number | undefined} at start of the cell to run; by default the cell with the caret
 * @param {Run} options
 */
export function run(code, repl, how, at, { say, path }) {
  const chain = {};
  const { text, cell } = code;
  for (const { from, to, name } of rangesOf(code, how, at)) {
    const source = text.slice(from, to).trimEnd();
    if (!source.trim()) continue;
    const entry = repl.transcript.entryOf(source);
    entry.code = code;
    const block = show(code, entry, from, to, name);
    const reason = repl.reasonToWait();
    if (reason) entry.wait(reason);
    if (path !== undefined) repl.keeper?.entered(entry, source, { path, line: lineOf(text, from) });
    void repl.run(numbered(text, from, to), entry, chain).then((outcome) => {
      if (entry.element.childElementCount < 2) entry.note("Done. No output.");
      addClear(code, block, name);
      if (!outcome.isDropped) say(wordsOf(outcome, name));
    });
  }
  if (how === "next") code.moveOn(cell.from);
}

/**
 * @param {Code} code
 * @param {Shown} entry
 * @param {number} from
 * @param {number} to
 * @param {string} name
 */
function show(code, entry, from, to, name) {
  const block = h("div", { className: "cell-output", role: "group", ariaLabel: `Output of ${name}` }, entry.element);
  entries.set(block, entry);
  code.show(block, from, to);
  return block;
}

/**
 * @param {Code} code
 * @param {HTMLElement} block
 * @param {string} name
 */
function addClear(code, block, name) {
  const clear = button("×", "clear-output", () => {
    code.remove([block]);
    code.focus();
  });
  clear.title = "Clear this output";
  clear.setAttribute("aria-label", `Clear the output of ${name}`);
  block.append(clear);
}

/**
 * Show the outputs of an earlier visit: below the same code, or else below the cell at the same line.
 *
 * @param {Code} code
 * @param {Input[]} inputs
 */
export function showAgain(code, inputs) {
  const { text, cells } = code;
  const used = new Set();
  for (const { source, entry, cell, state } of inputs) {
    const line = cell?.line ?? 1;
    const [same] = cells
      .filter((other) => !used.has(other) && text.slice(other.from, other.to).trimEnd() === source)
      .sort((a, b) => Math.abs(a.line - line) - Math.abs(b.line - line));
    used.add(same);
    const found = same?.from ?? text.indexOf(source);
    const { from, to } = cells.findLast((other) => other.line <= line) ?? cells[0];
    const block =
      found < 0 ? show(code, entry, from, to, "a cell") : show(code, entry, found, found + source.length, "a cell");
    if (state !== "running" && state !== "waiting") addClear(code, block, "a cell");
  }
}

/**
 * Show the outputs that a notebook file holds, below their cells, instead of those shown until now; but for cells that
 * run.
 *
 * @param {Code} code that has the notebook's text
 * @param {string} json of the notebook
 * @param {Console} repl
 * @param {string[]} [cleared] keys of outputs that are not to be shown
 */
export function showStored(code, json, repl, cleared = []) {
  const { text, cells } = code;
  code.remove([.../** @type {NodeListOf<HTMLElement>} */ (code.element.querySelectorAll(":scope > .from-file"))]);
  /** @type {Map<string, number>} */
  const seen = new Map();
  const hidden = new Set(cleared);
  let room = MOST_STORED;
  let left = 0;
  /** @type {HTMLElement | undefined} */
  let last;
  for (const { from, to, outputs } of outputsOf(json)) {
    const source = text.slice(from, to);
    const nth = seen.get(source) ?? 0;
    seen.set(source, nth + 1);
    const key = `${nth} ${source}`; // a notebook may contain the same code twice
    if (hidden.has(key) || code.isRunning(from, to)) continue;
    const some = outputs.slice(0, room);
    room -= some.length;
    left += outputs.length - some.length;
    const entry = some.length ? readable(source, some, repl) : null;
    if (!entry) continue;
    const name = `cell ${cells.findIndex((cell) => cell.from === from) + 1}`;
    const block = show(code, entry, from, to, `${name}, from the file`);
    block.classList.add("from-file");
    block.prepend(h("p", { className: "note" }, "From the file"));
    addClear(code, block, name);
    keys.set(block, key);
    last = block;
  }
  if (left) last?.append(h("p", { className: "note" }, `${left.toLocaleString("en")} more outputs are not shown.`));
}

/**
 * @param {string} source of the cell
 * @param {unknown[]} outputs
 * @param {Console} repl
 * @returns {Entry | null} null if they contain no output
 */
function readable(source, outputs, repl) {
  try {
    return storedEntry(source, outputs, repl);
  } catch {
    const entry = repl.transcript.entryOf(source);
    entry.element.className = "entry done";
    entry.note("The output of this cell could not be read.");
    return entry;
  }
}

/**
 * Remove outputs from the session.
 *
 * @param {HTMLElement[]} blocks
 * @param {Console} repl
 * @returns {string[]} the keys of those that are from the file
 */
export function drop(blocks, repl) {
  for (const block of blocks) {
    const entry = entries.get(block);
    if (entry) repl.keeper?.dropped(entry);
  }
  return blocks.flatMap((block) => keys.get(block) ?? []);
}

/**
 * @param {Outcome} outcome
 * @param {string} name
 */
function wordsOf({ ok, interrupted }, name) {
  const end = ok ? "finished" : interrupted ? "was interrupted" : "failed";
  return `${name[0].toUpperCase()}${name.slice(1)} ${end}.`;
}
