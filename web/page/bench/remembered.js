/** The choice of benchmarks, stored across reloads. */

import { readLocal, writeLocal } from "../ui/local.js";
import { problemsWith } from "./validate.js";

/** @typedef {import("./form.js").Choice} Choice */
/** @typedef {Omit<Choice, "contenders"> & { contenders: { webgpu: string[], none: string[] } }} Chosen none: without WebGPU */

const KEY = "py_tensor.benchmarks";

const names = { type: "array", items: { type: "string" } };
const FORM = {
  type: "object",
  required: ["suites", "contenders", "rounds", "budget", "total"],
  properties: {
    suites: {
      type: "array",
      items: {
        type: "object",
        required: ["suite", "cases", "sizes"],
        properties: { suite: { type: "string" }, cases: names, sizes: names },
      },
    },
    contenders: {
      type: "object",
      required: ["webgpu", "none"],
      properties: { webgpu: names, none: names },
    },
    rounds: { type: "number" },
    budget: { type: "number" },
    total: { type: "number" },
  },
};

/** @param {Chosen} choice */
export function remember(choice) {
  writeLocal(KEY, JSON.stringify(choice)); // without storage the next visit starts with the defaults
}

/** @returns {Chosen | null} null if there is none, or it is of another build */
export function recall() {
  try {
    const value = JSON.parse(readLocal(KEY) ?? "null");
    return problemsWith(FORM, value).length ? null : value;
  } catch {
    return null;
  }
}
