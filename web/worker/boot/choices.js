/**
 * The best tuning choices, kept for the next visit: one record per adapter.
 *
 * Choices do not carry over to another build of the page or another browser, because the kernels or
 * the shader compiler may differ. Such a record is ignored and later replaced.
 */

import { currentBuild } from "../files.js";
import { inStore, reasonOf, within } from "./database.js";

/** @typedef {{ build: string, browser: string, text: string }} Kept */

const CHOICES = { database: "py_tensor choices", store: "adapters" };
/** The channel that tells other workers of this origin about new choices. */
const NEWS = "py_tensor choices";
/** The device is requested at the same time, which takes about as long as a working database. */
const PATIENCE_TO_FIND_MS = 500;
const PATIENCE_TO_KEEP_MS = 5000;

/** @type {import("../../bridge/connection.js").ChoiceStore} */
export const choiceStore = {
  async find(adapter) {
    const found = inStore(CHOICES, "readonly", (store) => store.get(adapter));
    /** @type {[string, Kept | undefined]} */
    const [build, kept] = await Promise.all([currentBuild(), within(found, PATIENCE_TO_FIND_MS)]);
    const isOurs = kept?.build === build && kept.browser === navigator.userAgent;
    return isOurs && typeof kept.text === "string" ? kept.text : null;
  },

  async keep(adapter, text) {
    /** @type {Kept} */
    const kept = { build: await currentBuild(), browser: navigator.userAgent, text };
    const done = text
      ? inStore(CHOICES, "readwrite", (store) => store.put(kept, adapter))
      : inStore(CHOICES, "readwrite", (store) => store.delete(adapter));
    await within(/** @type {Promise<unknown>} */ (done), PATIENCE_TO_KEEP_MS).catch((error) => {
      throw new Error(reasonOf(error)); // the browser's message may be empty
    });
    const news = new BroadcastChannel(NEWS);
    news.postMessage(adapter);
    news.close();
  },
};

/**
 * @param {() => void} listener called when another worker has stored choices
 * @returns {() => void} removes the listener
 */
export function onChoicesKept(listener) {
  const news = new BroadcastChannel(NEWS);
  news.onmessage = listener;
  return () => news.close();
}
