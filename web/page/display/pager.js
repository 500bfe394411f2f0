/** The buttons that turn pages. */

import { h } from "../ui/dom.js";

/**
 * @param {string} name
 * @param {string} sign
 * @param {boolean} isEnabled
 * @param {() => void} onClick
 */
export function pageButton(name, sign, isEnabled, onClick) {
  const button = h("button", { type: "button", className: "page-button", ariaLabel: name, title: name }, sign);
  button.dataset.action = name;
  button.disabled = !isEnabled;
  button.addEventListener("click", onClick);
  return button;
}
