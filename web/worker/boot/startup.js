/** A start of Python by the fastest way there is: from the snapshot of an earlier visit, or plainly. */

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
   * @param {boolean} how.distrusted whether a boot from the snapshot has come to nothing before
   * @param {(boot: Boot) => void} how.onStart called when Python begins to load, and how
   * @returns {Promise<{ py: PyodideInterface, boot: Boot }>}
   */
  async boot(options, { distrusted, onStart }) {
    const { key, snapshot } = await this.kept;
    if (snapshot && !distrusted) {
      onStart("snapshot");
      try {
        return { py: await bootFromSnapshot(snapshot, this.parts, options), boot: "snapshot" };
      } catch (error) {
        if (error instanceof NotLoaded) throw error; // which is not the snapshot's fault
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
    return { key: "", snapshot: null }; // build.json is missing: the plain boot will tell what else is
  }
}

/**
 * Put a note in a snapshot's place: to make it again would end in the same way.
 *
 * @param {string} key
 * @param {string} reason
 */
async function condemn(key, reason) {
  await keep(key, { unusable: reason }).catch(() => {});
}
