/** A file for the user, as if it had been downloaded. */

import { h } from "./dom.js";

/** So long a slow disk may take to fetch it. */
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
