/**
 * Keeps a second Python ready, so that a restart is instant: booted while nobody needs the computer, with a
 * device of its own and the usual kernels.
 */

import { onChoicesKept } from "../../worker/boot/choices.js";
import { isOurs, SPARE } from "../../worker/protocol.js";
import { Interpreter } from "../interpreter.js";
import { begin as startWorker } from "../start.js";

/** @typedef {import("../engine.js").Engine} Engine */

/** Quiet before it begins, in ms: longer than a snapshot waits, which is of more use. */
const QUIET_MS = 10_000;
/** GiB of the device. A spare takes 65 MB of it. */
const LEAST_MEMORY = 4;

/**
 * @param {Engine} engine
 * @param {Promise<void>} afterwards when it may begin to wait for quiet
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

  /** @param {Interpreter | null} spare in place of the one there is, if there is one */
  function setSpare(spare) {
    engine.spare?.end();
    engine.spare = spare;
    engine.dispatchEvent(new Event("spare"));
  }

  /**
   * It would fail again; a restart then boots anew, and tells why that fails.
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

  /** A device knows the choices among kernels that were kept when it was got: now there are others. */
  function replace() {
    if (engine.spare) setSpare(null);
    consider();
  }

  function consider() {
    stop(); // what runs goes first
    if (!engine.spare && engine.isReady && !engine.isBusy) timer = setTimeout(whenQuiet, QUIET_MS);
  }

  function whenQuiet() {
    const idle = self.requestIdleCallback ?? setTimeout; // which Safari has
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

/** Where the browser does not say how much memory there is, small devices are told by their screens. */
function hasRoom() {
  const { deviceMemory } = /** @type {Navigator & { deviceMemory?: number }} */ (navigator);
  return deviceMemory === undefined ? matchMedia("(pointer: fine)").matches : deviceMemory >= LEAST_MEMORY;
}
