/**
 * The peers as contenders: tfjs and jax-js, each on a device of its own in the page. `in_browser.py`
 * calls `start`, and then the methods of `peers[name]`, for each case `prepare`, any number of `sample`
 * and `values`, and `release`. Bundled by `npm run bench:peers`; the page itself never loads it.
 */

import { scheduleFor, Waiter } from "../../../../web/bridge/waiting.js";
import { FORMS } from "./forms.js";
import { JaxJs } from "./jax.js";
import { Tfjs } from "./tfjs.js";

/**
 * @typedef {object} Spec an operand (`operands.py`)
 * @property {string[]} files of a row, and where there are two, of a column that is added to it
 * @property {"f" | "i"} format float32 or int32
 * @property {number[]} shape
 *
 * @typedef {"all" | "each" | "number"} Finish what a sample waits for (`cases.py`)
 */

/**
 * What the two have in common: how calls are timed. They differ in how a tensor is made, freed and read.
 *
 * @template T
 * @typedef {object} Library
 * @property {GPUDevice} device
 * @property {(data: Float32Array | Int32Array) => T} tensor of one dimension
 * @property {(row: T, column: T) => T} outerSum frees its operands
 * @property {(x: T, shape: number[]) => T} reshape frees its operand
 * @property {(form: (...x: T[]) => T | T[], operands: T[]) => T | T[]} call
 * @property {(results: T[]) => void} submit everything that these results need
 * @property {(x: T) => Promise<Float32Array | Int32Array>} read
 * @property {(x: T) => void} dispose
 * @property {() => void} trim give back memory that is kept for later
 */

/** @type {Record<string, Contender<any>>} */
export const peers = {};

/**
 * Starts a library.
 *
 * @param {"tfjs" | "jax-js"} name
 * @param {{ software: boolean }} options
 */
export async function start(name, { software }) {
  /** @type {Library<any>} */
  const library = name === "tfjs" ? await Tfjs.start() : await JaxJs.start();
  peers[name] = new Contender(name, library, software);
}

/** Whether a library has lost its device. */
export function anyLost() {
  return Object.values(peers).some((peer) => peer.isLost);
}

/** @template T */
class Contender {
  /** @type {(...x: T[]) => T | T[]} */
  #form = () => [];
  /** @type {Finish} */
  #finish = "all";
  /** @type {T[]} */
  #operands = [];
  /** The results of each call of the last sample. @type {T[][]} */
  #calls = [];
  /** @type {number[]} */
  #numbers = [];
  isLost = false;

  /**
   * @param {"tfjs" | "jax-js"} name
   * @param {Library<T>} library
   * @param {boolean} software
   */
  constructor(name, library, software) {
    this.name = name;
    this.library = library;
    const { device } = library;
    device.lost.then(() => {
      this.isLost = true;
    });
    // As py_tensor waits: without it Chromium says 3 ms late that the work is done.
    const waiter = new Waiter(
      () => device.queue.submit([]),
      () => scheduleFor(software),
    );
    this.wait = () => waiter.wait(device.queue.onSubmittedWorkDone());
  }

  /**
   * @param {{ name: string, finish: Finish, operands: Spec[] }} about
   * @returns {Promise<boolean>} whether the library has this case
   */
  async prepare({ name, finish, operands }) {
    const form = FORMS[name]?.[this.name];
    if (!form) return false;
    this.#form = /** @type {any} */ (form);
    this.#finish = finish;
    for (const spec of operands) this.#operands.push(await this.#operand(spec));
    return true;
  }

  /** @param {Spec} spec */
  async #operand({ files, format, shape }) {
    const { library } = this;
    const parts = await Promise.all(files.map((url) => fetchNumbers(url, format)));
    const [row, column] = parts.map((part) => library.tensor(part));
    return library.reshape(column ? library.outerSum(row, column) : row, shape);
  }

  /**
   * Calls the form so many times; all results are kept, and done when the time is taken.
   *
   * @param {number} count
   * @returns {Promise<number>} seconds
   */
  async sample(count) {
    this.#forget();
    const { library } = this;
    const started = performance.now();
    for (let i = 0; i < count; i++) {
      const result = library.call(this.#form, this.#operands);
      const results = Array.isArray(result) ? result : [result];
      this.#calls.push(results);
      if (this.#finish === "number") {
        this.#numbers.push((await library.read(results[0]))[0]); // as its users do
      } else if (this.#finish === "each") {
        library.submit(results);
        await this.wait();
      }
    }
    if (this.#finish === "all") {
      library.submit(this.#calls.flat());
      await this.wait();
    }
    return (performance.now() - started) / 1000;
  }

  /** @param {{ call: number, places: number[] }} which flat indices into all results of that call */
  async values({ call, places }) {
    if (this.#numbers.length > 0) return [this.#numbers[call]];
    /** @type {(Float32Array | Int32Array)[]} */
    const all = [];
    for (const result of this.#calls[call]) all.push(await this.library.read(result));
    const size = all[0].length;
    return places.map((place) => all[Math.floor(place / size)][place % size]);
  }

  release() {
    this.#forget();
    for (const operand of this.#operands.splice(0)) this.library.dispose(operand);
    this.library.trim();
  }

  #forget() {
    for (const result of this.#calls.splice(0).flat()) this.library.dispose(result);
    this.#numbers = [];
  }
}

/**
 * @param {string} url
 * @param {"f" | "i"} format
 */
async function fetchNumbers(url, format) {
  const bytes = await (await fetch(url)).arrayBuffer();
  return format === "f" ? new Float32Array(bytes) : new Int32Array(bytes);
}
