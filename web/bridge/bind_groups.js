/**
 * A cache of bind groups, keyed by the numbers they were made from.
 *
 * Every dispatch does a lookup: it descends a tree of Maps (pipeline, parameter size, then one buffer id per level) and
 * allocates nothing. A string key would cost more than the dispatch itself. At capacity, the oldest group that was not
 * used since the last check is evicted.
 */

import { StreamError } from "./failures.js";

/** @typedef {import("./pipelines.js").Pipeline} Pipeline */

/** A node of the tree; a leaf if it has a group. */
export class Branch {
  /** @type {Map<number, Branch>} */
  children = new Map();
  /** @type {GPUBindGroup | null} */
  group = null;
  recent = false;

  /**
   * @param {Branch | null} parent
   * @param {number} key its key in the parent
   */
  constructor(parent, key) {
    this.parent = parent;
    this.key = key;
  }

  /**
   * @param {number} key
   * @returns {Branch}
   */
  grow(key) {
    let child = this.children.get(key);
    if (child === undefined) {
      child = new Branch(this, key);
      this.children.set(key, child);
    }
    return child;
  }
}

export class BindGroups {
  #device;
  #buffers;
  #params;
  #capacity;
  /** @type {Set<Branch>} oldest first */
  #leaves = new Set();
  /** @type {Map<number, Set<Branch>>} */
  #byBuffer = new Map();

  /**
   * @param {GPUDevice} device
   * @param {import("./buffers.js").Buffers} buffers
   * @param {GPUBuffer} params the uniform buffer that all groups share
   * @param {number} capacity
   */
  constructor(device, buffers, params, capacity) {
    this.#device = device;
    this.#buffers = buffers;
    this.#params = params;
    this.#capacity = capacity;
  }

  get size() {
    return this.#leaves.size;
  }

  /**
   * @param {Pipeline} pipeline
   * @param {number} paramSize bytes of parameters, a multiple of 16
   * @param {Uint32Array} words the positions of the pipeline's buffers in the table of ids, and the table
   * @param {number} first index of the first position
   * @param {number} table index of the table
   * @returns {GPUBindGroup}
   */
  get(pipeline, paramSize, words, first, table) {
    const last = first + pipeline.source.storageCount;
    let branch = pipeline.groups.children.get(paramSize);
    for (let i = first; i < last && branch !== undefined; i++) {
      branch = branch.children.get(words[table + words[i]]);
    }
    if (branch === undefined || branch.group === null) {
      return this.#make(
        pipeline,
        paramSize,
        words.slice(first, last).map((position) => words[table + position]),
      );
    }
    branch.recent = true;
    return branch.group;
  }

  /** @param {number} id */
  forgetBuffer(id) {
    for (const leaf of this.#byBuffer.get(id) ?? []) this.#remove(leaf);
  }

  /** @param {Pipeline} pipeline */
  forgetPipeline(pipeline) {
    for (const leaf of this.#leaves) {
      let root = leaf;
      while (root.parent !== null) root = root.parent;
      if (root === pipeline.groups) this.#remove(leaf);
    }
  }

  /**
   * @param {Pipeline} pipeline
   * @param {number} paramSize
   * @param {Uint32Array} ids
   * @returns {GPUBindGroup}
   */
  #make(pipeline, paramSize, ids) {
    const ranges = Array.from(ids, (id) => this.#buffers.get(id));
    refuseAliases(ids, ranges, pipeline.source.writableMask);
    if (this.#leaves.size >= this.#capacity) this.#evict();
    /** @type {GPUBindGroupEntry[]} */
    const entries = ranges.map((resource, binding) => ({ binding, resource }));
    entries.push({ binding: ids.length, resource: { buffer: this.#params, size: paramSize } });
    const { layout, source } = pipeline;
    const group = this.#device.createBindGroup({ label: source.label, layout, entries });

    let leaf = pipeline.groups.grow(paramSize);
    for (const id of ids) leaf = leaf.grow(id);
    leaf.group = group;
    this.#leaves.add(leaf);
    for (const id of ids) {
      const users = this.#byBuffer.get(id);
      if (users) users.add(leaf);
      else this.#byBuffer.set(id, new Set([leaf]));
    }
    return group;
  }

  #evict() {
    for (const leaf of this.#leaves) {
      if (!leaf.recent) {
        this.#remove(leaf);
        return;
      }
      leaf.recent = false;
      this.#leaves.delete(leaf); // move it to the newest end, which this loop visits last
      this.#leaves.add(leaf);
    }
  }

  /** @param {Branch} leaf */
  #remove(leaf) {
    leaf.group = null;
    this.#leaves.delete(leaf);
    let branch = leaf;
    while (branch.parent !== null) {
      // The keys on the path upwards are buffer ids, except the last one, which is the parameter size.
      if (branch.parent.parent !== null) this.#forgetUse(branch.key, leaf);
      if (branch.children.size === 0 && branch.group === null) branch.parent.children.delete(branch.key);
      branch = branch.parent;
    }
  }

  /**
   * @param {number} id
   * @param {Branch} leaf
   */
  #forgetUse(id, leaf) {
    const users = this.#byBuffer.get(id);
    users?.delete(leaf);
    if (users?.size === 0) this.#byBuffer.delete(id);
  }
}

/**
 * Refuses a buffer that is bound twice, once writable, because Dawn's error does not name the dispatch. This includes a
 * dispatch that reads one slice of a buffer and writes another.
 *
 * @param {Uint32Array} ids
 * @param {import("./buffers.js").Range[]} ranges
 * @param {number} writableMask
 */
function refuseAliases(ids, ranges, writableMask) {
  for (let i = 1; i < ids.length; i++) {
    const other = ranges.findIndex(({ buffer }) => buffer === ranges[i].buffer);
    if (other < i && ((writableMask >>> i) | (writableMask >>> other)) & 1) {
      const what = ids[other] === ids[i] ? `buffer ${ids[i]}` : `the buffer of ${ids[other]} and ${ids[i]}`;
      throw new StreamError(`${what} is bound at ${other} and at ${i}, and one of them is writable`);
    }
  }
}
