/**
 * Keeps a second Python ready, so that a restart is instant: booted while the page is idle, with a device of its own
 * and the usual kernels.
 */

import { onChoicesKept } from "../../worker/boot/choices.js";
import { isOurs, SPARE } from "../../worker/protocol.js";
import { Interpreter } from "../interpreter.js";
import { begin as startWorker } from "../start.js";

/** @typedef {import("../engine.js").Engine} Engine */

/** Idle time before it begins, in ms: longer than for a snapshot, which is more useful. */
const QUIET_MS = 10_000;
/** Minimum memory of the computer in GiB. A spare takes 65 MB. */
const MIN_MEMORY = 4;

/**
 * @param {Engine} engine
 * @param {Promise<void>} afterwards resolved when it may begin to wait for an idle period
 */
export function keepSpareWhenIdle(engine, afterwards) {
  if (!hasRoom()) return;
  /** @type {Interpreter | null} */
  let booting = null;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer;
  let ignoreChoices = () => {};

  function stop() {
    clearTimeout(timer);
    booting?.end();
    booting = null;
  }

  function begin() {
    const interpreter = new Interpreter(startWorker(SPARE));
    booting = interpreter;
    interpreter.listen(
      (data) => {
        if (!isOurs(data)) return;
        if (data.kind === "standing-by") keep(interpreter);
        else if (data.kind !== "progress") giveUp(interpreter);
      },
      () => giveUp(interpreter),
    );
    interpreter.post({ kind: "boot", interruptBuffer: interpreter.interruptBuffer, distrusted: false });
  }

  /** @param {Interpreter} interpreter */
  function keep(interpreter) {
    booting = null;
    setSpare(interpreter);
  }

  /** @param {Interpreter | null} spare replaces the present one, if any */
  function setSpare(spare) {
    engine.spare?.end();
    engine.spare = spare;
    engine.dispatchEvent(new Event("spare"));
  }

  /**
   * It would fail again. The next restart boots a new Python and reports the failure.
   *
   * @param {Interpreter} interpreter
   */
  function giveUp(interpreter) {
    stop();
    if (engine.spare === interpreter) setSpare(null);
    engine.removeEventListener("ready", consider);
    engine.removeEventListener("change", consider);
    ignoreChoices();
  }

  /** A device reads the stored kernel choices when it is created, and these have changed since. */
  function replace() {
    if (engine.spare) setSpare(null);
    consider();
  }

  function consider() {
    stop(); // running code has priority
    if (!engine.spare && engine.isReady && !engine.isBusy) timer = setTimeout(whenQuiet, QUIET_MS);
  }

  function whenQuiet() {
    const idle = self.requestIdleCallback ?? setTimeout; // Safari has no requestIdleCallback
    if (document.hidden) timer = setTimeout(whenQuiet, QUIET_MS);
    else idle(() => engine.isReady && !engine.isBusy && !booting && !engine.spare && begin());
  }

  afterwards.then(() => {
    engine.addEventListener("ready", consider);
    engine.addEventListener("change", consider);
    ignoreChoices = onChoicesKept(replace);
    consider();
  });
}

/** If the browser does not report the memory size, a small screen means a small device. */
function hasRoom() {
  const { deviceMemory } = /** @type {Navigator & { deviceMemory?: number }} */ (navigator);
  return deviceMemory === undefined ? matchMedia("(pointer: fine)").matches : deviceMemory >= MIN_MEMORY;
}
