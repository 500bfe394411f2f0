/**
 * The sessions of this browser, and the one that this tab has open. The open one is stored as it grows, and restored
 * after a reload, a crash or a closed tab, except for its Python variables.
 *
 * A reloaded tab continues with its session. A new tab opens the session that was used last, or a new one if another
 * tab has that open. If storage is unavailable or full, the page says so once and continues to work.
 *
 * Events: "opened" (another session was opened), "files" Changes (by Python or by the page), "unsaved" (other files than
 * before do not fit into the storage), "again" Again (an input ran again), "ranAgain" (all of them have), "cleared"
 * (inputs were cleared from view).
 */

import { Foreign, Newer, Refused, reasonOf, Silent } from "../../worker/boot/database.js";
import { CHANGED } from "../display/controls.js";
import { firstLine } from "../ui/bounds.js";
import { inBytes } from "../ui/bytes.js";
import { button, h } from "../ui/dom.js";
import { readLocal, writeLocal } from "../ui/local.js";
import { claim } from "./claim.js";
import { KeptSession } from "./kept.js";
import { LEFT_OUT, SessionMenu } from "./menu.js";
import { asRecord, restoredEntry, sizeOf } from "./record.js";
import * as store from "./store.js";
import { forgetUnstored } from "./unstored.js";
import { alsoRun, count, moment, named, runAgainWith } from "./words.js";

/** @typedef {import("../../worker/boot/home.js").Changes} Changes */
/** @typedef {import("../../worker/boot/home.js").Unsaved} Unsaved */
/** @typedef {import("../engine.js").Engine} Engine */
/** @typedef {import("../../worker/protocol.js").Outcome} Outcome */
/** @typedef {import("../repl/console.js").Console} Console */
/** @typedef {import("../repl/transcript.js").Entry} Entry */
/** @typedef {import("./kept.js").Input} Input */
/** @typedef {import("./record.js").Cell} Cell */
/** @typedef {import("./store.js").About} About */
/** @typedef {{ entry: Entry, source: string }} Again */
/** @typedef {Omit<Changes, "refused">} Told changes that Python is told of */

const MAX_SESSIONS = 50;
const NAME_LENGTH = 60;
/** How long a reloaded tab waits for its previous page to release the session. */
const OWN_PATIENCE_MS = 1000;
/** How long a new tab waits for a tab that was just closed. */
const PATIENCE_MS = 300;
/** Longest draft that is stored: drafts are written at every keystroke, which would be slow for longer ones. */
const LONGEST_DRAFT = 200_000;
const TOO_LONG = `it is longer than ${LONGEST_DRAFT.toLocaleString("en")} characters`;

const OWN = "py_tensor.tools.control";
const DRAFT = "py_tensor.draft ";

const TRIMMED = "Output removed: a session stores 32 MiB of output, 8 MiB per input. The oldest is removed first.";
const FULL = "Browser storage is full: new inputs, outputs and files are not saved. Delete a session to free space.";
const SILENT =
  "Browser storage does not respond: the session is not saved. Close other tabs of this page; saving is tried again " +
  "with the next input.";
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
    /** Whether the storage cannot be used as long as this page is open. */
    this.isShut = false;
    this.isDraftProblemSaid = false;
    /** Releases the session to other tabs. */
    this.release = () => {};
    /** The note that the session was restored. @type {HTMLElement | null} */
    this.note = null;
    /** Whether the session of this tab is known. */
    this.isOpen = false;
    this.isRunningAgain = false;
    /** The Python that has received the files. @type {unknown} */
    this.supplied = null;
    /** Changes made before Python received the files. @type {Told[]} */
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
    repl.transcript.onCleared = (elements, isCleared) => {
      void this.session.clear(elements, isCleared);
      if (isCleared) this.dispatchEvent(new Event("cleared"));
    };
    document.addEventListener(CHANGED, ({ target }) => {
      if (target instanceof Element) this.session.changeOutput(target.closest(".entry"));
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
      const id = recallOwn();
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
    const session = new KeptSession(about, this.repl.displays, (error) => {
      if (error === null) this.recover();
      else this.fail(error);
    });
    session.onUnsaved = (files, space) => {
      if (session !== this.session) return;
      if (files.length) this.repl.transcript.note(notSaved(files, space));
      this.dispatchEvent(new Event("unsaved"));
    };
    return session;
  }

  /** @param {About[]} all stored sessions */
  async begin(all) {
    const { session } = this;
    this.release(); // the lock of a session that could not be opened
    session.about.name = this.blank(all).about.name;
    this.release = (await claim(session.about.id, PATIENCE_MS)) ?? (() => {});
    rememberOwn(session.about.id);
    if (all.length >= MAX_SESSIONS) this.say(MANY);
    else if (!this.isShut) session.start();
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
    rememberOwn(about.id);
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
    const draft = readLocal(DRAFT + this.session.about.id);
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
      const { source, state, hasRun = state === "done", at, isCleared, isTrimmed, cell = null } = record;
      const outcome = cell && record.outcome;
      return { n, source, state, hasRun, at, entry, outcome, bytes: sizeOf(record), isCleared, isTrimmed, cell };
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
    if (this.session.runnable(true).length) note.append(...this.againControls());
    return note;
  }

  /** @returns {HTMLElement[]} a button that runs all again, and whether that includes cleared inputs */
  againControls() {
    const { session } = this;
    const { clearedCount } = session;
    const again = button("Run all again", "button again", () => void this.runAgain(withCleared.checked));
    again.title = LEFT_OUT;
    const withCleared = h("input", { type: "checkbox" });
    const update = () => {
      again.disabled = session.runnable(withCleared.checked).length === 0;
    };
    withCleared.addEventListener("change", update);
    update();
    return clearedCount ? [again, h("label", {}, withCleared, alsoRun(clearedCount))] : [again];
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
    const reason = "Another session was opened.";
    await this.engine.stop(reason);
    await this.beforeChange().catch((error) => {
      problem = `The editor did not save the files of the previous session. ${error}`;
    });
    const { engine, repl, session, release } = this;
    engine.restart(reason);
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
    await store.removeSession(id).then(
      () => {
        this.session.retryAt = 0; // there is room again
        this.recover();
      },
      (error) => this.fail(error),
    );
    writeLocal(DRAFT + id, null);
    forgetUnstored(id);
  }

  /** @returns {Promise<About[]>} */
  async list() {
    return store.listSessions().catch(() => []);
  }

  // Running again ----------------------------------------------------------------------------------

  /**
   * Run every input again, in place, except those that failed or were stopped.
   *
   * @param {boolean} withCleared
   */
  async runAgain(withCleared) {
    if (this.isRunningAgain) return;
    this.isRunningAgain = true;
    const { note } = this;
    for (const control of note?.querySelectorAll(".again, label") ?? []) control.remove();
    this.repl.focus();
    try {
      const isDone = await this.runAllAgain(withCleared);
      if (!isDone) note?.append(...this.againControls()); // the user may go on
    } finally {
      this.isRunningAgain = false;
      this.dispatchEvent(new Event("ranAgain"));
    }
  }

  /**
   * @param {boolean} withCleared
   * @returns {Promise<boolean>} whether all of them ran without failing
   */
  async runAllAgain(withCleared) {
    const { session, repl } = this;
    const endedCount = session.countEnded(withCleared);
    const ended = endedCount ? ` ${count(endedCount, "input")} that failed or stopped before did not.` : "";
    const paths = session.runnable(withCleared).flatMap(({ cell }) => cell?.path ?? []);
    await this.beforeAgain([...new Set(paths)]);
    if (this.session !== session) return true;
    const chain = {};
    const runs = session.runnable(withCleared).map((input) => {
      const { entry: old } = input;
      const entry = repl.transcript.entryOf(input.source);
      old.element.replaceWith(entry.element); // no effect if it was cleared in an earlier visit
      if (!input.cell) repl.transcript.focus.add(entry.element);
      const takeBack = session.replace(input, entry);
      return { input, entry, old, takeBack, outcome: repl.run(codeOf(input), entry, { chain }) };
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
    if (this.session !== session) return true;
    if (!withCleared) this.sayCleared();
    const skipped = left ? ` ${count(left, failed ? "later input" : "input")} did not run.` : "";
    if (failed) await this.sayStopped(failed.input, failed.entry, failed.outcome, skipped);
    else repl.transcript.note(`${count(runs.length - left, "input")} ran again.${skipped}${ended}`);
    return !failed && left === 0;
  }

  /** Say how many cleared inputs did not run again, and offer to run them. */
  sayCleared() {
    const { clearedCount } = this.session;
    if (!clearedCount) return;
    const words = `${count(clearedCount, "cleared input")} did not run.`;
    const note = h("p", { className: "note kept-note" }, h("span", {}, words));
    const again = button(runAgainWith(clearedCount), "button", () => {
      if (this.isRunningAgain) return;
      again.remove();
      void this.runAgain(true);
    });
    note.append(again);
    this.repl.transcript.append(note);
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
    const words = interrupted ? "Stopped in " : "Stopped at an error in ";
    const { session } = this;
    if (!cell && !entry.element.isConnected) this.repl.transcript.append(entry.element); // it was cleared
    const place = button(cell ? await this.showCell(cell, entry) : firstLine(source), "to-failure", show);
    if (this.session !== session) return;
    this.repl.transcript.append(h("p", { className: "note" }, words, place, `.${skipped}`));
    if (!cell) show(); // the note has scrolled the transcript
  }

  // Around the inputs ------------------------------------------------------------------------------

  keepDraft() {
    const { session, repl } = this;
    const { text } = repl.editor;
    if (!this.isOpen) return;
    const isTooLong = text.length > LONGEST_DRAFT;
    const problem = isTooLong ? TOO_LONG : writeLocal(DRAFT + session.about.id, text || null);
    if (problem && text && !this.isShut && !this.isDraftProblemSaid) {
      this.isDraftProblemSaid = true;
      repl.transcript.note(`The text at the prompt is not saved until you enter it: ${problem}.`);
    }
    if (isTooLong) return;
    session.isWanted ||= text !== "";
    if (!session.isStored) void session.write();
  }

  /** Send the files of the session to a new Python before anything runs. */
  async giveFiles() {
    const { interpreter } = this.engine;
    await this.opened;
    const { session } = this;
    try {
      for await (const changed of session.readFiles()) {
        if (this.engine.interpreter !== interpreter) return;
        this.engine.post({ kind: "write", changed, removed: [] }, buffersOf(changed));
      }
    } catch (error) {
      this.repl.transcript.note(`The files of this session stay stored, but could not be read: ${reasonOf(error)}.`);
    }
    if (this.engine.interpreter !== interpreter) return;
    if (session.unreadable.size) {
      const names = named([...session.unreadable]);
      this.repl.transcript.note(`Could not be read from the browser’s storage, where they stay: ${names}.`);
    }
    session.forgetLost();
    this.supplied = interpreter;
    for (const changes of this.late.splice(0)) this.tell(changes);
  }

  /** @param {Changes} changes made by Python */
  async keepFiles(changes) {
    const { session } = this;
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
    const copies = changed.map(({ path, bytes }) => ({ path, bytes: bytes.slice() }));
    this.tell({ changed: copies, removed });
    await this.keepFiles({ changed, removed, refused: [] });
    return true;
  }

  /** @param {Told} changes changes of files to send to Python */
  tell(changes) {
    if (this.supplied === this.engine.interpreter) {
      this.engine.post({ kind: "write", ...changes }, buffersOf(changes.changed));
    } else {
      this.late.push(changes);
    }
  }

  // Problems ---------------------------------------------------------------------------------------

  /** @param {unknown} error of the storage */
  fail(error) {
    this.isShut ||= error instanceof Foreign || error instanceof Refused;
    if (this.isShut) this.session.isOn = false;
    this.say(problemOf(error));
  }

  /** The storage works again. */
  recover() {
    if (!this.isShut && this.problem !== MANY) this.problem = null;
  }

  /** @param {string} words the message, shown once */
  say(words) {
    if (words === this.problem) return;
    this.problem = words;
    this.repl.transcript.note(words);
  }
}

/**
 * @param {unknown} error of the storage
 * @returns {string} a sentence
 */
function problemOf(error) {
  if (error instanceof store.Damaged) return DAMAGED;
  if (error instanceof Refused) return `The session is lost when the page closes: ${reasonOf(error)}.`;
  if (error instanceof Silent) return SILENT;
  if (store.nameOf(error) === "QuotaExceededError") return FULL;
  const what = `The session is not saved: ${reasonOf(error)}.`;
  if (error instanceof Newer) return `${what} Save it with “Share”, then reload the page to get the newer version.`;
  if (error instanceof Foreign) return `${what} It is lost when the page closes, unless you save it with “Share”.`;
  return `${what} Saving is tried again with the next input.`;
}

/**
 * @param {Unsaved[]} files
 * @param {import("../../worker/boot/database.js").Space} space
 * @returns {string} a note
 */
function notSaved(files, { used, room }) {
  const names = named(files.map(({ path, size }) => `${path} (${inBytes(size)})`));
  const reason = files.find(({ error }) => error)?.error;
  if (reason) return `Not saved: ${names}: ${reason}.`;
  const isRoomKnown = files.every(({ size }) => size > room);
  const left = isRoomKnown ? `has room for ${inBytes(room)} more` : "has no room for more";
  return `Not saved: ${names}. The browser ${left}; this page uses ${inBytes(used)}. Delete files or sessions.`;
}

/** @param {import("./store.js").File[]} files */
function buffersOf(files) {
  return files.map(({ bytes }) => bytes.buffer);
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

/** @returns {string | null} the session that this tab had open before it was reloaded */
function recallOwn() {
  try {
    return sessionStorage.getItem(OWN);
  } catch {
    return null; // unavailable or refused
  }
}

/** @param {string} id */
function rememberOwn(id) {
  try {
    sessionStorage.setItem(OWN, id);
  } catch {
    // Storage is unavailable or full: after a reload, this tab opens the last session.
  }
}
