/**
 * The JavaScript half of py_tensor: Python writes commands as integers to the Wasm heap, and one call per flush
 * submits them to the GPU. README.md lists the invariants.
 */

import { Connection } from "./connection.js";
import { FailureLog, lostFailure, outOfRangeFailure, report, THIS_CALL, thrownFailure } from "./failures.js";
import { Flights } from "./flights.js";
import { Readback } from "./reading.js";
import { closeScopes, openScopes } from "./scopes.js";
import { replay } from "./stream.js";
import { Timer } from "./timing.js";
import { INTERRUPTED, scheduleFor, Waiter } from "./waiting.js";

/**
 * @typedef {object} BridgeOptions
 * @property {GPU} [gpu]
 * @property {number} [patience] how long to retry while there is no adapter, in ms
 * @property {number} [bindGroupCapacity]
 * @property {import("./waiting.js").Schedule | null} [poking] when to poke the browser while waiting; null: never
 * @property {boolean} [paintInSoftware] whether to paint on a software adapter, too
 * @property {import("./connection.js").ChoiceStore} [choiceStore] without it, choices last as long as the session
 */

/** @typedef {{ bitmap: ImageBitmap | null, outcome: string }} Painted `outcome` as for a read; null without an image */

/**
 * The interface for Python, with integers only (except labels and WGSL). An empty `string` means success; otherwise it
 * is JSON, or "interrupted". Failures have the form of `Failure` in failures.js.
 *
 * @typedef {object} Bridge
 *
 * @property {(trial?: string, counts?: number) => Promise<string>} acquire
 *   {ok: true, generation, adapter, features, limits, wrong, choices}, or {ok: false, reason}. The same device until it
 *   is lost; then a new one of the next generation, which has only the sources of the pipelines. `wrong` holds the
 *   counts of the trial, a WGSL kernel that a new device runs; see trial.js. `choices` is the text that `keepChoices`
 *   stored for this adapter in an earlier session, or null.
 * @property {(text: string) => Promise<string>} keepChoices stores choices for the next session with this adapter; ""
 *   deletes them. Returns "", or the reason if they are not stored; "interrupted" means unknown.
 *
 * @property {(id: number, wgsl: string, label: string, storageCount: number, writableMask: number, isForeign?: boolean) => void} definePipeline
 *   Entry point "main"; storage buffers at bindings 0 to storageCount - 1 of group 0, read_write if their bit in the
 *   mask is set; the parameters, a uniform buffer, at binding storageCount. Needs no device. A browser bounds-checks
 *   all programs, whether from a user (isForeign) or from the library.
 * @property {(id: number) => void} warm starts to compile in the background, if there is a device
 * @property {() => Promise<string>} warmed resolves to "" when background compilation has ended, successful or not
 * @property {(id: number) => void} dropPipeline
 * @property {(likely: import("./pipelines.js").Code[]) => void} precompile starts to compile what will probably be
 *   defined, if there is a device; for the page, while Python starts
 *
 * @property {(address: number, words: number, table: number, blockAddress: number, blockBytes: number, flushId: number) => number} flush
 *   Executes the commands (listed in stream.js) at a byte address in the heap, and submits. `table` is the address of
 *   the ids of buffers, to which dispatches refer by position; the block holds parameters and uploads. Returns the
 *   number of flushes in flight, including this one; it decreases only while Python yields. 0: there is no device, and
 *   nothing was done. -1: an exception; commands not submitted yet are dropped, but the table of buffers is the same as
 *   after a successful flush, and `failures` has the reason.
 *
 * @property {() => number} lastFlush the number of the last executed flush, 0 before the first, for callers that were
 *   interrupted
 *
 * @property {(id: number, size: number, slices: number) => Promise<string>} allocate
 *   Creates a buffer, like CREATE. Returns JSON of one failure if the buffer was not created.
 * @property {(id: number, byteOffset: number, byteLength: number, destination: number) => Promise<string>} read
 *   Copies byteLength bytes of a buffer to the heap, with their contents at the time of the call. When it resolves, all
 *   earlier flushes are complete and free of errors, except for the failures returned. Failures of the read itself have
 *   flush -1; only then is the destination not written. After "interrupted" it is never written.
 * @property {(destination: number) => boolean} isReading whether a read may still write there
 * @property {() => boolean} canPaint whether `paint` works here; the first call tests it
 * @property {(id: number, stride: number, width: number, height: number) => Promise<Painted>} paint
 *   Makes an image from a buffer of pixels, one u32 each with premultiplied alpha, in rows `stride` pixels apart (a
 *   multiple of 64), without reading them back. The contents are those at the time of the call.
 * @property {() => Promise<string>} synchronize waits for all flushes; returns failures like `read`
 * @property {(flush: number) => Promise<string>} drain waits for the flushes up to this number; returns only failures
 *   of flushes, not a loss of the device
 * @property {() => string} failures JSON array of the failures not forgotten yet, or ""
 * @property {(serial: number) => void} forgetFailures forgets failures up to this serial number, which Python has noted
 * @property {() => void} interrupt ends every wait with "interrupted"
 *
 * @property {() => boolean} startTimer times every dispatch from now on; false if the device cannot
 * @property {() => Promise<string>} stopTimer JSON: [pipeline, begin, end] of each dispatch, in ns since the first began
 *
 * @property {() => string} stats JSON
 * @property {() => void} loseDevice destroys the device: for tests
 */

/**
 * @param {import("./heap.js").PyodideHost} pyodide its heap is not used before the first flush
 * @param {BridgeOptions} [options]
 * @returns {Bridge}
 */
export function createBridge(pyodide, options = {}) {
  const { gpu = navigator.gpu, patience = 5000, bindGroupCapacity = 4096, poking, choiceStore } = options;
  const { paintInSoftware = false } = options;
  const counters = { dispatches: 0, flushes: 0, submits: 0, compiles: 0, precompiles: 0, reads: 0 };
  /** @type {Map<number, import("./pipelines.js").PipelineSource>} */
  const sources = new Map();
  const failures = new FailureLog();
  const flights = new Flights();
  let lastFlush = 0;
  /** @type {boolean | null} whether canvases show what the GPU draws; null: not tested yet */
  let paints = null;
  /** @type {Set<number>} addresses that a read may still write to */
  const destinations = new Set();
  const context = { sources, counters, bindGroupCapacity };
  const connection = new Connection(gpu, patience, context, failures, choiceStore);
  const waiter = new Waiter(
    () => connection.session?.device.queue.submit([]),
    () => {
      if (connection.session === null) return null;
      if (poking !== undefined) return poking;
      return scheduleFor(connection.isFallback);
    },
  );

  /**
   * @param {import("./session.js").Session} session
   * @param {number} flush
   * @param {Readback[]} checks
   */
  async function land(session, flush, checks) {
    const done = session.device.queue.onSubmittedWorkDone().catch(() => undefined);
    const found = await closeScopes(session.device, session.pipelines, flush);
    for (const failure of found) failures.record(failure);
    for (const check of checks) {
      await check.arrived;
      // The words of a failed flush are meaningless.
      const words = check.failures.length === 0 && found.length === 0 ? check.nonzero() : [];
      if (words.length > 0) failures.record(outOfRangeFailure(flush, words));
      check.release();
    }
    await done;
  }

  /**
   * The report at the end of a wait: all open failures, and its own or the loss of the device.
   *
   * @param {import("./session.js").Session} session the session in which the wait began
   * @param {import("./failures.js").Failure[]} own
   */
  function outcome(session, own) {
    const lost = session === connection.session ? [] : [lostFailure(connection.loss)];
    return report([...failures.open, ...(lost.length > 0 ? lost : own)]);
  }

  const noDevice = () => report([...failures.open, lostFailure(connection.loss)]);

  return {
    acquire: (trial, counts) => waiter.wait(connection.acquire(trial, counts)),
    keepChoices: (text) => waiter.wait(connection.keepChoices(text)),

    definePipeline(id, wgsl, label, storageCount, writableMask) {
      connection.session?.dropPipeline(id);
      sources.set(id, { wgsl, label, storageCount, writableMask });
    },

    warm(id) {
      connection.session?.pipelines.warm(id);
    },

    async warmed() {
      const ended = await waiter.wait(connection.session?.pipelines.whenWarm() ?? Promise.resolve());
      return ended === INTERRUPTED ? INTERRUPTED : "";
    },

    precompile(likely) {
      connection.session?.pipelines.precompile(likely);
    },

    dropPipeline(id) {
      connection.session?.dropPipeline(id);
      sources.delete(id);
    },

    flush(address, words, table, blockAddress, blockBytes, flushId) {
      const { session } = connection;
      if (session === null) return 0;
      const idle = flights.count === 0;
      counters.flushes++;
      session.dropAhead();
      openScopes(session.device);
      const { HEAPU8, HEAPU32 } = pyodide._module;
      const heap = { words: HEAPU32, bytes: HEAPU8, table: table >>> 2, idle };
      const block = { address: blockAddress, bytes: blockBytes };
      const stop = replay(session, heap, address >>> 2, words, block);
      flights.launch(flushId, land(session, flushId, session.takeChecks()));
      if (stop === null) {
        lastFlush = flushId;
        return flights.count;
      }
      failures.record(thrownFailure(flushId, stop.error, stop.label));
      return -1;
    },

    lastFlush: () => lastFlush,

    async allocate(id, size, slices) {
      const { session } = connection;
      if (session === null) return JSON.stringify(lostFailure(connection.loss));
      openScopes(session.device);
      /** @type {import("./failures.js").Failure[]} */
      const own = [];
      try {
        session.buffers.create(id, size, slices);
      } catch (error) {
        own.push(thrownFailure(THIS_CALL, error, `buffer ${id}`));
      }
      const created = own.length === 0;
      const checked = closeScopes(session.device, session.pipelines, THIS_CALL).then((found) => {
        own.push(...found);
        if (session !== connection.session) own.unshift(lostFailure(connection.loss));
        else if (created && own.length > 0) session.destroyBuffer(id);
        return own.length > 0 ? JSON.stringify(own[0]) : "";
      });
      return waiter.wait(checked);
    },

    async read(id, byteOffset, byteLength, destination) {
      const { session } = connection;
      if (session === null) return noDevice();
      counters.reads++;
      destinations.add(destination);
      let readback = session.takeAhead(id, byteOffset, byteLength);
      if (readback === null) {
        readback = new Readback(session, id, byteOffset, byteLength);
        readback.fetch();
      }
      const arrived = Promise.all([readback.arrived, flights.landed()]);
      const ended = await waiter.wait(arrived);
      destinations.delete(destination); // there are no more waits from here on
      if (ended === INTERRUPTED) {
        arrived.then(() => readback.release());
        return INTERRUPTED;
      }
      if (readback.failures.length === 0 && session === connection.session) {
        readback.deliver(pyodide._module.HEAPU8, destination);
      }
      readback.release();
      return outcome(session, readback.failures);
    },

    canPaint() {
      const { session } = connection;
      if (paints !== null || session === null) return paints ?? false;
      paints = false; // in case the test never returns
      if (connection.isFallback && !paintInSoftware) return false;
      openScopes(session.device);
      paints = session.painter.paintsAPixel();
      closeScopes(session.device, session.pipelines, THIS_CALL); // errors show in the pixel, so ignore them here
      return paints;
    },

    async paint(id, stride, width, height) {
      const { session } = connection;
      if (session === null) return { bitmap: null, outcome: noDevice() };
      openScopes(session.device);
      /** @type {import("./failures.js").Failure[]} */
      const own = [];
      /** @type {ImageBitmap | null} */
      let bitmap = null;
      try {
        bitmap = session.painter.paint(session.buffers.get(id), stride, width, height);
      } catch (error) {
        session.recorder.abandon();
        own.push(thrownFailure(THIS_CALL, error, `buffer ${id}`));
      }
      const found = closeScopes(session.device, session.pipelines, THIS_CALL);
      const ended = await waiter.wait(Promise.all([found, flights.landed()]));
      if (ended === INTERRUPTED) {
        bitmap?.close();
        return { bitmap: null, outcome: INTERRUPTED };
      }
      return { bitmap, outcome: outcome(session, [...own, ...ended[0]]) };
    },

    async synchronize() {
      const { session } = connection;
      if (session === null) return noDevice();
      const done = session.device.queue.onSubmittedWorkDone().catch(() => undefined);
      const ended = await waiter.wait(Promise.all([done, flights.landed()]));
      return ended === INTERRUPTED ? INTERRUPTED : outcome(session, []);
    },

    isReading: (destination) => destinations.has(destination),

    async drain(flush) {
      const ended = await waiter.wait(flights.landed(flush));
      return ended === INTERRUPTED ? INTERRUPTED : report(failures.open);
    },

    failures: () => report(failures.open),
    forgetFailures: (serial) => failures.forget(serial),
    interrupt: () => waiter.interrupt(),
    loseDevice: () => connection.lose(),

    startTimer() {
      const { session } = connection;
      if (!session?.device.features.has("timestamp-query")) return false;
      session.recorder.timer = new Timer(session.device);
      return true;
    },

    async stopTimer() {
      const recorder = connection.session?.recorder;
      const timer = recorder?.timer;
      if (!recorder || !timer) return "[]";
      recorder.timer = null;
      const timings = await waiter.wait(timer.collect().catch(() => []));
      if (timings === INTERRUPTED) return INTERRUPTED;
      const first = timings.length > 0 ? timings[0].begin : 0n;
      return JSON.stringify(timings.map((t) => [t.pipeline, Number(t.begin - first), Number(t.end - first)]));
    },

    stats() {
      const { session, generation } = connection;
      return JSON.stringify({
        generation,
        isLost: session === null && generation > 0,
        buffers: session?.buffers.count ?? 0,
        bufferBytes: session?.buffers.bytes ?? 0,
        stagingBuffers: session?.staging.count ?? 0,
        stagingBytes: session?.staging.bytes ?? 0,
        pipelines: session?.pipelines.size ?? 0,
        bindGroups: session?.bindGroups.size ?? 0,
        ...counters,
        inFlight: flights.count,
      });
    },
  };
}
