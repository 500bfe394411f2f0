/** Keys that on-screen keyboards lack or hide, shown on touch screens. They keep the keyboard open and the focus. */

import { h, svg } from "./dom.js";

/** @typedef {[label: string, name: string, press: () => unknown]} Key */

const SYMBOLS = [..."()[]_="];

/**
 * A row of keys, ending with those that type a symbol.
 *
 * @param {Key[]} keys before them
 * @param {(symbol: string) => void} type unless a one-line field has the focus, which then gets the symbol
 */
export function touchKeys(keys, type) {
  const symbols = SYMBOLS.map((symbol) => keyButton([symbol, symbol, () => typeInField(symbol) || type(symbol)]));
  const row = h("div", { className: "touch-keys", role: "group" }, ...keys.map(keyButton), ...symbols);
  row.ariaLabel = "Keys";
  return row;
}

/** @param {Key} key */
export function keyButton([label, name, press]) {
  const button = h("button", { type: "button", className: "button touch-key", textContent: label });
  button.ariaLabel = name;
  button.addEventListener("pointerdown", (event) => event.preventDefault());
  button.addEventListener("click", press);
  return button;
}

/** @param {() => unknown} press */
export function runKey(press) {
  const button = keyButton(["", "Run", press]);
  button.classList.add("primary", "run-key");
  const triangle = svg("svg", { viewBox: "0 0 10 10", width: 10, height: 10, "aria-hidden": "true" });
  triangle.append(svg("path", { d: "M1 0 L10 5 L1 10 Z", fill: "currentColor" }));
  button.append(triangle, "Run");
  return button;
}

/**
 * @param {string} symbol
 * @returns {boolean} false if no one-line field has the focus
 */
function typeInField(symbol) {
  const field = document.activeElement;
  if (!(field instanceof HTMLInputElement) || field.selectionStart === null) return false;
  field.setRangeText(symbol, field.selectionStart, field.selectionEnd ?? field.selectionStart, "end");
  field.dispatchEvent(new InputEvent("input", { bubbles: true, data: symbol, inputType: "insertText" }));
  return true;
}
