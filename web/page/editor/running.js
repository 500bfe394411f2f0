/** Runs the code of a file and shows each output below its code. */

import { cellsOf, writtenOutputs } from "../repl/export.js";
import { notShown } from "../ui/bounds.js";
import { button, h, oncePerFrame } from "../ui/dom.js";
import { endOfCode, lineOf, numbered } from "./cells.js";
import { placesOf, unescaped } from "./notebook.js";
import { drawStored, hasOutput } from "./stored.js";

/** @typedef {import("../../worker/protocol.js").Outcome} Outcome */
/** @typedef {import("../repl/console.js").Console} Console */
/** @typedef {import("../repl/transcript.js").Entry} Entry */
/** @typedef {import("../repl/transcript.js").Shown} Shown */
/** @typedef {import("../sessions/kept.js").Input} Input */
/** @typedef {import("./cells.js").Cell} Cell */
/** @typedef {import("./code.js").Code} Code */
/** @typedef {import("./code.js").How} How */
/** @typedef {{ from: number, to: number, name: string, isPart: boolean }} Range code that runs as one input */

/**
 * @param {Code} code
 * @param {How} how
 * @param {number | undefined} at start of the cell to run; by default the cell with the caret
 * @returns {Range[]}
 */
function rangesOf(code, how, at) {
  const { cells, selection } = code;
  if (how === "here" && at === undefined && selection) return [{ ...selection, name: "the selection", isPart: true }];
  const one = at === undefined ? code.cell : cells.find(({ from }) => from === at);
  const meant = how === "all" ? cells : cells.filter(({ from }) => from === one?.from);
  return meant.filter(({ isText }) => !isText).map((cell) => ({ ...cell, name: nameOf(cell, cells), isPart: false }));
}

/**
 * @param {Cell} cell
 * @param {Cell[]} cells of its program
 * @returns {string} such as "cell 2": as in notebooks, cells of text are not counted
 */
export function nameOf(cell, cells) {
  if (cells.length === 1) return "the program";
  return `cell ${cells.filter(({ isText, from }) => !isText && from <= cell.from).length}`;
}

/** Outputs of a notebook file that are shown. */
const MAX_STORED = 2000;
/** Time for drawing them in each frame. */
const DRAWING_MS = 12;

/**
 * @typedef {object} Output
 * @property {Code} code
 * @property {Shown} entry shown by it
 * @property {boolean} isPart of a selection, which may be a part of a cell
 * @property {import("./notebook.js").NotebookCell} [owner] its cell in the notebook
 */

/** The outputs, by their elements. @type {WeakMap<Element, Output>} */
const outputs = new WeakMap();

/**
 * @typedef {object} Run
 * @property {(words: string, failed?: HTMLElement) => void} say called with a sentence when the code has ended; failed:
 *   the output, if that shows an error
 * @property {string} [path] of the file; without it the session does not store the outputs
 * @property {string} [title] of the program, if it is not a file
 * @property {(block: Element) => void} [onEnd] called with an output that is complete
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
export function run(code, repl, how, at, { say, path, title, onEnd }) {
  const chain = {};
  const { text, cell } = code;
  for (const range of rangesOf(code, how, at)) {
    const { from, to, name } = range;
    const source = sourceIn(code, from, to);
    if (!source.trim()) continue;
    const entry = repl.transcript.entryOf(source);
    const { replaced } = show(code, entry, range);
    if (path !== undefined) repl.keeper?.entered(entry, source, { path, line: lineOf(text, from) }, replaced);
    const options = { chain, name: title ?? (name === "the program" ? path : `${name} of ${path}`) };
    void repl.run(numbered(source, lineOf(text, from)), entry, options).then((outcome) => {
      const block = entry.element.parentElement; // of this editor, or of one that opened the file again
      if (!block) return; // another run of the input took its place
      addClear(block, name);
      if (outcome.isDropped) {
        disown(block); // the cell keeps its outputs
        repl.keeper?.dropped(entry);
        return;
      }
      say(wordsOf(outcome, name), outcome.ok || outcome.interrupted ? undefined : block);
      onEnd?.(block);
    });
  }
  if (how === "next") code.moveOn(cell.from);
}

/**
 * @param {Code} code
 * @param {number} from
 * @param {number} to
 * @returns {string} the Python in this part of the text
 */
function sourceIn({ text, notebook }, from, to) {
  const source = text.slice(from, to).trimEnd();
  return notebook ? unescaped(source) : source;
}

/**
 * @param {Code} code
 * @param {Shown} entry
 * @param {Range} range
 * @param {import("./code.js").Reason} [reason] why earlier outputs of the code are removed
 * @returns {{ block: HTMLElement, replaced: Shown[] }} replaced: the entries of the code that were shown so far
 */
function show(code, entry, { from, to, name, isPart }, reason = "replaced") {
  const block = blockOf(entry.element, name);
  if ("code" in entry) entry.code = code;
  const owner = isPart ? undefined : code.notebook?.cellOf(code.text, from, to);
  outputs.set(block, { code, entry, isPart, owner });
  const gone = code.show(block, { from, to, isPart: isPart || reason === "restored" }, reason);
  return { block, replaced: gone.flatMap((other) => outputs.get(other)?.entry ?? []) };
}

/**
 * @param {HTMLElement} shown
 * @param {string} name
 */
function blockOf(shown, name) {
  return h("div", { className: "cell-output", role: "group", ariaLabel: `Output of ${name}` }, shown);
}

/** @param {Element | null} block */
export function outputOf(block) {
  return block ? outputs.get(block) : undefined;
}

/**
 * The output belongs to no notebook cell.
 *
 * @param {Element} block
 */
export function disown(block) {
  const output = outputs.get(block);
  if (output) output.owner = undefined;
}

/**
 * @param {Element} block
 * @param {string} source
 * @returns {boolean} whether the cell above this output has the code `source`
 */
export function isAfter(block, source) {
  const code = outputs.get(block)?.code;
  const cell = code?.cellOf(block);
  return cell !== undefined && code !== undefined && sourceIn(code, cell.from, cell.to) === source;
}

/**
 * Store an output in its notebook cell.
 *
 * @param {Element} block
 * @param {import("./notebook.js").Notebook} notebook
 * @param {Shown} [entry] shown by the output
 * @returns {Promise<boolean>} false if it belongs to none, or is of the file itself
 */
export async function hold(block, notebook, entry = outputs.get(block)?.entry) {
  const output = outputs.get(block);
  const cell = output?.owner;
  if (!cell || !entry || entry instanceof StoredEntry || !notebook.cells.includes(cell)) return false;
  output.entry = entry;
  const count = notebook.nextCount;
  cell.execution_count = count;
  const shown = cellsOf([entry.element]).flatMap((input) => input.outputs);
  const written = await writtenOutputs(shown, count);
  if (cell.execution_count === count) notebook.hold(cell, written, count); // otherwise it has run again
  return true;
}

/**
 * @param {HTMLElement} block
 * @param {string} name
 */
function addClear(block, name) {
  const clear = button("×", "clear-output", () => {
    const code = outputs.get(block)?.code;
    code?.remove([block]);
    code?.focus();
  });
  clear.title = "Clear this output";
  clear.setAttribute("aria-label", `Clear the output of ${name}`);
  block.append(clear);
}

/**
 * Show the outputs of an earlier visit: below the same code, or else below the cell at the same line. An input without
 * outputs also shows those that the file holds for its cell.
 *
 * @param {Code} code
 * @param {Input[]} inputs
 */
export function showAgain(code, inputs) {
  const { cells } = code;
  const used = new Set();
  for (const { source, entry, cell, state, isTrimmed } of inputs) {
    const line = cell?.line ?? 1;
    const [same] = cells
      .filter((other) => !used.has(other) && sourceIn(code, other.from, other.to) === source)
      .sort((a, b) => Math.abs(a.line - line) - Math.abs(b.line - line));
    used.add(same);
    const isUnfinished = state === "running" || state === "waiting";
    const range = same ? { ...same, name: "a cell", isPart: false } : partOf(code, source, line);
    const { block, replaced } = show(code, entry, range, "restored");
    const isLive = entry.element.matches(".running, .waiting"); // its file was opened again
    if ((isUnfinished && !isLive) || isTrimmed) takeStored(entry, replaced, isTrimmed);
    if (!isUnfinished) addClear(block, "a cell");
  }
}

/**
 * @param {Shown} entry of an input without outputs
 * @param {Shown[]} replaced
 * @param {boolean} isTrimmed instead of its note that they were removed
 */
function takeStored({ element }, replaced, isTrimmed) {
  const stored = replaced.filter((other) => other.element.parentElement?.matches(".from-file"));
  if (!stored.length) return;
  for (const other of stored) other.draw(); // it may not have been its turn
  if (isTrimmed) element.querySelector(":scope > .note")?.remove();
  const outputs = stored.flatMap((other) => [...other.element.children].filter((child) => !child.matches(".source")));
  element.append(h("p", { className: "note" }, "From the file"), ...outputs);
}

/**
 * @param {Code} code
 * @param {string} source that is not a cell now
 * @param {number} line where it was
 * @returns {Range}
 */
function partOf({ text, cells }, source, line) {
  let found = text.indexOf(source);
  const distance = (/** @type {number} */ at) => Math.abs(lineOf(text, at) - line);
  for (let at = found; at >= 0; at = text.indexOf(source, at + 1)) if (distance(at) < distance(found)) found = at;
  const { from, to } = cells.findLast((other) => other.line <= line) ?? cells[0];
  const place = found < 0 ? { from: endOfCode(text, from, to), to } : { from: found, to: found + source.length };
  return { ...place, name: "a cell", isPart: true };
}

/**
 * Show the outputs that a notebook file holds, below their cells, replacing those shown so far, except for running
 * cells.
 *
 * @param {Code} code of a notebook
 * @param {Console} repl
 */
export function showStored(code, repl) {
  const { text, notebook } = code;
  code.remove();
  let room = MAX_STORED;
  let left = 0;
  let count = 0;
  /** @type {{ element: HTMLElement, from: number, to: number }[]} */
  const shown = [];
  const places = placesOf(text);
  const isRunning = code.running.size > 0;
  for (const [i, { from, to, isText }] of places.entries()) {
    const owner = notebook?.cells[i];
    if (!isText) count++;
    const running = isRunning ? code.runningIn(from, to) : [];
    for (const block of running) {
      const output = outputOf(block);
      if (output && !output.isPart) output.owner = owner;
    }
    if (owner?.cell_type !== "code" || running.length || !Array.isArray(owner.outputs)) continue;
    const all = owner.outputs.filter(hasOutput);
    const some = all.slice(0, room);
    room -= some.length;
    left += all.length - some.length;
    if (!some.length) continue;
    const entry = new StoredEntry(text.slice(from, to).trimEnd(), some, repl);
    const name = places.length === 1 ? "the program" : `cell ${count}`; // as `nameOf` says
    const element = blockOf(entry.element, `${name}, from the file`);
    element.classList.add("from-file");
    element.prepend(h("p", { className: "note" }, "From the file"));
    addClear(element, name);
    outputs.set(element, { code, entry, isPart: false, owner });
    shown.push({ element, from, to });
    toDraw.push(entry);
  }
  if (left) shown.at(-1)?.element.append(h("p", { className: "note" }, notShown(left, "outputs")));
  code.showAll(shown);
  drawSome();
}

/** Outputs of a cell in a notebook file, drawn when it is their turn. */
class StoredEntry {
  /**
   * @param {string} source of the cell
   * @param {unknown[]} stored
   * @param {Console} repl
   */
  constructor(source, stored, repl) {
    /** Replaced when it is drawn. */
    this.element = h("article", { className: "entry done" });
    this.source = source;
    this.stored = stored;
    this.repl = repl;
  }

  draw() {
    const { source, stored, repl } = this;
    this.stored = [];
    if (!stored.length) return;
    const entry = repl.transcript.entryOf(source);
    this.element.replaceWith(entry.element);
    this.element = entry.element;
    try {
      drawStored(entry, stored, repl);
    } catch {
      entry.element.className = "entry done";
      entry.note("The output of this cell could not be read.");
    }
  }
}

/** In the order of the text. @type {StoredEntry[]} */
const toDraw = [];

/** Draw the next outputs; the first ones at once, the others in later frames. */
function drawSome() {
  const end = performance.now() + DRAWING_MS;
  while (toDraw.length && performance.now() < end) {
    const next = toDraw.shift();
    if (next?.element.isConnected) next.draw();
  }
  if (toDraw.length) drawSomeSoon();
}

const drawSomeSoon = oncePerFrame(drawSome);

/**
 * Remove outputs from the session.
 *
 * @param {HTMLElement[]} blocks
 * @param {Console} repl
 */
export function drop(blocks, repl) {
  for (const block of blocks) {
    const entry = outputs.get(block)?.entry;
    if (entry) repl.keeper?.dropped(entry);
  }
}

/**
 * @param {Outcome} outcome
 * @param {string} name
 */
function wordsOf({ ok, interrupted }, name) {
  const end = ok ? "finished" : interrupted ? "was interrupted" : "failed";
  return `${name[0].toUpperCase()}${name.slice(1)} ${end}.`;
}
