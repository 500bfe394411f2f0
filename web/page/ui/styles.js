/** Style sheets of views that most visitors do not open, loaded with the view. */

import { urlOf } from "../../worker/files.js";
import { h } from "./dom.js";

/**
 * @param {string[]} paths within the page's folder
 * @returns {Promise<void>} when all of them are in effect
 */
export async function loadStyles(...paths) {
  await Promise.all(paths.map(loadStyle));
}

/** @param {string} path */
function loadStyle(path) {
  const href = urlOf(path);
  if ([...document.styleSheets].some((sheet) => sheet.href === href)) return undefined;
  const link = h("link", { rel: "stylesheet", href });
  return new Promise((resolve, reject) => {
    link.addEventListener("load", resolve);
    link.addEventListener("error", () => {
      link.remove();
      reject(new Error(`${path} could not be loaded`));
    });
    document.head.append(link);
  });
}
