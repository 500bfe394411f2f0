/**
 * Compute pipelines of one device, compiled on demand from sources that outlive it.
 *
 * A worker's promises settle only when Python yields, so a pipeline compiled in the background may never be ready in
 * time. If it is needed before, it is compiled synchronously, and the first one ready is kept.
 */

import { Branch } from "./bind_groups.js";

/**
 * @typedef {object} PipelineSource
 * @property {string} label
 * @property {string} wgsl
 * @property {number} storageCount storage buffers, at bindings 0 to storageCount - 1
 * @property {number} writableMask bit i set: binding i is read_write
 */

/**
 * @typedef {Omit<PipelineSource, "label">} Code a pipeline's source without its label
 *
 * @typedef {object} Precompiled
 * @property {GPUComputePipeline | null} compiled
 * @property {Promise<GPUComputePipeline>} compiling
 */

/** A software adapter may have only this many free cores while Python starts. */
const PRECOMPILED_AT_ONCE = 2;

/** A pipeline of one device, compiled or not yet. */
export class Pipeline {
  /** @type {GPUComputePipeline | null} */
  compiled = null;
  /** @type {GPUShaderModule | null} kept for its compilation messages */
  module = null;
  warming = false;
  /** Bind groups belong to a pipeline, not to a layout, so that their label names the dispatch. */
  groups = new Branch(null, 0);

  /**
   * @param {PipelineSource} source
   * @param {GPUBindGroupLayout} layout
   * @param {GPUPipelineLayout} pipelineLayout
   */
  constructor(source, layout, pipelineLayout) {
    this.source = source;
    this.layout = layout;
    this.pipelineLayout = pipelineLayout;
  }
}

export class Pipelines {
  #device;
  #sources;
  #counters;
  /** @type {Map<number, Pipeline>} */
  #pipelines = new Map();
  /** @type {Map<number, { layout: GPUBindGroupLayout, pipelineLayout: GPUPipelineLayout }>} */
  #layouts = new Map();
  /** @type {Set<Promise<void>>} pipelines that are being compiled in the background */
  #warming = new Set();
  /** @type {Map<string, Code>} to be compiled in advance */
  #likely = new Map();
  /** @type {Map<string, Precompiled>} compiled in advance and not used yet */
  #precompiled = new Map();

  /**
   * @param {GPUDevice} device
   * @param {Map<number, PipelineSource>} sources
   * @param {import("./session.js").Counters} counters
   */
  constructor(device, sources, counters) {
    this.#device = device;
    this.#sources = sources;
    this.#counters = counters;
  }

  get size() {
    return this.#pipelines.size;
  }

  /**
   * @param {number} id
   * @returns {Pipeline} compiled
   */
  get(id) {
    const pipeline = this.#pipelines.get(id) ?? this.#prepare(id);
    if (pipeline.compiled === null) this.#compile(pipeline);
    return pipeline;
  }

  /**
   * Starts to compile in the background. Errors are ignored here: the flush that needs the pipeline compiles it again,
   * and the error is attributed to that flush.
   *
   * @param {number} id
   */
  warm(id) {
    const pipeline = this.#pipelines.get(id) ?? this.#prepare(id);
    if (pipeline.compiled !== null || pipeline.warming) return;
    this.#counters.compiles++;
    this.#expect(
      pipeline,
      this.#compileAsync(() => this.#descriptor(pipeline)),
    );
  }

  /**
   * Starts to compile code that will probably be used, a few pipelines at a time, so that pipelines needed now do not
   * queue behind it. A pipeline defined later with the same code uses the result.
   *
   * @param {Code[]} likely
   */
  precompile(likely) {
    for (const code of likely) this.#likely.set(contentOf(code), code);
    const turns = this.#likely.entries();
    for (let lane = 0; lane < PRECOMPILED_AT_ONCE; lane++) this.#precompileEach(turns);
  }

  /** @param {Iterable<[content: string, Code]>} turns an iterator shared by the concurrent calls */
  async #precompileEach(turns) {
    for (const [content, { wgsl, storageCount, writableMask }] of turns) {
      const { pipelineLayout } = this.#layoutsFor(storageCount, writableMask);
      const compiling = this.#compileAsync(() => {
        const module = this.#device.createShaderModule({ code: wgsl });
        return { layout: pipelineLayout, compute: { module, entryPoint: "main" } };
      });
      /** @type {Precompiled} */
      const entry = { compiled: null, compiling };
      this.#likely.delete(content);
      this.#precompiled.set(content, entry);
      this.#counters.precompiles++;
      entry.compiled = await compiling.catch(() => null); // after an error it is compiled again when used
    }
  }

  /** @returns {Promise<unknown>} when nothing is being compiled in the background */
  whenWarm() {
    return Promise.all(this.#warming);
  }

  /**
   * @param {number} id
   * @returns {Pipeline | undefined} the removed pipeline, if it had been used
   */
  drop(id) {
    const pipeline = this.#pipelines.get(id);
    this.#pipelines.delete(id);
    return pipeline;
  }

  /**
   * Returns the first error in the WGSL of the pipelines with this label.
   *
   * @param {string} label
   * @returns {Promise<{ line: number, lineText: string } | null>}
   */
  async firstShaderError(label) {
    for (const { source, module } of this.#pipelines.values()) {
      if (source.label !== label || module === null) continue;
      const info = await module.getCompilationInfo().catch(() => null);
      const error = info?.messages.find((message) => message.type === "error");
      if (error) return { line: error.lineNum, lineText: source.wgsl.split("\n")[error.lineNum - 1] ?? "" };
    }
    return null;
  }

  /**
   * @param {number} id
   * @returns {string}
   */
  labelOf(id) {
    return this.#sources.get(id)?.label ?? `pipeline ${id}`;
  }

  /** @param {number} id */
  #prepare(id) {
    const source = this.#sources.get(id);
    if (source === undefined) throw new Error(`pipeline ${id} is not defined`);
    const { layout, pipelineLayout } = this.#layoutsFor(source.storageCount, source.writableMask);
    const pipeline = new Pipeline(source, layout, pipelineLayout);
    this.#pipelines.set(id, pipeline);
    this.#takePrecompiled(pipeline);
    return pipeline;
  }

  /** @param {Pipeline} pipeline */
  #takePrecompiled(pipeline) {
    const content = contentOf(pipeline.source);
    this.#likely.delete(content);
    const entry = this.#precompiled.get(content);
    if (entry === undefined) return;
    this.#precompiled.delete(content);
    if (entry.compiled) adopt(pipeline, entry.compiled);
    else this.#expect(pipeline, entry.compiling);
  }

  /**
   * @param {Pipeline} pipeline
   * @param {Promise<GPUComputePipeline>} compiling for this pipeline
   */
  #expect(pipeline, compiling) {
    pipeline.warming = true;
    const settled = compiling
      .then(
        (compiled) => {
          if (pipeline.compiled === null) adopt(pipeline, compiled);
        },
        () => {
          if (pipeline.compiled === null) pipeline.module = null;
          pipeline.warming = false;
        },
      )
      .finally(() => this.#warming.delete(settled));
    this.#warming.add(settled);
  }

  /**
   * Errors are ignored, including those of the shader module that `describe` creates.
   *
   * @param {() => GPUComputePipelineDescriptor} describe
   */
  #compileAsync(describe) {
    this.#device.pushErrorScope("validation");
    const compiling = this.#device.createComputePipelineAsync(describe());
    this.#device.popErrorScope().catch(() => null);
    return compiling;
  }

  /** @param {Pipeline} pipeline */
  #compile(pipeline) {
    pipeline.module = null; // one from a background compilation may be invalid, with its error in another scope
    pipeline.compiled = this.#device.createComputePipeline(this.#descriptor(pipeline));
    this.#counters.compiles++;
  }

  /**
   * @param {Pipeline} pipeline
   * @returns {GPUComputePipelineDescriptor}
   */
  #descriptor(pipeline) {
    const { label, wgsl } = pipeline.source;
    pipeline.module ??= this.#device.createShaderModule({ label, code: wgsl });
    return { label, layout: pipeline.pipelineLayout, compute: { module: pipeline.module, entryPoint: "main" } };
  }

  /**
   * @param {number} count
   * @param {number} mask
   */
  #layoutsFor(count, mask) {
    const key = count * 2 ** 32 + mask;
    const known = this.#layouts.get(key);
    if (known) return known;
    /** @type {GPUBindGroupLayoutEntry[]} */
    const entries = [];
    for (let binding = 0; binding < count; binding++) {
      const type = (mask >>> binding) & 1 ? "storage" : "read-only-storage";
      entries.push({ binding, visibility: GPUShaderStage.COMPUTE, buffer: { type } });
    }
    const params = /** @type {const} */ ({ type: "uniform", hasDynamicOffset: true });
    entries.push({ binding: count, visibility: GPUShaderStage.COMPUTE, buffer: params });
    const label = `${count} storage, writable ${mask.toString(2)}`;
    const layout = this.#device.createBindGroupLayout({ label, entries });
    const pipelineLayout = this.#device.createPipelineLayout({ label, bindGroupLayouts: [layout] });
    const made = { layout, pipelineLayout };
    this.#layouts.set(key, made);
    return made;
  }
}

/**
 * @param {Pipeline} pipeline
 * @param {GPUComputePipeline} compiled perhaps without a label so far, by which errors name a dispatch
 */
function adopt(pipeline, compiled) {
  compiled.label = pipeline.source.label;
  pipeline.compiled = compiled;
}

/** @param {Code} code */
function contentOf({ wgsl, storageCount, writableMask }) {
  return `${storageCount} ${writableMask} ${wgsl}`;
}
