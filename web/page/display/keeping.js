/** Displays across visits: how they are stored, and what can be shown without their Python. */

import { pngOf } from "./image.js";

/** @typedef {import("./bundles.js").Bundle} Bundle */

/** Canvases are no larger in any browser. */
const LARGEST = 16_384;

/**
 * @param {Bundle} bundle
 * @param {HTMLElement} element that shows it
 * @returns {Promise<Bundle | null>} null if it cannot be stored
 */
export async function storable(bundle, element) {
  if (bundle.kind !== "image") return bundle;
  const canvas = element.querySelector("canvas");
  const blob = canvas && (await pngOf(canvas).catch(() => null));
  return blob && { ...bundle, png: new Uint8Array(await blob.arrayBuffer()) };
}

/**
 * @param {Bundle} bundle as it was stored
 * @returns {Bundle} that can be shown without Python
 */
export function restorable(bundle) {
  if (bundle.kind === "tensor") return { ...bundle, views: [], forms: [] }; // the tensor itself is gone
  if (bundle.kind === "controls") return { ...bundle, past: bundle.past ?? { parts: [], failure: null } };
  if (bundle.kind !== "image") return bundle;
  const { width, height, png } = bundle;
  const isSound = [width, height].every((size) => size >= 1 && size <= LARGEST) && png instanceof Uint8Array;
  return isSound ? bundle : { kind: "text", text: "This picture could not be read." };
}
