/**
 * The Wasm heap that Python and the bridge share.
 *
 * Every growth of the heap detaches all earlier views of it, so a view lives for one synchronous
 * stretch of code and is never kept: take it from here each time.
 */

/** What the bridge needs of Pyodide. @typedef {{ _module: { HEAPU8: Uint8Array, HEAPU32: Uint32Array } }} PyodideHost */

/** @typedef {Uint8Array | Uint16Array | Int8Array | Int16Array} NarrowArray */

/** Bytes travel as they are. */
export const RAW = 0;
/**
 * How elements lie in the heap that take a word each on the GPU, by mode: bool and uint8, uint16, int8, int16.
 * Python has the same numbers in `HEAP_MODES` (`backend/connection.py`). Mode 0 is RAW.
 *
 * @type {(undefined | { new (heap: ArrayBufferLike, address: number, length: number): NarrowArray, BYTES_PER_ELEMENT: number })[]}
 */
const NARROW = [undefined, Uint8Array, Uint16Array, Int8Array, Int16Array];

/** Elements widened at a time; bounds the temporary that widening needs. */
const WIDEN_AT_ONCE = 1 << 20;

/**
 * Writes heap bytes into a GPU buffer, in queue order.
 *
 * @param {GPUQueue} queue
 * @param {GPUBuffer} buffer
 * @param {number} offset byte offset in the buffer, a multiple of 4
 * @param {Uint8Array} heap
 * @param {number} address
 * @param {number} bytes bytes of the heap
 * @param {number} mode RAW or an index into NARROW; the address is a multiple of what an element takes
 */
export function upload(queue, buffer, offset, heap, address, bytes, mode) {
  const Narrow = NARROW[mode];
  if (Narrow) {
    const elements = new Narrow(heap.buffer, address, bytes / Narrow.BYTES_PER_ELEMENT);
    for (let start = 0; start < elements.length; start += WIDEN_AT_ONCE) {
      const wide = new Int32Array(elements.subarray(start, start + WIDEN_AT_ONCE));
      queue.writeBuffer(buffer, offset + 4 * start, wide);
    }
    return;
  }
  // writeBuffer takes multiples of 4; the rest goes in a word of its own, so that no byte past
  // the source is read.
  const whole = bytes - (bytes % 4); // not & ~3: sizes reach past 2^31
  if (whole > 0) queue.writeBuffer(buffer, offset, heap, address, whole);
  if (whole < bytes) {
    const tail = new Uint8Array(4);
    tail.set(heap.subarray(address + whole, address + bytes));
    queue.writeBuffer(buffer, offset + whole, tail);
  }
}

/**
 * Writes bytes that came from the GPU into the heap.
 *
 * @param {ArrayBuffer} source
 * @param {number} bytes of the source
 * @param {Uint8Array} heap
 * @param {number} address
 * @param {number} mode RAW or an index into NARROW, of which elements take the low bits of each word
 */
export function download(source, bytes, heap, address, mode) {
  const Narrow = NARROW[mode];
  if (Narrow) new Narrow(heap.buffer, address, bytes / 4).set(new Int32Array(source, 0, bytes / 4));
  else heap.set(new Uint8Array(source, 0, bytes), address);
}
