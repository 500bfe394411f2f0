/**
 * Output on its way from the worker to the page. What a program prints is sent at once, line by
 * line; a flood (a loop that only prints) is sent in larger pieces, so that the page, which takes
 * some microseconds a message, can still answer Ctrl-C.
 */

/** @typedef {import("./protocol.js").StreamName} StreamName */

const WINDOW_MS = 100;
const MESSAGES_PER_WINDOW = 1000;
const LARGEST_PIECE = 65_536;

export class Outbox {
  /** @param {(stream: StreamName, text: string) => void} send */
  constructor(send) {
    this.send = send;
    /** @type {StreamName} */
    this.stream = "stdout";
    this.text = "";
    this.windowStart = 0;
    this.sentInWindow = 0;
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
    if (now - this.windowStart > WINDOW_MS) {
      this.windowStart = now;
      this.sentInWindow = 0;
    }
    if (this.sentInWindow < MESSAGES_PER_WINDOW || this.text.length > LARGEST_PIECE) {
      this.flush();
    }
  }

  flush() {
    if (this.text) {
      this.send(this.stream, this.text);
      this.text = "";
      this.sentInWindow += 1;
    }
  }
}
