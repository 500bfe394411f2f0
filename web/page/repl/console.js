/** The REPL: prompt, transcript and the engine, put together. */

import { Displays } from "../display/displays.js";
import { draw } from "../display/draw.js";
import { byId, h, markMore } from "../ui/dom.js";
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

/**
 * @typedef {object} Keeper hears of what the console shows, to keep it
 * @property {(entry: Entry, source: string, cell?: import("../sessions/record.js").Cell) => void} entered
 * @property {(entry: import("./transcript.js").Shown) => void} dropped it is shown no more
 * @property {(entry: Entry) => void} changed it runs, and may have shown more
 * @property {(entry: Entry, outcome: import("../../worker/protocol.js").Outcome) => void} finished
 * @property {() => void} drafted the prompt holds another text
 */

/** So long after an answer, what is typed answers the next question, should there be one. */
const TYPING_AHEAD_MS = 150;

export class Console {
  /** @param {Engine} engine */
  constructor(engine) {
    this.engine = engine;
    this.screen = byId("screen");
    this.transcript = new Transcript(byId("transcript"), this.screen);
    this.displays = new Displays(engine, (change) => this.transcript.keepingEnd(change));
    /** Says what the code is that was put into the prompt. */
    this.notice = h("p", { className: "offered", id: "offered", hidden: true });
    this.notice.setAttribute("role", "status");
    byId("prompt").before(this.notice);
    /** What the prompt held right after code was put into it. */
    this.offered = "";
    /** @type {Keeper | null} */
    this.keeper = null;
    /** @type {Entry | null} */
    this.running = null;
    this.help = new HelpPanel(this.screen, () => this.editor.focus());
    this.editor = new Editor({
      onEnter: (text, isAsPasted) => this.submit(text, isAsPasted),
      onInterrupt: () => this.interruptOrCancel(),
      onClear: () => this.transcript.clear(),
      onEscape: () => this.closeHelp(),
      onResize: () => this.transcript.scrollToEnd(),
      onChange: () => {
        if (!this.editor.text) this.notice.hidden = true;
        this.keeper?.drafted();
      },
      query: (method, args) => engine.query(method, args),
    });
    watchColumns(byId("transcript"), (columns) => engine.resize(columns));
    this.listen();
    this.addExamples();
    this.addTouchKeys();
  }

  listen() {
    byId("clear").addEventListener("click", () => {
      this.transcript.clear();
      this.editor.focus();
    });
    this.screen.addEventListener("click", (event) => this.focusFromClick(event));
    document.addEventListener("keydown", (event) => this.focusFromKey(event));
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
      this.transcript.note(this.engine.restarted ?? versions);
      const isFree = document.activeElement === document.body || document.activeElement === null;
      if (isFree && !isTouchScreen()) this.editor.focus();
    });
  }

  // Running ----------------------------------------------------------------------------------------

  /**
   * On the keystroke: what is typed next belongs to the next input.
   *
   * @param {string} text
   * @param {boolean} isAsPasted then no empty line is needed to end its last block
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
    this.editor.hidePlaceholder(); // it has shown what one types here
    const entry = this.transcript.add(source);
    const reason = this.reasonToWait();
    if (reason) entry.wait(reason);
    this.keeper?.entered(entry, source);
    void this.run(source, entry);
  }

  /**
   * @param {string} source
   * @param {Entry} entry
   * @param {object} [chain] what is of one chain does not run after one of it has failed
   * @returns {Promise<import("../../worker/protocol.js").Outcome>}
   */
  async run(source, entry, chain) {
    const { keeper } = this;
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
    entry.note(`Help on ${help.name} is shown below; Esc closes it.`);
    this.transcript.scrollToEnd();
  }

  closeHelp() {
    if (!this.help.isOpen) return false;
    this.help.close();
    return true;
  }

  /** Where that is not plain to see from the entry above. */
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
    if (!this.editor.text) entry.printed?.field?.input.focus(); // or what is being typed would be torn apart
  }

  /** @param {Entry} entry has had its answers, and asks for no more */
  leave(entry) {
    const { printed } = entry;
    if (printed?.field?.isIdle) this.keepingFocus(entry, () => printed.closeField());
  }

  /**
   * @param {Entry} entry
   * @param {() => void} change that may remove the field with the focus; then the code that the entry is of gets it
   */
  keepingFocus({ element, code }, change) {
    const hadFocus = element.contains(document.activeElement);
    change();
    if (hadFocus && document.activeElement === document.body) (code ?? this.editor).focus();
  }

  /** Ctrl-C: ends what runs, and forgets what was typed ahead; with nothing running, the input. */
  interruptOrCancel() {
    if (this.engine.isBusy) {
      this.engine.dropQueued();
      this.engine.interrupt();
    } else {
      this.editor.text = "";
    }
  }

  /** As far as that brings up no keyboard over the results. */
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

  /** What a keyboard on a screen lacks. They leave it up, and the focus where it is. */
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
   * Put code into the prompt to be read and run by whoever sits before it. What it takes the place of is not lost:
   * undo brings it back, and it is in the history.
   *
   * @param {string} code
   * @param {string} note what is said about it, as long as the prompt holds it
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
   * What is typed where nothing takes text is meant for the prompt; so is Ctrl-R, which would reload the page.
   *
   * @param {KeyboardEvent} event
   */
  focusFromKey(event) {
    const { key, target } = event;
    const isShortcut = event.metaKey || ((event.ctrlKey || event.altKey) && !event.getModifierState("AltGraph"));
    const isText = [...key].length === 1 && key !== " "; // which presses a button
    if (event.defaultPrevented) return;
    const isSearch = event.ctrlKey && !event.altKey && !event.metaKey && !event.shiftKey && key.toLowerCase() === "r";
    if (isSearch && this.transcript.root.contains(document.activeElement)) event.preventDefault(); // in an answer, too
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
 * @param {EventTarget | null} target of what is typed
 * @returns {boolean} whether the console is shown, and nothing there takes text
 */
function isForPrompt(target) {
  const isElsewhere =
    target instanceof Element && target.closest("#input, .code-editor, input, textarea, select, [popover], dialog");
  return !isElsewhere && !byId("panel-console").hidden;
}

/** Where taking the focus would bring up a keyboard over the result. */
function isTouchScreen() {
  return matchMedia("(pointer: coarse)").matches;
}
