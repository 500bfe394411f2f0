/**
 * The transcript above the prompt: inputs, printed output, displays, results and errors. Only display/ creates HTML.
 */

import { cut, moreCharacters } from "../ui/bounds.js";
import { copyButton } from "../ui/copying.js";
import { button, focusableWhileItScrolls, h, oncePerFrame } from "../ui/dom.js";
import { highlightedLines } from "../ui/highlight.js";
import { AnswerField } from "./answer.js";
import { drawFailure, lineAtFault } from "./failure.js";
import { RovingFocus } from "./roving.js";
import { TerminalText } from "./terminal.js";

/** @typedef {import("../../worker/protocol.js").Outcome} Outcome */
/** @typedef {import("../../worker/protocol.js").StreamName} StreamName */
/** @typedef {{ element: HTMLElement, draw: () => void }} Shown an entry, or what no input has shown */

/** The inputs of entries. @type {WeakMap<Element, string>} */
const sources = new WeakMap();

/**
 * @param {Element} element of an entry
 * @returns {string} its input, which may be shown in part
 */
export function sourceOf(element) {
  return sources.get(element) ?? "";
}

const ENTRIES = 300;
/** Of an input that is shown. */
const MAX_SOURCE = 20_000;
const MAX_LINES = 1000;
/** A longer one scrolls in a box of its own. */
const WHOLE_CHARACTERS = 10_000;

export class Transcript {
  /**
   * @param {HTMLElement} root
   * @param {HTMLElement} screen the scrolling element
   */
  constructor(root, screen) {
    this.root = root;
    this.screen = screen;
    this.focus = new RovingFocus(root);
    /** @type {Printed | null} the last output that belongs to no input */
    this.stray = null;
    /** Entries that were removed because there are too many. @type {Element[]} */
    this.older = [];
    this.olderNote = h("p", { className: "note", hidden: true });
    root.before(this.olderNote);
    this.wasAtEnd = true;
    this.stayAtEnd();
    this.drawStray = () => {};
    /** Called for output that belongs to no input, and for additions to it. */
    this.onStray = (/** @type {Shown} */ _shown) => {};
    /** Called for entries that were cleared, and for those that were brought back. */
    this.onCleared = (/** @type {Element[]} */ _elements, /** @type {boolean} */ _isCleared) => {};
  }

  /** @param {string} source */
  add(source) {
    const entry = this.entryOf(source);
    this.append(entry.element);
    this.focus.add(entry.element);
    this.scrollToEndSoon();
    return entry;
  }

  /**
   * @param {string} source
   * @returns {Entry} not in the page yet
   */
  entryOf(source) {
    return new Entry(source, this);
  }

  /**
   * Insert entries of an earlier visit above the present ones.
   *
   * @param {Shown[]} shown
   * @param {Node} note a note that explains them
   */
  restore(shown, note) {
    const elements = shown.map(({ element }) => element);
    const kept = elements.slice(-ENTRIES);
    this.keepingEnd(() => this.root.prepend(...kept, note));
    this.setOlder([...elements.slice(0, -ENTRIES), ...this.older]);
    for (const element of kept) this.focus.add(element);
    this.scrollToEnd();
  }

  /** Remove everything: it no longer belongs to the session. */
  empty() {
    this.root.replaceChildren();
    this.stray = null;
    this.setOlder([]);
  }

  /** @param {string} text a message of the page, not of Python */
  note(text) {
    this.append(h("p", { className: "note" }, text));
  }

  /**
   * @param {string} sentence
   * @returns {boolean} whether the last entry ends with this message
   */
  says(sentence) {
    const messages = this.root.lastElementChild?.querySelectorAll(".error, .note") ?? [];
    return [...messages].at(-1)?.textContent?.trimEnd().endsWith(sentence) ?? false;
  }

  /**
   * Show output between inputs, printed by tasks that outlive their input.
   *
   * @param {string} text
   * @param {StreamName} stream
   */
  printStray(text, stream) {
    if (!this.stray || this.root.lastElementChild !== this.stray.element) {
      const stray = new Printed();
      this.stray = stray;
      this.drawStray = oncePerFrame(() => this.keepingEnd(() => stray.draw()));
      this.append(stray.element);
    }
    this.stray.terminal.write(text, stream);
    this.drawStray();
    this.onStray(this.stray);
  }

  /** @param {HTMLElement} display displayed between inputs */
  showStray(display) {
    const element = h("article", { className: "entry" }, display);
    this.append(element);
    this.focus.add(element);
    this.onStray({ element, draw: () => {} });
  }

  /** @param {Node} node */
  append(node) {
    this.keepingEnd(() => this.root.append(node));
    const surplus = [...this.root.children].slice(0, -ENTRIES);
    if (!surplus.length) return;
    for (const element of surplus) element.remove();
    this.setOlder([...this.older, ...surplus.filter((element) => element.matches(".entry"))]);
  }

  /** @param {Element[]} older entries that are not shown */
  setOlder(older) {
    this.older = older;
    const { length } = older;
    const what = length === 1 ? "1 older entry is" : `${length.toLocaleString("en")} older entries are`;
    this.keepingEnd(() => {
      this.olderNote.textContent = `${what} not shown. Links and saved files of the session contain ${length === 1 ? "its input" : "their inputs"}.`;
      this.olderNote.hidden = length === 0;
    });
  }

  /** Clear finished entries, also older ones that are not shown, and offer to bring them back. */
  clear() {
    const cleared = [...this.root.children].filter((node) => !node.matches(".waiting, .running, .cleared"));
    if (!cleared.length) return;
    this.root.querySelector(".cleared")?.remove();
    const removed = new DocumentFragment(); // so that an input that runs again can replace its entry
    removed.append(...cleared);
    const { older } = this;
    this.setOlder([]);
    const undo = h("button", { type: "button", className: "button", textContent: "Undo" });
    const note = h("p", { className: "note cleared" }, "Cleared. ", undo);
    undo.addEventListener("click", () => {
      const restored = [...older, ...removed.children];
      note.replaceWith(removed);
      this.setOlder([...older, ...this.older]);
      this.onCleared(restored, false);
    });
    this.root.prepend(note);
    this.onCleared([...older, ...cleared], true);
  }

  /**
   * Change the transcript, and stay scrolled to its end if it was.
   *
   * @param {() => void} change
   */
  keepingEnd(change) {
    keepingEnd(this.screen, change);
  }

  /** Keep the prompt in view when the size of the screen or of its content changes, as that of a picture does. */
  stayAtEnd() {
    const { screen } = this;
    screen.addEventListener("scroll", () => {
      this.wasAtEnd = isAtEnd(screen);
    });
    const observer = new ResizeObserver(() => {
      if (this.wasAtEnd) this.scrollToEnd();
    });
    observer.observe(screen);
    observer.observe(this.root);
  }

  /** @param {Element} element to scroll into view */
  reveal(element) {
    changing.delete(this.screen); // or the next frame would scroll to the end
    element.scrollIntoView({ block: "nearest" });
    this.wasAtEnd = isAtEnd(this.screen); // the event comes after a change of size in the same frame
  }

  scrollToEndSoon() {
    changing.set(this.screen, true);
    toEnds();
  }

  scrollToEnd() {
    this.screen.scrollTop = this.screen.scrollHeight;
  }
}

/** Printed text, and the field for input that the program asks for. */
export class Printed {
  constructor() {
    const text = h("span");
    this.element = h("pre", { className: "printed" }, text);
    this.terminal = new TerminalText(text);
    /** @type {AnswerField | null} */
    this.field = null;
  }

  draw() {
    if (!this.element.textContent) changing.set(this.element, true); // nothing to measure yet
    keepingEnd(this.element, () => this.terminal.draw());
  }

  /** @param {(line: string) => void} onLine receives the line with its newline; "" is the end of the input */
  ask(onLine) {
    if (!this.field) {
      const field = new AnswerField();
      keepingEnd(this.element, () => this.element.append(field.input));
      this.field = field;
    }
    this.field.ask(onLine);
  }

  /** @param {Printed} other whose input field moves here */
  takeField(other) {
    this.field = other.field;
    other.field = null;
    this.field?.moveTo(this.element);
  }

  /** @returns {string} text typed ahead that no question used */
  closeField() {
    const rest = this.field?.rest ?? "";
    this.field?.input.remove();
    this.field = null;
    return rest;
  }
}

/** One input and its outputs. */
export class Entry {
  /**
   * @param {string} source
   * @param {Transcript} transcript
   */
  constructor(source, transcript) {
    this.transcript = transcript;
    const shown = source.split("\n", MAX_LINES).join("\n").slice(0, MAX_SOURCE);
    const more = source.length - shown.length;
    const lines = highlightedLines(shown).map((pieces, i) =>
      h(
        "div",
        { className: "line" },
        h("span", { className: "prompt" }, i ? "... " : ">>> "),
        h("code", {}, ...pieces),
      ),
    );
    const rest = more > 0 ? [h("p", { className: "note" }, moreCharacters(more))] : [];
    this.element = h("article", { className: "entry waiting" }, h("div", { className: "source" }, ...lines, ...rest));
    sources.set(this.element, source);
    /** @type {Printed | null} */
    this.printed = null;
    /** Where the input was written, if not at the prompt. @type {{ focus: () => void } | null} */
    this.code = null;
    /** Whether the user has left the focus where it was when the input was entered. */
    this.isFocusUnmoved = () => true;
    /** @type {string | null} the traceback */
    this.error = null;
    /** Says why it has not started. @type {HTMLElement | null} */
    this.reason = null;
    /** Stops what it waits for. */
    this.onStopOther = () => {};
    this.drawSoon = oncePerFrame(() => this.draw());
  }

  /**
   * @param {string} words why it does not start at once; "" for no reason
   * @param {{ time?: string, stop?: () => unknown }} [other] time: for how long that runs; stop: stops it
   */
  wait(words, { time = "", stop } = {}) {
    if (!words && !this.reason) return;
    this.reason ??= this.addReason();
    const [text, seconds, rest] = this.reason.children;
    if (text.textContent !== words) text.textContent = words; // a screen reader says it once
    seconds.textContent = time;
    this.reason.hidden = !words;
    /** @type {HTMLElement} */ (rest).hidden = !stop;
    if (stop) this.onStopOther = stop;
  }

  addReason() {
    const stop = button("Stop it", "stop-it", () => this.onStopOther());
    const note = h("p", { className: "note" }, h("span"), h("span", { ariaLive: "off" }), h("span", {}, " · ", stop));
    this.transcript.keepingEnd(() => this.element.append(note));
    return note;
  }

  /** @param {string} text a message of the page, not of Python */
  note(text) {
    this.transcript.keepingEnd(() => this.element.append(h("p", { className: "note" }, text)));
  }

  start() {
    this.reason?.remove();
    this.element.className = "entry running";
  }

  /**
   * @param {string} text
   * @param {string} className
   */
  print(text, className) {
    this.openPrinted().terminal.write(text, className);
    this.drawSoon();
  }

  /**
   * Add a display after the output printed so far, but before an open question.
   *
   * @param {HTMLElement} display
   */
  show(display) {
    const { printed } = this;
    const question = printed?.field ? printed.terminal.takeLine() : [];
    this.draw();
    this.printed = null;
    this.transcript.keepingEnd(() => {
      this.element.append(display);
      if (!printed?.field) return;
      for (const { text, className } of question) this.openPrinted().terminal.write(text, className);
      this.draw();
      this.openPrinted().takeField(printed);
      if (!printed.element.textContent) printed.element.remove();
    });
  }

  openPrinted() {
    if (!this.printed) {
      this.printed = new Printed();
      this.element.append(this.printed.element);
    }
    return this.printed;
  }

  draw() {
    this.transcript.keepingEnd(() => this.printed?.draw());
  }

  /** @param {(line: string) => void} onLine receives the typed line */
  ask(onLine) {
    this.draw();
    this.transcript.keepingEnd(() =>
      this.openPrinted().ask((line) => {
        this.print(line || "\n", "typed");
        onLine(line);
      }),
    );
  }

  /**
   * @param {Outcome} outcome
   * @param {(bundle: import("../../worker/protocol.js").Bundle) => HTMLElement} [draw] rich results
   */
  finish(outcome, draw) {
    const { ok, result, error, rich, isDropped } = outcome;
    this.reason?.remove();
    this.printed?.closeField();
    this.printed?.terminal.end();
    this.draw();
    this.element.className = `entry ${ok ? "done" : isDropped ? "dropped" : "failed"}`;
    this.transcript.keepingEnd(() => {
      const drawn = draw && rich && rich.kind !== "shown" ? draw(rich) : null;
      // HTML that depends on scripts may be empty after sanitizing.
      const isBlank = rich?.kind === "html" && !drawn?.textContent?.trim() && !drawn?.querySelector("img");
      if (result !== null && (!rich || rich.kind === "tensor" || isBlank)) this.element.append(resultBlock(result));
      if (drawn && !isBlank) this.element.append(drawn);
      if (isDropped) this.note(error ?? "Not run.");
      else if (error !== null) this.addFailure(outcome);
      for (const block of this.element.querySelectorAll("pre")) focusableWhileItScrolls(block);
      const isStopped = outcome.interrupted && !this.element.querySelector(":scope > pre"); // there is nothing to copy
      const hasOutput = this.element.childElementCount > 1 && !isDropped && !isStopped;
      if (hasOutput) this.element.children[0].after(this.copyButton());
    });
  }

  /** @param {Outcome} outcome */
  addFailure(outcome) {
    this.error = outcome.interrupted ? null : outcome.error;
    this.element.append(drawFailure(outcome));
    const lines = this.element.querySelectorAll(".source .line");
    if (lines.length > 1) lines[(lineAtFault(outcome) ?? 0) - 1]?.classList.add("at-fault");
  }

  copyButton() {
    const made = copyButton("copy", () => {
      const blocks = this.element.querySelectorAll(":scope > pre:not(.error)");
      const texts = [...blocks].map((block) => block.textContent?.trimEnd());
      return [...texts, this.error].filter(Boolean).join("\n");
    });
    made.title = "Copy this output";
    return made;
  }
}

/**
 * @param {string} text of a result
 * @returns {HTMLElement}
 */
export function resultBlock(text) {
  const shown = cut(text);
  const block = h("pre", { className: "result" });
  const terminal = new TerminalText(block);
  terminal.write(shown, "");
  terminal.draw();
  if (wraps(shown)) block.classList.add("wrapped");
  if (shown.length <= WHOLE_CHARACTERS) block.classList.add("whole");
  return block;
}

/** @param {HTMLElement} scroller */
function isAtEnd({ scrollTop, scrollHeight, clientHeight }) {
  return scrollTop + clientHeight > scrollHeight - 48;
}

/** Those whose content changes, and whether they were at their end before. @type {Map<HTMLElement, boolean>} */
const changing = new Map();

/**
 * The layout is measured once before and once after the changes of a frame: measured at each change, 2,000 displays of
 * one input would block the page for 12 s.
 *
 * @param {HTMLElement} scroller
 * @param {() => void} change of its content
 */
function keepingEnd(scroller, change) {
  if (!changing.has(scroller)) changing.set(scroller, isAtEnd(scroller));
  change();
  toEnds();
}

const toEnds = oncePerFrame(() => {
  for (const [scroller, wasAtEnd] of changing) if (wasAtEnd) scroller.scrollTop = scroller.scrollHeight;
  changing.clear();
});

/**
 * Rows of numbers keep their columns and scroll; a single line, or one longer than any row, wraps.
 *
 * @param {string} text
 */
function wraps(text) {
  return !text.includes("\n") || /^.{160}/m.test(text);
}
