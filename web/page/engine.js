/**
 * The page's side of the worker: starts it, queues what is to run, interrupts, restarts.
 *
 * Events: "progress" {text, fraction}, "slow" (a boot has said nothing for a while), "ready" Info, "failed" {error}, "change" (busy or idle),
 * "due" {number, targets} (a control has changed, and these are to be run), "output" {stream, text} and "display" {number, bundle, isUpdate} of no particular run, "files" Changes, "stuck" (an interrupt has no
 * effect), "spare" (there is one, or none any more), "missing" {path} (that file of the page could
 * not be loaded).
 */

import { isOutdated } from "../worker/files.js";
import { isOurs } from "../worker/protocol.js";
import { discard } from "./display/bundles.js";
import { Interpreter } from "./interpreter.js";
import { allowsPackages } from "./start.js";

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
 * @typedef {object} Listener what a run tells while it runs
 * @property {object} [chain] what is of one chain does not run after one of it has failed
 * @property {(id: number) => void} [onStart] id: of the command
 * @property {(stream: StreamName, text: string) => void} [onOutput]
 * @property {(step: string) => void} [onStep]
 * @property {(number: number, bundle: Bundle) => void} [onDisplay]
 * @property {(bundle: Bundle) => void} [onAnswer] what a view or a drawing asked for
 * @property {(question: number | null) => void} [onAsking] it waits for `Engine.answer`, or (null) not any more
 *
 * @typedef {object} Job
 * @property {number} id
 * @property {(id: number) => Command} command
 * @property {string} label what the page shows as running
 * @property {Listener} listener
 * @property {Transferable[]} transfer what goes to the worker with the command
 * @property {(outcome: Outcome) => void} resolve
 */

const RUNNING = "Running";
const BENCHMARKS = "Running the benchmarks";
/** Python's first sign of life may take long on a slow line; silence beyond this is a failure. */
const BOOT_SILENCE_MS = 60_000;
/** After so much of it, the server may be gone. */
const BOOT_SLOW_MS = 6000;
/** So long after an interrupt, what still runs may have swallowed it. */
const STUCK_AFTER_MS = 2000;

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
    /** Nothing runs before this is done in a new Python. @type {() => Promise<void>} */
    this.prepare = async () => {};
    this.isPrepared = false;
    /** @type {ReturnType<typeof setTimeout> | undefined} until an interrupt counts as swallowed */
    this.patience = undefined;
    /** Whether what runs waits for a line of input. */
    this.isAsking = false;
    /** @type {string | null} why Python could not be started */
    this.broken = null;
    this.lastId = 0;
    /** Who waits for the answer to which query. @type {Map<number, (value: string) => void>} */
    this.queries = new Map();
    /** @type {number | null} how many columns there are for what is printed */
    this.columns = null;
    /** How Python is being started. @type {Info["boot"]} */
    this.boot = "plain";
    /** @type {Interpreter | null} */
    this.interpreter = null;
    /** Python for the next start, booted beforehand (boot/spare.js). @type {Interpreter | null} */
    this.spare = null;
    /** Why Python was started anew. @type {string | null} */
    this.restarted = null;
    this.start();
  }

  get isBusy() {
    return this.current !== null;
  }

  get isBenchmarking() {
    return this.current?.label === BENCHMARKS;
  }

  /** Whether something runs, or waits to, that the user has begun: no view of a tensor, no picture of the gallery. */
  get isWorking() {
    const jobs = this.current ? [this.current, ...this.queue] : this.queue;
    return jobs.some(({ label }) => label === RUNNING || label === BENCHMARKS);
  }

  // Starting ---------------------------------------------------------------------------------------

  start() {
    // One that never came to its end must not be tried again and again.
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
        // Before it is ready, an error is fatal; later it is a stray one, already in the console.
        if (this.isReady) return;
        // A script that is gone, of an older build than the server's: the page begins again with that.
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

  /** A boot that hangs says nothing, so time it. */
  watchBoot() {
    clearTimeout(this.watchdog);
    clearTimeout(this.slowness);
    this.slowness = setTimeout(() => this.dispatchEvent(new Event("slow")), BOOT_SLOW_MS);
    this.watchdog = setTimeout(() => {
      const seconds = BOOT_SILENCE_MS / 1000;
      this.fail(`Python did not start within ${seconds} seconds.`);
    }, BOOT_SILENCE_MS);
  }

  /** What was typed meanwhile runs as soon as all is prepared. */
  async beginRunning() {
    const { interpreter } = this;
    await this.prepare();
    if (this.interpreter !== interpreter || !this.isReady) return; // there is another one meanwhile
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
   * Begin anew with a fresh Python, the spare one where there is one; what ran or waited is told so.
   *
   * @param {string} reason
   */
  restart(reason = "Python was restarted.") {
    this.restarted = `${reason} All variables are lost.`;
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
    for (const job of queue) job.resolve({ ...failed(reason), isDropped: true });
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
    return this.enqueue(RUNNING, (id) => ({ kind: "run", id, source }), listener);
  }

  /**
   * An input that asks for help, in its place among the others.
   *
   * @param {import("./repl/text.js").HelpRequest} request
   * @param {string} source
   * @param {Listener} listener
   * @returns {Promise<Outcome>}
   */
  help(request, source, listener) {
    return this.enqueue(RUNNING, (id) => ({ kind: "help", id, source, ...request }), listener);
  }

  /**
   * @param {string} config
   * @param {Listener} [listener]
   * @returns {Promise<Outcome>}
   */
  benchmark(config, listener = {}) {
    return this.enqueue(BENCHMARKS, (id) => ({ kind: "benchmark", id, config }), listener);
  }

  /**
   * Ask about the session, beside the queue: an answer disturbs no run.
   *
   * @param {string} method (`Console.query` in boot.py)
   * @param {Record<string, unknown>} args
   * @returns {Promise<any>} null where there is no answer: at once while Python starts or runs something
   */
  async query(method, args) {
    if (!this.isReady || this.current) return null;
    const id = ++this.lastId;
    /** @type {Promise<string>} */
    const answer = new Promise((resolve) => this.queries.set(id, resolve));
    this.post({ kind: "query", id, method, args: JSON.stringify(args) });
    return JSON.parse(await answer);
  }

  /**
   * Look at a tensor that was shown; what there is to see goes to `onAnswer`.
   *
   * @param {number} number
   * @param {string} view
   * @param {Record<string, number>} place
   * @param {Listener} listener
   * @returns {Promise<Outcome>}
   */
  view(number, view, place, listener) {
    return this.enqueue("Looking", (id) => ({ kind: "view", id, number, view, place }), listener);
  }

  /**
   * Draw a live picture of the gallery; it goes to `onAnswer`.
   *
   * @param {Drawing} drawing
   * @param {Listener} listener
   * @returns {Promise<Outcome>}
   */
  draw(drawing, listener) {
    const transfer = drawing.frame ? [drawing.frame.buffer] : [];
    return this.enqueue("Drawing", (id) => ({ kind: "draw", id, ...drawing }), listener, transfer);
  }

  /**
   * Tell Python that the user changed a control, while something runs too. What is to be run then, "due" says.
   *
   * @param {number} number
   * @param {import("../worker/protocol.js").ControlValue} value
   */
  change(number, value) {
    if (this.isReady) this.post({ kind: "control", number, value });
  }

  /**
   * What a run has shown is gone: have Python drop the functions that it gave to controls.
   *
   * @param {number} id
   */
  forget(id) {
    if (this.isReady) this.post({ kind: "forget", id });
  }

  /**
   * Run what a control's change calls for.
   *
   * @param {number} number
   * @param {Listener} listener
   * @returns {Promise<Outcome>}
   */
  react(number, listener) {
    return this.enqueue("Updating", (id) => ({ kind: "react", id, number }), listener);
  }

  /** @param {number} columns */
  resize(columns) {
    this.columns = columns;
    if (this.isReady) this.post({ kind: "resize", columns });
  }

  /**
   * @param {number} question that Python waits for
   * @param {string | null} line null where nobody can be asked
   */
  answer(question, line) {
    this.isAsking = false;
    this.post({ kind: "answer", question, line });
  }

  /**
   * @param {string} label
   * @param {(id: number) => Command} command
   * @param {Listener} listener
   * @param {Transferable[]} [transfer]
   * @returns {Promise<Outcome>}
   */
  enqueue(label, command, listener, transfer = []) {
    if (this.broken) return Promise.resolve(failed(this.broken));
    return new Promise((resolve) => {
      this.queue.push({ id: ++this.lastId, label, command, listener, transfer, resolve });
      this.advance();
    });
  }

  advance() {
    if (!this.isPrepared || this.current) return;
    this.current = this.queue.shift() ?? null;
    const { current: job } = this;
    if (job) {
      job.listener.onStart?.(job.id);
      try {
        this.post(job.command(job.id), job.transfer);
      } catch (error) {
        this.finish(job.id, failed(`This could not be sent to Python: ${error}`)); // and on with the next
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
   * End what runs now. Resolves when it has ended.
   *
   * @returns {Promise<void>}
   */
  async interrupt() {
    const job = this.current;
    if (!job || !this.isReady) return;
    this.interpreter?.interrupt(job.id);
    this.patience ??= setTimeout(() => this.dispatchEvent(new Event("stuck")), STUCK_AFTER_MS);
    while (this.current === job) {
      await new Promise((resolve) => this.addEventListener("change", resolve, { once: true }));
    }
  }

  stopInterrupting() {
    clearTimeout(this.patience);
    this.patience = undefined;
    this.interpreter?.calm();
  }

  /**
   * Drop what has not begun yet, and tell it so.
   *
   * @param {(listener: Listener) => boolean} [isMeant] by default everything
   * @param {string} [reason]
   */
  dropQueued(isMeant = () => true, reason = "Not run: the input before it was interrupted.") {
    const dropped = this.queue.filter(({ listener }) => isMeant(listener));
    this.queue = this.queue.filter((job) => !dropped.includes(job));
    for (const job of dropped) job.resolve({ ...failed(reason), isDropped: true });
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
        if (this.columns) this.resize(this.columns);
        this.readiness?.resolve(report.info);
        this.dispatchEvent(new CustomEvent("ready", { detail: report.info }));
        void this.beginRunning();
        break;
      case "failed":
        this.boot = "plain"; // it has come to an end: the snapshot is not to blame
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
   * @returns {Listener} of the job that runs, if a report is about it; what nobody listens to is of no particular run
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
    else if (onDisplay && !isUpdate) onDisplay(number, bundle);
    else this.dispatchEvent(new CustomEvent("display", { detail: report }));
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
    job.resolve(outcome);
    const { chain } = job.listener;
    if (chain && !outcome.ok) this.dropQueued((other) => other.chain === chain, "Not run: an earlier input failed.");
    this.advance();
  }
}

/**
 * @param {string} error
 * @returns {Outcome}
 */
function failed(error) {
  return { ok: false, result: null, error, full_error: null, failure: null, interrupted: false };
}

/**
 * `Promise.withResolvers`, which Safari has only since 17.4.
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
