/** The benchmark panel: choose, run, watch, cancel, keep. */

import { isSoftware } from "../ui/adapter.js";
import { byId, focusableWhileItScrolls, h, oncePerFrame } from "../ui/dom.js";
import { charts } from "./chart.js";
import { estimate } from "./estimate.js";
import { ChoiceForm } from "./form.js";
import { roughly } from "./format.js";
import { isNoisy, Results } from "./results.js";
import { resultTable } from "./table.js";

/** @typedef {import("../engine.js").Engine} Engine */
/** @typedef {import("../protocol.js").Info} Info */
/** @typedef {import("../protocol.js").Outcome} Outcome */
/** @typedef {import("./form.js").Choice} Choice */
/** @typedef {import("./results.js").Step} Step */

export class BenchmarkPanel {
  /** @param {Engine} engine */
  constructor(engine) {
    this.engine = engine;
    this.root = byId("panel-benchmarks");
    this.root.append(h("p", { className: "note" }, "The benchmarks are here as soon as Python has started."));
    engine.addEventListener("ready", (event) => this.show(/** @type {CustomEvent<Info>} */ (event).detail));
    engine.addEventListener("change", () => this.showState());
    this.results = new Results();
    /** @type {Choice | null} what the results on the page belong to */
    this.choice = null;
    this.isRunning = false;
    this.finished = 0;
    this.total = 0;
    this.drawSoon = oncePerFrame(() => this.draw());
  }

  /** @param {Info} info */
  show(info) {
    this.info = info;
    this.form = new ChoiceForm(info.suites, info.backend === "webgpu" && !isSoftware(info));
    this.form.element.addEventListener("change", () => this.showEstimate());
    this.start = button("Run", "button primary", () => this.run());
    this.start.setAttribute("aria-describedby", "benchmarks-estimate");
    this.estimate = h("span", { className: "words estimate", id: "benchmarks-estimate" });
    this.cancel = button("Cancel", "button", () => this.stop());
    this.save = button("Save as JSON", "button", () => this.download());
    this.progress = h("progress", { max: 1, value: 0 });
    this.progress.setAttribute("aria-label", "Benchmarks");
    this.words = h("p", { className: "words outcome" });
    this.words.setAttribute("role", "status");
    this.output = h("div", { className: "output" });
    const controls = h(
      "div",
      { className: "controls" },
      this.start,
      this.cancel,
      this.save,
      this.progress,
      this.estimate,
    );
    this.root.replaceChildren(explanation(), this.form.element, controls, this.words, this.output);
    this.showState();
    this.draw();
  }

  // Running ----------------------------------------------------------------------------------------

  async run() {
    const choice = this.form?.choice();
    if (!choice || this.engine.isBusy) return;
    const missing = missingChoice(choice);
    if (missing) {
      this.say(missing);
      return;
    }
    this.choice = choice;
    this.results = new Results();
    this.finished = this.total = 0;
    this.isRunning = true;
    this.say("Starting");
    this.showState();
    this.draw(); // what stands there is of another run
    const outcome = await this.engine.benchmark(JSON.stringify(choice), {
      onStep: (step) => this.take(JSON.parse(step)),
    });
    this.isRunning = false;
    this.say(this.ending(outcome));
    this.showState();
    this.drawSoon();
  }

  stop() {
    if (this.engine.isBenchmarking) this.engine.interrupt();
  }

  /** @param {Step} step */
  take(step) {
    if (step.event === "begin") this.total = step.total;
    else if (step.event === "working") this.say(`${this.finished + 1} of ${this.total}: ${step.label}`);
    else {
      this.results.add(step);
      this.finished += 1;
    }
    if (this.progress) this.progress.value = this.total ? this.finished / this.total : 0;
    this.drawSoon();
  }

  /** @param {Outcome} outcome */
  ending({ ok, interrupted, error }) {
    if (interrupted) return `Cancelled after ${this.finished} of ${this.total}`;
    if (!ok) return error ?? "Failed";
    /** @param {string} event */
    const count = (event) => this.results.all.filter((result) => result.event === event).length;
    const noisy = this.results.all.filter(isNoisy).length;
    const parts = [`${count("measured")} measured`];
    if (noisy) parts.push(`${noisy} of them noisy (rounds more than ±25 % apart)`);
    if (count("skipped")) parts.push(`${count("skipped")} skipped`);
    if (count("wrong")) parts.push(`${count("wrong")} wrong`);
    return `Done: ${parts.join(", ")}`;
  }

  // Showing ----------------------------------------------------------------------------------------

  /** @param {string} text */
  say(text) {
    if (this.words) this.words.textContent = text;
  }

  showState() {
    if (!this.start || !this.cancel || !this.save || !this.progress) return;
    this.start.disabled = !this.engine.isReady || this.engine.isBusy;
    this.cancel.hidden = !this.isRunning;
    this.progress.hidden = !this.isRunning;
    this.save.hidden = this.isRunning || !this.results.all.length;
    this.form?.disable(this.isRunning);
    this.showEstimate();
  }

  /** What a run would take; or why there can be none now. */
  showEstimate() {
    if (!this.estimate || !this.form || !this.info) return;
    const choice = this.form.choice();
    if (this.isRunning) this.estimate.textContent = "";
    else if (!this.engine.isReady) this.estimate.textContent = "Python is starting.";
    else if (this.engine.isBusy)
      this.estimate.textContent = "Something runs in the console, which would spoil the times.";
    else this.estimate.textContent = inWords(choice, estimate(this.form.suite(), choice, this.info));
  }

  draw() {
    if (!this.choice || !this.results.all.length) {
      this.output?.replaceChildren();
      return;
    }
    const { contenders } = this.choice;
    const scroller = h("div", { className: "table-scroller" }, resultTable(this.results, contenders));
    focusableWhileItScrolls(scroller);
    scroller.setAttribute("role", "region");
    scroller.setAttribute("aria-label", "Results");
    this.output?.replaceChildren(charts(this.results, contenders), scroller);
  }

  download() {
    const { adapter, backend, version, python, pyodide } = /** @type {Info} */ (this.info);
    const environment = { adapter, backend, py_tensor: version, python, pyodide, browser: navigator.userAgent };
    const record = { date: new Date().toISOString(), environment, choice: this.choice, results: this.results.all };
    const blob = new Blob([JSON.stringify(record, null, 1)], { type: "application/json" });
    const link = h("a", { href: URL.createObjectURL(blob), download: "py_tensor-benchmarks.json" });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  }
}

/**
 * @param {Choice} choice
 * @param {number} seconds
 */
function inWords({ sizes, cases, contenders, total }, seconds) {
  const count = sizes.length * cases.length * contenders.length;
  return count ? `${count} to measure: about ${roughly(seconds)}, at most ${roughly(total)}` : "";
}

/** @param {Choice} choice */
function missingChoice({ sizes, cases, contenders }) {
  if (!cases.length) return "Choose at least one case.";
  if (!sizes.length) return "Choose at least one size.";
  return contenders.length ? null : "Choose where to run: WebGPU, NumPy or both.";
}

function explanation() {
  return h(
    "p",
    { className: "lead" },
    "The same expressions on the GPU and on NumPy, both in this page. Each answer is checked against float64 before it is timed. A time is for one op, queued with others, results kept, GPU finished.",
  );
}

/**
 * @param {string} text
 * @param {string} className
 * @param {() => void} onClick
 */
function button(text, className, onClick) {
  const element = h("button", { type: "button", className, textContent: text });
  element.addEventListener("click", onClick);
  return element;
}
