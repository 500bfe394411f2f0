/** The gallery: cards, and a page for each example with its code. */

import { urlOf } from "../../worker/files.js";
import { copyButton } from "../ui/copying.js";
import { button, byId, focusHeading, h, howToRun } from "../ui/dom.js";
import { codeBlock, highlightedPython } from "../ui/highlight.js";
import { InPlace } from "../ui/in_place.js";
import { paragraphs } from "../ui/prose.js";
import { showConsole } from "../ui/tabs.js";
import { Filters } from "./filters.js";
import { MandelbrotZoom } from "./mandelbrot.js";

/** @typedef {import("../engine.js").Engine} Engine */
/** @typedef {import("../repl/console.js").Console} Console */

/**
 * @typedef {object} Example (web/build/examples.py)
 * @property {string} name
 * @property {string} title
 * @property {string} line
 * @property {string} text
 * @property {string} code
 *
 * @typedef {object} Live the interactive part of an example's page
 * @property {HTMLElement} element
 * @property {() => void} start its page is shown
 * @property {() => void} stop its page is left
 */

/** @type {Record<string, new (engine: Engine, example: Example) => Live>} */
const LIVE = { mandelbrot: MandelbrotZoom, filters: Filters };

/** @param {import("../views.js").Parts} parts */
export function open(parts) {
  return new Gallery(parts);
}

class Gallery {
  /** @param {import("../views.js").Parts} parts */
  constructor(parts) {
    this.parts = parts;
    this.engine = parts.engine;
    this.repl = parts.repl;
    /** The example programs as edited, by name. @type {Map<string, InPlace>} */
    this.programs = new Map();
    this.root = byId("panel-gallery");
    /** @type {Live | null} */
    this.live = null;
    this.examples = fetchExamples();
  }

  /** @param {string} path the name of an example, or "" */
  async show(path) {
    this.leave();
    this.path = path;
    const examples = await this.examples;
    if (this.path !== path) return;
    const at = examples.findIndex(({ name }) => name === path);
    this.root.replaceChildren(...(at < 0 ? this.overview(examples) : this.page(examples, at)));
    this.live?.start();
    if (!path || at < 0) return;
    focusHeading(this.root);
    window.scrollTo({ top: 0 });
  }

  leave() {
    this.live?.stop();
    this.live = null;
    this.path = undefined;
  }

  /** @param {Example[]} examples */
  overview(examples) {
    const words =
      "Short programs to read, run and edit. They run in this page, on your GPU if the browser offers it, " +
      "and share the variables of the console.";
    const cards = examples.map((example) => h("li", {}, card(example)));
    return [
      h("div", { className: "reading" }, h("h2", {}, "Gallery"), h("p", { className: "lead" }, words)),
      h("ul", { className: "cards" }, ...cards),
    ];
  }

  /**
   * @param {Example[]} examples
   * @param {number} at
   */
  page(examples, at) {
    const example = examples[at];
    const LiveView = LIVE[example.name];
    if (LiveView) this.live = new LiveView(this.engine, example);
    const { code, title, name } = example;
    const label = `Code of ${title}`;
    const program =
      this.programs.get(name) ??
      new InPlace(this.parts, title, label, code, codeBlock(highlightedPython(code), label), `${name}.py`);
    this.programs.set(name, program);
    const open = button("Open in the console", "button", () => {
      showConsole();
      this.repl.offer(program.text, `“${example.title}” is at the prompt, ready to edit. To run it, ${howToRun()}.`);
    });
    const copy = copyButton("button quiet", () => program.text);
    return [
      h(
        "article",
        { className: "reading" },
        h("p", { className: "crumbs" }, h("a", { href: "#gallery" }, "Gallery")),
        ...(this.live ? [] : [cardPicture(example, "preview")]),
        h("h2", { tabIndex: -1 }, example.title),
        h("p", { className: "lead" }, example.line),
        ...(this.live ? [this.live.element] : []),
        ...paragraphs(example.text),
        h("div", { className: "actions" }, ...program.buttons, open, copy),
        program.place,
        program.running,
        neighbours(examples, at),
      ),
    ];
  }
}

/** @returns {Promise<Example[]>} */
async function fetchExamples() {
  const response = await fetch(urlOf("gallery.json"));
  if (!response.ok) throw new Error(`gallery.json: ${response.status}`);
  return response.json();
}

/**
 * @param {Example} example
 * @param {string} [className]
 */
function cardPicture({ name }, className = "") {
  const src = urlOf(`page/gallery/pictures/${name}.png`);
  return h("img", { src, alt: "", width: 320, height: 200, loading: "lazy", className });
}

/** @param {Example} example */
function card(example) {
  const { name, title, line } = example;
  return h(
    "a",
    { className: "card", href: `#gallery/${name}` },
    cardPicture(example),
    h("span", { className: "card-title" }, title),
    h("span", { className: "card-line" }, line),
  );
}

/**
 * @param {Example[]} examples
 * @param {number} at
 */
function neighbours(examples, at) {
  const [before, after] = [examples[at - 1], examples[at + 1]];
  const links = [
    before && h("a", { href: `#gallery/${before.name}` }, `← ${before.title}`),
    after && h("a", { className: "next", href: `#gallery/${after.name}` }, `${after.title} →`),
  ];
  const nav = h("nav", { className: "neighbours" }, ...links.filter(Boolean));
  nav.setAttribute("aria-label", "Other examples");
  return nav;
}
