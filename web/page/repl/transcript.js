/** What stands above the prompt: inputs, what they printed and displayed, results, errors. No HTML but what display/ makes. */

import { copyButton } from "../ui/copying.js";
import { focusableWhileItScrolls, h, oncePerFrame } from "../ui/dom.js";
import { highlightedLines } from "../ui/highlight.js";
import { AnswerField } from "./answer.js";
import { cellsOf, cellsOfLeaving } from "./export.js";
import { drawFailure, lineAtFault } from "./failure.js";
import { RovingFocus } from "./roving.js";
import { TerminalText } from "./terminal.js";

/** @typedef {import("../../worker/protocol.js").Outcome} Outcome */
/** @typedef {import("../../worker/protocol.js").StreamName} StreamName */
/** @typedef {{ element: HTMLElement, draw: () => void }} Shown an entry, or what no input has shown */

const ENTRIES = 300;
const SHOWN_CHARACTERS = 100_000;

export class Transcript {
  /**
   * @param {HTMLElement} root
   * @param {HTMLElement} screen what scrolls
   */
  constructor(root, screen) {
    this.root = root;
    this.screen = screen;
    this.focus = new RovingFocus(root);
    /** @type {Printed | null} the last of what no input printed */
    this.stray = null;
    this.drawStray = () => {};
    /** What is shown no more, and yet is of the session. @type {import("./export.js").Cell[]} */
    this.gone = [];
    /** Is told of what no input has shown, and of more of it. */
    this.onStray = (/** @type {Shown} */ _shown) => {};
    /** Is told of what was cleared, and of what was brought back. */
    this.onCleared = (/** @type {Element[]} */ _elements, /** @type {boolean} */ _isCleared) => {};
  }

  /** @param {string} source */
  add(source) {
    const entry = this.entryOf(source);
    this.append(entry.element);
    this.focus.add(entry.element);
    this.scrollToEnd();
    return entry;
  }

  /**
   * @param {string} source
   * @returns {Entry} that stands nowhere yet
   */
  entryOf(source) {
    return new Entry(source, this);
  }

  /**
   * Have entries of an earlier visit stand above what is here.
   *
   * @param {Shown[]} hidden that are of the session, and not shown
   * @param {Shown[]} shown
   * @param {Node} note says what they are
   */
  restore(hidden, shown, note) {
    const kept = shown.slice(-ENTRIES).map(({ element }) => element);
    const unseen = [...hidden, ...shown.slice(0, -ENTRIES)].map(({ element }) => element);
    this.gone.unshift(...cellsOfLeaving(unseen));
    this.keepingEnd(() => this.root.prepend(...kept, note));
    for (const element of kept) this.focus.add(element);
    this.scrollToEnd();
  }

  /** Nothing of it is of the session any more. */
  empty() {
    this.root.replaceChildren();
    this.gone = [];
    this.stray = null;
  }

  /** @param {string} text a line of ours, not of Python */
  note(text) {
    this.append(h("p", { className: "note" }, text));
  }

  /**
   * What is printed between the inputs, by tasks that outlive theirs.
   *
   * @param {string} text
   * @param {StreamName} stream
   */
  printStray(text, stream) {
    if (!this.stray || this.root.lastElementChild !== this.stray.element) {
      const stray = new Printed();
      this.stray = stray;
      this.drawStray = oncePerFrame(() => this.keepingEnd(() => stray.draw()));
      this.append(stray.element);
    }
    this.stray.terminal.write(text, stream);
    this.drawStray();
    this.onStray(this.stray);
  }

  /** @param {HTMLElement} display likewise */
  showStray(display) {
    const element = h("article", { className: "entry" }, display);
    this.append(element);
    this.focus.add(element);
    this.onStray({ element, draw: () => {} });
  }

  /** @param {Node} node */
  append(node) {
    this.keepingEnd(() => this.root.append(node));
    const tooMany = [...this.root.children].slice(0, -ENTRIES);
    this.gone.push(...cellsOfLeaving(tooMany));
    for (const element of tooMany) element.remove();
  }

  /** Take away what is over, and offer to bring it back. */
  clear() {
    const cleared = [...this.root.children].filter((node) => !node.matches(".waiting, .running, .cleared"));
    if (!cleared.length) return;
    const cells = cellsOfLeaving(cleared);
    this.gone.push(...cells);
    this.root.querySelector(".cleared")?.remove();
    for (const node of cleared) node.remove();
    const undo = h("button", { type: "button", className: "button", textContent: "Undo" });
    const note = h("p", { className: "note cleared" }, "Cleared. ", undo);
    undo.addEventListener("click", () => {
      note.replaceWith(...cleared);
      this.gone = this.gone.filter((cell) => !cells.includes(cell));
      this.onCleared(cleared, false);
    });
    this.root.prepend(note);
    this.onCleared(cleared, true);
  }

  /** All inputs of the session and what came of them, those that were cleared too. */
  cells() {
    return [...this.gone, ...cellsOf(this.root.children)];
  }

  /**
   * Change the transcript, and stay at its end if that is where the reader is.
   *
   * @param {() => void} change
   */
  keepingEnd(change) {
    keepingEnd(this.screen, change);
  }

  scrollToEnd() {
    this.screen.scrollTop = this.screen.scrollHeight;
  }
}

/** Printed text, and the place to type what the program asks for. */
export class Printed {
  constructor() {
    const text = h("span");
    this.element = h("pre", { className: "printed" }, text);
    this.terminal = new TerminalText(text);
    /** @type {AnswerField | null} */
    this.field = null;
  }

  draw() {
    keepingEnd(this.element, () => this.terminal.draw());
  }

  /** @param {(line: string) => void} onLine takes it with its newline; "" is the end of the input */
  ask(onLine) {
    if (!this.field) {
      const field = new AnswerField();
      keepingEnd(this.element, () => this.element.append(field.input));
      this.field = field;
    }
    this.field.ask(onLine);
  }

  /** @param {Printed} other whose field goes on here */
  takeField(other) {
    this.field = other.field;
    other.field = null;
    this.field?.moveTo(this.element);
  }

  /** @returns {string} what was typed ahead and nothing asked for */
  closeField() {
    const rest = this.field?.rest ?? "";
    this.field?.input.remove();
    this.field = null;
    return rest;
  }
}

/** One input and what came of it. */
export class Entry {
  /**
   * @param {string} source
   * @param {Transcript} transcript
   */
  constructor(source, transcript) {
    this.transcript = transcript;
    const lines = highlightedLines(source).map((pieces, i) =>
      h(
        "div",
        { className: "line" },
        h("span", { className: "prompt" }, i ? "... " : ">>> "),
        h("code", {}, ...pieces),
      ),
    );
    this.element = h("article", { className: "entry waiting" }, h("div", { className: "source" }, ...lines));
    /** @type {Printed | null} */
    this.printed = null;
    /** Where the input was written, if not at the prompt. @type {{ focus: () => void } | null} */
    this.code = null;
    /** @type {string | null} the traceback */
    this.error = null;
    /** @type {HTMLElement | null} why it has not begun */
    this.reason = null;
    this.drawSoon = oncePerFrame(() => this.draw());
  }

  /** @param {string} reason why it does not begin at once */
  wait(reason) {
    this.reason = h("p", { className: "note" }, reason);
    this.transcript.keepingEnd(() => this.element.append(/** @type {HTMLElement} */ (this.reason)));
  }

  /** @param {string} text a line of ours, not of Python */
  note(text) {
    this.transcript.keepingEnd(() => this.element.append(h("p", { className: "note" }, text)));
  }

  start() {
    this.reason?.remove();
    this.element.className = "entry running";
  }

  /**
   * @param {string} text
   * @param {string} className
   */
  print(text, className) {
    this.openPrinted().terminal.write(text, className);
    this.drawSoon();
  }

  /**
   * Put a display behind what was printed so far; where something is asked, in front of the question.
   *
   * @param {HTMLElement} display
   */
  show(display) {
    const { printed } = this;
    const question = printed?.field ? printed.terminal.takeLine() : [];
    this.draw();
    this.printed = null;
    this.transcript.keepingEnd(() => {
      this.element.append(display);
      if (!printed?.field) return;
      for (const { text, className } of question) this.openPrinted().terminal.write(text, className);
      this.draw();
      this.openPrinted().takeField(printed);
      if (!printed.element.textContent) printed.element.remove();
    });
  }

  openPrinted() {
    if (!this.printed) {
      this.printed = new Printed();
      this.element.append(this.printed.element);
    }
    return this.printed;
  }

  draw() {
    this.transcript.keepingEnd(() => this.printed?.draw());
  }

  /** @param {(line: string) => void} onLine takes the line that is typed */
  ask(onLine) {
    this.draw();
    this.transcript.keepingEnd(() =>
      this.openPrinted().ask((line) => {
        this.print(line || "\n", "typed");
        onLine(line);
      }),
    );
  }

  /**
   * @param {Outcome} outcome
   * @param {(bundle: import("../../worker/protocol.js").Bundle) => HTMLElement} [draw] rich results
   */
  finish(outcome, draw) {
    const { ok, result, error, rich } = outcome;
    this.reason?.remove();
    this.printed?.closeField();
    this.printed?.terminal.end();
    this.draw();
    this.element.className = ok ? "entry done" : "entry failed";
    this.transcript.keepingEnd(() => {
      const drawn = draw && rich && rich.kind !== "shown" ? draw(rich) : null;
      // Of HTML that needs its scripts nothing may be left.
      const isBlank = rich?.kind === "html" && !drawn?.textContent?.trim() && !drawn?.querySelector("img");
      if (result !== null && (!rich || rich.kind === "tensor" || isBlank)) this.element.append(resultBlock(result));
      if (drawn && !isBlank) this.element.append(drawn);
      if (error !== null) this.addFailure(outcome);
      for (const block of this.element.querySelectorAll("pre")) focusableWhileItScrolls(block);
      if (this.element.childElementCount > 1) this.element.append(this.copyButton());
    });
  }

  /** @param {Outcome} outcome */
  addFailure(outcome) {
    this.error = outcome.error;
    this.element.append(drawFailure(outcome));
    const lines = this.element.querySelectorAll(".source .line");
    if (lines.length > 1) lines[(lineAtFault(outcome) ?? 0) - 1]?.classList.add("at-fault");
  }

  copyButton() {
    const made = copyButton("copy", () => {
      const blocks = this.element.querySelectorAll(":scope > pre:not(.error)");
      const texts = [...blocks].map((block) => block.textContent?.trimEnd());
      return [...texts, this.error].filter(Boolean).join("\n");
    });
    made.title = "Copy this output";
    return made;
  }
}

/**
 * @param {string} text of a result
 * @returns {HTMLElement} that shows at most SHOWN_CHARACTERS of it
 */
export function resultBlock(text) {
  const cut = text.length - SHOWN_CHARACTERS;
  const shown = cut > 0 ? `${text.slice(0, SHOWN_CHARACTERS)}\n… ${cut} more characters` : text;
  const block = h("pre", { className: "result" });
  const terminal = new TerminalText(block);
  terminal.write(shown, "");
  terminal.draw();
  if (wraps(shown)) block.classList.add("wrapped");
  return block;
}

/**
 * @param {HTMLElement} scroller
 * @param {() => void} change of what is in it
 */
function keepingEnd(scroller, change) {
  const { scrollTop, scrollHeight, clientHeight } = scroller;
  const isAtEnd = scrollTop + clientHeight > scrollHeight - 48;
  change();
  if (isAtEnd) scroller.scrollTop = scroller.scrollHeight;
}

/**
 * Rows of numbers keep their columns, and scroll; a single line, or one longer than any row, wraps.
 *
 * @param {string} text
 */
function wraps(text) {
  return !text.includes("\n") || /^.{160}/m.test(text);
}
