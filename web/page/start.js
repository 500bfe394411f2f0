/**
 * Starts the worker. The page loads this module first, and so the worker is under way before the
 * rest of the page is there; whoever asks first gets that one. (So it imports nothing.)
 */

/**
 * Where `localStorage` holds that the user allows packages from the internet (ui/packages.js): "allowed". Includes the
 * path, because the storage of an origin is shared by all its pages.
 */
const PACKAGES = `py_tensor packages ${new URL("./", location.href).pathname}`;

/** The workers that were started as ones that may fetch packages. @type {WeakSet<Worker>} */
const fetchers = new WeakSet();

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

/** Whether the user allows packages. What runs in a worker cannot write this, and no address of the page sets it. */
export function isAllowed() {
  try {
    return localStorage.getItem(PACKAGES) === "allowed";
  } catch {
    return false; // no storage, no setting
  }
}

/** Whether the next worker may fetch packages: its policy, which the service worker sends, is wider then (sw.js). */
export function allowsPackages() {
  return isAllowed() && Boolean(navigator.serviceWorker?.controller);
}

/** @param {Worker} worker which `begin` has started */
export function mayFetch(worker) {
  return fetchers.has(worker);
}

/**
 * @param {boolean} isAllowed
 * @throws where nothing can be stored
 */
export function allowPackages(isAllowed) {
  if (isAllowed) localStorage.setItem(PACKAGES, "allowed");
  else localStorage.removeItem(PACKAGES);
}

/**
 * @param {string} [name] by which the worker knows what it is for
 * @returns {Worker}
 */
export function begin(name = "py_tensor") {
  const url = new URL("../worker/worker.js", import.meta.url);
  const isFetcher = allowsPackages();
  if (isFetcher) url.search = "packages=internet";
  const worker = new Worker(url, { type: "module", name });
  if (isFetcher) fetchers.add(worker);
  return worker;
}
