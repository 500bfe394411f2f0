/**
 * All that belongs to one device, and dies with it: buffers, compiled pipelines, bind groups, staging.
 *
 * What outlives a device (pipeline sources, failures, counters) is handed in.
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
 * @property {number} compiles for those who asked
 * @property {number} precompiles in case somebody will
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
    /** The copy that the last flush made for the read that is to follow. @type {import("./reading.js").Readback | null} */
    this.ahead = null;
    /** What the flush under way is to look at once it is done. @type {import("./reading.js").Readback[]} */
    this.checks = [];
  }

  /** The checks of the flush that was just submitted. */
  takeChecks() {
    return this.checks.splice(0);
  }

  /** Of a flush that was not submitted. */
  dropChecks() {
    for (const check of this.takeChecks()) check.arrived.then(() => check.release());
  }

  /**
   * What was copied ahead, if it is this and nothing was flushed since; it is nobody else's then.
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
