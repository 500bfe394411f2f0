/** A benchmark run as a value: creating it, reading it from JSON and writing it. */

import { partOfLimit } from "./limits.js";
import { RUN, SCHEMA } from "./schema.js";
import { median, spread } from "./statistics.js";
import { problemsWith } from "./validate.js";

/** @typedef {import("../../worker/protocol.js").Info} Info */
/** @typedef {import("./form.js").Choice} Choice */

/**
 * `schema.js` defines the format.
 *
 * @typedef {object} Outcome
 * @property {"measured" | "missing" | "skipped" | "wrong" | "failed"} status
 * @property {string | null} [reason]
 * @property {number} [first]
 * @property {number | null} [compile]
 * @property {number[]} [samples]
 * @property {number} [calls]
 * @property {number} [warm_ups]
 * @property {boolean} [settled]
 * @property {number | null} [error]
 * @property {number | null} [gpu]
 * @property {number | null} [dispatches]
 * @property {number | null} [submits]
 *
 * @typedef {Outcome & { status: "measured", samples: number[] }} Measured
 *
 * @typedef {object} Result
 * @property {string} suite
 * @property {string} case
 * @property {string} size
 * @property {number} [extent]
 * @property {number} flops
 * @property {number} bytes
 * @property {"GB/s" | "GFLOP/s"} unit
 * @property {number} ops
 * @property {Record<string, Outcome>} contenders
 *
 * @typedef {{ unit?: string, work?: number, dispatches?: number, seconds: number[] }} Probe
 * @typedef {{ copy?: Probe, multiplyAdd?: Probe, readOfOne?: Probe, readOfHundred?: Probe, problem?: string }} Probes
 *
 * @typedef {object} Environment
 * @property {string[]} [features]
 * @property {Record<string, number>} [limits]
 * @property {string} [pyodide]
 * @property {string} [python]
 * @property {boolean} [jspi]
 * @property {boolean} [crossOriginIsolated]
 * @property {string} [userAgent]
 * @property {number} [cores]
 *
 * @typedef {object} Run
 * @property {number} schema
 * @property {string} [name]
 * @property {string} date
 * @property {string} [browser]
 * @property {import("../../worker/protocol.js").Adapter | null} adapter
 * @property {boolean} software
 * @property {Record<string, string>} versions
 * @property {Environment} [environment]
 * @property {Choice} [choice]
 * @property {Probes} [probes]
 * @property {Result[]} results
 */

export const OURS = "py_tensor";
/** py_tensor on its cpu device, which computes with NumPy. */
export const ON_CPU = "py_tensor (cpu)";

/**
 * @param {Info} info
 * @param {boolean} software
 * @param {Choice} choice
 * @param {string} name
 * @returns {Run} one that has just begun
 */
export function newRun(info, software, choice, name) {
  const { adapter, version, features, limits, pyodide, python, jspi, crossOriginIsolated } = info;
  const { userAgent, hardwareConcurrency: cores } = navigator;
  return {
    schema: SCHEMA,
    name,
    date: new Date().toISOString(),
    browser: browserName(),
    adapter,
    software,
    versions: { [OURS]: version },
    environment: { features, limits, pyodide, python, jspi, crossOriginIsolated, userAgent, cores },
    choice,
    results: [],
  };
}

/** @returns {string} such as "Chromium 156" */
function browserName() {
  const { userAgentData } = /** @type {any} */ (navigator);
  /** @type {{ brand: string, version: string }[]} */
  const brands = userAgentData?.brands ?? [];
  const real = brands.filter(({ brand }) => !/not.?a.?brand/i.test(brand));
  const best = real.find(({ brand }) => brand !== "Chromium") ?? real[0];
  if (best) return `${best.brand} ${best.version}`;
  const found = /(Firefox|Version)\/([\d.]+)/.exec(navigator.userAgent);
  if (!found) return navigator.userAgent;
  return `${found[1] === "Version" ? "Safari" : found[1]} ${found[2]}`;
}

/**
 * @param {Outcome | undefined} outcome
 * @returns {outcome is Measured}
 */
export function isMeasured(outcome) {
  return outcome?.status === "measured" && (outcome.samples?.length ?? 0) > 0;
}

/**
 * @param {string[]} contenders
 * @returns {string} the one to which the others are compared: py_tensor on WebGPU, or else on its cpu device
 */
export function leadOf(contenders) {
  return contenders.includes(OURS) ? OURS : ON_CPU;
}

/**
 * The contenders of a run, in their order.
 *
 * @param {Run} run
 * @returns {string[]}
 */
export function contendersOf(run) {
  return [...new Set([...(run.choice?.contenders ?? []), ...run.results.flatMap((r) => Object.keys(r.contenders))])];
}

/**
 * @param {Run} run
 * @returns {string} JSON, with figures derived from the samples
 */
export function toJson(run) {
  const results = run.results.map((result) => ({
    ...result,
    contenders: Object.fromEntries(
      Object.entries(result.contenders).map(([name, outcome]) => [name, withFigures(result, outcome, run.probes)]),
    ),
  }));
  return `${JSON.stringify({ ...run, results }, null, 1)}\n`;
}

/**
 * @param {Result} result
 * @param {Outcome} outcome
 * @param {Probes | undefined} probes
 */
function withFigures(result, outcome, probes) {
  if (!isMeasured(outcome)) return outcome;
  const { samples } = outcome;
  return {
    ...outcome,
    median: median(samples),
    spread: spread(samples),
    least: Math.min(...samples),
    most: Math.max(...samples),
    rate: rate(result, outcome) ?? undefined,
    part_of_limit: partOfLimit(result, outcome, probes) ?? undefined,
  };
}

/**
 * @param {Result} result
 * @param {Measured} outcome
 * @returns {number | null} in 10**9 of the case's unit; null if a rate is meaningless
 */
export function rate(result, outcome) {
  const work = result.unit === "GFLOP/s" ? result.flops : result.bytes;
  return work ? work / (median(outcome.samples) * result.ops) / 1e9 : null;
}

/**
 * @param {string} text
 * @returns {{ run: Run, problems: null } | { run: null, problems: string[] }}
 */
export function fromJson(text) {
  /** @type {unknown} */
  let value;
  try {
    value = JSON.parse(text);
  } catch (error) {
    return { run: null, problems: [`not valid JSON: ${error instanceof Error ? error.message : error}`] };
  }
  const problems = problemsWith(RUN, value);
  return problems.length ? { run: null, problems } : { run: /** @type {Run} */ (value), problems: null };
}
