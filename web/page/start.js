/**
 * Starts the worker. The page loads this module first, and so the worker is under way before the
 * rest of the page is there; whoever asks first gets that one. (So it imports nothing.)
 */

if (!self.crossOriginIsolated) {
  // A page that is about to be replaced starts nothing.
  await import("./boot/service_worker.js").then(({ becomeIsolated }) => becomeIsolated());
}

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

/**
 * @param {string} [name] by which the worker knows what it is for
 * @returns {Worker}
 */
export function begin(name = "py_tensor") {
  return new Worker(new URL("../worker/worker.js", import.meta.url), { type: "module", name });
}
