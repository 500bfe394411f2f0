/**
 * Of CPython 3.13 on wasm32: where a thread state holds its interpreter, and the flags that its code looks at.
 */
const INTERPRETER = 8;
const EVAL_BREAKER = 12;
const SIGNALS_PENDING = 2;

/**
 * @typedef {object} PythonModule
 * @property {() => number} _PyThreadState_Get
 * @property {() => number} _PyInterpreterState_Get
 * @property {Uint32Array} HEAPU32
 */

/**
 * What Python looks at for signals while it runs: a byte that the page writes to.
 *
 * CPython reads it every so many instructions and writes 0 after that, whatever it has read: on the byte itself, that
 * wipes out a signal which the page wrote in between (4 of 100, in a tight loop).
 */
export class Signals {
  /** What holds Python, once it is there. @type {PythonModule | null} */
  module = null;

  /** @param {SharedArrayBuffer | null} shared null where no memory can be shared: no signal ever comes */
  constructor(shared) {
    this.byte = new Uint8Array(shared ?? new ArrayBuffer(1));
    this.taken = 0;
    this.isDeferred = false;
  }

  /** Read and written by CPython, to which this is an array. */
  get 0() {
    this.taken = this.isDeferred ? 0 : this.byte[0];
    if (this.taken !== 0) this.flag();
    return this.taken;
  }

  set 0(_) {
    if (this.taken !== 0) this.clear();
  }

  /**
   * Tell the thread state whose code runs. CPython tells the first one, whose code is to handle signals; but Pyodide
   * swaps states as programs wait for one another, and may well be left with another one (a task that began to wait
   * before the program, and was done before it, is enough): no loop could be interrupted from then on.
   */
  flag() {
    if (!this.module) return;
    const state = this.module._PyThreadState_Get();
    const heap = this.module.HEAPU32;
    if (heap[(state + INTERPRETER) >>> 2] !== this.module._PyInterpreterState_Get()) return; // not laid out like this
    heap[(state + EVAL_BREAKER) >>> 2] |= SIGNALS_PENDING;
  }

  clear() {
    this.byte[0] = 0;
    this.taken = 0;
  }

  /**
   * What comes meanwhile is for the program, not for this work of the page's.
   *
   * @template Result
   * @param {() => Result} work
   */
  deferred(work) {
    this.isDeferred = true;
    try {
      return work();
    } finally {
      this.isDeferred = false;
    }
  }
}
