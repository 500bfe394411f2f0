/** The results as a table: a row for each case and size, a pair of columns for each contender. */

import { h } from "../ui/dom.js";
import { duration, significant } from "./format.js";
import { CONTENDERS, isNoisy, spread } from "./results.js";

/** @typedef {import("./results.js").Results} Results */
/** @typedef {import("./results.js").Result} Result */

/**
 * @param {Results} results
 * @param {string[]} devices
 * @returns {HTMLElement}
 */
export function resultTable(results, devices) {
  const head = h("tr", {}, heading("Case"), heading("Size", "number"));
  for (const device of devices) {
    head.append(heading(CONTENDERS[device], "number"), heading("Rate", "number"));
  }
  if (devices.length > 1) head.append(heading("Speed-up", "number"));

  const body = h("tbody");
  let previous = "";
  for (const row of results.rows()) {
    const line = h("tr", { className: row.case === previous ? "" : "first" });
    const name = h("th", { scope: "row", textContent: row.case });
    if (row.case === previous) name.className = "repeated";
    previous = row.case;
    line.append(name, h("td", { className: "number", textContent: row.size }));
    for (const device of devices) line.append(...contenderCells(row.byDevice[device]));
    if (devices.length > 1) line.append(speedUp(row.byDevice.webgpu, row.byDevice.cpu));
    body.append(line);
  }
  return h("table", { className: "results" }, h("thead", {}, head), body);
}

/**
 * @param {string} text
 * @param {string} className
 */
function heading(text, className = "") {
  return h("th", { scope: "col", className, textContent: text });
}

/**
 * @param {Result | undefined} result
 * @returns {HTMLElement[]}
 */
function contenderCells(result) {
  if (!result) return [h("td", { className: "number faint", colSpan: 2 }, "…")];
  if (result.event !== "measured") {
    const word = result.event === "wrong" ? "Wrong" : "Skipped";
    const label = h("strong", {}, word);
    return [h("td", { className: `reason ${result.event}`, colSpan: 2 }, label, `: ${result.reason}`)];
  }
  const title = [
    `median of ${result.samples.length} rounds of ${result.queued} queued ops`,
    `${duration(result.least)} to ${duration(result.most)}`,
    `largest relative error ${result.error.toExponential(1)}`,
  ].join("\n");
  const deviation = h("span", { className: "faint" }, ` ±${Math.round(spread(result))} %`);
  const warning = isNoisy(result) ? [" ", h("strong", { className: "noisy" }, "noisy")] : [];
  return [
    h("td", { className: "number", title }, duration(result.median), deviation, ...warning),
    h("td", { className: "number faint" }, `${significant(result.rate)} ${result.unit}`),
  ];
}

/**
 * @param {Result | undefined} gpu
 * @param {Result | undefined} cpu
 */
function speedUp(gpu, cpu) {
  const isKnown = gpu?.event === "measured" && cpu?.event === "measured";
  const text = isKnown ? `${significant(cpu.median / gpu.median)}×` : "";
  return h("td", { className: "number strong", textContent: text });
}
