/** Prepares the device and the kernels of the most common expressions, without waiting for Python. */

import { createBridge } from "../../bridge/index.js";
import { fetchFile } from "../files.js";
import { choiceStore } from "./choices.js";

/** @typedef {import("../../bridge/index.js").Bridge} Bridge */
/** @typedef {import("../../bridge/heap.js").PyodideHost} PyodideHost */

/**
 * @param {PyodideHost} host its `_module` may be set later
 * @param {Promise<unknown>} time resolves when there is time to compile
 * @returns {Bridge} requests the device itself
 */
export function prepareGpu(host, time) {
  const bridge = createBridge(host, { choiceStore });
  compileUsual(bridge, time).catch(() => {}); // on failure Python requests the device and compiles what it uses
  return bridge;
}

/**
 * Acquires the device with the same trial as Python, which then gets the same device.
 *
 * @param {Bridge} bridge
 * @param {Promise<unknown>} time
 */
async function compileUsual(bridge, time) {
  const [trial, ...lists] = ["trial", "software", "gpu"].map(fetchKernels);
  for (const list of lists) list.catch(() => {});
  const { wgsl, counts } = await trial;
  const found = JSON.parse(await bridge.acquire(wgsl, counts));
  await time;
  if (found.ok) bridge.precompile(await lists[found.adapter.isFallbackAdapter ? 0 : 1]);
}

/**
 * @param {string} name of a file made by kernels.py
 * @returns {Promise<any>}
 */
async function fetchKernels(name) {
  return (await fetchFile(`kernels/${name}.json`)).json();
}
