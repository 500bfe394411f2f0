/** Small helpers for the DOM, in place of a framework. */

/**
 * The element with this id; if it is missing, index.html is wrong.
 *
 * @template {Element} [T=HTMLElement]
 * @param {string} id
 * @returns {T}
 */
export function byId(id) {
  const found = document.getElementById(id);
  if (!found) throw new Error(`index.html has no element #${id}`);
  return /** @type {T} */ (/** @type {unknown} */ (found));
}

/**
 * A new element with properties (`className`, `type`, ...) and children.
 *
 * @template {keyof HTMLElementTagNameMap} K
 * @param {K} tag
 * @param {Partial<HTMLElementTagNameMap[K]>} [properties]
 * @param {(Node | string)[]} children
 * @returns {HTMLElementTagNameMap[K]}
 */
export function h(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  Object.assign(element, properties);
  element.append(...children);
  return element;
}

/**
 * A button with an action.
 *
 * @param {string} words
 * @param {string} className
 * @param {() => void} onClick
 */
export function button(words, className, onClick) {
  const made = h("button", { type: "button", className, textContent: words });
  made.addEventListener("click", onClick);
  return made;
}

/**
 * A new SVG element with attributes and children.
 *
 * @template {keyof SVGElementTagNameMap} K
 * @param {K} tag
 * @param {Record<string, string | number>} [attributes]
 * @param {(Node | string)[]} children
 * @returns {SVGElementTagNameMap[K]}
 */
export function svg(tag, attributes = {}, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) {
    element.setAttribute(name, String(value));
  }
  element.append(...children);
  return element;
}

/** Whether text is typed with an on-screen keyboard, which a focused field opens over the page. */
export function isTouchScreen() {
  return matchMedia("(pointer: coarse)").matches;
}

/** @returns {string} how to run the code at the prompt, as a part of a sentence */
export function howToRun() {
  return isTouchScreen() ? "tap Run or press Enter" : "press Enter";
}

/** Whether Ctrl-C would copy a selection, on the page or in the focused field. */
export function hasSelection() {
  const field = document.activeElement;
  const isField = field instanceof HTMLTextAreaElement || field instanceof HTMLInputElement;
  if (isField && field.selectionStart !== field.selectionEnd) return true;
  // Only Chromium needs this: its document selection does not include shadow roots.
  const root = /** @type {(ShadowRoot & { getSelection?: () => Selection | null }) | null} */ (
    field?.shadowRoot ?? null
  );
  return !(root?.getSelection?.() ?? document.getSelection())?.isCollapsed;
}

/**
 * Make an element focusable while it can scroll, so that the keyboard can scroll it.
 *
 * @param {HTMLElement} element
 */
export function focusableWhileItScrolls(element) {
  new ResizeObserver(() => {
    const { scrollWidth, clientWidth, scrollHeight, clientHeight } = element;
    if (scrollWidth > clientWidth || scrollHeight > clientHeight) element.tabIndex = 0;
    else element.removeAttribute("tabindex");
  }).observe(element);
}

/**
 * Mark the ends at which a sideways-scrolling strip has more content.
 *
 * @param {HTMLElement} strip
 */
export function markMore(strip) {
  const mark = () => {
    const { scrollLeft, scrollWidth, clientWidth } = strip;
    const ends = [scrollLeft > 1 ? "left" : "", scrollLeft + clientWidth < scrollWidth - 1 ? "right" : ""];
    strip.dataset.more = ends.filter(Boolean).join(" ");
  };
  strip.addEventListener("scroll", mark);
  new ResizeObserver(mark).observe(strip);
}

/**
 * Call `draw` once before the next frame, however often the returned function is called. A hidden page gets no
 * animation frames, so a timer replaces them.
 *
 * @param {() => void} draw
 * @returns {() => void}
 */
export function oncePerFrame(draw) {
  let isPending = false;
  const run = () => {
    if (!isPending) return;
    isPending = false;
    draw();
  };
  return () => {
    if (isPending) return;
    isPending = true;
    requestAnimationFrame(run);
    setTimeout(run, 100);
  };
}

/**
 * Focus the heading of a page that is shown, unless a tab has the focus: the arrow keys continue from there.
 *
 * @param {Element | null | undefined} root
 */
export function focusHeading(root) {
  if (document.activeElement?.matches("[role=tab]")) return;
  root?.querySelector("h2")?.focus({ preventScroll: true });
}

/**
 * Remember the focus before an action that takes time and then moves it: the user may move it meanwhile.
 *
 * @returns {() => boolean} whether the focus is still where it is now, or nowhere
 */
export function watchFocus() {
  const before = document.activeElement;
  return () => [before, document.body, null].includes(document.activeElement);
}
