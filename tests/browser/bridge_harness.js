/**
 * Drives the bridge like Python, but without Python: with its own heap and a recorder of commands.
 */

import { createBridge } from "../../web/bridge/index.js";
import { faultyGpu } from "./faulty_gpu.js";

export { createBridge, faultyGpu };

/** out[i] = in[i] * factor + addend for i < n; this is pipeline 1 of every host. */
export const AFFINE = /* wgsl */ `
struct Params { n: u32, factor: f32, addend: f32 }
@group(0) @binding(0) var<storage, read> source: array<f32>;
@group(0) @binding(1) var<storage, read_write> target: array<f32>;
@group(0) @binding(2) var<uniform> params: Params;
@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3u) {
  if (id.x < params.n) { target[id.x] = source[id.x] * params.factor + params.addend; }
}`.replaceAll("target", "result"); // target is reserved in WGSL

const MAX_IDS = 16384;

/** @typedef {Float32Array | Uint32Array | Uint8Array} Data */

export class Host {
  #memory;
  #top = 256;
  #table;
  /** @type {number[]} */
  #commands = [];
  /** @type {Uint8Array[]} */
  #block = [];
  #blockBytes = 0;

  /** @param {import("../../web/bridge/index.js").BridgeOptions & { heapBytes?: number }} options */
  constructor({ heapBytes = 16 << 20, ...options } = {}) {
    this.#memory = new ArrayBuffer(heapBytes);
    const memory = this.#memory;
    const pyodide = { _module: { HEAPU8: new Uint8Array(memory), HEAPU32: new Uint32Array(memory) } };
    this.heap = pyodide._module.HEAPU8;
    this.bridge = createBridge(pyodide, options);
    this.bridge.definePipeline(1, AFFINE, "affine", 2, 0b10);
    // Here a dispatch refers to buffers by their ids: each is at its own position in the table.
    this.#table = this.place(Uint32Array.from({ length: MAX_IDS }, (_, id) => id));
  }

  /**
   * A host with a device.
   *
   * @param {ConstructorParameters<typeof Host>[0]} [options]
   */
  static async open(options) {
    const host = new Host(options);
    const info = JSON.parse(await host.bridge.acquire());
    if (!info.ok) throw new Error(info.reason);
    return host;
  }

  /** @param {number} bytes @returns {number} an address */
  reserve(bytes) {
    const address = this.#top;
    this.#top += Math.ceil(bytes / 16) * 16;
    if (this.#top > this.#memory.byteLength) throw new Error("the harness's heap is full");
    return address;
  }

  /** @param {Data} data @returns {number} its address */
  place(data) {
    const address = this.reserve(data.byteLength);
    this.heap.set(new Uint8Array(data.buffer, data.byteOffset, data.byteLength), address);
    return address;
  }

  /** @param {...number} words */
  command(...words) {
    this.#commands.push(...words);
    return this;
  }

  /** @param {number} id @param {number} size @param {number} [slices] */
  create(id, size, slices = 0) {
    return this.command(1, id, size, slices);
  }

  /** @param {number} id @param {Data} data @param {{ offset?: number }} [how] */
  upload(id, data, { offset = 0 } = {}) {
    const bytes = new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
    return this.command(3, id, offset, this.#append(bytes), data.byteLength);
  }

  /** A buffer of floats. @param {number} id @param {number[]} values */
  floats(id, values) {
    return this.create(id, Math.ceil(values.length / 4) * 16).upload(id, new Float32Array(values));
  }

  /**
   * @param {number} source
   * @param {number} target
   * @param {{ n?: number, factor?: number, addend?: number, pipeline?: number, groups?: number[] }} [how]
   */
  affine(source, target, { n = 4, factor = 1, addend = 0, pipeline = 1, groups = [1, 1, 1] } = {}) {
    const slot = new Uint8Array(256);
    new Uint32Array(slot.buffer)[0] = n;
    new Float32Array(slot.buffer).set([factor, addend], 1);
    return this.command(4, pipeline, this.#append(slot), 12, ...groups, 2, source, target);
  }

  /** @param {Uint8Array} bytes @returns {number} their offset in the flush's block */
  #append(bytes) {
    const offset = this.#blockBytes;
    this.#block.push(bytes);
    this.#blockBytes += Math.ceil(bytes.length / 256) * 256;
    return offset;
  }

  /** Writes what was recorded into the heap. @returns {[number, number, number, number, number]} arguments of flush */
  write() {
    const words = this.#commands.length;
    const address = this.place(new Uint32Array(this.#commands));
    const blockBytes = this.#blockBytes;
    const blockAddress = this.reserve(blockBytes);
    let at = blockAddress;
    for (const bytes of this.#block) {
      this.heap.set(bytes, at);
      at += Math.ceil(bytes.length / 256) * 256;
    }
    this.#commands = [];
    this.#block = [];
    this.#blockBytes = 0;
    return [address, words, this.#table, blockAddress, blockBytes];
  }

  /** @param {number} id */
  flush(id) {
    return this.bridge.flush(...this.write(), id);
  }

  /** @param {number} id @param {number} count @param {number} [offset] in bytes */
  async floatsOf(id, count, offset = 0) {
    const address = this.reserve(4 * count);
    const outcome = await this.bridge.read(id, offset, 4 * count, address);
    return { outcome: this.noted(outcome), values: [...new Float32Array(this.#memory, address, count)] };
  }

  /** The failures that a wait reported, which are then cleared. @param {string} outcome */
  noted(outcome) {
    const failures = parsed(outcome);
    for (const { serial = 0 } of failures || []) this.bridge.forgetFailures(serial);
    return failures;
  }

  stats() {
    return JSON.parse(this.bridge.stats());
  }
}

/** @param {string} outcome */
export function parsed(outcome) {
  return outcome.startsWith("[") || outcome.startsWith("{") ? JSON.parse(outcome) : outcome;
}

/** @param {number[]} numbers */
export function median(numbers) {
  return numbers.toSorted((a, b) => a - b)[numbers.length >> 1];
}
