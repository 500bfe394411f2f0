/**
 * The functions of Python's C interface that are used here; Pyodide exports them.
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
 * A WebAssembly module whose function takes a pointer and returns the result of the imported function: a pending call
 * that handles signals. (A JavaScript function would do the same, but a handler called through it could not wait.)
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
 * The byte that Python checks for signals while it runs; the page writes to it.
 *
 * CPython reads it at regular intervals and then writes 0, whatever it has read. On the byte itself, that would erase a
 * signal that the page wrote in between (4 of 100 signals in a tight loop).
 */
export class Signals {
  /** @type {PythonModule | null} */
  #python = null;
  /** The thread state that CPython notifies of signals. */
  #first = 0;
  /** The function pointer of the pending call, once it was made. */
  #pendingCall = 0;

  /** @param {SharedArrayBuffer | null} shared null if memory cannot be shared; no signal arrives then */
  constructor(shared) {
    this.byte = new Uint8Array(shared ?? new ArrayBuffer(1));
    this.taken = 0;
    this.isDeferred = false;
  }

  /** CPython reads and writes element 0; to CPython, this object is an array. */
  get 0() {
    this.taken = this.isDeferred ? 0 : this.byte[0];
    if (this.taken !== 0) this.tellRunningState();
    return this.taken;
  }

  set 0(_) {
    if (this.taken !== 0) this.clear();
  }

  /** @param {PythonModule} python runs no program yet, so its thread state is the first one */
  attach(python) {
    this.#python = python;
    this.#first = python._PyThreadState_GetUnchecked();
  }

  /**
   * Notifies the thread state whose code runs. CPython notifies the first state, whose code should handle signals.
   * However, Pyodide swaps states when programs wait for each other, and may end up with another state (for example, if
   * a task began to wait before the program and finished before it). No loop could be interrupted from then on.
   * Therefore CPython is given a pending call that handles signals; a state is notified of pending calls when it takes
   * the interpreter's lock.
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
   * Runs work of the page during which signals are deferred, because they are meant for the user's program.
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
