/**
 * Starts the worker. The page loads this module first, so that the worker starts before the rest of the page has
 * loaded. The first caller of `startWorker` gets this worker. (Therefore this module imports nothing.)
 */

/**
 * The `localStorage` key of the user's permission to install packages from the internet (ui/packages.js), with the
 * value "allowed". It includes the path, because all pages of an origin share its storage.
 */
const PACKAGES = `py_tensor packages ${new URL("./", location.href).pathname}`;

/** The workers that were started with permission to download packages. @type {WeakSet<Worker>} */
const fetchers = new WeakSet();

if (!self.crossOriginIsolated) {
  // A page that is about to reload starts no worker.
  await import("./boot/service_worker.js").then(({ becomeIsolated }) => becomeIsolated());
}

/** @type {Worker | null} */
let early = begin();
early.addEventListener("error", () => {
  early = null; // the next attempt fails where its error is shown
});

/** @returns {Worker} a worker that has received no message yet */
export function startWorker() {
  const worker = early ?? begin();
  early = null;
  return worker;
}

/** Whether the user allows packages. Code in a worker cannot write this, and no URL of the page sets it. */
export function isAllowed() {
  try {
    return localStorage.getItem(PACKAGES) === "allowed";
  } catch {
    return false; // without storage there is no permission
  }
}

/**
 * Whether the next worker may download packages: its content security policy, sent by the service worker (sw.js), is
 * then wider.
 */
export function allowsPackages() {
  return isAllowed() && Boolean(navigator.serviceWorker?.controller);
}

/** @param {Worker} worker started by `begin` */
export function mayFetch(worker) {
  return fetchers.has(worker);
}

/**
 * @param {boolean} isAllowed
 * @throws if storage is unavailable
 */
export function allowPackages(isAllowed) {
  if (isAllowed) localStorage.setItem(PACKAGES, "allowed");
  else localStorage.removeItem(PACKAGES);
}

/**
 * @param {string} [name] tells the worker its purpose
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
