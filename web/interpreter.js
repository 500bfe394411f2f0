/** A worker that holds Python, and the byte that ends its loops: each has its own. */

import { envelope } from "./protocol.js";

/** @typedef {import("./protocol.js").Command} Command */

/** Written to the byte, it is Ctrl-C. */
export const SIGINT = 2;

export class Interpreter {
  /** @param {Worker} worker to which nothing was posted yet */
  constructor(worker) {
    this.worker = worker;
    this.interruptBuffer = self.crossOriginIsolated ? new SharedArrayBuffer(1) : null;
    /** Null where no memory can be shared. */
    this.flag = this.interruptBuffer && new Uint8Array(this.interruptBuffer);
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

  /** Browsers let a worker that is busy go on for two seconds, which it would take from the next one. */
  end() {
    if (this.flag) this.flag[0] = SIGINT;
    this.worker.terminate();
  }
}
