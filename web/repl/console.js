/** The REPL: prompt, transcript and the engine, put together. */

import { byId, h } from "../ui/dom.js";
import { watchColumns } from "./columns.js";
import { isComplete } from "./completeness.js";
import { Editor } from "./editor.js";
import { EXAMPLES } from "./examples.js";
import { inputsOf, isTranscript } from "./text.js";
import { Transcript } from "./transcript.js";

/** @typedef {import("../engine.js").Engine} Engine */
/** @typedef {import("../protocol.js").Info} Info */
/** @typedef {import("../protocol.js").OutputEvent} OutputEvent */
/** @typedef {import("./transcript.js").Entry} Entry */

/** So long after an answer, what is typed answers the next question, should there be one. */
const TYPING_AHEAD_MS = 150;

export class Console {
  /** @param {Engine} engine */
  constructor(engine) {
    this.engine = engine;
    this.screen = byId("screen");
    this.transcript = new Transcript(byId("transcript"), this.screen);
    this.editor = new Editor({
      onEnter: (text, isAsPasted) => this.submit(text, isAsPasted),
      onInterrupt: () => this.interruptOrCancel(),
      onClear: () => this.transcript.clear(),
      onResize: () => this.transcript.scrollToEnd(),
    });
    watchColumns(byId("transcript"), (columns) => engine.resize(columns));
    this.listen();
    this.addExamples();
    this.takeCodeFromAddress();
  }

  listen() {
    byId("clear").addEventListener("click", () => {
      this.transcript.clear();
      this.editor.focus();
    });
    this.screen.addEventListener("click", (event) => this.focusFromClick(event));
    this.engine.addEventListener("output", (event) => {
      const { stream, text } = /** @type {CustomEvent<OutputEvent>} */ (event).detail;
      this.transcript.printStray(text, stream);
    });
    this.engine.addEventListener("ready", (event) => {
      const info = /** @type {CustomEvent<Info>} */ (event).detail;
      this.transcript.note(`py_tensor ${info.version} · Python ${info.python} · pt is imported`);
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
    if (!isTranscript(text) && !isComplete(isAsPasted ? `${text}\n` : text)) {
      this.editor.newLine();
      return;
    }
    this.editor.text = "";
    for (const source of inputsOf(text)) this.run(source);
  }

  /** @param {string} source */
  async run(source) {
    this.editor.history.add(source);
    this.editor.input.placeholder = ""; // it has shown what one types here
    const entry = this.transcript.add(source);
    const reason = this.reasonToWait();
    if (reason) entry.wait(reason);
    const outcome = await this.engine.run(source, {
      onStart: () => entry.start(),
      onOutput: (stream, text) => entry.print(text, stream),
      onAsking: (question) => this.ask(entry, question),
    });
    this.keepingFocus(() => {
      const rest = entry.printed?.closeField();
      entry.finish(outcome);
      if (rest && !outcome.interrupted) this.editor.text = [this.editor.text, rest].filter(Boolean).join("\n");
    });
  }

  /** Where that is not plain to see from the entry above. */
  reasonToWait() {
    if (this.engine.isBenchmarking) return "This runs when the benchmarks have ended.";
    return this.engine.isReady || this.engine.broken ? null : "This runs when Python has started.";
  }

  /**
   * @param {Entry} entry
   * @param {number | null} question
   */
  ask(entry, question) {
    if (question === null) {
      this.keepingFocus(() => entry.printed?.closeField());
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
  leave({ printed }) {
    if (printed?.field?.isIdle) this.keepingFocus(() => printed.closeField());
  }

  /** @param {() => void} change may take away the field that has the focus */
  keepingFocus(change) {
    const wasInTranscript = this.transcript.root.contains(document.activeElement);
    change();
    if (wasInTranscript && document.activeElement === document.body) this.editor.focus();
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

  // Around the prompt ------------------------------------------------------------------------------

  addExamples() {
    const chips = EXAMPLES.map(({ label, code }) => {
      const chip = h("button", { type: "button", className: "chip", title: code, textContent: label });
      chip.addEventListener("click", () => {
        this.run(code);
        if (!isTouchScreen()) this.editor.focus();
      });
      return chip;
    });
    byId("examples").replaceChildren(...chips);
  }

  /** Code that comes with a link (#code=...) is shown, never run by itself. */
  takeCodeFromAddress() {
    if (!location.hash.startsWith("#code=")) return;
    try {
      this.editor.paste(decodeURIComponent(location.hash.slice("#code=".length)));
      this.transcript.note("The code below came with the link. Read it, then press Enter to run it.");
    } catch {
      // A damaged link: nothing to show.
    }
  }

  /** @param {MouseEvent} event */
  focusFromClick(event) {
    const isControl = event.target instanceof Element && event.target.closest("button, summary, input, textarea");
    if (!isControl && document.getSelection()?.isCollapsed) this.editor.focus();
  }
}

/** Where taking the focus would bring up a keyboard over the result. */
function isTouchScreen() {
  return matchMedia("(pointer: coarse)").matches;
}
