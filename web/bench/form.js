/** What to run: suite, cases, sizes, contenders, time budget. */

import { h } from "../ui/dom.js";
import { CONTENDERS } from "./results.js";

/** @typedef {import("../protocol.js").SuiteInfo} SuiteInfo */

/**
 * @typedef {object} Choice what benchmarks.Config takes
 * @property {string} suite
 * @property {string[]} sizes
 * @property {string[]} cases
 * @property {string[]} contenders
 * @property {number} budget seconds for each case on each contender
 * @property {number} total seconds for all
 */

const BUDGETS = [5, 20, 60];
const DEFAULT_BUDGET = 20;
const TOTALS = [60, 300, 1200];
const DEFAULT_TOTAL = 300;

export class ChoiceForm {
  /**
   * @param {SuiteInfo[]} suites
   * @param {boolean} hasGpu whether to choose every size from the start
   */
  constructor(suites, hasGpu) {
    this.suites = suites;
    this.hasGpu = hasGpu;
    const options = suites.map(({ key, title }, i) => toggle("radio", "suite", key, title, i === 0));
    this.dependent = h("div", { className: "choices" });
    this.element = h("div", { className: "choices" }, group("Suite", options), this.dependent);
    this.element.addEventListener("change", (event) => {
      if (event.target instanceof HTMLInputElement && event.target.name === "suite") this.fill();
    });
    this.fill();
  }

  /** The choices that depend on the suite. */
  fill() {
    const suite = this.suite();
    const sizes = new Set(this.hasGpu ? suite.sizes : suite.defaultSizes);
    const contenders = Object.entries(CONTENDERS);
    this.dependent.replaceChildren(
      h("p", { className: "source" }, `${suite.source}.`),
      ...(suite.cases.length > 1
        ? [
            group(
              "Cases",
              suite.cases.map((name) => toggle("checkbox", "case", name, name, true)),
            ),
          ]
        : []),
      group(
        "Sizes",
        suite.sizes.map((size) => toggle("checkbox", "size", size, size, sizes.has(size))),
      ),
      group(
        "On",
        contenders.map(([device, name]) => toggle("checkbox", "device", device, name, true)),
      ),
      group(
        "Budget for each",
        BUDGETS.map((s) => toggle("radio", "budget", `${s}`, `${s} s`, s === DEFAULT_BUDGET)),
      ),
      group(
        "Budget for all",
        TOTALS.map((s) => toggle("radio", "total", `${s}`, `${s / 60} min`, s === DEFAULT_TOTAL)),
      ),
    );
  }

  suite() {
    const [key] = this.checked("suite");
    return this.suites.find((suite) => suite.key === key) ?? this.suites[0];
  }

  /** @param {string} name */
  checked(name) {
    const inputs = this.element.querySelectorAll(`input[name="${name}"]:checked`);
    return [...inputs].map((input) => /** @type {HTMLInputElement} */ (input).value);
  }

  /** @returns {Choice} */
  choice() {
    const suite = this.suite();
    return {
      suite: suite.key,
      sizes: this.checked("size"),
      cases: suite.cases.length > 1 ? this.checked("case") : suite.cases,
      contenders: this.checked("device"),
      budget: Number(this.checked("budget")[0]),
      total: Number(this.checked("total")[0]),
    };
  }

  /** @param {boolean} isDisabled */
  disable(isDisabled) {
    for (const input of this.element.querySelectorAll("input")) input.disabled = isDisabled;
  }
}

/**
 * @param {string} title
 * @param {HTMLElement[]} members
 */
function group(title, members) {
  return h("fieldset", {}, h("legend", {}, title), h("div", { className: "toggles" }, ...members));
}

/**
 * @param {"radio" | "checkbox"} type
 * @param {string} name
 * @param {string} value
 * @param {string} label
 * @param {boolean} checked
 */
function toggle(type, name, value, label, checked) {
  return h("label", { className: "toggle" }, h("input", { type, name, value, checked }), h("span", {}, label));
}
