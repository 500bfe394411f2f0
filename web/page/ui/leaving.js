/** Leaving the page while something runs asks first: the browser does, in its own words. */

/** @typedef {import("../engine.js").Engine} Engine */

/** @param {Engine} engine */
export function askBeforeLeaving(engine) {
  // It is there only while something runs: with it, browsers keep no page for the way back.
  const ask = (/** @type {BeforeUnloadEvent} */ event) => event.preventDefault();
  engine.addEventListener("change", () => {
    if (engine.isWorking) window.addEventListener("beforeunload", ask);
    else window.removeEventListener("beforeunload", ask);
  });
}
