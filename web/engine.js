/**
 * The page's side of the worker: starts it, queues what is to run, interrupts, restarts.
 *
 * Events: "progress" {text, fraction}, "ready" Info, "failed" {error}, "change" (busy or idle),
 * "output" {stream, text} of no particular run, "stuck" (an interrupt has no effect).
 */

import { envelope, isOurs } from "./protocol.js";

/** @typedef {import("./protocol.js").Info} Info */
/** @typedef {import("./protocol.js").Outcome} Outcome */
/** @typedef {import("./protocol.js").Report} Report */
/** @typedef {import("./protocol.js").Command} Command */
/** @typedef {import("./protocol.js").AskingEvent} AskingEvent */
/** @typedef {import("./protocol.js").StreamName} StreamName */

/**
 * @typedef {object} Listener what a run tells while it runs
 * @property {() => void} [onStart]
 * @property {(stream: StreamName, text: string) => void} [onOutput]
 * @property {(step: string) => void} [onStep]
 * @property {(question: number | null) => void} [onAsking] it waits for `Engine.answer`, or (null) not any more
 *
 * @typedef {object} Job
 * @property {number} id
 * @property {(id: number) => Command} command
 * @property {string} label what the page shows as running
 * @property {Listener} listener
 * @property {(outcome: Outcome) => void} resolve
 */

const SIGINT = 2;
const BENCHMARKS = "Running the benchmarks";
/** Python's first sign of life may take long on a slow line; silence beyond this is a failure. */
const BOOT_SILENCE_MS = 60_000;
/** An interrupt can be swallowed, by a finalizer or by the program: it is sent again. */
const RESEND_MS = 250;
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
    /** @type {string | null} why Python could not be started */
    this.broken = null;
    this.lastId = 0;
    /** @type {number | null} how many columns there are for what is printed */
    this.columns = null;
    /** How Python is being started. @type {Info["boot"]} */
    this.boot = "plain";
    this.interruptBuffer = self.crossOriginIsolated ? new SharedArrayBuffer(1) : null;
    this.flag = this.interruptBuffer && new Uint8Array(this.interruptBuffer);
    this.start();
  }

  get isBusy() {
    return this.current !== null;
  }

  get isBenchmarking() {
    return this.current?.label === BENCHMARKS;
  }

  // Starting ---------------------------------------------------------------------------------------

  start() {
    // One that never came to its end must not be tried again and again.
    const distrusted = !this.isReady && this.boot === "snapshot";
    this.isReady = false;
    this.broken = null;
    this.boot = "plain";
    /** @type {PromiseWithResolvers<Info>} */
    this.readiness = withResolvers();
    this.readiness.promise.catch(() => {}); // the status line shows it
    const worker = this.startWorker();
    this.worker = worker;
    worker.addEventListener("message", ({ data }) => {
      if (isOurs(data)) this.take(data);
      else window.dispatchEvent(new CustomEvent("pytensor:message", { detail: data }));
    });
    worker.addEventListener("error", (event) => {
      // Before it is ready, an error is fatal; later it is a stray one, already in the console.
      if (!this.isReady) this.fail(event.message || "the worker script could not be loaded");
    });
    this.watchBoot();
    this.post({ kind: "boot", interruptBuffer: this.interruptBuffer, distrusted });
  }

  /** @returns {Promise<Info>} */
  get ready() {
    return /** @type {PromiseWithResolvers<Info>} */ (this.readiness).promise;
  }

  /** A boot that hangs says nothing (without 'wasm-unsafe-eval' it never rejects), so time it. */
  watchBoot() {
    clearTimeout(this.watchdog);
    this.watchdog = setTimeout(() => {
      const seconds = BOOT_SILENCE_MS / 1000;
      this.fail(
        `Python did not start within ${seconds} seconds. If this page is served from elsewhere than ` +
          "its own server: its Content-Security-Policy must allow 'wasm-unsafe-eval'.",
      );
    }, BOOT_SILENCE_MS);
  }

  /** @param {string} error */
  fail(error) {
    clearTimeout(this.watchdog);
    this.broken = `Python could not be started: ${error}`;
    this.worker?.terminate();
    this.readiness?.reject(new Error(error));
    this.dispatchEvent(new CustomEvent("failed", { detail: { error } }));
    this.abandon(this.broken);
  }

  /**
   * Begin anew with a fresh Python; what ran or waited is told so.
   *
   * @param {string} reason
   */
  restart(reason = "Python was restarted.") {
    this.worker?.terminate();
    this.abandon(`${reason} Its variables are gone.`);
    this.start();
  }

  /** @param {string} reason */
  abandon(reason) {
    const jobs = [...(this.current ? [this.current] : []), ...this.queue];
    this.current = null;
    this.queue = [];
    this.stopInterrupting();
    for (const job of jobs) job.resolve(failed(reason));
    this.changed();
  }

  // Running ----------------------------------------------------------------------------------------

  /**
   * @param {string} source
   * @param {Listener} [listener]
   * @returns {Promise<Outcome>}
   */
  run(source, listener = {}) {
    return this.enqueue("Running", (id) => ({ kind: "run", id, source }), listener);
  }

  /**
   * @param {string} config
   * @param {Listener} [listener]
   * @returns {Promise<Outcome>}
   */
  benchmark(config, listener = {}) {
    return this.enqueue(BENCHMARKS, (id) => ({ kind: "benchmark", id, config }), listener);
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
    this.post({ kind: "answer", question, line });
  }

  /**
   * @param {string} label
   * @param {(id: number) => Command} command
   * @param {Listener} listener
   * @returns {Promise<Outcome>}
   */
  enqueue(label, command, listener) {
    if (this.broken) return Promise.resolve(failed(this.broken));
    return new Promise((resolve) => {
      this.queue.push({ id: ++this.lastId, label, command, listener, resolve });
      this.advance();
    });
  }

  advance() {
    if (!this.isReady || this.current) return;
    this.current = this.queue.shift() ?? null;
    if (this.current) {
      this.current.listener.onStart?.();
      this.post(this.current.command(this.current.id));
    }
    this.changed();
  }

  /** @param {Command} command */
  post(command) {
    this.worker?.postMessage(envelope(command));
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
    this.signal(job);
    if (this.resend === undefined) {
      const since = performance.now();
      this.resend = setInterval(() => {
        this.signal(job);
        if (performance.now() - since > STUCK_AFTER_MS) this.dispatchEvent(new Event("stuck"));
      }, RESEND_MS);
    }
    while (this.current === job) {
      await new Promise((resolve) => this.addEventListener("change", resolve, { once: true }));
    }
  }

  /** @param {Job} job */
  signal(job) {
    if (this.flag) this.flag[0] = SIGINT; // ends a loop
    this.post({ kind: "interrupt", id: job.id }); // ends a wait
  }

  stopInterrupting() {
    clearInterval(this.resend);
    this.resend = undefined;
    if (this.flag) this.flag[0] = 0;
  }

  /** Drop what has not begun yet, and tell it so. */
  dropQueued() {
    const dropped = this.queue;
    this.queue = [];
    for (const job of dropped) job.resolve(failed("Not run: what ran before it was interrupted."));
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
        this.isReady = true;
        if (this.columns) this.resize(this.columns);
        this.readiness?.resolve(report.info);
        this.dispatchEvent(new CustomEvent("ready", { detail: report.info }));
        this.advance();
        break;
      case "failed":
        this.fail(report.error);
        break;
      case "output":
        if (report.id !== null && report.id === this.current?.id) {
          this.current.listener.onOutput?.(report.stream, report.text);
        } else {
          this.dispatchEvent(new CustomEvent("output", { detail: report }));
        }
        break;
      case "step":
        if (report.id === this.current?.id) this.current.listener.onStep?.(report.step);
        break;
      case "asking":
        this.asked(report);
        break;
      case "done":
        this.finish(report.id, report.outcome);
        break;
      case "crashed":
        this.restart(`Python crashed (${report.error}) and was restarted.`);
        break;
    }
  }

  /** @param {AskingEvent} report */
  asked({ id, question }) {
    const onAsking = id === this.current?.id ? this.current?.listener.onAsking : undefined;
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
    job.resolve(outcome);
    this.advance();
  }
}

/**
 * @param {string} error
 * @returns {Outcome}
 */
function failed(error) {
  return { ok: false, result: null, error, full_error: null, interrupted: false };
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
