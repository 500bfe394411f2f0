/** The entries of the reference, fetched at first use. */

import { urlOf } from "../../worker/files.js";

/** @typedef {import("./reference.js").Entry} Entry */
/** @typedef {{ entries: Entry[], absent: Record<string, string> }} Reference absent: what there is in the place of a name */

/** @type {Promise<Reference> | null} */
let loaded = null;

/** @returns {Promise<Reference>} */
export function loadReference() {
  loaded ??= load();
  loaded.catch(() => {
    loaded = null; // the next call fetches again
  });
  return loaded;
}

/** @returns {Promise<Reference>} */
async function load() {
  const response = await fetch(urlOf("reference.json"));
  if (!response.ok) throw new Error(`reference.json: ${response.status}`);
  return response.json();
}

/**
 * @param {string[]} names of an entry, or aliases, the best one first
 * @returns {Promise<Entry | null>}
 */
export async function entryNamed(names) {
  const { entries } = await loadReference();
  for (const name of names) {
    const found = entries.find((entry) => entry.name === name || entry.aliases.includes(name));
    if (found) return found;
  }
  return null;
}
