/** Zooming into a chart: drag over the part to see; double-click for the whole. */

import { positionIn } from "../charts/pointer.js";
import { fixed } from "../charts/text.js";
import { svg } from "../ui/dom.js";

/** @typedef {{ x: [number, number], y: [number, number] }} Window the range of each axis */

/** A shorter drag, in CSS pixels, is a click; one that is less high, or less wide, selects along one axis. */
const LEAST = 12;

/**
 * @param {SVGSVGElement} picture
 * @param {import("./plot.js").Placed} place
 * @param {(window: Window | null) => void} onZoom
 */
export function followDrag(picture, place, onZoom) {
  const { left, right, top, bottom } = place;
  /** @type {[number, number] | null} */
  let start = null;
  const box = svg("rect", { class: "zoom-box" });
  const selected = (/** @type {PointerEvent} */ event) => {
    const [x, y] = positionIn(picture, event);
    const [x0, y0] = /** @type {[number, number]} */ (start);
    const across =
      Math.abs(x - x0) < LEAST ? [left, right] : [Math.max(left, Math.min(x, x0)), Math.min(right, Math.max(x, x0))];
    const down =
      Math.abs(y - y0) < LEAST ? [top, bottom] : [Math.max(top, Math.min(y, y0)), Math.min(bottom, Math.max(y, y0))];
    return { across, down, isClick: Math.abs(x - x0) < LEAST && Math.abs(y - y0) < LEAST };
  };
  picture.addEventListener("pointerdown", (event) => {
    const [x, y] = positionIn(picture, event);
    const isInside = x >= left && x <= right && y >= top && y <= bottom;
    if (event.pointerType !== "mouse" || event.button !== 0 || !isInside) return; // a finger scrolls
    start = [x, y];
    picture.setPointerCapture(event.pointerId);
    event.preventDefault(); // no text is selected
  });
  picture.addEventListener("pointermove", (event) => {
    if (!start) return;
    const { across, down, isClick } = selected(event);
    const [x, y] = [fixed(across[0]), fixed(down[0])];
    const size = { x, y, width: fixed(across[1]) - x, height: fixed(down[1]) - y };
    for (const [name, value] of Object.entries(size)) box.setAttribute(name, String(value));
    if (isClick) box.remove();
    else picture.append(box);
  });
  const end = () => {
    start = null;
    box.remove();
  };
  picture.addEventListener("pointerup", (event) => {
    if (!start) return;
    const { across, down, isClick } = selected(event);
    end();
    if (isClick) return;
    onZoom({
      x: [place.x.value(across[0]), place.x.value(across[1])],
      y: [place.y.value(down[1]), place.y.value(down[0])],
    });
  });
  picture.addEventListener("pointercancel", end);
  picture.addEventListener("dblclick", () => onZoom(null));
}
