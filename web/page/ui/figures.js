/** The memory use of Python and the GPU, requested while nothing runs. */

/** @typedef {import("../engine.js").Engine} Engine */

/**
 * @typedef {object} Figures (status.py)
 * @property {number} heap bytes of Python's memory
 * @property {GpuMemory | null} gpu null without a GPU
 * @property {number} generation of the device: 2 after its first loss
 * @property {boolean} isLost the next tensor requests a new one
 * @property {string} unavailable why a new device could not be obtained; "" if no request failed
 * @property {boolean} isOnCpu whether the default device is the CPU
 *
 * @typedef {object} GpuMemory bytes (`pt.memory_info()`)
 * @property {number} live_bytes
 * @property {number} pooled_bytes
 * @property {number} peak_bytes
 */

/** Delay after a run, so that a run that follows at once does not wait. */
const SETTLED_MS = 150;
const EVERY_MS = 1500;

/**
 * @param {Engine} engine
 * @param {(figures: Figures) => void} onChange
 */
export function watchFigures(engine, onChange) {
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer;
  let last = "";

  async function ask() {
    /** @type {Figures | null} */
    const figures = document.hidden ? null : await engine.query("figures", {});
    const text = JSON.stringify(figures);
    if (figures && text !== last) {
      last = text;
      onChange(figures);
    }
    consider(EVERY_MS);
  }

  /** @param {number} delay ms */
  function consider(delay) {
    clearTimeout(timer);
    if (engine.isReady && !engine.isBusy) timer = setTimeout(ask, delay);
  }

  for (const type of ["ready", "change"]) engine.addEventListener(type, () => consider(SETTLED_MS));
}
