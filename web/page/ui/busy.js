/**
 * What runs, for how long, whether it waits for input, and how to end it: the button, Ctrl-C anywhere, or a restart.
 */

import { byId, h, hasSelection } from "./dom.js";

/** @typedef {import("../engine.js").Engine} Engine */

/** Shorter runs are not shown, because the display would flicker. */
const ANNOUNCED_AFTER_MS = 150;

/**
 * @param {Engine} engine
 * @param {() => void} interrupt what Ctrl-C does in the console
 */
export function showBusy(engine, interrupt) {
  const busy = byId("busy");
  const words = byId("busy-text");
  const beside = byId("status-running"); // visible in every view
  const button = byId("interrupt");
  const restart = byId("restart");
  button.append(" ", h("kbd", {}, "Ctrl C")); // the line of hints may not have room for it
  /** @type {ReturnType<typeof setInterval> | undefined} */
  let clock;
  /** @type {unknown} the job that the clock measures */
  let shown = null;

  const tick = (/** @type {number} */ since) => {
    const elapsed = performance.now() - since;
    busy.hidden = button.hidden = elapsed < ANNOUNCED_AFTER_MS;
    busy.classList.toggle("asking", engine.isAsking);
    const running = elapsed < 1000 ? "" : `running ${Math.floor(elapsed / 1000)} s`;
    beside.textContent = engine.isAsking ? "waiting for input" : running;
    const { label = "", listener } = engine.current ?? {};
    const isInView = !listener?.name; // an input of the console
    const name = isInView ? [] : [" ", h("span", { className: "busy-name" }, `· ${listener.name}`)];
    const run = `${label} ${(elapsed / 1000).toFixed(1)} s`;
    words.replaceChildren(...(engine.isAsking ? ["Waiting for your input"] : [run, ...name]));
  };

  engine.addEventListener("change", () => {
    if (engine.current === shown) return;
    shown = engine.current;
    clearInterval(clock);
    beside.textContent = "";
    busy.hidden = button.hidden = restart.hidden = true;
    if (shown) {
      const since = performance.now();
      clock = setInterval(() => tick(since), 100);
    }
  });
  engine.addEventListener("stuck", () => {
    restart.hidden = false;
  });
  button.addEventListener("click", interrupt);
  restart.addEventListener("click", () => engine.restart());
  document.addEventListener("keydown", (event) => {
    const isControlC = event.ctrlKey && !event.altKey && !event.metaKey && event.key.toLowerCase() === "c";
    if (isControlC && !event.defaultPrevented && !hasSelection() && engine.isBusy) {
      event.preventDefault();
      interrupt();
    }
  });
}
