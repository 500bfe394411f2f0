/** Leaving the page while something runs asks for confirmation, in the browser's own words. */

/** @typedef {import("../engine.js").Engine} Engine */

/** @param {Engine} engine */
export function askBeforeLeaving(engine) {
  // Registered only while something runs: the listener disables the browser's back/forward cache.
  const ask = (/** @type {BeforeUnloadEvent} */ event) => event.preventDefault();
  engine.addEventListener("change", () => {
    if (engine.isWorking) window.addEventListener("beforeunload", ask);
    else window.removeEventListener("beforeunload", ask);
  });
}
