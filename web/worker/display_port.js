/** The worker's side of displays: sends bundles to the page, and tracks which updates the page has drawn. */

/** @typedef {import("../page/display/bundles.js").Bundle} Bundle */
/** @typedef {{ number: number, bundle: Bundle, isUpdate: boolean }} Shown */
/** The updates of a display that are not drawn yet. @typedef {{ frames: number, waits: (() => void)[] }} Pending */

export class DisplayPort {
  /** @type {Map<number, Pending>} by display */
  #pending = new Map();
  #send;

  /** @param {(shown: Shown, transfer: Transferable[]) => void} send */
  constructor(send) {
    this.#send = send;
  }

  /**
   * Called by Python.
   *
   * @param {number} number
   * @param {string} json the bundle
   * @param {any} pixels of an image: an ImageBitmap, or a Python buffer of bytes; otherwise undefined
   * @param {boolean} isUpdate
   */
  post(number, json, pixels, isUpdate) {
    const bundle = JSON.parse(json);
    /** @type {Transferable[]} */
    const transfer = [];
    if (pixels instanceof ImageBitmap) {
      bundle.bitmap = pixels;
      transfer.push(pixels);
    } else if (pixels) {
      const bytes = copyOf(pixels);
      bundle.bytes = bytes;
      transfer.push(bytes.buffer);
    }
    if (isUpdate) this.#of(number).frames++;
    this.#send({ number, bundle, isUpdate }, transfer);
  }

  /**
   * Called by Python.
   *
   * @param {number} number
   * @returns {Promise<void>} resolves when the page has drawn all updates of this display
   */
  drawn(number) {
    const pending = this.#pending.get(number);
    if (pending === undefined) return Promise.resolve();
    return new Promise((resolve) => pending.waits.push(resolve));
  }

  /** @param {number} number of the display whose oldest update was drawn */
  frame(number) {
    const pending = this.#pending.get(number);
    if (pending === undefined || --pending.frames > 0) return;
    this.#pending.delete(number);
    for (const resolve of pending.waits) resolve();
  }

  /** @param {number} number */
  #of(number) {
    let pending = this.#pending.get(number);
    if (pending === undefined) {
      pending = { frames: 0, waits: [] };
      this.#pending.set(number, pending);
    }
    return pending;
  }
}

/** @param {{ getBuffer: (type: string) => { data: Uint8ClampedArray, release: () => void } }} buffer of Python */
function copyOf(buffer) {
  const view = buffer.getBuffer("u8clamped");
  try {
    return view.data.slice();
  } finally {
    view.release();
  }
}
