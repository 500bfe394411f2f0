/** Redraw while keeping the focus, open parts and scroll positions. */

/**
 * Parts are identified by `data-key` (a row) and `data-part` (a control in it), or else by their text.
 *
 * @param {HTMLElement} root
 * @param {() => void} draw replaces what is inside
 */
export function redrawing(root, draw) {
  const { activeElement } = document;
  const focused = activeElement && root.contains(activeElement) ? keyOf(activeElement) : null;
  const open = keysOf(root, "details[open]");
  const scrolled = [...root.querySelectorAll(".table-scroller")]
    .filter((element) => element.scrollLeft)
    .map((element) => /** @type {const} */ ([keyOf(element), element.scrollLeft]));
  draw();
  for (const details of root.querySelectorAll("details")) details.open ||= open.has(keyOf(details));
  for (const [key, left] of scrolled) {
    const found = find(root, ".table-scroller", key);
    if (found) found.scrollLeft = left;
  }
  if (focused === null) return;
  const again = find(root, "a, button, input, summary, [role=region]", focused) ?? root.querySelector("button");
  if (!(again instanceof HTMLElement)) return;
  if (again.matches(".table-scroller")) again.tabIndex = 0; // whether it scrolls is known only after layout
  again.focus({ preventScroll: true });
}

/**
 * @param {HTMLElement} root
 * @param {string} selector
 */
function keysOf(root, selector) {
  return new Set([...root.querySelectorAll(selector)].map(keyOf));
}

/**
 * @param {HTMLElement} root
 * @param {string} selector
 * @param {string} key
 */
function find(root, selector, key) {
  return [...root.querySelectorAll(selector)].find((element) => keyOf(element) === key) ?? null;
}

/** @param {Element} element */
function keyOf(element) {
  const row = /** @type {HTMLElement | null} */ (element.closest("[data-key]"))?.dataset.key ?? "";
  const { part } = /** @type {HTMLElement} */ (element).dataset;
  const said = element.tagName === "DETAILS" ? element.className : element.textContent;
  return [element.tagName, row, part ?? element.getAttribute("aria-label") ?? said].join("|");
}
