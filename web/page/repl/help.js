/** The help panel below the transcript: signature, docstring and source of an object. */

import { entryNamed } from "../reference/entries.js";
import { cut, cutLabel } from "../ui/bounds.js";
import { h } from "../ui/dom.js";
import { highlightedLines } from "../ui/highlight.js";
import { inline } from "../ui/prose.js";

/**
 * @typedef {object} Help facts about an object from Python (inspection.py)
 * @property {string} name
 * @property {string} kind
 * @property {string | null} signature
 * @property {[label: string, text: string][]} facts
 * @property {Block[]} doc
 * @property {string | null} source
 * @property {string[]} [names] names under which the reference may list it
 *
 * @typedef {{ heading: string } | { text: string } | { code: string } | { items: string[] }
 *   | { terms: { term: string, type: string, text: string }[] }} Block
 */

/** Characters of a signature, an example or a source. */
const MAX_CODE = 20_000;

export class HelpPanel {
  /**
   * @param {HTMLElement} above the panel is inserted after it
   * @param {() => void} onClose
   */
  constructor(above, onClose) {
    this.onClose = onClose;
    this.element = h("section", { className: "help", hidden: true, tabIndex: 0 });
    above.after(this.element);
  }

  get isOpen() {
    return !this.element.hidden;
  }

  /** @param {Help} help */
  show(help) {
    const close = h("button", { type: "button", className: "button quiet", textContent: "Close" });
    close.addEventListener("click", () => this.close());
    const head = h(
      "header",
      {},
      h("h2", {}, h("code", {}, cutLabel(help.name)), " ", h("small", {}, help.kind)),
      close,
    );
    this.element.setAttribute("aria-label", `Help on ${cutLabel(help.name)}`);
    this.element.replaceChildren(head, ...rendered(help));
    this.element.hidden = false;
    this.element.scrollTop = 0;
    this.element.scrollIntoView({ block: "nearest" });
    void this.addReference(help, head);
  }

  /**
   * Add the link to its entry in the reference, and the entry's example if the docstring has none.
   *
   * @param {Help} help
   * @param {HTMLElement} head
   */
  async addReference({ names, doc, source }, head) {
    if (!names?.length) return;
    const entry = await entryNamed(names).catch(() => null); // without the reference the docstring is enough
    if (!entry || !head.isConnected) return;
    head.lastElementChild?.before(h("a", { href: `#reference/${entry.name}` }, "Reference"));
    if (!entry.example || doc.some((part) => "code" in part)) return;
    const parts = [h("h3", {}, "Example"), code(entry.example, "")];
    const before = source === null ? null : [...this.element.querySelectorAll("h3")].at(-1);
    if (before) before.before(...parts);
    else this.element.append(...parts);
  }

  close() {
    this.element.hidden = true;
    this.onClose();
  }
}

/** @param {Help} help */
function rendered({ name, signature, facts, doc, source }) {
  /** @type {Node[]} */
  const parts = [];
  if (signature !== null) parts.push(code(`${name}${signature}`, "help-signature"));
  if (facts.length) parts.push(h("dl", { className: "help-facts" }, ...facts.flatMap(fact)));
  parts.push(...doc.map(block));
  if (!doc.length && source === null) parts.push(h("p", { className: "help-nothing" }, "No docstring."));
  if (source !== null) parts.push(h("h3", {}, "Source"), code(source, ""));
  return parts;
}

/** @param {[string, string]} fact */
function fact([label, text]) {
  return [h("dt", {}, label), h("dd", {}, h("code", {}, cutLabel(text)))];
}

/** @param {Block} part */
function block(part) {
  if ("heading" in part) return h("h3", {}, part.heading);
  if ("code" in part) return code(part.code, "");
  if ("items" in part) return h("ul", {}, ...part.items.map((item) => h("li", {}, ...inline(item))));
  if ("text" in part) return h("p", {}, ...inline(part.text));
  return h("dl", { className: "help-terms" }, ...part.terms.flatMap(term));
}

/** @param {{ term: string, type: string, text: string }} entry */
function term({ term, type, text }) {
  const head = h("dt", {}, h("code", {}, term));
  if (type) head.append(" ", h("span", { className: "help-type" }, type));
  const paragraphs = text ? text.split("\n\n") : [];
  return [head, h("dd", {}, ...paragraphs.map((paragraph) => h("p", {}, ...inline(paragraph))))];
}

/**
 * @param {string} text Python code, possibly with prompts
 * @param {string} className
 */
function code(text, className) {
  const lines = highlightedLines(cut(text, MAX_CODE)).flatMap((pieces, index) => (index ? ["\n", ...pieces] : pieces));
  return h("pre", { className, tabIndex: 0 }, h("code", {}, ...lines));
}
