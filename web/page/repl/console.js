/** The REPL: prompt, transcript and the engine, put together. */

import { Displays } from "../display/displays.js";
import { draw } from "../display/draw.js";
import { byId, h, markMore, watchFocus } from "../ui/dom.js";
import { watchColumns } from "./columns.js";
import { isComplete } from "./completeness.js";
import { Editor } from "./editor.js";
import { EXAMPLES } from "./examples.js";
import { HelpPanel } from "./help.js";
import { helpRequest, inputsOf, isTranscript, pasted } from "./text.js";
import { Transcript } from "./transcript.js";

/** @typedef {import("../engine.js").Engine} Engine */
/** @typedef {import("../../worker/protocol.js").Info} Info */
/** @typedef {import("../../worker/protocol.js").DisplayEvent} DisplayEvent */
/** @typedef {import("../../worker/protocol.js").OutputEvent} OutputEvent */
/** @typedef {import("./help.js").Help} Help */
/** @typedef {import("./transcript.js").Entry} Entry */
/** @typedef {import("./transcript.js").Shown} Shown */

/**
 * @typedef {object} Keeper notified of what the console shows, in order to store it
 * @property {(entry: Entry, source: string, cell?: import("../sessions/record.js").Cell, replaced?: Shown[]) => void} entered
 *   replaced: entries that were dropped because this one shows the output of their code
 * @property {(entry: Shown) => void} dropped it is no longer shown
 * @property {(entry: Entry) => void} changed it is running, and may have new output
 * @property {(entry: Entry, outcome: import("../../worker/protocol.js").Outcome) => void} finished
 * @property {() => void} drafted the text of the prompt changed
 */

/** The input field stays open this long after an answer, in case another question follows. */
const TYPING_AHEAD_MS = 150;
const LOST = "All variables are lost.";

export class Console {
  /** @param {Engine} engine */
  constructor(engine) {
    this.engine = engine;
    this.screen = byId("screen");
    this.transcript = new Transcript(byId("transcript"), this.screen);
    this.displays = new Displays(engine, (change) => this.transcript.keepingEnd(change));
    /** A note about code that was put into the prompt. */
    this.notice = h("p", { className: "offered", id: "offered", hidden: true });
    this.notice.setAttribute("role", "status");
    byId("prompt").before(this.notice);
    /** The text of the prompt right after code was put into it. */
    this.offered = "";
    /** @type {Keeper | null} */
    this.keeper = null;
    /** @type {Entry | null} */
    this.running = null;
    /** What got the focus when a question was answered. @type {Element | null} */
    this.returned = null;
    this.help = new HelpPanel(this.screen, () => this.editor.focus());
    this.editor = new Editor({
      onEnter: (text, isAsPasted) => this.submit(text, isAsPasted),
      onInterrupt: () => this.interruptOrCancel(),
      onClear: () => this.transcript.clear(),
      onEscape: () => this.closeHelp(),
      onResize: () => this.transcript.scrollToEnd(),
      onChange: () => {
        this.sayWhatTabDoes();
        if (!this.editor.text) this.notice.hidden = true;
        this.keeper?.drafted();
      },
      query: (method, args) => engine.query(method, args),
    });
    this.sayWhatTabDoes();
    watchColumns(byId("transcript"), (columns) => engine.resize(columns));
    this.listen();
    this.addExamples();
    this.addTouchKeys();
  }

  sayWhatTabDoes() {
    byId("keys").classList.toggle("has-text", this.editor.text !== "");
  }

  listen() {
    byId("clear").addEventListener("click", () => {
      this.transcript.clear();
      this.editor.focus();
    });
    this.screen.addEventListener("click", (event) => this.focusFromClick(event));
    document.addEventListener("keydown", (event) => this.focusFromKey(event));
    document.addEventListener("keydown", (event) => this.closeHelpByKey(event));
    document.addEventListener("paste", (event) => this.takePaste(event));
    this.engine.addEventListener("output", (event) => {
      const { stream, text } = /** @type {CustomEvent<OutputEvent>} */ (event).detail;
      this.transcript.printStray(text, stream);
    });
    this.engine.addEventListener("display", (event) => {
      const { number, bundle, isUpdate } = /** @type {CustomEvent<DisplayEvent>} */ (event).detail;
      if (isUpdate) {
        this.displays.update(number, bundle);
        if (this.running) this.keeper?.changed(this.running);
      } else this.transcript.showStray(this.displays.create(number, bundle));
    });
    const sayWhatIsLost = () => {
      if (this.editor.history.isDamaged)
        this.transcript.note("The saved input history was damaged. What is left is kept.");
    };
    this.engine.addEventListener("ready", sayWhatIsLost, { once: true });
    this.engine.addEventListener("ready", (event) => {
      const info = /** @type {CustomEvent<Info>} */ (event).detail;
      const versions = `py_tensor ${info.version} · Python ${info.python} · pt is imported`;
      const { restarted } = this.engine;
      const isSaid = restarted !== null && this.transcript.says(restarted);
      const lost = isSaid ? LOST : `${restarted} ${LOST}`;
      this.transcript.note(restarted === null ? versions : lost);
      const isFree = document.activeElement === document.body || document.activeElement === null;
      if (isFree && !isTouchScreen()) this.editor.focus();
    });
  }

  // Running ----------------------------------------------------------------------------------------

  /**
   * Called on the keystroke, so that later keystrokes belong to the next input.
   *
   * @param {string} text
   * @param {boolean} isAsPasted its last block needs no empty line to end it
   */
  submit(text, isAsPasted) {
    if (!text.trim()) return;
    if (!isTranscript(text) && !helpRequest(text) && !isComplete(isAsPasted ? `${text}\n` : text)) {
      this.editor.newLine();
      return;
    }
    this.editor.text = "";
    for (const source of inputsOf(text)) this.enter(source);
  }

  /** @param {string} source */
  enter(source) {
    this.editor.history.add(source);
    this.editor.hidePlaceholder(); // it showed what can be typed here
    const entry = this.transcript.add(source);
    const reason = this.reasonToWait();
    if (reason) entry.wait(reason);
    this.keeper?.entered(entry, source);
    void this.run(source, entry);
  }

  /**
   * @param {string} source
   * @param {Entry} entry
   * @param {object} [chain] after a failure, the remaining runs of the same chain do not start
   * @returns {Promise<import("../../worker/protocol.js").Outcome>}
   */
  async run(source, entry, chain) {
    const { keeper } = this;
    entry.isFocusUnmoved = watchFocus();
    /** @type {import("../engine.js").Listener} */
    const listener = {
      chain,
      onStart: (id) => {
        this.displays.begin(id, entry.element);
        entry.start();
        this.running = entry;
        keeper?.changed(entry);
      },
      onOutput: (stream, text) => {
        entry.print(text, stream);
        keeper?.changed(entry);
      },
      onDisplay: (number, bundle) => {
        entry.show(this.displays.create(number, bundle));
        keeper?.changed(entry);
      },
      onAsking: (question) => this.ask(entry, question),
    };
    const request = helpRequest(source);
    const outcome = await (request ? this.engine.help(request, source, listener) : this.engine.run(source, listener));
    if (this.running === entry) this.running = null;
    this.keepingFocus(entry, () => {
      const rest = entry.printed?.closeField();
      entry.finish(outcome, (bundle) => draw(bundle, this.displays).element);
      if (rest && !outcome.interrupted) this.editor.text = [this.editor.text, rest].filter(Boolean).join("\n");
    });
    if (outcome.help) this.showHelp(outcome.help, entry);
    keeper?.finished(entry, outcome);
    return outcome;
  }

  /**
   * @param {Help} help
   * @param {Entry} entry that asked for it
   */
  showHelp(help, entry) {
    this.help.show(help);
    entry.note(`Help on ${help.name} is open in the console, where ${isTouchScreen() ? "Close" : "Esc"} closes it.`);
    this.transcript.scrollToEnd();
  }

  /**
   * Escape closes the help, unless it closes something else or is typed in a text field.
   *
   * @param {KeyboardEvent} event
   */
  closeHelpByKey({ key, isComposing, defaultPrevented, target }) {
    if (key !== "Escape" || isComposing || defaultPrevented || document.querySelector(":popover-open")) return;
    if (isForPrompt(target)) this.closeHelp();
  }

  closeHelp() {
    if (!this.help.isOpen) return false;
    this.help.close();
    return true;
  }

  /** The reason, unless the entry above makes it obvious. */
  reasonToWait() {
    if (this.engine.isBenchmarking) return "This runs when the benchmarks are done.";
    return this.engine.isReady || this.engine.broken ? null : "This runs when Python is ready.";
  }

  /**
   * @param {Entry} entry
   * @param {number | null} question
   */
  ask(entry, question) {
    if (question === null) {
      this.keepingFocus(entry, () => entry.printed?.closeField());
      return;
    }
    entry.ask((line) => {
      this.engine.answer(question, line);
      clearTimeout(this.leaving);
      this.leaving = setTimeout(() => this.leave(entry), TYPING_AHEAD_MS);
    });
    const { activeElement } = document;
    const isHere = entry.isFocusUnmoved() || activeElement === this.returned || entry.element.contains(activeElement);
    if (isHere && !this.editor.text) entry.printed?.field?.input.focus(); // do not take it from where the user types
  }

  /** @param {Entry} entry which has its answers and asks for no more */
  leave(entry) {
    const { printed } = entry;
    if (printed?.field?.isIdle) this.keepingFocus(entry, () => printed.closeField());
  }

  /**
   * @param {Entry} entry
   * @param {() => void} change that may remove the focused field; then the entry's code gets the focus
   */
  keepingFocus(entry, change) {
    const hadFocus = entry.element.contains(document.activeElement);
    change();
    if (!hadFocus || document.activeElement !== document.body) return;
    (entry.code ?? this.editor).focus();
    this.returned = document.activeElement;
  }

  /** Ctrl-C: interrupt what runs and discard input typed ahead; if nothing runs, clear the prompt. */
  interruptOrCancel() {
    if (this.engine.isBusy) {
      this.engine.dropQueued();
      this.engine.interrupt();
    } else {
      this.editor.text = "";
    }
  }

  /** Focus the prompt, unless that would open an on-screen keyboard over the results. */
  focus() {
    if (!isTouchScreen()) this.editor.focus();
  }

  // Around the prompt ------------------------------------------------------------------------------

  addExamples() {
    const chips = EXAMPLES.map(({ label, code }) => {
      const chip = h("button", { type: "button", className: "chip", title: code, textContent: label });
      chip.addEventListener("click", () => {
        this.enter(code);
        this.focus();
      });
      return chip;
    });
    const strip = byId("examples");
    strip.replaceChildren(...chips);
    markMore(strip);
  }

  /** Keys that on-screen keyboards lack. They keep the keyboard open and the focus in place. */
  addTouchKeys() {
    /** @type {[label: string, name: string, press: () => unknown][]} */
    const keys = [
      ["↑", "Earlier input", () => this.editor.walk(-1)],
      ["↓", "Later input", () => this.editor.walk(1)],
      ["Tab", "Complete", () => this.editor.onTab()],
      ["↵", "New line", () => this.editor.newLine()],
    ];
    const buttons = keys.map(([label, name, press]) => {
      const button = h("button", { type: "button", className: "button quiet", textContent: label });
      button.setAttribute("aria-label", name);
      button.addEventListener("pointerdown", (event) => event.preventDefault());
      button.addEventListener("click", press);
      return button;
    });
    byId("touch-keys").replaceChildren(...buttons);
  }

  /**
   * Put code into the prompt for the user to read and run. The text that it replaces can be restored by undo and from
   * the history.
   *
   * @param {string} code
   * @param {string} note shown while the prompt holds the code
   */
  offer(code, note) {
    const draft = this.editor.text;
    const isKept = draft.trim() !== "" && draft !== this.offered && draft !== pasted(code);
    if (isKept) this.editor.history.add(draft);
    this.editor.focus();
    this.editor.replace(code);
    this.offered = this.editor.text;
    this.notice.textContent = isKept ? `${note} Undo restores what you had typed.` : note;
    this.notice.hidden = false;
    this.transcript.scrollToEnd();
  }

  /**
   * Text typed outside any field goes to the prompt, as does Ctrl-R, which would otherwise reload the page.
   *
   * @param {KeyboardEvent} event
   */
  focusFromKey(event) {
    const { key, target } = event;
    const isShortcut = event.metaKey || ((event.ctrlKey || event.altKey) && !event.getModifierState("AltGraph"));
    const isText = [...key].length === 1 && key !== " "; // these keys press a button
    if (event.defaultPrevented) return;
    const isSearch = event.ctrlKey && !event.altKey && !event.metaKey && !event.shiftKey && key.toLowerCase() === "r";
    if (isSearch && this.transcript.root.contains(document.activeElement)) event.preventDefault(); // in answers too
    if (!isForPrompt(target)) return;
    if (isText && !isShortcut) this.editor.focus();
    if (isSearch) {
      event.preventDefault();
      this.editor.onSearch();
    }
  }

  /** @param {ClipboardEvent} event */
  takePaste(event) {
    const text = event.clipboardData?.getData("text/plain");
    if (!text || event.defaultPrevented || !isForPrompt(event.target)) return;
    event.preventDefault();
    this.editor.focus();
    this.editor.paste(text);
  }

  /** @param {MouseEvent} event */
  focusFromClick(event) {
    const isControl =
      event.target instanceof Element && event.target.closest("button, summary, input, textarea, .display, .tensor");
    if (!isControl && document.getSelection()?.isCollapsed) this.editor.focus();
  }
}

/**
 * @param {EventTarget | null} target of the key event
 * @returns {boolean} whether the console is shown and the target takes no text
 */
function isForPrompt(target) {
  const isElsewhere =
    target instanceof Element && target.closest("#input, .code-editor, input, textarea, select, [popover], dialog");
  return !isElsewhere && !byId("panel-console").hidden;
}

/** Whether focusing would open an on-screen keyboard over the result. */
function isTouchScreen() {
  return matchMedia("(pointer: coarse)").matches;
}
