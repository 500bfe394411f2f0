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
  closeSearchPanel,
  completionStatus,
  Decoration,
  EditorState,
  EditorView,
  findNext,
  findPrevious,
  GutterMarker,
  gutter,
  indentLess,
  indentMore,
  keymap,
  lineNumbers,
  MapMode,
  openSearchPanel,
  Prec,
  pythonLanguage,
  StateEffect,
  StateField,
  search,
  Transaction,
  WidgetType,
} from "../vendor/codemirror.js";
import { cellAt, cellsOf, endOfCode, isCodeMarker, isMarker } from "./cells.js";
import { placesOf } from "./notebook.js";

/** @typedef {import("../repl/completion.js").Query} Query */
/** @typedef {import("./cells.js").Cell} Cell */
/** @typedef {import("./notebook.js").Notebook} Notebook */
/** @typedef {import("./notebook.js").Tracked} Tracked */
/**
 * @typedef {"here" | "next" | "all"} How "here": the selection, or else the cell with the caret; "next": the cell with
 *   the caret, then move to the next one
 */
/**
 * @typedef {object} Output
 * @property {string} name of its slot
 * @property {number} from where its code begins
 * @property {number} to where its code ends
 * @property {number} at the end of the line that it is below
 * @property {number} height in px; -1 before it is known
 */
/**
 * @typedef {"replaced" | "cleared" | "edited" | "restored"} Reason why an output is gone; "edited": its code was removed;
 *   "restored": another of an earlier visit is shown there
 */

/**
 * @typedef {object} CodeEvents
 * @property {() => void} onChange the text has changed
 * @property {() => void} onMove the selection has changed
 * @property {(how: How, at?: number) => void} onRun at: start of the cell to run; by default the cell with the caret
 * @property {() => void} onSave
 * @property {(elements: HTMLElement[], reason: Reason) => void} onGone outputs were removed
 * @property {Query} query
 */

const MODIFIERS = new Set(["Shift", "Control", "Alt", "Meta", "Tab"]);

/** @type {import("@codemirror/state").StateEffectType<{ remove: string[], add: Output[] }>} */
const change = StateEffect.define();

/**
 * The new heights of outputs, by name. CodeMirror measures the text again where a decoration has changed. A request to
 * measure is not enough: CodeMirror ignores it while the text is lower than the editor.
 *
 * @type {import("@codemirror/state").StateEffectType<Map<string, number>>}
 */
const resize = StateEffect.define();

/** @type {StateField<Output[]>} */
const outputs = StateField.define({
  /** @returns {Output[]} */
  create: () => [],
  update(before, { changes, effects, newDoc }) {
    const moved = before.flatMap((output) => {
      const place = changes.mapPos(output.at, -1, MapMode.TrackDel);
      if (place === null) return [];
      const { from, to } = output;
      return [{ ...output, from: changes.mapPos(from, 1), to: changes.mapPos(to, -1), at: newDoc.lineAt(place).to }];
    });
    return effects.reduce((found, effect) => {
      if (effect.is(resize)) return found.map((one) => ({ ...one, height: effect.value.get(one.name) ?? one.height }));
      if (!effect.is(change)) return found;
      const { remove, add } = effect.value;
      return [...found.filter(({ name }) => !remove.includes(name)), ...add];
    }, moved);
  },
  provide: (field) =>
    EditorView.decorations.from(field, (found) =>
      Decoration.set(
        found.map(({ name, at, height }) =>
          Decoration.widget({ widget: new Slot(name, height), block: true, side: 1 }).range(at),
        ),
        true,
      ),
    ),
});

/** The place of an output in the text. */
class Slot extends WidgetType {
  /**
   * @param {string} name
   * @param {number} height
   */
  constructor(name, height) {
    super();
    this.name = name;
    this.height = height;
  }

  /**
   * @override
   * @param {Slot} other
   */
  eq(other) {
    return other.name === this.name && other.height === this.height;
  }

  /** @override */
  get estimatedHeight() {
    return this.height;
  }

  /**
   * @override
   * @param {HTMLElement} dom
   */
  updateDOM(dom) {
    return dom.querySelector("slot")?.name === this.name;
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

/** @type {import("@codemirror/state").StateEffectType<Tracked[]>} */
const track = StateEffect.define();

/** Where the cells of the notebook are. @type {StateField<Tracked[]>} */
const tracked = StateField.define({
  /** @returns {Tracked[]} */
  create: () => [],
  update(before, { changes, effects }) {
    const given = effects.find((effect) => effect.is(track));
    if (given || changes.empty) return given?.value ?? before;
    const moved = (/** @type {number} */ at, /** @type {number} */ side) =>
      at < 0 ? at : (changes.mapPos(at, side, MapMode.TrackDel) ?? -1);
    return before.map(({ cell, from, to }) => ({ cell, from: moved(from, 1), to: moved(to, -1) }));
  },
});

/**
 * @param {Notebook} notebook
 * @param {string} text of its program
 * @returns {Tracked[]}
 */
function cellsIn(notebook, text) {
  return placesOf(text).map(({ from, to }, i) => ({ cell: notebook.cells[i], from, to: endOfCode(text, from, to) }));
}

/**
 * Update a notebook from its program that was changed elsewhere.
 *
 * @param {Notebook} notebook
 * @param {string} text
 */
export function followText(notebook, text) {
  const before = notebook.program;
  const start = EditorState.create({ doc: before, extensions: tracked });
  const { state } = start.update({ effects: track.of(cellsIn(notebook, before)) });
  const after = state.update({ changes: replacement(before, text) }).state;
  notebook.follow(text, after.field(tracked));
}

/**
 * @param {string} before
 * @param {string} after
 * @returns {{ from: number, to: number, insert: string }} the part of the text that was replaced
 */
function replacement(before, after) {
  const most = Math.min(before.length, after.length);
  let from = 0;
  while (from < most && before[from] === after[from]) from++;
  let end = 0;
  while (end < most - from && before.at(-1 - end) === after.at(-1 - end)) end++;
  return { from, to: before.length - end, insert: after.slice(from, after.length - end) };
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

/** A mark that runs its cell of code when clicked. Screen readers skip it: the keyboard has Shift-Enter. */
class RunMark extends GutterMarker {
  /** @override */
  toDOM() {
    return h("span", { className: "cm-run", title: "Run this cell (Shift+Enter)" }, "▶");
  }
}
const RUN = new RunMark();

/** The browser's own search would only find the lines that CodeMirror has in the page, which are those near the view. */
const FIND_KEYS = [
  { key: "Mod-f", run: openSearchPanel },
  { key: "F3", run: findNext, shift: findPrevious, preventDefault: true },
  { key: "Mod-g", run: findNext, shift: findPrevious, preventDefault: true },
  { key: "Escape", run: closeSearchPanel },
].map((binding) => ({ ...binding, scope: "editor search-panel" }));
const FIND_WORDS = EditorState.phrases.of({
  next: "Next",
  previous: "Previous",
  "match case": "Match case",
  regexp: "Regular expression",
  "by word": "Whole words",
  replace: "Replace",
  "replace all": "Replace all",
});

export class Code {
  /**
   * @param {string} text
   * @param {string} label accessible name
   * @param {boolean} isProgram
   * @param {CodeEvents} events
   */
  constructor(text, label, isProgram, events) {
    this.events = events;
    this.label = label;
    this.isProgram = isProgram;
    /** Whether Tab moves the focus instead of indenting: after Escape. Without it the keyboard could not leave. */
    this.tabLeaves = false;
    this.count = 0;
    /** The notebook of this program. @type {Notebook | null} */
    this.notebook = null;
    this.element = h("div", { className: "code-editor" });
    const root = this.element.attachShadow({ mode: "open", delegatesFocus: true });
    this.view = new EditorView({ root, parent: root, doc: text, extensions: this.extensions() });
    /** CodeMirror does not notice by itself that an output has changed its height. */
    this.resizing = new ResizeObserver((sizes) => {
      const heights = new Map(sizes.map(({ target, borderBoxSize: [{ blockSize }] }) => [target.slot, blockSize]));
      this.view.dispatch({ effects: resize.of(heights) });
    });
  }

  extensions() {
    const { events } = this;
    const python = [
      signatures(events.query),
      completions(events.query),
      pythonLanguage,
      starts,
      outputs,
      tracked,
      gutter({
        class: "cm-runs",
        lineMarker: (view, { from, to }) => (isCodeMarker(view.state.sliceDoc(from, to)) ? RUN : null),
        lineMarkerChange: ({ docChanged }) => docChanged,
        domEventHandlers: {
          click: (view, { from, to }) => {
            if (!isCodeMarker(view.state.sliceDoc(from, to))) return false;
            events.onRun("here", from);
            return true;
          },
        },
      }),
    ];
    return [
      this.keys(),
      ...(this.isProgram ? python : []),
      search({ top: true }),
      keymap.of(FIND_KEYS),
      FIND_WORDS,
      lineNumbers(),
      look, // before `writing`, whose theme it overrides
      writing,
      EditorView.contentAttributes.of(() => ({ "aria-label": this.label })),
      EditorView.domEventObservers({
        keydown: (event) => this.noteKey(event),
        blur: () => {
          this.tabLeaves = false;
        },
      }),
      EditorView.updateListener.of(({ docChanged, selectionSet }) => {
        if (docChanged) this.sweep("edited");
        if (docChanged) events.onChange();
        if (docChanged || selectionSet) events.onMove();
      }),
    ];
  }

  /** @param {string} label accessible name */
  rename(label) {
    this.label = label;
    this.view.dispatch({});
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
    this.view.dispatch({
      changes: replacement(this.text, text),
      annotations: Transaction.addToHistory.of(isUndoable),
    });
  }

  /** Note where the cells of the notebook are, of which this text is the program. */
  track() {
    this.view.dispatch({ effects: track.of(this.notebook ? cellsIn(this.notebook, this.text) : []) });
  }

  /** Update the notebook from this text. */
  updateNotebook() {
    this.notebook?.follow(this.text, this.view.state.field(tracked));
    this.track();
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

  /** Move the caret to the end of the text. */
  toEnd() {
    this.view.dispatch({ selection: { anchor: this.text.length } });
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
      const anchor = this.codeFrom(next.from);
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
   * @param {{ from: number, to: number, isPart: boolean }} code isPart: it may be a part of a cell, whose output stays
   * @param {Reason} reason why the earlier outputs are removed
   * @returns {Element[]} the removed outputs
   */
  show(element, { from, to, isPart }, reason) {
    const output = this.place(element, this.text, from, to);
    const end = Math.max(to, output.at); // the last line may end with spaces
    const below = this.outputs.filter((other) => other.at >= from && other.at <= end);
    const isOf = (/** @type {Output} */ other) => !isPart || (other.from >= from && other.to <= output.to);
    const remove = below.filter(isOf).map((other) => other.name);
    this.view.dispatch({ effects: change.of({ remove, add: [output] }) });
    return this.sweep(reason);
  }

  /**
   * Show outputs below code that has none, in one change of the text.
   *
   * @param {{ element: HTMLElement, from: number, to: number }[]} shown
   */
  showAll(shown) {
    const { text } = this;
    const add = shown.map(({ element, from, to }) => this.place(element, text, from, to));
    this.view.dispatch({ effects: change.of({ remove: [], add }) });
  }

  /**
   * @param {HTMLElement} element
   * @param {string} text
   * @param {number} from where its code begins in the text
   * @param {number} to
   * @returns {Output}
   */
  place(element, text, from, to) {
    const last = endOfCode(text, from, to);
    const name = `output-${++this.count}`;
    element.slot = name;
    this.element.append(element);
    this.resizing.observe(element);
    return { name, from: this.codeFrom(from), to: last, at: this.view.state.doc.lineAt(last).to, height: -1 };
  }

  /**
   * @param {number} from start of a cell or a part of one
   * @returns {number} the start of its first line that is not a marker
   */
  codeFrom(from) {
    const { doc } = this.view.state;
    const line = doc.lineAt(from);
    return isMarker(line.text) && line.number < doc.lines ? doc.line(line.number + 1).from : from;
  }

  /** @param {HTMLElement[]} [elements] outputs; by default all, except those of running and waiting cells */
  remove(elements) {
    const { running } = this;
    const names = this.outputs.map(({ name }) => name).filter((name) => !running.has(name));
    const remove = elements?.map(({ slot }) => slot) ?? names;
    this.view.dispatch({ effects: change.of({ remove, add: [] }) });
    this.sweep("cleared");
  }

  /**
   * @param {Element} element an output
   * @returns {Cell | undefined} the cell above it
   */
  cellOf(element) {
    const output = this.outputs.find(({ name }) => name === element.slot);
    return output && cellAt(this.cells, output.at);
  }

  /**
   * Scroll to an output, or to the error in it.
   *
   * @param {Element} element
   * @param {boolean} [isForTyping] whether to move the caret into its cell
   */
  reveal(element, isForTyping = false) {
    const output = this.outputs.find(({ name }) => name === element.slot);
    if (!output) return;
    const { at } = output;
    const selection = isForTyping ? { selection: { anchor: at } } : {};
    this.view.dispatch({ ...selection, effects: EditorView.scrollIntoView(at, { y: "nearest" }) });
    if (isForTyping) this.focus();
    requestAnimationFrame(() => (element.querySelector(".error") ?? element).scrollIntoView({ block: "nearest" }));
  }

  /**
   * @param {number} from start of the code of a cell
   * @param {number} to
   * @returns {Element[]} its outputs that are running or waiting
   */
  runningIn(from, to) {
    const { running } = this;
    const found = this.outputs.filter(({ name, at }) => at >= from && at <= to && running.has(name));
    const names = new Set(found.map(({ name }) => name));
    return [...this.element.children].filter(({ slot }) => names.has(slot));
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
   * @param {Reason} reason
   * @returns {Element[]} these outputs
   */
  sweep(reason) {
    const names = new Set(this.outputs.map(({ name }) => name));
    const gone = /** @type {HTMLElement[]} */ ([...this.element.children].filter(({ slot }) => !names.has(slot)));
    for (const element of gone) {
      this.resizing.unobserve(element);
      element.remove();
    }
    if (gone.length) this.events.onGone(gone, reason);
    return gone;
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
  ".cm-scroller": { overflow: "auto", scrollbarWidth: "thin", overscrollBehaviorX: "contain" },
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
  ".cm-panels": { backgroundColor: "var(--sunken)", color: "var(--ink)", fontFamily: "var(--sans)" },
  ".cm-panels.cm-panels-top": { borderBottom: "1px solid var(--line)" },
  ".cm-panel.cm-search": { padding: "0.25rem 2rem 0.25rem 0.5rem" },
  ".cm-panel.cm-search [name=select]": { display: "none" }, // there is one selection at a time
  ".cm-panel.cm-search label": {
    display: "inline-flex",
    alignItems: "center",
    minHeight: "1.5rem",
    fontSize: "0.8125rem",
  },
  ".cm-panel.cm-search [name=close]": { width: "1.75rem", height: "1.75rem", fontSize: "1.125rem", cursor: "pointer" },
  ".cm-textfield, .cm-button": {
    minHeight: "1.5rem",
    border: "1px solid var(--line)",
    borderRadius: "6px",
    background: "var(--surface)",
    color: "var(--ink)",
    fontSize: "0.8125rem",
  },
  ".cm-panel :is(input, button):focus-visible": { outline: "2px solid var(--accent)" },
  ".cm-searchMatch": { backgroundColor: "var(--warn-soft)" },
  ".cm-searchMatch-selected": { outline: "2px solid var(--accent)" },
  ".cm-output": { padding: "0.25rem 0.75rem 0.5rem 0.25rem", whiteSpace: "normal", cursor: "auto" },
});
