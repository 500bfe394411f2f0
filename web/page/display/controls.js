/**
 * Controls (py_tensor/ui/__init__.py) and, below them, the output of the functions that run when they change. A change is sent
 * to Python at once, at most once per frame. Python answers with the functions to run; each is queued among the inputs,
 * at most once.
 */

import { drawFailure } from "../repl/failure.js";
import { Printed } from "../repl/transcript.js";
import { partAgain, partsOf, storableOutcome } from "../sessions/record.js";
import { cutLabel, notShown } from "../ui/bounds.js";
import { h, oncePerFrame } from "../ui/dom.js";

/** @typedef {import("./bundles.js").ControlFacts} ControlFacts */
/** @typedef {import("./bundles.js").ControlsBundle} ControlsBundle */
/** @typedef {import("./bundles.js").ControlValue} ControlValue */
/** @typedef {import("./displays.js").Displays} Displays */
/** @typedef {import("../../worker/protocol.js").Outcome} Outcome */

/** Bubbles from a panel or a display whose content has changed. */
export const CHANGED = "output-changed";

/** Controls of a panel, and options of a choice. */
const MAX_CONTROLS = 200;
const MAX_OPTIONS = 2000;

let ids = 0;

export class ControlsPanel {
  /**
   * @param {ControlsBundle} bundle
   * @param {Displays} displays
   */
  constructor(bundle, displays) {
    this.bundle = bundle;
    this.displays = displays;
    this.interpreter = displays.engine.interpreter; // a new Python does not know these controls
    this.isLive = bundle.past === undefined;
    /** The queued functions. @type {Set<number>} */
    this.waiting = new Set();
    /** @type {Set<Field>} */
    this.changed = new Set();
    this.tell = oncePerFrame(() => this.tellNow());
    const shown = bundle.controls.slice(0, MAX_CONTROLS);
    this.fields = shown.map((facts) => new Field(facts, (field) => this.onChange(field)));
    this.form = h(
      "div",
      { className: "controls", ariaLabel: "Controls" },
      ...this.fields.map((field) => field.element),
      ...leftOut(bundle.controls.length - MAX_CONTROLS, "controls"),
    );
    this.form.setAttribute("role", "group");
    this.note = h("p", { className: "note", hidden: true }, "Run this input again to use its controls.");
    /** Printed and displayed output. */
    this.output = h("div", { className: "controls-output" });
    /** @type {Printed | null} */
    this.printed = null;
    /** @type {Outcome | null} */
    this.failed = null;
    this.failure = h("div", { className: "controls-failure", ariaLive: "polite" });
    this.element = h("div", { className: "controls-panel" }, this.form, this.note, this.output, this.failure);
    if (this.isLive) this.begin();
    else this.restore();
  }

  begin() {
    const { bundle, displays } = this;
    for (const { facts } of this.fields) displays.panels.set(facts.number, this);
    if (bundle.target === null) return;
    displays.panels.set(bundle.target, this);
    this.request(bundle.target);
  }

  restore() {
    const { parts, failure } = /** @type {import("./bundles.js").Past} */ (this.bundle.past);
    this.output.append(...parts.map((part) => partAgain(part, this.displays)));
    this.showFailure(failure);
    this.disable();
  }

  /** Python no longer listens to the controls. */
  retire() {
    const { panels } = this.displays;
    for (const [number, panel] of panels) if (panel === this) panels.delete(number);
    this.isLive = false;
    this.displays.around(() => this.disable());
  }

  disable() {
    for (const field of this.fields) field.input.disabled = true;
    this.note.hidden = false;
  }

  /** @returns {Promise<ControlsBundle>} */
  async stored() {
    const { bundle, output, printed, failed } = this;
    const shown = this.fields.map(({ facts, value }) => ({ ...facts, value }));
    const controls = [...shown, ...bundle.controls.slice(shown.length)]; // the page says how many are not shown
    const parts = await partsOf({ element: output, draw: () => printed?.draw() }, this.displays);
    return { ...bundle, controls, past: { parts, failure: failed && storableOutcome(failed) } };
  }

  // Changes ----------------------------------------------------------------------------------------

  /** @param {Field} field */
  onChange(field) {
    this.changed.add(field);
    this.tell();
  }

  tellNow() {
    const { engine, shown } = this.displays;
    const changed = [...this.changed];
    this.changed.clear();
    this.displays.sweep();
    if (this.interpreter !== engine.interpreter) this.retire();
    if (!this.isLive) return;
    for (const { facts, value } of changed) {
      engine.change(facts.number, value);
      for (const { drawn } of shown.values()) if (drawn !== this) drawn.follow?.(facts.number, value);
    }
    this.sayChanged();
  }

  /**
   * The user changed the same control elsewhere.
   *
   * @param {number} number
   * @param {ControlValue} value
   */
  follow(number, value) {
    for (const field of this.fields) if (field.facts.number === number) field.show(value);
  }

  sayChanged() {
    this.element.dispatchEvent(new Event(CHANGED, { bubbles: true }));
  }

  // Running ----------------------------------------------------------------------------------------

  /** @param {number} target the function to run, which may be queued already */
  request(target) {
    if (this.waiting.has(target)) return;
    this.waiting.add(target);
    void this.run(target);
  }

  /** @param {number} target */
  async run(target) {
    const { displays } = this;
    let hasBegun = false;
    /** @type {Printed | null} */
    let printed = null;
    const outcome = await displays.engine.react(target, {
      onStart: () => {
        hasBegun = true;
        this.waiting.delete(target);
      },
      onOutput: (stream, text) => {
        printed ??= this.openPrinted();
        printed.terminal.write(text, stream);
        this.drawPrinted();
      },
      onDisplay: (number, bundle) => displays.around(() => this.output.append(displays.create(number, bundle))),
    });
    if (!hasBegun) this.waiting.delete(target);
    if (!this.isLive) return;
    displays.around(() => {
      if (printed) printed.draw();
      else if (outcome.ok) this.closePrinted();
      this.showFailure(outcome.ok ? null : outcome);
    });
    this.sayChanged();
  }

  /** @returns {Printed} replaces what was printed before */
  openPrinted() {
    const printed = new Printed();
    if (this.printed) this.printed.element.replaceWith(printed.element);
    else this.output.prepend(printed.element);
    this.printed = printed;
    return printed;
  }

  drawPrinted = oncePerFrame(() => this.displays.around(() => this.printed?.draw()));

  closePrinted() {
    this.printed?.element.remove();
    this.printed = null;
  }

  /** @param {Outcome | null} outcome */
  showFailure(outcome) {
    this.failed = outcome;
    this.failure.replaceChildren(...(outcome ? [drawFailure(outcome)] : []));
  }
}

/** One control: a native element with its label. */
class Field {
  /**
   * @param {ControlFacts} facts
   * @param {(field: Field) => void} onChange
   */
  constructor(facts, onChange) {
    this.facts = facts;
    /** The last value that is fit for Python; of a button the number of presses. @type {ControlValue} */
    this.value = facts.value;
    this.onChange = onChange;
    const id = `control-${++ids}`;
    this.input = this.inputOf(id);
    this.shown = h("output", { className: "control-value" });
    this.shown.htmlFor.add(id);
    const label = h("label", { className: "control-label", htmlFor: id }, cutLabel(facts.label));
    /** @type {Record<ControlFacts["type"], HTMLElement[]>} */
    const parts = {
      slider: [label, this.input, this.shown],
      number: [label, this.input, this.shown],
      checkbox: [this.input, label],
      choice: [label, this.input, ...leftOut((facts.options ?? []).length - this.input.children.length, "options")],
      button: [this.input],
    };
    this.element = h("div", { className: `control control-${facts.type}` }, ...parts[facts.type]);
    this.describe();
  }

  /** @param {string} id */
  inputOf(id) {
    const { type, label, value, start, stop, step, options } = this.facts;
    if (type === "button") {
      const made = h("button", { type: "button", id, className: "button", textContent: cutLabel(label) });
      made.addEventListener("click", () => {
        this.value = Number(this.value) + 1;
        this.onChange(this);
      });
      return made;
    }
    const bounds = { min: String(start ?? ""), max: String(stop ?? "") };
    const made =
      type === "choice"
        ? h("select", { id }, ...optionsOf(options ?? [], Number(value)))
        : type === "checkbox"
          ? h("input", { type, id, checked: value === true })
          : type === "slider"
            ? h("input", { type: "range", id, ...bounds })
            : h("input", { type, id, ...bounds, step: String(step) });
    if (made instanceof HTMLInputElement && type === "slider") {
      this.setSlider(made, value);
      made.addEventListener("pointerdown", () => this.toStep(made));
      made.addEventListener("keydown", (event) => this.toStepByKey(made, event));
    } else if (type !== "checkbox") made.value = String(value);
    made.addEventListener("input", () => this.take(made));
    return made;
  }

  /** @param {HTMLInputElement | HTMLSelectElement} input that the user changed */
  take(input) {
    const { type, limits } = this.facts;
    if (this.isFit) {
      if (input instanceof HTMLInputElement && type === "checkbox") this.value = input.checked;
      else if (limits) this.value = Math.min(Math.max(Number(input.value), limits[0]), limits[1]);
      else this.value = Number(input.value);
      this.onChange(this);
    }
    this.describe();
  }

  /**
   * Show a value of a slider, which may lie between its steps.
   *
   * @param {HTMLInputElement} input
   * @param {ControlValue} value
   */
  setSlider(input, value) {
    this.toStep(input);
    input.value = String(value);
    if (Number(input.value) === value) return;
    input.step = "any";
    input.value = String(value);
  }

  /** @param {HTMLInputElement} input a slider, which goes to the nearest step */
  toStep(input) {
    input.step = String(this.facts.step);
  }

  /**
   * From a value between two steps, an arrow key goes to the next of them.
   *
   * @param {HTMLInputElement} input
   * @param {KeyboardEvent} event
   */
  toStepByKey(input, event) {
    const before = Number(input.value);
    this.toStep(input);
    const moved = Number(input.value) - before;
    const sign = /^Arrow(?:Right|Up)$/.test(event.key) ? 1 : /^Arrow(?:Left|Down)$/.test(event.key) ? -1 : 0;
    if (moved * sign > 0) {
      event.preventDefault();
      this.take(input);
    }
  }

  /** @param {ControlValue} value */
  show(value) {
    const { input } = this;
    this.value = value;
    if (input instanceof HTMLInputElement && input.type === "checkbox") input.checked = value === true;
    else if (input instanceof HTMLInputElement && input.type === "range") this.setSlider(input, value);
    else if (!(input instanceof HTMLButtonElement)) input.value = String(value);
    this.describe();
  }

  /** Whether the value may be sent to Python: for a number, any value within its bounds, whatever its step. */
  get isFit() {
    const { input, facts } = this;
    if (facts.type !== "number") return true;
    const { value, validity } = /** @type {HTMLInputElement} */ (input);
    const isWhole = !facts.whole || Number.isInteger(Number(value));
    return value !== "" && isWhole && !validity.badInput && !validity.rangeUnderflow && !validity.rangeOverflow;
  }

  /** Show the value of a slider beside it, and the error of a number. */
  describe() {
    const { input, facts } = this;
    if (facts.type === "slider") this.shown.textContent = input.ariaValueText = String(this.value);
    if (facts.type !== "number") return;
    input.ariaInvalid = String(!this.isFit);
    this.shown.textContent = this.isFit ? "" : wanted(facts);
  }
}

/**
 * @param {string[]} names
 * @param {number} chosen
 * @returns {HTMLElement[]} the first ones, and the chosen one
 */
function optionsOf(names, chosen) {
  const shown = names.slice(0, MAX_OPTIONS).map(optionOf);
  return chosen < shown.length ? shown : [...shown, optionOf(names[chosen], chosen)];
}

/**
 * @param {string} name
 * @param {number} i
 */
function optionOf(name, i) {
  return h("option", { value: String(i) }, cutLabel(name));
}

/**
 * @param {number} count
 * @param {string} what
 * @returns {HTMLElement[]}
 */
function leftOut(count, what) {
  return count > 0 ? [h("p", { className: "note" }, notShown(count, what))] : [];
}

/** @param {ControlFacts} facts of a number */
function wanted({ start, stop, whole }) {
  const what = whole ? "Enter a whole number" : "Enter a number";
  if (typeof start === "number" && typeof stop === "number") return `${what} from ${start} to ${stop}.`;
  if (typeof start === "number") return `${what}, ${start} or more.`;
  return typeof stop === "number" ? `${what}, ${stop} or less.` : `${what}.`;
}
