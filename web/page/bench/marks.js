/** The colours and shapes that distinguish contenders. */

import { h, svg } from "../ui/dom.js";

/** The classes that give a contender its colour (`bench.css`). A run in a file may have any. */
const CLASSES = new Map([
  ["py_tensor", "ours"],
  ["py_tensor (cpu)", "ours-on-cpu"],
  ["NumPy", "numpy"],
  ["tfjs", "tfjs"],
  ["jax-js", "jax"],
  ["PyTorch", "pytorch"],
]);

/** SVG paths around (0, 0). @type {Record<string, string>} */
const SHAPES = {
  ours: "M-3.6 0a3.6 3.6 0 1 0 7.2 0a3.6 3.6 0 1 0 -7.2 0z",
  "ours-on-cpu": "M-3.6 0a3.6 3.6 0 1 0 7.2 0a3.6 3.6 0 1 0 -7.2 0zM-1.6 0a1.6 1.6 0 1 1 3.2 0a1.6 1.6 0 1 1 -3.2 0z",
  numpy: "M-3.2 -3.2h6.4v6.4h-6.4z",
  tfjs: "M0 -4.4L4 2.8H-4z",
  jax: "M0 -4.4L4.4 0L0 4.4L-4.4 0z",
  pytorch: "M0 4.4L4 -2.8H-4z",
  another: "M-3.2 -3.2h6.4v6.4h-6.4z",
};

/** @param {string} contender */
export function classOf(contender) {
  return CLASSES.get(contender) ?? "another";
}

/**
 * @param {string} contender
 * @returns {string} a path around (0, 0)
 */
export function shapeOf(contender) {
  return SHAPES[classOf(contender)];
}

/** @param {string[]} contenders */
export function legend(contenders) {
  const keys = contenders.map((name) => {
    const sign = svg("svg", { viewBox: "-6 -6 12 12", width: 12, height: 12, "aria-hidden": "true" });
    sign.append(svg("path", { class: `spot ${classOf(name)}`, d: shapeOf(name) }));
    return h("span", { className: "key" }, /** @type {any} */ (sign), name);
  });
  return h("p", { className: "legend" }, ...keys);
}
