"""The trial of a device, and the function implementations that it accepts."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Browser

from py_tensor.codegen import library, trial
from tests.browser.app import AppPage
from tests.browser.shader_lib_gpu import Gpu, open_gpu
from tests.browser.shader_lib_source import source
from tests.browser.test_shader_lib import CASES, ITEMS, describe, draw, rng_for

SCRIPT = Path(__file__).parents[2] / "web" / "bridge" / "trial.js"
RUN = """
async ([script, wgsl, count]) => {
  const file = new Blob([script], { type: "text/javascript" });
  const { tryDevice } = await import(URL.createObjectURL(file));
  const device = await (await navigator.gpu.requestAdapter()).requestDevice();
  return await tryDevice(device, wgsl, count);
}
"""
NAMES = [f"{c.function}-{c.implementation}" for c in trial.CANDIDATES]


@pytest.fixture(scope="module")
def gpu(browser: Browser) -> Iterator[Gpu]:
    with open_gpu(browser) as opened:
        yield opened


def tried(gpu: Gpu, wgsl: str) -> list[int]:
    return gpu.page.evaluate(RUN, [SCRIPT.read_text(), wgsl, len(trial.CANDIDATES)])


@pytest.fixture(scope="module")
def wrong(gpu: Gpu) -> list[int]:
    return tried(gpu, trial.source())


def test_every_function_finds_a_cheaper_form_here(wrong: list[int]) -> None:
    """True for SwiftShader and an H200; an adapter without any is still right, but slower."""
    assert set(dict(trial.passed(wrong))) == {c.function for c in trial.CANDIDATES}


@pytest.mark.parametrize("candidate", trial.CANDIDATES, ids=NAMES)
def test_a_form_that_passes_keeps_the_promise(
    gpu: Gpu, wrong: list[int], candidate: trial.Trial
) -> None:
    """Tested with the text that a kernel with that implementation gets from the library.

    One that fails must also violate the function's documented error.
    """
    name = candidate.function
    text = library.used_by(name, ((name, candidate.implementation),))
    inputs = draw(rng_for(name), ITEMS[name].signature[0], CASES[name].domains)
    types, result = ITEMS[name].signature
    call = f"{name}({', '.join(f'x{i}' for i in range(len(types)))})"
    got = gpu.run(text, call, types, result, inputs)[0].view(np.float32)
    error = CASES[name].error(got, inputs)
    passed = wrong[trial.CANDIDATES.index(candidate)] == 0
    assert passed == (error.max() <= CASES[name].ulp), describe(name, inputs, got, error)


@pytest.mark.parametrize(
    ("function", "old", "new"),
    [
        ("divide_f32_native", "x / y", "x / y * 1.0000001"),
        ("divide_f32_native", "x / y", "select(x / y, 1.0, bitcast<u32>(x) == bitcast<u32>(y))"),
        ("divide_f32_native", "x / y", "abs(x) / abs(y)"),
        ("sqrt_f32_native", "sqrt(x)", "sqrt(max(x, 0.0))"),
        ("exp_f32_floats", "0.693145752", "0.693146"),
    ],
)
def test_a_wrong_form_is_caught(
    gpu: Gpu, wrong: list[int], function: str, old: str, new: str
) -> None:
    number = [f"{c.function}_{c.implementation}" for c in trial.CANDIDATES].index(function)
    text = trial.source()
    body = re.search(rf"fn {function}\(.*?\n(?=\S)", text, re.DOTALL)
    assert body
    assert old in body[0]
    text = text.replace(body[0], body[0].replace(old, new))
    counts = tried(gpu, text)
    assert counts[number] > wrong[number]
    assert counts[:number] + counts[number + 1 :] == wrong[:number] + wrong[number + 1 :]


def test_a_trial_that_does_not_run_trusts_nothing(gpu: Gpu) -> None:
    assert tried(gpu, "this is no WGSL") == []
    assert trial.passed([]) == ()


def test_the_device_reports_its_implementations(app: AppPage, wrong: list[int]) -> None:
    answer = app.run('pt.device_info()["arithmetic"]')
    assert answer["result"] == repr(dict(trial.described(trial.passed(wrong))))


def test_kernels_get_the_implementations(app: AppPage, wrong: list[int]) -> None:
    """The text of a program contains the implementation that passed on the device."""
    code = """
from py_tensor.backends.kinds import GPU_DEVICE
(pt.rand(8) / pt.rand(8)).realize()
[p.wgsl for p in GPU_DEVICE.backend.programs._known.values() if "divide_f32(" in p.wgsl][-1]
"""
    implementation = dict(trial.passed(wrong))["divide_f32"]
    wanted = library.renamed_function("divide_f32", implementation, "divide_f32").replace(
        "\n", "\\n"
    )
    assert wanted in app.run(code)["result"]


def test_portable_functions_are_in_the_library() -> None:
    """Each replaces a function of the same signature, and may call the portable one."""
    for candidate in trial.CANDIDATES:
        replaced = library.items(((candidate.function, candidate.implementation),))[
            candidate.function
        ]
        head = replaced.split("{")[0]
        assert ITEMS[candidate.function].text.startswith(head)
        assert source(ITEMS, candidate.function)
