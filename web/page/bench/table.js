/** The results as tables: a summary, all figures of all contenders, and the comparison of two runs. */

import { focusableWhileItScrolls, h } from "../ui/dom.js";
import { changes, factorsOf, isNoisy, ratioOf, winnerOf } from "./comparison.js";
import { duration, percent, rateText, significant } from "./format.js";
import { BUSY, busyPart, isOnGpu, partOfLimit } from "./limits.js";
import { contendersOf, isMeasured, leadOf, rate } from "./record.js";
import { median, spread } from "./statistics.js";

/** @typedef {import("./record.js").Run} Run */
/** @typedef {import("./record.js").Probes} Probes */
/** @typedef {import("./record.js").Result} Result */
/** @typedef {import("./record.js").Outcome} Outcome */
/** @typedef {import("./record.js").Measured} Measured */
/** @typedef {import("./statistics.js").Ratio} Ratio */

/** @type {Record<Exclude<Outcome["status"], "measured">, string>} */
const WORDS = { missing: "None", skipped: "Skipped", wrong: "Wrong", failed: "Failed" };

/**
 * A row for each case and size, a column for each contender: the steady-state time and figures derived from it.
 *
 * @param {Run} run
 * @param {Record<string, string>} titles of the suites
 * @returns {HTMLElement}
 */
export function summaryTable(run, titles) {
  const contenders = contendersOf(run);
  const head = h("tr", {}, heading("Case"), heading("Size", "number"));
  for (const name of contenders) head.append(heading(name, "number"));
  const body = h("tbody");
  let previous = "";
  for (const [i, result] of run.results.entries()) {
    const suite = suiteLine(run, i, titles, contenders.length + 2);
    if (suite) {
      body.append(suite);
      previous = "";
    }
    const line = caseLine(result, previous);
    previous = result.case;
    const winner = winnerOf(result);
    for (const name of contenders) line.append(summaryCell(run, result, name, name === winner));
    body.append(line);
  }
  return scroller("Results", h("table", { className: "results" }, h("thead", {}, head), body));
}

/**
 * @param {Run} run
 * @param {number} i of a result
 * @param {Record<string, string>} titles
 * @param {number} columns
 * @returns {HTMLElement | null} the heading above the first result of each suite, if there are several
 */
function suiteLine({ results }, i, titles, columns) {
  const { suite } = results[i];
  if (results[i - 1]?.suite === suite || results.every((result) => result.suite === suite)) return null;
  const title = h("th", { scope: "colgroup", colSpan: columns, textContent: titles[suite] ?? suite });
  return h("tr", { className: "suite" }, title);
}

/**
 * @param {Result} result
 * @param {string} previous the case of the row above
 */
function caseLine(result, previous) {
  const isRepeated = result.case === previous;
  const name = h("th", { scope: "row", textContent: result.case, className: isRepeated ? "repeated" : "" });
  const size = h("td", { className: "number", textContent: result.size });
  return h("tr", { className: isRepeated ? "" : "first" }, name, size);
}

/**
 * @param {Run} run
 * @param {Result} result
 * @param {string} name
 * @param {boolean} isWinner
 */
function summaryCell(run, result, name, isWinner) {
  if (!Object.hasOwn(result.contenders, name)) return h("td", { className: "number faint" }, "…");
  const outcome = result.contenders[name];
  if (!isMeasured(outcome)) return reasonCell(outcome);
  const time = h(isWinner ? "strong" : "span", {}, duration(median(outcome.samples)));
  const deviation = h("span", { className: "faint" }, ` ±${Math.round(100 * spread(outcome.samples))} %`);
  const cell = h("td", { className: "number" }, time, deviation);
  if (isNoisy(outcome)) cell.append(" ", h("strong", { className: "noisy" }, "noisy"));
  if (name !== leadOf(Object.keys(result.contenders))) return cell;
  const factors = factorsOf(result).map(({ contender, ratio }) => ratioWords(ratio, contender));
  for (const words of [rateWords(isOnGpu(name) ? run.probes : undefined, result, outcome), ...factors]) {
    if (words) cell.append(h("span", { className: "second" }, words));
  }
  return cell;
}

/** @param {Outcome} outcome */
function reasonCell({ status, reason }) {
  const word = WORDS[/** @type {keyof typeof WORDS} */ (status)] ?? status;
  return h("td", { className: `reason ${status}` }, h("strong", {}, word), reason ? `: ${reason}` : "");
}

/**
 * @param {Probes | undefined} probes
 * @param {Result} result
 * @param {Measured} outcome
 */
function rateWords(probes, result, outcome) {
  const busy = busyPart(outcome);
  if (busy !== null && busy < BUSY) return `GPU busy ${percent(busy)}`;
  const found = rate(result, outcome);
  const part = partOfLimit(result, outcome, probes);
  const words = [];
  if (found !== null) words.push(rateText(found, result.unit));
  if (part !== null) words.push(`${percent(part)} of limit`);
  return words.join(", ");
}

/**
 * @param {Ratio} ratio
 * @param {string} than the contender it is relative to
 */
function ratioWords({ ratio, low, high, verdict }, than) {
  const interval = `(${significant(low)}–${significant(high)})`;
  return verdict === "unclear" ? `${than}: no winner ${interval}` : `${significant(ratio)}× ${than} ${interval}`;
}

/** @param {Ratio | null} ratio */
function changeWords(ratio) {
  if (!ratio) return "too few samples";
  const interval = `(${significant(ratio.low)}–${significant(ratio.high)})`;
  return ratio.verdict === "unclear" ? `no change ${interval}` : `${significant(ratio.ratio)}× ${interval}`;
}

/** The legend of the summary. */
export function summaryNote() {
  return h(
    "p",
    { className: "hint" },
    "Steady state: median time per op ± half the interquartile range. Below that of py_tensor, its rate " +
      "and share of the device's limit (above 100 % where a cache helps), or how busy the GPU is if that is less " +
      "than half of the time; then its speed relative to each of the others, with a 95 % " +
      "bootstrap interval. Bold: fastest; none if an interval includes 1.",
  );
}

/**
 * A row for each contender of each case and size, with everything that was measured.
 *
 * @param {Run} run
 * @param {Record<string, string>} titles of the suites
 * @returns {HTMLElement}
 */
export function detailTable(run, titles) {
  const columns = ["Compile", "First run", "Steady", "Min", "Max", "GPU", "Dispatches", "Rate", "Of limit"];
  columns.push("Samples", "Error");
  const head = h("tr", {}, heading("Case"), heading("Size", "number"), heading("Contender"));
  for (const title of columns) head.append(heading(title, "number"));
  const body = h("tbody");
  let previous = "";
  for (const [at, result] of run.results.entries()) {
    const suite = suiteLine(run, at, titles, columns.length + 3);
    if (suite) {
      body.append(suite);
      previous = "";
    }
    for (const [i, name] of Object.keys(result.contenders).entries()) {
      const line = caseLine(result, i || result.case === previous ? result.case : "");
      previous = result.case;
      line.className = i ? "" : "first";
      line.append(h("td", {}, name), ...detailCells(run, result, name, columns.length));
      body.append(line);
    }
  }
  return scroller("Details", h("table", { className: "results" }, h("thead", {}, head), body));
}

/**
 * @param {Run} run
 * @param {Result} result
 * @param {string} name
 * @param {number} columns
 */
function detailCells(run, result, name, columns) {
  const outcome = result.contenders[name];
  if (!isMeasured(outcome)) {
    const cell = reasonCell(outcome);
    cell.colSpan = columns;
    return [cell];
  }
  const { samples, calls = 1, dispatches, error, settled } = outcome;
  const busy = busyPart(outcome);
  const isOverhead = busy !== null && busy < BUSY;
  const found = rate(result, outcome);
  const part = isOnGpu(name) && !isOverhead ? partOfLimit(result, outcome, run.probes) : null;
  const warm = settled === false ? ", did not stabilize" : "";
  const texts = [
    isOnGpu(name) ? compileWords(outcome) : NONE,
    outcome.first === undefined ? "" : duration(outcome.first),
    duration(median(samples)),
    duration(Math.min(...samples)),
    duration(Math.max(...samples)),
    isOnGpu(name) ? gpuWords(outcome) : NONE,
    isOnGpu(name) && typeof dispatches === "number" ? String(Number((dispatches / result.ops).toPrecision(2))) : NONE,
    found === null ? "" : isOverhead ? "mostly overhead" : rateText(found, result.unit),
    part === null ? "" : percent(part),
    `${samples.length} × ${calls}${warm}`,
    typeof error === "number" ? errorWords(error) : "",
  ];
  return texts.map((text) => h("td", { className: "number", textContent: text }));
}

/** Not applicable: NumPy compiles nothing and submits nothing to a GPU. */
const NONE = "–";

/** @param {number} error */
function errorWords(error) {
  return error === 0 ? "0" : error.toExponential(0);
}

/** @param {Measured} outcome */
function gpuWords({ gpu }) {
  if (gpu === null || gpu === undefined) return "not known";
  return gpu ? duration(gpu) : "too short";
}

/** @param {Outcome} outcome */
function compileWords({ compile }) {
  if (compile === 0) return "done before";
  return compile === null || compile === undefined ? "in first run" : duration(compile);
}

/**
 * The meaning of the columns of the details.
 *
 * @param {Run} run
 */
export function detailNote({ software }) {
  const clock = software ? "the software adapter’s clock, which can exceed wall time" : "the GPU’s own clock";
  return h(
    "p",
    { className: "hint" },
    `Compile: the part of the first run until kernels were compiled. GPU: kernels only, by ${clock}, in ` +
      "a separate sample; GPU and dispatches are per op. Mostly overhead: the GPU is busy less than half of " +
      "the time, so a rate would say little about kernels. Of limit: of what the measured copy and multiply-adds " +
      "allow; above 100 % where a cache helps. Samples: rounds × calls in each. –: not available.",
  );
}

/**
 * The changes between two runs.
 *
 * @param {Run} run
 * @param {Run} other
 * @param {Record<string, string>} titles of the suites
 * @returns {HTMLElement | null} null if they have nothing in common
 */
export function changeTable(run, other, titles) {
  const rows = changes(run, other);
  if (!rows.length) return null;
  const head = h("tr", {}, heading("Case"), heading("Size", "number"), heading("Contender"));
  for (const title of ["Before", "Now", "Speedup"]) head.append(heading(title, "number"));
  const body = h("tbody");
  let previous = "";
  const shared = { ...run, results: [...new Set(rows.map(({ result }) => result))] };
  for (const [i, { result, contender, before, now }] of rows.entries()) {
    const at = shared.results.indexOf(result);
    const suite = rows[i - 1]?.result === result ? null : suiteLine(shared, at, titles, 6);
    if (suite) {
      body.append(suite);
      previous = "";
    }
    const line = caseLine(result, previous);
    previous = result.case;
    const ratio = ratioOf(now, before);
    const times = [before, now].map((outcome) => duration(median(/** @type {Measured} */ (outcome).samples)));
    line.append(h("td", {}, contender), ...times.map((text) => h("td", { className: "number" }, text)));
    line.append(h("td", { className: `number change ${ratio?.verdict ?? ""}` }, changeWords(ratio)));
    body.append(line);
  }
  return scroller("Changes", h("table", { className: "results" }, h("thead", {}, head), body));
}

/**
 * @param {string} text
 * @param {string} className
 */
function heading(text, className = "") {
  return h("th", { scope: "col", className, textContent: text });
}

/**
 * @param {string} label
 * @param {HTMLElement} table
 */
export function scroller(label, table) {
  const element = h("div", { className: "table-scroller" }, table);
  focusableWhileItScrolls(element);
  element.setAttribute("role", "region");
  element.setAttribute("aria-label", label);
  return element;
}
