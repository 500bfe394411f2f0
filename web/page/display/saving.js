/** Buttons that save pictures and charts as SVG and PNG. */

import { button, h } from "../ui/dom.js";
import { saveFile } from "../ui/saving.js";
import { decodingIn, pngOf } from "./image.js";
import { pngOfSvg, standalone, svgAround, svgOfCanvas } from "./standalone.js";

/** @typedef {import("./bundles.js").Bundle} Bundle */
/** @typedef {{ words: string, label?: string, save: () => Promise<string | void> }} Action gives what is said of it */

/**
 * @param {Bundle} bundle
 * @param {() => HTMLElement} shown the element that shows it now
 * @returns {HTMLElement[]} the row of buttons below it, if there is something to save
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
      said.replaceChildren(); // the message stays until the next click
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
 * @param {() => string | Promise<string>} svg makes the SVG
 * @param {string} [of] what it shows, for screen readers
 * @param {() => Promise<Blob>} [png] default: the SVG, drawn
 * @returns {Action[]}
 */
export function pictureActions(svg, of, png = async () => pngOfSvg(await svg())) {
  /** @param {string} format */
  const named = (format) => ({ words: `Save ${format}`, label: of && `Save ${format} of ${of}` });
  return [
    { ...named("SVG"), save: async () => saveFile("picture.svg", "image/svg+xml", await svg()) },
    { ...named("PNG"), save: async () => saveFile("picture.png", "image/png", await png()) },
  ];
}

/**
 * @param {Bundle} bundle
 * @param {() => HTMLElement} shown
 * @returns {Action[]}
 */
function actionsOf(bundle, shown) {
  const figure = async () => {
    await decodingIn(shown());
    return standalone(shown());
  };
  const bare = async () => {
    await decodingIn(shown());
    return svgOfCanvas(canvasOf(shown()));
  };
  switch (bundle.kind) {
    case "image":
    case "heatmap":
      if (!bundle.figure) return pictureActions(bare, "", () => pngOf(canvasOf(shown())));
      return pictureActions(figure);
    case "plot":
      return pictureActions(figure);
    case "svg":
      return pictureActions(() => bundle.data);
    case "png":
    case "jpeg": {
      const { kind, data } = bundle;
      const href = `data:image/${kind};base64,${data}`;
      const file = async () => new Blob([bytesOf(data)]);
      const svg = async () => {
        const { naturalWidth: width, naturalHeight: height } = await decoded(href);
        return svgAround(href, width, height);
      };
      if (kind === "png") return pictureActions(svg, "", file);
      const save = async () => saveFile("picture.jpg", "image/jpeg", await file());
      return [...pictureActions(svg, "", () => pngOfJpeg(href)), { words: "Save JPEG", save }];
    }
    default:
      return [];
  }
}

/** @param {string} href */
async function decoded(href) {
  const picture = new Image();
  picture.src = href;
  await picture.decode();
  return picture;
}

/** @param {string} href */
async function pngOfJpeg(href) {
  const picture = await decoded(href);
  const canvas = new OffscreenCanvas(picture.naturalWidth, picture.naturalHeight);
  canvas.getContext("2d")?.drawImage(picture, 0, 0);
  return canvas.convertToBlob();
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
