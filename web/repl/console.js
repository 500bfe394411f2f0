/** The REPL: prompt, transcript and the engine, put together. */

import { byId, h } from "../ui/dom.js";
import { Editor } from "./editor.js";
import { EXAMPLES } from "./examples.js";
import { looksComplete } from "./text.js";
import { Transcript } from "./transcript.js";

/** @typedef {import("../engine.js").Engine} Engine */
/** @typedef {import("../protocol.js").Info} Info */
/** @typedef {import("../protocol.js").OutputEvent} OutputEvent */

export class Console {
  /** @param {Engine} engine */
  constructor(engine) {
    this.engine = engine;
    this.screen = byId("screen");
    this.transcript = new Transcript(byId("transcript"), this.screen);
    this.editor = new Editor({
      onEnter: (text) => this.submit(text),
      onInterrupt: () => this.interruptOrCancel(),
      onClear: () => this.transcript.clear(),
      onResize: () => this.transcript.scrollToEnd(),
    });
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
      this.transcript.append(h("pre", { className: `printed ${stream}`, textContent: text }));
    });
    this.engine.addEventListener("ready", (event) => {
      const info = /** @type {CustomEvent<Info>} */ (event).detail;
      this.transcript.note(`py_tensor ${info.version} · Python ${info.python} · pt is imported`);
      const isFree = document.activeElement === document.body || document.activeElement === null;
      if (isFree && !isTouchScreen()) this.editor.focus();
    });
  }

  // Running ----------------------------------------------------------------------------------------

  /** @param {string} text */
  async submit(text) {
    if (!text.trim()) return;
    const canAsk = this.engine.isReady && !this.engine.isBusy;
    const isComplete = canAsk ? await this.engine.isComplete(text) : looksComplete(text);
    if (!isComplete) {
      this.editor.newLine();
      return;
    }
    this.editor.text = "";
    await this.run(text.trimEnd());
  }

  /** @param {string} source */
  async run(source) {
    this.editor.history.add(source);
    this.editor.input.placeholder = ""; // it has shown what one types here
    const entry = this.transcript.add(source);
    const outcome = await this.engine.run(source, {
      onStart: () => entry.start(),
      onOutput: (stream, text) => entry.print(stream, text),
    });
    entry.finish(outcome);
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
      this.editor.text = decodeURIComponent(location.hash.slice("#code=".length));
      this.transcript.note("The code below came with the link. Read it, then press Enter to run it.");
    } catch {
      // A damaged link: nothing to show.
    }
  }

  /** @param {MouseEvent} event */
  focusFromClick(event) {
    const isControl = event.target instanceof Element && event.target.closest("button, summary, textarea");
    if (!isControl && document.getSelection()?.isCollapsed) this.editor.focus();
  }
}

/** Where taking the focus would bring up a keyboard over the result. */
function isTouchScreen() {
  return matchMedia("(pointer: coarse)").matches;
}
