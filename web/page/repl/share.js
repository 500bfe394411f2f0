/** Links that carry code, and the session as files: the menu in the console's foot. */

import { count } from "../sessions/words.js";
import { copyText } from "../ui/copying.js";
import { button, byId, h, howToRun } from "../ui/dom.js";
import { Menu } from "../ui/menu.js";
import { saveFile } from "../ui/saving.js";
import { cellsOf, notebookOf } from "./export.js";
import { codeOf, hashOf } from "./link.js";
import { scriptOf } from "./script.js";

/** @typedef {import("./console.js").Console} Console */
/** @typedef {import("./export.js").Cell & { isCleared: boolean }} Cell */
/** @typedef {import("../sessions/sessions.js").Sessions} Sessions */

const FROM_A_LINK = "This code came with the link. Check it, then";
const SAID_FOR_MS = 8000;

export class Sharing {
  /**
   * @param {Console} repl
   * @param {Sessions} sessions
   */
  constructor(repl, sessions) {
    this.repl = repl;
    this.sessions = sessions;
    /** The URL whose code was shown last. */
    this.taken = "";
    this.inputItem = button("", "", () => void this.copyLink(this.inputOrLast()));
    this.withCleared = h("input", { type: "checkbox" });
    this.clearedCount = h("span");
    this.choice = h("label", {}, this.withCleared, this.clearedCount);
    const items = [
      this.inputItem,
      button("Copy a link to the session", "", () => {
        const { cells } = this;
        void this.copyLink(this.session(cells), `: ${included(ranIn(cells))}`, leftOut(cells));
      }),
      button("Save as a script (.py)", "", () => {
        const ran = ranIn(this.cells);
        saveFile("py_tensor_session.py", "text/x-python", scriptOf(ran.map(({ source }) => source)));
        this.say(`Script saved: ${included(ran)}.${leftOut(this.cells)}`);
      }),
      button("Save as a notebook (.ipynb)", "", async () => {
        const { cells } = this;
        const notebook = JSON.stringify(await notebookOf(cells), null, 1);
        saveFile("py_tensor_session.ipynb", "application/x-ipynb+json", notebook);
        this.say(`Notebook saved, with its outputs: ${included(cells)}.`);
      }),
      this.choice,
    ];
    const menu = new Menu("Share", items).element;
    menu.id = "share";
    menu.addEventListener("toggle", () => this.nameItems());
    for (const type of ["cleared", "opened"]) {
      sessions.addEventListener(type, () => {
        this.withCleared.checked = false; // the choice was made for other inputs
      });
    }
    this.nameItems();
    this.said = h("span", { className: "said" });
    this.said.setAttribute("role", "status");
    byId("keys").after(h("div", { className: "sharing" }, this.said, menu));
    window.addEventListener("hashchange", () => this.takeFromAddress());
    this.takeFromAddress();
  }

  /** Code from a link is shown but never run automatically. */
  async takeFromAddress() {
    const { hash } = location;
    if (hash === this.taken) return; // the user came back to the link: keep the edited code
    const code = await codeOf(hash);
    if (code === null) return;
    this.taken = hash;
    this.repl.offer(code, `${FROM_A_LINK} ${howToRun()} to run it.`);
  }

  /** The inputs of the console and the editor in their order in the session, cleared ones only if chosen. */
  get cells() {
    const { inputs } = this.sessions.session;
    return cellsIn(this.withCleared.checked ? inputs : inputs.filter(({ isCleared }) => !isCleared));
  }

  /**
   * As a transcript, whose prompts separate the inputs; the text at the prompt comes last.
   *
   * @param {Cell[]} cells only those that ran without failing are used
   */
  session(cells) {
    const sources = [...ranIn(cells).map(({ source }) => source), this.repl.editor.text.trimEnd()];
    return sources
      .filter(Boolean)
      .map((source) => `>>> ${source.replaceAll("\n", "\n... ")}`)
      .join("\n");
  }

  nameItems() {
    const which = this.repl.editor.text.trimEnd() ? "this input" : "the last input that ran";
    this.inputItem.textContent = `Copy a link to ${which}`;
    const cleared = cellsIn(this.sessions.session.inputs).filter(({ isCleared }) => isCleared).length;
    this.choice.hidden = cleared === 0;
    this.clearedCount.textContent = `Include ${count(cleared, "cleared input")}`;
  }

  /** The text at the prompt; if empty, the last input in view that ran without failing. */
  inputOrLast() {
    const text = this.repl.editor.text.trimEnd();
    if (text) return text;
    const inputs = [...this.sessions.session.inputs].sort((a, b) => a.at - b.at); // a cell may have run again
    return cellsIn(inputs).findLast(({ ok, isCleared }) => ok && !isCleared)?.source ?? "";
  }

  /**
   * @param {string} code
   * @param {string} [contents] what it contains, for the message
   * @param {string} [left] what it does not contain
   */
  async copyLink(code, contents = "", left = "") {
    if (!code) {
      this.say(`No inputs yet.${left}`);
      return;
    }
    let link = "";
    try {
      link = new URL(await hashOf(code), location.href.split("#")[0]).href;
    } catch (error) {
      this.say(error instanceof RangeError ? "This is too long for a link." : "The link could not be created.");
      return;
    }
    if (await copyText(link)) this.say(`Link copied (${link.length} characters)${contents}.${left}`);
  }

  /** @param {string} words */
  say(words) {
    this.said.textContent = words;
    clearTimeout(this.silence);
    this.silence = setTimeout(() => this.said.replaceChildren(), SAID_FOR_MS);
  }
}

/**
 * @param {import("../sessions/kept.js").Input[]} inputs
 * @returns {Cell[]}
 */
function cellsIn(inputs) {
  return inputs.flatMap(({ entry, isCleared }) => cellsOf([entry.element]).map((cell) => ({ ...cell, isCleared })));
}

/**
 * @param {Cell[]} cells
 * @returns {Cell[]} those that ran without failing
 */
function ranIn(cells) {
  return cells.filter(({ ok }) => ok);
}

/**
 * @param {Cell[]} cells of a script, a notebook or a link
 * @returns {string} such as "3 inputs, 1 of them cleared"
 */
function included(cells) {
  const cleared = cells.filter(({ isCleared }) => isCleared).length;
  return count(cells.length, "input") + (cleared ? `, ${cleared} of them cleared` : "");
}

/**
 * @param {Cell[]} cells
 * @returns {string} a note about the inputs that a script or link leaves out
 */
function leftOut(cells) {
  const count = cells.filter(({ ok }) => !ok).length;
  if (!count) return "";
  return count === 1
    ? " One input that failed or did not finish is left out."
    : ` ${count} inputs that failed or did not finish are left out.`;
}
