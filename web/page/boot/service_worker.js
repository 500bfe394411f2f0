/**
 * The page's side of the service worker (sw.js): what it needs it for, and when it asks.
 *
 * The first script of the page asks for it only where the page is not isolated, which the worker can
 * change; for everything else it can wait until Python is there.
 */

/** @typedef {import("../engine.js").Engine} Engine */

/** Set in this tab when it was reloaded to become isolated: never twice in a row. */
const RELOADED = "py_tensor reloaded";
/** The worker starts in a tenth of a second on a quiet machine; where it never does, the page goes on without. */
const PATIENCE_MS = 10_000;
/** So long after Python is there the files are fetched once more, for a visit without a network. */
const QUIET_MS = 1000;

/**
 * Reload the page once with the service worker's headers, where the host did not send them.
 *
 * @returns {Promise<void>} when the page may start as it is: never, if it is being replaced
 */
export async function becomeIsolated() {
  const isFramed = window.top !== window; // then it is for the page around it to be isolated
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
  const ask = () => void keep().catch(() => {}); // not allowed here: then the page needs its server
  engine.addEventListener("ready", ask, { once: true });
  engine.addEventListener("failed", ask, { once: true }); // there may be a build that starts
}

/** @returns {Promise<boolean>} whether it answers what this page asks for, at last */
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

/** @returns {Promise<ServiceWorker>} once it answers for this page's address */
async function register() {
  // Relative to the page: this module may come from the folder of a build.
  await navigator.serviceWorker.register("sw.js", { updateViaCache: "none" });
  const { active } = await navigator.serviceWorker.ready;
  return /** @type {ServiceWorker} */ (active);
}

/**
 * @param {string | null} reload what to remember of it
 * @returns {boolean} whether that is news, and will be remembered
 */
function mark(reload) {
  try {
    const isNews = sessionStorage.getItem(RELOADED) !== reload;
    if (reload === null) sessionStorage.removeItem(RELOADED);
    else sessionStorage.setItem(RELOADED, reload);
    return isNews;
  } catch {
    return false; // no storage, no guard, no reload
  }
}

/**
 * @param {number} ms
 * @returns {Promise<void>}
 */
function pause(ms) {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
