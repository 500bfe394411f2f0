/** The files of the session, by folder, with the actions on each. */

import { inBytes } from "../ui/bytes.js";
import { h, svg } from "../ui/dom.js";

/**
 * @typedef {object} TreeEvents
 * @property {(path: string) => void} onOpen
 * @property {(path: string) => void} onDownload
 * @property {(path: string) => void} onRemove
 * @property {(path: string, to: string) => void} onRename
 *
 * @typedef {object} Listed a file in the list
 * @property {number} size
 * @property {boolean} isSaved whether its present content is stored
 * @property {boolean} isHere whether the page has its present content; else only Python has
 *
 * @typedef {{ files: string[], folders: Map<string, Folder> }} Folder
 */

/** So many files or folders of a folder are drawn at first, and so many more by a click. */
const MAX_ROWS = 200;
/** If there are more files, folders are closed at first. */
const MAX_OPEN = 200;
/** Folders within so many others are not drawn as folders, but as a part of the names of their files. */
const MAX_DEPTH = 12;

export class Tree {
  /** @param {TreeEvents} events */
  constructor(events) {
    this.events = events;
    this.list = h("div", { className: "files-list" });
    this.element = h("div", { className: "files", role: "group", ariaLabel: "Files" }, this.list);
    /** @type {Map<string, Listed>} */
    this.listed = new Map();
    /** @type {string | null} */
    this.shown = null;
    /** The folders that the user has opened (true) or closed. @type {Map<string, boolean>} */
    this.toggled = new Map();
    /** How many rows of a folder are drawn, if more than at first. @type {Map<string, number>} */
    this.limits = new Map();
    /** What is drawn, except for the sizes, which change at every keystroke. */
    this.drawn = "";
  }

  /**
   * @param {Map<string, Listed>} listed the files by path
   * @param {string | null} shown whose text is in the editor
   */
  draw(listed, shown) {
    this.listed = listed;
    this.shown = shown;
    if (this.list.querySelector("input")) return; // a name is being edited
    const paths = [...listed.keys()].sort();
    const flags = paths.map((path) => Number(listed.get(path)?.isSaved) + 2 * Number(listed.get(path)?.isHere));
    const drawn = JSON.stringify([paths, flags, shown]);
    if (drawn === this.drawn) this.nameSizes();
    else this.redraw(paths);
    this.drawn = drawn;
  }

  /** Show the present sizes. */
  nameSizes() {
    for (const row of /** @type {NodeListOf<HTMLElement>} */ (this.list.querySelectorAll(".file"))) {
      const path = row.dataset.path ?? "";
      const title = this.titleOf(path);
      const name = /** @type {HTMLElement} */ (row.querySelector(".file-name"));
      if (name.title !== title) name.title = title;
    }
  }

  /** @param {string[]} paths in order */
  redraw(paths) {
    const { focused } = this;
    const place = document.activeElement?.className ?? "";
    const next = focused !== null && !this.listed.has(focused) ? this.neighbourOf(focused) : null;
    /** @type {Folder} */
    const root = { files: [], folders: new Map() };
    for (const path of paths) {
      let folder = root;
      for (const name of path.split("/").slice(0, -1).slice(0, MAX_DEPTH)) {
        const inner = folder.folders.get(name) ?? { files: [], folders: new Map() };
        folder.folders.set(name, inner);
        folder = inner;
      }
      folder.files.push(path);
    }
    this.list.replaceChildren(
      paths.length ? this.drawFolder(root, "") : h("p", { className: "files-none" }, "No files yet. Drop some here."),
    );
    if (next !== null) this.focus(next);
    else if (focused !== null) this.focus(focused, place);
  }

  /** The file whose entry has the focus. */
  get focused() {
    const row = this.list.contains(document.activeElement) ? document.activeElement?.closest(".file") : null;
    return row?.getAttribute("data-path") ?? null;
  }

  /**
   * @param {string} path
   * @param {string} [place] which part of its entry
   */
  focus(path, place = "file-name") {
    const row = this.list.querySelector(`[data-path="${CSS.escape(path)}"]`);
    /** @type {HTMLElement | undefined} */ (row?.getElementsByClassName(place)[0])?.focus();
  }

  /**
   * @param {string} path of a deleted file whose entry still exists
   * @returns {string | null} the file below it, or else above it
   */
  neighbourOf(path) {
    const rows = /** @type {HTMLElement[]} */ ([...this.list.querySelectorAll(".file")]);
    const paths = rows.filter((row) => row.checkVisibility()).map(({ dataset }) => dataset.path ?? "");
    const at = paths.indexOf(path);
    const isThere = (/** @type {string} */ other) => this.listed.has(other);
    return paths.slice(at + 1).find(isThere) ?? paths.slice(0, Math.max(0, at)).findLast(isThere) ?? null;
  }

  /**
   * @param {Folder} folder
   * @param {string} path
   * @returns {HTMLElement}
   */
  drawFolder({ files, folders }, path) {
    const limit = this.limits.get(path) ?? MAX_ROWS;
    const inner = [...folders]
      .slice(0, limit)
      .map(([name, folder]) => this.drawClosable(folder, name, `${path}${name}/`));
    const drawn = files.slice(0, limit);
    if (this.shown !== null && files.indexOf(this.shown) >= limit) drawn.push(this.shown);
    const rows = h("ul", {}, ...inner, ...drawn.map((file) => this.drawFile(file, path)));
    const rest = files.length - drawn.length + Math.max(0, folders.size - limit);
    if (rest > 0) {
      const more = h("button", { type: "button", className: "files-more" }, `Show more (${rest} not shown)`);
      more.addEventListener("click", () => {
        this.limits.set(path, limit + MAX_ROWS);
        const again = this.drawFolder({ files, folders }, path);
        rows.replaceWith(again);
        /** @type {HTMLElement | null} */ (again.querySelector(":scope > li:last-child button"))?.focus();
      });
      rows.append(h("li", {}, more));
    }
    return rows;
  }

  /**
   * A folder, whose contents are drawn once it is open.
   *
   * @param {Folder} folder
   * @param {string} name
   * @param {string} path with a slash at the end
   */
  drawClosable(folder, name, path) {
    const isOpen = this.toggled.get(path) ?? this.listed.size <= MAX_OPEN;
    const details = h("details", { open: isOpen }, h("summary", {}, `${name}/`));
    if (isOpen) details.append(this.drawFolder(folder, path));
    details.addEventListener("toggle", () => {
      this.toggled.set(path, details.open);
      if (details.open && !details.querySelector("ul")) details.append(this.drawFolder(folder, path));
    });
    return h("li", {}, details);
  }

  /** @param {string} path */
  titleOf(path) {
    const { size = 0, isSaved = true } = this.listed.get(path) ?? {};
    return `${path} (${inBytes(size)}${isSaved ? "" : ", not saved"})`;
  }

  /**
   * @param {string} path
   * @param {string} folder
   */
  drawFile(path, folder) {
    const { isSaved = true, isHere = true } = this.listed.get(path) ?? {};
    const open = h("button", { type: "button", className: "file-name" }, path.slice(folder.length));
    open.title = this.titleOf(path);
    if (path === this.shown) open.setAttribute("aria-current", "true");
    open.addEventListener("click", () => this.events.onOpen(path));
    const row = h("li", { className: "file" }, open);
    row.dataset.path = path;
    const act = (/** @type {string | Node} */ sign, /** @type {string} */ verb, /** @type {() => void} */ work) => {
      const made = h("button", { type: "button", className: `file-act ${verb.toLowerCase()}` }, sign);
      made.title = verb;
      made.setAttribute("aria-label", `${verb} ${path}`);
      made.addEventListener("click", work);
      row.append(made);
    };
    if (!isSaved) row.append(h("span", { className: "file-lost" }, "not saved"));
    if (isHere) {
      act("↓", "Download", () => this.events.onDownload(path));
      act("✎", "Rename", () => this.rename(row, path));
    }
    act(bin(), "Delete", () => this.events.onRemove(path));
    return row;
  }

  /**
   * @param {HTMLElement} row
   * @param {string} path
   */
  rename(row, path) {
    const field = h("input", { type: "text", value: path, className: "file-field", spellcheck: false });
    field.setAttribute("aria-label", `New name of ${path}`);
    let isOver = false;
    const end = (/** @type {boolean} */ isMeant) => {
      if (isOver) return;
      isOver = true;
      const to = field.value.trim();
      const hadFocus = document.activeElement === field;
      field.remove();
      this.drawn = ""; // the list may have changed in the meantime
      this.draw(this.listed, this.shown);
      if (hadFocus) this.focus(path);
      if (isMeant && to && to !== path) this.events.onRename(path, to);
    };
    field.addEventListener("keydown", (event) => {
      if (event.isComposing || (event.key !== "Enter" && event.key !== "Escape")) return;
      event.preventDefault();
      end(event.key === "Enter");
    });
    field.addEventListener("blur", () => end(true));
    row.replaceChildren(field);
    field.focus();
    const name = path.lastIndexOf("/") + 1;
    const dot = path.lastIndexOf(".");
    field.setSelectionRange(name, dot > name ? dot : path.length);
  }
}

/** The sign of deletion; a cross closes a tab. */
function bin() {
  const sign = svg("svg", { viewBox: "0 0 16 16", width: 14, height: 14, "aria-hidden": "true" });
  const path = "M2.5 4.5h11M6 4.5v-2h4v2M4 4.5l.5 9h7l.5-9M6.75 7v4M9.25 7v4";
  sign.append(svg("path", { d: path, fill: "none", stroke: "currentcolor", "stroke-width": 1.25 }));
  return sign;
}
