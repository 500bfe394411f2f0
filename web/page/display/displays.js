/** The displays of Python, by number: new ones, and updates in place at the screen's refresh rate. */

import { h } from "../ui/dom.js";
import { discard } from "./bundles.js";
import { CHANGED } from "./controls.js";
import { draw } from "./draw.js";
import { restorable, storable } from "./keeping.js";

/** @typedef {import("../engine.js").Engine} Engine */
/** @typedef {import("../../worker/protocol.js").DisplayEvent} DisplayEvent */
/** @typedef {import("../../worker/protocol.js").DueEvent} DueEvent */
/** @typedef {import("./bundles.js").Bundle} Bundle */
/** @typedef {import("./controls.js").ControlsPanel} ControlsPanel */
/** @typedef {import("./draw.js").Drawn} Drawn */

/** Number of displays that can still be updated. */
const UPDATABLE = 200;
/** The output below a cell of a program (editor/running.js). */
const CELL_OUTPUT = ".cell-output";
/** A hidden page gets no animation frames, so a timer replaces them after this time. */
const LONGEST_FRAME_MS = 100;

export class Displays {
  /**
   * @param {Engine} engine
   * @param {(change: () => void) => void} around wraps changes of the transcript's height
   */
  constructor(engine, around) {
    this.engine = engine;
    this.around = around;
    /** @type {Map<number, Shown>} */
    this.shown = new Map();
    /** @type {WeakMap<Element, Shown>} */
    this.byElement = new WeakMap();
    /** The panels that show the output of controls, by their numbers in Python. @type {Map<number, ControlsPanel>} */
    this.panels = new Map();
    /** The outputs of cells, by the ids of their commands. @type {Map<number, Element>} */
    this.cells = new Map();
    /** The displays with updates that are not drawn yet, with the number of these. @type {Map<number, number>} */
    this.pending = new Map();
    /** Resolved once all updates so far have been drawn. @type {Promise<void>} */
    this.updated = Promise.resolve();
    engine.addEventListener("ready", () => this.forget());
    engine.addEventListener("due", (event) => {
      const { number, targets } = /** @type {CustomEvent<DueEvent>} */ (event).detail;
      if (!targets) this.panels.get(number)?.retire();
      for (const target of targets ?? []) {
        const panel = this.panels.get(target);
        if (panel?.element.isConnected) panel.request(target); // the cell may have run again since
      }
    });
  }

  /** A new Python starts its numbers again. */
  forget() {
    for (const { drawn } of this.shown.values()) drawn.retire?.();
    this.shown.clear();
    this.panels.clear();
    this.cells.clear();
  }

  /**
   * A run begins.
   *
   * @param {number} id
   * @param {Element} entry for its output
   */
  begin(id, entry) {
    this.sweep();
    if (entry.closest(CELL_OUTPUT)) this.cells.set(id, entry);
  }

  /** Make Python drop what cells registered, once their output has been cleared or replaced. */
  sweep() {
    for (const [id, entry] of this.cells) {
      const root = entry.getRootNode();
      if (!(root instanceof Element && root.matches(CELL_OUTPUT))) continue; // another view of the page may be open
      this.cells.delete(id);
      this.engine.forget(id);
    }
  }

  /**
   * @param {number} number
   * @param {Bundle} bundle
   * @returns {HTMLElement} to be put into the transcript
   */
  create(number, bundle) {
    const shown = new Shown(bundle, this);
    this.shown.set(number, shown);
    this.byElement.set(shown.element, shown);
    while (this.shown.size > UPDATABLE) this.dropOldest();
    return shown.element;
  }

  /** Stop updating an empty display, or else the one that was shown or updated longest ago. */
  dropOldest() {
    const all = [...this.shown];
    const [number, oldest] = all.find(([, { isEmpty }]) => isEmpty) ?? all[0];
    if (oldest.isEmpty) oldest.element.remove();
    oldest.drawn.retire?.();
    this.shown.delete(number);
  }

  /**
   * @param {Element} element of a display
   * @returns {Promise<Bundle | null>} its present content in a form that the browser can store
   */
  async storable(element) {
    const shown = this.byElement.get(element);
    if (shown?.isEmpty) return null;
    if (shown?.drawn.stored) return shown.drawn.stored();
    return shown ? storable(shown.facts, shown.element) : null;
  }

  /**
   * @param {Bundle} bundle of an earlier visit, whose Python is gone
   * @returns {HTMLElement} to be put into the transcript
   */
  restored(bundle) {
    const shown = new Shown(restorable(bundle), this);
    this.byElement.set(shown.element, shown);
    return shown.element;
  }

  /**
   * @param {Bundle} bundle of a result of an earlier visit
   * @returns {HTMLElement}
   */
  restoredResult(bundle) {
    return draw(restorable(bundle), this).element;
  }

  /**
   * Draw in the next frame, or at once if there is nothing to draw: a chart that has moved on is not to be seen here.
   * Then notify Python.
   *
   * @param {number} number
   * @param {Bundle} bundle
   */
  update(number, bundle) {
    let isDone = false;
    /** @type {() => void} */
    let tell = () => {};
    const drawn = new Promise((/** @type {(value: void) => void} */ resolve) => {
      tell = resolve;
    });
    this.updated = Promise.all([this.updated, drawn]).then(() => {});
    const before = this.pending.get(number) ?? 0;
    this.pending.set(number, before + 1);
    const run = () => {
      if (isDone) return;
      isDone = true;
      const left = (this.pending.get(number) ?? 1) - 1;
      if (left) this.pending.set(number, left);
      else this.pending.delete(number);
      const shown = this.shown.get(number);
      try {
        if (shown?.element.isConnected) {
          this.shown.delete(number);
          this.shown.set(number, shown); // now the newest
          shown.replace(bundle);
          shown.element.dispatchEvent(new Event(CHANGED, { bubbles: true }));
        } else discard(bundle);
      } finally {
        tell();
        this.engine.post({ kind: "frame", number }); // Python is waiting for it
      }
    };
    if (bundle.kind === "shown" && !before) {
      run();
      return;
    }
    requestAnimationFrame(run);
    setTimeout(run, LONGEST_FRAME_MS);
  }
}

/** One display. */
class Shown {
  /**
   * @param {Bundle} bundle
   * @param {Displays} displays
   */
  constructor(bundle, displays) {
    this.displays = displays;
    this.facts = factsOf(bundle);
    this.drawn = draw(bundle, displays);
    // Screen readers do not announce animations.
    this.element = h("div", { className: "display", ariaLive: "off" }, this.drawn.element);
  }

  /** Whether its content has moved to another display, or a call showed nothing here. */
  get isEmpty() {
    return this.facts.kind === "shown";
  }

  /** @param {Bundle} bundle */
  replace(bundle) {
    this.facts = factsOf(bundle);
    if (this.drawn.redraw?.(bundle)) return;
    this.displays.around(() => {
      this.drawn = draw(bundle, this.displays);
      this.element.replaceChildren(this.drawn.element);
    });
  }
}

/**
 * @param {Bundle} bundle
 * @returns {Bundle} without the pixels, which are on the canvas
 */
function factsOf(bundle) {
  if (bundle.kind !== "image") return bundle;
  const { bitmap: _bitmap, bytes: _bytes, ...facts } = bundle;
  return facts;
}
