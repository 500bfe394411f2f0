/** Starts Python in the fastest way possible: from the snapshot of an earlier visit, or plainly. */

import { NotLoaded } from "../files.js";
import { Parts } from "./parts.js";
import { bootFromSnapshot, bootPlainly } from "./python.js";
import { currentKey, findSnapshot, keep } from "./store.js";

/** @typedef {import("pyodide").PyodideInterface} PyodideInterface */
/** @typedef {"snapshot" | "plain"} Boot */

export class StartUp {
  constructor() {
    this.parts = new Parts();
    this.kept = findKept();
  }

  /**
   * @param {import("./python.js").Options} options
   * @param {object} how
   * @param {boolean} how.distrusted whether an earlier boot from the snapshot did not finish
   * @param {(boot: Boot) => void} how.onStart called when Python begins to load
   * @returns {Promise<{ py: PyodideInterface, boot: Boot }>}
   */
  async boot(options, { distrusted, onStart }) {
    const { key, snapshot } = await this.kept;
    if (snapshot && !distrusted) {
      onStart("snapshot");
      try {
        return { py: await bootFromSnapshot(snapshot, this.parts, options), boot: "snapshot" };
      } catch (error) {
        if (error instanceof NotLoaded) throw error; // not the snapshot's fault
        await condemn(key, String(error));
      }
    } else if (snapshot) {
      await condemn(key, "a boot from it did not finish");
    }
    onStart("plain");
    return { py: await bootPlainly(this.parts, options), boot: "plain" };
  }
}

async function findKept() {
  try {
    const key = await currentKey();
    return { key, snapshot: await findSnapshot(key) };
  } catch {
    return { key: "", snapshot: null }; // build.json is missing; the plain boot will report what else is
  }
}

/**
 * Replaces a snapshot by a note that it is unusable, because a new one would fail in the same way.
 *
 * @param {string} key
 * @param {string} reason
 */
async function condemn(key, reason) {
  await keep(key, { unusable: reason }).catch(() => {});
}
