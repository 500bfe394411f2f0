/** Copies text to the clipboard, or offers it for copying if the browser refuses or has no clipboard (plain http). */

import { button, h } from "./dom.js";

const SAID_FOR_MS = 1200;
const BLOCKED = "The browser does not let this page copy. The text below is selected; press Ctrl C (⌘ C on a Mac).";

/**
 * @param {string} text
 * @returns {Promise<boolean>} false if it is offered in a dialog instead
 */
export async function copyText(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    offer(text);
    return false;
  }
}

/** @param {string} text */
function offer(text) {
  const field = h("textarea", { className: "copied", readOnly: true, rows: 8, value: text, ariaLabel: "Text to copy" });
  const close = button("Close", "button", () => dialog.close());
  const head = h("header", {}, h("h2", {}, "Copy the text"), close);
  const dialog = h("dialog", { className: "sheet by-hand", ariaLabel: "Copy the text" }, head);
  dialog.append(h("p", {}, BLOCKED), field);
  dialog.addEventListener("click", ({ target }) => {
    if (target === dialog) dialog.close(); // on the backdrop
  });
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
  field.focus();
  field.select();
}

/**
 * A button that copies, and confirms it in its label.
 *
 * @param {string} className
 * @param {() => string} text returns the text to copy; called at each click
 */
export function copyButton(className, text) {
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer;
  const made = button("Copy", className, async () => {
    if (!(await copyText(text()))) return;
    made.textContent = "Copied";
    clearTimeout(timer);
    timer = setTimeout(() => {
      made.textContent = "Copy";
    }, SAID_FOR_MS);
  });
  return made;
}
