/** The benchmark panel: choose, run, watch and cancel; save, compare, import and export. */

import { adapterName, isSoftware } from "../ui/adapter.js";
import { button, byId, h, oncePerFrame } from "../ui/dom.js";
import { saveFile } from "../ui/saving.js";
import { charts } from "./chart.js";
import { isNoisy, standings } from "./comparison.js";
import { deviceCard } from "./device.js";
import { estimate, estimates, Progress } from "./estimate.js";
import { ChoiceForm, counted, measurements, missingChoice } from "./form.js";
import { roughly, significant } from "./format.js";
import { keptTable } from "./kept.js";
import { toMarkdown } from "./markdown.js";
import { contendersOf, fromJson, leadOf, newRun, toJson } from "./record.js";
import { redrawing } from "./redrawing.js";
import { roofline } from "./roofline.js";
import { KeptRuns } from "./runs.js";
import { changeTable, detailNote, detailTable, summaryNote, summaryTable } from "./table.js";

/** @typedef {import("../engine.js").Engine} Engine */
/** @typedef {import("../../worker/protocol.js").Info} Info */
/** @typedef {import("../../worker/protocol.js").Outcome} Ending */
/** @typedef {import("./form.js").Choice} Choice */
/** @typedef {import("./record.js").Run} Run */
/** @typedef {import("./record.js").Result} Result */
/** @typedef {import("./record.js").Probes} Probes */
/** @typedef {import("./runs.js").Kept} Kept */

/**
 * Events from Python (measuring.py, boot.py).
 *
 * @typedef {{ event: "limits", limits: Probes }} LimitsStep
 * @typedef {{ event: "begin", total: number }} BeginStep
 * @typedef {{ event: "working", case: string, size: string, label: string, part: number }} WorkingStep
 * @typedef {{ event: "case", result: Result, versions: Record<string, string> }} CaseStep
 * @typedef {LimitsStep | BeginStep | WorkingStep | CaseStep} Step
 */

const LARGEST_FILE = 16 * 2 ** 20;
/** An idle GPU starts at a fifth of its clock; an H200 takes this long to reach full speed. */
const CLOCK_SECONDS = 0.5;
/** Memory that the results of a sample may hold at once. WebGPU does not report the memory size. */
const RESULT_BYTES = { least: 2 ** 28, most: 2 ** 30 };

/** @param {import("../views.js").Parts} parts */
export function open({ engine }) {
  return new BenchmarkPanel(engine);
}

class BenchmarkPanel {
  /** @param {Engine} engine */
  constructor(engine) {
    this.engine = engine;
    this.root = byId("panel-benchmarks");
    this.root.append(h("p", { className: "note" }, "Benchmarks are available as soon as Python is ready."));
    engine.addEventListener("ready", (event) => this.setUp(/** @type {CustomEvent<Info>} */ (event).detail));
    if (engine.isReady) engine.ready.then((info) => this.setUp(info));
    engine.addEventListener("change", () => this.showState());
    this.kept = new KeptRuns();
    /** The saved copy of the run on the page, from its first case on. @type {Kept | null} */
    this.shown = null;
    /** @type {Run | null} the run on the page */
    this.run = null;
    /** @type {Kept | null} the run it is compared with */
    this.compared = null;
    /** The last measurement of the device's limits. @type {Probes | undefined} */
    this.probes = undefined;
    this.lead = h("div");
    this.isRunning = false;
    /** @type {Progress | null} */
    this.progress = null;
    this.began = 0;
    this.working = "";
    this.drawSoon = oncePerFrame(() => this.draw());
    this.kept.load().then(() => this.drawKept());
  }

  /** The view has a single page and keeps its state. */
  show() {}

  /** @param {Info} info */
  setUp(info) {
    if (this.info && adapterName(info) !== adapterName(this.info)) this.probes = undefined; // of another device
    this.info = info;
    const hasWebGpu = info.backend === "webgpu";
    const hasGpu = hasWebGpu && !isSoftware(info);
    this.lead.replaceChildren(...explanation(info));
    if (this.form) {
      this.form.follow(hasWebGpu, hasGpu);
      this.showState(); // Python restarted; keep what the user has here
      return;
    }
    this.form = new ChoiceForm(info.suites, hasWebGpu, hasGpu);
    this.form.element.addEventListener("change", () => this.showEstimate());
    this.start = button("Run", "button primary", () => this.begin());
    this.start.setAttribute("aria-describedby", "benchmarks-estimate");
    this.estimate = h("span", { className: "words estimate", id: "benchmarks-estimate" });
    this.cancel = button("Cancel", "button", () => this.stop());
    this.bar = h("progress", { max: 1, value: 0 });
    this.bar.setAttribute("aria-label", "Benchmarks");
    this.left = h("span", { className: "words left" });
    this.words = h("p", { className: "words outcome" });
    this.words.setAttribute("role", "status");
    this.output = h("div", { className: "output" });
    this.keptList = h("section", { className: "kept-runs" });
    const controls = h("div", { className: "controls" }, this.start, this.cancel, this.bar, this.left, this.estimate);
    this.root.replaceChildren(this.lead, controls, this.words, this.form.element, this.output, this.keptList);
    this.showState();
    this.draw();
    this.drawKept();
  }

  // Running ----------------------------------------------------------------------------------------

  async begin() {
    const { info, form } = this;
    if (!info || !form || this.engine.isBusy) return;
    const choice = form.choice();
    const missing = missingChoice(choice, info.suites);
    if (missing) {
      this.say(missing);
      return;
    }
    const software = isSoftware(info);
    const [suite] = info.suites.filter(({ key }) => key === choice.suites[0].suite);
    const title = choice.suites.length === 1 ? suite.title : `${choice.suites.length} suites`;
    const name = `${title}, ${timeOfDay()}`;
    const run = newRun(info, software, choice, `${name}, unfinished`);
    if (this.probes) run.probes = this.probes;
    this.run = run;
    this.shown = this.compared = null;
    this.progress = new Progress(estimates(choice, info), choice.total);
    this.isRunning = true;
    this.working = "";
    const hadFocus = document.activeElement === this.start;
    this.say(this.probes || info.backend !== "webgpu" ? "Starting" : "Measuring what the device can do");
    this.showState();
    if (hadFocus) this.cancel?.focus();
    this.showProgress();
    this.draw(); // the results shown are of another run
    this.drawKept();
    const most = software ? RESULT_BYTES.least : (info.limits?.maxBufferSize ?? 0) / 4;
    const result_bytes = Math.min(RESULT_BYTES.most, Math.max(RESULT_BYTES.least, most));
    const clock = software ? 0 : CLOCK_SECONDS;
    const config = { ...choice, result_bytes, clock, software, limits: info.backend === "webgpu" && !this.probes };
    const ending = await this.engine.benchmark(JSON.stringify(config), {
      onStep: (step) => this.take(run, JSON.parse(step)),
    });
    this.isRunning = false;
    run.name = ending.interrupted ? `${name}, cancelled` : ending.ok ? name : run.name;
    this.say(this.ending(run, ending));
    const isWaiting = document.activeElement === this.cancel;
    this.showState();
    if (isWaiting) this.start?.focus();
    await this.keep(run);
    this.drawSoon();
    this.drawKept();
  }

  /**
   * Save the run so far, so that a reload in the middle of it loses nothing.
   *
   * @param {Run} run
   */
  async keep(run) {
    if (!run.results.length) return;
    this.keeping = (this.keeping ?? Promise.resolve()).then(async () => {
      if (this.shown?.run === run) await this.kept.save(this.shown);
      else this.shown = await this.kept.add(run);
    });
    await this.keeping;
  }

  stop() {
    if (this.engine.isBenchmarking) this.engine.interrupt();
  }

  /**
   * @param {Run} run
   * @param {Step} step
   */
  take(run, step) {
    const { progress } = this;
    if (!progress) return;
    progress.passed = (performance.now() - this.began) / 1000;
    if (step.event === "limits") {
      run.probes = this.probes = step.limits; // a probe that fails would fail again
    } else if (step.event === "begin") {
      this.began = performance.now();
      progress.passed = 0;
    } else if (step.event === "working") {
      progress.part = step.part;
      const name = `${progress.finished + 1} of ${progress.cases.length}: ${step.case}, ${step.size}`;
      if (name !== this.working) this.say(name); // announce each case once to screen readers
      this.working = name;
    } else {
      run.results.push(step.result);
      Object.assign(run.versions, step.versions);
      progress.finished += 1;
      progress.part = 0;
      this.keep(run);
      this.drawSoon();
    }
    this.showProgress(step.event === "working" ? step.label : "");
  }

  /**
   * @param {Run} run
   * @param {Ending} ending
   */
  ending(run, { ok, interrupted, error }) {
    const finished = run.results.length;
    if (interrupted) return `Cancelled after ${finished} of ${this.progress?.cases.length} cases`;
    if (!ok) return error ?? "Failed";
    const outcomes = run.results.flatMap(({ contenders }) => Object.values(contenders));
    /** @param {string} status */
    const count = (status) => outcomes.filter((outcome) => outcome.status === status).length;
    const noisy = outcomes.filter(isNoisy).length;
    const parts = [`${count("measured")} measured`];
    if (noisy) parts.push(`${noisy} of them noisy (samples vary by more than 25 %)`);
    for (const status of ["skipped", "missing", "wrong", "failed"]) {
      if (count(status)) parts.push(`${count(status)} ${status}`);
    }
    return `Done: ${parts.join(", ")}`;
  }

  // Showing ----------------------------------------------------------------------------------------

  /** @param {string} text */
  say(text) {
    if (this.words) this.words.textContent = text;
  }

  showState() {
    if (!this.start || !this.cancel || !this.bar || !this.left) return;
    this.start.disabled = !this.engine.isReady || this.engine.isBusy;
    this.cancel.hidden = this.bar.hidden = this.left.hidden = !this.isRunning;
    this.form?.disable(this.isRunning);
    this.showEstimate();
  }

  /** @param {string} [label] the current step */
  showProgress(label = "") {
    if (!this.bar || !this.left || !this.progress) return;
    const { fraction, left } = this.progress;
    this.bar.value = fraction;
    this.left.textContent = [`about ${roughly(left)} left`, label].filter(Boolean).join("; ");
  }

  /** Show the expected duration of a run, or why none can start. */
  showEstimate() {
    if (!this.estimate || !this.form || !this.info) return;
    if (this.isRunning) this.estimate.textContent = "";
    else if (!this.engine.isReady) this.estimate.textContent = "Python is starting.";
    else if (this.engine.current) {
      const { current } = this.engine;
      const stop = button("Stop it", "stop-it", () => this.engine.interrupt(current));
      this.estimate.replaceChildren(`Waiting for ${current.name}, which would distort the timings. · `, stop);
    } else {
      const choice = this.form.choice();
      const seconds = estimate(estimates(choice, this.info));
      this.estimate.textContent = missingChoice(choice, this.info.suites) || inWords(choice, seconds);
    }
  }

  draw() {
    const { run, output } = this;
    if (!output) return;
    if (!run || (!run.results.length && !this.isRunning)) {
      output.replaceChildren();
      return;
    }
    const parts = run.results.length ? this.figures(run) : [];
    redrawing(output, () => output.replaceChildren(this.title(run), ...parts, deviceCard(run)));
  }

  /** @param {Run} run */
  title(run) {
    const heading = h("h2", {}, run.name ?? "Unnamed");
    if (this.isRunning) return h("div", { className: "run-title" }, heading);
    return h(
      "div",
      { className: "run-title" },
      heading,
      button("Save as JSON", "button", () => saveFile("py_tensor-benchmarks.json", "application/json", toJson(run))),
      button("Copy as Markdown", "button", () => this.copy(toMarkdown(run, this.titles()))),
    );
  }

  /** @param {Run} run */
  figures(run) {
    const other = this.compared?.run ?? null;
    const changed = other && changeTable(run, other, this.titles());
    const titles = this.titles();
    /** @type {(Node | null)[]} */
    const parts = [
      headline(run),
      charts(run, other, titles),
      ...(changed && other ? [h("h3", {}, `Compared with ${other.name ?? "the other run"}`), changed] : []),
      other && !changed ? h("p", { className: "hint" }, "These two runs have no case in common.") : null,
      summaryTable(run, titles),
      summaryNote(),
      roofline(run),
      h(
        "details",
        { className: "details" },
        h("summary", {}, "All figures"),
        detailTable(run, titles),
        detailNote(run),
      ),
    ];
    return parts.filter((part) => part !== null);
  }

  /** @returns {Record<string, string>} titles of the suites, by key; without a prototype, for suites of other runs */
  titles() {
    const titles = (this.info?.suites ?? []).map(({ key, title }) => [key, title]);
    return Object.assign(Object.create(null), Object.fromEntries(titles));
  }

  drawKept() {
    const list = this.keptList;
    if (list) redrawing(list, () => this.fillKept(list));
  }

  /** @param {HTMLElement} list */
  fillKept(list) {
    const { kept } = this;
    const file = h("input", { type: "file", accept: ".json,application/json", hidden: true });
    file.addEventListener("change", () => file.files?.[0] && this.import(file.files[0]));
    const choose = button("Open JSON…", "button", () => file.click());
    const title = h("div", { className: "run-title" }, h("h2", {}, "Saved runs"), choose, file);
    choose.disabled = this.isRunning;
    const note = kept.problem
      ? `Kept only while this page is open: ${kept.problem}.`
      : kept.all.length
        ? "Saved in this browser only. To compare two runs, show one and tick the other."
        : "Your runs are saved here, in this browser only.";
    const lost = kept.lost ? `${kept.lost} damaged in this browser’s storage and removed. ` : "";
    list.replaceChildren(title, h("p", { className: "hint" }, lost + note));
    if (!kept.all.length || this.isRunning) return;
    const table = keptTable(kept, this.shown, this.compared, {
      show: (one) => this.showKept(one),
      compare: (one) => {
        this.compared = one;
        this.redraw();
      },
      rename: (one, name) => {
        one.run.name = name;
        kept.save(one);
        this.redraw();
      },
      remove: async (one) => {
        await kept.remove(one);
        if (one === this.compared) this.compared = null;
        if (one === this.shown) this.run = this.shown = this.compared = null;
        this.redraw();
      },
    });
    list.append(table);
  }

  redraw() {
    this.draw();
    this.drawKept();
  }

  // Saved runs -------------------------------------------------------------------------------------

  /** @param {Kept} kept */
  showKept(kept) {
    if (this.compared === kept) this.compared = null;
    this.shown = kept;
    this.run = kept.run;
    this.redraw();
  }

  /** @param {File} file */
  async import(file) {
    if (file.size > LARGEST_FILE) {
      this.say(`${file.name} was not opened: it is larger than ${LARGEST_FILE / 2 ** 20} MiB.`);
      return;
    }
    const { run, problems } = fromJson(await file.text());
    if (!run) {
      this.say(`${file.name} is not a run of these benchmarks: ${problems.join("; ")}.`);
      return;
    }
    run.name ??= file.name.replace(/\.json$/i, "");
    this.showKept(await this.kept.add(run));
    this.say(`Opened ${file.name}: ${run.results.length} cases.`);
  }

  /** @param {string} text */
  async copy(text) {
    try {
      await navigator.clipboard.writeText(text);
      this.say("Copied as Markdown.");
    } catch {
      saveFile("py_tensor-benchmarks.md", "text/markdown", text);
      this.say("The browser blocked copying, so the Markdown was saved as a file.");
    }
  }
}

function timeOfDay() {
  return new Date().toLocaleTimeString([], { timeStyle: "short" });
}

/**
 * @param {Choice} choice
 * @param {number} seconds
 */
function inWords(choice, seconds) {
  const left = seconds > choice.total ? `; anything left after ${roughly(choice.total)} is skipped` : "";
  return `${counted(measurements(choice), "measurement")}, about ${roughly(seconds)}${left}`;
}

/**
 * A summary in words of how py_tensor compares with the others.
 *
 * @param {Run} run
 */
function headline(run) {
  const lead = leadOf(contendersOf(run));
  const sentences = standings(run).map(({ contender, faster, slower, unclear, middle }) => {
    const times = middle >= 1 ? `is ${significant(middle)}× as fast` : `takes ${significant(1 / middle)}× as long`;
    const counts = Object.entries({ "faster in": faster, "slower in": slower, "no clear difference in": unclear });
    const words = counts.flatMap(([verdict, count]) => (count ? [`${verdict} ${count}`] : []));
    const all = `${words.join(", ")} of ${faster + slower + unclear}`;
    return h("li", {}, h("strong", {}, `${lead} compared with ${contender}: ${all}`), `; at the median it ${times}`);
  });
  return sentences.length ? h("ul", { className: "headline" }, ...sentences) : null;
}

/** @param {Info} info */
function explanation(info) {
  const device = h("strong", {}, adapterName(info));
  const where =
    info.backend !== "webgpu"
      ? [`No WebGPU here${info.problem ? ` (${info.problem})` : ""}: only py_tensor’s cpu device and NumPy can run.`]
      : isSoftware(info)
        ? ["WebGPU here is ", device, ", a software adapter on the CPU: expect low numbers."]
        : ["Your GPU: ", device, "."];
  if (info.backend === "webgpu")
    where.push(" The default device does not matter here: the CPU is measured as a separate entry.");
  return [
    h("h2", { className: "view-heading" }, "Benchmarks"),
    h(
      "p",
      { className: "intro" },
      "The same work in py_tensor and NumPy, and, if chosen under “What to run”, in the JavaScript libraries " +
        "TensorFlow.js (tfjs) and jax-js, all in this page. ",
      ...where,
      " Every result is checked against float64 before it is timed. A winner is named only if the lead is significant.",
    ),
  ];
}
