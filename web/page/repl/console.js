/** The REPL: prompt, transcript and the engine, put together. */

import { Displays } from "../display/displays.js";
import { draw } from "../display/draw.js";
import { cutLabel } from "../ui/bounds.js";
import { byId, h, isTouchScreen, markMore, watchFocus } from "../ui/dom.js";
import { keyButton, runKey, touchKeys } from "../ui/touch_keys.js";
import { watchColumns } from "./columns.js";
import { isComplete } from "./completeness.js";
import { Editor } from "./editor.js";
import { EXAMPLES } from "./examples.js";
import { HelpPanel } from "./help.js";
import { asksForKeys, helpRequest, inputsOf, isTranscript, pasted } from "./text.js";
import { Transcript } from "./transcript.js";
import { sayWhatItWaitsFor } from "./waiting.js";

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
/** On-screen keyboards are higher; the browser's own bars are lower. */
const KEYBOARD_PX = 120;

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
    /** Shows the list of keys. */
    this.onAskForKeys = () => {};
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
    const transcript = byId("transcript");
    watchColumns(transcript, (columns) =>
      engine.resize(columns, { width: transcript.clientWidth, height: this.screen.clientHeight }),
    );
    this.listen();
    this.addExamples();
    this.addTouchKeys();
    this.stayInView();
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
      if (isUpdate) this.displays.update(number, bundle);
      else this.transcript.showStray(this.displays.create(number, bundle));
    });
    const sayWhatIsLost = () => {
      const { problem } = this.editor.history;
      if (problem) this.transcript.note(problem);
    };
    this.engine.addEventListener("ready", sayWhatIsLost, { once: true });
    this.editor.history.onUnsaved = (reason) => this.transcript.note(`The input history is not saved: ${reason}.`);
    this.engine.addEventListener("ready", (event) => {
      const info = /** @type {CustomEvent<Info>} */ (event).detail;
      const versions = `py_tensor ${info.version} · Python ${info.python} · pt is imported`;
      const { restarted } = this.engine;
      const isSaid = restarted !== null && this.transcript.says(restarted);
      const lost = isSaid ? LOST : `${restarted} ${LOST}`;
      this.transcript.note(restarted === null ? versions : lost);
      const isFree = document.activeElement === document.body || document.activeElement === null;
      const isInView = byId("console").getBoundingClientRect().bottom <= innerHeight; // or the page would scroll by itself
      if (isFree && isInView && !isTouchScreen()) this.editor.focus();
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
    const isRequest = helpRequest(text) || asksForKeys(text);
    if (!isTranscript(text) && !isRequest && !isComplete(isAsPasted ? `${text}\n` : text)) {
      this.editor.newLine();
      return;
    }
    this.editor.text = "";
    const chain = {};
    const inputs = inputsOf(text);
    this.editor.history.addAll(inputs);
    for (const source of inputs) this.enter(source, chain);
  }

  /**
   * @param {string} source
   * @param {object} [chain] shared by inputs entered together: once one is interrupted, the others do not start
   */
  enter(source, chain) {
    this.editor.hidePlaceholder(); // it showed what can be typed here
    if (asksForKeys(source)) {
      this.onAskForKeys();
      return;
    }
    const entry = this.transcript.add(source);
    this.keeper?.entered(entry, source);
    void this.run(source, entry, { chain, goesOn: true });
  }

  /**
   * @param {string} source
   * @param {Entry} entry
   * @param {Pick<import("../engine.js").Listener, "name" | "chain" | "goesOn">} [options]
   * @returns {Promise<import("../../worker/protocol.js").Outcome>}
   */
  async run(source, entry, options = {}) {
    const { keeper } = this;
    entry.isFocusUnmoved = watchFocus();
    /** @type {import("../engine.js").Listener} */
    const listener = {
      ...options,
      onStart: (id) => {
        stopWaiting();
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
    const stopWaiting = sayWhatItWaitsFor(this.engine, listener, entry);
    const outcome = await (request ? this.engine.help(request, source, listener) : this.engine.run(source, listener));
    stopWaiting(); // it may not have started
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
    entry.note(
      `Help on ${cutLabel(help.name)} is open in the console. Close it with ${isTouchScreen() ? "Close" : "Esc"}.`,
    );
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

  /**
   * @param {Entry} entry
   * @param {number | null} question
   */
  ask(entry, question) {
    if (question === null) {
      this.keepingFocus(entry, () => entry.printed?.closeField());
      return;
    }
    if (!entry.element.isConnected) this.transcript.append(entry.element); // it was cleared, and runs again
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

  /** Ctrl-C: interrupt what runs; input typed ahead runs then. If nothing runs, clear the prompt. */
  interruptOrCancel() {
    if (this.engine.isBusy) {
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
        this.editor.history.add(code);
        this.enter(code);
        this.focus();
      });
      return chip;
    });
    const strip = byId("examples");
    strip.replaceChildren(...chips);
    markMore(strip);
  }

  addTouchKeys() {
    /** @type {import("../ui/touch_keys.js").Key[]} */
    const keys = [
      ["↑", "Earlier input", () => this.editor.walk(-1)],
      ["↓", "Later input", () => this.editor.walk(1)],
      ["Tab", "Complete", () => this.editor.onTab()],
    ];
    const row = touchKeys(keys, (symbol) => this.editor.type(symbol));
    row.id = "touch-keys";
    byId("keys").before(row, keyButton(["↵ New line", "New line", () => this.editor.newLine()]));
    byId("console-foot").append(runKey(() => this.answerOrSubmit()));
  }

  /** Scroll the page to the console when its prompt gets the focus, and when an on-screen keyboard has opened for it. */
  stayInView() {
    const reveal = () => byId("console").scrollIntoView({ block: "nearest" });
    const prompt = byId("input");
    prompt.addEventListener("focusin", reveal);
    let height = innerHeight;
    window.addEventListener("resize", () => {
      const isKeyboard = isTouchScreen() && innerHeight < height - KEYBOARD_PX;
      height = innerHeight;
      if (isKeyboard && document.activeElement === prompt) reveal();
    });
  }

  /** The Run key of a touch screen. It ends a block without an empty line. */
  answerOrSubmit() {
    if (!this.answer()) this.submit(this.editor.text, true);
  }

  /**
   * Send what is typed in the field for `input()`, unless the user writes at the prompt.
   *
   * @returns {boolean} whether there is such a field
   */
  answer() {
    const field = this.running?.printed?.field;
    if (!field) return false;
    const isHere = document.activeElement === field.input;
    if (!isHere && (this.editor.text || !field.input.value)) return false;
    field.enter(`${field.input.value}\n`);
    return true;
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
