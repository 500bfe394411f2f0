/** The prompt: a text area that behaves as the input line of a terminal. */

import { byId, hasSelection } from "../ui/dom.js";
import { History } from "./history.js";
import { indented, isTranscript, nextIndent, pasted, toNextStep } from "./text.js";

/**
 * @typedef {object} EditorEvents
 * @property {(text: string, isAsPasted: boolean) => void} onEnter
 * @property {() => void} onInterrupt Ctrl-C with nothing selected
 * @property {() => void} onClear Ctrl-L
 * @property {() => void} onResize the text has more lines, or fewer
 */

export class Editor {
  /** @param {EditorEvents} events */
  constructor(events) {
    this.events = events;
    this.input = /** @type {HTMLTextAreaElement} */ (byId("input"));
    this.gutter = byId("prompt-gutter");
    this.history = new History();
    /** After Escape, Tab leaves the prompt: nobody is trapped in it. */
    this.tabLeaves = false;
    /** What stood here right after a paste. */
    this.asPasted = "";
    this.input.addEventListener("input", () => this.resize());
    this.input.addEventListener("keydown", (event) => this.onKey(event));
    this.input.addEventListener("paste", (event) => this.onPaste(event));
    byId("prompt").addEventListener("submit", (event) => event.preventDefault());
    this.resize();
  }

  get text() {
    return this.input.value;
  }

  /** @param {string} text */
  set text(text) {
    this.input.value = text;
    this.input.setSelectionRange(text.length, text.length);
    this.resize();
  }

  focus() {
    this.input.focus({ preventScroll: true });
  }

  /** @param {string} text put in place of the selection, undoable */
  insert(text) {
    if (!document.execCommand("insertText", false, text)) {
      const { selectionStart, selectionEnd } = this.input;
      this.input.setRangeText(text, selectionStart, selectionEnd, "end");
    }
    this.resize();
  }

  /** Begin another line, indented as Python would have it. */
  newLine() {
    this.insert(`\n${nextIndent(this.lineBeforeCaret())}`);
  }

  /** @param {string} text */
  paste(text) {
    this.insert(pasted(text));
    this.asPasted = this.text;
  }

  /** The input is as high as its text, with a prompt to every line; a transcript has its own. */
  resize() {
    const lines = this.text.split("\n");
    this.gutter.hidden = isTranscript(this.text);
    if (lines.length === this.input.rows && this.gutter.textContent) return;
    this.gutter.textContent = lines.map((_, i) => (i ? "..." : ">>>")).join("\n");
    this.input.rows = lines.length;
    this.events.onResize();
  }

  lineBeforeCaret() {
    const before = this.text.slice(0, this.input.selectionStart);
    return before.slice(before.lastIndexOf("\n") + 1);
  }

  /** @param {KeyboardEvent} event */
  onKey(event) {
    if (event.isComposing) return;
    const hasControl = event.ctrlKey && !event.altKey && !event.metaKey;
    const isPlain = !event.ctrlKey && !event.altKey && !event.metaKey && !event.shiftKey;
    const key = hasControl ? `Ctrl-${event.key.toLowerCase()}` : event.key;
    const isHandled = this.onNamedKey(key, isPlain, event.shiftKey);
    if (event.key !== "Shift") this.tabLeaves = event.key === "Escape";
    if (isHandled) event.preventDefault();
  }

  /**
   * @param {string} key
   * @param {boolean} isPlain no modifier is held
   * @param {boolean} isShifted
   * @returns {boolean} whether the key is dealt with
   */
  onNamedKey(key, isPlain, isShifted) {
    switch (key) {
      case "Enter":
        if (isShifted) this.newLine();
        else this.events.onEnter(this.text, this.text === this.asPasted);
        return true;
      case "ArrowUp":
        return isPlain && this.isCaretOn("first") && this.recall(-1);
      case "ArrowDown":
        return isPlain && this.isCaretOn("last") && this.recall(1);
      case "Tab":
        return !this.tabLeaves && this.onTab(isShifted);
      case "Ctrl-c":
        if (hasSelection()) return false;
        this.events.onInterrupt();
        return true;
      case "Ctrl-l":
        this.events.onClear();
        return true;
      default:
        return false;
    }
  }

  /** @param {"first" | "last"} line */
  isCaretOn(line) {
    const { selectionStart, selectionEnd } = this.input;
    if (selectionStart !== selectionEnd) return false;
    const beyond = line === "first" ? this.text.slice(0, selectionStart) : this.text.slice(selectionEnd);
    return !beyond.includes("\n");
  }

  /** @param {-1 | 1} step */
  recall(step) {
    const text = this.history.move(step, this.text);
    if (text !== null) this.text = text;
    return true;
  }

  /**
   * Tab indents; where there is nothing to indent, it moves the focus, as on any page.
   *
   * @param {boolean} isShifted
   */
  onTab(isShifted) {
    if (!this.text) return false;
    const { selectionStart, selectionEnd } = this.input;
    if (isShifted || selectionStart !== selectionEnd) this.indentLines(isShifted);
    else this.insert(toNextStep(this.lineBeforeCaret()));
    return true;
  }

  /** @param {boolean} isOutwards */
  indentLines(isOutwards) {
    const { selectionStart, selectionEnd } = this.input;
    const start = selectionStart - this.lineBeforeCaret().length;
    const lines = this.text.slice(start, selectionEnd);
    const moved = indented(lines, isOutwards);
    if (moved === lines) return;
    this.input.setSelectionRange(start, selectionEnd);
    this.insert(moved);
    if (selectionStart !== selectionEnd) this.input.setSelectionRange(start, start + moved.length);
  }

  /** @param {ClipboardEvent} event */
  onPaste(event) {
    const text = event.clipboardData?.getData("text/plain");
    if (!text) return;
    event.preventDefault();
    this.paste(text);
  }
}
