/** The trial of a device: a kernel that counts wrong results of the faster implementations of library functions. */

const WORKGROUPS = 256;

/**
 * Runs a kernel with one buffer of `count` u32 at binding 0, and reads the buffer.
 *
 * @param {GPUDevice} device
 * @param {string} wgsl entry point "main"
 * @param {number} count
 * @returns {Promise<number[]>} empty if the kernel does not compile or run: then no implementation is trusted
 */
export async function tryDevice(device, wgsl, count) {
  const size = 4 * count;
  device.pushErrorScope("validation");
  const counts = device.createBuffer({ size, usage: GPUBufferUsage.STORAGE | GPUBufferUsage.COPY_SRC });
  const staging = device.createBuffer({ size, usage: GPUBufferUsage.COPY_DST | GPUBufferUsage.MAP_READ });
  try {
    const module = device.createShaderModule({ code: wgsl, label: "trial" });
    const pipeline = await device.createComputePipelineAsync({
      layout: "auto",
      compute: { module, entryPoint: "main" },
    });
    const entries = [{ binding: 0, resource: { buffer: counts } }];
    const encoder = device.createCommandEncoder();
    const pass = encoder.beginComputePass();
    pass.setPipeline(pipeline);
    pass.setBindGroup(0, device.createBindGroup({ layout: pipeline.getBindGroupLayout(0), entries }));
    pass.dispatchWorkgroups(WORKGROUPS);
    pass.end();
    encoder.copyBufferToBuffer(counts, 0, staging, 0, size);
    device.queue.submit([encoder.finish()]);
    await staging.mapAsync(GPUMapMode.READ);
    return [...new Uint32Array(staging.getMappedRange())];
  } catch {
    return [];
  } finally {
    device.popErrorScope().catch(() => undefined);
    counts.destroy();
    staging.destroy();
  }
}
