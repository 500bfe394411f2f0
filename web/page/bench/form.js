/** What to run: suites with their cases and sizes, contenders, rounds, time budgets. Remembered by the browser. */

import { button, h } from "../ui/dom.js";
import { isOnGpu } from "./limits.js";
import { ON_CPU } from "./record.js";
import { recall, remember } from "./remembered.js";

/** @typedef {import("../../worker/protocol.js").SuiteInfo} SuiteInfo */

/**
 * @typedef {{ suite: string, sizes: string[], cases: string[] }} SuiteChoice
 *
 * @typedef {object} Choice what measuring.Config takes
 * @property {SuiteChoice[]} suites
 * @property {string[]} contenders
 * @property {number} rounds samples of each contender
 * @property {number} budget seconds for each case on each contender
 * @property {number} total seconds for all
 */

/** The libraries that can be compared, with descriptions; the last two are loaded when chosen. */
const CONTENDERS = {
  py_tensor: "on WebGPU",
  [ON_CPU]: "on NumPy",
  NumPy: "in Pyodide",
  tfjs: "on WebGPU",
  "jax-js": "on WebGPU",
};
const ROUNDS = [7, 15, 31];
const BUDGETS = [5, 20, 60];
const TOTALS = [60, 300, 1200, 3600];

/** The default choice: takes about twelve seconds and shows the most. */
const QUICK = {
  suite: "square",
  cases: ["exp", "sum()", "matmul"],
  sizes: { gpu: ["64", "512", "2048"], cpu: ["64", "128", "256"] },
  contenders: { webgpu: ["py_tensor", "NumPy"], none: [ON_CPU, "NumPy"] },
  rounds: 7,
  budget: 5,
  total: 60,
};
/** Every suite, thoroughly. */
const EVERYTHING = { rounds: 15, budget: 20, total: 1200 };

export class ChoiceForm {
  /** @type {Map<string, SuiteSection>} */
  #sections;
  /** What the user chose; null until then. */
  #chosen = recall();

  /**
   * @param {SuiteInfo[]} suites
   * @param {boolean} hasWebGpu
   * @param {boolean} hasGpu whether to choose every size from the start
   */
  constructor(suites, hasWebGpu, hasGpu) {
    this.suites = suites;
    this.hasWebGpu = hasWebGpu;
    this.hasGpu = hasGpu;
    this.#sections = new Map(suites.map((suite) => [suite.key, new SuiteSection(suite)]));
    this.words = h("span", { className: "words" });
    this.presets = [
      button("Quick look", "button", () => this.#preset(this.#quick())),
      button("Every suite", "button", () => this.#preset(this.#everything())),
    ];
    this.element = h(
      "details",
      { className: "setup" },
      h("summary", {}, h("strong", {}, "What to run"), " ", this.words),
      h(
        "div",
        { className: "choices" },
        h("div", { className: "presets" }, ...this.presets),
        group(
          "Suites",
          suites.map(({ key, title }) => toggle("checkbox", "suite", key, title)),
        ),
        ...[...this.#sections.values()].map(({ element }) => element),
        group(
          "Contenders",
          Object.entries(CONTENDERS).map(([name, where]) => toggle("checkbox", "contender", name, `${name} ${where}`)),
        ),
        group(
          "Rounds",
          ROUNDS.map((n) => toggle("radio", "rounds", `${n}`, `${n}`)),
        ),
        group(
          "Time per case",
          BUDGETS.map((s) => toggle("radio", "budget", `${s}`, `${s} s`)),
        ),
        group(
          "Budget for all",
          TOTALS.map((s) => toggle("radio", "total", `${s}`, `${s / 60} min`)),
        ),
      ),
    );
    this.#fill();
    this.element.addEventListener("change", (event) => {
      const { target } = event;
      if (target instanceof HTMLInputElement && target.name === "suite") this.#opens(target.value, target.checked);
      this.#changed();
    });
  }

  /**
   * Python has restarted.
   *
   * @param {boolean} hasWebGpu
   * @param {boolean} hasGpu
   */
  follow(hasWebGpu, hasGpu) {
    if (hasWebGpu === this.hasWebGpu && hasGpu === this.hasGpu) return;
    this.hasWebGpu = hasWebGpu;
    this.hasGpu = hasGpu;
    this.#fill();
  }

  /** Select what the user chose, or else the default. */
  #fill() {
    this.#set(this.#quick());
    if (this.#chosen) this.#set({ ...this.#chosen, contenders: this.#chosen.contenders[this.#kind] });
    this.disable(false);
    this.#show();
  }

  /** @returns {Choice} */
  #quick() {
    const { suite, cases, sizes, contenders, rounds, budget, total } = QUICK;
    const chosen = { suite, cases, sizes: this.hasGpu ? sizes.gpu : sizes.cpu };
    return { suites: [chosen], contenders: contenders[this.#kind], rounds, budget, total };
  }

  /** @returns {Choice} */
  #everything() {
    const suites = this.suites.map((suite) => this.#whole(suite));
    return { suites, contenders: this.#checked("contender"), ...EVERYTHING };
  }

  /** @param {SuiteInfo} suite */
  #whole({ key, cases, sizes, defaultSizes }) {
    return { suite: key, cases, sizes: this.hasGpu ? sizes : defaultSizes };
  }

  /** @param {Choice} choice */
  #preset(choice) {
    this.#set(choice);
    this.#changed();
    this.element.dispatchEvent(new Event("change"));
  }

  /**
   * Select a choice. Parts that it does not name, and names that do not exist, change nothing.
   *
   * @param {Partial<Choice>} choice
   */
  #set({ suites, contenders, rounds, budget, total }) {
    if (suites) {
      this.#check(
        "suite",
        suites.map(({ suite }) => suite),
      );
      for (const info of this.suites) {
        const chosen = suites.find(({ suite }) => suite === info.key);
        this.#sections.get(info.key)?.choose(chosen ?? this.#whole(info));
      }
    }
    if (contenders) this.#check("contender", contenders);
    for (const [name, value] of Object.entries({ rounds, budget, total })) {
      if (value !== undefined && this.#inputs(name).some((input) => input.value === `${value}`)) {
        this.#check(name, [`${value}`]);
      }
    }
  }

  /**
   * Expand a suite when the user selects it, to show its cases and sizes.
   *
   * @param {string} key
   * @param {boolean} isChosen
   */
  #opens(key, isChosen) {
    const section = this.#sections.get(key);
    if (section) section.element.open = isChosen;
  }

  #changed() {
    this.#show();
    const choice = this.choice();
    const contenders = { ...(this.#chosen?.contenders ?? QUICK.contenders), [this.#kind]: choice.contenders };
    this.#chosen = { ...choice, contenders };
    remember(this.#chosen);
  }

  /** The contenders that can run differ, and so are chosen separately. */
  get #kind() {
    return this.hasWebGpu ? "webgpu" : "none";
  }

  #show() {
    const choice = this.choice();
    for (const [key, section] of this.#sections) section.show(choice.suites.some(({ suite }) => suite === key));
    this.words.textContent = inShort(choice, this.suites);
  }

  /** @param {string} name */
  #inputs(name) {
    return /** @type {HTMLInputElement[]} */ ([...this.element.querySelectorAll(`input[name="${name}"]`)]);
  }

  /**
   * @param {string} name
   * @param {string[]} values
   */
  #check(name, values) {
    for (const input of this.#inputs(name)) input.checked = values.includes(input.value);
  }

  /** @param {string} name */
  #checked(name) {
    return checked(this.element, name);
  }

  /** @returns {Choice} */
  choice() {
    return {
      suites: this.#checked("suite").flatMap((key) => this.#sections.get(key)?.choice() ?? []),
      contenders: this.#checked("contender"),
      rounds: Number(this.#checked("rounds")[0]),
      budget: Number(this.#checked("budget")[0]),
      total: Number(this.#checked("total")[0]),
    };
  }

  /** @param {boolean} isDisabled */
  disable(isDisabled) {
    for (const input of this.element.querySelectorAll("input")) input.disabled = isDisabled;
    for (const input of this.hasWebGpu ? [] : this.#inputs("contender").filter(({ value }) => isOnGpu(value))) {
      input.checked = false;
      input.disabled = true;
    }
    for (const preset of this.presets) preset.disabled = isDisabled;
  }
}

/** The cases and sizes of a suite. */
class SuiteSection {
  /** @param {SuiteInfo} suite */
  constructor(suite) {
    this.suite = suite;
    const { title, source, cases, sizes } = suite;
    this.words = h("span", { className: "words" });
    const caseToggles = cases.map((name) => toggle("checkbox", "case", name, name));
    this.element = h(
      "details",
      { className: "suite-choice" },
      h("summary", {}, title, " ", this.words),
      h("p", { className: "source" }, `${source}.`),
      group("Cases", caseToggles, cases.length === 1),
      group(
        "Sizes",
        sizes.map((size) => toggle("checkbox", "size", size, size)),
      ),
    );
    this.element.dataset.suite = suite.key;
  }

  /** @param {{ cases: string[], sizes: string[] }} chosen */
  choose({ cases, sizes }) {
    for (const input of this.element.querySelectorAll("input")) {
      input.checked = (input.name === "case" ? cases : sizes).includes(input.value);
    }
  }

  /** @returns {SuiteChoice} */
  choice() {
    return {
      suite: this.suite.key,
      sizes: checked(this.element, "size"),
      cases: checked(this.element, "case"),
    };
  }

  /** @param {boolean} isChosen */
  show(isChosen) {
    this.element.hidden = !isChosen;
    const { cases, sizes } = this.choice();
    this.words.textContent = `${counted(cases.length, "case")} in ${counted(sizes.length, "size")}`;
  }
}

/**
 * @param {Choice} choice
 * @param {SuiteInfo[]} infos
 * @returns {string} why it cannot run; "" if it can
 */
export function missingChoice({ suites, contenders }, infos) {
  if (!suites.length) return "Choose at least one suite.";
  for (const { suite, cases, sizes } of suites) {
    const title = infos.find(({ key }) => key === suite)?.title ?? suite;
    if (!cases.length) return `Choose at least one case of “${title}”.`;
    if (!sizes.length) return `Choose at least one size of “${title}”.`;
  }
  return contenders.length ? "" : "Choose at least one contender.";
}

/**
 * @param {Choice} choice
 * @returns {number} number of measurements
 */
export function measurements({ suites, contenders }) {
  const cases = suites.reduce((sum, { cases, sizes }) => sum + cases.length * sizes.length, 0);
  return cases * contenders.length;
}

/**
 * @param {Choice} choice
 * @param {SuiteInfo[]} infos
 */
function inShort({ suites, contenders }, infos) {
  const [first] = suites;
  const what =
    suites.length === 1
      ? `${infos.find(({ key }) => key === first.suite)?.title}: ${first.cases.join(", ")}`
      : counted(suites.length, "suite");
  return `${what}; ${contenders.join(", ") || "no contender"}`;
}

/**
 * @param {number} number
 * @param {string} noun
 */
export function counted(number, noun) {
  return `${number} ${noun}${number === 1 ? "" : "s"}`;
}

/**
 * @param {HTMLElement} within
 * @param {string} name
 */
function checked(within, name) {
  const inputs = within.querySelectorAll(`input[name="${name}"]:checked`);
  return [...inputs].map((input) => /** @type {HTMLInputElement} */ (input).value);
}

/**
 * @param {string} title
 * @param {HTMLElement[]} members
 * @param {boolean} [hidden]
 */
function group(title, members, hidden = false) {
  return h("fieldset", { hidden }, h("legend", {}, title), h("div", { className: "toggles" }, ...members));
}

/**
 * @param {"radio" | "checkbox"} type
 * @param {string} name
 * @param {string} value
 * @param {string} label
 */
function toggle(type, name, value, label) {
  return h("label", { className: "toggle" }, h("input", { type, name, value }), h("span", {}, label));
}
