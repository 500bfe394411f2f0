/**
 * The page's side of the service worker (sw.js): when it is registered, and what for.
 *
 * The first script of the page registers it only if the page is not cross-origin isolated, which the worker can
 * change; for everything else, registration waits until Python is ready.
 */

/** @typedef {import("../engine.js").Engine} Engine */

/** Set in this tab when it was reloaded to become isolated: never twice in a row. */
const RELOADED = "py_tensor reloaded";
/** The worker starts in 0.1 s on an idle machine; after this time the page goes on without it. */
const PATIENCE_MS = 10_000;
/** Delay after Python is ready before the files are fetched again for offline visits. */
const QUIET_MS = 1000;

/**
 * Reload the page once to get the service worker's headers, if the host did not send them.
 *
 * @returns {Promise<void>} resolved when the page may start as it is; never if it is being reloaded
 */
export async function becomeIsolated() {
  const isFramed = window.top !== window; // in a frame: the embedding page decides about isolation
  if (isFramed || !("serviceWorker" in navigator) || !mark("tried")) return;
  const isActive = await Promise.race([register().then(Boolean), pause(PATIENCE_MS)]).catch(() => false);
  if (!isActive) return;
  location.reload();
  await pause(PATIENCE_MS);
}

/** @param {Engine} engine */
export function keepForOffline(engine) {
  if (self.crossOriginIsolated) mark(null);
  if (!("serviceWorker" in navigator)) return;
  const keep = async () => {
    await pause(QUIET_MS);
    (await register()).postMessage("keep");
  };
  const ask = () => void keep().catch(() => {}); // not allowed here: no offline visits
  engine.addEventListener("ready", ask, { once: true });
  engine.addEventListener("failed", ask, { once: true }); // another build might start
}

/** @returns {Promise<boolean>} whether it finally controls this page */
export async function serviceWorkerControls() {
  if (!("serviceWorker" in navigator)) return false;
  const { serviceWorker } = navigator;
  const end = new AbortController();
  const controlled = new Promise((resolve) => {
    serviceWorker.addEventListener("controllerchange", resolve, { signal: end.signal });
  });
  const wait = async () => {
    await register();
    if (!serviceWorker.controller) await controlled;
  };
  await Promise.race([wait(), pause(PATIENCE_MS)]).catch(() => {});
  end.abort();
  return serviceWorker.controller !== null;
}

/** @returns {Promise<ServiceWorker>} once it controls this page's address */
async function register() {
  // Relative to the page: this module may be served from a build's folder.
  await navigator.serviceWorker.register("sw.js", { updateViaCache: "none" });
  const { active } = await navigator.serviceWorker.ready;
  return /** @type {ServiceWorker} */ (active);
}

/**
 * @param {string | null} reload the reload to remember
 * @returns {boolean} whether it is new, and was stored
 */
function mark(reload) {
  try {
    const isNews = sessionStorage.getItem(RELOADED) !== reload;
    if (reload === null) sessionStorage.removeItem(RELOADED);
    else sessionStorage.setItem(RELOADED, reload);
    return isNews;
  } catch {
    return false; // without storage nothing would prevent a reload loop
  }
}

/**
 * @param {number} ms
 * @returns {Promise<void>}
 */
function pause(ms) {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
