/** Connects Python's worker to the workers of other contenders (`peer_worker.js`), each created at its first request. */

import { urlOf } from "../files.js";

/** @typedef {import("../peer_worker.js").Method} Method */
/** @typedef {{ resolve: (answer: any) => void, reject: (error: Error) => void }} Waiting */

/** The timeout of a request: the worker is then ended, and the next request gets a new one. */
const PATIENCE_MS = 60_000;

/** The first file that a contender's worker loads, within the page's folder. @type {Record<string, string>} */
const LIBRARIES = { tfjs: "worker/vendor/tfjs.js", "jax-js": "worker/vendor/jax.js" };

class Link {
  /** @type {Map<number, Waiting>} */
  #waiting = new Map();
  #lastId = 0;
  #onClose;

  /** @param {() => void} onClose called when the worker answers no more requests */
  constructor(onClose) {
    this.#onClose = onClose;
    this.worker = new Worker(urlOf("worker/peer_worker.js"), { type: "module" });
    this.worker.addEventListener("message", ({ data: { id, answer, error } }) => {
      const waiting = this.#waiting.get(id);
      this.#waiting.delete(id);
      if (error === undefined) waiting?.resolve(answer);
      else waiting?.reject(new Error(error));
    });
    this.worker.addEventListener("error", (event) => {
      event.preventDefault();
      this.close(event.message || "its worker could not be loaded");
    });
  }

  /**
   * @param {Method} method
   * @param {any} about
   * @returns {Promise<any>}
   */
  ask(method, about) {
    const id = ++this.#lastId;
    const timer = setTimeout(() => this.close(`no answer within ${PATIENCE_MS / 1000} s`), PATIENCE_MS);
    const answered = new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
      this.worker.postMessage({ id, method, about });
    });
    return answered.finally(() => clearTimeout(timer));
  }

  /** @param {string} reason */
  close(reason) {
    this.worker.terminate();
    for (const { reject } of this.#waiting.values()) reject(new Error(reason));
    this.#waiting.clear();
    this.#onClose();
  }
}

export class Links {
  /** @type {Map<string, Link>} */
  #links = new Map();
  #onFailure;

  /** @param {(path: string) => void} [onFailure] called when a contender fails, with its file that may be missing */
  constructor(onFailure = () => {}) {
    this.#onFailure = onFailure;
  }

  /**
   * Sends a request from Python to a contender's worker. After a failure the worker is ended.
   *
   * @param {string} name of the contender, or any other name for a separate worker
   * @param {Method} method
   * @param {string} about JSON
   * @param {Float32Array<ArrayBuffer>[]} arrays the elements of `about.operands`
   * @returns {Promise<string>} the answer as JSON
   */
  async ask(name, method, about, arrays) {
    const link = this.#links.get(name) ?? new Link(() => this.#links.delete(name));
    this.#links.set(name, link);
    const given = JSON.parse(about);
    for (const [i, array] of arrays.entries()) given.operands[i].parts = [array];
    try {
      return JSON.stringify(await link.ask(method, given));
    } catch (error) {
      this.#onFailure(LIBRARIES[name] ?? "worker/peer_worker.js");
      this.close(name);
      throw error;
    }
  }

  /** @param {string} name */
  isOpen(name) {
    return this.#links.has(name);
  }

  /** @param {string} name */
  close(name) {
    this.#links.get(name)?.close("it was ended");
  }

  /** Ends all workers, which frees their memory. */
  closeAll() {
    for (const name of [...this.#links.keys()]) this.close(name);
  }
}
