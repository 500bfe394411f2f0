/** tfjs on WebGPU, with the interface of `contender.js`. */

import * as tf from "../vendor/tfjs.js";
import { CASES } from "./tfjs_cases.js";

/**
 * @template T
 * @typedef {import("./contender.js").Library<T>} Library
 */
/** @typedef {import("@tensorflow/tfjs-core").Tensor} Tensor */

/** @implements {Library<Tensor>} */
export class Tfjs {
  static async start() {
    if (!(await tf.setBackend("webgpu"))) throw new Error("tfjs has no WebGPU here");
    await tf.ready();
    tf.env().set("WEBGPU_CPU_FORWARD", false); // run small ops on the GPU too, like the other libraries
    return new Tfjs(tf.backend());
  }

  /** @param {any} backend a WebGPUBackend, whose private members are used here */
  constructor(backend) {
    this.backend = backend;
    /** @type {GPUDevice} */
    this.device = backend.device;
    this.version = tf.version;
    this.cases = CASES;
  }

  /** @param {Float32Array | Int32Array} data */
  tensor(data) {
    return tf.tensor1d(data, data instanceof Int32Array ? "int32" : "float32");
  }

  /**
   * @param {Tensor} row
   * @param {Tensor} column
   */
  outerSum(row, column) {
    const sum = tf.tidy(() => tf.add(row, tf.reshape(column, [-1, 1])));
    tf.dispose([row, column]);
    return sum;
  }

  /**
   * @param {Tensor} x
   * @param {number[]} shape
   */
  reshape(x, shape) {
    const reshaped = tf.reshape(x, shape);
    x.dispose();
    return reshaped;
  }

  /**
   * @param {(...x: Tensor[]) => Tensor | Tensor[]} run
   * @param {Tensor[]} operands
   */
  call(run, operands) {
    return tf.tidy(() => run(...operands));
  }

  /** Submits the last commands; tfjs has submitted all others already. */
  submit() {
    if (!this.backend.commandEncoder) return;
    this.backend.endComputePassEncoder();
    this.backend.submitQueue();
  }

  /** @param {Tensor} x */
  async read(x) {
    return /** @type {Float32Array | Int32Array} */ (await x.data());
  }

  /** @param {Tensor} x */
  dispose(x) {
    x.dispose();
  }

  /** Destroys free buffers; tfjs keeps every buffer for results of the same size. */
  trim() {
    this.submit();
    const { bufferManager } = this.backend;
    for (const buffers of bufferManager.freeBuffers.values()) {
      for (const buffer of buffers.splice(0)) {
        bufferManager.numFreeBuffers -= 1;
        bufferManager.numBytesAllocated -= buffer.size;
        buffer.destroy();
      }
    }
  }
}
