/** From a bundle to elements: the one place that knows all kinds. */

import { focusableWhileItScrolls, h } from "../ui/dom.js";
import { ControlsPanel } from "./controls.js";
import { drawForeign } from "./foreign.js";
import { drawImage } from "./image_figure.js";
import { drawPlot } from "./plot.js";
import { TensorPanel } from "./tensor.js";

/** @typedef {import("./displays.js").Displays} Displays */
/** @typedef {import("./bundles.js").Bundle} Bundle */
/** @typedef {import("./bundles.js").ControlValue} ControlValue */

/**
 * @typedef {Displays} Place where something is drawn
 * @typedef {object} Drawn
 * @property {HTMLElement} element
 * @property {(bundle: Bundle) => boolean} [redraw] shows another bundle in the same element, where that can be done
 * @property {() => Promise<Bundle>} [stored] what it shows now, as the browser can store it
 * @property {(number: number, value: ControlValue) => void} [follow] a control of it was changed in another place
 * @property {() => void} [retire] its Python is gone
 */

/**
 * @param {Bundle} bundle
 * @param {Place} place
 * @returns {Drawn}
 */
export function draw(bundle, place) {
  switch (bundle.kind) {
    case "image":
      return drawImage({ figure: null, ...bundle });
    case "controls":
      return new ControlsPanel(bundle, place);
    case "plot":
      return drawPlot(bundle);
    case "html":
    case "svg":
    case "png":
      return { element: drawForeign(bundle) };
    case "tensor":
      return { element: drawTensor(bundle, place) };
    case "text":
      return { element: block(bundle.text) };
    case "error":
      return { element: h("pre", { className: "error" }, bundle.text) };
    default:
      return { element: h("span", { hidden: true }) };
  }
}

/**
 * @param {import("./bundles.js").TensorBundle} bundle
 * @param {Place} place
 */
function drawTensor(bundle, place) {
  const { element } = new TensorPanel(bundle, place);
  return bundle.text === undefined ? element : h("div", {}, block(bundle.text), element);
}

/** @param {string} text */
function block(text) {
  const element = h("pre", { className: "result" }, text);
  focusableWhileItScrolls(element);
  return element;
}
