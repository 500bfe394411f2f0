/** What stands above the prompt: inputs, what they printed, results, errors. Text alone, no HTML. */

import { focusableWhileItScrolls, h, oncePerFrame } from "../ui/dom.js";
import { AnswerField } from "./answer.js";
import { TerminalText } from "./terminal.js";

/** @typedef {import("../protocol.js").Outcome} Outcome */
/** @typedef {import("../protocol.js").StreamName} StreamName */

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
    /** @type {Printed | null} the last of what no input printed */
    this.stray = null;
    this.drawStray = () => {};
  }

  /** @param {string} source */
  add(source) {
    const entry = new Entry(source, this);
    this.append(entry.element);
    this.scrollToEnd();
    return entry;
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
      this.drawStray = oncePerFrame(() => this.keepingEnd(() => stray.terminal.draw()));
      this.append(stray.element);
    }
    this.stray.terminal.write(text, stream);
    this.drawStray();
  }

  /** @param {Node} node */
  append(node) {
    this.keepingEnd(() => this.root.append(node));
    while (this.root.childElementCount > ENTRIES) this.root.firstElementChild?.remove();
  }

  /** Take away what is over, and offer to bring it back. */
  clear() {
    const cleared = [...this.root.children].filter((node) => !node.matches(".waiting, .running, .cleared"));
    if (!cleared.length) return;
    this.root.querySelector(".cleared")?.remove();
    for (const node of cleared) node.remove();
    this.root.prepend(undoNote(cleared));
  }

  /**
   * Change the transcript, and stay at its end if that is where the reader is.
   *
   * @param {() => void} change
   */
  keepingEnd(change) {
    const { scrollTop, scrollHeight, clientHeight } = this.screen;
    const isAtEnd = scrollTop + clientHeight > scrollHeight - 48;
    change();
    if (isAtEnd) this.scrollToEnd();
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

  /** @param {(line: string) => void} onLine takes it with its newline; "" is the end of the input */
  ask(onLine) {
    if (!this.field) {
      this.field = new AnswerField();
      this.element.append(this.field.input);
    }
    this.field.ask(onLine);
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
    const lines = source
      .split("\n")
      .map((line, i) =>
        h("div", { className: "line" }, h("span", { className: "prompt" }, i ? "... " : ">>> "), h("code", {}, line)),
      );
    this.element = h("article", { className: "entry waiting" }, h("div", { className: "source" }, ...lines));
    /** @type {Printed | null} */
    this.printed = null;
    /** @type {HTMLElement | null} why it has not begun */
    this.reason = null;
    this.drawSoon = oncePerFrame(() => this.draw());
  }

  /** @param {string} reason why it does not begin at once */
  wait(reason) {
    this.reason = h("p", { className: "note" }, reason);
    this.transcript.keepingEnd(() => this.element.append(/** @type {HTMLElement} */ (this.reason)));
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

  openPrinted() {
    if (!this.printed) {
      this.printed = new Printed();
      this.element.append(this.printed.element);
    }
    return this.printed;
  }

  draw() {
    this.transcript.keepingEnd(() => this.printed?.terminal.draw());
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

  /** @param {Outcome} outcome */
  finish({ ok, result, error, full_error: full }) {
    this.reason?.remove();
    this.printed?.closeField();
    this.draw();
    this.element.className = ok ? "entry done" : "entry failed";
    this.transcript.keepingEnd(() => {
      if (result !== null) this.addBlock("result", result);
      if (error !== null) this.addBlock("error", error);
      if (error !== null && full !== null) this.element.append(everyFrame(full));
      for (const block of this.element.querySelectorAll("pre")) focusableWhileItScrolls(block);
      if (this.element.childElementCount > 1) this.element.append(this.copyButton());
    });
  }

  /**
   * @param {"result" | "error"} className
   * @param {string} text
   */
  addBlock(className, text) {
    const cut = text.length - SHOWN_CHARACTERS;
    const shown = cut > 0 ? `${text.slice(0, SHOWN_CHARACTERS)}\n… ${cut} more characters` : text;
    const block = h("pre", { className });
    const terminal = new TerminalText(block);
    terminal.write(shown, "");
    terminal.draw();
    if (wraps(shown)) block.classList.add("wrapped");
    this.element.append(block);
  }

  copyButton() {
    const button = h("button", { type: "button", className: "copy", title: "Copy this output", textContent: "Copy" });
    button.addEventListener("click", async () => {
      const blocks = this.element.querySelectorAll(":scope > pre");
      const text = [...blocks].map((block) => block.textContent?.trimEnd()).join("\n");
      try {
        await navigator.clipboard.writeText(text);
        button.textContent = "Copied";
      } catch {
        button.textContent = "Not allowed";
      }
      setTimeout(() => {
        button.textContent = "Copy";
      }, 1200);
    });
    return button;
  }
}

/**
 * Rows of numbers keep their columns, and scroll; a single line, or one longer than any row, wraps.
 *
 * @param {string} text
 */
function wraps(text) {
  return !text.includes("\n") || /^.{160}/m.test(text);
}

/** @param {Element[]} cleared */
function undoNote(cleared) {
  const undo = h("button", { type: "button", className: "button", textContent: "Undo" });
  const note = h("p", { className: "note cleared" }, "Cleared. ", undo);
  undo.addEventListener("click", () => note.replaceWith(...cleared));
  return note;
}

/** @param {string} text */
function everyFrame(text) {
  const summary = h("summary", {}, "Every frame");
  return h("details", { className: "frames" }, summary, h("pre", {}, text));
}
