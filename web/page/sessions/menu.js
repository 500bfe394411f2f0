/** The menu of sessions: the name and contents of this one, the others, and the actions on them. */

import { inBytes } from "../ui/bytes.js";
import { button, byId, h } from "../ui/dom.js";
import { openSessions } from "./claim.js";
import { count, moment } from "./words.js";

/** @typedef {import("./sessions.js").Sessions} Sessions */
/** @typedef {import("./store.js").About} About */

const GAP = 6;
const MARGIN = 8;
const NAME_LENGTH = 60;

const RULE =
  "Saved in this browser: inputs, outputs, pictures, the text at the prompt, and files in /home/pyodide. Variables are " +
  "not saved. A session stores up to 32 MiB of output (the oldest output is removed first; inputs stay), and files as " +
  "far as the browser has room.";

export const LEFT_OUT = "Skips inputs that failed or were stopped";

export class SessionMenu {
  /** @param {Sessions} sessions */
  constructor(sessions) {
    this.sessions = sessions;
    this.words = h("span", { className: "session-name" });
    this.button = h("button", { type: "button", className: "button quiet", id: "sessions-button" }, this.words);
    this.button.title = "Sessions saved in this browser";
    this.button.setAttribute("popovertarget", "sessions-panel");
    this.button.setAttribute("aria-expanded", "false");
    this.panel = h("div", { className: "sessions-panel", id: "sessions-panel", popover: "auto" });
    this.panel.setAttribute("role", "dialog");
    this.panel.setAttribute("aria-label", "Sessions");
    byId("sessions").append(this.button, this.panel);
    this.others = h("div");
    this.panel.addEventListener("toggle", (event) => {
      const isOpen = /** @type {ToggleEvent} */ (event).newState === "open";
      this.button.setAttribute("aria-expanded", String(isOpen));
      this.place();
    });
    this.panel.addEventListener("beforetoggle", (event) => {
      if (/** @type {ToggleEvent} */ (event).newState !== "open") return;
      this.others.replaceChildren();
      void this.draw();
    });
    window.addEventListener("resize", () => this.place());
    this.name();
  }

  /** Show the name of this session. */
  name() {
    const { name } = this.sessions.session.about;
    this.words.textContent = name;
    this.button.setAttribute("aria-label", `Sessions. This one: ${name}`);
  }

  /** Show this session at once, so that nothing with the focus is replaced later, and then the others. */
  async draw() {
    const hadFocus = this.panel.contains(document.activeElement);
    this.panel.replaceChildren(
      h("h2", {}, "This session"),
      ...this.thisOne(),
      h(
        "div",
        { className: "sessions-head" },
        h("h2", {}, "Other sessions"),
        this.action("New session", "new", "", () => this.sessions.openNew()),
      ),
      this.others,
      h("p", { className: "sessions-rule" }, RULE),
    );
    if (hadFocus) this.panel.querySelector("input")?.focus();
    this.place();
    const [all, open] = await Promise.all([this.sessions.list(), openSessions().catch(() => new Set())]);
    const rows = all.filter(({ id }) => id !== this.sessions.session.about.id);
    this.others.replaceChildren(
      rows.length
        ? h("ul", {}, ...rows.map((other) => this.row(other, open.has(other.id))))
        : h("p", { className: "sessions-facts" }, "None."),
    );
    this.place();
  }

  /** @returns {HTMLElement[]} */
  thisOne() {
    const { session, problem } = this.sessions;
    const { about } = session;
    session.count(); // including what is not written yet
    const field = h("input", { type: "text", value: about.name, maxLength: NAME_LENGTH, className: "session-field" });
    field.setAttribute("aria-label", "Name of this session");
    field.addEventListener("change", () => void this.sessions.rename(field.value));
    field.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" || event.isComposing) return;
      event.preventDefault(); // otherwise the prompt gets the Enter
      void this.sessions.rename(field.value);
      this.panel.hidePopover();
      this.sessions.repl.focus();
    });
    const controls = this.sessions.againControls();
    controls[0].addEventListener("click", () => this.panel.hidePopover());
    const { size } = session.unsaved;
    const unsaved = size ? `${count(size, "file")} ${size === 1 ? "is" : "are"} not saved.` : "";
    const sentences = [problem, unsaved].filter(Boolean).join(" ");
    const problems = sentences ? [h("p", { className: "sessions-problem" }, sentences)] : [];
    return [
      field,
      h("p", { className: "sessions-facts" }, factsOf(about)),
      ...problems,
      h(
        "div",
        { className: "sessions-actions" },
        ...controls,
        this.action("Clear", "", "Clear inputs, outputs and files", () => this.sessions.clear()),
        this.action("Delete", "", "Delete for good", () => this.sessions.remove(about)),
      ),
    ];
  }

  /**
   * @param {About} other
   * @param {boolean} isOpen in another tab
   */
  row(other, isOpen) {
    const facts = isOpen ? "open in another tab" : `${moment(other.changed)} · ${factsOf(other)}`;
    const label = h("span", {}, h("span", { className: "session-title" }, other.name));
    label.append(h("span", { className: "sessions-facts" }, facts));
    const open = this.action("", "", "", async () => {
      if (isOpen) await this.sessions.openCopy(other);
      else if (!(await this.sessions.open(other))) await this.draw();
    });
    open.className = "session-row";
    open.replaceChildren(label, h("span", { className: "session-verb" }, isOpen ? "Open a copy" : "Open"));
    const row = h("li", {}, open);
    if (!isOpen) {
      const remove = this.action("Delete", "stays", "Delete for good", async () => {
        await this.sessions.remove(other);
        await this.draw();
      });
      remove.setAttribute("aria-label", `Delete ${other.name}`);
      row.append(remove);
    }
    return row;
  }

  /**
   * A button that closes the menu, and asks for confirmation if something would be lost.
   *
   * @param {string} words
   * @param {string} kind "stays": the menu stays open
   * @param {string} question the label of the confirming click; "": no confirmation, unless something runs
   * @param {() => Promise<unknown>} act
   */
  action(words, kind, question, act) {
    const { engine } = this.sessions;
    let isAsked = false;
    const made = button(words, "button", () => {
      const asked = question || (engine.isWorking && kind !== "stays" ? "Stop running code" : "");
      if (asked && !isAsked) {
        isAsked = true;
        const before = [...made.childNodes];
        const label = made.getAttribute("aria-label");
        made.replaceChildren(asked);
        made.removeAttribute("aria-label");
        made.classList.add("danger");
        made.addEventListener(
          "blur",
          () => {
            isAsked = false;
            made.replaceChildren(...before);
            if (label) made.setAttribute("aria-label", label);
            made.classList.remove("danger");
          },
          { once: true },
        );
        return;
      }
      if (kind !== "stays") this.panel.hidePopover();
      void act();
    });
    return made;
  }

  /** Below the button, aligned with its right end if the window is wide enough. */
  place() {
    if (!this.panel.matches(":popover-open")) return;
    const { bottom, right } = this.button.getBoundingClientRect();
    const width = this.panel.offsetWidth;
    const left = Math.min(right - width, document.documentElement.clientWidth - width - MARGIN);
    this.panel.style.top = `${bottom + GAP}px`;
    this.panel.style.left = `${Math.max(MARGIN, left)}px`;
    this.panel.style.maxHeight = `${window.innerHeight - bottom - GAP - MARGIN}px`;
  }
}

/** @param {About} about */
function factsOf({ inputs, bytes, files, fileBytes }) {
  const kept = bytes + fileBytes;
  return [count(inputs, "input"), ...(files ? [count(files, "file")] : []), ...(kept ? [inBytes(kept)] : [])].join(
    " · ",
  );
}
