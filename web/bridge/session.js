/**
 * Everything that belongs to one device and is lost with it: buffers, compiled pipelines, bind groups, staging.
 *
 * Data that outlive a device (pipeline sources, failures, counters) are passed in.
 */

import { BindGroups } from "./bind_groups.js";
import { Buffers } from "./buffers.js";
import { Painter } from "./painting.js";
import { Params } from "./params.js";
import { Pipelines } from "./pipelines.js";
import { Recorder } from "./recorder.js";
import { StagingPool } from "./staging.js";

/**
 * @typedef {object} Counters
 * @property {number} dispatches
 * @property {number} flushes
 * @property {number} submits
 * @property {number} compiles pipelines compiled on request
 * @property {number} precompiles pipelines compiled in advance
 * @property {number} reads
 */

export class Session {
  /**
   * @param {GPUDevice} device
   * @param {object} context
   * @param {Map<number, import("./pipelines.js").PipelineSource>} context.sources
   * @param {Counters} context.counters
   * @param {number} context.bindGroupCapacity
   */
  constructor(device, { sources, counters, bindGroupCapacity }) {
    this.device = device;
    this.mostWorkgroups = device.limits.maxComputeWorkgroupsPerDimension;
    this.buffers = new Buffers(device);
    this.params = new Params(device);
    this.pipelines = new Pipelines(device, sources, counters);
    this.bindGroups = new BindGroups(device, this.buffers, this.params.buffer, bindGroupCapacity);
    this.recorder = new Recorder(device, counters);
    this.staging = new StagingPool(device);
    this.painter = new Painter(device, this.recorder);
    /** The copy that the last flush made for the next read. @type {import("./reading.js").Readback | null} */
    this.ahead = null;
    /** The results of CHECK in the current flush. @type {import("./reading.js").Readback[]} */
    this.checks = [];
  }

  /** Returns and removes the checks of the flush that was just submitted. */
  takeChecks() {
    return this.checks.splice(0);
  }

  /** Drops the checks of a flush that was not submitted. */
  dropChecks() {
    for (const check of this.takeChecks()) check.arrived.then(() => check.release());
  }

  /**
   * Takes the copy made in advance, if it has this range and nothing was flushed since.
   *
   * @param {number} id
   * @param {number} offset
   * @param {number} bytes
   */
  takeAhead(id, offset, bytes) {
    const { ahead } = this;
    if (!ahead?.isOf(id, offset, bytes)) return null;
    this.ahead = null;
    return ahead;
  }

  dropAhead() {
    const { ahead } = this;
    this.ahead = null;
    ahead?.arrived.then(() => ahead.release());
  }

  /** @param {number} id of a whole buffer */
  destroyBuffer(id) {
    const whole = this.buffers.remove(id);
    if (whole === undefined) return;
    for (let each = id; each <= id + whole.slices; each++) this.bindGroups.forgetBuffer(each);
    this.recorder.destroy(whole.buffer);
  }

  /** @param {number} id */
  dropPipeline(id) {
    const pipeline = this.pipelines.drop(id);
    if (pipeline) this.bindGroups.forgetPipeline(pipeline);
  }
}
