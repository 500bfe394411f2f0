/**
 * Starts the worker. The page loads this module first, and so the worker is under way before the
 * rest of the page is there; whoever asks first gets that one. (So it imports nothing.)
 */

if (!self.crossOriginIsolated) {
  // A page that is about to be replaced starts nothing.
  await import("./boot/service_worker.js").then(({ becomeIsolated }) => becomeIsolated());
}

document.querySelector('script[src$="app.js"]')?.addEventListener("error", sayWhatIsMissing);

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

/** A module of the page did not come, and so none of them runs: there is nobody else to say it. */
function sayWhatIsMissing() {
  const reload = Object.assign(document.createElement("button"), { type: "button", className: "button" });
  reload.textContent = "Reload";
  reload.addEventListener("click", () => location.reload());
  const words = Object.assign(document.createElement("p"), { className: "words" });
  words.textContent = "Part of this page could not be loaded. The server may have a newer version.";
  const text = Object.assign(document.createElement("div"), { className: "banner-text" });
  text.append(words, reload);
  const banner = /** @type {HTMLElement} */ (document.getElementById("banner"));
  banner.dataset.kind = "failed";
  banner.replaceChildren(text);
  banner.hidden = false;
}
