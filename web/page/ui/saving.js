/** A file for the user, as if it had been downloaded. */

import { h } from "./dom.js";

/** The browser reads the content after the click, and does not say when it has: until then it must be there. */
const KEPT_MS = 60_000;

/**
 * @param {string} name
 * @param {string} type
 * @param {string | Blob | Uint8Array<ArrayBuffer>} content
 */
export function saveFile(name, type, content) {
  const href = URL.createObjectURL(new Blob([content], { type }));
  h("a", { href, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(href), KEPT_MS);
}
