/**
 * The choices among kernels that were found best, kept for the next visit: a record for each adapter.
 *
 * What is found in one build of the page or one browser says nothing of another: its compiler may
 * differ, or the kernels. Such a record is passed over, and the next one takes its place.
 */

import { currentBuild } from "../files.js";
import { inStore, within } from "./database.js";

/** @typedef {{ build: string, browser: string, text: string }} Kept */

const CHOICES = { database: "py_tensor choices", store: "adapters" };
/** On which others of this origin hear that something else is kept. */
const NEWS = "py_tensor choices";
/** The device is asked for meanwhile, which takes about as long as a database that answers at all. */
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
    await within(/** @type {Promise<unknown>} */ (done), PATIENCE_TO_KEEP_MS);
    const news = new BroadcastChannel(NEWS);
    news.postMessage(adapter);
    news.close();
  },
};

/**
 * @param {() => void} listener called when another worker has kept choices
 * @returns {() => void} ends that
 */
export function onChoicesKept(listener) {
  const news = new BroadcastChannel(NEWS);
  news.onmessage = listener;
  return () => news.close();
}
