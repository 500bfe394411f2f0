/**
 * The module worker that holds Python and the GPU. It boots once, then runs one command at a time
 * (the page queues them); interrupts, answers and new widths arrive in between, while Python waits.
 */

import { prepareGpu } from "./boot/gpu.js";
import { Home } from "./boot/home.js";
import { allowsPackages } from "./boot/parts.js";
import { Signals } from "./boot/signals.js";
import { StartUp } from "./boot/startup.js";
import { DisplayPort } from "./display_port.js";
import { fetchNow } from "./files.js";
import { Outbox } from "./outbox.js";
import { Links } from "./peers/link.js";
import { envelope, isOurs, SPARE } from "./protocol.js";

/** @typedef {import("pyodide").PyodideInterface} PyodideInterface */
/** @typedef {import("./protocol.js").Command} Command */
/** @typedef {import("./protocol.js").Report} Report */
/** @typedef {import("./protocol.js").Outcome} Outcome */

/** @type {PyodideInterface} */
let py;
/** Pyodide's own: Python puts one that raises in its place (python/loader.py). @type {PyodideInterface["loadPackage"]} */
let loadPackage;
/** The memory that Python and the bridge share, once Python is there. */
const host = /** @type {import("../bridge/heap.js").PyodideHost} */ ({});
/** The Python object that runs things (python/boot.py). @type {any} */
let python;
let signals = new Signals(null);
/** The files of the user, once Python is there. @type {Home} */
let home;
/** @type {number | null} the command that runs now */
let current = null;
/** Those who wait for a line; the page is asked for the first one's. @type {((line?: string) => void)[]} */
const questions = [];
/** How many there have been before the first of them. */
let answered = 0;

/** An archive of modules of the library (python/loader.py). */
const FIRST_USE = "worker/python/first_use.zip";
/** So long after Python is there the user's first command, if it came at once, has what it needs. */
const AFTER_READY_MS = 1000;
/** So often it is looked for files that a program has written, while the program waits. */
const LOOK_MS = 3000;

const outbox = new Outbox((stream, text) => report({ kind: "output", id: current, stream, text }));

const displays = new DisplayPort((shown, transfer) => {
  outbox.flush();
  report({ kind: "display", id: current, ...shown }, transfer);
});

/**
 * @param {Report} message
 * @param {Transferable[]} [transfer]
 */
function report(message, transfer = []) {
  self.postMessage(envelope(message), { transfer });
}

/**
 * @param {string} text
 * @param {number} fraction
 */
function progress(text, fraction) {
  report({ kind: "progress", text, fraction });
}

// Boot ---------------------------------------------------------------------------------------------

const isSpare = self.name === SPARE;
let begin = () => {};
/** A spare is the page's Python from then on. @type {Promise<void>} */
const begun = new Promise((resolve) => {
  begin = resolve;
});

// Both begin at once, before the page has said a word.
const startUp = new StartUp();
/** Compiles what is usually used: while Python starts, if that takes seconds, or after the first command. */
let startCompiling = () => {};
/** @type {Promise<void>} */
const timeToCompile = new Promise((resolve) => {
  startCompiling = resolve;
});
const bridge = prepareGpu(host, timeToCompile);

/** @param {import("./protocol.js").BootCommand} command */
async function boot({ interruptBuffer, distrusted }) {
  progress("Loading Python", 0.05);
  signals = new Signals(interruptBuffer);
  const options = {
    signals,
    stdout: (/** @type {string} */ line) => outbox.write("stdout", `${line}\n`),
    stderr: (/** @type {string} */ line) => outbox.write("stderr", `${line}\n`),
  };
  const started = await startUp.boot(options, {
    distrusted,
    onStart: (boot) => {
      report({ kind: "progress", text: "Starting Python", fraction: 0.2, boot });
      let told = performance.now();
      startUp.parts.onProgress = () => {
        if (performance.now() - told < 1000) return;
        told = performance.now();
        progress("Starting Python", 0.2); // or the page would take a slow line for a boot that hangs
      };
      if (boot === "plain" || isSpare) startCompiling();
    },
  });
  py = started.py;
  ({ loadPackage } = py);
  host._module = /** @type {any} */ (py)._module;
  // Undocumented, but the only news there is when Python dies in a callback: nothing then rejects.
  /** @type {any} */ (py)._api.on_fatal = (/** @type {unknown} */ error) => {
    report({ kind: "crashed", error: String(error).split("\n")[0] });
  };
  py.registerJsModule("py_tensor_bridge", bridge);
  python = startConsole((await startUp.parts.lock).packages);
  let found = await start();
  if (isSpare) {
    // Its default device is the CPU from then on, even where a GPU is there again when it takes over.
    const problem = found.problem ?? (navigator.gpu && found.device.no_webgpu);
    if (problem) throw new Error(problem);
    report({ kind: "standing-by" });
    await begun;
    found = await start(); // with another device, where that one was lost
  }
  home = new Home(/** @type {any} */ (py).FS);
  setInterval(() => current !== null && reportFiles(), LOOK_MS);
  report({ kind: "ready", info: { ...describe(found), boot: started.boot } });
  setTimeout(startCompiling, AFTER_READY_MS);
}

/** @returns {Promise<any>} what was found: the device first of all */
async function start() {
  progress("Requesting the GPU", 0.9);
  const found = JSON.parse(await python.start());
  if (!found.jspi) {
    // Nothing can load it in the middle of a run.
    progress("Loading NumPy", 0.95);
    await loadPackage("numpy", quiet);
  }
  return found;
}

/** @param {Record<string, { imports: string[], file_name: string }>} packages */
function startConsole(packages) {
  const hosted = Object.entries(packages).filter(([, { file_name }]) => !file_name.includes("://"));
  const providers = hosted.flatMap(([name, { imports }]) => imports.map((module) => [module, name]));
  const emit = outbox.write.bind(outbox);
  const load = async (/** @type {string} */ name) => {
    await loadPackage(name, quiet);
    if (!(name in py.loadedPackages)) report({ kind: "missing", path: `wheels/${packages[name].file_name}` });
  };
  const { Console } = py.pyimport("py_tensor_page.boot");
  const listed = JSON.stringify(Object.fromEntries(providers));
  return Console(emit, request, listed, load, fetchFirstUse, displays, endPromises, allowsPackages);
}

/** @returns {Uint8Array | string} the library's modules that no start imports, or why they did not come */
function fetchFirstUse() {
  try {
    return fetchNow(FIRST_USE);
  } catch (error) {
    report({ kind: "missing", path: FIRST_USE });
    return /** @type {Error} */ (error).message;
  }
}

/**
 * @param {any} found what `Console.start` said
 * @returns {Omit<import("./protocol.js").Info, "boot">}
 */
function describe(found) {
  const { device, ...rest } = found;
  const adapter = device.backend === "webgpu" ? (device.adapter ?? {}) : null;
  return {
    adapter,
    isFallbackAdapter: Boolean(adapter?.isFallbackAdapter),
    features: device.features ?? [],
    limits: device.limits ?? {},
    backend: device.backend,
    pyodide: py.version,
    crossOriginIsolated: self.crossOriginIsolated,
    allowsPackages,
    ...rest,
  };
}

const quiet = { messageCallback: () => {} };

// Commands -----------------------------------------------------------------------------------------

/**
 * Carry out a command that runs Python, and report how it ended.
 *
 * @param {number} id
 * @param {() => Promise<string>} start
 */
async function perform(id, start) {
  current = id;
  /** @type {Outcome} */
  let outcome;
  try {
    const running = settleSignals(() => {
      python.begin(); // an interrupt of this command may be there already
      return start();
    });
    outcome = JSON.parse(await running);
  } catch (error) {
    if (isFatal(error)) return; // reported already
    outcome = failure(error);
  }
  signals.clear();
  outbox.flush();
  dropQuestions();
  reportFiles();
  current = null;
  report({ kind: "done", id, outcome });
}

/** Tell the page of files that were written or removed. */
function reportFiles() {
  const changes = home.changes();
  if (!changes) return;
  const transfer = changes.changed.map(({ bytes }) => bytes.buffer);
  report({ kind: "files", ...changes }, transfer);
}

/**
 * @param {number} id
 * @param {string} config
 */
async function benchmark(id, config) {
  const links = new Links((path) => report({ kind: "missing", path }));
  try {
    return await python.benchmark(config, (/** @type {string} */ step) => report({ kind: "step", id, step }), links);
  } finally {
    links.closeAll();
  }
}

/** @param {import("./protocol.js").DrawCommand} command */
function draw({ name, code, values, frame }) {
  return python.draw(JSON.stringify({ name, code, values }), frame);
}

/**
 * End what Python waits for. This runs only while Python waits, so the signal that ends loops is
 * taken back: it would end what follows the wait.
 *
 * @param {number} id
 */
function interrupt(id) {
  if (id !== current) return; // it has ended meanwhile
  signals.clear();
  settleSignals(() => python.interrupt());
}

/**
 * Python calls it, of an interrupt.
 *
 * @param {boolean} ofBridge whether what waits for the GPU is ended, too
 */
function endPromises(ofBridge) {
  if (ofBridge) bridge.interrupt();
  if (questions.length > 0) {
    dropQuestions();
    report({ kind: "asking", id: current, question: null });
  }
}

/**
 * Do something in Python that no signal breaks off. One that Python has taken, and would raise at its next chance, is
 * seen before (python/interrupts.py).
 *
 * @template Result
 * @param {() => Result} work
 */
function settleSignals(work) {
  return signals.deferred(() => {
    try {
      py.checkInterrupt();
    } catch (error) {
      if (isFatal(error)) throw error; // else it is of a handler of the program's own
    }
    return work();
  });
}

/**
 * Answer a query between two commands; while one runs there is no answer.
 *
 * @param {import("./protocol.js").QueryCommand} query
 */
function answer({ id, method, args }) {
  let value = "null";
  if (current === null) {
    try {
      value = settleSignals(() => python.query(method, args));
    } catch (error) {
      if (isFatal(error)) return; // reported already
    }
  }
  report({ kind: "answered", id, value });
}

/** @param {import("./protocol.js").ControlCommand} command */
function change({ number, value }) {
  let targets = null;
  try {
    targets = JSON.parse(settleSignals(() => python.change(number, JSON.stringify(value))));
  } catch (error) {
    if (isFatal(error)) return; // reported already
  }
  report({ kind: "due", number, targets });
}

/** @param {number} columns */
function resize(columns) {
  settleSignals(() => python.resize(columns));
}

/**
 * Ask the page for a line.
 *
 * @returns {Promise<string | undefined>} undefined where nobody can be asked
 */
function request() {
  outbox.flush();
  return new Promise((resolve) => {
    questions.push(resolve);
    if (questions.length === 1) report({ kind: "asking", id: current, question: answered });
  });
}

/**
 * @param {string | null} line
 * @param {number} question that it answers; it may be over
 */
function take(line, question) {
  if (question !== answered || questions.length === 0) return;
  questions.shift()?.(line ?? undefined);
  answered++;
  if (questions.length > 0) report({ kind: "asking", id: current, question: answered });
}

/** Nobody is there any more to answer those who wait for a line. */
function dropQuestions() {
  answered += questions.length;
  for (const resolve of questions.splice(0)) resolve();
}

/**
 * The session turns every exception into an outcome; this is for an interrupt in its last lines.
 *
 * @param {unknown} error
 * @returns {Outcome}
 */
function failure(error) {
  const text = error instanceof Error ? error.message : String(error);
  // Pyodide gives it no message where it came while the message was made.
  const { type } = /** @type {{ type?: string }} */ (error ?? {});
  const interrupted = type === "KeyboardInterrupt" || /KeyboardInterrupt/.test(text);
  const shown = interrupted ? "KeyboardInterrupt" : text;
  return { ok: false, result: null, error: shown, full_error: null, failure: null, interrupted };
}

/** @param {unknown} error */
function isFatal(error) {
  return typeof error === "object" && error !== null && "pyodide_fatal_error" in error;
}

self.addEventListener("message", ({ data }) => {
  if (!isOurs(data)) return;
  const command = /** @type {Command} */ (data);
  switch (command.kind) {
    case "boot":
      boot(command).catch((error) => {
        report({ kind: "failed", error: String(error?.message ?? error) });
      });
      break;
    case "begin":
      begin();
      break;
    case "restore":
      home.restore(command.files);
      break;
    case "write":
      home.write(command);
      break;
    case "run":
      perform(command.id, () => python.run(command.source, command.id));
      break;
    case "help":
      perform(command.id, () => python.help(JSON.stringify(command)));
      break;
    case "benchmark":
      perform(command.id, () => benchmark(command.id, command.config));
      break;
    case "view":
      perform(command.id, () => python.view(JSON.stringify(command)));
      break;
    case "draw":
      perform(command.id, () => draw(command));
      break;
    case "control":
      change(command);
      break;
    case "forget":
      settleSignals(() => python.forget(command.id));
      break;
    case "react":
      perform(command.id, () => python.react(command.number));
      break;
    case "frame":
      displays.frame(command.number);
      break;
    case "resize":
      resize(command.columns);
      break;
    case "answer":
      take(command.line, command.question);
      break;
    case "interrupt":
      interrupt(command.id);
      break;
    case "query":
      answer(command);
      break;
  }
});
