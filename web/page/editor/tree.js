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
 * @typedef {{ files: string[], folders: Map<string, Folder> }} Folder
 */

export class Tree {
  /** @param {TreeEvents} events */
  constructor(events) {
    this.events = events;
    this.list = h("div", { className: "files-list" });
    this.element = h("div", { className: "files", role: "group", ariaLabel: "Files" }, this.list);
    /** @type {Map<string, number | null>} */
    this.sizes = new Map();
    /** @type {string | null} */
    this.shown = null;
    /** The folders that were closed. @type {Set<string>} */
    this.closed = new Set();
  }

  /**
   * @param {Map<string, number | null>} sizes by path; null: it is not stored
   * @param {string | null} shown whose text is in the editor
   */
  draw(sizes, shown) {
    this.sizes = sizes;
    this.shown = shown;
    if (this.list.querySelector("input")) return; // a name is being edited
    const { focused } = this;
    const place = document.activeElement?.className ?? "";
    const next = focused !== null && !sizes.has(focused) ? this.neighbourOf(focused) : null;
    /** @type {Folder} */
    const root = { files: [], folders: new Map() };
    for (const path of [...sizes.keys()].sort()) {
      let folder = root;
      for (const name of path.split("/").slice(0, -1)) {
        const found = folder.folders.get(name) ?? { files: [], folders: new Map() };
        folder.folders.set(name, found);
        folder = found;
      }
      folder.files.push(path);
    }
    this.list.replaceChildren(
      sizes.size ? this.drawFolder(root, "") : h("p", { className: "files-none" }, "No files yet. Drop some here."),
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
    const isThere = (/** @type {string} */ other) => this.sizes.has(other);
    return paths.slice(at + 1).find(isThere) ?? paths.slice(0, Math.max(0, at)).findLast(isThere) ?? null;
  }

  /**
   * @param {Folder} folder
   * @param {string} path
   * @returns {HTMLElement}
   */
  drawFolder({ files, folders }, path) {
    const inner = [...folders].map(([name, folder]) => {
      const whole = `${path}${name}/`;
      const details = h("details", { open: !this.closed.has(whole) }, h("summary", {}, `${name}/`));
      details.append(this.drawFolder(folder, whole));
      details.addEventListener("toggle", () => {
        if (details.open) this.closed.delete(whole);
        else this.closed.add(whole);
      });
      return h("li", {}, details);
    });
    return h("ul", {}, ...inner, ...files.map((file) => this.drawFile(file)));
  }

  /** @param {string} path */
  drawFile(path) {
    const name = path.split("/").at(-1) ?? path;
    const size = this.sizes.get(path) ?? null;
    const open = h("button", { type: "button", className: "file-name" }, name);
    open.title = size === null ? `${path} (not saved)` : `${path} (${inBytes(size)})`;
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
    if (size === null) row.append(h("span", { className: "file-lost" }, "not saved"));
    else {
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
      this.draw(this.sizes, this.shown);
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
