/** A worker that runs Python, and its own byte for interrupts. */

import { envelope } from "../worker/protocol.js";
import { mayFetch } from "./start.js";

/** @typedef {import("../worker/protocol.js").Command} Command */

/** The number of the signal that is Ctrl-C. */
const SIGINT = 2;

export class Interpreter {
  /** @param {Worker} worker that has received no message yet */
  constructor(worker) {
    this.worker = worker;
    /** Whether it may download packages from the internet. */
    this.allowsPackages = mayFetch(worker);
    /** See worker/boot/signals.js; null without shared memory. */
    this.interruptBuffer = self.crossOriginIsolated ? new SharedArrayBuffer(1) : null;
    this.byte = this.interruptBuffer && new Uint8Array(this.interruptBuffer);
  }

  /**
   * Listen to the worker, replacing the previous listener.
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

  /** @param {number} id of the command to interrupt */
  interrupt(id) {
    this.signal(SIGINT); // interrupts running Python code
    this.post({ kind: "interrupt", id }); // interrupts a wait
  }

  /** Withdraw a signal that Python has not seen yet. */
  calm() {
    this.signal(0);
  }

  /** Browsers let a busy worker run for two more seconds, which would slow the next one. */
  end() {
    this.signal(SIGINT);
    this.worker.terminate();
  }

  /** @param {number} signal */
  signal(signal) {
    if (this.byte) this.byte[0] = signal;
  }
}
