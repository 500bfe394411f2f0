/** Turns bundles into elements: the only module that knows all kinds of bundle. */

import { cut, laidOut } from "../ui/bounds.js";
import { focusableWhileItScrolls, h } from "../ui/dom.js";
import { ControlsPanel } from "./controls.js";
import { drawForeign } from "./foreign.js";
import { drawImage } from "./image_figure.js";
import { Plot } from "./plot.js";
import { saversOf } from "./saving.js";
import { TensorPanel } from "./tensor.js";

/** @typedef {import("./displays.js").Displays} Displays */
/** @typedef {import("./bundles.js").Bundle} Bundle */
/** @typedef {import("./bundles.js").ControlValue} ControlValue */

/**
 * @typedef {Displays} Place where a bundle is drawn
 * @typedef {object} Drawn
 * @property {HTMLElement} element
 * @property {(bundle: Bundle) => boolean} [redraw] show another bundle in the same element, if possible
 * @property {() => Promise<Bundle>} [stored] its present content in a form that the browser can store
 * @property {(number: number, value: ControlValue) => void} [follow] one of its controls was changed elsewhere
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
      return savable(bundle, place, (one) => drawImage({ figure: null, ...one }, place));
    case "controls":
      return new ControlsPanel(bundle, place);
    case "plot":
      return savable(bundle, place, (one) => new Plot(one, place));
    case "html":
      return { element: drawForeign(bundle) };
    case "svg":
    case "png":
    case "jpeg":
      return savable(bundle, place, (one) => ({ element: drawForeign(one) }));
    case "tensor":
      return { element: drawTensor(bundle, place) };
    case "text":
      return { element: block(bundle.text) };
    case "error":
      return { element: h("pre", { className: "error" }, ...laidOut(cut(bundle.text))) };
    default:
      return { element: h("span", { hidden: true }) };
  }
}

/**
 * @template {Bundle} Kind
 * @param {Kind} bundle
 * @param {Place} place
 * @param {(bundle: Kind) => Drawn} make
 * @returns {Drawn} with Save buttons, which stay in place and keep the focus when it is redrawn
 */
function savable(bundle, place, make) {
  let drawn = make(bundle);
  const element = h("div", {}, drawn.element, ...saversOf(bundle, () => drawn.element));
  /** @param {Bundle} next */
  const redraw = (next) => {
    if (drawn.redraw?.(next)) return true;
    if (next.kind !== bundle.kind || "data" in next) return false;
    place.around(() => {
      const anew = make(/** @type {Kind} */ (next));
      drawn.element.replaceWith(anew.element);
      drawn = anew;
    });
    return true;
  };
  return { element, redraw };
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
  const element = h("pre", { className: "result" }, ...laidOut(cut(text)));
  focusableWhileItScrolls(element);
  return element;
}
