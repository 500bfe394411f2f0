/** Runs code of a file; what it shows comes to stand below it. */

import { button, h } from "../ui/dom.js";
import { numbered } from "./cells.js";

/** @typedef {import("../../worker/protocol.js").Outcome} Outcome */
/** @typedef {import("../repl/console.js").Console} Console */
/** @typedef {import("./cells.js").Cell} Cell */
/** @typedef {import("./code.js").Code} Code */
/** @typedef {import("./code.js").How} How */
/** @typedef {{ from: number, to: number, name: string }} Range code that runs as one input */

/**
 * @param {Code} code
 * @param {How} how
 * @param {number | undefined} at in the cell that is meant, where that is not the one with the caret
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

/**
 * Run a program, a cell or what is selected. After a failure, the cells behind it do not run.
 *
 * @param {Code} code
 * @param {Console} repl
 * @param {How} how
 * @param {number | undefined} at in the cell that is meant, where that is not the one with the caret
 * @param {(words: string) => void} say hears how it ended
 */
export function run(code, repl, how, at, say) {
  const chain = {};
  const { text, cell } = code;
  for (const { from, to, name } of rangesOf(code, how, at)) {
    const source = text.slice(from, to).trimEnd();
    if (!source.trim()) continue;
    const entry = repl.transcript.entryOf(source);
    const block = h("div", { className: "cell-output", role: "group", ariaLabel: `Output of ${name}` }, entry.element);
    const reason = repl.reasonToWait();
    if (reason) entry.wait(reason);
    code.show(block, from, to);
    void repl.run(numbered(text, from, to), entry, chain).then((outcome) => {
      const clear = button("×", "clear-output", () => {
        code.remove(block);
        code.focus();
      });
      clear.title = "Clear this output";
      clear.setAttribute("aria-label", `Clear the output of ${name}`);
      if (entry.element.childElementCount < 2) entry.note("Done. No output.");
      block.append(clear);
      if (!outcome.isDropped) say(wordsOf(outcome, name));
    });
  }
  if (how === "next") code.moveOn(cell.from);
}

/**
 * @param {Outcome} outcome
 * @param {string} name
 */
function wordsOf({ ok, interrupted }, name) {
  const end = ok ? "finished" : interrupted ? "was interrupted" : "failed";
  return `${name[0].toUpperCase()}${name.slice(1)} ${end}.`;
}
