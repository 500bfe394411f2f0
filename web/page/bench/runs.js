/** Saved runs: a bounded number in IndexedDB, the oldest deleted first. */

import { inStore, reasonOf, within } from "../../worker/boot/database.js";
import { fromJson } from "./record.js";

/** @typedef {import("./record.js").Run} Run */
/** @typedef {{ id: string, run: Run }} Kept */

const RUNS = { database: "py_tensor benchmark runs", store: "runs" };
export const MAX_RUNS = 40;
const PATIENCE_MS = 5000;

export class KeptRuns {
  constructor() {
    /** Newest first. @type {Kept[]} */
    this.all = [];
    /** Why the runs cannot be stored, as a clause; null if they can. @type {string | null} */
    this.problem = null;
    /** Number of damaged runs, which were deleted. */
    this.lost = 0;
  }

  /** Load the runs of earlier visits. */
  async load() {
    const keys = (await this.#ask("readonly", (store) => store.getAllKeys())) ?? [];
    /** @type {Kept[]} */
    const found = [];
    for (const key of keys) {
      const kept = this.#parsed(await this.#ask("readonly", (store) => store.get(key)), key);
      if (kept) {
        const read = fromJson(JSON.stringify(kept.run)); // it may be of another build
        if (read.run) found.push({ id: kept.id, run: read.run });
      } else if (!this.problem) {
        this.lost++;
        await this.#ask("readwrite", (store) => store.delete(key));
      }
    }
    const here = new Set(this.all.map(({ id }) => id));
    this.all = this.#inOrder([...this.all, ...found.filter(({ id }) => !here.has(id))]);
  }

  /**
   * @param {Run} run
   * @returns {Promise<Kept>}
   */
  async add(run) {
    const kept = { id: crypto.randomUUID(), run };
    this.all = this.#inOrder([kept, ...this.all]);
    for (const { id } of this.all.splice(MAX_RUNS)) await this.#delete(id);
    await this.save(kept);
    return kept;
  }

  /**
   * Save a run again, for example after renaming.
   *
   * @param {Kept} kept
   */
  async save(kept) {
    await this.#ask("readwrite", (store) => store.put(JSON.stringify(kept), kept.id));
  }

  /** @param {Kept} kept */
  async remove(kept) {
    this.all = this.all.filter((other) => other !== kept);
    await this.#delete(kept.id);
  }

  /**
   * @param {unknown} text
   * @param {IDBValidKey} key its key in the store
   * @returns {{ id: string, run: unknown } | null} null if it is not as it was saved
   */
  #parsed(text, key) {
    try {
      const { id, run } = JSON.parse(/** @type {string} */ (text));
      return id === key && typeof run === "object" && run ? { id, run } : null;
    } catch {
      return null;
    }
  }

  /** @param {string} id */
  async #delete(id) {
    await this.#ask("readwrite", (store) => store.delete(id));
  }

  /** @param {Kept[]} runs */
  #inOrder(runs) {
    return runs.sort((a, b) => (a.run.date < b.run.date ? 1 : -1));
  }

  /**
   * @template T
   * @param {IDBTransactionMode} mode
   * @param {(store: IDBObjectStore) => IDBRequest<T>} ask
   * @returns {Promise<T | null>} null without storage: the run is then held only while the page is open
   */
  async #ask(mode, ask) {
    try {
      const answer = await within(inStore(RUNS, mode, ask), PATIENCE_MS);
      this.problem = null;
      return answer;
    } catch (error) {
      this.problem = reasonOf(error);
      return null;
    }
  }
}
