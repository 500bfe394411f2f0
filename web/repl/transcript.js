/** What stands above the prompt: inputs, what they printed, results, errors. Text alone, no HTML. */

import { h, oncePerFrame } from "../ui/dom.js";

/** @typedef {import("../protocol.js").Outcome} Outcome */
/** @typedef {import("../protocol.js").StreamName} StreamName */

const ENTRIES = 300;
const PRINTED_CHARACTERS = 200_000;
const SHOWN_CHARACTERS = 100_000;

export class Transcript {
  /**
   * @param {HTMLElement} root
   * @param {HTMLElement} screen what scrolls
   */
  constructor(root, screen) {
    this.root = root;
    this.screen = screen;
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

  /** @param {Node} node */
  append(node) {
    this.keepingEnd(() => this.root.append(node));
    while (this.root.childElementCount > ENTRIES) this.root.firstElementChild?.remove();
  }

  clear() {
    this.root.replaceChildren();
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
    /** @type {HTMLPreElement | null} */
    this.printed = null;
    this.printedCharacters = 0;
    /** @type {{ stream: StreamName, text: string }[]} */
    this.pending = [];
    this.drawSoon = oncePerFrame(() => this.draw());
  }

  start() {
    this.element.className = "entry running";
  }

  /**
   * @param {StreamName} stream
   * @param {string} text
   */
  print(stream, text) {
    const last = this.pending.at(-1);
    if (last?.stream === stream) last.text += text;
    else this.pending.push({ stream, text });
    this.drawSoon();
  }

  draw() {
    if (!this.pending.length) return;
    const pieces = this.pending;
    this.pending = [];
    this.transcript.keepingEnd(() => {
      this.printed ??= this.addBlock("printed");
      for (const { stream, text } of pieces) {
        const shown = text.slice(-PRINTED_CHARACTERS);
        this.printed.append(h("span", { className: stream }, shown));
        this.printedCharacters += shown.length;
      }
      this.forgetOldest(this.printed);
    });
  }

  /** @param {HTMLPreElement} printed */
  forgetOldest(printed) {
    while (this.printedCharacters > PRINTED_CHARACTERS && printed.childNodes.length > 1) {
      this.printedCharacters -= printed.firstChild?.textContent?.length ?? 0;
      printed.firstChild?.remove();
      printed.dataset.isCut = "";
    }
  }

  /** @param {Outcome} outcome */
  finish({ ok, result, error, full_error: full }) {
    this.draw();
    this.element.className = ok ? "entry done" : "entry failed";
    this.transcript.keepingEnd(() => {
      if (result !== null) this.addBlock("result", result);
      if (error !== null) this.addBlock("error", error);
      if (error !== null && full !== null) this.element.append(everyFrame(full));
      if (this.element.childElementCount > 1) this.element.append(this.copyButton());
    });
  }

  /**
   * @param {"printed" | "result" | "error"} className
   * @param {string} [text]
   */
  addBlock(className, text = "") {
    const cut = text.length - SHOWN_CHARACTERS;
    const shown = cut > 0 ? `${text.slice(0, SHOWN_CHARACTERS)}\n… ${cut} more characters` : text;
    const block = h("pre", { className, textContent: shown });
    if (wraps(shown)) block.classList.add("wrapped");
    this.element.append(block);
    return block;
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

/** @param {string} text */
function everyFrame(text) {
  const summary = h("summary", {}, "Every frame");
  return h("details", { className: "frames" }, summary, h("pre", {}, text));
}
