/** One session, stored as it grows: its inputs with their outputs, and the files of the user. */

import { measureSpace, reasonOf, StorageError } from "../../worker/boot/database.js";
import { helpRequest } from "../repl/text.js";
import { partsOf, sizeOf, stateOf, storableOutcome } from "./record.js";
import * as store from "./store.js";

/** @typedef {import("../../worker/boot/home.js").Changes} Changes */
/** @typedef {import("../../worker/boot/database.js").Space} Space */
/** @typedef {import("../../worker/boot/home.js").Unsaved} Unsaved */
/** @typedef {import("../display/displays.js").Displays} Displays */
/** @typedef {import("../../worker/protocol.js").Outcome} Outcome */
/** @typedef {import("../repl/transcript.js").Entry} Entry */
/** @typedef {import("../repl/transcript.js").Shown} Shown */
/** @typedef {import("./record.js").Cell} Cell */
/** @typedef {import("./record.js").Record} Record */
/** @typedef {import("./record.js").State} State */
/** @typedef {import("./store.js").About} About */
/** @typedef {store.File & { error?: string }} NotWritten without an error, because there is no room */

/**
 * @typedef {object} Input
 * @property {number} n its place in the session
 * @property {string} source empty for output that belongs to no input
 * @property {State} state
 * @property {number} at when it was entered, ms since 1970
 * @property {Shown} entry
 * @property {Outcome | null} outcome for a cell in a file; for other inputs until it is written
 * @property {number} bytes size when last counted
 * @property {boolean} hasRun without failing, if not in its last run
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
/** Files are written in groups, in a transaction each; if one fails, its halves are written. */
const MAX_GROUP = 500;
const MAX_GROUP_BYTES = 16 * 2 ** 20;
/** After so many files that cannot be written for other reasons than their size, the storage itself is at fault. */
const MAX_FAILURES = 5;

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
    /** The sizes of files whose present content is not stored, because it does not fit. @type {Map<string, number>} */
    this.unsaved = new Map();
    /** What did not fit. @type {WeakSet<store.File["bytes"]>} */
    this.refused = new WeakSet();
    /** When to try to write it again, as `performance.now()`. */
    this.retryAt = 0;
    /** Stored files that cannot be read. @type {Set<string>} */
    this.unreadable = new Set();
    this.areFilesKnown = false;
    /** Called with files that are not saved and were not named before; without files when some are saved. */
    this.onUnsaved = (/** @type {Unsaved[]} */ _files, /** @type {Space} */ _space) => {};
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

  /**
   * The inputs that finished and those that have not started, except requests for help.
   *
   * @param {boolean} withCleared
   */
  runnable(withCleared) {
    return this.inputs.filter(
      ({ state, hasRun, source, isCleared }) =>
        source && (withCleared || !isCleared) && (hasRun || state === "waiting") && !helpRequest(source),
    );
  }

  /**
   * @param {boolean} withCleared
   * @returns {number} of inputs that cannot run again, because they failed or were stopped
   */
  countEnded(withCleared) {
    const isEnded = (/** @type {State} */ state) => state === "failed" || state === "interrupted";
    return this.inputs.filter(
      ({ state, hasRun, source, isCleared }) =>
        source && (withCleared || !isCleared) && !hasRun && isEnded(state) && !helpRequest(source),
    ).length;
  }

  /** The number of cleared inputs that can run again. */
  get clearedCount() {
    return this.runnable(true).length - this.runnable(false).length;
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
      hasRun: state === "done",
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

  /** @param {Element | null} element of an input one of whose outputs was changed, perhaps by a later input */
  changeOutput(element) {
    const input = this.inputs.find(({ entry }) => entry.element === element);
    if (!input) return;
    if (input.state === "running") input.isTrimmed = false;
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
    input.hasRun ||= outcome.ok;
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
      this.unreadable.delete(path);
    }
    for (const path of removed) {
      this.files.delete(path);
      this.dirtyFiles.set(path, null);
      this.unsaved.delete(path);
      this.unreadable.delete(path);
      void this.removeCells(path);
    }
    this.countFiles();
    if (refused.length) void this.refuse(refused);
    void this.write();
  }

  countFiles() {
    this.about.files = this.files.size;
    this.about.fileBytes = [...this.files.values()].reduce((sum, size) => sum + size, 0);
  }

  /** @param {Unsaved[]} files that do not fit */
  async refuse(files) {
    const unnamed = files.filter(({ path }) => !this.unsaved.has(path));
    for (const { path, size } of files) this.unsaved.set(path, size);
    if (unnamed.length) this.onUnsaved(unnamed, await measureSpace());
  }

  /** A new Python has the files: what only the previous one had is lost. */
  forgetLost() {
    const lost = [...this.unsaved.keys()].filter((path) => !this.dirtyFiles.has(path));
    for (const path of lost) this.unsaved.delete(path);
    if (lost.length) this.onUnsaved([], { used: 0, room: 0 });
  }

  /**
   * @returns {AsyncGenerator<store.File[]>} the files, in groups
   * @throws {StorageError} if the browser's storage cannot be read
   */
  async *readFiles() {
    /** @type {Set<string>} */
    const stored = new Set();
    if (this.isOn && this.isStored) {
      await this.queue;
      for await (const group of store.readFiles(this.about.id)) {
        const files = group.flatMap(({ path, bytes }) => {
          if (this.dirtyFiles.has(path)) return [];
          stored.add(path);
          this.files.set(path, bytes?.byteLength ?? 0);
          if (!bytes) this.unreadable.add(path);
          return bytes ? [{ path, bytes }] : [];
        });
        yield files;
      }
    }
    const unwritten = [...this.dirtyFiles].flatMap(([path, bytes]) => (bytes ? [{ path, bytes: bytes.slice() }] : []));
    this.countFiles();
    this.areFilesKnown = true;
    yield unwritten;
  }

  /** Learn which files there are, with their sizes. */
  async knowFiles() {
    if (this.areFilesKnown) return;
    for await (const _group of this.readFiles());
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
      if (!this.dirty.size) this.onProblem(null);
    } catch (error) {
      this.onProblem(error);
    }
  }

  /** One record that cannot be written, because it is too large, does not keep the others from being written. */
  async writeAll() {
    if (!this.isStored) {
      await store.putAbout({ ...this.about });
      this.isStored = true;
    }
    /** @type {unknown} */
    let problem = null;
    for (const input of [...this.dirty]) {
      this.dirty.delete(input);
      if (!this.inputs.includes(input)) continue; // its file was deleted
      try {
        await this.writeOne(input);
      } catch (error) {
        this.dirty.add(input);
        if (error instanceof StorageError) throw error;
        problem ??= error;
      }
    }
    if (this.dirtyFiles.size) await this.writeFiles();
    if (problem) throw problem;
  }

  /** Write the smallest files first: the text of a program before its data. */
  async writeFiles() {
    this.about.changed = Date.now();
    const began = performance.now();
    const removed = [...this.dirtyFiles].flatMap(([path, bytes]) => (bytes ? [] : [path]));
    if (removed.length) this.retryAt = 0;
    const mayFit = (/** @type {store.File["bytes"]} */ bytes) => !this.refused.has(bytes) || began >= this.retryAt;
    const changed = [...this.dirtyFiles].flatMap(([path, bytes]) => (bytes && mayFit(bytes) ? [{ path, bytes }] : []));
    changed.sort((a, b) => a.bytes.byteLength - b.bytes.byteLength);
    let refused = await this.writeGroups(inGroups(changed));
    if (removed.length) {
      // Not before: a file that is renamed exists at any time, even if the page is closed now.
      await store.putFiles({ ...this.about }, [], removed);
      for (const path of removed) if (this.dirtyFiles.get(path) === null) this.dirtyFiles.delete(path);
      refused = await this.writeGroups(inGroups(refused)); // there is more room now
    }
    if (!refused.length) return;
    const now = performance.now();
    this.retryAt = now + SHARE * (now - began);
    for (const { bytes } of refused) this.refused.add(bytes);
    const current = refused.filter(({ path, bytes }) => this.dirtyFiles.get(path) === bytes);
    await this.refuse(current.map(({ path, bytes, error }) => ({ path, size: bytes.byteLength, error })));
  }

  /**
   * @param {store.File[][]} groups the smallest files first
   * @returns {Promise<NotWritten[]>}
   */
  async writeGroups(groups) {
    /** @type {NotWritten[]} */
    const refused = [];
    for (let group = groups.shift(); group; group = groups.shift()) {
      try {
        await store.putFiles({ ...this.about }, group, []);
      } catch (error) {
        if (error instanceof StorageError || refused.length === MAX_FAILURES) throw error;
        const half = Math.ceil(group.length / 2);
        if (half < group.length) groups.unshift(group.slice(0, half), group.slice(half));
        else if (store.nameOf(error) === "QuotaExceededError") return [...refused, ...group, ...groups.flat()];
        else refused.push({ ...group[0], error: reasonOf(error) });
        continue;
      }
      let wasUnsaved = false;
      for (const { path, bytes } of group) {
        if (this.dirtyFiles.get(path) !== bytes) continue;
        this.dirtyFiles.delete(path);
        wasUnsaved = this.unsaved.delete(path) || wasUnsaved;
      }
      if (wasUnsaved) this.onUnsaved([], { used: 0, room: 0 });
    }
    return refused;
  }

  /** @param {Input} input */
  async writeOne(input) {
    if (!input.isTrimmed) {
      await this.displays.updated;
      const parts = await partsOf(input.entry, this.displays);
      const { source, state, hasRun, at, outcome, isCleared, cell } = input;
      /** @type {Record} */
      const record = { source, state, hasRun, at, parts, outcome, isCleared, isTrimmed: false, cell };
      input.bytes = sizeOf(record);
      if (input.bytes <= MAX_BYTES_OF_ONE) {
        this.about.changed = Date.now();
        const surplus = this.count();
        await store.putInput({ ...this.about }, input.n, record);
        const mayChange = input.entry.element.querySelector(".controls-panel, .display") !== null;
        if (input.outcome === outcome && !mayChange && !cell) input.outcome = null;
        for (const oldest of surplus) await this.trim(oldest);
        return;
      }
    }
    await this.trim(input);
  }

  /** @param {Input} input whose outputs are dropped */
  async trim(input) {
    const { source, state, hasRun, at, isCleared, cell } = input;
    /** @type {Record} */
    const record = { source, state, hasRun, at, parts: [], outcome: null, isCleared, isTrimmed: true, cell };
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

/**
 * @param {store.File[]} files
 * @returns {store.File[][]}
 */
function inGroups(files) {
  /** @type {store.File[][]} */
  const groups = [];
  let bytes = 0;
  for (const file of files) {
    bytes += file.bytes.byteLength;
    const group = groups.at(-1);
    if (group && group.length < MAX_GROUP && bytes <= MAX_GROUP_BYTES) {
      group.push(file);
    } else {
      groups.push([file]);
      bytes = file.bytes.byteLength;
    }
  }
  return groups;
}
