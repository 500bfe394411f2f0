/**
 * The module worker that runs Python and the GPU. It boots once, then runs one command at a time (the page queues
 * them). Interrupts, answers and width changes are handled while Python waits.
 */

import { withholdCaches } from "./boot/caches.js";
import { measureSpace } from "./boot/database.js";
import { prepareGpu } from "./boot/gpu.js";
import { Home } from "./boot/home.js";
import { allowsPackages } from "./boot/parts.js";
import { Signals } from "./boot/signals.js";
import { StartUp } from "./boot/startup.js";
import { DisplayPort } from "./display_port.js";
import { fetchNow } from "./files.js";
import { Outbox } from "./outbox.js";
import { PACKAGE_HOSTS } from "./package_hosts.js";
import { Links } from "./peers/link.js";
import { DRAWING, envelope, isOurs, SPARE } from "./protocol.js";

/** @typedef {import("pyodide").PyodideInterface} PyodideInterface */
/** @typedef {import("./protocol.js").Command} Command */
/** @typedef {import("./protocol.js").Report} Report */
/** @typedef {import("./protocol.js").Outcome} Outcome */

/** @type {PyodideInterface} */
let py;
/** Pyodide's own: Python puts one that raises in its place (python/loader.py). @type {PyodideInterface["loadPackage"]} */
let loadPackage;
/** The memory that Python and the bridge share, once Python has started. */
const host = /** @type {import("../bridge/heap.js").PyodideHost} */ ({});
/** Python's `Console` (python/boot.py). @type {any} */
let python;
let signals = new Signals(null);
/** The user's files, once Python has started. @type {Home} */
let home;
/** @type {number | null} the running command */
let current = null;
/** Pending requests for a line of input; the page is asked to answer the first. @type {((line?: string) => void)[]} */
const questions = [];
/** The number of requests before the first pending one. */
let answered = 0;

/** An archive of modules of the library (python/loader.py). */
/** The delay before kernels are compiled in advance, so that a first command sent at once is not slowed down. */
const AFTER_READY_MS = 1000;
/** The interval for reporting files that a program writes while it runs, or a task of it between two inputs. */
const LOOK_MS = 3000;
/** Looking takes at most 1 / this part of the time. */
const LOOK_SHARE = 20;

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

withholdCaches();

const isSpare = self.name === SPARE;
let begin = () => {};
/** Resolves when a spare becomes the page's Python. @type {Promise<void>} */
const begun = new Promise((resolve) => {
  begin = resolve;
});

// Both start at once, before the page's first message.
const startUp = new StartUp();
/** Starts to compile common kernels: during a startup that takes seconds, or AFTER_READY_MS after a faster one. */
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
        progress("Starting Python", 0.2); // so that the page does not take a slow connection for a hanging boot
      };
      if (boot === "plain" || isSpare) startCompiling();
    },
  });
  py = started.py;
  ({ loadPackage } = py);
  host._module = /** @type {any} */ (py)._module;
  // Undocumented, but the only notification when Python dies in a callback: no promise rejects then.
  /** @type {any} */ (py)._api.on_fatal = (/** @type {unknown} */ error) => {
    reportFiles(); // the files are not in the memory of Python
    report({ kind: "crashed", error: String(error).split("\n")[0] });
  };
  py.registerJsModule("py_tensor_bridge", bridge);
  python = startConsole((await startUp.parts.lock).packages);
  let found = await start();
  if (isSpare) {
    // A spare without a GPU would keep the CPU as its default device even if the GPU is back when it takes over.
    const problem = found.problem ?? (navigator.gpu && found.device.no_webgpu);
    if (problem) throw new Error(problem);
    report({ kind: "standing-by" });
    await begun;
    found = await start(); // requests a new device if the first one was lost
  }
  home = new Home(/** @type {any} */ (py).FS);
  watchFiles();
  report({ kind: "ready", info: { ...describe(found), boot: started.boot } });
  setTimeout(startCompiling, AFTER_READY_MS);
}

/** @returns {Promise<any>} what `Console.start` found: above all, the device */
async function start() {
  progress("Requesting the GPU", 0.9);
  const found = JSON.parse(await python.start());
  if (!found.jspi) {
    // Without JSPI it cannot be loaded in the middle of a run.
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
  return Console(emit, request, listed, load, fetchArchive, displays, endPromises, allowsPackages);
}

/**
 * @param {string} path of an archive of modules that are loaded on first use (python/loader.py)
 * @returns {Uint8Array | string} the archive, or why it could not be fetched
 */
function fetchArchive(path) {
  try {
    return fetchNow(path);
  } catch (error) {
    report({ kind: "missing", path });
    return /** @type {Error} */ (error).message;
  }
}

/**
 * @param {any} found the result of `Console.start`
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
      python.begin(); // an interrupt of this command may have arrived already
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

/** Report files that were written or removed to the page. A failure ends neither the command nor later reports. */
function reportFiles() {
  try {
    for (const changes of home?.changes() ?? []) {
      const transfer = changes.changed.map(({ bytes }) => bytes.buffer);
      report({ kind: "files", ...changes }, transfer);
    }
  } catch (error) {
    console.error(error);
  }
}

async function watchFiles() {
  home.room = (await measureSpace()).room;
  const began = performance.now();
  reportFiles();
  setTimeout(watchFiles, Math.max(LOOK_MS, LOOK_SHARE * (performance.now() - began)));
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
 * End what Python waits for. This runs only while Python waits, so the signal, which is meant for loops, is cleared:
 * it would interrupt the code after the wait.
 *
 * @param {number} id
 */
function interrupt(id) {
  if (id !== current) return; // the command has already ended
  signals.clear();
  settleSignals(() => python.interrupt());
}

/**
 * Called by Python on an interrupt.
 *
 * @param {boolean} ofBridge whether to end waits for the GPU, too
 */
function endPromises(ofBridge) {
  if (ofBridge) bridge.interrupt();
  if (questions.length > 0) {
    dropQuestions();
    report({ kind: "asking", id: current, question: null });
  }
}

/**
 * Do something in Python that no signal may interrupt. A signal that Python has received and not yet raised is handled
 * first (python/interrupts.py).
 *
 * @template Result
 * @param {() => Result} work
 */
function settleSignals(work) {
  return signals.deferred(() => {
    try {
      py.checkInterrupt();
    } catch (error) {
      if (isFatal(error)) throw error; // else it is from a signal handler of the program
    }
    return work();
  });
}

/**
 * Answer a query between two commands; while a command runs, only drawings are made, and other answers are null.
 *
 * @param {import("./protocol.js").QueryCommand} query
 */
function answer({ id, method, args }) {
  let value = "null";
  if (current === null || method === DRAWING) {
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

/** @param {import("./protocol.js").ResizeCommand} command */
function resize({ columns, width, height }) {
  settleSignals(() => python.resize(columns, width, height));
}

/**
 * Ask the page for a line.
 *
 * @returns {Promise<string | undefined>} undefined if there is no answer
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
 * @param {number} question the request that it answers, which may have ended
 */
function take(line, question) {
  if (question !== answered || questions.length === 0) return;
  questions.shift()?.(line ?? undefined);
  answered++;
  if (questions.length > 0) report({ kind: "asking", id: current, question: answered });
}

/** Resolve all pending requests for a line without an answer. */
function dropQuestions() {
  answered += questions.length;
  for (const resolve of questions.splice(0)) resolve();
}

/**
 * The outcome of an interrupt in the session's last lines; it turns all other exceptions into outcomes itself.
 *
 * @param {unknown} error
 * @returns {Outcome}
 */
function failure(error) {
  const text = error instanceof Error ? error.message : String(error);
  // Pyodide gives it no message if it arrived while the message was being made.
  const { type } = /** @type {{ type?: string }} */ (error ?? {});
  const interrupted = type === "KeyboardInterrupt" || /KeyboardInterrupt/.test(text);
  const shown = interrupted ? "KeyboardInterrupt" : text;
  return { ok: false, result: null, error: shown, full_error: null, failure: null, interrupted };
}

/** @param {unknown} error */
function isFatal(error) {
  return typeof error === "object" && error !== null && "pyodide_fatal_error" in error;
}

if (allowsPackages) {
  // A host may set a stricter policy, which the service worker keeps.
  self.addEventListener("securitypolicyviolation", ({ blockedURI }) => {
    if (PACKAGE_HOSTS.some(([address]) => blockedURI.startsWith(address)))
      settleSignals(() => python.refuse_packages());
  });
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
      resize(command);
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
