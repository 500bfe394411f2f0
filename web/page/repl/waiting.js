/** The note of an input that has not started: what it waits for, and a button that stops that. */

/** @typedef {import("../engine.js").Engine} Engine */
/** @typedef {import("../engine.js").Listener} Listener */
/** @typedef {import("./transcript.js").Entry} Entry */

/** An input that starts sooner needs no note. */
const SAID_AFTER_MS = 300;
const UPDATED_EVERY_MS = 1000;

/**
 * @param {Engine} engine
 * @param {Listener} listener of the queued input
 * @param {Entry} entry that shows it
 * @returns {() => void} ends this: it has started, or will not
 */
export function sayWhatItWaitsFor(engine, listener, entry) {
  const update = () => {
    const blocker = engine.blockerOf(listener);
    const isSlowStart = !engine.isReady && !engine.broken;
    const { current } = engine; // the button stops this one, whatever runs at the click
    const stop = () => engine.interrupt(current);
    if (isSlowStart) entry.wait("This runs when Python is ready.");
    else if (engine.isBenchmarking) entry.wait("This runs when the benchmarks are done.", { stop });
    else if (blocker) entry.wait(`Waiting for ${blocker.name}`, { time: timeOf(blocker), stop });
    else entry.wait("");
  };
  const isFree = engine.isReady && !engine.isBenchmarking;
  if (!isFree) update();
  let timer = setTimeout(function again() {
    update();
    timer = setTimeout(again, UPDATED_EVERY_MS);
  }, SAID_AFTER_MS);
  return () => clearTimeout(timer);
}

/** @param {import("../engine.js").Job} job that runs */
function timeOf({ startedAt }) {
  return ` (${Math.floor((performance.now() - startedAt) / 1000)} s)`;
}
