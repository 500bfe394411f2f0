"""tfjs and jax-js as contenders of the benchmark panel: their version of each case is correct."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Page

from tests.browser.conftest import Console
from web.worker.python import benchmarks
from web.worker.python.measuring import Answer

SIZES = {"last-axis": "4 × 5 × 6"}
"""Smaller sizes than in the panel; otherwise n = 16."""
CASES = [
    (suite, case)
    for suite in benchmarks.SUITES.values()
    for case in suite.cases(SIZES.get(suite.key, "16"))
]

_ASK_ALL = """async ([name, cases]) => {
  const { Links } = await import("./sources/worker/peers/link.js");
  const links = new Links();
  const ask = async (method, about, arrays = []) =>
    JSON.parse(await links.ask(name, method, JSON.stringify(about), arrays));
  try {
    const version = await ask("start", { name, software: true });
    const answers = [];
    for (const { operands, arrays, places, ...about } of cases) {
      const data = arrays.map((array) => new Float32Array(array));
      const known = await ask("prepare", { ...about, operands }, data);
      const first = known && (await ask("first", {}));
      if (known) await ask("sample", { count: 3, kept: 2 });
      const values = known && (await ask("values", { call: -1, places }));
      const metered = known && (await ask("meter", { count: 2, kept: 1 }));
      const again = known && (await ask("values", { call: 0, places }));
      answers.push({ known, first, values, metered, again });
      await ask("release", {});
    }
    return { version, answers };
  } finally {
    links.closeAll();
  }
}"""


@pytest.mark.parametrize("name", ["tfjs", "jax-js"])
def test_every_case_is_right(name: str, page: Page, console: Console) -> None:
    rng = np.random.default_rng()
    asked: list[dict[str, Any]] = []
    answers: list[Answer] = []
    for _, case in CASES:
        arrays = [1 - rng.random(operand.shape, dtype=np.float32) for operand in case.operands]
        answers.append(Answer(case, arrays))
        asked.append(
            {
                "name": case.name,
                "finish": case.finish,
                "operands": [{"shape": list(array.shape)} for array in arrays],
                "arrays": [array.reshape(-1).tolist() for array in arrays],
                "places": answers[-1].places,
            }
        )
    got = page.evaluate(_ASK_ALL, [name, asked])
    assert got["version"][0].isdigit()
    for (suite, case), answer, told in zip(CASES, answers, got["answers"], strict=True):
        assert told["known"], f"{suite.key}: {name} has no {case.name}"
        answer.error(told["values"])  # raises on a wrong result
        answer.error(told["again"])
        assert 0 <= told["first"]["compile"] <= told["first"]["seconds"] + 0.1, case.name
        metered = told["metered"]
        assert metered["gpu"] > 0, case.name
        assert metered["dispatches"] >= 2 * case.ops, case.name
        assert metered["dispatches"] % 2 == 0, case.name
        reads = 2 if case.finish == "number" else 0
        assert 0 < metered["submits"] <= metered["dispatches"] + 2 * reads, case.name
    # A kernel is compiled once; later cases reuse the kernels of earlier ones.
    assert got["answers"][0]["first"]["compile"] > 0
    assert not [line for line in console.problems if "Content Security" in line.text]


def test_a_failure_is_reported_and_leaves_no_worker(page: Page) -> None:
    told = page.evaluate("""async () => {
      const { Links } = await import("./sources/worker/peers/link.js");
      const links = new Links();
      const told = await links.ask("tfjs", "sample", '{"count": 1}', []).catch(String);
      return [told, links.isOpen("tfjs")];
    }""")
    assert told == ["Error: the library has not been started", False]


def test_a_worker_that_crashes_while_idle_is_not_open(page: Page) -> None:
    open_ = page.evaluate("""async () => {
      const { Links } = await import("./sources/worker/peers/link.js");
      window.links = new Links();
      const about = JSON.stringify({ name: "tfjs", software: true });
      await window.links.ask("tfjs", "start", about, []);
      return window.links.isOpen("tfjs");
    }""")
    assert open_
    (peer,) = (worker for worker in page.workers if worker.url.endswith("/peer_worker.js"))
    with peer.expect_event("close"):
        peer.evaluate("setTimeout(() => { throw new Error('out of memory'); })")
    assert not page.evaluate("links.isOpen('tfjs')")


def test_metering_a_device_leaves_nothing_behind(page: Page) -> None:
    told = page.evaluate("""async () => {
      const { Meter, lengthOfUnion } = await import("./sources/worker/peers/meter.js");
      const adapter = await navigator.gpu.requestAdapter();
      const device = await adapter.requestDevice({ requiredFeatures: ["timestamp-query"] });
      const meter = new Meter(device);
      const code = `@group(0) @binding(0) var<storage, read_write> x: array<f32>;
        @compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3u) {
          for (var i = 0; i < 50; i++) { x[id.x] = x[id.x] * 0.5 + 1; }
        }`;
      const make = () => {
        const module = device.createShaderModule({ code });
        return device.createComputePipeline({ layout: "auto", compute: { module } });
      };
      const { value: pipeline, seconds } = await meter.compiling(async () => make());
      const { seconds: none } = await meter.compiling(async () => 1);
      const buffer = device.createBuffer({ size: 2 ** 16, usage: GPUBufferUsage.STORAGE });
      const group = device.createBindGroup({
        layout: pipeline.getBindGroupLayout(0), entries: [{ binding: 0, resource: { buffer } }] });
      const run = async (passes, dispatches) => {
        for (let i = 0; i < passes; i++) {
          const encoder = device.createCommandEncoder();
          const pass = encoder.beginComputePass();
          pass.setPipeline(pipeline);
          pass.setBindGroup(0, group);
          for (let n = 0; n < dispatches; n++) pass.dispatchWorkgroups(4);
          pass.end();
          device.queue.submit([encoder.finish()]);
          device.queue.submit([]);
        }
        await device.queue.onSubmittedWorkDone();
      };
      const started = performance.now();
      const few = await meter.running(() => run(2, 3));
      const wall = (performance.now() - started) / 1000;
      const many = await meter.running(() => run(2100, 1)); // more than one set of queries
      const left = [device, device.queue].map((target) => Object.getOwnPropertyNames(target));
      const union = lengthOfUnion([[5, 7], [0, 2], [1, 3], [6, 6.5]]);
      device.destroy();
      return { seconds, none, few, wall, many, left, union };
    }""")
    assert 0 < told["seconds"] < 60
    assert told["none"] == 0
    assert (told["few"]["dispatches"], told["few"]["submits"]) == (6, 2)
    assert 0 < told["few"]["gpu"] <= told["wall"]
    assert (told["many"]["dispatches"], told["many"]["submits"]) == (2100, 2100)
    assert told["many"]["gpu"] > told["few"]["gpu"]
    assert told["left"] == [[], []]
    assert told["union"] == 5
