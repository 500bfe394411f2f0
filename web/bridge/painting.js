/**
 * Copies pixels from a buffer to an ImageBitmap through the texture of a canvas, so that they never leave the GPU.
 *
 * A browser may provide a context that draws nothing, so the first use tests it with one pixel. Headless Chromium with
 * a software adapter and without Vulkan even loses the device. On software adapters pixels are read back instead, which
 * takes no longer if the GPU is the CPU.
 */

/** In copies to a texture, WebGPU requires that rows start at multiples of this many bytes. */
const ROW_BYTES = 256;
const PIXEL_BYTES = 4;

export class Painter {
  #device;
  #recorder;
  /** @type {OffscreenCanvas | null} */
  #canvas = null;
  /** @type {GPUCanvasContext | null} */
  #context = null;

  /**
   * @param {GPUDevice} device
   * @param {import("./recorder.js").Recorder} recorder
   */
  constructor(device, recorder) {
    this.#device = device;
    this.#recorder = recorder;
  }

  /**
   * Copies and submits before it returns.
   *
   * @param {import("./buffers.js").Range} source pixels with premultiplied alpha, R G B A in bytes
   * @param {number} stride pixels from one row to the next, a multiple of 64
   * @param {number} width
   * @param {number} height
   * @returns {ImageBitmap}
   */
  paint(source, stride, width, height) {
    const [canvas, context] = this.#ready(width, height);
    const texture = context.getCurrentTexture();
    this.#recorder.copyToTexture(source.buffer, source.offset, PIXEL_BYTES * stride, texture, width, height);
    this.#recorder.submit();
    return canvas.transferToImageBitmap();
  }

  /**
   * @param {number} width
   * @param {number} height
   * @returns {[OffscreenCanvas, GPUCanvasContext]}
   */
  #ready(width, height) {
    if (this.#canvas === null || this.#context === null) {
      this.#canvas = new OffscreenCanvas(width, height);
      this.#context = this.#canvas.getContext("webgpu");
      if (this.#context === null) throw new Error("a canvas of this browser has no WebGPU");
      this.#context.configure({
        device: this.#device,
        format: "rgba8unorm",
        usage: GPUTextureUsage.COPY_DST,
        alphaMode: "premultiplied",
      });
    }
    this.#canvas.width = width;
    this.#canvas.height = height;
    return [this.#canvas, this.#context];
  }

  /** Return whether a painted pixel arrives on the canvas. */
  paintsAPixel() {
    if (typeof OffscreenCanvas === "undefined") return false;
    const colour = [250, 128, 114, 255];
    const usage = GPUBufferUsage.COPY_SRC | GPUBufferUsage.COPY_DST;
    const buffer = this.#device.createBuffer({ size: ROW_BYTES, usage });
    try {
      this.#device.queue.writeBuffer(buffer, 0, new Uint8Array(colour));
      const source = { buffer, offset: 0, size: ROW_BYTES };
      const bitmap = this.paint(source, ROW_BYTES / PIXEL_BYTES, 1, 1);
      const context = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
      context?.drawImage(bitmap, 0, 0);
      const seen = context?.getImageData(0, 0, 1, 1).data ?? [];
      return colour.every((level, i) => level === seen[i]);
    } catch {
      this.#recorder.abandon();
      return false;
    } finally {
      buffer.destroy();
    }
  }
}
