/** The prompt: a text area that behaves as the input line of a terminal. */

import { byId } from "../ui/dom.js";
import { History } from "./history.js";
import { nextIndent, withoutPrompts } from "./text.js";

const INDENT = "    ";

/**
 * @typedef {object} EditorEvents
 * @property {(text: string) => void} onEnter
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

  /** The input is as high as its text, with a prompt to every line. */
  resize() {
    const lines = this.text.split("\n");
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
    this.tabLeaves = event.key === "Escape";
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
        else this.events.onEnter(this.text);
        return true;
      case "ArrowUp":
        return isPlain && this.isCaretOn("first") && this.recall(-1);
      case "ArrowDown":
        return isPlain && this.isCaretOn("last") && this.recall(1);
      case "Tab":
        return !this.tabLeaves && this.onTab(isShifted);
      case "Ctrl-c":
        if (this.hasSelection()) return false;
        this.events.onInterrupt();
        return true;
      case "Ctrl-l":
        this.events.onClear();
        return true;
      default:
        return false;
    }
  }

  hasSelection() {
    return this.input.selectionStart !== this.input.selectionEnd || !document.getSelection()?.isCollapsed;
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
   * Tab indents where a line begins; anywhere else it moves the focus, as on any page.
   *
   * @param {boolean} isShifted
   */
  onTab(isShifted) {
    const before = this.lineBeforeCaret();
    if (!this.text.includes("\n") || before.trim()) return false;
    if (!isShifted) {
      this.insert(INDENT);
    } else if (before.endsWith(INDENT)) {
      const end = this.input.selectionStart;
      this.input.setRangeText("", end - INDENT.length, end, "end");
    }
    return true;
  }

  /** @param {ClipboardEvent} event */
  onPaste(event) {
    const text = event.clipboardData?.getData("text/plain");
    if (!text) return;
    event.preventDefault();
    this.insert(withoutPrompts(text).replace(/\n+$/, ""));
  }
}
