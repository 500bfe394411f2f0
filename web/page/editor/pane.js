/**
 * The editor: the files of the session, tabs with the open ones, and the outputs of their cells.
 *
 * The files are those of Python's home folder. Typed text is saved after KEEP_AFTER_MS, and before anything runs. What
 * Python writes to an open file appears in its tab.
 */

import { forgetUnstored, keepUnstored, readUnstored } from "../sessions/unstored.js";
import { button, h } from "../ui/dom.js";
import { saveFile } from "../ui/saving.js";
import { Code } from "./code.js";
import { Divider } from "./divider.js";
import { notebookOf, programOf } from "./notebook.js";
import { drop, run, showAgain, showStored } from "./running.js";
import { Tree } from "./tree.js";

/** @typedef {import("../../worker/boot/home.js").Changes} Changes */
/** @typedef {import("../sessions/kept.js").KeptSession} KeptSession */
/** @typedef {import("../sessions/store.js").File} KeptFile */

/**
 * @typedef {object} Workplace the parts of the page that the editor uses
 * @property {import("../engine.js").Engine} engine
 * @property {import("../repl/console.js").Console} repl
 * @property {import("../sessions/sessions.js").Sessions} sessions
 *
 * @typedef {object} Doc a file in a tab
 * @property {string} path
 * @property {Code} code
 * @property {string} kept its text in the session
 * @property {string} json of a notebook, as it was written last; else ""
 * @property {string} opened of a notebook, as it was opened; else ""
 * @property {ReturnType<typeof setTimeout>} [timer]
 */

const KEEP_AFTER_MS = 300;
const SAID_FOR_MS = 6000;
/** The Interrupt button appears after this time. */
const STOP_AFTER_MS = 300;
/** A longer text is not opened. */
const LONGEST_TEXT = 2 * 2 ** 20;
/** A notebook may contain pictures. */
const LONGEST_NOTEBOOK = 8 * 2 ** 20;
const START = `# %% A cell starts with "# %%". Shift+Enter runs it and goes to the next one.
import py_tensor as pt

x = pt.linspace(0, 2 * pt.pi, 200)
x.sin().sum()

# %% The output of a cell is below it.
pt.plot(x.sin())
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
    /** In the order of their tabs. @type {Doc[]} */
    this.docs = [];
    /** @type {Doc | null} */
    this.shown = null;
    /** Files of Python that do not fit into the session. @type {Set<string>} */
    this.unkept = new Set();
    this.tree = new Tree({
      onOpen: (path) => void this.open(path),
      onDownload: (path) => void this.download(path),
      onRemove: (path) => void this.remove(path),
      onRename: (path, to) => void this.rename(path, to),
    });
    this.runAllButton = button("Run all", "button primary", () => this.run("all"));
    this.runButton = button("Run cell", "button", () => this.run("here"));
    this.stopButton = button("Interrupt", "button", () => {
      engine.dropQueued();
      engine.interrupt();
    });
    this.stopButton.hidden = true;
    this.createButton = button("New", "button quiet", () => void this.create());
    this.tabs = h("ul", { className: "editor-tabs" });
    this.place = h("div", { className: "editor-text" });
    this.said = h("span", { className: "editor-said" });
    /** Ends when the sessions so far are shown: one after the other. */
    this.restored = Promise.resolve();
    this.draw(onClose);
    this.divider = new Divider(root);
    engine.addEventListener("change", () => this.showStop());
    sessions.addEventListener("files", (event) => this.follow(/** @type {CustomEvent<Changes>} */ (event).detail));
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
    this.createButton.title = "New program";
    const openButton = button("Open…", "button quiet", () => picker.click());
    openButton.title = "Add files from this computer; or drop them anywhere on the console";
    const clear = button("Clear outputs", "button quiet", () => this.shown?.code.remove());
    const close = button("×", "button quiet", onClose);
    close.setAttribute("aria-label", "Close the editor");
    close.title = "Close the editor";
    this.tabs.setAttribute("aria-label", "Open files");
    this.said.setAttribute("role", "status");
    const keys = h("span", { className: "editor-keys" });
    keys.append(
      ...[h("kbd", {}, "Shift Enter"), " run cell, go on  ", h("kbd", {}, "Ctrl Enter"), " run cell or selection  "],
      ...[h("kbd", {}, "Esc"), " ", h("kbd", {}, "Tab"), " leave the text"],
    );
    this.root.replaceChildren(
      h(
        "div",
        { className: "editor-bar" },
        ...[this.runAllButton, this.runButton, this.stopButton, clear, h("span", { className: "editor-gap" })],
        ...[this.createButton, openButton, close, picker],
      ),
      h(
        "div",
        { className: "editor-body" },
        this.tree.element,
        h("div", { className: "editor-main" }, this.tabs, this.place),
      ),
      h("div", { className: "editor-foot" }, keys, this.said),
    );
  }

  focus() {
    this.shown?.code.focus();
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
    await session.readFiles();
    const typed = await Promise.all(readUnstored(session.about.id).map((one) => fileOfTyped(one, session)));
    if (typed.length) await this.write(typed, [], session);
    if (!session.about.files) await this.write([{ path: "main.py", bytes: encoded(START) }], [], session);
    const wanted = tabs.length || session.about.editor ? tabs : [...session.files.keys()].filter(isProgram).slice(0, 1);
    for (const path of wanted) {
      await this.openTab(path, session).catch((error) => {
        this.repl.transcript.note(`The editor could not show ${path}. ${error}`);
      });
    }
    if (session !== this.sessions.session) return;
    this.show(this.docs.find(({ path }) => path === shown) ?? this.docs[0] ?? null);
  }

  /**
   * Save what was typed, and close the files: whatever is typed or saved from now on is of another session.
   */
  async leaveSession() {
    this.leave(); // the storage may be full
    const saved = this.flush();
    this.closeAll();
    this.show(null);
    await saved;
  }

  closeAll() {
    for (const { timer, code } of this.docs) {
      clearTimeout(timer);
      code.close();
    }
    this.docs = [];
    this.shown = null;
    this.unkept.clear();
  }

  /** Store the list of tabs. */
  keep() {
    const isOpen = !this.root.hidden;
    const tabs = this.docs.map(({ path }) => path);
    const { editor } = this.sessions.session.about;
    void this.sessions.keepEditor({ ...editor, isOpen, tabs, shown: this.shown?.path ?? null });
  }

  /** @param {string} path of a notebook */
  clearedOf(path) {
    return this.sessions.session.about.editor?.cleared?.get(path) ?? [];
  }

  /**
   * Store which outputs of a notebook file are not shown.
   *
   * @param {string} path
   * @param {string[]} keys
   */
  keepCleared(path, keys) {
    const { editor } = this.sessions.session.about;
    if (!editor || keys.length === this.clearedOf(path).length) return;
    void this.sessions.keepEditor({ ...editor, cleared: new Map([...(editor.cleared ?? []), [path, keys]]) });
  }

  /** @param {Changes} changes of files, by Python or from here */
  follow({ changed, removed, refused }) {
    for (const { path, bytes } of changed) {
      this.unkept.delete(path);
      const doc = this.docOf(path);
      if (!doc) this.keepCleared(path, []);
      else if (doc.code.text === doc.kept) this.take(doc, bytes);
    }
    for (const path of removed) {
      this.unkept.delete(path);
      const doc = this.docOf(path);
      if (doc && doc.code.text === doc.kept && !refused.includes(path)) this.close(doc, false);
    }
    for (const path of refused) this.unkept.add(path);
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
    const { text, json } = opened;
    if (json ? json === doc.json : text === doc.kept) return;
    Object.assign(doc, { kept: text, json, opened: json });
    doc.code.text = text;
    if (json) showStored(doc.code, json, this.repl);
    this.keepCleared(doc.path, []);
  }

  // Files ------------------------------------------------------------------------------------------

  get paths() {
    return new Set([...this.sessions.session.files.keys(), ...this.unkept]);
  }

  /** @param {string} path */
  docOf(path) {
    return this.docs.find((doc) => doc.path === path);
  }

  /**
   * @param {KeptFile[]} changed
   * @param {string[]} removed paths
   * @param {KeptSession} session
   * @returns {Promise<boolean>} false where this session is not open any more
   */
  async write(changed, removed, session) {
    const isOpen = await this.sessions.writeFiles(changed, removed, session);
    void session.queue.then(() => {
      if (!session.dirtyFiles.size && !this.unstored.length) forgetUnstored(session.about.id);
    });
    return isOpen;
  }

  /** @param {import("./dropped.js").Dropped[]} files or chosen ones */
  async addFiles(files) {
    if (!files.length) return;
    const { session } = this.sessions;
    const read = await Promise.all(
      files.map(async ({ path, file }) => ({ path, bytes: new Uint8Array(await file.arrayBuffer()) })),
    );
    await this.flush();
    /** @type {KeptFile[]} */
    const before = [];
    for (const { path } of read) {
      const bytes = await session.readFile(path);
      if (bytes) before.push({ path, bytes });
    }
    if (!(await this.write(read, [], session))) return;
    const words = read.length === 1 ? read[0].path : `${read.length} files`;
    if (before.length)
      this.say(
        `Replaced ${words}. `,
        this.undoing(async () => void (await this.write(before, [], session))),
      );
    else this.say(`Added ${words}.`);
    const text = read.find(({ path }) => isProgram(path));
    if (text) await this.open(text.path);
  }

  async create() {
    const path = this.unused("program.py");
    if (await this.write([{ path, bytes: encoded("") }], [], this.sessions.session)) await this.open(path);
  }

  /**
   * @param {string} name
   * @param {string} code
   */
  async addProgram(name, code) {
    const bytes = encoded(code);
    const { session } = this.sessions;
    const there = await session.readFile(name);
    const isSame = there !== null && decoded(there) === code;
    const path = isSame ? name : this.unused(name);
    if (isSame || (await this.write([{ path, bytes }], [], session))) await this.open(path);
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
    if (hadFocus && this.tree.focused === null) this.createButton.focus(); // it was the last file
    if (!bytes) {
      this.say(`Deleted ${path}.`);
      return;
    }
    const restore = async () => {
      session.putBack(cells);
      await this.write([{ path, bytes }], [], session);
      if (wasOpen) await this.open(path);
      else this.tree.focus(path);
    };
    this.say(`Deleted ${path}. `, this.undoing(restore));
  }

  /**
   * @param {() => Promise<void>} act
   * @returns {HTMLButtonElement} that calls `act` once, as long as this session is open
   */
  undoing(act) {
    const { session } = this.sessions;
    const undo = h("button", { type: "button", className: "button", textContent: "Undo" });
    const work = async () => {
      if (session === this.sessions.session) await act();
      this.say("");
      if (document.activeElement === document.body) this.focus();
    };
    undo.addEventListener("click", () => void work(), { once: true });
    return undo;
  }

  /**
   * @param {string} path
   * @param {string} to
   */
  async rename(path, to) {
    const { session } = this.sessions;
    await this.flush();
    const bytes = await session.readFile(path);
    await this.sessions.opened;
    if (!bytes || session !== this.sessions.session) return;
    if (this.paths.has(to) || to.split("/").some((name) => name === "" || name === "." || name === "..")) {
      this.say(this.paths.has(to) ? `There is already a file ${to}.` : `${to} is not a valid file name.`);
      return;
    }
    const at = this.docs.findIndex((doc) => doc.path === path);
    const wasShown = this.shown?.path === path;
    session.moveCells(path, to);
    const cleared = this.clearedOf(path);
    const hadFocus = this.tree.focused === path;
    if (!(await this.write([{ path: to, bytes }], [path], session))) return;
    this.keepCleared(to, cleared);
    if (hadFocus) this.tree.focus(to);
    if (at < 0) return;
    const doc = await this.openTab(to, session);
    if (!doc) return;
    this.docs.splice(at, 0, ...this.docs.splice(this.docs.indexOf(doc), 1));
    if (wasShown) this.show(doc);
    this.drawTabs();
    this.keep();
  }

  // Tabs -------------------------------------------------------------------------------------------

  /** @param {string} path */
  async open(path) {
    const { session } = this.sessions;
    const doc = await this.openTab(path, session);
    if (doc) {
      this.show(doc);
      this.keep();
      doc.code.focus();
      return;
    }
    if (session !== this.sessions.session) return;
    this.repl.offer(loading(path), `${path} is not text. The code at the prompt reads it.`);
  }

  /**
   * @param {string} path
   * @param {KeptSession} session
   * @returns {Promise<Doc | null>} null if the file is not text, or this session is not open any more
   */
  async openTab(path, session) {
    const bytes = this.docOf(path) ? null : await session.readFile(path);
    if (session !== this.sessions.session) return null;
    const there = this.docOf(path); // since a moment ago, perhaps
    if (there) return there;
    const opened = bytes && textOf(path, bytes);
    if (!opened) return null;
    /** @type {Doc} */
    const doc = {
      path,
      code: this.codeOf(path, opened.text, () => doc),
      kept: opened.text,
      json: opened.json,
      opened: opened.json,
    };
    doc.code.element.hidden = true;
    this.place.append(doc.code.element);
    this.docs.push(doc);
    if (doc.json) showStored(doc.code, doc.json, this.repl, this.clearedOf(path));
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
      onChange: () => this.keepSoon(own()),
      onMove: () => this.nameRun(),
      onRun: (how, at) => this.run(how, at),
      onSave: () => void this.flush().then(() => this.saySaved(own())),
      onGone: (blocks, isEdit) => {
        const keys = drop(blocks, this.repl);
        if (!isEdit) this.keepCleared(path, [...new Set([...this.clearedOf(path), ...keys])]);
      },
      query: (method, args) => this.engine.query(method, args),
    });
  }

  /** @param {Doc | null} doc */
  show(doc) {
    this.shown = doc;
    for (const { code } of this.docs) code.element.hidden = code !== doc?.code;
    doc?.code.view.requestMeasure();
    this.drawTabs();
    this.drawFiles();
    this.nameRun();
  }

  /**
   * @param {Doc} doc
   * @param {boolean} isKept whether the file still exists
   */
  close(doc, isKept = true) {
    if (isKept) void this.flush();
    clearTimeout(doc.timer);
    const at = this.docs.indexOf(doc);
    const hadFocus = this.place.contains(document.activeElement) || this.tabs.contains(document.activeElement);
    this.docs.splice(at, 1);
    doc.code.close();
    if (this.shown === doc) this.show(this.docs[at] ?? this.docs[at - 1] ?? null);
    else this.drawTabs();
    if (hadFocus) this.focus();
    this.keep();
  }

  drawTabs() {
    const tabs = this.docs.map((doc) => {
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
    const { files } = this.sessions.session;
    /** @type {Map<string, number | null>} */
    const sizes = new Map(files);
    for (const path of this.unkept) sizes.set(path, null);
    this.tree.draw(sizes, this.shown?.path ?? null);
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
    const changed = this.docs.filter((doc) => doc.code.text !== doc.kept);
    const files = changed.map((doc) => {
      clearTimeout(doc.timer);
      doc.kept = doc.code.text;
      return fileOf(doc);
    });
    if (files.length) await this.write(files, [], session);
    await session.queue;
  }

  /** The files whose text is not in the browser's storage. */
  get unstored() {
    return this.docs.filter((doc) => doc.code.text !== doc.kept || !this.isStored(doc));
  }

  /** @param {Doc} doc as it was saved last */
  isStored({ path }) {
    return !this.sessions.session.dirtyFiles.has(path) && !this.unkept.has(path);
  }

  /** @param {Doc} doc */
  saySaved(doc) {
    this.say(this.isStored(doc) ? "Saved in this browser." : "Not saved in this browser; Python has the file.");
  }

  /** The page or the session is left, and the store may not be written any more. */
  leave() {
    const typed = this.unstored.map(({ path, code }) => ({ path, text: code.text }));
    if (typed.length) keepUnstored(this.sessions.session.about.id, typed);
  }

  // Running ----------------------------------------------------------------------------------------

  /** Show the Interrupt button while something runs, after a delay: otherwise it would flicker. */
  showStop() {
    clearTimeout(this.patience);
    if (!this.engine.isWorking) {
      if (this.stopButton === document.activeElement) this.focus(); // or nothing would have it
      this.stopButton.hidden = true;
    } else this.patience = setTimeout(() => this.stopButton.removeAttribute("hidden"), STOP_AFTER_MS);
  }

  nameRun() {
    const { shown } = this;
    const isRunnable = shown !== null && isProgram(shown.path);
    for (const made of [this.runAllButton, this.runButton]) made.disabled = !isRunnable;
    this.runButton.textContent = shown?.code.selection ? "Run selection" : "Run cell";
  }

  /**
   * @param {import("./code.js").How} how
   * @param {number} [at] start of the cell to run
   */
  run(how, at) {
    const doc = this.shown;
    if (!doc || !isProgram(doc.path)) return;
    void this.flush();
    run(doc.code, this.repl, how, at, { say: (words) => this.say(words), path: doc.path });
  }

  /**
   * @param {string} words
   * @param {...Node} more
   */
  say(words, ...more) {
    this.said.replaceChildren(words, ...more);
    this.beSilentSoon();
  }

  /** Remove what is said, unless its button has the focus. */
  beSilentSoon() {
    clearTimeout(this.silence);
    this.silence = setTimeout(() => {
      if (this.said.contains(document.activeElement)) this.beSilentSoon();
      else this.said.replaceChildren();
    }, SAID_FOR_MS);
  }
}

/**
 * @param {Doc} doc
 * @returns {KeptFile} its file, as it is to be saved
 */
function fileOf(doc) {
  const { path, code } = doc;
  if (isNotebook(path)) doc.json = notebookOf(code.text, doc.opened);
  return { path, bytes: encoded(isNotebook(path) ? doc.json : code.text) };
}

/**
 * @param {import("../sessions/unstored.js").Typed} typed
 * @param {KeptSession} session
 * @returns {Promise<KeptFile>}
 */
async function fileOfTyped({ path, text }, session) {
  if (!isNotebook(path)) return { path, bytes: encoded(text) };
  const before = await session.readFile(path);
  return { path, bytes: encoded(notebookOf(text, (before && decoded(before)) ?? "")) };
}

/** @param {string} path */
function isProgram(path) {
  return /\.(?:py|ipynb)$/i.test(path);
}

/** @param {string} path */
function isNotebook(path) {
  return /\.ipynb$/i.test(path);
}

/**
 * @param {string} path
 * @param {Uint8Array} bytes
 * @returns {{ text: string, json: string } | null} the text in the editor; null if the file is not text or too long
 */
function textOf(path, bytes) {
  const longest = isNotebook(path) ? LONGEST_NOTEBOOK : LONGEST_TEXT;
  const text = bytes.byteLength > longest ? null : decoded(bytes);
  if (text === null) return null;
  if (!isNotebook(path) || !text.trim()) return { text: text.replaceAll(/\r\n?/g, "\n"), json: "" };
  try {
    return { text: programOf(text), json: text };
  } catch {
    return null;
  }
}

/** @param {string} text */
function encoded(text) {
  return new TextEncoder().encode(text);
}

/** @param {Uint8Array} bytes */
function decoded(bytes) {
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    return text.includes("\0") ? null : text;
  } catch {
    return null;
  }
}

/**
 * @param {string} path of a file that is not text
 * @returns {string} code that reads it
 */
function loading(path) {
  const name = JSON.stringify(path);
  if (/\.np[yz]$/i.test(path)) return `pt.load(${name})`;
  if (/\.(?:png|jpe?g|webp|gif|bmp|avif)$/i.test(path)) return `pt.imshow(pt.imread(${name}))`;
  if (/\.whl$/i.test(path)) return `import micropip\nawait micropip.install("emfs:/home/pyodide/" + ${name})`;
  return `open(${name}, "rb").read()`;
}
