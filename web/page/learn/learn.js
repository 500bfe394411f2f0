/** "How it works": follows one expression, which the user can change, through seven short sections. */

import { byId, h } from "../ui/dom.js";
import { codeBlock } from "../ui/highlight.js";
import { reasonOf } from "../ui/outcome.js";
import { inline } from "../ui/prose.js";
import { SECTIONS } from "./sections.js";

/** @typedef {import("../engine.js").Engine} Engine */

/**
 * @typedef {object} Trace how an expression was evaluated (worker/python/tracing.py)
 * @property {GraphNode[]} nodes operands first
 * @property {Record<string, string>} names of nodes, by their numbers
 * @property {{ shape: number[], dtype: string }} result
 * @property {Kernel[]} kernels as reported by `pt.explain`
 * @property {string} device
 * @property {{ commands: Command[], parameters: number, parts: number, leaves: number, outputs: number }} [stream]
 *   if there are kernels
 * @property {{ record: number, plan?: number, read: number }} microseconds
 * @property {string} shown
 *
 * @typedef {{ op: string, shape: number[], dtype: string, inputs: number[], value: string | null,
 *   stored: boolean, moves: boolean }} GraphNode
 *
 * @typedef {object} Kernel
 * @property {number} number
 * @property {string} name
 * @property {string} family
 * @property {string[]} variants
 * @property {string[]} ops
 * @property {Value[]} inputs
 * @property {Value[]} outputs
 * @property {number} dispatches
 * @property {number} traffic bytes
 * @property {number} operations
 * @property {string} wgsl
 *
 * @typedef {{ name: string, shape: number[], dtype: string, kernel: number | null, reasons: string[] }} Value
 * @typedef {{ words: number[], program?: string, groups: number[], buffers: number[] }} Command
 */

const DEFAULT = "((x * 2 + 1) ** 2).sum(0)";
const OTHERS = ["pt.exp(x - y)", "x @ w + y", "pt.softmax(x)", "(x - x.mean(1, keepdims=True)).T", "x.cumsum(0)"];
const FEWEST = 30;
const SAMPLE = 100;
const TRACE = '__import__("py_tensor_page.tracing", fromlist=["*"]).trace';

/** @param {import("../views.js").Parts} parts */
export function open({ engine }) {
  return new Learn(engine);
}

class Learn {
  /** @param {Engine} engine */
  constructor(engine) {
    this.engine = engine;
    this.root = byId("panel-learn");
    /** The expression that is shown. */
    this.followed = "";
  }

  /** @param {string} path the key of a section, or "" */
  show(path) {
    if (!this.form) this.make();
    if (path) this.root.querySelector(`#learn-${CSS.escape(path)}`)?.scrollIntoView();
  }

  make() {
    this.input = h("input", { value: DEFAULT, spellcheck: false, autocomplete: "off", id: "expression" });
    this.form = h(
      "form",
      { className: "expression" },
      h("label", { htmlFor: "expression" }, "Your expression"),
      this.input,
      h("button", { className: "button primary" }, "Trace"),
    );
    this.form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.follow();
    });
    this.said = h("p", { className: "note" }, "Traced as soon as Python is ready.");
    this.said.setAttribute("role", "status");
    this.parts = SECTIONS.map((section) => ({ section, yours: h("div", { className: "yours" }) }));
    const chips = OTHERS.map((code) => {
      const chip = h("button", { type: "button", className: "chip" }, h("code", {}, code));
      chip.addEventListener("click", () => {
        if (this.input) this.input.value = code;
        this.follow();
      });
      return chip;
    });
    this.root.replaceChildren(
      h(
        "article",
        { className: "reading learn" },
        h("h2", {}, "How it works"),
        h(
          "p",
          { className: "lead" },
          "What happens between an expression and its result. Try it with your own expression.",
        ),
        this.form,
        h("div", { className: "chips others" }, ...chips),
        h(
          "p",
          { className: "hint" },
          ...inline("`x` and `w` have shape (64, 64), `y` has shape (64,). Console variables work too."),
        ),
        this.said,
        ...this.parts.map(({ section, yours }, i) => sectionElement(section, i, yours)),
      ),
    );
    this.follow();
  }

  async follow() {
    const expression = this.input?.value.trim() ?? "";
    /** @type {string[]} */
    const printed = [];
    const columns = columnsIn(this.parts?.at(-1)?.yours ?? this.root);
    const outcome = await this.engine.run(`${TRACE}(${JSON.stringify(expression)}, ${columns})`, {
      onOutput: (stream, text) => stream === "stdout" && printed.push(text),
    });
    if (!this.said) return;
    this.said.classList.toggle("failed", !outcome.ok);
    this.root.classList.toggle("stale", !outcome.ok && this.followed !== "");
    if (!outcome.ok) {
      this.said.textContent = reasonOf(outcome);
      const still = ["Still showing ", h("code", {}, this.followed), "."];
      if (this.followed) this.said.append(" ", h("span", { className: "still" }, ...still));
      return;
    }
    this.followed = expression;
    /** @type {Trace} */
    const trace = JSON.parse(printed.join("").trimEnd().split("\n").at(-1) ?? "");
    const { length } = trace.kernels;
    const runs = trace.kernels.reduce((sum, { dispatches }) => sum + dispatches, 0);
    const times = runs > length ? `, run ${runs} times in all` : "";
    const without =
      trace.device === "cpu" ? "computed on the CPU. What follows explains the GPU device" : "already stored";
    const kernels = trace.stream
      ? `${length} ${length === 1 ? "kernel" : "kernels"}${times}`
      : `no kernels: ${without}`;
    const nodes = trace.nodes.length;
    this.said.textContent = `${nodes} ${nodes === 1 ? "node" : "nodes"}, ${kernels}.`;
    for (const { section, yours } of this.parts ?? []) yours.replaceChildren(...section.yours(trace));
  }
}

/**
 * @param {HTMLElement} element
 * @returns {number} how many characters a line of a code block in it can have
 */
function columnsIn(element) {
  const block = codeBlock("0".repeat(SAMPLE), "");
  element.append(block);
  const { paddingLeft, paddingRight } = getComputedStyle(block);
  const room = block.clientWidth - parseFloat(paddingLeft) - parseFloat(paddingRight);
  const width = block.firstElementChild?.getBoundingClientRect().width ?? 0;
  block.remove();
  return Math.max(FEWEST, Math.floor((room / width) * SAMPLE) || FEWEST);
}

/**
 * @param {import("./sections.js").Section} section
 * @param {number} i
 * @param {HTMLElement} yours
 */
function sectionElement({ key, title, text, diagram }, i, yours) {
  return h(
    "section",
    { id: `learn-${key}` },
    h(
      "div",
      { className: "told" },
      h("h3", {}, h("span", { className: "number" }, String(i + 1)), title),
      ...text.map((paragraph) => h("p", {}, ...inline(paragraph))),
    ),
    h("div", { className: "shown" }, ...(diagram ? [diagram()] : []), yours),
  );
}
