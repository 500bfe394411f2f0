/**
 * Output on its way from the worker to the page. What a program prints is sent at once, line by
 * line; a flood (a loop that only prints) is sent in larger pieces, so that the page, which takes
 * some microseconds a message, can still answer Ctrl-C.
 */

/** @typedef {import("./protocol.js").StreamName} StreamName */

/** So many messages may go at once; after that, one a millisecond. */
const BURST = 1000;
const LARGEST_PIECE = 65_536;
/** What is held back waits so long for more. */
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
