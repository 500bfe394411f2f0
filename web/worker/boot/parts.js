/** What every start of Python needs, under way at once. */

import { arrived, fetchFile, NotLoaded, unpacked, urlOf } from "../files.js";

/** The standard library, with bytecode (bytecode.mjs). */
export const STDLIB_URL = urlOf("pyodide/python_stdlib.bin");

/** Whether this worker was started as one that may fetch packages from the internet (page/start.js). */
export const allowsPackages = self.location.search === "?packages=internet";

export class Parts {
  /** What fails rejects where it is awaited. */
  constructor() {
    const lock = allowsPackages ? "pyodide/distribution.json" : "pyodide/lock.json";
    /** Pyodide's lock file, of the packages there are. @type {Promise<any>} */
    this.lock = fetchFile(lock).then((response) => response.json());
    /** @type {Promise<typeof import("pyodide")>} */
    this.pyodide = module("pyodide/pyodide.mjs");
    const engine = module("pyodide/pyodide.asm.js"); // Pyodide would ask for it later
    /** Called as the largest part comes: on a slow line it takes a minute. */
    this.onProgress = () => {};
    /**
     * What Pyodide asks `fetch` for, and late, by its URL, until it has it.
     *
     * @type {Map<string, Promise<Response>>}
     */
    this.large = new Map([
      [urlOf("pyodide/pyodide.asm.wasm"), fetchFile("pyodide/pyodide.asm.wasm")],
      [STDLIB_URL, fetchFile("pyodide/python_stdlib.bin").then((response) => this.whole(response))],
    ]);
    for (const begun of [this.lock, this.pyodide, engine, ...this.large.values()]) begun.catch(() => {});
  }

  /**
   * @param {string} url
   * @param {Promise<Response>} asked
   */
  async ask(url, asked) {
    const response = await arrived(asked, url);
    return url === STDLIB_URL ? this.whole(response) : response;
  }

  /**
   * @param {Response} response of the standard library
   * @returns {Promise<Response>} what is in it, and nothing less
   */
  async whole(response) {
    const reader = /** @type {ReadableStream<Uint8Array<ArrayBuffer>>} */ (unpacked(response).body).getReader();
    const chunks = [];
    try {
      for (let read = await reader.read(); !read.done; read = await reader.read()) {
        chunks.push(read.value);
        this.onProgress();
      }
    } catch (error) {
      throw new NotLoaded(`pyodide/python_stdlib.bin could not be loaded completely (${error})`);
    }
    return new Response(new Blob(chunks));
  }

  /**
   * Pyodide loaded with these parts. It waits for ever where it does not get a file; this rejects then.
   *
   * @template T
   * @param {() => Promise<T>} load which asks `fetch` for what it needs
   * @returns {Promise<T>}
   */
  async load(load) {
    const { fetch } = self;
    const { instantiateStreaming } = WebAssembly;
    try {
      return await new Promise((resolve, reject) => {
        WebAssembly.instantiateStreaming = async (source, imports) => {
          try {
            return await instantiateStreaming(source, imports);
          } catch (error) {
            reject(new NotLoaded(`pyodide/pyodide.asm.wasm could not be loaded completely (${error})`));
            throw error;
          }
        };
        self.fetch = (input, init) => {
          const url = String(input);
          const response = this.large.get(url) ?? this.ask(url, fetch(input, init));
          this.large.delete(url);
          response.catch(reject);
          return response;
        };
        load().then(resolve, reject);
      });
    } finally {
      self.fetch = fetch;
      WebAssembly.instantiateStreaming = instantiateStreaming;
    }
  }
}

/**
 * @param {string} path within the page's folder
 * @returns {Promise<any>}
 * @throws {NotLoaded}
 */
async function module(path) {
  try {
    return await import(urlOf(path));
  } catch (error) {
    throw new NotLoaded(`${path} could not be loaded (${error})`);
  }
}
