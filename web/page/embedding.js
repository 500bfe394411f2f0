/**
 * `window.pyTensor`: the interface of the page to tests and other code. Its runs share the REPL's namespace
 * and queue with everything else that runs, but do not appear in the REPL.
 *
 * A message that Python posts (`js.postMessage(...)`) arrives as a "pytensor:message" event on `window`, with the
 * message as `detail`. Printed output arrives as it is printed, as "pytensor:output" events with `{stream, text}`.
 */

/** @typedef {import("./engine.js").Engine} Engine */

/**
 * @typedef {object} RunResult
 * @property {boolean} ok
 * @property {string} stdout
 * @property {string | null} result repr of the last expression
 * @property {string | null} error the traceback
 */

/** @param {Engine} engine */
export function exposePyTensor(engine) {
  const pyTensor = {
    get ready() {
      return engine.ready;
    },

    /**
     * @param {string} code
     * @returns {Promise<RunResult>}
     */
    async run(code) {
      /** @type {string[]} */
      const printed = [];
      const { ok, result, error } = await engine.run(String(code), {
        onOutput(stream, text) {
          if (stream === "stdout") printed.push(text);
          window.dispatchEvent(new CustomEvent("pytensor:output", { detail: { stream, text } }));
        },
      });
      return { ok, stdout: printed.join(""), result, error };
    },

    interrupt: () => engine.interrupt(),
  };
  Object.defineProperty(window, "pyTensor", { value: Object.freeze(pyTensor) });
}
