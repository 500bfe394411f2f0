/** A button that interrupts what runs. */

import { button } from "./dom.js";

/** It appears after this time: otherwise it would flicker. */
const STOP_AFTER_MS = 300;

/**
 * @param {import("../engine.js").Engine} engine
 * @param {() => void} refocus moves the focus elsewhere, when the button is hidden while it has the focus
 * @returns {HTMLButtonElement} shown while something runs that the user started
 */
export function stopButton(engine, refocus) {
  const made = button("Interrupt", "button stop", () => {
    engine.dropQueued();
    engine.interrupt();
  });
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
