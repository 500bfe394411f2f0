/** The files that every start of Python needs; all downloads start immediately. */

import { arrived, fetchFile, NotLoaded, unpacked, urlOf } from "../files.js";

/** The standard library, with bytecode (bytecode.mjs). */
export const STDLIB_URL = urlOf("pyodide/python_stdlib.bin");

/** Whether this worker was started as one that may fetch packages from the internet (page/start.js). */
export const allowsPackages = self.location.search === "?packages=internet";

export class Parts {
  /** A failed download rejects where it is awaited. */
  constructor() {
    const lock = allowsPackages ? "pyodide/distribution.json" : "pyodide/lock.json";
    /** Pyodide's lock file, of the packages there are. @type {Promise<any>} */
    this.lock = fetchFile(lock).then((response) => response.json());
    /** @type {Promise<typeof import("pyodide")>} */
    this.pyodide = module("pyodide/pyodide.mjs");
    const engine = module("pyodide/pyodide.asm.js"); // Pyodide would request it later
    /** Called while the largest file arrives, which takes a minute on a slow connection. */
    this.onProgress = () => {};
    /**
     * Files by URL that Pyodide requests late with `fetch`; each is removed when requested.
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
   * @returns {Promise<Response>} its unpacked contents; rejects if they are incomplete
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
   * Loads Pyodide with these files. Pyodide waits forever for a missing file; this rejects instead.
   *
   * @template T
   * @param {() => Promise<T>} load requests the files that it needs with `fetch`
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
