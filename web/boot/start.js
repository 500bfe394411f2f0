/**
 * Starts the worker. The page loads this module first, and so the worker is under way before the
 * rest of the page is there; whoever asks first gets that one.
 */

/** @type {Worker | null} */
let early = begin();
early.addEventListener("error", () => {
  early = null; // the next one fails where somebody sees it
});

/** @returns {Worker} a worker to which nothing was posted yet */
export function startWorker() {
  const worker = early ?? begin();
  early = null;
  return worker;
}

function begin() {
  return new Worker(new URL("../worker.js", import.meta.url), { type: "module", name: "py_tensor" });
}
