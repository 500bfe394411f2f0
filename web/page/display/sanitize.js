/**
 * HTML of objects of other libraries, rebuilt from an allowlist: no scripts, handlers, styles, classes, links or URLs.
 * Unknown elements are replaced by their content. (During parsing, the browser logs handlers and styles that the page's
 * content security policy blocks.)
 */

const ELEMENTS = new Set(
  (
    "abbr b blockquote br caption code col colgroup dd details div dl dt em figcaption figure h1 h2 h3 h4 h5 h6 hr i " +
    "kbd li mark ol p pre q s samp small span strong sub summary sup table tbody td tfoot th thead tr u ul var"
  ).split(" "),
);
/** Elements removed with their content, which is not text to read. */
const SILENT = new Set(
  (
    "audio button canvas embed form frame frameset head iframe input link math meta noembed noframes noscript object " +
    "optgroup option param picture script select source style svg template textarea title track video"
  ).split(" "),
);
const ATTRIBUTES = new Set(["colspan", "rowspan", "scope", "span", "start", "title", "align", "open", "dir", "lang"]);
const IMAGE = /^data:image\/(?:png|jpeg|gif|webp);base64,[A-Za-z0-9+/=\s]*$/i;
/** Deeper nesting is removed: the browser would draw the levels on top of each other. */
const DEEPEST = 200;

/**
 * @param {string} html
 * @returns {DocumentFragment} for this document
 */
export function sanitized(html) {
  const source = new DOMParser().parseFromString(html, "text/html");
  const target = document.createDocumentFragment();
  copyChildren(source.body, target, 0);
  return target;
}

/**
 * @param {Node} source
 * @param {Node} target
 * @param {number} depth
 */
function copyChildren(source, target, depth) {
  if (depth > DEEPEST) return;
  for (const child of source.childNodes) {
    if (child.nodeType === Node.TEXT_NODE) target.appendChild(document.createTextNode(child.textContent ?? ""));
    else if (child instanceof Element) copyElement(child, target, depth);
  }
}

/**
 * @param {Element} source
 * @param {Node} target
 * @param {number} depth
 */
function copyElement(source, target, depth) {
  const name = source.localName;
  if (SILENT.has(name)) return;
  if (name === "img") copyImage(source, target);
  else if (!ELEMENTS.has(name)) copyChildren(source, target, depth + 1);
  else {
    const copy = document.createElement(name);
    for (const { name: attribute, value } of source.attributes) {
      if (ATTRIBUTES.has(attribute)) copy.setAttribute(attribute, value);
    }
    copyChildren(source, copy, depth + 1);
    target.appendChild(copy);
  }
}

/**
 * @param {Element} source
 * @param {Node} target
 */
function copyImage(source, target) {
  const address = source.getAttribute("src") ?? "";
  if (!IMAGE.test(address)) return;
  const copy = document.createElement("img");
  copy.src = address;
  copy.alt = source.getAttribute("alt") ?? "";
  target.appendChild(copy);
}
