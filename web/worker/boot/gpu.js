/** The device and the kernels of the most usual expressions, got ready without waiting for Python. */

import { createBridge } from "../../bridge/index.js";
import { fetchFile } from "../files.js";
import { choiceStore } from "./choices.js";

/** @typedef {import("../../bridge/index.js").Bridge} Bridge */
/** @typedef {import("../../bridge/heap.js").PyodideHost} PyodideHost */

/**
 * @param {PyodideHost} host whose `_module` may come later
 * @param {Promise<unknown>} time when there is time to compile
 * @returns {Bridge} which looks for the device by itself
 */
export function prepareGpu(host, time) {
  const bridge = createBridge(host, { choiceStore });
  compileUsual(bridge, time).catch(() => {}); // then Python asks for the device, and compiles what it uses
  return bridge;
}

/**
 * Acquires the device as Python will, with the same trial: afterwards there is the one device.
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
 * @param {string} name of a file that kernels.py made
 * @returns {Promise<any>}
 */
async function fetchKernels(name) {
  return (await fetchFile(`kernels/${name}.json`)).json();
}
