/** A button that interrupts what runs. */

import { button, h } from "./dom.js";

/** @typedef {import("../engine.js").Engine} Engine */

/** It appears after this time: otherwise it would flicker. */
const STOP_AFTER_MS = 300;
const UPDATED_EVERY_MS = 100;

/**
 * @param {Engine} engine
 * @param {() => void} refocus moves the focus elsewhere, when the button is hidden while it has the focus
 * @returns {HTMLButtonElement} shown while something runs that the user started
 */
export function stopButton(engine, refocus) {
  const made = button("Interrupt", "button stop", () => engine.interrupt());
  made.hidden = true;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let patience;
  const update = () => {
    clearTimeout(patience);
    if (engine.isWorking) {
      patience = setTimeout(() => made.removeAttribute("hidden"), STOP_AFTER_MS);
    } else {
      if (made === document.activeElement) refocus();
      made.hidden = true;
    }
  };
  engine.addEventListener("change", update);
  update();
  return made;
}

/**
 * @param {Engine} engine
 * @param {() => void} refocus as of `stopButton`
 * @returns {HTMLElement} what runs, for how long, and the button; it stays in view
 */
export function stopBar(engine, refocus) {
  const words = h("span");
  const bar = h("p", { className: "stop-bar", ariaLive: "off" }, words, stopButton(engine, refocus));
  /** @type {ReturnType<typeof setInterval> | undefined} */
  let clock;
  const update = () => {
    const { current } = engine;
    words.textContent = current
      ? `${current.name} ${((performance.now() - current.startedAt) / 1000).toFixed(1)} s`
      : "";
  };
  const follow = () => {
    clearInterval(clock);
    if (!engine.isBusy) return;
    update();
    clock = setInterval(update, UPDATED_EVERY_MS);
  };
  engine.addEventListener("change", follow);
  follow();
  return bar;
}
