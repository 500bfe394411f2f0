/**
 * Sends output from the worker to the page. Normally each line is sent immediately. A flood (a loop
 * that only prints) is sent in larger pieces, because each message costs the page some microseconds,
 * and it must still respond to Ctrl-C.
 */

/** @typedef {import("./protocol.js").StreamName} StreamName */

/** This many messages may be sent at once; after that, one per millisecond. */
const BURST = 1000;
const LARGEST_PIECE = 65_536;
/** How long text that is held back waits for more. */
const HELD_MS = 20;

export class Outbox {
  /** @param {(stream: StreamName, text: string) => void} send */
  constructor(send) {
    this.send = send;
    /** @type {StreamName} */
    this.stream = "stdout";
    this.text = "";
    this.allowance = BURST;
    this.countedAt = 0;
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    this.timer = undefined;
  }

  /**
   * @param {StreamName} stream
   * @param {string} text
   */
  write(stream, text) {
    if (stream !== this.stream) {
      this.flush();
      this.stream = stream;
    }
    this.text += text;
    const now = performance.now();
    this.allowance = Math.min(BURST, this.allowance + now - this.countedAt);
    this.countedAt = now;
    if (this.allowance >= 1 || this.text.length > LARGEST_PIECE) this.flush();
    else this.timer ??= setTimeout(() => this.flush(), HELD_MS); // while Python waits for something
  }

  flush() {
    clearTimeout(this.timer);
    this.timer = undefined;
    if (!this.text) return;
    this.send(this.stream, this.text);
    this.text = "";
    this.allowance = Math.max(0, this.allowance - 1);
  }
}
