/** Buttons that save what is shown: a picture as PNG, a chart as SVG and PNG. */

import { button, h } from "../ui/dom.js";
import { saveFile } from "../ui/saving.js";
import { decodingIn, pngOf } from "./image.js";
import { pngOfSvg, standalone } from "./standalone.js";

/** @typedef {import("./bundles.js").Bundle} Bundle */
/** @typedef {{ words: string, label?: string, save: () => Promise<string | void> }} Action gives what is said of it */

/**
 * @param {Bundle} bundle
 * @param {() => HTMLElement} shown what shows it now
 * @returns {HTMLElement[]} the row of buttons below it, where there is something to save
 */
export function saversOf(bundle, shown) {
  const actions = actionsOf(bundle, shown);
  return actions.length ? [saveRow(actions)] : [];
}

/**
 * @param {Action[]} actions
 * @returns {HTMLElement}
 */
export function saveRow(actions) {
  const said = h("span", { className: "save-said" });
  said.setAttribute("role", "status");
  const buttons = actions.map(({ words, label, save }) => {
    const made = button(words, "save-button", async () => {
      if (made.ariaBusy === "true") return; // a disabled button would lose the focus
      made.ariaBusy = "true";
      said.replaceChildren(); // what was said stands until the next click
      try {
        said.textContent = (await save()) ?? "";
      } catch (error) {
        said.textContent = error instanceof Error ? error.message : String(error);
      }
      made.ariaBusy = "false";
    });
    if (label) made.ariaLabel = label;
    return made;
  });
  const row = h("div", { className: "save-row" }, ...buttons, said);
  row.setAttribute("role", "group");
  row.ariaLabel = "Save";
  return row;
}

/**
 * @param {Bundle} bundle
 * @param {() => HTMLElement} shown
 * @returns {Action[]}
 */
function actionsOf(bundle, shown) {
  /** @param {() => Promise<Blob>} make */
  const png = (make) => ({
    words: "Save PNG",
    save: async () => saveFile("picture.png", "image/png", await make()),
  });
  /** @param {() => string | Promise<string>} make */
  const svg = (make) => ({
    words: "Save SVG",
    save: async () => saveFile("picture.svg", "image/svg+xml", await make()),
  });
  const figure = async () => {
    await decodingIn(shown());
    return standalone(shown());
  };
  switch (bundle.kind) {
    case "image":
    case "heatmap":
      if (!bundle.figure) return [png(() => pngOf(canvasOf(shown())))];
      return [svg(figure), png(async () => pngOfSvg(await figure()))];
    case "plot":
      return [svg(figure), png(async () => pngOfSvg(await figure()))];
    case "svg":
      return [svg(() => bundle.data), png(() => pngOfSvg(bundle.data))];
    case "png":
      return [png(async () => new Blob([bytesOf(bundle.data)]))];
    case "jpeg":
      return [{ words: "Save JPEG", save: async () => saveFile("picture.jpg", "image/jpeg", bytesOf(bundle.data)) }];
    default:
      return [];
  }
}

/** @param {string} base64 */
function bytesOf(base64) {
  return Uint8Array.from(atob(base64), (byte) => byte.charCodeAt(0));
}

/** @param {HTMLElement} element */
function canvasOf(element) {
  const canvas = element.querySelector("canvas");
  if (!canvas) throw new Error("The picture is gone.");
  return canvas;
}
