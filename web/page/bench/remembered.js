/** What was chosen to run, across reloads. */

import { problemsWith } from "./validate.js";

/** @typedef {import("./form.js").Choice} Choice */

const KEY = "py_tensor.benchmarks";

const names = { type: "array", items: { type: "string" } };
const FORM = {
  type: "object",
  properties: {
    suites: {
      type: "array",
      items: {
        type: "object",
        required: ["suite", "cases", "sizes"],
        properties: { suite: { type: "string" }, cases: names, sizes: names },
      },
    },
    contenders: names,
    rounds: { type: "number" },
    budget: { type: "number" },
    total: { type: "number" },
  },
};

/** @param {Choice} choice */
export function remember(choice) {
  try {
    localStorage.setItem(KEY, JSON.stringify(choice));
  } catch {
    // Without storage the next visit begins as the first one did.
  }
}

/** @returns {Partial<Choice> | null} null where there is none, or another build's */
export function recall() {
  try {
    const value = JSON.parse(localStorage.getItem(KEY) ?? "null");
    return problemsWith(FORM, value).length ? null : value;
  } catch {
    return null;
  }
}
