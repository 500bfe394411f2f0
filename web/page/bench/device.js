/** The device card: the hardware and software that a run was measured on. */

import { adapterName } from "../ui/adapter.js";
import { inBytes } from "../ui/bytes.js";
import { h } from "../ui/dom.js";
import { duration, rateText } from "./format.js";
import { roofOf } from "./limits.js";
import { median } from "./statistics.js";

/** @typedef {import("./record.js").Run} Run */
/** @typedef {import("./record.js").Probes} Probes */

/**
 * @param {Run} run
 * @returns {HTMLElement}
 */
export function deviceCard(run) {
  const { adapter, software, browser, date, versions, environment = {} } = run;
  const { crossOriginIsolated, jspi, features, limits, cores, userAgent } = environment;
  const title = adapter ? adapterName({ adapter }) : "No WebGPU";
  const kind = adapter ? (software ? "software adapter, not a GPU" : "GPU") : "all on the CPU";
  /** @type {[string, string | undefined][]} */
  const facts = [
    ["Adapter", adapter ? words(adapter) : undefined],
    ["Browser", browser],
    ["Versions", words({ ...versions, Pyodide: environment.pyodide, Python: environment.python })],
    ["Measured limits", limitsWords(run.probes)],
    ["Read latency", readWords(run.probes)],
    ["Cross-origin isolated", crossOriginIsolated === undefined ? undefined : isolation(crossOriginIsolated)],
    ["Blocking reads (JSPI)", jspi === undefined ? undefined : jspi ? "yes" : "no"],
    ["CPU threads", cores === undefined ? undefined : String(cores)],
    ["Date", new Date(date).toLocaleString()],
    ["Features", features?.length ? features.join(", ") : undefined],
    ["Limits", limits ? limitWords(limits) : undefined],
    ["User agent", userAgent],
  ];
  const list = h("dl", {});
  for (const [term, value] of facts) if (value) list.append(h("dt", {}, term), h("dd", {}, value));
  const summary = h("summary", {}, h("strong", {}, title), ` ${kind}, ${browser ?? "unknown browser"}`);
  return h("details", { className: `device ${software ? "software" : ""}` }, summary, list);
}

/** @param {Probes | undefined} probes */
function limitsWords(probes) {
  const roof = roofOf(probes);
  const found = roof && `copy ${rateText(roof.bandwidth, "GB/s")}, multiply-adds ${rateText(roof.peak, "GFLOP/s")}`;
  return [found ?? "not measured", probes?.problem].filter(Boolean).join(": ");
}

/** @param {Probes | undefined} probes */
function readWords(probes) {
  const { readOfOne: one, readOfHundred: hundred } = probes ?? {};
  if (!one?.seconds.length || !hundred?.seconds.length) return undefined;
  const times = [one, hundred].map(({ seconds }) => duration(median(seconds)));
  return `JavaScript alone: a read takes ${times[0]}, ${times[1]} after 100 small kernels`;
}

/** @param {Record<string, unknown>} parts */
function words(parts) {
  return Object.entries(parts)
    .filter(([, value]) => value !== undefined && value !== "" && typeof value !== "object")
    .map(([name, value]) => `${name} ${value}`)
    .join(", ");
}

/** @param {boolean} is */
function isolation(is) {
  return is ? "yes (clock resolution 5 µs)" : "no (clock resolution 100 µs)";
}

/** @param {Record<string, number>} limits */
function limitWords(limits) {
  return Object.entries(limits)
    .map(([name, value]) => `${name} ${/Size$/.test(name) && !/Workgroup/.test(name) ? inBytes(value) : value}`)
    .join(", ");
}
