/**
 * The Wasm heap that Python and the bridge share.
 *
 * Every growth of the heap detaches all earlier views of it, so a view lives for one synchronous
 * stretch of code and is never kept: take it from here each time.
 */

/** What the bridge needs of Pyodide. @typedef {{ _module: { HEAPU8: Uint8Array, HEAPU32: Uint32Array } }} PyodideHost */

/** Bytes travel as they are. */
export const RAW = 0;
/** One byte in the heap is one u32 on the GPU: how `bool` is stored. */
export const WIDE = 1;

/** Source bytes widened at a time; bounds the temporary that widening needs. */
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
 * @param {number} mode RAW or WIDE
 */
export function upload(queue, buffer, offset, heap, address, bytes, mode) {
  if (mode === WIDE) {
    for (let start = 0; start < bytes; start += WIDEN_AT_ONCE) {
      const end = Math.min(start + WIDEN_AT_ONCE, bytes);
      const wide = new Uint32Array(heap.subarray(address + start, address + end));
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
 * @param {number} mode RAW or WIDE (each u32 becomes its low byte)
 */
export function download(source, bytes, heap, address, mode) {
  heap.set(mode === WIDE ? new Uint32Array(source, 0, bytes / 4) : new Uint8Array(source, 0, bytes), address);
}
