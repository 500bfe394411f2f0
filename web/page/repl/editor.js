/** The prompt: CodeMirror, behaving as the input line of a terminal. */

import { byId } from "../ui/dom.js";
import {
  Compartment,
  completionStatus,
  EditorView,
  GutterMarker,
  gutter,
  indentLess,
  indentMore,
  keymap,
  Prec,
  placeholder,
  pythonLanguage,
  Transaction,
} from "../vendor/codemirror.js";
import { complete, completions } from "./completion.js";
import { History } from "./history.js";
import { HistorySearch } from "./search.js";
import { signatures } from "./signature.js";
import { isTranscript, nextIndent, pasted, toNextStep } from "./text.js";
import { typeText, writing } from "./writing.js";

/** @typedef {import("./completion.js").Query} Query */

/**
 * @typedef {object} EditorEvents
 * @property {(text: string, isAsPasted: boolean) => void} onEnter
 * @property {() => void} onInterrupt Ctrl-C with nothing selected
 * @property {() => void} onClear Ctrl-L
 * @property {() => boolean} onEscape returns whether there was something to close
 * @property {() => void} onResize the number of lines changed
 * @property {() => void} onChange the text changed
 * @property {Query} query
 */

const MODIFIERS = new Set(["Shift", "Control", "Alt", "Meta", "Tab"]);

export class Editor {
  /** @param {EditorEvents} events */
  constructor(events) {
    this.events = events;
    this.history = new History();
    /** After Escape, Tab leaves the prompt, so that it is no keyboard trap. */
    this.tabLeaves = false;
    /** The text right after a paste. */
    this.asPasted = "";
    this.hint = new Compartment();
    this.view = this.open(byId("input"));
    this.search = new HistorySearch(this.history, this, byId("prompt"));
    byId("prompt").addEventListener("submit", (event) => event.preventDefault());
  }

  /**
   * Replace the plain text field by CodeMirror, keeping the text typed into it.
   *
   * @param {HTMLElement} host
   */
  open(host) {
    const field = /** @type {HTMLTextAreaElement} */ (host.querySelector("textarea"));
    const hadFocus = document.activeElement === field;
    const { value, selectionStart, selectionEnd } = field;
    // Its styles are adopted by the shadow root; the content security policy blocks a <style> in the document.
    const root = host.attachShadow({ mode: "open", delegatesFocus: true });
    const view = new EditorView({
      root,
      parent: root,
      doc: value,
      selection: { anchor: selectionStart, head: selectionEnd },
      extensions: this.extensions(field),
    });
    view.contentDOM.ariaDescribedByElements = [byId("keys")];
    if (hadFocus) view.focus();
    return view;
  }

  /** @param {HTMLTextAreaElement} field the field it replaces */
  extensions(field) {
    return [
      this.keys(),
      signatures(this.events.query), // Escape hides them first
      completions(this.events.query),
      pythonLanguage,
      writing,
      prompts,
      footInView,
      this.hint.of(placeholder(field.placeholder)),
      EditorView.contentAttributes.of({
        "aria-label": field.getAttribute("aria-label") ?? "",
        enterkeyhint: "go",
      }),
      EditorView.domEventHandlers({
        paste: (event) => this.onPaste(event),
      }),
      EditorView.domEventObservers({
        keydown: (event) => this.noteKey(event),
        blur: () => {
          this.tabLeaves = false;
        },
      }),
      EditorView.updateListener.of(({ docChanged, geometryChanged }) => {
        if (docChanged || geometryChanged) this.events.onResize();
        if (docChanged) this.events.onChange();
      }),
    ];
  }

  /** The keys of a prompt. (The keys of the completion list take precedence.) */
  keys() {
    return Prec.high(
      keymap.of([
        { key: "Enter", run: () => this.onEnter(), shift: () => this.newLine() },
        { key: "ArrowUp", run: () => this.recall(-1) },
        { key: "ArrowDown", run: () => this.recall(1) },
        { key: "Tab", run: () => this.onTab(), shift: () => !this.leavesByTab && indentLess(this.view) },
        { key: "Escape", run: () => this.events.onEscape() },
        { key: "Ctrl-c", run: () => this.onInterrupt() },
        { key: "Ctrl-l", run: () => this.onClear() },
        { key: "Ctrl-r", run: () => this.onSearch() },
      ]),
    );
  }

  get text() {
    return this.view.state.doc.toString();
  }

  /** @param {string} text */
  set text(text) {
    this.view.dispatch({
      changes: { from: 0, to: this.view.state.doc.length, insert: text },
      selection: { anchor: text.length },
      annotations: Transaction.addToHistory.of(false),
      scrollIntoView: true,
    });
  }

  focus() {
    this.view.contentDOM.focus({ preventScroll: true });
  }

  hidePlaceholder() {
    this.view.dispatch({ effects: this.hint.reconfigure([]) });
  }

  /** @param {string} text replaces the selection, undoable */
  insert(text) {
    this.view.dispatch(this.view.state.replaceSelection(text), { scrollIntoView: true, userEvent: "input" });
  }

  /** @param {string} text replaces the selection as if it had been typed */
  type(text) {
    typeText(this.view, text);
  }

  /** Begin another line with Python's indentation; a closing bracket gets a line of its own. */
  newLine() {
    const line = this.lineBeforeCaret();
    const indent = nextIndent(line);
    const { from, to } = this.view.state.selection.main;
    const isBetweenBrackets = /[([{]\s*$/.test(line) && /^[)\]}]/.test(this.view.state.sliceDoc(to));
    const below = isBetweenBrackets ? `\n${/^[ \t]*/.exec(line)?.[0] ?? ""}` : "";
    this.view.dispatch({
      changes: { from, to, insert: `\n${indent}${below}` },
      selection: { anchor: from + 1 + indent.length },
      scrollIntoView: true,
      userEvent: "input",
    });
    return true;
  }

  /** @param {string} text */
  paste(text) {
    this.insert(pasted(text));
    this.asPasted = this.text;
  }

  /** @param {string} text replaces all text, undoable */
  replace(text) {
    this.view.dispatch({ selection: { anchor: 0, head: this.view.state.doc.length } });
    this.paste(text);
  }

  lineBeforeCaret() {
    const { head } = this.view.state.selection.main;
    return this.view.state.sliceDoc(this.view.state.doc.lineAt(head).from, head);
  }

  // Keys -------------------------------------------------------------------------------------------

  /** Brackets that the prompt closed by itself do not make an input complete. */
  onEnter() {
    const { head } = this.view.state.selection.main;
    const isInBrackets = /[([{,]\s*$/.test(this.lineBeforeCaret());
    if (isInBrackets && /^[\s)\]}]*[)\]}]$/.test(this.view.state.sliceDoc(head))) return this.newLine();
    this.events.onEnter(this.text, this.text === this.asPasted);
    return true;
  }

  /** @param {-1 | 1} step */
  recall(step) {
    if (!this.isCaretOnEdge(step)) return false;
    this.walk(step);
    return true;
  }

  /**
   * Replace the text by an earlier or later input of the history, wherever the caret is.
   *
   * @param {-1 | 1} step
   */
  walk(step) {
    const { head } = this.view.state.selection.main;
    const text = this.history.move(step, this.text, this.view.state.sliceDoc(0, head));
    if (text !== null) this.text = text;
  }

  /**
   * Whether the caret is on the first or last displayed line.
   *
   * @param {-1 | 1} step
   */
  isCaretOnEdge(step) {
    const { state } = this.view;
    const { head, empty } = state.selection.main;
    if (!empty) return false;
    const edge = step < 0 ? 0 : state.doc.length;
    if (state.doc.lineAt(head).number !== state.doc.lineAt(edge).number) return false;
    const caret = this.view.coordsAtPos(head);
    const end = this.view.coordsAtPos(edge);
    return !caret || !end || (caret.top < end.bottom && end.top < caret.bottom);
  }

  get leavesByTab() {
    return this.tabLeaves || !this.view.state.doc.length;
  }

  /** Tab completes, or indents at the beginning of a line; if it can do neither, it moves the focus. */
  onTab() {
    if (this.leavesByTab) return false;
    const line = this.lineBeforeCaret();
    if (!this.view.state.selection.main.empty) indentMore(this.view);
    else if (!line.trim()) this.insert(toNextStep(line));
    else this.completeOrIndent(line);
    return true;
  }

  /** @param {string} line */
  async completeOrIndent(line) {
    const isCompleted = await complete(this.events.query, this.view);
    if (!isCompleted && line.endsWith(" ")) this.insert(toNextStep(line));
  }

  onInterrupt() {
    if (!this.view.state.selection.main.empty) return false;
    this.events.onInterrupt();
    return true;
  }

  onClear() {
    this.events.onClear();
    return true;
  }

  onSearch() {
    this.search.open();
    return true;
  }

  /** @param {KeyboardEvent} event */
  noteKey({ key }) {
    if (MODIFIERS.has(key)) return;
    this.tabLeaves = key === "Escape" && completionStatus(this.view.state) !== "active";
  }

  /** @param {ClipboardEvent} event */
  onPaste(event) {
    const text = event.clipboardData?.getData("text/plain");
    if (!text) return false;
    event.preventDefault();
    this.paste(text);
    return true;
  }
}

/** In a window that is too low for the page, the page scrolls to the caret with the foot below it. */
const footInView = EditorView.scrollMargins.of(() => ({ bottom: byId("console-foot").offsetHeight + 16 }));

// Prompts ------------------------------------------------------------------------------------------

class Prompt extends GutterMarker {
  /** @param {string} text */
  constructor(text) {
    super();
    this.text = text;
  }

  /**
   * @override
   * @param {GutterMarker} other
   */
  eq(other) {
    return other instanceof Prompt && other.text === this.text;
  }

  /** @override */
  toDOM() {
    return document.createTextNode(this.text);
  }
}

const FIRST = new Prompt(">>>");
const MORE = new Prompt("...");

/** A prompt before every line, except in a transcript, which has its own. */
const prompts = gutter({
  class: "cm-prompts",
  lineMarker: ({ state }, line) => (startsWithPrompt(state) ? null : line.from === 0 ? FIRST : MORE),
  lineMarkerChange: ({ docChanged }) => docChanged,
});

/** @param {import("@codemirror/state").EditorState} state */
function startsWithPrompt(state) {
  return isTranscript(state.doc.line(1).text);
}
