/**
 * What is used of Python's C interface, which Pyodide exports.
 *
 * @typedef {object} PythonModule
 * @property {() => number} _PyErr_CheckSignals
 * @property {() => number} _PyThreadState_GetUnchecked
 * @property {(call: number, argument: number) => number} _Py_AddPendingCall
 * @property {() => number} _PyEval_SaveThread
 * @property {(state: number) => void} _PyEval_RestoreThread
 * @property {(call: unknown, signature: string) => number} addFunction
 */

/**
 * A WebAssembly module whose function takes a pointer and returns what the imported function does: a pending call
 * that handles signals. (A function of JavaScript would do the same, but a handler below it could not wait.)
 *
 *   (module (import "_" "_" (func (result i32))) (func (export "_") (param i32) (result i32) call 0))
 */
const PENDING_CALL = new Uint8Array([
  ...[0, 0x61, 0x73, 0x6d, 1, 0, 0, 0], // magic number and version
  ...[1, 10, 2, 0x60, 0, 1, 0x7f, 0x60, 1, 0x7f, 1, 0x7f], // types: () -> i32, i32 -> i32
  ...[2, 7, 1, 1, 0x5f, 1, 0x5f, 0, 0], // import: function 0, of the first type
  ...[3, 2, 1, 1], // function 1, of the second type
  ...[7, 5, 1, 1, 0x5f, 0, 1], // export: function 1
  ...[10, 6, 1, 4, 0, 0x10, 0, 0x0b], // code: call 0
]);

/**
 * What Python looks at for signals while it runs: a byte that the page writes to.
 *
 * CPython reads it every so many instructions and writes 0 after that, whatever it has read: on the byte itself, that
 * wipes out a signal which the page wrote in between (4 of 100, in a tight loop).
 */
export class Signals {
  /** @type {PythonModule | null} */
  #python = null;
  /** The thread state that CPython tells of signals. */
  #first = 0;
  /** Where CPython finds the pending call, once there was one. */
  #pendingCall = 0;

  /** @param {SharedArrayBuffer | null} shared null where no memory can be shared: no signal ever comes */
  constructor(shared) {
    this.byte = new Uint8Array(shared ?? new ArrayBuffer(1));
    this.taken = 0;
    this.isDeferred = false;
  }

  /** Read and written by CPython, to which this is an array. */
  get 0() {
    this.taken = this.isDeferred ? 0 : this.byte[0];
    if (this.taken !== 0) this.tellRunningState();
    return this.taken;
  }

  set 0(_) {
    if (this.taken !== 0) this.clear();
  }

  /** @param {PythonModule} python that runs no program yet: its thread state is the first one */
  attach(python) {
    this.#python = python;
    this.#first = python._PyThreadState_GetUnchecked();
  }

  /**
   * Tell the thread state whose code runs. CPython tells the first one, whose code is to handle signals; but Pyodide
   * swaps states as programs wait for one another, and may be left with another one (a task that began to wait before
   * the program, and was done before it, is enough): no loop could be interrupted from then on. So CPython is given a
   * pending call that handles signals. It tells a state of pending calls when that state takes the interpreter's lock.
   */
  tellRunningState() {
    const python = this.#python;
    const running = python?._PyThreadState_GetUnchecked() ?? 0;
    if (!python || running === 0 || running === this.#first) return;
    this.#pendingCall ||= makePendingCall(python);
    python._Py_AddPendingCall(this.#pendingCall, 0);
    python._PyEval_RestoreThread(python._PyEval_SaveThread());
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

/** @param {PythonModule} python */
function makePendingCall(python) {
  const imports = { _: { _: python._PyErr_CheckSignals } };
  return python.addFunction(new WebAssembly.Instance(new WebAssembly.Module(PENDING_CALL), imports).exports._, "ii");
}
