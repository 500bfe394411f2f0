/** The data of an output by MIME type, as in notebooks. */

import { decodingIn, pngOf } from "../display/image.js";
import { standalone } from "../display/standalone.js";

/** @typedef {Record<string, string>} Mimes text by MIME type; a PNG in base64 */

const DATA = /^data:([^;,]+)(;base64)?,(.*)$/s;

/**
 * The parts that need the page are read before this function returns; the rest is read later.
 *
 * @param {Element} element of an entry: a display, or a result that is not only text
 * @returns {Promise<Mimes>} empty if there is nothing to store
 */
export async function mimesOf(element) {
  const text = element.querySelector("pre.result, pre.error");
  if (text) return { "text/plain": text.textContent ?? "" };
  const chart = element.querySelector("figure");
  if (chart) {
    const decoding = decodingIn(chart);
    if (decoding) await decoding; // of an earlier visit; it may be removed from the page before its pictures load
    return described({ "image/svg+xml": standalone(chart) }, chart.querySelector("[role=img]")?.ariaLabel);
  }
  const canvas = element.querySelector("canvas");
  if (canvas) {
    const png = await pngOf(canvas).then(inBase64, () => null);
    return png === null ? {} : described({ "image/png": png }, canvas.ariaLabel);
  }
  const image = element.querySelector("img.foreign-image");
  if (image instanceof HTMLImageElement) {
    const [, mime, isBase64, data] = DATA.exec(image.src) ?? [];
    return mime ? described({ [mime]: isBase64 ? data : decodeURIComponent(data) }, image.alt) : {};
  }
  const html = element.matches(".foreign") ? element : element.querySelector(".foreign");
  return html ? described({ "text/html": html.innerHTML }, html.textContent) : {};
}

/**
 * @param {Mimes} mimes
 * @param {string | null | undefined} words text for hosts that cannot show it
 */
function described(mimes, words) {
  return { ...mimes, "text/plain": words ?? "" };
}

/**
 * @param {Blob} blob
 * @returns {Promise<string>}
 */
function inBase64(blob) {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.addEventListener("load", () => resolve(String(reader.result).split(",")[1]));
    reader.addEventListener("error", () => reject(reader.error));
    reader.readAsDataURL(blob);
  });
}
