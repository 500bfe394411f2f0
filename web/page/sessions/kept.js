/** One session, kept as it grows: its inputs with what they show, and the files of the user. */

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
 * @property {string} source empty: it was shown by no input
 * @property {State} state
 * @property {number} at when it was entered, ms since 1970
 * @property {Shown} entry
 * @property {Outcome | null} outcome of a cell in a file; of other inputs until it is written
 * @property {number} bytes as they were counted last
 * @property {boolean} isCleared
 * @property {boolean} isTrimmed
 * @property {Cell | null} cell
 */

/** So many bytes of inputs and outputs are kept; then outputs are dropped, the oldest first. */
const MOST_BYTES = 32 * 2 ** 20;
/** An input whose outputs take more than this is kept without them. */
const MOST_BYTES_OF_ONE = 8 * 2 ** 20;
/** While an input runs, what it shows is written this often, or less where writing takes long. */
const CHECKPOINT_MS = 1500;
/** Of the time that passes, writing takes no more than one part in so many. */
const SHARE = 20;

export class KeptSession {
  /**
   * @param {About} about
   * @param {Displays} displays
   * @param {(error: unknown) => void} onProblem hears of what could not be written; null: something was
   */
  constructor(about, displays, onProblem) {
    this.about = about;
    this.displays = displays;
    this.onProblem = onProblem;
    /** In order. @type {Input[]} */
    this.inputs = [];
    /** The number of the last input, which no other gets. */
    this.last = 0;
    /** @type {WeakMap<Shown, Input>} */
    this.byEntry = new WeakMap();
    /** Those that show inputs that are run once more. @type {WeakSet<Entry>} */
    this.again = new WeakSet();
    /** The size of each file. @type {Map<string, number>} */
    this.files = new Map();
    /** What is to be written. @type {Set<Input>} */
    this.dirty = new Set();
    /** Files that are to be written, and (null) to be removed. @type {Map<string, store.File["bytes"] | null>} */
    this.dirtyFiles = new Map();
    /** Whether it is to be in the store, even without inputs. */
    this.isWanted = false;
    /** Whether there is something of it in the store. */
    this.isStored = false;
    /** Nothing is written before it is known which session this is, and after the storage was found to be of no use. */
    this.isOn = false;
    /** One thing is written after another. */
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
   * Be a session that is in the store. What was entered meanwhile comes behind its inputs.
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

  /** Those that ran to their end, and those that have not begun; but requests for help. */
  get runnable() {
    return this.inputs.filter(
      ({ state, source }) => source && (state === "done" || state === "waiting") && !helpRequest(source),
    );
  }

  // What the console tells -------------------------------------------------------------------------

  /**
   * @param {Entry} entry
   * @param {string} source
   * @param {Cell | null} cell
   */
  enter(entry, source, cell) {
    this.dirty.add(this.add(entry, source, "waiting", cell));
    void this.write();
  }

  /** @param {Shown} entry is of the session no more */
  async drop(entry) {
    const input = this.byEntry.get(entry);
    if (!input) return;
    this.byEntry.delete(entry);
    this.inputs = this.inputs.filter((other) => other !== input);
    this.dirty.delete(input);
    this.count();
    await this.queue;
    if (this.isOn && this.isStored) await this.attempt(store.removeInput({ ...this.about }, input.n));
  }

  /**
   * @param {string} path of a file
   * @returns {Input[]} what its cells show
   */
  cellsOf(path) {
    return this.inputs.filter(({ cell }) => cell?.path === path);
  }

  /**
   * @param {string} path of a file
   * @param {string} to its name from now on
   */
  moveCells(path, to) {
    for (const input of this.cellsOf(path)) {
      input.cell = { ...input.cell, line: input.cell?.line ?? 1, path: to };
      this.dirty.add(input);
    }
    void this.write();
  }

  /**
   * The file is deleted: what its cells show leaves the session.
   *
   * @param {string} path
   */
  async removeCells(path) {
    const removed = this.cellsOf(path);
    if (!removed.length) return;
    this.inputs = this.inputs.filter((input) => !removed.includes(input));
    this.count();
    await this.queue;
    for (const input of removed) {
      if (this.inputs.includes(input)) continue; // it was put back
      if (this.isOn && this.isStored) await this.attempt(store.removeInput({ ...this.about }, input.n));
    }
  }

  /** @param {Input[]} removed that are of the session again */
  putBack(removed) {
    const missing = removed.filter((input) => !this.inputs.includes(input));
    this.inputs = [...this.inputs, ...missing].sort((a, b) => a.n - b.n);
    for (const input of missing) this.dirty.add(input);
    void this.write();
  }

  /** @param {Shown} shown by no input, and perhaps not for the first time */
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
   * An input is run once more, and its new outputs take the place of those it has.
   *
   * @param {Input} input
   * @param {Entry} entry that shows them
   * @returns {() => void} takes that back, where it did not run
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

  /** @param {Entry} entry that runs, and may have shown more */
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
    if (!input || (outcome.isDropped && this.again.has(entry))) return; // then it is as it was
    input.state = stateOf(outcome);
    input.outcome = storableOutcome(outcome);
    this.dirty.add(input);
    void this.write();
  }

  /**
   * @param {Element[]} elements
   * @param {boolean} isCleared from view, or brought back
   */
  async clear(elements, isCleared) {
    const meant = this.inputs.filter(({ entry }) => elements.includes(entry.element));
    for (const input of meant) input.isCleared = isCleared;
    await this.queue;
    const numbers = meant.filter((input) => !this.dirty.has(input)).map(({ n }) => n);
    if (this.isOn && numbers.length) await this.attempt(store.markCleared(this.about.id, numbers, isCleared));
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
    if (!stored) return []; // they may be there the next time
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
   * @returns {Promise<store.File["bytes"] | null>} null where there is no such file, or it cannot be read
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

  /** Write what has changed; what cannot be written stays to be written. */
  write() {
    clearTimeout(this.timer);
    this.timer = undefined;
    this.queue = this.queue.then(() => this.writeNow());
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
      if (input.bytes <= MOST_BYTES_OF_ONE) {
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

  /** @returns {Input[]} the oldest inputs, whose outputs have to go */
  count() {
    const { about, inputs } = this;
    about.inputs = inputs.filter(({ source }) => source).length;
    about.bytes = inputs.reduce((sum, { bytes }) => sum + bytes, 0);
    /** @type {Input[]} */
    const surplus = [];
    let rest = about.bytes;
    for (const input of inputs.slice(0, -1)) {
      if (rest <= MOST_BYTES) break;
      if (input.isTrimmed || input.state === "running" || input.state === "waiting") continue;
      rest -= input.bytes;
      surplus.push(input);
    }
    return surplus;
  }
}
