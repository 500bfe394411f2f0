/** Short texts of the page in `localStorage`, which may be unavailable or full. */

import { REFUSED } from "../../worker/boot/database.js";

const NO_ROOM = "browser storage is full";

/**
 * @param {string} key
 * @returns {string | null} null if there is no such text, or storage is unavailable
 */
export function readLocal(key) {
  try {
    return localStorage.getItem(key);
  } catch {
    return null;
  }
}

/**
 * @param {string} key
 * @param {string | null} text null: remove it
 * @returns {string} why it could not be stored, as a clause; "" if it was
 */
export function writeLocal(key, text) {
  try {
    if (text === null) localStorage.removeItem(key);
    else localStorage.setItem(key, text);
    return "";
  } catch (error) {
    return /** @type {Error} */ (error).name === "QuotaExceededError" ? NO_ROOM : REFUSED;
  }
}
