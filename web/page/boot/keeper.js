/** Makes a snapshot for the next visit while the page is idle. */

import { urlOf } from "../../worker/files.js";
import { Interpreter } from "../interpreter.js";

/** @typedef {import("../engine.js").Engine} Engine */

/** Idle time before it begins, in ms. It uses a core for two seconds. */
const QUIET_MS = 2000;

/**
 * @param {Engine} engine
 * @returns {Promise<void>} resolved when there is nothing left to do
 */
export function leaveSnapshotWhenIdle(engine) {
  let done = false;
  let end = () => {};
  /** @type {Promise<void>} */
  const ended = new Promise((resolve) => {
    end = resolve;
  });
  /** @type {Interpreter | null} */
  let maker = null;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer;

  function stop() {
    clearTimeout(timer);
    maker?.end();
    maker = null;
  }

  function begin() {
    const url = urlOf("worker/snapshot_worker.js");
    maker = new Interpreter(new Worker(url, { type: "module", name: "py_tensor snapshot" }));
    maker.listen(finish, finish);
    maker.worker.postMessage(maker.interruptBuffer);
  }

  function finish() {
    done = true;
    stop();
    end();
  }

  function consider() {
    stop(); // running code has priority
    if (!done && engine.isReady && !engine.isBusy) timer = setTimeout(begin, QUIET_MS);
  }

  engine.addEventListener("ready", (event) => {
    const { boot } = /** @type {CustomEvent<import("../../worker/protocol.js").Info>} */ (event).detail;
    done = boot === "snapshot";
    if (done) end();
    consider();
  });
  engine.addEventListener("change", consider);
  return ended;
}
