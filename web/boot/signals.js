/**
 * What Python looks at for signals while it runs: a byte that the page writes to.
 *
 * CPython reads it every so many instructions and writes 0 after that, whatever it has read: on the byte itself, that
 * wipes out a signal which the page wrote in between (4 of 100, in a tight loop).
 */
export class Signals {
  /** @param {SharedArrayBuffer | null} shared null where no memory can be shared: no signal ever comes */
  constructor(shared) {
    this.byte = new Uint8Array(shared ?? new ArrayBuffer(1));
    this.taken = 0;
    this.isHeld = false;
  }

  /** Read and written by CPython, to which this is an array. */
  get 0() {
    this.taken = this.isHeld ? 0 : this.byte[0];
    return this.taken;
  }

  set 0(_) {
    if (this.taken !== 0) this.clear();
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
  held(work) {
    this.isHeld = true;
    try {
      return work();
    } finally {
      this.isHeld = false;
    }
  }
}
