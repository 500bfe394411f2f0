/**
 * HTML of objects of other libraries, rebuilt from an allowlist: no scripts, handlers, styles, classes, links or URLs.
 * Unknown elements are replaced by their content.
 *
 * It is read here, in one pass, because the browser's parser takes minutes for 100,000 unclosed tags or attributes, and
 * because the amount of what is built is bounded. Of the parser's rules for HTML that is not well-formed only those are
 * followed that are needed for omitted end tags.
 */

import { laidOut, MAX_LABEL } from "../ui/bounds.js";
import { h } from "../ui/dom.js";

/**
 * @typedef {object} Open an element that is not closed yet
 * @property {string} name
 * @property {Node | null} node null: its content is left out
 * @property {number} drawing the index of the SVG or MathML around its content; -1: its content is HTML
 */

/** @param {string} names */
const setOf = (names) => new Set(names.split(" "));

const ELEMENTS = setOf(
  "abbr b blockquote br caption code col colgroup dd details div dl dt em figcaption figure h1 h2 h3 h4 h5 h6 hr i " +
    "kbd li mark ol p pre q s samp small span strong sub summary sup table tbody td tfoot th thead tr u ul var",
);
/** Elements removed with their content, which is not text to read. */
const SILENT = setOf(
  "audio button canvas embed form frame frameset head iframe input link math meta noembed noframes noscript object " +
    "optgroup option param picture plaintext script select source style svg template textarea title track video xmp",
);
/** Those of them whose content is not markup. */
const RAW = setOf("iframe noembed noframes plaintext script style textarea title xmp");
const DRAWINGS = setOf("svg math");
/** The elements of drawings that contain HTML. */
const IN_DRAWINGS = setOf("foreignobject desc title annotation-xml mi mn mo ms mtext");
/** The start tags that end a drawing that is not closed. */
const OUTSIDE_DRAWINGS = setOf(
  "b big blockquote body br center code dd div dl dt em embed h1 h2 h3 h4 h5 h6 head hr i img li listing menu meta " +
    "nobr ol p pre ruby s small span strong strike sub sup table tt u ul var",
);
const VOID = setOf("area base br col embed frame hr img input link meta param source track wbr");
const OF_HEAD = setOf("base link meta noscript script style template title");
const SPANS = ["colspan", "rowspan", "span"];
const ATTRIBUTES = setOf("colspan rowspan scope span start title align open dir lang");
const IMAGE = /^data:image\/(?:png|jpeg|gif|webp);base64,[A-Za-z0-9+/=\s]*$/i;

/** The start tags that close elements, if these are open within the nearest of the last. */
const CLOSING = [
  [
    "p",
    "address article aside blockquote center details div dl fieldset figcaption figure footer form h1 h2 h3 h4 h5 " +
      "h6 header hr li main nav ol p pre section summary table ul dd dt",
    "td th caption table",
  ],
  ["li", "li", "ul ol table"],
  ["dd dt", "dd dt", "dl table"],
  ["td th", "td th tr tbody thead tfoot", "table"],
  ["tr", "tr tbody thead tfoot", "table"],
  ["tbody thead tfoot caption colgroup", "tbody thead tfoot", "table"],
  ["caption colgroup", "tr td th colgroup", "table"],
].map(([closed, by, within]) => ({ closed: setOf(closed), by: setOf(by), within: setOf(within) }));
/** The elements that a start tag needs around it, from the outside. */
const AROUND = new Map([
  ["tr", ["tbody"]],
  ["td", ["tbody", "tr"]],
  ["th", ["tbody", "tr"]],
]);
const SECTIONS = setOf("tbody thead tfoot");
/** End tags of other elements do not close what is outside of these. */
const CELLS = setOf("td th caption table");
const OF_TABLES = setOf("table tbody thead tfoot tr td th caption colgroup");

/** Deeper nesting is removed: the browser would draw the levels on top of each other. */
const MAX_DEPTH = 200;
const MAX_ELEMENTS = 10_000;
const MAX_IMAGES = 500;
/** Start and end tags. */
const MAX_TAGS = 40_000;
const MAX_ATTRIBUTES = 100_000;
const MAX_CHARACTERS = 250_000;
/** Cells that are spanned: a table may have this many, whatever the number of its elements. */
const MAX_SPANNED = 20_000;

const COMMENT = /<!--(?:-?>|[\s\S]*?(?:--!?>|$))/y;
const END = /<\/([a-z][^\s/>]*)[^>]*(?:>|$)/iy;
const OTHER = /<[!?/][^>]*(?:>|$)/y;
const START = /<([a-z][^\s/>]*)/iy;
const ATTRIBUTE =
  /[\s/]*(?<name>[^\s/>][^\s/>=]*)(?:\s*=\s*(?:"(?<one>[^"]*)(?:"|$)|'(?<two>[^']*)(?:'|$)|(?<three>[^\s>]*)))?/y;
const START_END = /[\s/]*(?:>|$)/y;
const TEXT = /<?[^<]*(?:<(?![a-z/!?])[^<]*)*/iy;

/**
 * @param {string} html
 * @returns {DocumentFragment} for this document
 */
export function sanitized(html) {
  return new Builder(html).build();
}

class Builder {
  /** @param {string} html */
  constructor(html) {
    this.html = html;
    this.at = 0;
    this.root = document.createDocumentFragment();
    /** @type {Open[]} */
    this.open = [];
    this.tags = 0;
    this.elements = 0;
    this.images = 0;
    this.attributes = 0;
    this.characters = 0;
    this.spanned = 0;
    this.isTooDeep = false;
  }

  build() {
    const { html } = this;
    while (this.at < html.length && !this.isFull) this.readOne();
    const rest = html.length - this.at;
    if (rest > 0) this.note(`… ${rest.toLocaleString("en")} more characters of HTML are not shown.`);
    if (this.isTooDeep) this.note(`What is nested more than ${MAX_DEPTH} levels deep is not shown.`);
    return this.root;
  }

  get isFull() {
    const hasTooMany = this.elements >= MAX_ELEMENTS || this.images >= MAX_IMAGES || this.tags >= MAX_TAGS;
    return hasTooMany || this.attributes >= MAX_ATTRIBUTES || this.characters >= MAX_CHARACTERS;
  }

  /** @param {string} text */
  note(text) {
    this.root.append(h("p", { className: "note" }, text));
  }

  /** @param {RegExp} pattern a sticky one */
  take(pattern) {
    pattern.lastIndex = this.at;
    const match = pattern.exec(this.html);
    if (match) this.at = pattern.lastIndex;
    return match;
  }

  readOne() {
    if (this.take(COMMENT)) return;
    const end = this.take(END);
    if (end) this.end(end[1].toLowerCase());
    else if (!this.take(OTHER)) {
      const start = this.take(START);
      if (start) this.start(start[1].toLowerCase());
      else this.text(this.take(TEXT)?.[0] ?? "");
    }
  }

  /** Where the next element or text is put; null: nowhere. */
  get node() {
    const last = this.open.at(-1);
    return last ? last.node : this.root;
  }

  /** The index of the drawing whose markup is read, in which elements may end with their start tags; -1: HTML is read. */
  get drawing() {
    return this.open.at(-1)?.drawing ?? -1;
  }

  // Tags -------------------------------------------------------------------------------------------

  /** @param {string} name */
  start(name) {
    this.tags++;
    /** @type {Record<string, string>} */
    const attributes = {};
    while (!this.isFull && !this.take(START_END)) {
      this.attributes++;
      const { name: attribute, one, two, three } = this.take(ATTRIBUTE)?.groups ?? {};
      const key = attribute.toLowerCase();
      if (key !== "src" && key !== "alt" && !ATTRIBUTES.has(key)) continue;
      attributes[key] ??= one ?? two ?? three ?? "";
    }
    if (this.drawing >= 0 && OUTSIDE_DRAWINGS.has(name)) this.open.length = this.drawing;
    const isInDrawing = this.drawing >= 0;
    const isClosed = this.html.startsWith("/>", this.at - 2) && (isInDrawing || DRAWINGS.has(name));
    if (name === "html" || name === "body") this.close("head");
    else if (this.open.at(-1)?.name === "head" && !OF_HEAD.has(name)) this.close("head");
    if (isClosed || name === "html" || name === "body") return;
    if (RAW.has(name) && !isInDrawing) this.skip(name);
    else this.insert(name, attributes);
  }

  /**
   * @param {string} name
   * @param {Record<string, string>} attributes
   */
  insert(name, attributes) {
    for (const { closed, by, within } of CLOSING) if (by.has(name)) this.closeFirst(closed, within);
    for (const around of AROUND.get(name) ?? []) {
      const { name: last = "" } = this.open.at(-1) ?? {};
      if (last === "table" || (around === "tr" && SECTIONS.has(last))) this.push(around, {});
    }
    if (name === "img") this.image(attributes);
    else if (!VOID.has(name)) this.push(name, attributes);
    else if (ELEMENTS.has(name)) this.node?.appendChild(this.element(name, attributes));
  }

  /**
   * @param {string} name
   * @param {Record<string, string>} attributes
   */
  push(name, attributes) {
    const { node } = this;
    const isOutside = node === null || SILENT.has(name);
    let drawing = IN_DRAWINGS.has(name) ? -1 : this.drawing;
    if (drawing < 0 && DRAWINGS.has(name)) drawing = this.open.length;
    if (this.open.length >= MAX_DEPTH && !isOutside) this.isTooDeep = true;
    if (isOutside || this.open.length >= MAX_DEPTH) this.open.push({ name, node: null, drawing });
    else if (!ELEMENTS.has(name)) this.open.push({ name, node, drawing });
    else this.open.push({ name, node: node.appendChild(this.element(name, attributes)), drawing });
  }

  /**
   * @param {string} name
   * @param {Record<string, string>} attributes
   */
  element(name, attributes) {
    this.elements++;
    const element = document.createElement(name);
    const { src: _src, alt: _alt, ...rest } = attributes;
    const values = new Map(Object.entries(rest).map(([key, value]) => [key, decoded(value.slice(0, MAX_LABEL))]));
    const counts = SPANS.map((key) => Math.max(1, Number.parseInt(values.get(key) ?? "", 10) || 1));
    const spanned = this.spanned + counts.reduce((product, count) => product * count, 1) - 1;
    const hasRoom = spanned <= MAX_SPANNED;
    if (hasRoom) this.spanned = spanned;
    for (const [key, value] of values) if (hasRoom || !SPANS.includes(key)) element.setAttribute(key, value);
    return element;
  }

  /** @param {Record<string, string>} attributes */
  image({ src = "", alt = "" }) {
    if (!IMAGE.test(src)) return;
    this.images++;
    this.node?.appendChild(h("img", { src, alt: decoded(alt.slice(0, MAX_LABEL)) }));
  }

  /** @param {string} name of an element whose content is no markup */
  skip(name) {
    const end = new RegExp(`</${name}(?=[\\s/>])[^>]*(?:>|$)`, "gi");
    end.lastIndex = this.at;
    this.at = name !== "plaintext" && end.test(this.html) ? end.lastIndex : this.html.length;
  }

  /** @param {string} name */
  end(name) {
    this.tags++;
    this.close(name, OF_TABLES.has(name) ? (name === "table" ? undefined : setOf("table")) : CELLS);
  }

  /**
   * @param {string} name
   * @param {Set<string>} [within]
   */
  close(name, within) {
    this.closeFirst(new Set([name]), within);
  }

  /**
   * Close the innermost of some elements, and those in it.
   *
   * @param {Set<string>} names
   * @param {Set<string>} [within] the elements outside of these stay open
   */
  closeFirst(names, within = new Set()) {
    const outermost = Math.max(0, this.open.length - MAX_DEPTH); // otherwise 20,000 open elements would take seconds
    for (let i = this.open.length - 1; i >= outermost; i--) {
      const { name } = this.open[i];
      if (names.has(name)) this.open.length = i;
      if (names.has(name) || within.has(name)) return;
    }
  }

  // Text -------------------------------------------------------------------------------------------

  /** @param {string} text */
  text(text) {
    const { node } = this;
    if (node === null) return;
    const room = MAX_CHARACTERS - this.characters;
    if (text.length > room) this.at -= text.length - room;
    this.characters += Math.min(text.length, room);
    const isFirst = node instanceof Element && node.localName === "pre" && !node.firstChild;
    const shown = decoded(text.slice(0, room));
    for (const piece of laidOut(isFirst ? shown.replace(/^\r?\n/, "") : shown)) {
      node.appendChild(piece instanceof Node ? piece : document.createTextNode(piece));
    }
  }
}

/**
 * @param {string} text of HTML
 * @returns {string} with characters instead of references, such as "&amp;"
 */
function decoded(text) {
  if (!text.includes("&")) return text;
  const field = document.createElement("textarea"); // in which nothing is an element
  field.innerHTML = text.replaceAll("<", "&lt;");
  return field.textContent ?? "";
}
