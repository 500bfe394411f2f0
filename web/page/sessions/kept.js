/** One session, stored as it grows: its inputs with their outputs, and the files of the user. */

import { helpRequest } from "../repl/text.js";
import { partsOf, sizeOf, stateOf, storableOutcome } from "./record.js";
import * as store from "./store.js";

/** @typedef {import("../../worker/boot/home.js").Changes} Changes */
/** @typedef {import("../display/displays.js").Displays} Displays */
/** @typedef {import("../../worker/protocol.js").Outcome} Outcome */
/** @typedef {import("../repl/transcript.js").Entry} Entry */
/** @typedef {import("../repl/transcript.js").Shown} Shown */
/** @typedef {import("./record.js").Cell} Cell */
/** @typedef {import("./record.js").Record} Record */
/** @typedef {import("./record.js").State} State */
/** @typedef {import("./store.js").About} About */

/**
 * @typedef {object} Input
 * @property {number} n its place in the session
 * @property {string} source empty for output that belongs to no input
 * @property {State} state
 * @property {number} at when it was entered, ms since 1970
 * @property {Shown} entry
 * @property {Outcome | null} outcome for a cell in a file; for other inputs until it is written
 * @property {number} bytes size when last counted
 * @property {boolean} isCleared
 * @property {boolean} isTrimmed
 * @property {Cell | null} cell
 */

/** Limit in bytes for inputs and outputs; beyond it outputs are dropped, the oldest first. */
const MAX_BYTES = 32 * 2 ** 20;
/** An input whose outputs take more than this is stored without them. */
const MAX_BYTES_OF_ONE = 8 * 2 ** 20;
/** While an input runs, its outputs are written this often, or less often if writing takes long. */
const CHECKPOINT_MS = 1500;
/** Writing takes at most 1 / this part of the time. */
const SHARE = 20;

export class KeptSession {
  /**
   * @param {About} about
   * @param {Displays} displays
   * @param {(error: unknown) => void} onProblem called with an error when writing fails; with null when it succeeds
   */
  constructor(about, displays, onProblem) {
    this.about = about;
    this.displays = displays;
    this.onProblem = onProblem;
    /** In order. @type {Input[]} */
    this.inputs = [];
    /** The number of the last input; a number is reused only by an input that replaces another. */
    this.last = 0;
    /** The numbers of inputs that were dropped. @type {WeakMap<Shown, number>} */
    this.places = new WeakMap();
    /** @type {WeakMap<Shown, Input>} */
    this.byEntry = new WeakMap();
    /** The entries of inputs that run again. @type {WeakSet<Entry>} */
    this.again = new WeakSet();
    /** The size of each file. @type {Map<string, number>} */
    this.files = new Map();
    /** Inputs to be written. @type {Set<Input>} */
    this.dirty = new Set();
    /** Files to be written, or (null) to be removed. @type {Map<string, store.File["bytes"] | null>} */
    this.dirtyFiles = new Map();
    /** Whether to store it even without inputs. */
    this.isWanted = false;
    /** Whether any part of it is in the store. */
    this.isStored = false;
    /** Nothing is written before the session is known, or after the storage was found unusable. */
    this.isOn = false;
    /** Writes are sequential. */
    this.queue = Promise.resolve();
    this.pause = CHECKPOINT_MS;
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    this.timer = undefined;
  }

  /** Begin to write. */
  start() {
    this.isOn = true;
    void this.write();
  }

  /**
   * Become a stored session. Inputs entered in the meantime come after its inputs.
   *
   * @param {About} about
   * @param {Input[]} inputs
   * @param {number} last the number of its last record
   */
  adopt(about, inputs, last) {
    const entered = this.inputs;
    for (const [i, input] of entered.entries()) input.n = last + 1 + i;
    this.last = last + entered.length;
    this.about = about;
    this.inputs = [...inputs, ...entered];
    for (const input of inputs) this.byEntry.set(input.entry, input);
    this.isStored = this.isWanted = true;
    this.count();
  }

  /** The inputs that finished and those that have not started, except requests for help and cleared inputs. */
  get runnable() {
    return this.inputs.filter(
      ({ state, source, isCleared }) =>
        source && !isCleared && (state === "done" || state === "waiting") && !helpRequest(source),
    );
  }

  // Changes in the console -------------------------------------------------------------------------

  /**
   * @param {Entry} entry
   * @param {string} source
   * @param {Cell | null} cell
   * @param {Shown[]} [replaced] dropped entries of the same code, the first of which leaves its place to this one:
   *   inputs that ran later may depend on it
   */
  enter(entry, source, cell, replaced = []) {
    const input = this.add(entry, source, "waiting", cell);
    const place = Math.min(...replaced.map((other) => this.places.get(other) ?? input.n));
    if (place < input.n && !this.inputs.some(({ n }) => n === place)) {
      input.n = place;
      this.inputs.sort((a, b) => a.n - b.n);
    }
    this.dirty.add(input);
    void this.write();
  }

  /** @param {Shown} entry no longer belongs to the session */
  async drop(entry) {
    const input = this.byEntry.get(entry);
    if (!input) return;
    this.byEntry.delete(entry);
    this.places.set(entry, input.n);
    this.inputs = this.inputs.filter((other) => other !== input);
    this.dirty.delete(input);
    this.count();
    await this.afterWriting(async () => {
      if (this.inputs.some(({ n }) => n === input.n)) return; // another input has its place
      if (this.isOn && this.isStored) await this.attempt(store.removeInput({ ...this.about }, input.n));
    });
  }

  /**
   * @param {string} path of a file
   * @returns {Input[]} the outputs of its cells
   */
  cellsOf(path) {
    return this.inputs.filter(({ cell }) => cell?.path === path);
  }

  /**
   * @param {string} path of a file
   * @param {string} to its new name
   */
  moveCells(path, to) {
    for (const input of this.cellsOf(path)) {
      input.cell = { ...input.cell, line: input.cell?.line ?? 1, path: to };
      this.dirty.add(input);
    }
    void this.write();
  }

  /**
   * The file is deleted: remove its cells' outputs from the session.
   *
   * @param {string} path
   */
  async removeCells(path) {
    const removed = this.cellsOf(path);
    if (!removed.length) return;
    this.inputs = this.inputs.filter((input) => !removed.includes(input));
    this.count();
    await this.afterWriting(async () => {
      for (const input of removed) {
        if (this.inputs.includes(input)) continue; // it was restored
        if (this.isOn && this.isStored) await this.attempt(store.removeInput({ ...this.about }, input.n));
      }
    });
  }

  /** @param {Input[]} removed that belong to the session again */
  putBack(removed) {
    const missing = removed.filter((input) => !this.inputs.includes(input));
    this.inputs = [...this.inputs, ...missing].sort((a, b) => a.n - b.n);
    for (const input of missing) this.dirty.add(input);
    void this.write();
  }

  /** @param {Shown} shown output that belongs to no input, and may be stored already */
  stray(shown) {
    this.dirty.add(this.byEntry.get(shown) ?? this.add(shown, "", "done"));
    this.writeSoon();
  }

  /**
   * @param {Shown} entry
   * @param {string} source
   * @param {State} state
   * @param {Cell | null} [cell]
   */
  add(entry, source, state, cell = null) {
    /** @type {Input} */
    const input = {
      n: ++this.last,
      source,
      state,
      at: Date.now(),
      entry,
      outcome: null,
      bytes: 0,
      isCleared: false,
      isTrimmed: false,
      cell,
    };
    this.inputs.push(input);
    this.byEntry.set(entry, input);
    return input;
  }

  /**
   * Run an input again; its new outputs replace the present ones.
   *
   * @param {Input} input
   * @param {Entry} entry that shows them
   * @returns {() => void} undoes this, if it did not run
   */
  replace(input, entry) {
    const { entry: before } = input;
    input.entry = entry;
    this.byEntry.set(entry, input);
    this.again.add(entry);
    return () => {
      input.entry = before;
    };
  }

  /** @param {Entry} entry that is running, and may have new output */
  change(entry) {
    const input = this.byEntry.get(entry);
    if (!input) return;
    input.state = "running";
    input.outcome = null;
    input.isTrimmed = false;
    this.dirty.add(input);
    this.writeSoon();
  }

  /** @param {Element | null} element of an input whose controls were changed */
  changeControls(element) {
    const input = this.inputs.find(({ entry }) => entry.element === element);
    if (!input) return;
    this.dirty.add(input);
    this.writeSoon();
  }

  /**
   * @param {Entry} entry
   * @param {Outcome} outcome
   */
  finish(entry, outcome) {
    const input = this.byEntry.get(entry);
    if (!input || (outcome.isDropped && this.again.has(entry))) return; // then it is unchanged
    input.state = stateOf(outcome);
    input.outcome = storableOutcome(outcome);
    this.dirty.add(input);
    void this.write();
  }

  /**
   * @param {Element[]} elements
   * @param {boolean} isCleared from view, or restored to it
   */
  clear(elements, isCleared) {
    const meant = this.inputs.filter(({ entry }) => elements.includes(entry.element));
    for (const input of meant) input.isCleared = isCleared;
    return this.afterWriting(async () => {
      const numbers = meant.filter((input) => !this.dirty.has(input)).map(({ n }) => n);
      if (this.isOn && numbers.length) await this.attempt(store.markCleared(this.about.id, numbers, isCleared));
    });
  }

  /** @param {Changes} changes */
  keepFiles({ changed, removed, refused }) {
    for (const { path, bytes } of changed) {
      this.files.set(path, bytes.byteLength);
      this.dirtyFiles.set(path, bytes);
    }
    for (const path of removed) {
      this.files.delete(path);
      this.dirtyFiles.set(path, null);
      if (!refused.includes(path)) void this.removeCells(path);
    }
    this.about.files = this.files.size;
    this.about.fileBytes = [...this.files.values()].reduce((sum, size) => sum + size, 0);
    void this.write();
  }

  /** @returns {Promise<store.File[]>} */
  async readFiles() {
    if (!this.about.files) return [];
    await this.queue;
    const stored = this.isOn ? await store.readFiles(this.about.id).catch(() => null) : [];
    if (!stored) return []; // they may be readable the next time
    const found = new Map(stored.map(({ path, bytes }) => [path, bytes]));
    for (const [path, bytes] of this.dirtyFiles) {
      if (bytes) found.set(path, bytes.slice());
      else found.delete(path);
    }
    this.files = new Map([...found].map(([path, bytes]) => [path, bytes.byteLength]));
    return [...found].map(([path, bytes]) => ({ path, bytes }));
  }

  /**
   * @param {string} path
   * @returns {Promise<store.File["bytes"] | null>} null if there is no such file or it cannot be read
   */
  async readFile(path) {
    const pending = this.dirtyFiles.get(path);
    if (pending !== undefined) return pending?.slice() ?? null;
    return this.isOn ? store.readFile(this.about.id, path).catch(() => null) : null;
  }

  writeSoon() {
    this.timer ??= setTimeout(() => void this.write(), this.pause);
  }

  // Writing ----------------------------------------------------------------------------------------

  /** Write changes; those that cannot be written are tried again later. */
  write() {
    clearTimeout(this.timer);
    this.timer = undefined;
    return this.afterWriting(() => this.writeNow());
  }

  /** Write the description of the session, even if it is empty. */
  keepAbout() {
    this.isWanted = true;
    return this.afterWriting(async () => {
      if (this.isOn) await this.attempt(store.putAbout({ ...this.about }));
    });
  }

  /**
   * Change the store after all earlier writes and before all later ones.
   *
   * @param {() => Promise<void>} work
   */
  afterWriting(work) {
    this.queue = this.queue.then(work);
    return this.queue;
  }

  async writeNow() {
    const isChanged = this.dirty.size > 0 || this.dirtyFiles.size > 0;
    if (!this.isOn || (!isChanged && (this.isStored || !this.isWanted))) return;
    const began = performance.now();
    await this.attempt(this.writeAll());
    this.pause = Math.max(CHECKPOINT_MS, SHARE * (performance.now() - began));
  }

  /** @param {Promise<void>} work */
  async attempt(work) {
    try {
      await work;
      this.isStored = true;
      this.onProblem(null);
    } catch (error) {
      this.onProblem(error);
    }
  }

  async writeAll() {
    if (!this.isStored) await store.putAbout({ ...this.about });
    for (const input of this.dirty) {
      this.dirty.delete(input);
      if (!this.inputs.includes(input)) continue; // its file was deleted
      try {
        await this.writeOne(input);
      } catch (error) {
        this.dirty.add(input);
        throw error;
      }
    }
    if (this.dirtyFiles.size) await this.writeFiles();
  }

  async writeFiles() {
    const batch = [...this.dirtyFiles];
    const changed = batch.flatMap(([path, bytes]) => (bytes ? [{ path, bytes }] : []));
    const removed = batch.flatMap(([path, bytes]) => (bytes ? [] : [path]));
    this.about.changed = Date.now();
    await store.putFiles({ ...this.about }, changed, removed);
    for (const [path, bytes] of batch) if (this.dirtyFiles.get(path) === bytes) this.dirtyFiles.delete(path);
  }

  /** @param {Input} input */
  async writeOne(input) {
    if (!input.isTrimmed) {
      await this.displays.updated;
      const parts = await partsOf(input.entry, this.displays);
      const { source, state, at, outcome, isCleared, cell } = input;
      /** @type {Record} */
      const record = { source, state, at, parts, outcome, isCleared, isTrimmed: false, cell };
      input.bytes = sizeOf(record);
      if (input.bytes <= MAX_BYTES_OF_ONE) {
        this.about.changed = Date.now();
        const surplus = this.count();
        await store.putInput({ ...this.about }, input.n, record);
        const mayChange = input.entry.element.querySelector(".controls-panel") !== null;
        if (input.outcome === outcome && !mayChange && !cell) input.outcome = null;
        for (const oldest of surplus) await this.trim(oldest);
        return;
      }
    }
    await this.trim(input);
  }

  /** @param {Input} input whose outputs are dropped */
  async trim(input) {
    const { source, state, at, isCleared, cell } = input;
    /** @type {Record} */
    const record = { source, state, at, parts: [], outcome: null, isCleared, isTrimmed: true, cell };
    input.isTrimmed = true;
    input.bytes = sizeOf(record);
    this.count();
    await store.putInput({ ...this.about }, input.n, record);
  }

  /** @returns {Input[]} the oldest inputs, whose outputs must be dropped */
  count() {
    const { about, inputs } = this;
    about.inputs = inputs.filter(({ source }) => source).length;
    about.bytes = inputs.reduce((sum, { bytes }) => sum + bytes, 0);
    /** @type {Input[]} */
    const surplus = [];
    let rest = about.bytes;
    for (const input of [...inputs].sort((a, b) => a.at - b.at).slice(0, -1)) {
      if (rest <= MAX_BYTES) break;
      if (input.isTrimmed || input.state === "running" || input.state === "waiting") continue;
      rest -= input.bytes;
      surplus.push(input);
    }
    return surplus;
  }
}
