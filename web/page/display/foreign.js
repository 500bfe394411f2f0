/** Objects of other libraries: sanitized HTML; and SVG, PNG and JPEG as images, in which no scripts run. */

import { focusableWhileItScrolls, h } from "../ui/dom.js";
import { sanitized } from "./sanitize.js";

/** @typedef {import("./bundles.js").ForeignBundle} ForeignBundle */

/**
 * @param {ForeignBundle} bundle
 * @returns {HTMLElement}
 */
export function drawForeign({ kind, data, label }) {
  if (kind === "html") {
    const element = h("div", { className: "foreign" }, sanitized(data));
    focusableWhileItScrolls(element);
    return element;
  }
  const src = kind === "svg" ? `data:image/svg+xml,${encoded(data)}` : `data:image/${kind};base64,${data}`;
  return h("img", { className: "foreign-image", src, alt: label });
}

/** @param {string} text lone surrogates become the replacement character, because URLs cannot hold them */
function encoded(text) {
  return encodeURIComponent(text.replaceAll(/\p{Cs}/gu, "\ufffd"));
}
