/** Links that carry code, and the session as files: the menu in the console's foot. */

import { byId, h } from "../ui/dom.js";
import { saveFile } from "../ui/saving.js";
import { notebookOf, scriptOf } from "./export.js";
import { codeOf, hashOf } from "./link.js";

/** @typedef {import("./console.js").Console} Console */

const FROM_A_LINK = "The code below came with the link. Read it, then press Enter to run it.";
const BY_HAND = "The browser blocked copying. Here is the link:";
const SAID_FOR_MS = 2500;

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
      this.item("Copy a link to the session", () => this.copyLink(this.session())),
      this.item("Save as a script (.py)", () =>
        saveFile("py_tensor_session.py", "text/x-python", scriptOf(this.repl.transcript.cells())),
      ),
      this.item("Save as a notebook (.ipynb)", () => {
        const notebook = JSON.stringify(notebookOf(this.repl.transcript.cells()), null, 1);
        saveFile("py_tensor_session.ipynb", "application/x-ipynb+json", notebook);
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
    this.link = h("input", { className: "link", readOnly: true, type: "text" });
    this.link.setAttribute("aria-label", "Link to copy by hand");
    this.byHand = h("div", { className: "by-hand", hidden: true }, h("p", { className: "words" }, BY_HAND), this.link);
    byId("keys").after(h("div", { className: "sharing" }, this.said, this.menu, this.byHand));
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
    this.byHand.addEventListener("keydown", (event) => {
      if (event.key !== "Escape") return;
      this.byHand.hidden = true;
      this.summary.focus();
    });
    for (const type of ["click", "focusin"]) {
      document.addEventListener(type, ({ target }) => {
        if (!(target instanceof Node)) return;
        if (!this.menu.contains(target)) this.menu.open = false;
        if (!this.byHand.contains(target)) this.byHand.hidden = true;
      });
    }
  }

  /** As a transcript, whose prompts part one input from the next; what is being typed comes last. */
  session() {
    const sources = [...this.repl.transcript.cells().map(({ source }) => source), this.repl.editor.text.trimEnd()];
    return sources
      .filter(Boolean)
      .map((source) => `>>> ${source.replaceAll("\n", "\n... ")}`)
      .join("\n");
  }

  nameInput() {
    const which = this.repl.editor.text.trimEnd() ? "this" : "the last";
    this.inputItem.textContent = `Copy a link to ${which} input`;
  }

  /** What is being typed; else what was entered last. */
  inputOrLast() {
    return this.repl.editor.text.trimEnd() || (this.repl.transcript.cells().at(-1)?.source ?? "");
  }

  /** @param {string} code */
  async copyLink(code) {
    if (!code) {
      this.say("No inputs yet.");
      return;
    }
    let link = "";
    try {
      link = new URL(await hashOf(code), location.href.split("#")[0]).href;
      await navigator.clipboard.writeText(link);
      this.say(`Link copied (${link.length} characters).`);
    } catch (error) {
      if (link) this.offer(link);
      else this.say(error instanceof RangeError ? "This is too long for a link." : "The link could not be created.");
    }
  }

  /** @param {string} link to be copied by hand: the browser refuses, or the page is on no secure origin */
  offer(link) {
    this.link.value = link;
    this.byHand.hidden = false;
    this.link.focus();
    this.link.select();
  }

  /** @param {string} words */
  say(words) {
    this.said.textContent = words;
    clearTimeout(this.silence);
    this.silence = setTimeout(() => this.said.replaceChildren(), SAID_FOR_MS);
  }
}
