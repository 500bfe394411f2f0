/**
 * The editor: the files of the session, tabs with the open ones, and the outputs of their cells.
 *
 * The files are those of Python's home folder. Typed text is saved after KEEP_AFTER_MS, and before anything runs. What
 * Python writes to an open file appears in its tab.
 */

import { measureSpace } from "../../worker/boot/database.js";
import { typeText } from "../repl/writing.js";
import { forgetUnstored, keepUnstored, readUnstored } from "../sessions/unstored.js";
import { named } from "../sessions/words.js";
import { inBytes } from "../ui/bytes.js";
import { button, h, watchFocus } from "../ui/dom.js";
import { Menu } from "../ui/menu.js";
import { saveFile } from "../ui/saving.js";
import { stopButton } from "../ui/stop_button.js";
import { runKey, touchKeys } from "../ui/touch_keys.js";
import { isNotebook } from "./cells.js";
import { Code } from "./code.js";
import { codeToRead, converted, decoded, encoded, isProgram, notebookBytes, textOf } from "./contents.js";
import { Divider } from "./divider.js";
import { disown, drop, hold, isAfter, nameOf, outputOf, run, showAgain, showStored } from "./running.js";
import { Tree } from "./tree.js";

/** @typedef {import("../../worker/boot/home.js").Changes} Changes */
/** @typedef {import("../repl/transcript.js").Entry} Entry */
/** @typedef {import("../sessions/sessions.js").Again} Again */
/** @typedef {import("../sessions/kept.js").KeptSession} KeptSession */
/** @typedef {import("../sessions/store.js").File} KeptFile */
/** @typedef {import("./notebook.js").Notebook} Notebook */

/**
 * @typedef {object} Workplace the parts of the page that the editor uses
 * @property {import("../engine.js").Engine} engine
 * @property {import("../repl/console.js").Console} repl
 * @property {import("../sessions/sessions.js").Sessions} sessions
 *
 * @typedef {object} Doc a file in a tab, or one whose cells run
 * @property {string} path
 * @property {Code} code
 * @property {boolean} hasTab
 * @property {string} kept its text in the session
 * @property {Notebook | null} notebook of this program
 * @property {string} json of the notebook, as last written; else ""
 * @property {boolean} isChanged outputs of the notebook have changed since then
 * @property {number} held outputs that are being written to the notebook
 * @property {{ words: string, entry: import("../repl/transcript.js").Shown } | null} failure of the last run
 * @property {ReturnType<typeof setTimeout>} [timer]
 */

const KEEP_AFTER_MS = 300;
const SAID_FOR_MS = 6000;
/** An offer to undo. */
const OFFERED_FOR_MS = 20_000;
const NOTHING_OPEN =
  "No program is open. “New” creates a program or a notebook. A click on a data file writes code that reads it at the prompt.";
const START = `# %% A cell starts with "# %%". Shift+Enter runs it and goes to the next one.
import py_tensor as pt

x = pt.linspace(0, 2 * pt.pi, 200)
x.sin().sum()

# %% The output of a cell is below it.
pt.plot(x.sin())
`;
const NEW_NOTEBOOK = `# %% [markdown]
# A text cell contains Markdown as comments, which is not rendered here.

# %%
`;

export class Pane {
  /**
   * @param {Workplace} workplace
   * @param {HTMLElement} root
   * @param {() => void} onClose
   */
  constructor({ engine, repl, sessions }, root, onClose) {
    this.engine = engine;
    this.repl = repl;
    this.sessions = sessions;
    this.root = root;
    /** Those with tabs are in the order of these. @type {Doc[]} */
    this.docs = [];
    /** @type {Doc | null} */
    this.shown = null;
    this.tree = new Tree({
      onOpen: (path) => void this.open(path),
      onDownload: (path) => void this.download(path),
      onRemove: (path) => void this.remove(path),
      onRename: (path, to) => void this.rename(path, to),
    });
    this.runAllButton = button("Run all", "button primary", () => this.run("all"));
    this.runButton = button("", "button run", () => this.run("here"));
    this.runButton.append(h("span", {}, "Run cell"), h("span", {}, "Run selection"));
    this.stopButton = stopButton(engine, () => this.focus());
    this.createMenu = new Menu("New", [
      button("Program (.py)", "", () => void this.create("program.py", "")),
      button("Notebook (.ipynb)", "", () => void this.create("notebook.ipynb", NEW_NOTEBOOK)),
    ]);
    this.tabs = h("ul", { className: "editor-tabs" });
    this.nothing = h("p", { className: "editor-nothing", hidden: true }, NOTHING_OPEN);
    this.place = h("div", { className: "editor-text" }, this.nothing);
    this.said = h("span");
    /** The file that `said` is about, if it is about one. @type {Doc | null} */
    this.saidOf = null;
    /** The failure of the last run of the file in view, and of `missed`. */
    this.failed = h("span");
    /** A file that was not in view when it failed, and has not been since. @type {Doc | null} */
    this.missed = null;
    /** Offers to undo, the newest last. */
    this.offers = h("span", { className: "editor-offers" });
    /** Resolved once all sessions opened so far have been shown; they are shown one after another. */
    this.restored = Promise.resolve();
    /** Files without a tab stay open for the cells that run again. */
    this.isRunningAgain = false;
    /** Resolved when notebooks contain the outputs of all finished cells. @type {Promise<unknown>} */
    this.held = Promise.resolve();
    this.draw(onClose);
    this.divider = new Divider(root);
    sessions.addEventListener("again", (event) => this.holdAgain(/** @type {CustomEvent<Again>} */ (event).detail));
    sessions.addEventListener("ranAgain", () => {
      this.isRunningAgain = false;
      void this.flush();
    });
    sessions.addEventListener("files", (event) => this.follow(/** @type {CustomEvent<Changes>} */ (event).detail));
    sessions.addEventListener("unsaved", () => this.drawFiles());
    document.addEventListener("visibilitychange", () => {
      if (document.hidden) void this.flush();
    });
    window.addEventListener("pagehide", () => this.leave());
    window.addEventListener("pageshow", ({ persisted }) => {
      if (persisted) forgetUnstored(sessions.session.about.id); // the text is still here
    });
    sessions.beforeChange = () => this.leaveSession();
  }

  /** @param {() => void} onClose */
  draw(onClose) {
    const picker = h("input", { type: "file", multiple: true, hidden: true });
    picker.addEventListener("change", () => {
      void this.addFiles([...(picker.files ?? [])].map((file) => ({ path: file.name, file })));
      picker.value = "";
    });
    this.runAllButton.title = "Run every cell (Ctrl+Shift+Enter)";
    this.runButton.title = "Run the selection, or the cell with the cursor (Ctrl+Enter)";
    const openButton = button("Open…", "button quiet", () => picker.click());
    openButton.title = "Add files from this computer; or drop them anywhere on the console";
    const clear = button("Clear outputs", "button quiet clear", () => this.clear());
    const close = button("×", "button quiet", onClose);
    close.setAttribute("aria-label", "Close the editor");
    close.title = "Close the editor";
    this.tabs.setAttribute("aria-label", "Open files");
    const keys = h(
      "p",
      { className: "keys" },
      h("span", {}, h("kbd", {}, "Shift Enter"), " run and move to next"),
      h("span", {}, h("kbd", {}, "Ctrl Enter"), " run cell or selection"),
      h("span", {}, h("kbd", {}, "Esc"), " ", h("kbd", {}, "Tab"), " leave the text"),
    );
    this.root.replaceChildren(
      h(
        "div",
        { className: "editor-bar" },
        h(
          "div",
          { className: "editor-acts" },
          ...[this.runAllButton, this.runButton, clear, this.stopButton, h("span", { className: "editor-gap" })],
          ...[this.createMenu.element, openButton, picker],
        ),
        close,
      ),
      h(
        "div",
        { className: "editor-body" },
        this.tree.element,
        h("div", { className: "editor-main" }, this.tabs, this.place),
      ),
      h(
        "div",
        { className: "editor-foot" },
        keys,
        touchKeys([["Tab", "Complete or indent", () => this.shown?.code.onTab()]], (symbol) => this.type(symbol)),
        runKey(() => this.answerOrRun()),
        h(
          "div",
          { className: "editor-said", role: "status", ariaAtomic: "false" },
          ...[this.said, this.failed, this.offers],
        ),
      ),
    );
  }

  focus() {
    this.shown?.code.focus();
  }

  /** @param {string} symbol typed by a key of the touch screen */
  type(symbol) {
    if (this.shown) typeText(this.shown.code.view, symbol);
  }

  /** The Run key of a touch screen. */
  answerOrRun() {
    if (!this.repl.answer()) this.run("here");
  }

  // The session ------------------------------------------------------------------------------------

  /** Show the files and tabs of the current session. */
  restore() {
    this.restored = this.restored
      .then(() => this.restoreNow())
      .catch((error) => this.repl.transcript.note(`The editor could not show the files of this session. ${error}`));
    return this.restored;
  }

  async restoreNow() {
    await this.sessions.opened;
    this.closeAll();
    const { session } = this.sessions;
    const { tabs, shown } = session.about.editor ?? { tabs: [], shown: null };
    await session.knowFiles();
    const typed = await Promise.all(readUnstored(session.about.id).map((one) => fileOfTyped(one, session)));
    if (typed.length) await this.write(typed, [], session);
    if (!session.files.size) await this.write([{ path: "main.py", bytes: encoded(START) }], [], session);
    const wanted = tabs.length || session.about.editor ? tabs : [...session.files.keys()].filter(isProgram).slice(0, 1);
    for (const path of wanted) {
      await this.openTab(path, session).catch((error) => {
        this.repl.transcript.note(`The editor could not show ${path}. ${error}`);
      });
    }
    if (session !== this.sessions.session) return;
    const { shown: created } = this; // by the user, while the files were read
    this.show(created ?? this.docs.find(({ path }) => path === shown) ?? this.opened[0] ?? null);
    if (created) this.keep();
  }

  /**
   * Save what was typed, and close the files: whatever is typed or saved afterwards belongs to another session.
   */
  async leaveSession() {
    this.leave(); // the storage may be full
    const saved = this.flush();
    this.closeAll();
    this.show(null);
    await saved;
    this.tree.draw(new Map(), null);
  }

  closeAll() {
    for (const { timer, code } of this.docs) {
      clearTimeout(timer);
      code.close();
    }
    this.docs = [];
    this.shown = this.missed = null;
    this.drawFailures();
    this.offers.replaceChildren();
  }

  /** Store the list of tabs. */
  keep() {
    const isOpen = !this.root.hidden;
    const tabs = this.opened.map(({ path }) => path);
    void this.sessions.keepEditor({ isOpen, tabs, shown: this.shown?.path ?? null });
  }

  /** @param {Changes} changes to files, made by Python or by the page */
  follow({ changed, removed }) {
    for (const { path, bytes } of changed) {
      const doc = this.docOf(path);
      if (doc && doc.code.text === doc.kept) this.take(doc, bytes);
    }
    for (const path of removed) {
      const doc = this.docOf(path);
      if (doc && doc.code.text === doc.kept) this.close(doc, false);
    }
    this.drawFiles();
  }

  /**
   * Show the new content of a file.
   *
   * @param {Doc} doc
   * @param {Uint8Array} bytes
   */
  take(doc, bytes) {
    const opened = textOf(doc.path, bytes);
    if (!opened) this.close(doc, false);
    if (!opened) return;
    const { text, json, notebook } = opened;
    if (notebook ? json === doc.json : text === doc.kept) return;
    Object.assign(doc, { kept: text, json, notebook, isChanged: false });
    doc.code.notebook = notebook;
    doc.code.text = text;
    doc.code.track();
    if (notebook) showStored(doc.code, this.repl);
  }

  // Files ------------------------------------------------------------------------------------------

  get paths() {
    const { files, unsaved } = this.sessions.session;
    return new Set([...files.keys(), ...unsaved.keys()]);
  }

  /** The files in tabs. */
  get opened() {
    return this.docs.filter(({ hasTab }) => hasTab);
  }

  /** @param {string} path */
  docOf(path) {
    return this.docs.find((doc) => doc.path === path);
  }

  /**
   * @param {KeptFile[]} changed
   * @param {string[]} removed paths
   * @param {KeptSession} session
   * @returns {Promise<boolean>} false where this session is no longer open
   */
  async write(changed, removed, session) {
    const isOpen = await this.sessions.writeFiles(changed, removed, session);
    void session.queue.then(() => {
      if (!session.dirtyFiles.size && !this.unstored.length) forgetUnstored(session.about.id);
    });
    return isOpen;
  }

  /**
   * @returns {Promise<KeptSession>} the session that is open or being opened, whose files are known
   */
  async readySession() {
    await this.sessions.opened;
    const { session } = this.sessions;
    await session.knowFiles();
    return session;
  }

  /**
   * @param {import("./dropped.js").Dropped[]} files dropped or chosen
   * @param {() => boolean} [isFocusUnmoved] since they were dropped or chosen; see `watchFocus`
   */
  async addFiles(files, isFocusUnmoved = watchFocus()) {
    if (!files.length) return;
    const session = await this.readySession();
    const size = files.reduce((sum, { file }) => sum + file.size, 0);
    const { room } = await measureSpace();
    if (size > room) {
      const names = `${named(files.map(({ path }) => path))} (${inBytes(size)})`;
      this.repl.transcript.note(`Not added: ${names}. The browser has room for ${inBytes(room)}.`);
      return;
    }
    /** @type {KeptFile[]} */
    const read = [];
    /** @type {string[]} */
    const unread = [];
    for (const { path, file } of files) {
      const buffer = await file.arrayBuffer().catch(() => null); // it has changed or gone, or is too large
      if (buffer) read.push({ path, bytes: new Uint8Array(buffer) });
      else unread.push(path);
    }
    if (unread.length) this.repl.transcript.note(`Could not be read: ${named(unread)}.`);
    if (!read.length) return;
    await this.flush();
    /** @type {KeptFile[]} */
    const before = [];
    for (const { path } of read) {
      const bytes = session.files.has(path) && (await session.readFile(path));
      if (bytes) before.push({ path, bytes });
    }
    for (const { path } of read) {
      const doc = this.docOf(path);
      if (doc) doc.json = ""; // its outputs are shown again, even if the file is the same
    }
    if (!(await this.write(read, [], session))) return;
    const words = read.length === 1 ? read[0].path : `${read.length} files`;
    if (before.length) this.offerUndo(`Replaced ${words}. `, async () => void (await this.write(before, [], session)));
    else this.say(`Added ${words}.`);
    const text = read.find(({ path }) => isProgram(path));
    if (text) await this.open(text.path, isFocusUnmoved);
    const { shown } = this;
    const hasText = shown?.path === text?.path && shown?.notebook && shown.code.cells.some(({ isText }) => isText);
    if (hasText && !before.length) this.say(`Added ${words}. Markdown is shown as comments, not rendered.`);
  }

  /**
   * Create a program or a notebook, with the caret at its end.
   *
   * @param {string} name
   * @param {string} text
   */
  async create(name, text) {
    const session = await this.readySession();
    const path = this.unused(name);
    const bytes = isNotebook(path) ? notebookBytes(text) : encoded(text);
    if (!(await this.write([{ path, bytes }], [], session))) return;
    await this.open(path);
    this.docOf(path)?.code.toEnd();
  }

  /**
   * @param {string} name
   * @param {string} code
   * @param {() => boolean} isFocusUnmoved since the click; see `watchFocus`
   */
  async addProgram(name, code, isFocusUnmoved) {
    const bytes = encoded(code);
    const session = await this.readySession();
    const there = await session.readFile(name);
    const isSame = there !== null && decoded(there) === code;
    const path = isSame ? name : this.unused(name);
    if (isSame || (await this.write([{ path, bytes }], [], session))) await this.open(path, isFocusUnmoved);
  }

  /** @param {string} name */
  unused(name) {
    const [, stem, ending] = /^(.*?)(\.\w+)?$/.exec(name) ?? ["", name, ""];
    let path = name;
    for (let i = 2; this.paths.has(path); i++) path = `${stem}_${i}${ending ?? ""}`;
    return path;
  }

  /** @param {string} path */
  async download(path) {
    await this.held;
    await this.flush();
    const bytes = await this.sessions.session.readFile(path);
    if (bytes) saveFile(path.split("/").at(-1) ?? path, "application/octet-stream", bytes);
    else this.say(`${path} could not be read.`);
  }

  /** @param {string} path */
  async remove(path) {
    const { session } = this.sessions;
    await this.flush();
    const bytes = await session.readFile(path);
    const wasOpen = this.docOf(path) !== undefined;
    const cells = session.cellsOf(path);
    const hadFocus = this.tree.focused === path;
    if (!(await this.write([], [path], session))) return;
    if (hadFocus && this.tree.focused === null) this.createMenu.summary.focus(); // it was the last file
    if (!bytes) {
      this.say(`Deleted ${path}.`);
      return;
    }
    const restore = async () => {
      const free = this.unused(path); // another file may have its name by now
      if (free === path) session.putBack(cells);
      await this.write([{ path: free, bytes }], [], session);
      if (wasOpen) await this.open(free);
      else this.tree.focus(free);
    };
    this.offerUndo(`Deleted ${path}. `, restore);
  }

  /**
   * Offer to undo a change for a while, or as long as the button has the focus.
   *
   * @param {string} words
   * @param {() => Promise<void>} act called once, as long as this session is open
   */
  offerUndo(words, act) {
    const { session } = this.sessions;
    const undo = h("button", { type: "button", className: "button", textContent: "Undo" });
    const offer = h("span", {}, words, undo);
    this.offers.append(offer);
    const end = () => {
      if (offer.contains(document.activeElement)) setTimeout(end, SAID_FOR_MS);
      else offer.remove();
    };
    setTimeout(end, OFFERED_FOR_MS);
    const work = async () => {
      if (session === this.sessions.session) await act();
      offer.remove();
      if (document.activeElement === document.body) this.focus();
    };
    undo.addEventListener("click", () => void work(), { once: true });
    return undo;
  }

  /**
   * Rename a file. A program that becomes a notebook is converted, and a notebook that becomes a program too.
   *
   * @param {string} path
   * @param {string} to
   */
  async rename(path, to) {
    const { session } = this.sessions;
    this.say("");
    await this.held;
    await this.flush();
    const before = await session.readFile(path);
    const bytes = before && converted(path, to, before);
    await this.sessions.opened;
    if (!bytes || session !== this.sessions.session) return;
    const clash = [...this.paths].find((other) => clashes(to, other) && other !== path);
    if (clash !== undefined || to.split("/").some((name) => name === "" || name === "." || name === "..")) {
      this.say(clash === undefined ? `${to} is not a valid file name.` : `There is already a file ${clash}.`);
      return;
    }
    const renamed = this.docOf(path);
    const at = renamed?.hasTab ? this.docs.indexOf(renamed) : -1;
    const wasShown = renamed !== undefined && this.shown === renamed;
    session.moveCells(path, to);
    if (renamed && isProgram(path) === isProgram(to) && isNotebook(path) === isNotebook(to)) {
      renamed.path = to; // its cells may be running
      renamed.code.rename(to);
    }
    const hadFocus = this.tree.focused === path;
    if (!(await this.write([{ path: to, bytes }], [path], session))) return;
    if (hadFocus) this.tree.focus(to);
    if (isNotebook(path) && bytes !== before) {
      const restore = () => this.restoreNotebook({ path, bytes: before }, { path: to, bytes }, session);
      this.offerUndo(`${to} is a program: the file has no outputs. `, restore);
    }
    if (at < 0) return;
    const doc = await this.openTab(to, session);
    if (!doc) return;
    if (bytes !== before) this.holdAll(doc);
    this.docs.splice(at, 0, ...this.docs.splice(this.docs.indexOf(doc), 1));
    if (wasShown) this.show(doc);
    this.drawTabs();
    this.keep();
  }

  /**
   * Undo the conversion of a notebook to a program. An edited program stays.
   *
   * @param {KeptFile} notebook
   * @param {KeptFile} program
   * @param {KeptSession} session
   */
  async restoreNotebook({ path, bytes }, program, session) {
    await this.flush();
    const now = await session.readFile(program.path);
    const isSame = now !== null && decoded(now) === decoded(program.bytes);
    const free = this.unused(path);
    if (isSame) session.moveCells(program.path, free);
    if (await this.write([{ path: free, bytes }], isSame ? [program.path] : [], session)) await this.open(free);
  }

  // Tabs -------------------------------------------------------------------------------------------

  /**
   * @param {string} path
   * @param {() => boolean} [isFocusUnmoved] since the action that opens it; see `watchFocus`
   */
  async open(path, isFocusUnmoved = watchFocus()) {
    const { session } = this.sessions;
    const doc = await this.openTab(path, session);
    if (doc) {
      this.show(doc);
      this.keep();
      if (isFocusUnmoved() || this.root.contains(document.activeElement)) doc.code.focus();
      return;
    }
    if (session !== this.sessions.session) return;
    const what = isNotebook(path) ? "not a valid notebook" : "not text";
    this.repl.offer(codeToRead(path), `${path} is ${what}, or is too long to edit. The code at the prompt reads it.`);
  }

  /**
   * @param {string} path
   * @param {KeptSession} session
   * @param {boolean} [hasTab] false: only while its cells run
   * @returns {Promise<Doc | null>} null if the file is not text, or this session is no longer open
   */
  async openTab(path, session, hasTab = true) {
    const bytes = this.docOf(path) ? null : await session.readFile(path);
    if (session !== this.sessions.session) return null;
    const there = this.docOf(path); // it may have been opened in the meantime
    if (there) there.hasTab ||= hasTab;
    if (there) return there;
    const opened = bytes && textOf(path, bytes);
    if (!opened) return null;
    /** @type {Doc} */
    const doc = {
      path,
      code: this.codeOf(path, opened.text, () => doc),
      hasTab,
      kept: opened.text,
      json: opened.json,
      notebook: opened.notebook,
      isChanged: false,
      held: 0,
      failure: null,
    };
    doc.code.notebook = doc.notebook;
    doc.code.track();
    doc.code.element.hidden = true;
    this.place.append(doc.code.element);
    this.docs.push(doc);
    if (doc.notebook) showStored(doc.code, this.repl);
    showAgain(doc.code, session.cellsOf(path));
    return doc;
  }

  /**
   * @param {string} path
   * @param {string} text
   * @param {() => Doc} own the document of this code, which is created after it
   */
  codeOf(path, text, own) {
    return new Code(text, path, isProgram(path), {
      onChange: () => {
        this.setFailure(own(), null);
        this.keepSoon(own());
      },
      onMove: () => this.nameRun(),
      onRun: (how, at) => this.run(how, at),
      onSave: () => void this.flush().then(() => this.saySaved(own())),
      onGone: (blocks, reason) => {
        if (reason !== "restored") drop(blocks, this.repl);
        this.setFailure(own(), null);
        this.release(own(), blocks, reason);
      },
      query: (method, args) => this.engine.query(method, args),
    });
  }

  /** @param {Doc | null} doc */
  show(doc) {
    this.shown = doc;
    if (doc && this.missed?.path === doc.path) {
      doc.failure ??= this.missed.failure; // its tab may have been closed
      this.missed = null;
    }
    if (this.saidOf && this.saidOf !== doc) this.say("");
    this.drawFailures();
    this.nothing.hidden = doc !== null;
    for (const { code } of this.docs) code.element.hidden = code !== doc?.code;
    doc?.code.view.requestMeasure();
    this.drawTabs();
    this.drawFiles();
    this.nameRun();
  }

  /**
   * Close a tab. The outputs of cells that run are still written to the file.
   *
   * @param {Doc} doc
   * @param {boolean} isKept whether the file still exists
   */
  close(doc, isKept = true) {
    if (isKept) void this.flush();
    this.setFailure(doc, null);
    const at = this.opened.indexOf(doc);
    const hadFocus = this.place.contains(document.activeElement) || this.tabs.contains(document.activeElement);
    doc.hasTab = false;
    if (!isKept || (isDone(doc) && !this.isRunningAgain)) this.forget(doc);
    if (this.shown === doc) this.show(this.opened[at] ?? this.opened[at - 1] ?? null);
    else this.drawTabs();
    if (hadFocus) this.focus();
    this.keep();
  }

  /** @param {Doc} doc */
  forget(doc) {
    clearTimeout(doc.timer);
    this.docs.splice(this.docs.indexOf(doc), 1);
    doc.code.close();
  }

  drawTabs() {
    const tabs = this.opened.map((doc) => {
      const show = button(doc.path, "editor-tab", () => {
        this.show(doc);
        this.keep();
        doc.code.focus();
      });
      if (doc === this.shown) show.setAttribute("aria-current", "true");
      const close = button("×", "editor-tab-close", () => this.close(doc));
      close.setAttribute("aria-label", `Close ${doc.path}`);
      return h("li", {}, show, close);
    });
    this.tabs.replaceChildren(...tabs);
    this.tabs.hidden = tabs.length === 0;
    this.tabs.querySelector("[aria-current]")?.scrollIntoView({ block: "nearest", inline: "nearest" });
  }

  drawFiles() {
    const { files, unsaved, dirtyFiles } = this.sessions.session;
    /** @type {Map<string, import("./tree.js").Listed>} */
    const listed = new Map();
    for (const [path, size] of files) listed.set(path, { size, isSaved: true, isHere: true });
    for (const [path, size] of unsaved) listed.set(path, { size, isSaved: false, isHere: dirtyFiles.has(path) });
    this.tree.draw(listed, this.shown?.path ?? null);
  }

  // Keeping ----------------------------------------------------------------------------------------

  /** @param {Doc} doc */
  keepSoon(doc) {
    clearTimeout(doc.timer);
    doc.timer = setTimeout(() => void this.flush(), KEEP_AFTER_MS);
  }

  /** Save the text of all open files. */
  async flush() {
    const { session } = this.sessions;
    const changed = this.docs.filter((doc) => doc.isChanged || doc.code.text !== doc.kept);
    const files = changed.map((doc) => {
      clearTimeout(doc.timer);
      doc.kept = doc.code.text;
      doc.isChanged = false;
      return fileOf(doc);
    });
    if (files.length) await this.write(files, [], session);
    await session.queue;
    const closed = this.isRunningAgain ? [] : this.docs.filter(({ hasTab }) => !hasTab);
    for (const doc of closed.filter(isDone)) this.forget(doc);
  }

  /** The files whose text is not in the browser's storage. */
  get unstored() {
    return this.docs.filter((doc) => doc.code.text !== doc.kept || !this.isStored(doc));
  }

  /** @param {Doc} doc as last saved */
  isStored({ path }) {
    const { dirtyFiles, unsaved } = this.sessions.session;
    return !dirtyFiles.has(path) && !unsaved.has(path);
  }

  /** @param {Doc} doc */
  saySaved(doc) {
    this.say(this.isStored(doc) ? "Saved in this browser." : "Not saved in this browser; Python has the file.", doc);
  }

  /** The page or the session is closing, and the store may no longer be writable. */
  leave() {
    const typed = this.unstored.map(({ path, code }) => ({ path, text: code.text }));
    if (typed.length) keepUnstored(this.sessions.session.about.id, typed);
  }

  // Running ----------------------------------------------------------------------------------------

  nameRun() {
    const { shown } = this;
    const isRunnable = shown !== null && isProgram(shown.path);
    for (const made of [this.runAllButton, this.runButton]) made.disabled = !isRunnable;
    const [cell, selection] = this.runButton.children;
    const hasSelection = Boolean(shown?.code.selection);
    cell.classList.toggle("meant", !hasSelection);
    selection.classList.toggle("meant", hasSelection);
  }

  /**
   * @param {import("./code.js").How} how
   * @param {number} [at] start of the cell to run
   */
  run(how, at) {
    const doc = this.shown;
    if (!doc || !isProgram(doc.path)) return;
    this.say("");
    this.setFailure(doc, null);
    void this.flush();
    const onEnd = (/** @type {Element} */ block) => this.hold(block);
    const say = (/** @type {string} */ words, /** @type {HTMLElement | undefined} */ failed) => {
      if (!failed) {
        this.say(this.shown === doc ? words : `${doc.path}: ${words}`, doc);
        return;
      }
      this.say("");
      const { entry } = /** @type {import("./running.js").Output} */ (outputOf(failed));
      if (this.shown !== doc) this.missed = doc;
      this.setFailure(doc, { words, entry });
      if (how === "all" && this.shown === doc) doc.code.reveal(failed);
    };
    run(doc.code, this.repl, how, at, { say, path: doc.path, onEnd });
  }

  /**
   * @param {Doc} doc
   * @param {Doc["failure"]} failure
   */
  setFailure(doc, failure) {
    if (doc.failure === failure) return;
    doc.failure = failure;
    this.drawFailures();
  }

  drawFailures() {
    const links = [this.shown, this.missed].flatMap((doc) => {
      if (!doc?.failure) return [];
      const { words, entry } = doc.failure;
      const named = doc === this.shown ? words : `${doc.path}: ${words}`;
      return button(named, "to-failure", () => void this.go(doc.path, entry, true));
    });
    this.failed.replaceChildren(...links);
  }

  /**
   * Scroll to an output.
   *
   * @param {string} path of its file
   * @param {import("../repl/transcript.js").Shown} entry that it shows
   * @param {boolean} isForTyping whether to move the caret into its cell
   * @returns {Promise<Doc | null>} null if it is no longer there
   */
  async go(path, entry, isForTyping) {
    const doc = await this.openTab(path, this.sessions.session);
    const block = entry.element.parentElement;
    if (!doc || !block || outputOf(block)?.code !== doc.code) return null;
    if (this.shown !== doc) this.show(doc);
    this.keep();
    doc.code.reveal(block, isForTyping);
    return doc;
  }

  /**
   * Show the output of a cell.
   *
   * @param {string} path of its file
   * @param {Entry} entry
   * @returns {Promise<string>} the name of the cell, with its file
   */
  async showCell(path, entry) {
    const doc = await this.go(path, entry, false);
    const cell = doc?.code.cellOf(/** @type {Element} */ (entry.element.parentElement));
    if (!doc || !cell) return path;
    const { cells } = doc.code;
    return cells.length === 1 ? path : `${path}, ${nameOf(cell, cells)}`;
  }

  // Outputs in notebooks ---------------------------------------------------------------------------

  /**
   * Open the notebooks whose cells run again, to write the outputs to them.
   *
   * @param {string[]} paths
   */
  async beforeAgain(paths) {
    const { session } = this.sessions;
    this.isRunningAgain = true;
    for (const path of paths) await this.openTab(path, session, false);
  }

  /**
   * Write an output to the file of its notebook.
   *
   * @param {Element} block
   * @param {Entry} [entry] shown by the output
   */
  hold(block, entry) {
    const doc = this.docs.find(({ code }) => code === outputOf(block)?.code);
    if (!doc) return;
    const work = this.holdIn(doc, block, entry).catch((error) =>
      this.say(`The outputs were not written to the notebook: ${error}`),
    );
    this.held = Promise.all([this.held, work]);
  }

  /**
   * @param {Doc} doc
   * @param {Element} block
   * @param {Entry} [entry]
   */
  async holdIn(doc, block, entry) {
    const { notebook } = doc;
    doc.held += 1;
    try {
      doc.isChanged = (notebook && (await hold(block, notebook, entry))) || doc.isChanged;
    } finally {
      doc.held -= 1;
      this.keepSoon(doc);
    }
  }

  /** @param {Doc} doc whose finished outputs are written to its file, if it is a notebook */
  holdAll({ code }) {
    for (const block of code.element.children) if (!block.querySelector(":is(.running, .waiting)")) this.hold(block);
  }

  /** @param {Again} input that ran again */
  holdAgain({ entry, source }) {
    const block = entry.element.parentElement;
    if (block && isAfter(block, source)) this.hold(block, entry);
  }

  /**
   * Remove cleared outputs from the file of their notebook too.
   *
   * @param {Doc} doc
   * @param {Element[]} blocks
   * @param {import("./code.js").Reason} reason
   */
  release(doc, blocks, reason) {
    const { notebook } = doc;
    const owned = blocks.map((block) => outputOf(block)?.owner);
    if (reason === "edited") for (const block of blocks) disown(block); // it may still be running
    for (const cell of owned.flatMap((owner) => owner ?? [])) {
      if (!notebook?.cells.includes(cell)) continue; // of an earlier state of the file
      if (reason === "edited") notebook.unseen.add(cell);
      if (reason === "cleared") notebook.hold(cell, [], null);
      if (reason === "cleared") this.changeOutputs(doc);
    }
  }

  clear() {
    const doc = this.shown;
    if (!doc) return;
    doc.code.remove();
    if (!doc.notebook) return;
    doc.notebook.clear();
    this.changeOutputs(doc);
  }

  /** @param {Doc} doc whose file gets other outputs */
  changeOutputs(doc) {
    doc.isChanged = true;
    this.keepSoon(doc);
  }

  /**
   * @param {string} words shown for a while
   * @param {Doc | null} [doc] whose tab they belong to
   */
  say(words, doc = null) {
    this.said.textContent = words;
    this.saidOf = doc;
    clearTimeout(this.silence);
    this.silence = setTimeout(() => this.said.replaceChildren(), SAID_FOR_MS);
  }
}

/**
 * @param {Doc} doc
 * @returns {KeptFile} its file, ready to be saved
 */
function fileOf(doc) {
  const { path, code, notebook } = doc;
  code.updateNotebook();
  doc.json = notebook?.json ?? "";
  return { path, bytes: encoded(notebook ? doc.json : code.text) };
}

/**
 * @param {import("../sessions/unstored.js").Typed} typed
 * @param {KeptSession} session
 * @returns {Promise<KeptFile>}
 */
async function fileOfTyped({ path, text }, session) {
  if (!isNotebook(path)) return { path, bytes: encoded(text) };
  const before = await session.readFile(path);
  return { path, bytes: notebookBytes(text, (before && textOf(path, before))?.notebook) };
}

/**
 * @param {string} path
 * @param {string} other
 * @returns {boolean} whether not both can exist: they are the same, or one would be a file and a folder
 */
function clashes(path, other) {
  return path === other || path.startsWith(`${other}/`) || other.startsWith(`${path}/`);
}

/**
 * @param {Doc} doc
 * @returns {boolean} whether all its outputs are in the file
 */
function isDone({ code, held, isChanged }) {
  return held === 0 && !isChanged && code.running.size === 0;
}
