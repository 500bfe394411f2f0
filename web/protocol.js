/**
 * What the page and its worker say to each other. Every message of ours carries `channel`, so that
 * what Python code posts through `js.postMessage` can be told apart and passed on.
 */

export const CHANNEL = "py_tensor";

/**
 * @typedef {"stdout" | "stderr"} StreamName
 *
 * @typedef {object} DeviceInfo what `pt.device_info()` says; more than is named here
 * @property {string} backend "webgpu" or "cpu"
 * @property {Adapter | null} [adapter]
 * @property {string[]} [features]
 * @property {Record<string, number>} [limits]
 *
 * @typedef {object} Adapter
 * @property {string} [vendor]
 * @property {string} [architecture]
 * @property {string} [device]
 * @property {string} [description]
 * @property {boolean} [isFallbackAdapter]
 *
 * @typedef {object} Info what `pyTensor.ready` resolves to
 * @property {Adapter | null} adapter null where there is no WebGPU
 * @property {boolean} isFallbackAdapter
 * @property {string[]} features
 * @property {Record<string, number>} limits
 * @property {"snapshot" | "plain"} boot how Python was started: from the snapshot of an earlier visit, or anew
 * @property {string} pyodide version
 * @property {boolean} jspi whether a read inside Python code can wait
 * @property {boolean} crossOriginIsolated
 * @property {string} backend "webgpu" or "cpu"
 * @property {string} version of py_tensor
 * @property {string} python version
 * @property {string | null} problem why the GPU could not be used, where that is an error
 * @property {SuiteInfo[]} suites the benchmarks there are
 *
 * @typedef {object} SuiteInfo (benchmarks.py)
 * @property {string} key
 * @property {string} title
 * @property {string} source
 * @property {string[]} sizes
 * @property {string[]} defaultSizes for where there is no GPU
 * @property {string[]} cases
 * @property {{ case: string, size: string, work: number, unit: string }[]} work FLOP or bytes of each
 *
 * @typedef {object} Outcome how an input ended (session.py)
 * @property {boolean} ok
 * @property {string | null} result
 * @property {string | null} error
 * @property {string | null} full_error
 * @property {boolean} interrupted
 */

/**
 * @typedef {{ kind: "boot", interruptBuffer: SharedArrayBuffer | null, distrusted: boolean }} BootCommand
 *   distrusted: a boot from the snapshot came to nothing, so do without
 * @typedef {{ kind: "run", id: number, source: string }} RunCommand
 * @typedef {{ kind: "benchmark", id: number, config: string }} BenchmarkCommand
 * @typedef {{ kind: "resize", columns: number }} ResizeCommand
 * @typedef {{ kind: "answer", question: number, line: string | null }} AnswerCommand a line for sys.stdin;
 *   null: nobody is there
 * @typedef {{ kind: "interrupt", id: number }} InterruptCommand
 * @typedef {BootCommand | RunCommand | BenchmarkCommand | ResizeCommand | AnswerCommand
 *   | InterruptCommand} Command
 *   from the page to the worker
 */

/**
 * @typedef {{ kind: "progress", text: string, fraction: number, boot?: Info["boot"] }} ProgressEvent
 *   boot: how it will be done, once that is known
 * @typedef {{ kind: "ready", info: Info }} ReadyEvent
 * @typedef {{ kind: "failed", error: string }} FailedEvent
 * @typedef {{ kind: "output", id: number | null, stream: StreamName, text: string }} OutputEvent
 * @typedef {{ kind: "step", id: number, step: string }} StepEvent a step of a benchmark, as JSON
 * @typedef {{ kind: "asking", id: number | null, question: number | null }} AskingEvent Python waits for
 *   a line, or (null) not any more
 * @typedef {{ kind: "done", id: number, outcome: Outcome }} DoneEvent
 * @typedef {{ kind: "crashed", error: string }} CrashedEvent Python itself is gone
 * @typedef {ProgressEvent | ReadyEvent | FailedEvent | OutputEvent | StepEvent | AskingEvent
 *   | DoneEvent | CrashedEvent} Report
 *   from the worker to the page
 */

/**
 * @template {Command | Report} T
 * @param {T} message
 * @returns {T & { channel: string }}
 */
export function envelope(message) {
  return { channel: CHANNEL, ...message };
}

/**
 * @param {unknown} data
 * @returns {boolean} whether a message is one of ours
 */
export function isOurs(data) {
  return typeof data === "object" && data !== null && "channel" in data && data.channel === CHANNEL;
}
