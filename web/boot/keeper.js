/** Sees to it that a snapshot is left for the next visit, while nobody needs the computer. */

/** @typedef {import("../engine.js").Engine} Engine */

/** Quiet before it begins, in ms. It takes a core for two seconds. */
const QUIET_MS = 2000;

/** @param {Engine} engine */
export function leaveSnapshotWhenIdle(engine) {
  let done = false;
  /** @type {Worker | null} */
  let worker = null;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer;

  function stop() {
    clearTimeout(timer);
    worker?.terminate();
    worker = null;
  }

  function begin() {
    worker = new Worker(new URL("./snapshot_worker.js", import.meta.url), {
      type: "module",
      name: "py_tensor snapshot",
    });
    worker.addEventListener("message", finish);
    worker.addEventListener("error", finish);
  }

  function finish() {
    done = true;
    stop();
  }

  function consider() {
    stop(); // what runs goes first
    if (!done && engine.isReady && !engine.isBusy) timer = setTimeout(begin, QUIET_MS);
  }

  engine.addEventListener("ready", (event) => {
    const { boot } = /** @type {CustomEvent<import("../protocol.js").Info>} */ (event).detail;
    done = boot === "snapshot";
    consider();
  });
  engine.addEventListener("change", consider);
}
