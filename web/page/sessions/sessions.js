/**
 * The sessions of this browser, and the one that this tab has open. It is kept as it grows, and is there again after a
 * reload, a crash or a closed tab; its variables, which are Python's, are not.
 *
 * A tab that is reloaded goes on with its session. A new tab gets the session that was used last; where another tab has
 * it open, a new one. Where the browser stores nothing, or no more, the page says so once, and works on.
 *
 * Events: "opened" (another session is here), "files" Changes (by Python, or by the page).
 */

import { MOST_BYTES as MOST_FILE_BYTES } from "../../worker/boot/home.js";
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
/** @typedef {import("./store.js").About} About */

const MOST_SESSIONS = 50;
const NAME_LENGTH = 60;
/** So long a tab that was reloaded waits for itself to be gone. */
const OWN_PATIENCE_MS = 1000;
/** So long a new tab waits for one that was just closed. */
const PATIENCE_MS = 300;
/** Drafts are written at each stroke of a key, and a longer one would take its time. */
const LONGEST_DRAFT = 200_000;

const OWN = "py_tensor.session";
const DRAFT = "py_tensor.draft ";

const TRIMMED = "Output removed: a session stores 32 MiB of output, 8 MiB per input. The oldest is removed first.";
const FULL = "Browser storage is full: new inputs, outputs and files are not saved. Delete a session to free space.";
const REFUSED =
  "This browser stores no data for this page (private window or settings): the session is lost when the page closes.";
const SILENT = "Browser storage does not respond: the session is lost when the page closes.";
const DAMAGED = "The stored sessions were corrupt and have been removed. This session is saved again.";
const MANY = `${MOST_SESSIONS} sessions are stored, which is the limit: this one is not saved. Delete a session first.`;

export class Sessions extends EventTarget {
  /**
   * @param {Engine} engine
   * @param {Console} repl
   */
  constructor(engine, repl) {
    super();
    this.engine = engine;
    this.repl = repl;
    /** What is wrong with the storage, in a sentence. @type {string | null} */
    this.problem = null;
    /** Lets another tab have the session. */
    this.release = () => {};
    /** Says that the session was restored. @type {HTMLElement | null} */
    this.note = null;
    /** Whether it is known which session this is. */
    this.isOpen = false;
    this.isRunningAgain = false;
    /** The Python that has the files. @type {unknown} */
    this.given = null;
    /** What was written before Python had them. @type {Changes[]} */
    this.late = [];
    /** Saves what is not saved yet, before another session is opened. */
    this.beforeChange = async () => {};
    this.session = this.blank([]);
    this.menu = new SessionMenu(this);
    this.opened = this.openFirst();
    /** Ends when the session was changed: one change follows another. */
    this.changes = this.opened;
    this.listen();
  }

  listen() {
    const { engine, repl } = this;
    repl.keeper = {
      entered: (entry, source, cell) => this.session.enter(entry, source, cell ?? null),
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
      const last = id === null && navigator.locks ? all.at(0) : undefined; // one of which nothing is stored stays new
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
   * @param {About[]} all there are
   * @returns {KeptSession} a new one, of which nothing is stored before there is something in it
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

  /** @param {About[]} all there are */
  async begin(all) {
    const { session } = this;
    this.release(); // that of a session that could not be opened
    session.about.name = this.blank(all).about.name;
    this.release = (await claim(session.about.id, PATIENCE_MS)) ?? (() => {});
    write("sessionStorage", OWN, session.about.id);
    if (all.length >= MOST_SESSIONS) this.say(MANY);
    else if (this.problem !== REFUSED && this.problem !== SILENT) session.start();
    this.takeDraft();
    this.menu.name();
  }

  /**
   * Go on with a session that is stored.
   *
   * @param {About} about whose lock this tab has
   */
  async resume(about) {
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
      repl.transcript.restore(hidden.map(entryOf), shown.map(entryOf), this.note);
    }
    this.takeDraft();
    session.start();
    this.menu.name();
  }

  /** What is in the prompt already stays, and the draft is in the history then. */
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
   * @returns {Input | null} null where it is damaged
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
    const words = [`Restored from ${moment(about.changed)}. Variables are not kept.`];
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

  /** @param {About} other is open in another tab */
  sayElsewhere(other) {
    const words = `“${other.name}” is open in another tab. This tab starts a new session.`;
    const copy = button("Open a copy", "button", () => void this.openCopy(other));
    this.repl.transcript.append(h("p", { className: "note kept-note" }, h("span", {}, words), copy));
  }

  // Changing ---------------------------------------------------------------------------------------

  /**
   * Have another session here, in a new Python.
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
    engine.restarted = null; // nothing of this session is gone
    this.late = [];
    let opened = () => {};
    /** @type {Promise<void>} */
    this.opened = new Promise((resolve) => {
      opened = resolve;
    });
    await session.write();
    session.isOn = false;
    this.isOpen = false;
    this.session = this.blank([]);
    this.note = null;
    repl.transcript.empty();
    repl.editor.text = "";
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

  /** Begin another one. */
  async openNew() {
    const all = await this.list();
    await this.change(() => this.begin(all));
  }

  /**
   * @param {About} about
   * @returns {Promise<boolean>} false where another tab has it open
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
    if (all.length >= MOST_SESSIONS) {
      this.say(MANY);
      return;
    }
    const now = Date.now();
    const copy = {
      ...other,
      id: this.blank([]).about.id,
      name: `${other.name} (copy)`.slice(0, NAME_LENGTH),
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

  /** @param {string} name of this session from now on */
  async rename(name) {
    const { session } = this;
    session.about.name = name.trim().slice(0, NAME_LENGTH) || session.about.name;
    session.isWanted = true;
    this.menu.name();
    if (session.isOn) await session.attempt(store.putAbout({ ...session.about }));
  }

  /** @param {import("./store.js").EditorState} editor as it is now */
  async keepEditor(editor) {
    const { session } = this;
    session.about.editor = editor;
    session.isWanted = true;
    if (session.isOn) await session.attempt(store.putAbout({ ...session.about }));
  }

  /**
   * For good, with its files.
   *
   * @param {About} about this session, or one that no tab has open
   */
  async remove(about) {
    const isThis = about.id === this.session.about.id;
    const remove = async () => {
      await store.removeSession(about.id).catch((error) => this.fail(error));
      forget(DRAFT + about.id);
      forgetUnstored(about.id);
      this.recover();
    };
    if (!isThis) {
      const release = await claim(about.id, PATIENCE_MS);
      if (!release) return;
      await remove();
      release();
      await this.session.write();
      return;
    }
    await this.change(async () => {
      await remove();
      await this.begin(await this.list());
    });
  }

  /** Remove all that is in this session; it keeps its name. */
  async clear() {
    const { name } = this.session.about;
    await this.remove(this.session.about);
    await this.rename(name);
  }

  /** @returns {Promise<About[]>} */
  async list() {
    return store.listSessions().catch(() => []);
  }

  // Running again ----------------------------------------------------------------------------------

  /** Run every input once more, in its place; those that failed or were interrupted stay as they are. */
  async runAgain() {
    const { session, repl } = this;
    if (this.isRunningAgain) return;
    this.isRunningAgain = true;
    this.note?.querySelector("button")?.remove();
    repl.focus();
    const chain = {};
    const runs = session.runnable.map((input) => {
      const { entry: old } = input;
      const entry = repl.transcript.entryOf(input.source);
      if (old.element.isConnected) old.element.replaceWith(entry.element);
      if (!input.cell) repl.transcript.focus.add(entry.element);
      const takeBack = session.replace(input, entry);
      return { entry, old, takeBack, outcome: repl.run(codeOf(input), entry, chain) };
    });
    let left = 0;
    for (const { entry, old, takeBack, outcome } of runs) {
      if (!(await outcome).isDropped) continue;
      entry.element.replaceWith(old.element);
      takeBack();
      left += 1;
    }
    this.isRunningAgain = false;
    if (this.session !== session) return;
    const skipped = left ? ` ${count(left, "input")} after the failure did not run.` : "";
    repl.transcript.note(`${count(runs.length - left, "input")} ran again.${skipped}`);
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

  /** A new Python gets the files of the session before anything runs. */
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
   * Change files of the user from the page: they are kept at once, and Python has them before its next input.
   *
   * @param {import("./store.js").File[]} changed
   * @param {string[]} removed
   * @param {KeptSession} session of which they are
   * @returns {Promise<boolean>} false, and nothing is changed, where it is not open any more
   */
  async writeFiles(changed, removed, session) {
    await this.opened;
    if (session !== this.session) return false;
    /** @type {Changes} */
    const changes = { changed: [], removed: [...removed], refused: [] };
    let { fileBytes } = session.about;
    for (const file of changed) {
      const before = session.files.get(file.path) ?? 0;
      if (fileBytes - before + file.bytes.byteLength <= MOST_FILE_BYTES) {
        fileBytes += file.bytes.byteLength - before;
        changes.changed.push(file);
      } else {
        changes.refused.push(file.path); // the copy that is stored, if there is one, stays
      }
    }
    const copies = changed.map(({ path, bytes }) => ({ path, bytes: bytes.slice() }));
    this.tell({ ...changes, changed: copies, removed });
    await this.keepFiles(changes);
    return true;
  }

  /** @param {Changes} changes of files, which Python is to have */
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

  /** It works again. */
  recover() {
    if (this.problem === FULL || this.problem === DAMAGED) this.problem = null;
  }

  /** @param {string} words of which the user hears once */
  say(words) {
    if (words === this.problem) return;
    this.problem = words;
    this.repl.transcript.note(words);
  }
}

/**
 * @param {Input} input
 * @returns {string} its lines with the numbers that they have in its file
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
    return null; // none, or it is refused
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
    // None, or it is full: the next visit begins without it.
  }
}

/** @param {string} key of a draft */
function forget(key) {
  try {
    localStorage.removeItem(key);
  } catch {
    // There is no storage.
  }
}
