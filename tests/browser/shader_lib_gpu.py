"""A Chromium page with a WebGPU device that evaluates a WGSL expression over arrays."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from playwright.sync_api import Browser, Page

# WebGPU exists only in secure contexts, such as localhost; no server needs to answer.
BLANK = "http://localhost/"

# storage type, expression that loads, expression that stores
_STORAGE = {
    "f32": ("f32", "{}", "{}"),
    "i32": ("i32", "{}", "{}"),
    "u32": ("u32", "{}", "{}"),
    "bool": ("u32", "({} != 0u)", "select(0u, 1u, {})"),
    "vec2u": ("vec2u", "{}", "{}"),
}

_PRELUDE = """
async () => {
  let adapter = null;
  for (let i = 0; i < 40 && !adapter; i++) {
    adapter = await navigator.gpu?.requestAdapter();
    if (!adapter) await new Promise(r => setTimeout(r, 250));
  }
  if (!adapter) return null;
  const device = await adapter.requestDevice();
  globalThis.compile = async (code) => {
    device.pushErrorScope('validation');
    const start = performance.now();
    const module = device.createShaderModule({code});
    let pipeline = null, error = null;
    try {
      pipeline = await device.createComputePipelineAsync(
        {layout: 'auto', compute: {module, entryPoint: 'main'}});
    } catch (e) { error = String(e.message); }
    const ms = performance.now() - start;
    const scope = await device.popErrorScope();
    const {messages} = await module.getCompilationInfo();
    const info = messages.map(m => `${m.lineNum}: ${m.message}`).join('\\n');
    return {pipeline, ms, error: error || scope ? `${error}\\n${scope?.message}\\n${info}` : null};
  };
  globalThis.compileOnly = async (code) => {
    const {ms, error} = await compile(code);
    return {ms, error};
  };
  globalThis.runKernel = async ({code, inputs, outputBytes, workgroups}) => {
    const {pipeline, ms, error} = await compile(code);
    if (error) return {error, ms};
    const usage = GPUBufferUsage;
    const buffers = inputs.map(text => {
      const bytes = Uint8Array.fromBase64(text);
      const size = bytes.length;
      const buffer = device.createBuffer({size, usage: usage.STORAGE | usage.COPY_DST});
      device.queue.writeBuffer(buffer, 0, bytes);
      return buffer;
    });
    const out = device.createBuffer({size: outputBytes, usage: usage.STORAGE | usage.COPY_SRC});
    const staging = device.createBuffer(
      {size: outputBytes, usage: usage.MAP_READ | usage.COPY_DST});
    const group = device.createBindGroup({layout: pipeline.getBindGroupLayout(0),
      entries: [...buffers, out].map((buffer, binding) => ({binding, resource: {buffer}}))});
    const encoder = device.createCommandEncoder();
    const pass = encoder.beginComputePass();
    pass.setPipeline(pipeline);
    pass.setBindGroup(0, group);
    pass.dispatchWorkgroups(workgroups);
    pass.end();
    encoder.copyBufferToBuffer(out, 0, staging, 0, outputBytes);
    device.queue.submit([encoder.finish()]);
    await staging.mapAsync(GPUMapMode.READ);
    const output = new Uint8Array(staging.getMappedRange()).toBase64();
    for (const buffer of [...buffers, out, staging]) buffer.destroy();
    return {output, ms};
  };
  const {vendor, architecture, device: name, description} = adapter.info;
  return [vendor, architecture, name, description].filter(Boolean).join(' ');
}
"""


@dataclass(frozen=True)
class Gpu:
    page: Page
    adapter: str

    def compile(self, code: str) -> tuple[str | None, float]:
        """Return the error of compiling `code`, or None, and the time in milliseconds."""
        answer: dict[str, Any] = self.page.evaluate("code => compileOnly(code)", code)
        return answer["error"], answer["ms"]

    def run(
        self,
        library: str,
        expression: str,
        types: tuple[str, ...],
        result: str,
        inputs: list[np.ndarray],
    ) -> tuple[np.ndarray, float]:
        """Evaluate `expression` of x0, x1, ... per element.

        Returns the raw u32 words, and the compile time in milliseconds.
        """
        n = len(inputs[0]) if inputs else 1
        width = 2 if result == "vec2u" else 1
        kernel = kernel_source(library, expression, types, result)
        answer: dict[str, Any] = self.page.evaluate(
            "job => runKernel(job)",
            {
                "code": kernel,
                "inputs": [
                    base64.b64encode(np.ascontiguousarray(x).tobytes()).decode() for x in inputs
                ],
                "outputBytes": 4 * n * width,
                "workgroups": -(-n // 64),
            },
        )
        assert not answer.get("error"), f"{answer['error']}\n{kernel}"
        return np.frombuffer(base64.b64decode(answer["output"]), np.uint32), answer["ms"]


def kernel_source(library: str, expression: str, types: tuple[str, ...], result: str) -> str:
    lines = [library]
    for i, kind in enumerate(types):
        lines.append(
            f"@group(0) @binding({i}) var<storage, read> in{i}: array<{_STORAGE[kind][0]}>;"
        )
    output = f"@group(0) @binding({len(types)}) var<storage, read_write> result"
    lines.append(f"{output}: array<{_STORAGE[result][0]}>;")
    lines.append("@compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3u) {")
    lines.append("  if (id.x >= arrayLength(&result)) { return; }")
    for i, kind in enumerate(types):
        lines.append(f"  let x{i} = {_STORAGE[kind][1].format(f'in{i}[id.x]')};")
    lines.append(f"  result[id.x] = {_STORAGE[result][2].format(expression)};\n}}")
    return "\n".join(lines)


@contextmanager
def open_gpu(browser: Browser) -> Iterator[Gpu]:
    """A device in its own page; RuntimeError without an adapter."""
    page = browser.new_page()
    try:
        page.route("**/*", lambda route: route.fulfill(body="", content_type="text/html"))
        page.goto(BLANK)
        adapter = page.evaluate(_PRELUDE)
        if adapter is None:
            raise RuntimeError(f"Chromium {browser.version}: no WebGPU adapter")
        yield Gpu(page, adapter)
    finally:
        page.close()
