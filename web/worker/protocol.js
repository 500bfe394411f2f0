/**
 * The messages between the page and its worker. Each of them has `channel`, so that messages that
 * Python code posts with `js.postMessage` can be distinguished and passed on.
 */

export const CHANNEL = "py_tensor";

/** The query for a drawing, which is answered whenever Python waits. */
export const DRAWING = "drawing";

/** The name of a spare worker, which boots Python and then waits for "begin". */
export const SPARE = "py_tensor spare";

/**
 * @typedef {"stdout" | "stderr"} StreamName
 *
 * @typedef {object} DeviceInfo the result of `pt.device_info()`, which has more fields than these
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
 * @property {Adapter | null} adapter null if there is no WebGPU
 * @property {boolean} isFallbackAdapter
 * @property {string[]} features
 * @property {Record<string, number>} limits
 * @property {"snapshot" | "plain"} boot how Python was started: from the snapshot of an earlier visit, or plainly
 * @property {string} pyodide version
 * @property {boolean} jspi whether a read inside Python code can wait
 * @property {boolean} crossOriginIsolated
 * @property {string} backend "webgpu" or "cpu"
 * @property {string} version of py_tensor
 * @property {string} python version
 * @property {string | null} problem why the GPU could not be used, if there was an error
 * @property {SuiteInfo[]} suites the available benchmarks
 *
 * @typedef {object} SuiteInfo (benchmarks.py)
 * @property {string} key
 * @property {string} title
 * @property {string} source
 * @property {string[]} sizes
 * @property {string[]} defaultSizes the sizes to use if there is no GPU
 * @property {string[]} cases
 * @property {{ case: string, size: string, work: number, unit: string }[]} work FLOP or bytes of each
 *
 * @typedef {object} Outcome how an input ended (session.py)
 * @property {boolean} ok
 * @property {string | null} result
 * @property {string | null} error
 * @property {string | null} full_error
 * @property {Failure | null} failure `error` as data; null if it is not a traceback
 * @property {boolean} interrupted
 * @property {number} [seconds] that it ran, by the page's clock
 * @property {Bundle | null} [rich] the bundle shown beside `result` or instead of it
 * @property {import("../page/repl/help.js").Help | null} [help] what the help panel shows
 * @property {boolean} [isDropped] it was not run, because an input before it was interrupted or failed
 *
 * @typedef {object} Failure an exception, as data (failures.py)
 * @property {string} type
 * @property {string} message
 * @property {number} input the number of the input that failed
 * @property {Place[]} places in the user's own code, innermost last
 * @property {boolean} hides whether the traceback has frames that are not listed
 * @property {"cause" | "context" | null} link how `origin` is related to it
 * @property {Failure | null} origin
 * @property {Failure[]} exceptions of a group
 *
 * @typedef {object} Place a position in the user's code
 * @property {number | null} input null for a file
 * @property {string} file
 * @property {string} function "<module>" at the top level
 * @property {SourceLine[]} lines
 * @property {number} repeated
 * @property {number} skipped the number of outer places that were left out
 *
 * @typedef {{ number: number, before: string, marked: string, after: string }} SourceLine
 */

/** @typedef {import("../page/display/bundles.js").Bundle} Bundle */
/** @typedef {import("../page/display/bundles.js").ControlValue} ControlValue */

/**
 * @typedef {{ kind: "boot", interruptBuffer: SharedArrayBuffer | null, distrusted: boolean }} BootCommand
 *   distrusted: a boot from the snapshot did not finish, so do not use it
 * @typedef {{ kind: "begin" }} BeginCommand to a spare: become the page's Python
 * @typedef {{ kind: "write", changed: import("../page/sessions/store.js").File[], removed: string[] }} WriteCommand the
 *   user's files of an earlier Python, or changes that the page has made
 * @typedef {{ kind: "run", id: number, source: string }} RunCommand
 * @typedef {{ kind: "help", id: number, source: string } & import("../page/repl/text.js").HelpRequest} HelpCommand
 *   source: the input that requests help
 * @typedef {{ kind: "benchmark", id: number, config: string }} BenchmarkCommand
 * @typedef {{ kind: "resize", columns: number } & Room} ResizeCommand the size of the console
 * @typedef {{ width: number, height: number }} Room in CSS pixels
 * @typedef {{ kind: "answer", question: number, line: string | null }} AnswerCommand a line for sys.stdin;
 *   null: the page has no input
 * @typedef {{ kind: "interrupt", id: number }} InterruptCommand
 * @typedef {{ kind: "view", id: number, number: number, view: string, place: Record<string, number> }} ViewCommand
 *   request a view of a displayed tensor; the answer is a "display" report
 * @typedef {{ kind: "draw", id: number } & Drawing} DrawCommand a live picture of the gallery; the answer is a
 *   "display" report
 * @typedef {{ kind: "control", number: number, value: ControlValue }} ControlCommand the user changed a control
 * @typedef {{ kind: "forget", id: number }} ForgetCommand what an input has shown is gone, so nothing of it is to be called
 * @typedef {{ kind: "react", id: number, number: number }} ReactCommand run the function bound to changed controls
 * @typedef {{ kind: "frame", number: number }} FrameCommand the last update of a display was drawn
 * @typedef {{ kind: "query", id: number, method: string, args: string }} QueryCommand a question about the session,
 *   as JSON (`Console.query` in boot.py)
 * @typedef {BootCommand | BeginCommand | WriteCommand | RunCommand | HelpCommand | BenchmarkCommand | ResizeCommand | AnswerCommand
 *   | InterruptCommand | QueryCommand | ViewCommand | DrawCommand | ControlCommand | ForgetCommand | ReactCommand | FrameCommand} Command
 *   from the page to the worker
 *
 * @typedef {object} Drawing the input of python/gallery.py
 * @property {string} name of an example
 * @property {string} code
 * @property {Record<string, string | number>} values
 * @property {Uint32Array<ArrayBuffer>} [frame] the reader's own picture, R | G << 8 | B << 16 for each
 *   pixel; moved to the worker
 */

/**
 * @typedef {{ kind: "progress", text: string, fraction: number, boot?: Info["boot"] }} ProgressEvent
 *   boot: the kind of boot, once it is known
 * @typedef {{ kind: "standing-by" }} StandingByEvent a spare has booted
 * @typedef {{ kind: "ready", info: Info }} ReadyEvent
 * @typedef {{ kind: "failed", error: string }} FailedEvent
 * @typedef {{ kind: "output", id: number | null, stream: StreamName, text: string }} OutputEvent
 * @typedef {{ kind: "step", id: number, step: string }} StepEvent a step of a benchmark, as JSON
 * @typedef {{ kind: "asking", id: number | null, question: number | null }} AskingEvent Python waits for
 *   a line; null: it no longer does
 * @typedef {{ kind: "display", id: number | null, number: number, bundle: Bundle, isUpdate: boolean }} DisplayEvent
 *   something to show; an update replaces the content of display `number`; 0 is not a display but the answer to the
 *   running command
 * @typedef {{ kind: "done", id: number, outcome: Outcome }} DoneEvent
 * @typedef {{ kind: "answered", id: number, value: string }} AnsweredEvent the answer to a query, as JSON
 * @typedef {{ kind: "due", number: number, targets: number[] | null }} DueEvent a control has changed, and these targets
 *   must run; null: the control no longer exists in Python
 * @typedef {{ kind: "files" } & import("./boot/home.js").Changes} FilesEvent the user's files have changed
 * @typedef {{ kind: "crashed", error: string }} CrashedEvent Python itself has crashed
 * @typedef {{ kind: "missing", path: string }} MissingEvent a file of the page may be missing: something that needs it failed
 * @typedef {ProgressEvent | StandingByEvent | ReadyEvent | FailedEvent | OutputEvent | StepEvent | AskingEvent
 *   | DisplayEvent | DoneEvent | AnsweredEvent | DueEvent | FilesEvent | CrashedEvent | MissingEvent} Report
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
