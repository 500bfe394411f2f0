/** A run as Markdown, to paste into an issue. */

import { adapterName } from "../ui/adapter.js";
import { factorsOf, isNoisy, winnerOf } from "./comparison.js";
import { duration, rateText, significant } from "./format.js";
import { roofOf } from "./limits.js";
import { contendersOf, isMeasured, leadOf } from "./record.js";
import { median, spread } from "./statistics.js";

/** @typedef {import("./record.js").Run} Run */
/** @typedef {import("./record.js").Result} Result */

/**
 * @param {Run} run
 * @param {Record<string, string>} titles of the suites
 * @returns {string}
 */
export function toMarkdown(run, titles) {
  const contenders = contendersOf(run);
  const isOne = run.results.every(({ suite }) => suite === run.results[0].suite);
  const rows = run.results.map((result) => [
    escaped(isOne ? result.case : `${titles[result.suite] ?? result.suite}: ${result.case}`),
    result.size,
    ...contenders.map((name) => cell(result, name)),
  ]);
  const lines = [
    `### ${escaped(run.name ?? "py_tensor benchmarks")}`,
    "",
    ...about(run).map((line) => `- ${escaped(line)}`),
    "",
    line(["case", "size", ...contenders.map(escaped)]),
    line(["---", "---:", ...contenders.map(() => "---:")]),
    ...rows.map(line),
    "",
    "Median time per op ± half the interquartile range. ×: speed of py_tensor relative to another library, " +
      "with a 95 % bootstrap interval. Bold: fastest.",
  ];
  return `${lines.join("\n")}\n`;
}

/** @param {Run} run */
function about(run) {
  const { adapter, software, browser, versions, date, environment } = run;
  const name = adapterName({ adapter });
  const lines = [
    `${name}${software ? " (software adapter, not a GPU)" : ""}, ${browser ?? "unknown browser"}, ${date.slice(0, 10)}`,
    Object.entries({ ...versions, ...(environment?.pyodide ? { Pyodide: environment.pyodide } : {}) })
      .map(([library, version]) => `${library} ${version}`)
      .join(", "),
  ];
  if (environment?.crossOriginIsolated === false) lines.push("not cross-origin isolated (clock resolution 100 µs)");
  const roof = roofOf(run.probes);
  if (roof) lines.push(`copy ${rateText(roof.bandwidth, "GB/s")}, multiply-adds ${rateText(roof.peak, "GFLOP/s")}`);
  return lines;
}

/**
 * @param {Result} result
 * @param {string} name
 */
function cell(result, name) {
  if (!Object.hasOwn(result.contenders, name)) return "";
  const outcome = result.contenders[name];
  if (!isMeasured(outcome)) return escaped([outcome.status, outcome.reason].filter(Boolean).join(": "));
  const time = duration(median(outcome.samples));
  const words = [winnerOf(result) === name ? `**${time}**` : time, `±${Math.round(100 * spread(outcome.samples))} %`];
  if (isNoisy(outcome)) words.push("noisy");
  for (const { contender, ratio } of name === leadOf(Object.keys(result.contenders)) ? factorsOf(result) : []) {
    const interval = `${significant(ratio.low)}–${significant(ratio.high)}`;
    const than = escaped(contender);
    words.push(
      ratio.verdict === "unclear"
        ? `(${than}: no winner, ${interval})`
        : `(${significant(ratio.ratio)}× ${than}, ${interval})`,
    );
  }
  return words.join(" ");
}

/** @param {string[]} cells */
function line(cells) {
  return `| ${cells.join(" | ")} |`;
}

/** @param {string} text */
function escaped(text) {
  return text.replace(/\s+/g, " ").replace(/[\\`*_[\]<>|]/g, "\\$&");
}
