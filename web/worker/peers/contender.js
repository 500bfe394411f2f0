/**
 * Another library as a contender of the benchmarks, on a device of its own: for each case `prepare`, any number
 * of `sample` and `values`, and `release`. The page runs it in a worker (`worker.js`), the command line in its
 * page (`tests/perf/bench/peers.js`).
 */

import { scheduleFor, Waiter } from "../../bridge/waiting.js";
import { Meter } from "./meter.js";

/**
 * @typedef {"tfjs" | "jax-js"} PeerName
 *
 * @typedef {object} Operand
 * @property {(Float32Array<ArrayBuffer> | Int32Array<ArrayBuffer>)[]} parts all of it; or a row, and a column that
 *   is added to it
 * @property {number[]} shape as it lies in memory
 *
 * @typedef {"all" | "each" | "number"} Finish what a sample waits for: all calls together, each call, or the number
 *   that each call gives
 *
 * @typedef {{ name: string, finish: Finish, operands: Operand[] }} CaseSpec
 */

/**
 * What the libraries have in common: how calls are timed. They differ in how a tensor is made, freed and read.
 *
 * @template T
 * @typedef {object} Library
 * @property {GPUDevice} device
 * @property {string} version
 * @property {Record<string, (...x: any[]) => T | T[]>} cases what it writes for a case, by the case's name
 * @property {(data: Float32Array | Int32Array) => T} tensor of one dimension
 * @property {(row: T, column: T) => T} outerSum frees its operands
 * @property {(x: T, shape: number[]) => T} reshape frees its operand
 * @property {(run: (...x: T[]) => T | T[], operands: T[]) => T | T[]} call
 * @property {(results: T[]) => void} submit everything that these results need
 * @property {(x: T) => Promise<Float32Array | Int32Array>} read
 * @property {(x: T) => void} dispose
 * @property {() => void} trim give back memory that is kept for later
 */

/**
 * Starts a library, which is loaded for it.
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
    // As py_tensor waits: without it Chromium says 3 ms late that the work is done.
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
   * @returns {Promise<{ seconds: number, compile: number }>} compile: the part of it until kernels were compiled
   */
  async first() {
    const { value, seconds } = await this.meter.compiling(() => this.sample({ count: 1 }));
    return { seconds: value, compile: seconds };
  }

  /**
   * Calls the case's function so many times, in groups whose results are kept together; all is done when the time is taken.
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
   * Makes a sample of which all is told but its time.
   *
   * @param {{ count: number, kept?: number }} calls
   * @returns {Promise<import("./meter.js").Metered>}
   */
  async metered(calls) {
    this.library.submit(this.#calls.flat()); // nothing of what was before is left in an encoder
    return this.meter.running(() => this.sample(calls));
  }

  /**
   * @param {{ call: number, places: number[] }} which of the calls whose results are kept, from the end where
   *   negative, and flat indices into all its results
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
