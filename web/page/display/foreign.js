/** Objects of other libraries: HTML without what could do harm, SVG and PNG as images, in which nothing runs. */

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
  const src = kind === "png" ? `data:image/png;base64,${data}` : `data:image/svg+xml,${encoded(data)}`;
  return h("img", { className: "foreign-image", src, alt: label });
}

/** @param {string} text in which lone surrogates become the replacement character: an address can hold none */
function encoded(text) {
  return encodeURIComponent(text.replaceAll(/\p{Cs}/gu, "\ufffd"));
}
