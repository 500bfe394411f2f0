/** What Python shows, by number: new displays, and updates in place at the rate of the screen. */

import { h } from "../ui/dom.js";
import { discard } from "./bundles.js";
import { draw } from "./draw.js";
import { restorable, storable } from "./keeping.js";

/** @typedef {import("../engine.js").Engine} Engine */
/** @typedef {import("../../worker/protocol.js").DisplayEvent} DisplayEvent */
/** @typedef {import("../../worker/protocol.js").DueEvent} DueEvent */
/** @typedef {import("./bundles.js").Bundle} Bundle */
/** @typedef {import("./controls.js").ControlsPanel} ControlsPanel */
/** @typedef {import("./draw.js").Drawn} Drawn */

/** How many can still be updated. */
const UPDATABLE = 200;
/** What stands below a cell of a program (editor/running.js). */
const CELL_OUTPUT = ".cell-output";
/** A hidden page has no frames: a timer stands by. */
const LONGEST_FRAME_MS = 100;

export class Displays {
  /**
   * @param {Engine} engine
   * @param {(change: () => void) => void} around what changes the transcript's height
   */
  constructor(engine, around) {
    this.engine = engine;
    this.around = around;
    /** @type {Map<number, Shown>} */
    this.shown = new Map();
    /** @type {WeakMap<Element, Shown>} */
    this.byElement = new WeakMap();
    /** Where the outputs go of what Python knows by this number. @type {Map<number, ControlsPanel>} */
    this.panels = new Map();
    /** What cells show, by the command that they run. @type {Map<number, Element>} */
    this.cells = new Map();
    /** Resolved when all updates so far are drawn. @type {Promise<void>} */
    this.updated = Promise.resolve();
    engine.addEventListener("ready", () => this.forget());
    engine.addEventListener("due", (event) => {
      const { number, targets } = /** @type {CustomEvent<DueEvent>} */ (event).detail;
      if (!targets) this.panels.get(number)?.retire();
      for (const target of targets ?? []) {
        const panel = this.panels.get(target);
        if (panel?.element.isConnected) panel.request(target); // its cell may have run again since
      }
    });
  }

  /** Another Python counts anew. */
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
   * @param {Element} entry for what it shows
   */
  begin(id, entry) {
    this.sweep();
    if (entry.closest(CELL_OUTPUT)) this.cells.set(id, entry);
  }

  /** Has Python drop what cells have registered whose output was cleared or replaced. */
  sweep() {
    for (const [id, entry] of this.cells) {
      const root = entry.getRootNode();
      if (!(root instanceof Element && root.matches(CELL_OUTPUT))) continue; // another view of the page may be shown
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
    for (const oldest of this.shown.keys()) {
      if (this.shown.size <= UPDATABLE) break;
      this.shown.get(oldest)?.drawn.retire?.();
      this.shown.delete(oldest);
    }
    return shown.element;
  }

  /**
   * @param {Element} element of a display
   * @returns {Promise<Bundle | null>} what it shows now, as the browser can store it
   */
  async storable(element) {
    const shown = this.byElement.get(element);
    if (shown?.drawn.stored) return shown.drawn.stored();
    return shown ? storable(shown.facts, shown.element) : null;
  }

  /**
   * @param {Bundle} bundle of an earlier visit: what Python knew of it is gone
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
   * In the next frame; then Python is told.
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
    const run = () => {
      if (isDone) return;
      isDone = true;
      const shown = this.shown.get(number);
      try {
        if (shown?.element.isConnected) shown.replace(bundle);
        else discard(bundle);
      } finally {
        tell();
        this.engine.post({ kind: "frame", number }); // Python waits for it
      }
    };
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
    // An animation is not read out.
    this.element = h("div", { className: "display", ariaLive: "off" }, this.drawn.element);
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
