/** The device and the kernels of the most usual expressions, got ready while Python starts. */

import { fetchFile, urlOf } from "./files.js";

/** @typedef {import("../bridge/index.js").Bridge} Bridge */
/** @typedef {import("../bridge/heap.js").PyodideHost} PyodideHost */

/**
 * @param {PyodideHost} host whose `_module` may come later
 * @returns {Promise<Bridge>} the bridge, which has begun to look for the device
 */
export async function prepareGpu(host) {
  /** @type {typeof import("../bridge/index.js")} */
  const { createBridge } = await import(urlOf("bridge/index.js"));
  const bridge = createBridge(host);
  compileCore(bridge).catch(() => {}); // then each is compiled where it is first used
  return bridge;
}

/** @param {Bridge} bridge */
async function compileCore(bridge) {
  const found = JSON.parse(await bridge.acquire());
  if (!found.ok) return;
  const kind = found.adapter.isFallbackAdapter ? "software" : "gpu";
  bridge.precompile(await (await fetchFile(`kernels/${kind}.json`)).json());
}
