/** Buttons that copy, and say on themselves how it went. */

import { button } from "./dom.js";

const SAID_FOR_MS = 1200;

/**
 * @param {string} className
 * @param {() => string} text what is copied, asked for at each click
 */
export function copyButton(className, text) {
  const made = button("Copy", className, async () => {
    try {
      await navigator.clipboard.writeText(text());
      made.textContent = "Copied";
    } catch {
      made.textContent = "Not allowed";
    }
    setTimeout(() => {
      made.textContent = "Copy";
    }, SAID_FOR_MS);
  });
  return made;
}
