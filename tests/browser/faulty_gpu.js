/**
 * A GPU that fails on demand, for tests of faults that correct code never causes.
 *
 * The faults are real: the browser itself reports them, through the same error scopes, messages and
 * promises as in practice. Only "throw" is simulated.
 */

/**
 * @typedef {"validation" | "out-of-memory" | "lost" | "throw"} FaultKind
 * @typedef {"dispatch" | "pipeline" | "buffer" | "submit"} FaultPoint
 * @typedef {{ after?: number, at?: FaultPoint }} FaultPlan fails the call after `after` successful ones
 */

/** @type {Record<FaultKind, FaultPoint>} */
const USUAL_POINT = { validation: "dispatch", "out-of-memory": "buffer", lost: "submit", throw: "submit" };

export class Faults {
  /** @type {{ kind: FaultKind, at: FaultPoint, left: number }[]} */
  #armed = [];
  /** The number of faults so far: a test that expects a fault checks that it occurred. */
  struck = 0;

  /**
   * @param {FaultKind} kind
   * @param {FaultPlan} [plan]
   */
  arm(kind, { after = 0, at = USUAL_POINT[kind] } = {}) {
    this.#armed.push({ kind, at, left: after });
  }

  /**
   * @param {FaultPoint} at
   * @returns {boolean} whether the next call will fail
   */
  isDue(at) {
    return this.#armed.some((fault) => fault.at === at && fault.left === 0);
  }

  /**
   * @param {FaultPoint} at
   * @returns {FaultKind | null} the fault due at this call
   */
  next(at) {
    for (const fault of this.#armed.filter((each) => each.at === at)) {
      if (fault.left-- > 0) continue;
      this.#armed.splice(this.#armed.indexOf(fault), 1);
      this.struck++;
      return fault.kind;
    }
    return null;
  }
}

/**
 * @param {GPU} gpu
 * @returns {GPU & { faults: Faults }}
 */
export function faultyGpu(gpu) {
  const faults = new Faults();
  /** @param {GPURequestAdapterOptions} [options] */
  async function requestAdapter(options) {
    const adapter = await gpu.requestAdapter(options);
    if (adapter === null) return null;
    const requestDevice = adapter.requestDevice.bind(adapter);
    adapter.requestDevice = async (descriptor) => sabotage(await requestDevice(descriptor), faults);
    return adapter;
  }
  return /** @type {GPU & { faults: Faults }} */ ({ requestAdapter, faults });
}

/**
 * Own properties of the device hide its prototype's methods.
 *
 * @param {GPUDevice} device
 * @param {Faults} faults
 */
function sabotage(device, faults) {
  const createBuffer = device.createBuffer.bind(device);
  const createComputePipeline = device.createComputePipeline.bind(device);
  const createComputePipelineAsync = device.createComputePipelineAsync.bind(device);
  const createCommandEncoder = device.createCommandEncoder.bind(device);
  const submit = device.queue.submit.bind(device.queue);

  /**
   * @param {FaultPoint} at
   * @returns {FaultKind | null}
   */
  function strike(at) {
    const kind = faults.next(at);
    if (kind === "throw") throw new Error(`injected fault at ${at}`);
    if (kind === "lost") device.destroy();
    return kind;
  }

  device.createBuffer = (descriptor) => {
    if (strike("buffer") !== "out-of-memory") return createBuffer(descriptor);
    // Request more memory than exists, for the error; return an invalid buffer, as after such an error.
    device.createTexture({ size: [8192, 8192, 256], format: "rgba32float", usage: GPUTextureUsage.COPY_DST });
    device.pushErrorScope("validation");
    const unusable = createBuffer({ ...descriptor, usage: 0 });
    device.popErrorScope();
    return unusable;
  };

  device.createComputePipeline = (descriptor) =>
    createComputePipeline(strike("pipeline") === "validation" ? invalid(descriptor) : descriptor);

  // Pipelines that fail in the background are compiled again when needed: the fault is for that.
  device.createComputePipelineAsync = (descriptor) =>
    createComputePipelineAsync(faults.isDue("pipeline") ? invalid(descriptor) : descriptor);

  device.createCommandEncoder = (descriptor) => {
    const encoder = createCommandEncoder(descriptor);
    const beginComputePass = encoder.beginComputePass.bind(encoder);
    encoder.beginComputePass = (passDescriptor) => sabotagePass(beginComputePass(passDescriptor), device, strike);
    return encoder;
  };

  device.queue.submit = (commands) => {
    const list = [...commands];
    if (list.length > 0) strike("submit"); // empty submits only poll the browser, and their number depends on timing
    return submit(list);
  };
  return device;
}

/**
 * @param {GPUComputePipelineDescriptor} descriptor
 * @returns {GPUComputePipelineDescriptor}
 */
function invalid(descriptor) {
  return { ...descriptor, compute: { ...descriptor.compute, entryPoint: "missing" } };
}

/**
 * @param {GPUComputePassEncoder} pass
 * @param {GPUDevice} device
 * @param {(at: FaultPoint) => FaultKind | null} strike
 */
function sabotagePass(pass, device, strike) {
  const setPipeline = pass.setPipeline.bind(pass);
  const dispatchWorkgroups = pass.dispatchWorkgroups.bind(pass);
  let label = "";
  pass.setPipeline = (pipeline) => {
    label = pipeline.label;
    return setPipeline(pipeline);
  };
  pass.dispatchWorkgroups = (x, y, z) => {
    if (strike("dispatch") === "validation") {
      // A bind group without its only entry: it is invalid, and invalidates the encoder that uses it.
      const entry = { binding: 0, visibility: GPUShaderStage.COMPUTE, buffer: {} };
      const layout = device.createBindGroupLayout({ entries: [entry] });
      pass.setBindGroup(0, device.createBindGroup({ label, layout, entries: [] }));
    }
    return dispatchWorkgroups(x, y, z);
  };
  return pass;
}
