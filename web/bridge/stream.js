/**
 * The command stream that Python writes. A flush replays it.
 *
 * Every command is a sequence of u32 words, starting with its number:
 *
 *     1 CREATE   id bytes slices: a slab, whose slices have the ids after its own; 0 slices for other buffers
 *     2 DESTROY  id: a buffer, with its slices
 *     3 UPLOAD   id dstByteOffset blockByteOffset bytes
 *     4 DISPATCH pipeline paramByteOffset paramByteLength gx gy gz bufferCount position...
 *     5 FILL     id value bytes
 *     6 SUBMIT
 *     7 START    submits if the GPU is idle
 *     8 FETCH    position bytes: copies the start of a buffer in advance, for the next read
 *     9 CLEAR    position bytes: zeros the start of a buffer
 *    10 CHECK    position bytes: a failure of kind "index" for words that are nonzero after all earlier commands
 *
 * DISPATCH, FETCH, CLEAR and CHECK refer to buffers by their positions in a table of ids beside the stream, so that the
 * same commands can be reused in later flushes. The parameters of dispatches and the elements of uploads are in one
 * block of memory, to which commands refer by offset: they contain no addresses. An id in UPLOAD, FILL or the table may
 * be that of a slice.
 */

import { StreamError } from "./failures.js";
import { upload } from "./heap.js";
import { Readback } from "./reading.js";

/** @typedef {import("./session.js").Session} Session */
/**
 * @typedef {{ words: Uint32Array, bytes: Uint8Array, table: number, idle: boolean }} Heap views of the Wasm heap for
 *   one flush, the index in `words` of its table of ids, and whether no other flush is in flight
 */
/** @typedef {{ address: number, bytes: number }} Block the parameters and the uploads of a flush, in the heap */
/** @typedef {{ error: unknown, label: string }} Interruption what stopped a stream, and at which dispatch */

const CREATE = 1;
const DESTROY = 2;
const UPLOAD = 3;
const DISPATCH = 4;
const FILL = 5;
const SUBMIT = 6;
const START = 7;
const FETCH = 8;
const CLEAR = 9;
const CHECK = 10;

/** The number of words in each command, not counting the buffers of DISPATCH. */
const LENGTHS = [Number.NaN, 4, 2, 5, 8, 4, 1, 1, 3, 3, 3];

/** The maximum number of words that FILL writes at a time. */
const FILL_AT_ONCE = 1 << 18;

/**
 * Encodes and submits the `count` words of commands at index `first`. After an exception, unsubmitted commands are
 * dropped, and the rest of the stream only creates and destroys buffers, so that the table of buffers is the one that
 * Python expects, whether or not the flush succeeded.
 *
 * @param {Session} session
 * @param {Heap} heap
 * @param {number} first
 * @param {number} count
 * @param {Block} block
 * @returns {Interruption | null}
 */
export function replay(session, heap, first, count, block) {
  const { words } = heap;
  const end = first + count;
  let at = first;
  try {
    session.params.begin(block);
    while (at < end) {
      perform(session, heap, at, block);
      at = next(words, at);
    }
    session.recorder.submit();
    session.ahead?.map();
    for (const check of session.checks) check.map();
    return null;
  } catch (error) {
    session.recorder.abandon();
    session.dropAhead();
    session.dropChecks();
    const label = at < end ? labelAt(session, words, at) : "";
    keepTable(session, words, at, end);
    return { error, label };
  }
}

/**
 * @param {Session} session
 * @param {Heap} heap
 * @param {number} at
 * @param {Block} block
 */
function perform(session, heap, at, block) {
  const { words } = heap;
  switch (words[at]) {
    case DISPATCH:
      dispatch(session, heap, at);
      return;
    case CREATE:
      session.buffers.create(words[at + 1], words[at + 2], words[at + 3]);
      return;
    case DESTROY:
      session.destroyBuffer(words[at + 1]);
      return;
    case UPLOAD: {
      // writeBuffer takes effect before all commands that are recorded but not submitted.
      session.recorder.submit();
      const range = session.buffers.get(words[at + 1]);
      const [offset, start, bytes] = words.subarray(at + 2, at + 5);
      const address = block.address + start;
      upload(session.device.queue, range.buffer, range.offset + offset, heap.bytes, address, bytes);
      return;
    }
    case FILL:
      session.recorder.submit();
      fill(session, words[at + 1], words[at + 2], words[at + 3]);
      return;
    case SUBMIT:
      session.recorder.submit();
      return;
    case START:
      if (heap.idle) session.recorder.submit();
      return;
    case FETCH:
      session.dropAhead();
      session.ahead = new Readback(session, words[heap.table + words[at + 1]], 0, words[at + 2]);
      session.ahead.record();
      return;
    case CLEAR: {
      const range = session.buffers.get(words[heap.table + words[at + 1]]);
      session.recorder.clear(range.buffer, range.offset, words[at + 2]);
      return;
    }
    case CHECK: {
      const check = new Readback(session, words[heap.table + words[at + 1]], 0, words[at + 2]);
      session.checks.push(check);
      check.record();
      return;
    }
    default:
      throw new Error(`unknown command ${words[at]}`);
  }
}

/**
 * The hot path: a dispatch allocates nothing once its pipeline and bind group are known.
 *
 * @param {Session} session
 * @param {Heap} heap
 * @param {number} at
 */
function dispatch(session, heap, at) {
  const { words } = heap;
  const id = words[at + 1];
  const pipeline = session.pipelines.get(id);
  const x = words[at + 4];
  const y = words[at + 5];
  const z = words[at + 6];
  const count = words[at + 7];
  // Dawn's own error for these does not name the dispatch.
  const most = session.mostWorkgroups;
  if (x > most || y > most || z > most) {
    throw new StreamError(`${x} x ${y} x ${z} workgroups exceed the limit of ${most} per dimension`);
  }
  if (count !== pipeline.source.storageCount) {
    throw new StreamError(`the pipeline takes ${pipeline.source.storageCount} buffers, not ${count}`);
  }
  const size = words[at + 3];
  const offset = session.params.locate(words[at + 2], size, session.recorder, heap.bytes);
  const group = session.bindGroups.get(pipeline, Math.max(16, (size + 15) & ~15), words, at + 8, heap.table);
  session.recorder.dispatch(id, /** @type {GPUComputePipeline} */ (pipeline.compiled), group, offset, x, y, z);
}

/**
 * @param {Session} session
 * @param {number} id
 * @param {number} value
 * @param {number} bytes a multiple of 4
 */
function fill(session, id, value, bytes) {
  const range = session.buffers.get(id);
  const pattern = new Uint32Array(Math.min(bytes >>> 2, FILL_AT_ONCE)).fill(value);
  for (let offset = 0; offset < bytes; offset += pattern.byteLength) {
    const words = Math.min(pattern.length, (bytes - offset) >>> 2);
    session.device.queue.writeBuffer(range.buffer, range.offset + offset, pattern, 0, words);
  }
}

/**
 * Executes the CREATE and DESTROY commands in the rest of a failed stream, after the command that failed.
 *
 * @param {Session} session
 * @param {Uint32Array} words
 * @param {number} at
 * @param {number} end
 */
function keepTable(session, words, at, end) {
  for (let i = next(words, at); i < end; i = next(words, i)) {
    try {
      if (words[i] === CREATE) session.buffers.create(words[i + 1], words[i + 2], words[i + 3]);
      else if (words[i] === DESTROY) session.destroyBuffer(words[i + 1]);
    } catch {
      // Only the first failure is reported.
    }
  }
}

/**
 * @param {Uint32Array} words
 * @param {number} at
 * @returns {number} the index of the next command; NaN, which ends every loop, after an unknown command
 */
function next(words, at) {
  const command = words[at];
  return at + LENGTHS[command] + (command === DISPATCH ? words[at + 7] : 0);
}

/**
 * @param {Session} session
 * @param {Uint32Array} words
 * @param {number} at
 * @returns {string} the label of the pipeline or buffer that the command uses
 */
function labelAt(session, words, at) {
  const command = words[at];
  if (command === DISPATCH) return session.pipelines.labelOf(words[at + 1]);
  return command >= CREATE && command <= FILL ? `buffer ${words[at + 1]}` : "";
}
