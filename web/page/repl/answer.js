/** The field for input that a program asks for. Lines typed ahead are kept for the next questions. */

import { h, howToRun } from "../ui/dom.js";

export class AnswerField {
  constructor() {
    this.input = h("input", { className: "answer", autocomplete: "off", spellcheck: false, enterKeyHint: "send" });
    this.input.setAttribute("aria-label", "Input for the program");
    this.input.addEventListener("keydown", (event) => this.onKey(event));
    this.input.addEventListener("paste", (event) => this.onPaste(event));
    /** @type {string[]} typed ahead, each with its newline; "" is the end of the input */
    this.lines = [];
    /** @type {((line: string) => void) | null} receives the answer to the open question */
    this.onLine = null;
  }

  /** Whether nothing is asked and nothing is typed. */
  get isIdle() {
    return !this.onLine && !this.lines.length && !this.input.value;
  }

  /** The input that no question has used, as text. */
  get rest() {
    return (this.lines.join("") + this.input.value).trimEnd();
  }

  /**
   * Move the field, keeping focus, text and selection.
   *
   * @param {HTMLElement} parent
   */
  moveTo(parent) {
    const { selectionStart, selectionEnd, selectionDirection } = this.input;
    const hadFocus = document.activeElement === this.input;
    parent.append(this.input);
    if (!hadFocus) return;
    this.input.focus();
    this.input.setSelectionRange(selectionStart, selectionEnd, selectionDirection ?? "none");
  }

  /** @param {(line: string) => void} onLine receives one line, the first one typed */
  ask(onLine) {
    this.onLine = onLine;
    this.answer();
  }

  /** @param {string} line */
  enter(line) {
    this.input.value = "";
    this.lines.push(line);
    this.answer();
  }

  answer() {
    const onLine = this.onLine;
    const line = onLine ? this.lines.shift() : undefined;
    const ahead = this.lines.map((one) => one.replace("\n", " ⏎ ")).join("");
    this.input.placeholder = ahead || (this.onLine && line === undefined ? `Type here, then ${howToRun()}` : "");
    if (line === undefined) return;
    this.onLine = null;
    onLine?.(line);
  }

  /** @param {KeyboardEvent} event */
  onKey(event) {
    const line = lineOf(event, this.input);
    if (line === null) return;
    event.preventDefault();
    this.enter(line);
  }

  /**
   * Each line of a paste is an answer.
   *
   * @param {ClipboardEvent} event
   */
  onPaste(event) {
    const text = event.clipboardData?.getData("text/plain").replaceAll("\r\n", "\n");
    if (!text?.includes("\n")) return;
    event.preventDefault();
    const { value, selectionStart, selectionEnd } = this.input;
    const whole = value.slice(0, selectionStart ?? 0) + text + value.slice(selectionEnd ?? 0);
    for (const line of whole.replace(/\n$/, "").split("\n")) this.enter(`${line}\n`);
  }
}

/**
 * @param {KeyboardEvent} event
 * @param {HTMLInputElement} field
 * @returns {string | null} the text that this key completes, as in a terminal: Enter ends a line, Ctrl-D the input
 */
function lineOf(event, field) {
  if (event.isComposing) return null;
  if (event.key === "Enter") return `${field.value}\n`;
  return event.ctrlKey && event.key.toLowerCase() === "d" && !field.value ? "" : null;
}
