/**
 * The sessions of this browser, and the one that this tab has open. The open one is stored as it grows, and restored
 * after a reload, a crash or a closed tab, except for its Python variables.
 *
 * A reloaded tab continues with its session. A new tab opens the session that was used last, or a new one if another
 * tab has that open. If storage is unavailable or full, the page says so once and continues to work.
 *
 * Events: "opened" (another session was opened), "files" Changes (by Python or by the page), "again" Again (an input ran
 * again), "ranAgain" (all of them have).
 */

import { MAX_BYTES as MAX_FILE_BYTES } from "../../worker/boot/home.js";
import { CHANGED } from "../display/controls.js";
import { button, h } from "../ui/dom.js";
import { claim } from "./claim.js";
import { KeptSession } from "./kept.js";
import { LEFT_OUT, SessionMenu } from "./menu.js";
import { asRecord, restoredEntry, sizeOf } from "./record.js";
import * as store from "./store.js";
import { forgetUnstored } from "./unstored.js";
import { count, moment } from "./words.js";

/** @typedef {import("../../worker/boot/home.js").Changes} Changes */
/** @typedef {import("../engine.js").Engine} Engine */
/** @typedef {import("../../worker/protocol.js").Outcome} Outcome */
/** @typedef {import("../repl/console.js").Console} Console */
/** @typedef {import("../repl/transcript.js").Entry} Entry */
/** @typedef {import("./kept.js").Input} Input */
/** @typedef {import("./record.js").Cell} Cell */
/** @typedef {import("./store.js").About} About */
/** @typedef {{ entry: Entry, source: string }} Again */

const MAX_SESSIONS = 50;
const NAME_LENGTH = 60;
/** An input is named by this many characters of its first line. */
const NAMED_CHARACTERS = 40;
/** How long a reloaded tab waits for its previous page to release the session. */
const OWN_PATIENCE_MS = 1000;
/** How long a new tab waits for a tab that was just closed. */
const PATIENCE_MS = 300;
/** Longest draft that is stored: drafts are written at every keystroke, which would be slow for longer ones. */
const LONGEST_DRAFT = 200_000;

const OWN = "py_tensor.session";
const DRAFT = "py_tensor.draft ";

const TRIMMED = "Output removed: a session stores 32 MiB of output, 8 MiB per input. The oldest is removed first.";
const FULL = "Browser storage is full: new inputs, outputs and files are not saved. Delete a session to free space.";
const REFUSED =
  "This browser stores no data for this page (private window or settings): the session is lost when the page closes.";
const SILENT = "Browser storage does not respond: the session is lost when the page closes.";
const DAMAGED = "The stored sessions were corrupt and have been removed. This session is saved again.";
const MANY = `${MAX_SESSIONS} sessions are stored, which is the limit: this one is not saved. Delete a session first.`;

export class Sessions extends EventTarget {
  /**
   * @param {Engine} engine
   * @param {Console} repl
   */
  constructor(engine, repl) {
    super();
    this.engine = engine;
    this.repl = repl;
    /** The problem with the storage, as a sentence. @type {string | null} */
    this.problem = null;
    /** Releases the session to other tabs. */
    this.release = () => {};
    /** The note that the session was restored. @type {HTMLElement | null} */
    this.note = null;
    /** Whether the session of this tab is known. */
    this.isOpen = false;
    this.isRunningAgain = false;
    /** The Python that has received the files. @type {unknown} */
    this.given = null;
    /** Changes made before Python received the files. @type {Changes[]} */
    this.late = [];
    /** Called before another session is opened, to save unsaved text. */
    this.beforeChange = async () => {};
    /** Called before the cells of these files run again. */
    this.beforeAgain = async (/** @type {string[]} */ _paths) => {};
    /** Shows the output of a cell in the editor; resolves to the cell's name. */
    this.showCell = async (/** @type {Cell} */ { path }, /** @type {Entry} */ _entry) => path;
    this.session = this.blank([]);
    this.menu = new SessionMenu(this);
    this.opened = this.openFirst();
    /** Resolved when the last change of session has finished; changes are sequential. */
    this.changes = this.opened;
    this.listen();
  }

  listen() {
    const { engine, repl } = this;
    repl.keeper = {
      entered: (entry, source, cell, replaced) => this.session.enter(entry, source, cell ?? null, replaced),
      dropped: (entry) => void this.session.drop(entry),
      changed: (entry) => this.session.change(entry),
      finished: (entry, outcome) => this.session.finish(entry, outcome),
      drafted: () => this.keepDraft(),
    };
    repl.transcript.onCleared = (elements, isCleared) => void this.session.clear(elements, isCleared);
    document.addEventListener(CHANGED, ({ target }) => {
      if (target instanceof Element) this.session.changeControls(target.closest(".entry"));
    });
    repl.transcript.onStray = (shown) => this.session.stray(shown);
    engine.prepare = () => this.giveFiles();
    engine.addEventListener("ready", () => repl.transcript.scrollToEnd(), { once: true }); // there may be a banner now
    engine.addEventListener("files", (event) => this.keepFiles(/** @type {CustomEvent<Changes>} */ (event).detail));
    document.addEventListener("visibilitychange", () => {
      if (document.hidden) void this.session.write();
    });
  }

  // Opening ----------------------------------------------------------------------------------------

  async openFirst() {
    try {
      const all = await store.listSessions();
      const id = read("sessionStorage", OWN);
      const own = all.find((about) => about.id === id);
      const last = id === null && navigator.locks ? all.at(0) : undefined; // an unstored session stays new
      const wanted = own ?? last;
      const release = wanted && (await claim(wanted.id, own ? OWN_PATIENCE_MS : PATIENCE_MS));
      if (wanted && release) {
        this.release = release;
        await this.resume(wanted);
        return;
      }
      await this.begin(all);
      if (wanted) this.sayElsewhere(wanted);
    } catch (error) {
      this.fail(error);
      await this.begin([]);
    }
  }

  /**
   * @param {About[]} all stored sessions
   * @returns {KeptSession} a new one, which is stored only once it has content
   */
  blank(all) {
    const names = new Set(all.map(({ name }) => name));
    let i = 1;
    while (names.has(`Session ${i}`)) i++;
    const now = Date.now();
    const id = `${now.toString(36)}-${Math.random().toString(36).slice(2)}`;
    /** @type {About} */
    const about = {
      format: 1,
      id,
      name: `Session ${i}`,
      created: now,
      changed: now,
      inputs: 0,
      bytes: 0,
      files: 0,
      fileBytes: 0,
    };
    return new KeptSession(about, this.repl.displays, (error) => (error === null ? this.recover() : this.fail(error)));
  }

  /** @param {About[]} all stored sessions */
  async begin(all) {
    const { session } = this;
    this.release(); // the lock of a session that could not be opened
    session.about.name = this.blank(all).about.name;
    this.release = (await claim(session.about.id, PATIENCE_MS)) ?? (() => {});
    write("sessionStorage", OWN, session.about.id);
    if (all.length >= MAX_SESSIONS) this.say(MANY);
    else if (this.problem !== REFUSED && this.problem !== SILENT) session.start();
    this.takeDraft();
    this.menu.name();
  }

  /**
   * Open a stored session.
   *
   * @param {About} listed whose lock this tab has; another tab may have changed it since it was listed
   */
  async resume(listed) {
    const all = await store.listSessions().catch(() => [listed]);
    const about = all.find(({ id }) => id === listed.id);
    if (!about) {
      await this.begin(all); // another tab has deleted it
      return;
    }
    const found = await store.readInputs(about.id);
    const restored = found.flatMap(({ n, record }) => this.restored(n, record) ?? []);
    const { session, repl } = this;
    session.adopt({ ...about }, restored, found.at(-1)?.n ?? 0);
    write("sessionStorage", OWN, about.id);
    const inTranscript = restored.filter(({ cell }) => !cell);
    const hidden = inTranscript.filter(({ isCleared }) => isCleared);
    const shown = inTranscript.filter(({ isCleared }) => !isCleared);
    if (found.length) {
      this.note = this.restoredNote(about, hidden.length, found.length - restored.length);
      repl.transcript.restore(shown.map(entryOf), this.note);
    }
    this.takeDraft();
    session.start();
    this.menu.name();
  }

  /** Text already in the prompt stays; the draft then goes to the history. */
  takeDraft() {
    const { editor } = this.repl;
    const draft = read("localStorage", DRAFT + this.session.about.id);
    if (draft && editor.text) editor.history.add(draft);
    else if (draft) editor.text = draft;
    this.isOpen = true;
    this.keepDraft();
    this.dispatchEvent(new Event("opened"));
  }

  /**
   * @param {number} n
   * @param {unknown} value of its record
   * @returns {Input | null} null if it is damaged
   */
  restored(n, value) {
    const record = asRecord(value);
    if (!record) return null;
    try {
      const entry = restoredEntry(record, this.repl.transcript, this.repl.displays, TRIMMED);
      const { source, state, at, isCleared, isTrimmed, cell = null } = record;
      const outcome = cell && record.outcome;
      return { n, source, state, at, entry, outcome, bytes: sizeOf(record), isCleared, isTrimmed, cell };
    } catch {
      return null;
    }
  }

  /**
   * @param {About} about
   * @param {number} hidden
   * @param {number} damaged
   */
  restoredNote(about, hidden, damaged) {
    const words = [`Restored your session of ${moment(about.changed)}. Variables were not saved.`];
    if (hidden) words.push(`${count(hidden, "cleared input")} ${hidden === 1 ? "is" : "are"} not shown.`);
    if (damaged) words.push(`${count(damaged, "input")} could not be read.`);
    const note = h("p", { className: "note kept-note" }, h("span", {}, words.join(" ")));
    if (this.session.runnable.length) {
      const again = button("Run all again", "button", () => void this.runAgain());
      again.title = LEFT_OUT;
      note.append(again);
    }
    return note;
  }

  /** @param {About} other which is open in another tab */
  sayElsewhere(other) {
    const words = `“${other.name}” is open in another tab. This tab starts a new session.`;
    let isAsked = false;
    const copy = button("Open a copy", "button", async () => {
      if (isAsked) return; // one copy, also for a double click
      isAsked = true;
      await this.openCopy(other);
      isAsked = false;
    });
    this.repl.transcript.append(h("p", { className: "note kept-note" }, h("span", {}, words), copy));
  }

  // Changing ---------------------------------------------------------------------------------------

  /**
   * Switch to another session, in a new Python.
   *
   * @param {() => Promise<void>} open
   */
  change(open) {
    this.changes = this.changes.then(() => this.changeNow(open));
    return this.changes;
  }

  /** @param {() => Promise<void>} open */
  async changeNow(open) {
    let problem = "";
    await this.beforeChange().catch((error) => {
      problem = `The editor did not save the files of the previous session. ${error}`;
    });
    const { engine, repl, session, release } = this;
    engine.restart("Another session was opened.");
    engine.restarted = null; // nothing of this session is lost
    this.isOpen = false;
    repl.editor.text = "";
    this.late = [];
    let opened = () => {};
    /** @type {Promise<void>} */
    this.opened = new Promise((resolve) => {
      opened = resolve;
    });
    await session.write();
    session.isOn = false;
    this.session = this.blank([]);
    this.note = null;
    repl.transcript.empty();
    release();
    try {
      await open();
    } catch (error) {
      this.fail(error);
      await this.begin([]);
    } finally {
      opened();
    }
    if (problem) repl.transcript.note(problem);
    repl.focus();
  }

  /** Start a new session. */
  async openNew() {
    const all = await this.list();
    await this.change(() => this.begin(all));
  }

  /**
   * @param {About} about
   * @returns {Promise<boolean>} false if another tab has it open
   */
  async open(about) {
    const release = await claim(about.id, PATIENCE_MS);
    if (!release) return false;
    await this.change(async () => {
      this.release = release;
      await this.resume(about);
    });
    return true;
  }

  /** @param {About} other that another tab has open */
  async openCopy(other) {
    const all = await this.list();
    if (all.length >= MAX_SESSIONS) {
      this.say(MANY);
      return;
    }
    const now = Date.now();
    const source = all.find(({ id }) => id === other.id) ?? other;
    const copy = {
      ...source,
      id: this.blank([]).about.id,
      name: `${source.name} (copy)`.slice(0, NAME_LENGTH),
      created: now,
    };
    try {
      await store.copySession(other.id, copy);
    } catch (error) {
      this.fail(error);
      return;
    }
    await this.open(copy);
  }

  /** @param {string} name the new name of this session */
  async rename(name) {
    const { session } = this;
    session.about.name = name.trim().slice(0, NAME_LENGTH) || session.about.name;
    this.menu.name();
    await session.keepAbout();
  }

  /** @param {import("./store.js").EditorState} editor its present state */
  async keepEditor(editor) {
    const { session } = this;
    session.about.editor = editor;
    await session.keepAbout();
  }

  /**
   * Delete a session permanently, with its files.
   *
   * @param {About} about this session, or one that no tab has open
   */
  async remove(about) {
    if (about.id === this.session.about.id) {
      await this.change(() => this.replace(about.id));
      return;
    }
    const release = await claim(about.id, PATIENCE_MS);
    if (!release) return;
    await this.erase(about.id);
    release();
    await this.session.write();
  }

  /** Remove all contents of this session; it keeps its name. */
  async clear() {
    const { id, name } = this.session.about;
    await this.change(async () => {
      await this.replace(id);
      await this.rename(name);
    });
  }

  /** @param {string} id of a session that a new one replaces */
  async replace(id) {
    await this.erase(id);
    await this.begin(await this.list());
  }

  /** @param {string} id of a session that no tab has open */
  async erase(id) {
    await store.removeSession(id).catch((error) => this.fail(error));
    forget(DRAFT + id);
    forgetUnstored(id);
    this.recover();
  }

  /** @returns {Promise<About[]>} */
  async list() {
    return store.listSessions().catch(() => []);
  }

  // Running again ----------------------------------------------------------------------------------

  /** Run every input again, in place, except those that failed or were interrupted. */
  async runAgain() {
    if (this.isRunningAgain) return;
    this.isRunningAgain = true;
    this.note?.querySelector("button")?.remove();
    this.repl.focus();
    try {
      await this.runAllAgain();
    } finally {
      this.isRunningAgain = false;
      this.dispatchEvent(new Event("ranAgain"));
    }
  }

  async runAllAgain() {
    const { session, repl } = this;
    await this.beforeAgain([...new Set(session.runnable.flatMap(({ cell }) => cell?.path ?? []))]);
    if (this.session !== session) return;
    const chain = {};
    const runs = session.runnable.map((input) => {
      const { entry: old } = input;
      const entry = repl.transcript.entryOf(input.source);
      if (old.element.isConnected) old.element.replaceWith(entry.element);
      if (!input.cell) repl.transcript.focus.add(entry.element);
      const takeBack = session.replace(input, entry);
      return { input, entry, old, takeBack, outcome: repl.run(codeOf(input), entry, chain) };
    });
    let left = 0;
    /** @type {{ input: Input, entry: Entry, outcome: Outcome } | null} */
    let failed = null;
    for (const { input, entry, old, takeBack, outcome: end } of runs) {
      const outcome = await end;
      if (!outcome.isDropped) {
        this.dispatchEvent(new CustomEvent("again", { detail: { entry, source: input.source } }));
        if (!outcome.ok) failed = { input, entry, outcome };
        continue;
      }
      entry.element.replaceWith(old.element);
      takeBack();
      left += 1;
    }
    if (this.session !== session) return;
    const skipped = left ? ` ${count(left, failed ? "later input" : "input")} did not run.` : "";
    if (failed) await this.sayStopped(failed.input, failed.entry, failed.outcome, skipped);
    else repl.transcript.note(`${count(runs.length - left, "input")} ran again.${skipped}`);
  }

  /**
   * Name the input that ended the run, and show it.
   *
   * @param {Input} input
   * @param {Entry} entry that shows it
   * @param {Outcome} outcome
   * @param {string} skipped the inputs that did not run, as a sentence
   */
  async sayStopped({ source, cell }, entry, { interrupted }, skipped) {
    const show = () => {
      if (cell) void this.showCell(cell, entry);
      else this.repl.transcript.reveal(entry.element.querySelector(".error") ?? entry.element);
    };
    const words = interrupted ? "Interrupted in " : "Stopped at an error in ";
    const [line] = source.split("\n");
    const cut = line.length > NAMED_CHARACTERS ? `${line.slice(0, NAMED_CHARACTERS)}…` : line;
    const { session } = this;
    const place = button(cell ? await this.showCell(cell, entry) : cut, "to-failure", show);
    if (this.session !== session) return;
    this.repl.transcript.append(h("p", { className: "note" }, words, place, `.${skipped}`));
    if (!cell) show(); // the note has scrolled the transcript
  }

  // Around the inputs ------------------------------------------------------------------------------

  keepDraft() {
    const { session, repl } = this;
    const { text } = repl.editor;
    if (!this.isOpen || text.length > LONGEST_DRAFT) return;
    if (text) write("localStorage", DRAFT + session.about.id, text);
    else forget(DRAFT + session.about.id);
    session.isWanted ||= text !== "";
    if (!session.isStored) void session.write();
  }

  /** Send the files of the session to a new Python before anything runs. */
  async giveFiles() {
    const { interpreter } = this.engine;
    await this.opened;
    const files = await this.session.readFiles();
    if (this.engine.interpreter !== interpreter) return;
    const transfer = files.map(({ bytes }) => bytes.buffer);
    if (files.length) this.engine.post({ kind: "restore", files }, transfer);
    this.given = interpreter;
    for (const changes of this.late.splice(0)) this.tell(changes);
  }

  /** @param {Changes} changes made by Python */
  async keepFiles(changes) {
    const { session } = this;
    const { refused } = changes;
    const names = refused.length > 3 ? `${refused.length} files` : refused.join(", ");
    if (refused.length) this.repl.transcript.note(`Not saved: ${names}. A session stores 32 MiB of files.`);
    await this.opened;
    if (session !== this.session) return;
    session.keepFiles(changes);
    this.dispatchEvent(new CustomEvent("files", { detail: changes }));
  }

  /**
   * Change files of the user from the page: they are stored at once, and Python receives them before its next input.
   *
   * @param {import("./store.js").File[]} changed
   * @param {string[]} removed
   * @param {KeptSession} session to which they belong
   * @returns {Promise<boolean>} false, without any change, if it is no longer open
   */
  async writeFiles(changed, removed, session) {
    if (!this.isOpen) await this.opened; // otherwise at once: Python gets them before what runs next
    if (session !== this.session) return false;
    /** @type {Changes} */
    const changes = { changed: [], removed: [...removed], refused: [] };
    let { fileBytes } = session.about;
    for (const file of changed) {
      const before = session.files.get(file.path) ?? 0;
      if (fileBytes - before + file.bytes.byteLength <= MAX_FILE_BYTES) {
        fileBytes += file.bytes.byteLength - before;
        changes.changed.push(file);
      } else {
        changes.refused.push(file.path); // the stored copy, if any, stays
      }
    }
    const copies = changed.map(({ path, bytes }) => ({ path, bytes: bytes.slice() }));
    this.tell({ ...changes, changed: copies, removed });
    await this.keepFiles(changes);
    return true;
  }

  /** @param {Changes} changes changes of files to send to Python */
  tell(changes) {
    const transfer = changes.changed.map(({ bytes }) => bytes.buffer);
    if (this.given === this.engine.interpreter) this.engine.post({ kind: "write", ...changes }, transfer);
    else this.late.push(changes);
  }

  // Problems ---------------------------------------------------------------------------------------

  /** @param {unknown} error of the storage */
  fail(error) {
    const name = store.nameOf(error);
    if (error instanceof store.Damaged) this.say(DAMAGED);
    else if (name === "QuotaExceededError") this.say(FULL);
    else {
      this.say(error instanceof store.Silent ? SILENT : REFUSED);
      this.session.isOn = false;
    }
  }

  /** The storage works again. */
  recover() {
    if (this.problem === FULL || this.problem === DAMAGED) this.problem = null;
  }

  /** @param {string} words the message, shown once */
  say(words) {
    if (words === this.problem) return;
    this.problem = words;
    this.repl.transcript.note(words);
  }
}

/**
 * @param {Input} input
 * @returns {string} its lines, with the numbers that they have in its file
 */
function codeOf({ source, cell }) {
  return "\n".repeat((cell?.line ?? 1) - 1) + source;
}

/** @param {Input} input */
function entryOf({ entry }) {
  return entry;
}

/** @typedef {"localStorage" | "sessionStorage"} StorageName even to ask for one may fail */

/**
 * @param {StorageName} storage
 * @param {string} key
 */
function read(storage, key) {
  try {
    return window[storage].getItem(key);
  } catch {
    return null; // unavailable or refused
  }
}

/**
 * @param {StorageName} storage
 * @param {string} key
 * @param {string} value
 */
function write(storage, key, value) {
  try {
    window[storage].setItem(key, value);
  } catch {
    // Storage is unavailable or full: the next visit starts without the draft.
  }
}

/** @param {string} key of a draft */
function forget(key) {
  try {
    localStorage.removeItem(key);
  } catch {
    // Storage is unavailable.
  }
}
