/**
 * The module worker that holds Python and the GPU. It boots once, then runs one command at a time
 * (the page queues them); interrupts, answers and new widths arrive in between, while Python waits.
 */

import { prepareGpu } from "./boot/gpu.js";
import { StartUp } from "./boot/startup.js";
import { Outbox } from "./outbox.js";
import { envelope, isOurs } from "./protocol.js";

/** @typedef {import("pyodide").PyodideInterface} PyodideInterface */
/** @typedef {import("./protocol.js").Command} Command */
/** @typedef {import("./protocol.js").Report} Report */
/** @typedef {import("./protocol.js").Outcome} Outcome */

/** @type {PyodideInterface} */
let py;
/** The memory that Python and the bridge share, once Python is there. */
const host = /** @type {import("./bridge/heap.js").PyodideHost} */ ({});
/** The Python object that runs things (python/boot.py). @type {any} */
let python;
/** A byte that Python looks at while it runs; the page writes to it. */
let interruptFlag = /** @type {Uint8Array} */ (new Uint8Array(1));
/** @type {number | null} the command that runs now */
let current = null;
/** Those who wait for a line; the page is asked for the first one's. @type {((line?: string) => void)[]} */
const questions = [];
/** How many there have been before the first of them. */
let answered = 0;

/** So long after Python is there the user's first command, if it came at once, has what it needs. */
const AFTER_READY_MS = 1000;

const outbox = new Outbox((stream, text) => report({ kind: "output", id: current, stream, text }));

/** @param {Report} message */
function report(message) {
  self.postMessage(envelope(message));
}

/**
 * @param {string} text
 * @param {number} fraction
 */
function progress(text, fraction) {
  report({ kind: "progress", text, fraction });
}

// Boot ---------------------------------------------------------------------------------------------

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
  const output = {
    stdout: (/** @type {string} */ line) => outbox.write("stdout", `${line}\n`),
    stderr: (/** @type {string} */ line) => outbox.write("stderr", `${line}\n`),
  };
  const started = await startUp.boot(output, {
    distrusted,
    onStart: (boot) => {
      report({ kind: "progress", text: "Starting Python", fraction: 0.2, boot });
      if (boot === "plain") startCompiling();
    },
  });
  py = started.py;
  host._module = /** @type {any} */ (py)._module;
  // Undocumented, but the only news there is when Python dies in a callback: nothing then rejects.
  /** @type {any} */ (py)._api.on_fatal = (/** @type {unknown} */ error) => {
    report({ kind: "crashed", error: String(error).split("\n")[0] });
  };
  if (interruptBuffer) {
    interruptFlag = new Uint8Array(interruptBuffer);
    py.setInterruptBuffer(interruptFlag);
  }

  progress("Asking for the GPU", 0.9);
  py.registerJsModule("py_tensor_bridge", bridge);
  python = startConsole((await startUp.parts.lock).packages);
  const found = JSON.parse(await python.start());
  if (!found.jspi) {
    // Nothing can load it in the middle of a run.
    progress("Loading NumPy", 0.95);
    await py.loadPackage("numpy", quiet);
  }
  report({ kind: "ready", info: { ...describe(found), boot: started.boot } });
  setTimeout(startCompiling, AFTER_READY_MS);
}

/** @param {Record<string, { imports: string[] }>} packages */
function startConsole(packages) {
  const providers = Object.entries(packages).flatMap(([name, { imports }]) => imports.map((module) => [module, name]));
  const emit = outbox.write.bind(outbox);
  const load = (/** @type {string} */ name) => py.loadPackage(name, quiet);
  const { Console } = py.pyimport("py_tensor_page.boot");
  return Console(emit, request, JSON.stringify(Object.fromEntries(providers)), load);
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
  interruptFlag[0] = 0; // an interrupt of the command before this one
  /** @type {Outcome} */
  let outcome;
  try {
    outcome = JSON.parse(await start());
  } catch (error) {
    if (isFatal(error)) return; // reported already
    outcome = failure(error);
  }
  interruptFlag[0] = 0;
  outbox.flush();
  dropQuestions();
  current = null;
  report({ kind: "done", id, outcome });
}

/**
 * @param {number} id
 * @param {string} config
 */
async function benchmark(id, config) {
  return python.benchmark(config, (/** @type {string} */ step) => report({ kind: "step", id, step }));
}

/**
 * End what Python waits for. This runs only while Python waits, so the flag that ends loops is
 * taken back: it would hit the very code that does the ending.
 *
 * @param {number} id
 */
function interrupt(id) {
  if (id !== current) return; // it has ended meanwhile
  interruptFlag[0] = 0;
  bridge.interrupt();
  python.interrupt();
  if (questions.length > 0) {
    dropQuestions();
    report({ kind: "asking", id, question: null });
  }
}

/** @param {number} columns */
function resize(columns) {
  const pending = interruptFlag[0]; // it is for the program that waits now, not for this
  interruptFlag[0] = 0;
  python.resize(columns);
  interruptFlag[0] = pending;
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
  const interrupted = /KeyboardInterrupt/.test(text);
  const shown = interrupted ? "KeyboardInterrupt" : text;
  return { ok: false, result: null, error: shown, full_error: null, interrupted };
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
    case "run":
      perform(command.id, () => python.run(command.source));
      break;
    case "benchmark":
      perform(command.id, () => benchmark(command.id, command.config));
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
  }
});
