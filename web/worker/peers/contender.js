/**
 * Another library as a contender in the benchmarks, on its own device. For each case: `prepare`, then any number of
 * `sample` and `values`, then `release`. The page runs it in a worker (`peer_worker.js`); the command-line benchmarks
 * run it in their page (`tests/perf/bench/peers.js`).
 */

import { scheduleFor, Waiter } from "../../bridge/waiting.js";
import { Meter } from "./meter.js";

/**
 * @typedef {"tfjs" | "jax-js"} PeerName
 *
 * @typedef {object} Operand
 * @property {(Float32Array<ArrayBuffer> | Int32Array<ArrayBuffer>)[]} parts all elements; or a row, and a column to
 *   add to it
 * @property {number[]} shape the shape in memory
 *
 * @typedef {"all" | "each" | "number"} Finish what a sample waits for: all calls together, each call, or the number
 *   that each call returns
 *
 * @typedef {{ name: string, finish: Finish, operands: Operand[] }} CaseSpec
 */

/**
 * The interface of a library. Timing is common to all; they differ in how a tensor is made, freed and read.
 *
 * @template T
 * @typedef {object} Library
 * @property {GPUDevice} device
 * @property {string} version
 * @property {Record<string, (...x: any[]) => T | T[]>} cases name of a case -> the library's implementation
 * @property {(data: Float32Array | Int32Array) => T} tensor makes a tensor of one dimension
 * @property {(row: T, column: T) => T} outerSum frees its operands
 * @property {(x: T, shape: number[]) => T} reshape frees its operand
 * @property {(run: (...x: T[]) => T | T[], operands: T[]) => T | T[]} call
 * @property {(results: T[]) => void} submit submits everything that these results need
 * @property {(x: T) => Promise<Float32Array | Int32Array>} read
 * @property {(x: T) => void} dispose
 * @property {() => void} trim frees memory that is kept for reuse
 */

/**
 * Loads and starts a library.
 *
 * @param {PeerName} name
 * @param {{ software: boolean }} options
 * @returns {Promise<Contender<any>>}
 */
export async function startPeer(name, { software }) {
  /** @type {Library<any>} */
  const library =
    name === "tfjs" ? await (await import("./tfjs.js")).Tfjs.start() : await (await import("./jax.js")).JaxJs.start();
  return new Contender(library, software);
}

/** @template T */
export class Contender {
  /** @type {(...x: T[]) => T | T[]} */
  #run = () => [];
  /** @type {Finish} */
  #finish = "all";
  /** @type {T[]} */
  #operands = [];
  /** The results of each call of the last sample's last group. @type {T[][]} */
  #calls = [];
  /** @type {number[]} */
  #numbers = [];
  isLost = false;

  /**
   * @param {Library<T>} library
   * @param {boolean} software
   */
  constructor(library, software) {
    this.library = library;
    const { device } = library;
    device.lost.then(() => {
      this.isLost = true;
    });
    this.meter = new Meter(device);
    // The same way in which py_tensor waits; otherwise Chromium reports completed work 3 ms late.
    const waiter = new Waiter(
      () => device.queue.submit([]),
      () => scheduleFor(software),
    );
    this.wait = () => waiter.wait(device.queue.onSubmittedWorkDone());
  }

  /**
   * Brings the operands to the device.
   *
   * @param {CaseSpec} about
   * @returns {boolean} whether the library has this case
   */
  prepare({ name, finish, operands }) {
    const run = this.library.cases[name];
    if (!run) return false;
    this.#run = run;
    this.#finish = finish;
    for (const operand of operands) this.#operands.push(this.#operand(operand));
    return true;
  }

  /** @param {Operand} operand */
  #operand({ parts, shape }) {
    const { library } = this;
    const [row, column] = parts.map((part) => library.tensor(part));
    return library.reshape(column ? library.outerSum(row, column) : row, shape);
  }

  /**
   * Calls the case's function once.
   *
   * @returns {Promise<{ seconds: number, compile: number }>} compile: the time spent compiling kernels
   */
  async first() {
    const { value, seconds } = await this.meter.compiling(() => this.sample({ count: 1 }));
    return { seconds: value, compile: seconds };
  }

  /**
   * Calls the case's function `count` times, in groups of `kept` calls whose results are kept. Everything has completed
   * when the time is taken.
   *
   * @param {{ count: number, kept?: number }} calls
   * @returns {Promise<number>} seconds
   */
  async sample({ count, kept = count }) {
    this.#forget();
    const { library } = this;
    /** @type {T[][]} */
    let group = [];
    const started = performance.now();
    for (let i = 0; i < count; i++) {
      const result = library.call(this.#run, this.#operands);
      const results = Array.isArray(result) ? result : [result];
      group.push(results);
      if (this.#finish === "number") {
        this.#numbers.push((await library.read(results[0]))[0]); // as its users do
      } else if (this.#finish === "each") {
        library.submit(results);
        await this.wait();
      }
      if (group.length === kept || i === count - 1) {
        if (this.#finish === "all") library.submit(group.flat());
        this.#dispose();
        this.#calls = group;
        group = [];
      }
    }
    if (this.#finish === "all") await this.wait();
    return (performance.now() - started) / 1000;
  }

  /**
   * Takes a sample and returns its counts and its GPU time.
   *
   * @param {{ count: number, kept?: number }} calls
   * @returns {Promise<import("./meter.js").Metered>}
   */
  async metered(calls) {
    this.library.submit(this.#calls.flat()); // so that no earlier work is left in an encoder
    return this.meter.running(() => this.sample(calls));
  }

  /**
   * @param {{ call: number, places: number[] }} which the call among those whose results are kept (from the end if
   *   negative), and flat indices into all its results
   */
  async values({ call, places }) {
    if (this.#numbers.length > 0) return [this.#numbers.at(call)];
    /** @type {(Float32Array | Int32Array)[]} */
    const all = [];
    for (const result of this.#calls.at(call) ?? []) all.push(await this.library.read(result));
    const size = all[0].length;
    return places.map((place) => all[Math.floor(place / size)][place % size]);
  }

  release() {
    this.#forget();
    for (const operand of this.#operands.splice(0)) this.library.dispose(operand);
    this.library.trim();
  }

  #forget() {
    this.#dispose();
    this.#numbers = [];
  }

  #dispose() {
    for (const result of this.#calls.splice(0).flat()) this.library.dispose(result);
  }
}
