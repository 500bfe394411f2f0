/** A worker that holds Python, and the byte that ends its loops: each has its own. */

import { envelope } from "../worker/protocol.js";
import { mayFetch } from "./start.js";

/** @typedef {import("../worker/protocol.js").Command} Command */

/** The number of the signal that is Ctrl-C. */
const SIGINT = 2;

export class Interpreter {
  /** @param {Worker} worker to which nothing was posted yet */
  constructor(worker) {
    this.worker = worker;
    /** Whether it may fetch packages from the internet. */
    this.allowsPackages = mayFetch(worker);
    /** See worker/boot/signals.js; null where no memory can be shared. */
    this.interruptBuffer = self.crossOriginIsolated ? new SharedArrayBuffer(1) : null;
    this.byte = this.interruptBuffer && new Uint8Array(this.interruptBuffer);
  }

  /**
   * Hear the worker from now on, in the place of whoever heard it before.
   *
   * @param {(data: any) => void} onMessage
   * @param {(event: ErrorEvent) => void} onError
   */
  listen(onMessage, onError) {
    this.worker.onmessage = ({ data }) => onMessage(data);
    this.worker.onerror = onError;
  }

  /**
   * @param {Command} command
   * @param {Transferable[]} [transfer]
   */
  post(command, transfer = []) {
    this.worker.postMessage(envelope(command), transfer);
  }

  /** @param {number} id of the command that is to end */
  interrupt(id) {
    this.signal(SIGINT); // ends a loop
    this.post({ kind: "interrupt", id }); // ends a wait
  }

  /** Take a signal back that Python has not seen yet. */
  calm() {
    this.signal(0);
  }

  /** Browsers let a worker that is busy go on for two seconds, which it would take from the next one. */
  end() {
    this.signal(SIGINT);
    this.worker.terminate();
  }

  /** @param {number} signal */
  signal(signal) {
    if (this.byte) this.byte[0] = signal;
  }
}
