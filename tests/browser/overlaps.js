/**
 * What is drawn over something else on the page, and how much wider than the window the page is.
 *
 * Every visible text, control and painted box is compared with all others that neither contain it nor are in it, as far
 * as their scrolling ancestors show them. Not counted: what lies over the page by design and can be closed (dialogs,
 * popovers, menus, tooltips), and what sticks to an edge while the rest scrolls below it, if it leaves half of its
 * scroller free.
 */

/**
 * @typedef {{ left: number, top: number, right: number, bottom: number }} Rect
 * @typedef {object} Around what applies to an element because of its ancestors
 * @property {Rect} clip the part of the page where it is shown
 * @property {Rect} positioned the same for an absolutely positioned one
 * @property {Element | null} overlay
 * @property {Element | null} sticky
 * @property {Element | null} scroller
 *
 * @typedef {object} Item a visible element
 * @property {Element} element
 * @property {Rect[]} rects
 * @property {number} first its number in document order
 * @property {number} last the number after its last descendant
 * @property {Element | null} overlay
 * @property {Element | null} sticky
 */

() => {
  const CONTROLS = "button, a[href], input, select, textarea, summary, img, canvas, svg, progress, [contenteditable]";
  const OVERLAYS = "dialog, [popover], .menu-items, .cm-tooltip";
  /** Drawn on purpose over the code or picture that they belong to. */
  const MARKS = ".cm-layer, .cm-announced, .plotted-frame > *";
  const EVERYWHERE = { left: -1e9, top: -1e9, right: 1e9, bottom: 1e9 };
  const SIDES = /** @type {const} */ (["Top", "Right", "Bottom", "Left"]);

  /** @type {Item[]} */
  const items = [];
  /** @type {string[]} */
  const wrong = [];
  let order = 0;

  /**
   * @param {Rect} a
   * @param {Rect} b
   */
  function meet(a, b) {
    return {
      left: Math.max(a.left, b.left),
      top: Math.max(a.top, b.top),
      right: Math.min(a.right, b.right),
      bottom: Math.min(a.bottom, b.bottom),
    };
  }

  /** @param {Rect} rect */
  function isLarge({ left, top, right, bottom }) {
    return right - left > 1 && bottom - top > 1;
  }

  /** @param {string} colour */
  function isClear(colour) {
    return /^rgba\(.*, 0\)$|\/ 0\)$|^transparent$/.test(colour);
  }

  /**
   * @param {Element} element
   * @param {CSSStyleDeclaration} style
   */
  function isPainted(element, style) {
    if (element.matches(CONTROLS) || !isClear(style.backgroundColor)) return true;
    return SIDES.some(
      (side) => Number.parseFloat(style[`border${side}Width`]) > 0 && !isClear(style[`border${side}Color`]),
    );
  }

  /**
   * The parts of an element that are seen: its box if it is painted, else only its text.
   *
   * @param {Element} element
   * @param {CSSStyleDeclaration} style
   */
  function rectsOf(element, style) {
    if (isPainted(element, style)) return [...element.getClientRects()];
    const range = document.createRange();
    return [...element.childNodes].flatMap((node) => {
      if (!(node instanceof Text) || !node.data.trim()) return [];
      range.selectNodeContents(node);
      return [...range.getClientRects()];
    });
  }

  /** @param {Element} element */
  function childrenOf(element) {
    if (element instanceof HTMLSlotElement) return element.assignedElements();
    return [...(element.shadowRoot ?? element).children];
  }

  /**
   * @param {Element} element
   * @param {Around} around
   */
  function visit(element, around) {
    if (element.matches(MARKS) || element.matches("script, style, option, br")) return;
    const box = element.getBoundingClientRect();
    const isOut = [around.clip, around.positioned].every((clip) => !isLarge(meet(box, clip)));
    if (isOut && isLarge(box) && !element.matches(OVERLAYS)) return; // what a scroller does not show need not be styled
    const style = getComputedStyle(element);
    const isHidden = style.display !== "contents" && !element.checkVisibility({ opacityProperty: true });
    if (isHidden || style.clipPath.includes("inset(50%)")) return;
    const { position } = style;
    let { clip, overlay, sticky } = around;
    if (position === "absolute") clip = around.positioned;
    if (position === "fixed") clip = EVERYWHERE;
    if (element.matches(OVERLAYS)) [clip, overlay] = [EVERYWHERE, element];
    const sticks = position === "sticky" && (style.top !== "auto" || style.bottom !== "auto");
    if (sticks || position === "fixed") {
      const room = Math.min(innerHeight, around.scroller?.clientHeight ?? innerHeight);
      if (box.height <= room / 2) sticky = element;
    }
    /** @type {Item} */
    const item = { element, rects: [], first: order++, last: 0, overlay, sticky };
    if (style.visibility === "visible" && style.display !== "contents") {
      item.rects = rectsOf(element, style)
        .map((rect) => meet(rect, clip))
        .filter(isLarge);
      if (item.rects.length) items.push(item);
    }
    if (!(element instanceof SVGElement)) {
      const scrolls = style.overflowX !== "visible";
      const inside = scrolls ? meet(clip, box) : clip;
      const positioned = position !== "static" ? inside : around.positioned;
      const scroller = scrolls ? element : around.scroller;
      for (const child of childrenOf(element)) visit(child, { clip: inside, positioned, overlay, sticky, scroller });
    }
    item.last = order;
  }

  /** @param {Element} element */
  function nameOf({ id, classList, localName, textContent }) {
    const words = (textContent ?? "").trim().replace(/\s+/g, " ").slice(0, 24);
    const kind = id ? `#${id}` : [...classList].map((name) => `.${name}`).join("");
    return `${localName}${kind}${words ? ` "${words}"` : ""}`;
  }

  visit(document.body, { clip: EVERYWHERE, positioned: EVERYWHERE, overlay: null, sticky: null, scroller: null });
  const pieces = items.flatMap((item) => item.rects.map((rect) => ({ item, rect })));
  pieces.sort((a, b) => a.rect.top - b.rect.top);
  for (const [i, { item, rect }] of pieces.entries()) {
    for (let j = i + 1; j < pieces.length && pieces[j].rect.top < rect.bottom - 1; j++) {
      const { item: other, rect: otherRect } = pieces[j];
      if (item.overlay !== other.overlay || item.sticky !== other.sticky) continue;
      const [outer, inner] = item.first < other.first ? [item, other] : [other, item];
      const shared = meet(rect, otherRect);
      if (inner.first < outer.last || !isLarge(shared)) continue;
      const { left, top, right, bottom } = shared;
      const [width, height, x, y] = [right - left, bottom - top, left, top].map(Math.round);
      wrong.push(`${nameOf(inner.element)} over ${nameOf(outer.element)}: ${width} x ${height} px at (${x}, ${y})`);
    }
  }
  const { scrollWidth, clientWidth } = document.documentElement;
  if (scrollWidth > clientWidth) wrong.push(`the page is ${scrollWidth} px wide in a window of ${clientWidth}`);
  return [...new Set(wrong)];
};
