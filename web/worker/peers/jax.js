/** jax-js on WebGPU, with the interface of `contender.js`. */

import { defaultDevice, getWebGPUDevice, init, numpy as np, version } from "../vendor/jax.js";
import { CASES } from "./jax_cases.js";

/**
 * @template T
 * @typedef {import("./contender.js").Library<T>} Library
 */
/** @typedef {import("@jax-js/jax").Array} JaxArray */

/** @implements {Library<JaxArray>} */
export class JaxJs {
  static async start() {
    await init("webgpu");
    defaultDevice("webgpu");
    return new JaxJs();
  }

  constructor() {
    this.device = getWebGPUDevice();
    this.version = version;
    this.cases = CASES;
  }

  /** @param {Float32Array | Int32Array} data */
  tensor(data) {
    return np.array(/** @type {any} */ (data));
  }

  /**
   * @param {JaxArray} row
   * @param {JaxArray} column
   */
  outerSum(row, column) {
    return np.add(row, np.reshape(column, [-1, 1]));
  }

  /**
   * @param {JaxArray} x
   * @param {number[]} shape
   */
  reshape(x, shape) {
    const reshaped = np.reshape(x, shape);
    this.submit([reshaped]); // otherwise every use would compute it again
    return reshaped;
  }

  /**
   * @param {(...x: JaxArray[]) => JaxArray | JaxArray[]} run
   * @param {JaxArray[]} operands
   */
  call(run, operands) {
    return run(...operands.map((operand) => operand.ref));
  }

  /**
   * `gpuBuffer` also copies views, and unlike `blockUntilReady` it needs no read of each result.
   *
   * @param {JaxArray[]} results
   */
  submit(results) {
    for (const result of results) result.ref.gpuBufferSync();
  }

  /** @param {JaxArray} x */
  async read(x) {
    return /** @type {Float32Array | Int32Array} */ (await x.ref.data());
  }

  /** @param {JaxArray} x */
  dispose(x) {
    x.dispose();
  }

  /** Does nothing: jax-js keeps no memory. */
  trim() {}
}
