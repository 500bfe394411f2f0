/**
 * The text of a file in CodeMirror, with the output of each cell below the cell.
 *
 * An output is a child of the host element, not of the shadow root, and a slot in the text displays it. So the page's
 * style sheets apply to it, and its element stays the same when the text around it moves.
 */

import { complete, completions } from "../repl/completion.js";
import { signatures } from "../repl/signature.js";
import { toNextStep } from "../repl/text.js";
import { writing } from "../repl/writing.js";
import { h } from "../ui/dom.js";
import {
  completionStatus,
  Decoration,
  EditorView,
  GutterMarker,
  gutter,
  indentLess,
  indentMore,
  keymap,
  lineNumbers,
  MapMode,
  Prec,
  pythonLanguage,
  StateEffect,
  StateField,
  Transaction,
  WidgetType,
} from "../vendor/codemirror.js";
import { cellAt, cellsOf, endOfCode, isMarker } from "./cells.js";

/** @typedef {import("../repl/completion.js").Query} Query */
/** @typedef {import("@codemirror/state").EditorState} EditorState */
/** @typedef {import("./cells.js").Cell} Cell */
/**
 * @typedef {"here" | "next" | "all"} How "here": the selection, or else the cell with the caret; "next": the cell with
 *   the caret, then move to the next one
 */
/** @typedef {{ name: string, at: number }} Output its slot, and the end of the line that it is below */

/**
 * @typedef {object} CodeEvents
 * @property {() => void} onChange the text has changed
 * @property {() => void} onMove the selection has changed
 * @property {(how: How, at?: number) => void} onRun at: start of the cell to run; by default the cell with the caret
 * @property {() => void} onSave
 * @property {(elements: HTMLElement[], isEdit: boolean) => void} onGone outputs were removed; isEdit: with their code
 * @property {Query} query
 */

const MODIFIERS = new Set(["Shift", "Control", "Alt", "Meta", "Tab"]);

/** @type {import("@codemirror/state").StateEffectType<{ remove: string[], add: Output[] }>} */
const change = StateEffect.define();

/** @type {StateField<Output[]>} */
const outputs = StateField.define({
  /** @returns {Output[]} */
  create: () => [],
  update(before, { changes, effects, newDoc }) {
    const moved = before.flatMap(({ name, at }) => {
      const place = changes.mapPos(at, -1, MapMode.TrackDel);
      return place === null ? [] : [{ name, at: newDoc.lineAt(place).to }];
    });
    return effects.reduce((found, effect) => {
      if (!effect.is(change)) return found;
      const { remove, add } = effect.value;
      return [...found.filter(({ name }) => !remove.includes(name)), ...add];
    }, moved);
  },
  provide: (field) =>
    EditorView.decorations.from(field, (found) =>
      Decoration.set(
        found.map(({ name, at }) => Decoration.widget({ widget: new Slot(name), block: true, side: 1 }).range(at)),
        true,
      ),
    ),
});

/** The place of an output in the text. */
class Slot extends WidgetType {
  /** @param {string} name */
  constructor(name) {
    super();
    this.name = name;
  }

  /**
   * @override
   * @param {Slot} other
   */
  eq(other) {
    return other.name === this.name;
  }

  /** @override */
  toDOM() {
    return h("div", { className: "cm-output" }, h("slot", { name: this.name }));
  }

  /** @override */
  ignoreEvent() {
    return true;
  }
}

const STARTS = Decoration.line({ class: "cm-cell" });

/** Marks the first line of each cell. */
const starts = StateField.define({
  create: drawStarts,
  update: (before, transaction) => (transaction.docChanged ? drawStarts(transaction.state) : before),
  provide: (field) => EditorView.decorations.from(field),
});

/** @param {EditorState} state */
function drawStarts({ doc }) {
  const found = [];
  for (let i = 1; i <= doc.lines; i++) {
    const { from, text } = doc.line(i);
    if (isMarker(text)) found.push(STARTS.range(from));
  }
  return Decoration.set(found);
}

/** A mark that runs its cell when clicked. Screen readers skip it: the keyboard has Shift-Enter. */
class RunMark extends GutterMarker {
  /** @override */
  toDOM() {
    return h("span", { className: "cm-run", title: "Run this cell (Shift+Enter)" }, "▶");
  }
}
const RUN = new RunMark();

export class Code {
  /**
   * @param {string} text
   * @param {string} label accessible name
   * @param {boolean} isProgram
   * @param {CodeEvents} events
   */
  constructor(text, label, isProgram, events) {
    this.events = events;
    this.isProgram = isProgram;
    /** Whether Tab moves the focus instead of indenting: after Escape. Without it the keyboard could not leave. */
    this.tabLeaves = false;
    this.count = 0;
    this.element = h("div", { className: "code-editor" });
    const root = this.element.attachShadow({ mode: "open", delegatesFocus: true });
    this.view = new EditorView({ root, parent: root, doc: text, extensions: this.extensions(label) });
    /** CodeMirror does not notice by itself that an output has changed its height. */
    this.resizing = new ResizeObserver(() => this.view.requestMeasure());
  }

  /** @param {string} label */
  extensions(label) {
    const { events } = this;
    const python = [
      signatures(events.query),
      completions(events.query),
      pythonLanguage,
      starts,
      outputs,
      gutter({
        class: "cm-runs",
        lineMarker: (view, { from, to }) => (isMarker(view.state.sliceDoc(from, to)) ? RUN : null),
        lineMarkerChange: ({ docChanged }) => docChanged,
        domEventHandlers: {
          click: (view, { from, to }) => {
            if (!isMarker(view.state.sliceDoc(from, to))) return false;
            events.onRun("here", from);
            return true;
          },
        },
      }),
    ];
    return [
      this.keys(),
      ...(this.isProgram ? python : []),
      lineNumbers(),
      look, // before `writing`, whose theme it overrides
      writing,
      EditorView.contentAttributes.of({ "aria-label": label }),
      EditorView.domEventObservers({
        keydown: (event) => this.noteKey(event),
        blur: () => {
          this.tabLeaves = false;
        },
      }),
      EditorView.updateListener.of(({ docChanged, selectionSet }) => {
        if (docChanged) this.sweep(true);
        if (docChanged) events.onChange();
        if (docChanged || selectionSet) events.onMove();
      }),
    ];
  }

  keys() {
    const { events } = this;
    /** @param {How} how */
    const run = (how) => () => {
      if (!this.isProgram) return false;
      events.onRun(how);
      return true;
    };
    const save = () => {
      events.onSave();
      return true;
    };
    return Prec.highest(
      keymap.of([
        { key: "Mod-Enter", run: run("here"), shift: run("all") },
        { key: "Ctrl-Enter", run: run("here"), shift: run("all") },
        { key: "Shift-Enter", run: run("next") },
        { key: "Mod-s", run: save },
        { key: "Tab", run: () => this.onTab(), shift: () => !this.tabLeaves && indentLess(this.view) },
      ]),
    );
  }

  get text() {
    return this.view.state.doc.toString();
  }

  /** @param {string} text of the file after a change that was not made here */
  set text(text) {
    this.replace(text, false);
  }

  /**
   * @param {string} text
   * @param {boolean} isUndoable
   */
  replace(text, isUndoable) {
    const before = this.text;
    const most = Math.min(before.length, text.length);
    let from = 0;
    while (from < most && before[from] === text[from]) from++;
    let end = 0;
    while (end < most - from && before.at(-1 - end) === text.at(-1 - end)) end++;
    this.view.dispatch({
      changes: { from, to: before.length - end, insert: text.slice(from, text.length - end) },
      annotations: Transaction.addToHistory.of(isUndoable),
    });
  }

  get cells() {
    return cellsOf(this.text);
  }

  /** @returns {{ from: number, to: number } | null} */
  get selection() {
    const { from, to } = this.view.state.selection.main;
    return this.view.state.sliceDoc(from, to).trim() ? { from, to } : null;
  }

  /** @returns {Cell} the cell with the caret */
  get cell() {
    return cellAt(this.cells, this.view.state.selection.main.head);
  }

  focus() {
    this.view.focus();
  }

  /**
   * Move the caret to the next cell; after the last one, append a cell.
   *
   * @param {number} at a position in the current cell
   */
  moveOn(at) {
    const next = this.cells.find(({ from }) => from > at);
    const { doc } = this.view.state;
    if (next) {
      const line = doc.lineAt(next.from);
      const anchor = isMarker(line.text) && line.number < doc.lines ? doc.line(line.number + 1).from : line.from;
      this.view.dispatch({ selection: { anchor }, effects: EditorView.scrollIntoView(next.from, { y: "nearest" }) });
      return;
    }
    const insert = `${this.text.endsWith("\n") ? "" : "\n"}\n# %%\n`;
    this.view.dispatch({
      changes: { from: doc.length, insert },
      selection: { anchor: doc.length + insert.length },
      scrollIntoView: true,
      userEvent: "input",
    });
  }

  // Outputs ----------------------------------------------------------------------------------------

  /**
   * Show an output below its code, and remove earlier outputs of that code.
   *
   * @param {HTMLElement} element
   * @param {number} from start of the code
   * @param {number} to
   */
  show(element, from, to) {
    const at = this.view.state.doc.lineAt(endOfCode(this.text, from, to)).to;
    const name = `output-${++this.count}`;
    element.slot = name;
    this.element.append(element);
    this.resizing.observe(element);
    const end = Math.max(to, at); // the last line may end with spaces
    const remove = this.outputs.filter((other) => other.at >= from && other.at <= end).map((other) => other.name);
    this.view.dispatch({ effects: change.of({ remove, add: [{ name, at }] }) });
    this.sweep(false);
  }

  /** @param {HTMLElement[]} [elements] outputs; by default all, except those of running and waiting cells */
  remove(elements) {
    const { running } = this;
    const names = this.outputs.map(({ name }) => name).filter((name) => !running.has(name));
    const remove = elements?.map(({ slot }) => slot) ?? names;
    this.view.dispatch({ effects: change.of({ remove, add: [] }) });
    this.sweep(false);
  }

  /**
   * @param {number} from start of the code of a cell
   * @param {number} to
   * @returns {boolean} whether it runs, or waits to
   */
  isRunning(from, to) {
    const { running } = this;
    return this.outputs.some(({ name, at }) => at >= from && at <= to && running.has(name));
  }

  /** The names of the outputs of running and waiting cells. */
  get running() {
    const blocks = [...this.element.children].filter((block) => block.querySelector(":is(.running, .waiting)"));
    return new Set(blocks.map(({ slot }) => slot));
  }

  get outputs() {
    return this.view.state.field(outputs, false) ?? [];
  }

  /**
   * Remove the outputs that have lost their place in the text.
   *
   * @param {boolean} isEdit their code was removed
   */
  sweep(isEdit) {
    const names = new Set(this.outputs.map(({ name }) => name));
    const gone = /** @type {HTMLElement[]} */ ([...this.element.children].filter(({ slot }) => !names.has(slot)));
    for (const element of gone) {
      this.resizing.unobserve(element);
      element.remove();
    }
    if (gone.length) this.events.onGone(gone, isEdit);
  }

  // Keys -------------------------------------------------------------------------------------------

  /** Tab completes; in the indentation of a line it indents. */
  onTab() {
    if (this.tabLeaves) return false;
    const { state } = this.view;
    const { from, head, empty } = state.selection.main;
    const line = state.sliceDoc(state.doc.lineAt(head).from, head);
    if (!empty && state.sliceDoc(from, state.selection.main.to).includes("\n")) indentMore(this.view);
    else if (!this.isProgram || !line.trim()) this.insert(toNextStep(line));
    else void this.completeOrIndent(line);
    return true;
  }

  /** @param {string} line */
  async completeOrIndent(line) {
    const isCompleted = await complete(this.events.query, this.view);
    if (!isCompleted && line.endsWith(" ")) this.insert(toNextStep(line));
  }

  /** @param {string} text */
  insert(text) {
    this.view.dispatch(this.view.state.replaceSelection(text), { scrollIntoView: true, userEvent: "input" });
  }

  /** @param {KeyboardEvent} event */
  noteKey({ key }) {
    if (MODIFIERS.has(key)) return;
    this.tabLeaves = key === "Escape" && completionStatus(this.view.state) !== "active";
  }

  /** Remove this editor. */
  close() {
    this.resizing.disconnect();
    this.view.destroy();
    this.element.remove();
  }
}

const look = EditorView.theme({
  "&": { height: "100%" },
  ".cm-scroller": { overflow: "auto", scrollbarWidth: "thin", overscrollBehavior: "contain" },
  ".cm-content": { padding: "0.5rem 0 4rem" },
  ".cm-line": { padding: "0 0.75rem 0 0.25rem" },
  ".cm-gutters": { color: "var(--muted)", userSelect: "none" },
  ".cm-lineNumbers .cm-gutterElement": { minWidth: "2.5ch", padding: "0 0.375rem 0 0.5rem", fontSize: "0.75rem" },
  ".cm-runs": { width: "1.25rem" },
  ".cm-run": {
    display: "block",
    color: "var(--accent)",
    fontSize: "0.6875rem",
    textAlign: "center",
    cursor: "pointer",
  },
  ".cm-cell": { boxShadow: "inset 0 1px var(--line)", fontWeight: "600" },
  ".cm-output": { padding: "0.25rem 0.75rem 0.5rem 0.25rem", whiteSpace: "normal", cursor: "auto" },
});
