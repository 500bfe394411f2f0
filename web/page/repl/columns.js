/** The width of the transcript in characters. */

import { h } from "../ui/dom.js";

const FEWEST = 40;
const MOST = 120;
const SAMPLE = 100;

/**
 * @param {HTMLElement} element
 * @param {(columns: number) => void} onChange called at once, and whenever the number changes
 */
export function watchColumns(element, onChange) {
  let columns = 0;
  const measure = () => {
    if (!element.clientWidth) return; // it is hidden
    const found = Math.floor(element.clientWidth / characterWidth(element));
    const bounded = Math.min(MOST, Math.max(FEWEST, found));
    if (bounded === columns) return;
    columns = bounded;
    onChange(columns);
  };
  let width = -1;
  new ResizeObserver(([{ contentRect }]) => {
    if (contentRect.width === width) return; // only the height changes, with every line
    width = contentRect.width;
    measure();
  }).observe(element);
  measure();
}

/** @param {HTMLElement} element */
function characterWidth(element) {
  const probe = h("code", { className: "probe", textContent: "0".repeat(SAMPLE) });
  element.append(probe);
  const { width } = probe.getBoundingClientRect();
  probe.remove();
  return width / SAMPLE;
}
