/** Links that carry code, and the session as files: the menu in the console's foot. */

import { copyText } from "../ui/copying.js";
import { byId, h } from "../ui/dom.js";
import { saveFile } from "../ui/saving.js";
import { notebookOf, scriptOf } from "./export.js";
import { codeOf, hashOf } from "./link.js";

/** @typedef {import("./console.js").Console} Console */
/** @typedef {import("./export.js").Cell} Cell */

const FROM_A_LINK = "The code below came with the link. Read it, then press Enter to run it.";
const SAID_FOR_MS = 8000;

export class Sharing {
  /** @param {Console} repl */
  constructor(repl) {
    this.repl = repl;
    /** The address whose code was shown last. */
    this.taken = "";
    this.summary = h("summary", { className: "button quiet" }, "Share");
    this.inputItem = this.item("", () => this.copyLink(this.inputOrLast()));
    const items = [
      this.inputItem,
      this.item("Copy a link to the session", () => {
        const cells = this.repl.transcript.cells();
        void this.copyLink(this.session(cells), leftOut(cells));
      }),
      this.item("Save as a script (.py)", () => {
        const cells = this.repl.transcript.cells();
        saveFile("py_tensor_session.py", "text/x-python", scriptOf(cells));
        this.say(`Script saved.${leftOut(cells)}`);
      }),
      this.item("Save as a notebook (.ipynb)", async () => {
        const notebook = JSON.stringify(await notebookOf(this.repl.transcript.cells()), null, 1);
        saveFile("py_tensor_session.ipynb", "application/x-ipynb+json", notebook);
        this.say("Notebook saved, with its outputs.");
      }),
    ];
    this.menu = h(
      "details",
      { className: "share", id: "share" },
      this.summary,
      h("div", { className: "menu" }, ...items),
    );
    this.menu.addEventListener("toggle", () => this.nameInput());
    this.nameInput();
    this.said = h("span", { className: "said" });
    this.said.setAttribute("role", "status");
    byId("keys").after(h("div", { className: "sharing" }, this.said, this.menu));
    this.closeByItself();
    window.addEventListener("hashchange", () => this.takeFromAddress());
    this.takeFromAddress();
  }

  /** Code that comes with a link is shown, never run by itself. */
  async takeFromAddress() {
    const { hash } = location;
    if (hash === this.taken) return; // one came back to it; what the code has become meanwhile stays
    const code = await codeOf(hash);
    if (code === null) return;
    this.taken = hash;
    this.repl.offer(code, FROM_A_LINK);
  }

  /**
   * @param {string} words
   * @param {() => void} onClick
   */
  item(words, onClick) {
    const item = h("button", { type: "button", textContent: words });
    item.addEventListener("click", () => {
      this.menu.open = false;
      this.summary.focus();
      onClick();
    });
    return item;
  }

  /** As menus do: on Escape, and when something else is clicked or has the focus. */
  closeByItself() {
    this.menu.addEventListener("keydown", (event) => {
      if (event.key !== "Escape" || !this.menu.open) return;
      event.preventDefault();
      this.menu.open = false;
      this.summary.focus();
    });
    for (const type of ["click", "focusin"]) {
      document.addEventListener(type, ({ target }) => {
        if (target instanceof Node && !this.menu.contains(target)) this.menu.open = false;
      });
    }
  }

  /**
   * As a transcript, whose prompts part one input from the next; what is being typed comes last.
   *
   * @param {Cell[]} cells of which those count that ran without failing
   */
  session(cells) {
    const ran = cells.filter(({ ok }) => ok).map(({ source }) => source);
    const sources = [...ran, this.repl.editor.text.trimEnd()];
    return sources
      .filter(Boolean)
      .map((source) => `>>> ${source.replaceAll("\n", "\n... ")}`)
      .join("\n");
  }

  nameInput() {
    const which = this.repl.editor.text.trimEnd() ? "this input" : "the last input that ran";
    this.inputItem.textContent = `Copy a link to ${which}`;
  }

  /** What is being typed; else the last input that ran without failing. */
  inputOrLast() {
    const last = this.repl.transcript.cells().findLast(({ ok }) => ok);
    return this.repl.editor.text.trimEnd() || (last?.source ?? "");
  }

  /**
   * @param {string} code
   * @param {string} [more] what is said beside it
   */
  async copyLink(code, more = "") {
    if (!code) {
      this.say(`No inputs yet.${more}`);
      return;
    }
    let link = "";
    try {
      link = new URL(await hashOf(code), location.href.split("#")[0]).href;
    } catch (error) {
      this.say(error instanceof RangeError ? "This is too long for a link." : "The link could not be created.");
      return;
    }
    if (await copyText(link)) this.say(`Link copied (${link.length} characters).${more}`);
  }

  /** @param {string} words */
  say(words) {
    this.said.textContent = words;
    clearTimeout(this.silence);
    this.silence = setTimeout(() => this.said.replaceChildren(), SAID_FOR_MS);
  }
}

/**
 * @param {Cell[]} cells
 * @returns {string} what is said of those that a script or a link does not hold
 */
function leftOut(cells) {
  const count = cells.filter(({ ok }) => !ok).length;
  if (!count) return "";
  return count === 1
    ? " One input that did not finish is left out."
    : ` ${count} inputs that did not finish are left out.`;
}
