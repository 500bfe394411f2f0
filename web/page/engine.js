/**
 * The page's side of the worker: starts it, queues what is to run, interrupts, restarts.
 *
 * Events: "progress" {text, fraction}, "slow" (no progress of the boot for a while), "ready" Info, "failed" {error},
 * "change" (busy or idle), "due" {number, targets} (a control has changed, and these must run), "output" {stream, text}
 * and "display" {number, bundle, isUpdate} that belong to no run, "files" Changes, "stuck" (an interrupt has no
 * effect), "spare" (a spare Python became available, or is gone), "missing" {path} (a file of the page could not be
 * loaded).
 */

import { isOutdated } from "../worker/files.js";
import { DRAWING, isOurs } from "../worker/protocol.js";
import { discard } from "./display/bundles.js";
import { Interpreter } from "./interpreter.js";
import { allowsPackages } from "./start.js";
import { firstLine, notShown } from "./ui/bounds.js";

/** @typedef {import("../worker/protocol.js").Info} Info */
/** @typedef {import("../worker/protocol.js").Outcome} Outcome */
/** @typedef {import("../worker/protocol.js").Report} Report */
/** @typedef {import("../worker/protocol.js").Command} Command */
/** @typedef {import("../worker/protocol.js").AskingEvent} AskingEvent */
/** @typedef {import("../worker/protocol.js").Bundle} Bundle */
/** @typedef {import("../worker/protocol.js").DisplayEvent} DisplayEvent */
/** @typedef {import("../worker/protocol.js").Drawing} Drawing */
/** @typedef {import("../worker/protocol.js").OutputEvent} OutputEvent */
/** @typedef {import("../worker/protocol.js").StreamName} StreamName */

/**
 * @typedef {object} Listener callbacks of a run
 * @property {string} [name] what the page calls it, such as "cell 2 of main.py"; by default its first line
 * @property {object} [chain] shared by inputs entered together: once one is interrupted, or fails, the others do not start
 * @property {boolean} [goesOn] after a failure they do
 * @property {(id: number) => void} [onStart] id: of the command
 * @property {(stream: StreamName, text: string) => void} [onOutput]
 * @property {(step: string) => void} [onStep]
 * @property {(number: number, bundle: Bundle) => void} [onDisplay]
 * @property {(bundle: Bundle) => void} [onAnswer] the answer to a view or a drawing
 * @property {(question: number | null) => void} [onAsking] it waits for `Engine.answer`, or (null) no longer waits
 *
 * @typedef {object} Job
 * @property {number} id
 * @property {(id: number) => Command} command
 * @property {string} label what the page shows as running
 * @property {string} name of what runs, for inputs that wait for it
 * @property {number} startedAt by `performance.now()`
 * @property {boolean} isStopped the user has interrupted it
 * @property {Listener} listener
 * @property {Transferable[]} transfer objects transferred to the worker with the command
 * @property {(outcome: Outcome) => void} resolve
 * @property {Set<number>} displays the numbers of those that it has shown, except what has moved into another display
 * @property {number} shownAmount see `amountOf`
 * @property {Set<number>} leftOut the numbers of those that are not shown, because there are too many
 * @property {boolean} isLimitSaid
 */

const RUNNING = "Running";
const BENCHMARKS = "Running the benchmarks";
/** A boot without progress for this long has failed. On a slow connection the first progress takes long. */
const BOOT_SILENCE_MS = 60_000;
/** After this time without progress, the server may be gone. */
const BOOT_SLOW_MS = 6000;
/** Number of displays of a run; 2,000 charts would block the page for 10 s. */
const MAX_DISPLAYS = 300;
/** The characters in all displays of a run, and the numbers, which the page draws as slowly as a few characters. */
const MAX_AMOUNT = 1_000_000;
const CHARACTERS_OF_NUMBER = 5;
/** Code that still runs this long after an interrupt may have suppressed it. */
const STUCK_AFTER_MS = 2000;
/** A restart waits for at most this long until what runs has ended. */
const STOP_PATIENCE_MS = 1000;

export class Engine extends EventTarget {
  /** @param {() => Worker} startWorker */
  constructor(startWorker) {
    super();
    this.startWorker = startWorker;
    /** @type {Job[]} */
    this.queue = [];
    /** @type {Job | null} */
    this.current = null;
    this.isReady = false;
    /** Awaited before anything runs in a new Python. @type {() => Promise<void>} */
    this.prepare = async () => {};
    this.isPrepared = false;
    /** @type {ReturnType<typeof setTimeout> | undefined} fires when an interrupt counts as suppressed */
    this.patience = undefined;
    /** Whether the running code waits for a line of input. */
    this.isAsking = false;
    /** @type {string | null} why Python could not be started */
    this.broken = null;
    this.lastId = 0;
    /** The callbacks of open queries, by number. @type {Map<number, (value: string) => void>} */
    this.queries = new Map();
    /** @type {({ columns: number } & import("../worker/protocol.js").Room) | null} of the console */
    this.size = null;
    /** How Python is started. @type {Info["boot"]} */
    this.boot = "plain";
    /** @type {Interpreter | null} */
    this.interpreter = null;
    /** Python for the next start, booted beforehand (boot/spare.js). @type {Interpreter | null} */
    this.spare = null;
    /** Why Python was restarted, as a sentence. @type {string | null} */
    this.restarted = null;
    this.start();
  }

  get isBusy() {
    return this.current !== null;
  }

  get isBenchmarking() {
    return this.current?.label === BENCHMARKS;
  }

  /**
   * Whether something that the user started runs or is queued, not counting views of tensors and pictures of the
   * gallery.
   */
  get isWorking() {
    const jobs = this.current ? [this.current, ...this.queue] : this.queue;
    return jobs.some(({ label }) => label === RUNNING || label === BENCHMARKS);
  }

  // Starting ---------------------------------------------------------------------------------------

  start() {
    // A snapshot whose boot never finished must not be tried again.
    const distrusted = !this.isReady && this.boot === "snapshot";
    this.isReady = false;
    this.isPrepared = false;
    this.broken = null;
    this.boot = "plain";
    /** @type {PromiseWithResolvers<Info>} */
    this.readiness = withResolvers();
    this.readiness.promise.catch(() => {}); // the status line shows it
    const spare = this.spare?.allowsPackages === allowsPackages() ? this.spare : null;
    if (!spare) this.spare?.end();
    this.spare = null;
    const interpreter = spare ?? new Interpreter(this.startWorker());
    this.interpreter = interpreter;
    interpreter.listen(
      (data) => {
        if (isOurs(data)) this.take(data);
        else window.dispatchEvent(new CustomEvent("pytensor:message", { detail: data }));
      },
      async (event) => {
        // Before Python is ready, an error is fatal; later errors are already in the console.
        if (this.isReady) return;
        // The script is of an older build than the server's: reload the page to get the new build.
        if (!event.message && (await isOutdated("worker/worker.js"))) location.reload();
        else this.fail(event.message || "the worker script could not be loaded");
      },
    );
    this.watchBoot();
    if (spare) this.post({ kind: "begin" });
    else this.post({ kind: "boot", interruptBuffer: interpreter.interruptBuffer, distrusted });
  }

  /** @returns {Promise<Info>} */
  get ready() {
    return /** @type {PromiseWithResolvers<Info>} */ (this.readiness).promise;
  }

  /** Detect a boot that hangs by a timeout. */
  watchBoot() {
    clearTimeout(this.watchdog);
    clearTimeout(this.slowness);
    this.slowness = setTimeout(() => this.dispatchEvent(new Event("slow")), BOOT_SLOW_MS);
    this.watchdog = setTimeout(() => {
      const seconds = BOOT_SILENCE_MS / 1000;
      this.fail(`Python did not start within ${seconds} seconds.`);
    }, BOOT_SILENCE_MS);
  }

  /** Run what was typed in the meantime, once everything is prepared. */
  async beginRunning() {
    const { interpreter } = this;
    await this.prepare();
    if (this.interpreter !== interpreter || !this.isReady) return; // restarted in the meantime
    this.isPrepared = true;
    this.advance();
  }

  /** @param {string} error */
  fail(error) {
    clearTimeout(this.watchdog);
    clearTimeout(this.slowness);
    this.broken = `Python could not be started: ${error}`;
    this.readiness?.reject(new Error(error));
    this.dispatchEvent(new CustomEvent("failed", { detail: { error } }));
    this.abandon(this.broken);
    this.interpreter?.end();
  }

  /**
   * Restart with a new Python, the spare one if there is one; running and queued jobs fail with the reason.
   *
   * @param {string} reason
   */
  restart(reason = "Python was restarted.") {
    this.restarted = reason;
    this.abandon(reason);
    this.interpreter?.end();
    this.start();
  }

  /** @param {string} reason */
  abandon(reason) {
    const { current, queue } = this;
    this.current = null;
    this.isAsking = false;
    this.queue = [];
    this.stopInterrupting();
    current?.resolve(failed(reason));
    for (const job of queue) job.resolve({ ...failed(`Not run. ${reason}`), isDropped: true });
    for (const resolve of this.queries.values()) resolve("null");
    this.queries.clear();
    this.changed();
  }

  // Running ----------------------------------------------------------------------------------------

  /**
   * @param {string} source
   * @param {Listener} [listener]
   * @returns {Promise<Outcome>}
   */
  run(source, listener = {}) {
    return this.enqueue(RUNNING, nameOf(source), (id) => ({ kind: "run", id, source }), listener);
  }

  /**
   * Run a request for help, queued among the other inputs.
   *
   * @param {import("./repl/text.js").HelpRequest} request
   * @param {string} source
   * @param {Listener} listener
   * @returns {Promise<Outcome>}
   */
  help(request, source, listener) {
    return this.enqueue(RUNNING, nameOf(source), (id) => ({ kind: "help", id, source, ...request }), listener);
  }

  /**
   * @param {string} config
   * @param {Listener} [listener]
   * @returns {Promise<Outcome>}
   */
  benchmark(config, listener = {}) {
    return this.enqueue(BENCHMARKS, "the benchmarks", (id) => ({ kind: "benchmark", id, config }), listener);
  }

  /**
   * Ask about the session outside the queue; this does not affect runs.
   *
   * @param {string} method (`Console.query` in boot.py)
   * @param {Record<string, unknown>} args
   * @returns {Promise<any>} null if there is no answer: at once while Python starts or runs something
   */
  async query(method, args) {
    if (!this.isReady || this.current) return null;
    return this.ask(method, args);
  }

  /**
   * Request a drawing of a chart, or of what is around an image.
   *
   * @param {Record<string, unknown>} args of `Drawings.again` (drawings.py)
   * @returns {Promise<any>} null if it cannot be drawn; Python answers when it waits or is idle
   */
  async redraw(args) {
    await this.ready;
    return this.ask(DRAWING, args);
  }

  /**
   * @param {string} method
   * @param {Record<string, unknown>} args
   */
  async ask(method, args) {
    const id = ++this.lastId;
    /** @type {Promise<string>} */
    const answer = new Promise((resolve) => this.queries.set(id, resolve));
    this.post({ kind: "query", id, method, args: JSON.stringify(args) });
    return JSON.parse(await answer);
  }

  /**
   * Request a view of a displayed tensor; `onAnswer` gets it.
   *
   * @param {number} number
   * @param {string} view
   * @param {Record<string, number>} place
   * @param {Listener} listener
   * @returns {Promise<Outcome>}
   */
  view(number, view, place, listener) {
    return this.enqueue("Looking", "a view of a tensor", (id) => ({ kind: "view", id, number, view, place }), listener);
  }

  /**
   * Draw a live picture of the gallery; `onAnswer` gets it.
   *
   * @param {Drawing} drawing
   * @param {Listener} listener
   * @returns {Promise<Outcome>}
   */
  draw(drawing, listener) {
    const transfer = drawing.frame ? [drawing.frame.buffer] : [];
    return this.enqueue(
      "Drawing",
      "a picture of the gallery",
      (id) => ({ kind: "draw", id, ...drawing }),
      listener,
      transfer,
    );
  }

  /**
   * Tell Python that the user changed a control, even while something runs. The event "due" names what must then run.
   *
   * @param {number} number
   * @param {import("../worker/protocol.js").ControlValue} value
   */
  change(number, value) {
    if (this.isReady) this.post({ kind: "control", number, value });
  }

  /**
   * The output of a run was removed: make Python drop the functions that it gave to controls.
   *
   * @param {number} id
   */
  forget(id) {
    if (this.isReady) this.post({ kind: "forget", id });
  }

  /**
   * Run the functions that a change of a control requires.
   *
   * @param {number} number
   * @param {Listener} listener
   * @returns {Promise<Outcome>}
   */
  react(number, listener) {
    return this.enqueue("Updating", "a function of a control", (id) => ({ kind: "react", id, number }), listener);
  }

  /**
   * @param {number} columns
   * @param {import("../worker/protocol.js").Room} room
   */
  resize(columns, room) {
    this.size = { columns, ...room };
    if (this.isReady) this.post({ kind: "resize", ...this.size });
  }

  /**
   * @param {number} question that Python waits for
   * @param {string | null} line null if input is impossible
   */
  answer(question, line) {
    this.isAsking = false;
    this.post({ kind: "answer", question, line });
  }

  /**
   * @param {string} label
   * @param {string} name unless the listener has one
   * @param {(id: number) => Command} command
   * @param {Listener} listener
   * @param {Transferable[]} [transfer]
   * @returns {Promise<Outcome>}
   */
  enqueue(label, name, command, listener, transfer = []) {
    if (this.broken) return Promise.resolve(failed(this.broken));
    return new Promise((resolve) => {
      const job = { label, name: listener.name ?? name, startedAt: 0, isStopped: false, isLimitSaid: false };
      const displays = { displays: new Set(), leftOut: new Set(), shownAmount: 0 };
      this.queue.push({ id: ++this.lastId, ...job, ...displays, command, listener, transfer, resolve });
      this.advance();
    });
  }

  advance() {
    if (!this.isPrepared || this.current) return;
    this.current = this.queue.shift() ?? null;
    const { current: job } = this;
    if (job) {
      job.startedAt = performance.now();
      job.listener.onStart?.(job.id);
      try {
        this.post(job.command(job.id), job.transfer);
      } catch (error) {
        this.finish(job.id, failed(`This could not be sent to Python: ${error}`)); // continue with the next job
        return;
      }
    }
    this.changed();
  }

  /**
   * @param {Command} command
   * @param {Transferable[]} [transfer]
   */
  post(command, transfer) {
    this.interpreter?.post(command, transfer);
  }

  changed() {
    this.dispatchEvent(new Event("change"));
  }

  // Interrupting -----------------------------------------------------------------------------------

  /**
   * What a queued input waits for, unless that is an input entered together with it.
   *
   * @param {Listener} listener of the input
   * @returns {Job | null} the running job
   */
  blockerOf(listener) {
    const index = this.queue.findIndex((job) => job.listener === listener);
    const before = index > 0 ? this.queue[index - 1] : this.current;
    const isTogether = listener.chain !== undefined && before?.listener.chain === listener.chain;
    return index < 0 || isTogether ? null : this.current;
  }

  /**
   * Interrupt the running job. Resolves when it has ended. Queued jobs run afterwards, except those entered together
   * with it.
   *
   * @param {Job | null} job nothing happens if it no longer runs
   * @returns {Promise<void>}
   */
  async interrupt(job = this.current) {
    if (!job || job !== this.current || !this.isReady) return;
    job.isStopped = true;
    this.interpreter?.interrupt(job.id);
    this.patience ??= setTimeout(() => this.dispatchEvent(new Event("stuck")), STUCK_AFTER_MS);
    while (this.current === job) {
      await new Promise((resolve) => this.addEventListener("change", resolve, { once: true }));
    }
  }

  /**
   * End what runs, so that Python reports the files that it has written. What does not end soon is not waited for.
   *
   * @param {string} reason
   */
  async stop(reason) {
    for (const job of this.queue.splice(0)) job.resolve({ ...failed(`Not run. ${reason}`), isDropped: true });
    await Promise.race([this.interrupt(), new Promise((resolve) => setTimeout(resolve, STOP_PATIENCE_MS))]);
  }

  stopInterrupting() {
    clearTimeout(this.patience);
    this.patience = undefined;
    this.interpreter?.calm();
  }

  /**
   * Drop the queued jobs that were entered together with one that has not finished.
   *
   * @param {object} chain
   * @param {boolean} isStopped that one was interrupted, and did not fail
   */
  dropRest(chain, isStopped) {
    const dropped = this.queue.filter(({ listener }) => listener.chain === chain);
    this.queue = this.queue.filter((job) => !dropped.includes(job));
    for (const [i, job] of dropped.entries()) {
      const which = isStopped && i === 0 ? "the input before it" : "an earlier input";
      const reason = `Not run: ${which} ${isStopped ? "was interrupted" : "failed"}.`;
      job.resolve({ ...failed(reason), isDropped: true });
    }
  }

  // The worker's messages --------------------------------------------------------------------------

  /** @param {Report} report */
  take(report) {
    switch (report.kind) {
      case "progress":
        this.watchBoot();
        this.boot = report.boot ?? this.boot;
        this.dispatchEvent(new CustomEvent("progress", { detail: report }));
        break;
      case "ready":
        clearTimeout(this.watchdog);
        clearTimeout(this.slowness);
        this.isReady = true;
        if (this.size) this.resize(this.size.columns, this.size);
        this.readiness?.resolve(report.info);
        this.dispatchEvent(new CustomEvent("ready", { detail: report.info }));
        void this.beginRunning();
        break;
      case "failed":
        this.boot = "plain"; // the boot finished, so the snapshot is not at fault
        this.fail(report.error);
        break;
      case "output":
        this.print(report);
        break;
      case "step":
        if (report.id === this.current?.id) this.current.listener.onStep?.(report.step);
        break;
      case "display":
        this.show(report);
        break;
      case "asking":
        this.asked(report);
        break;
      case "done":
        this.finish(report.id, report.outcome);
        break;
      case "answered":
        this.queries.get(report.id)?.(report.value);
        this.queries.delete(report.id);
        break;
      case "due":
        this.dispatchEvent(new CustomEvent("due", { detail: report }));
        break;
      case "files":
        this.dispatchEvent(new CustomEvent("files", { detail: report }));
        break;
      case "missing":
        this.dispatchEvent(new CustomEvent("missing", { detail: report }));
        break;
      case "crashed":
        this.restart(`Python crashed (${report.error}) and was restarted.`);
        break;
    }
  }

  /**
   * @param {number | null} id
   * @returns {Listener} of the running job, if the report is about it; reports without a listener belong to no run
   */
  listenerOf(id) {
    return (id === this.current?.id && this.current?.listener) || {};
  }

  /** @param {OutputEvent} report */
  print(report) {
    const { onOutput } = this.listenerOf(report.id);
    if (onOutput) onOutput(report.stream, report.text);
    else this.dispatchEvent(new CustomEvent("output", { detail: report }));
  }

  /** @param {DisplayEvent} report */
  show(report) {
    const { number, bundle, isUpdate } = report;
    const { onDisplay, onAnswer } = this.listenerOf(report.id);
    if (number === 0) (onAnswer ?? discard)(bundle);
    else if (onDisplay && this.current && !isUpdate) {
      if (this.hasRoom(this.current, number, bundle)) onDisplay(number, bundle);
      else discard(bundle);
    } else {
      if (bundle.kind === "shown") {
        this.current?.displays.delete(number);
        this.current?.leftOut.delete(number);
      }
      this.dispatchEvent(new CustomEvent("display", { detail: report }));
    }
  }

  /**
   * @param {Job} job
   * @param {number} number of its display
   * @param {Bundle} bundle
   * @returns {boolean} whether it is shown
   */
  hasRoom(job, number, bundle) {
    // A drawing is as large as the values in it, which count.
    const amount = job.shownAmount + amountOf({ ...bundle, drawing: null });
    const isFirst = !job.displays.size;
    const hasRoom = !job.leftOut.size && job.displays.size < MAX_DISPLAYS && (isFirst || amount < MAX_AMOUNT);
    (hasRoom ? job.displays : job.leftOut).add(number);
    if (hasRoom) job.shownAmount = amount;
    else if (!job.isLimitSaid) {
      job.isLimitSaid = true;
      const { size } = job.displays;
      const why = size < MAX_DISPLAYS ? ", because they are large" : "";
      job.listener.onOutput?.("stderr", `Only the first ${size} displays of an input are shown${why}.\n`);
    }
    return hasRoom;
  }

  /** @param {AskingEvent} report */
  asked({ id, question }) {
    const { onAsking } = this.listenerOf(id);
    this.isAsking = Boolean(onAsking) && question !== null;
    if (onAsking) onAsking(question);
    else if (question !== null) this.answer(question, null);
  }

  /**
   * @param {number} id
   * @param {Outcome} outcome
   */
  finish(id, outcome) {
    const job = this.current;
    if (job?.id !== id) return;
    this.stopInterrupting();
    this.current = null;
    this.isAsking = false;
    const { size } = job.leftOut;
    if (size) job.listener.onOutput?.("stderr", `${notShown(size, "displays")}\n`);
    const interrupted = outcome.interrupted && job.isStopped; // otherwise the program itself raised KeyboardInterrupt
    job.resolve({ ...outcome, interrupted, seconds: (performance.now() - job.startedAt) / 1000 });
    const { chain, goesOn } = job.listener;
    if (chain && (interrupted || !(outcome.ok || goesOn))) this.dropRest(chain, interrupted);
    this.advance();
  }
}

/**
 * @param {string} source
 * @returns {string} the beginning of its first line, in quotation marks
 */
function nameOf(source) {
  return `“${firstLine(source)}”`;
}

/**
 * @param {string} error
 * @returns {Outcome}
 */
function failed(error) {
  return { ok: false, result: null, error, full_error: null, failure: null, interrupted: false };
}

/**
 * `Promise.withResolvers`, which Safari lacks before 17.4.
 *
 * @template T
 * @returns {PromiseWithResolvers<T>}
 */
function withResolvers() {
  /** @type {any} */
  const result = {};
  result.promise = new Promise((resolve, reject) => Object.assign(result, { resolve, reject }));
  return result;
}

/**
 * @param {unknown} value what a display shows
 * @returns {number} its characters and numbers, for the time that the page takes to draw them; pixels take little
 */
function amountOf(value) {
  if (typeof value === "string") return value.length;
  if (typeof value === "number") return CHARACTERS_OF_NUMBER;
  if (!value || typeof value !== "object" || ArrayBuffer.isView(value) || value instanceof ImageBitmap) return 0;
  return Object.values(value).reduce((sum, inner) => sum + amountOf(inner), 0);
}
