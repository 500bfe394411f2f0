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
/** So many changes of stream are sent with a piece of a flood; the lines before them are sent as one stream. */
const CHANGES = 100;
/** A change of stream costs the page as much as this many messages: it draws and lays out each line by itself. */
const CHANGE = 10;

export class Outbox {
  /** @param {(stream: StreamName, text: string) => void} send */
  constructor(send) {
    this.send = send;
    /** @type {{ stream: StreamName, text: string }[]} what is held back, in order */
    this.held = [];
    this.characters = 0;
    /** @type {StreamName} the last one that was sent */
    this.stream = "stdout";
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
    const last = this.held.at(-1);
    if (last?.stream === stream) last.text += text;
    else this.held.push({ stream, text });
    this.characters += text.length;
    if (this.held.length > 2 * CHANGES) {
      const early = this.held.splice(0, this.held.length - CHANGES);
      this.held.unshift({ stream: "stdout", text: early.map((piece) => piece.text).join("") });
    }
    const now = performance.now();
    this.allowance = Math.min(BURST, this.allowance + now - this.countedAt);
    this.countedAt = now;
    if (this.allowance >= this.cost || this.characters > LARGEST_PIECE) this.flush();
    else this.timer ??= setTimeout(() => this.flush(), HELD_MS); // while Python waits for something
  }

  flush() {
    clearTimeout(this.timer);
    this.timer = undefined;
    this.allowance = Math.max(0, this.allowance - this.cost);
    this.characters = 0;
    for (const { stream, text } of this.held.splice(0)) {
      if (text) this.send(stream, text);
      this.stream = stream;
    }
  }

  /** What it costs the page to show what is held back, in messages. */
  get cost() {
    const changes = this.held.length - (this.held[0]?.stream === this.stream ? 1 : 0);
    return this.held.length && 1 + CHANGE * changes;
  }
}
