/** Saves a file to the user's computer, as a download. */

import { h } from "./dom.js";

/** Time until the content is released: the browser reads it after the click, and does not report when it is done. */
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
