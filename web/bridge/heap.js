/**
 * The Wasm heap that Python and the bridge share.
 *
 * Every growth of the heap detaches all earlier views of it, so a view is valid only within synchronous code and must
 * not be kept: get it from here each time.
 */

/**
 * The parts of Pyodide that the bridge uses.
 *
 * @typedef {{ _module: { HEAPU8: Uint8Array, HEAPU32: Uint32Array } }} PyodideHost
 */

/**
 * Writes heap bytes into a GPU buffer, in queue order.
 *
 * @param {GPUQueue} queue
 * @param {GPUBuffer} buffer
 * @param {number} offset byte offset in the buffer, a multiple of 4
 * @param {Uint8Array} heap
 * @param {number} address
 * @param {number} bytes
 */
export function upload(queue, buffer, offset, heap, address, bytes) {
  // writeBuffer takes multiples of 4; the rest is written as a separate word, so that no byte after the source is read.
  const whole = bytes - (bytes % 4); // not & ~3: sizes may exceed 2^31
  if (whole > 0) queue.writeBuffer(buffer, offset, heap, address, whole);
  if (whole < bytes) {
    const tail = new Uint8Array(4);
    tail.set(heap.subarray(address + whole, address + bytes));
    queue.writeBuffer(buffer, offset + whole, tail);
  }
}
