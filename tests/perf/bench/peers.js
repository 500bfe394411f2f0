/**
 * The page's contenders (`web/worker/peers`) for the command line. `in_browser.py` starts them in the page itself, and
 * calls the methods of `peers[name]` and `prepare`, which fetches the operands from the server.
 */

/** @typedef {typeof import("../../../web/worker/peers/contender.js")} Contenders */
/** @typedef {import("../../../web/worker/peers/contender.js").PeerName} PeerName */
/** @typedef {import("../../../web/worker/peers/contender.js").Finish} Finish */

/**
 * @typedef {object} Spec an operand (`operands.py`)
 * @property {string[]} files of a row, and if there are two, of a column that is added to it
 * @property {"f" | "i"} format float32 or int32
 * @property {number[]} shape
 */

/** @type {Record<string, import("../../../web/worker/peers/contender.js").Contender<any>>} */
export const peers = {};

/**
 * @param {PeerName} name
 * @param {{ software: boolean }} options
 */
export async function start(name, options) {
  const url = new URL("sources/worker/peers/contender.js", location.href).href;
  const { startPeer } = /** @type {Contenders} */ (await import(url));
  peers[name] = await startPeer(name, options);
}

/**
 * @param {PeerName} name
 * @param {{ name: string, finish: Finish, operands: Spec[] }} about
 * @returns {Promise<boolean>} whether the library has this case
 */
export async function prepare(name, { operands, ...about }) {
  const fetched = operands.map(async ({ files, format, shape }) => ({
    parts: await Promise.all(files.map((url) => fetchNumbers(url, format))),
    shape,
  }));
  return peers[name].prepare({ ...about, operands: await Promise.all(fetched) });
}

/** Whether a library has lost its device. */
export function anyLost() {
  return Object.values(peers).some((peer) => peer.isLost);
}

/**
 * @param {string} url
 * @param {"f" | "i"} format
 */
async function fetchNumbers(url, format) {
  const bytes = await (await fetch(url)).arrayBuffer();
  return format === "f" ? new Float32Array(bytes) : new Int32Array(bytes);
}
