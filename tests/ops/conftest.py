"""Options and fixtures of the tests of ops, which run on the host or inside the Pyodide worker.

The device is set by --device or PY_TENSOR_TEST_DEVICE. "cpu" and "native" (the webgpu device
outside a browser) run on the host. "webgpu" runs in the worker: on the host this file then only
registers the runner, and the worker loads it again.
"""

from __future__ import annotations

import os
import random
import sys
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    import numpy as np

    from tests.ops.operands import Few

IN_WORKER = sys.platform == "emscripten"
HERE = Path(__file__).parent
DEVICES = ("cpu", "webgpu", "native")
SMALL_BUFFERS = "a buffer of lavapipe has 128 MiB at most"
NOT_NATIVE = {
    "test_a_scan_that_fills_a_buffer_to_the_last_byte": SMALL_BUFFERS,
    "test_buffers_past_the_default_limits[129]": SMALL_BUFFERS,
    "test_buffers_past_the_default_limits[257]": SMALL_BUFFERS,
    "test_operators_with_scalars[power]": "NumPy on x86 has -0.0 ** 0.5 == -0.0 for a scalar 0.5",
}
"""Tests that do not apply to the native device, and why."""


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("py_tensor")
    group.addoption(
        "--device",
        choices=DEVICES,
        default=os.environ.get("PY_TENSOR_TEST_DEVICE", "cpu"),
        help="where tests/ops compute (default: PY_TENSOR_TEST_DEVICE, else cpu)",
    )
    group.addoption("--seed", type=int, help="repeats the random data of an earlier run")
    group.addoption(
        "--programs",
        type=int,
        default=60,
        help="how many programs test_differential.py runs (default: 60)",
    )
    group.addoption(
        "--examples",
        type=int,
        default=0,
        help="how many calls of each function test_calls.py makes (default: by the device)",
    )
    group.addoption("--shard", metavar="I/N", help="runs the I-th of N parts, counted from 1")
    group.addoption(
        "--few",
        action="store_true",
        help="runs some cases of the tests that have many kernels (in the page: with --shard)",
    )
    group.addoption("--worker-args", default="", help="more arguments for the worker's pytest")
    group.addoption(
        "--worker-timeout",
        type=float,
        default=120.0,
        help="seconds after which a silent worker counts as hanging (default: 120)",
    )


def pytest_configure(config: pytest.Config) -> None:
    if config.option.seed is None:
        config.option.seed = random.SystemRandom().getrandbits(32)
    config.addinivalue_line(
        "markers", "computes: on WebGPU the test fails unless the device was given work"
    )
    if config.option.device != "webgpu":
        from py_tensor import set_default_device

        set_default_device("cpu" if config.option.device == "cpu" else "webgpu")
    if config.option.device == "webgpu" and not IN_WORKER:
        # Imported here because it needs Playwright, which the worker and the CPU run lack.
        from tests.browser.worker_pytest import WorkerRunner

        options = config.option
        arguments = ["--device=webgpu", f"--seed={options.seed}", f"--programs={options.programs}"]
        arguments.append(f"--examples={options.examples}")
        if options.shard is not None:  # where time is short
            arguments.append("--few")
        runner = WorkerRunner(config, HERE, arguments)
        config.pluginmanager.register(runner, "py_tensor-worker")


def pytest_report_header(config: pytest.Config) -> str:
    return f"py_tensor: tests/ops on {config.option.device}, --seed={config.option.seed}"


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave out the tests of threads in the page: Pyodide has no threads."""
    return (config.option.device == "webgpu" and collection_path.name == "test_threads.py") or None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep one shard of these tests. A test's shard depends only on its name."""
    for item in items:
        if config.option.device == "native" and item.name in NOT_NATIVE:
            item.add_marker(pytest.mark.skip(reason=NOT_NATIVE[item.name]))
    if config.option.device == "webgpu":  # ml_dtypes, the reference, has no wheel for a page
        items[:] = [item for item in items if "bfloat16" not in item.name]
    if config.option.shard is None:
        return
    index, count = map(int, config.option.shard.split("/"))
    if not 1 <= index <= count:
        raise pytest.UsageError(f"--shard {index}/{count}: the first number goes from 1 to {count}")
    others = {
        item
        for item in items
        if item.path.is_relative_to(HERE) and zlib.crc32(item.nodeid.encode()) % count != index - 1
    }
    config.hook.pytest_deselected(items=list(others))
    items[:] = [item for item in items if item not in others]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Any:
    """Add to each failure how to repeat its random data."""
    report: pytest.TestReport = yield
    if report.failed:
        report.sections.append(("random data", f"--seed={item.config.option.seed} repeats it"))
    return report


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> Any:
    """Fail a passing test that is marked `computes` if it dispatched nothing to the GPU.

    During such a test, reading part of a small tensor runs a kernel instead of using the host's
    copy. This is a hook, not a fixture, so that the failure is the test's own, and occurs only if
    nothing else failed.
    """
    computes = pyfuncitem.get_closest_marker("computes") is not None
    if not computes or pyfuncitem.config.option.device == "cpu":
        return (yield)
    from py_tensor.tools import control

    before = control.dispatches()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys.modules["py_tensor.tensors.tensor"], "COPIED_BYTES", 0)
        result = yield
    if control.dispatches() == before:
        pytest.fail("nothing was dispatched: the GPU computed none of this", pytrace=False)
    return result


@pytest.fixture(scope="session")
def device(request: pytest.FixtureRequest) -> str:
    """The device under test, by its name in the library: "cpu" or "webgpu"."""
    return "cpu" if request.config.option.device == "cpu" else "webgpu"


@pytest.fixture(scope="session", autouse=True)
def _poisoned_buffers(device: str) -> Iterator[None]:
    """Fill new buffers with garbage, because no kernel may rely on zeros."""
    if device != "webgpu":
        yield
        return
    from py_tensor.tools import control

    control.debug(poison=True)
    yield
    control.debug(poison=False)


@pytest.fixture(scope="session", autouse=True)
def _lines_of_75_columns() -> None:
    """Set the default line width of NumPy and the library; a page sets that of its window."""
    import py_tensor as pt

    pt.set_printoptions(linewidth=75)


@pytest.fixture(scope="session", autouse=True)
def _every_op() -> None:
    """Import modules that load on first use, because the tests' tables cover all ops."""
    import py_tensor as pt

    for name in dir(pt):
        getattr(pt, name)


@pytest.fixture
def rng(request: pytest.FixtureRequest) -> np.random.Generator:
    """Return random data that differ between runs and between tests; --seed repeats them."""
    import numpy as np

    name = zlib.crc32(request.node.nodeid.encode())
    return np.random.default_rng([request.config.option.seed, name])


@pytest.fixture
def default_device(device: str) -> Iterator[None]:
    """Make the tested device the default one."""
    import py_tensor as pt

    before = pt.default_device()
    pt.set_default_device(device)
    yield
    pt.set_default_device(before)


@pytest.fixture
def few(request: pytest.FixtureRequest, rng: np.random.Generator) -> Few:
    """Take cases that each need kernels of their own; with --few gives so many at random."""

    def draw(cases: Sequence[Any], count: int) -> Sequence[Any]:
        if not request.config.option.few:
            return cases
        return [cases[i] for i in sorted(rng.choice(len(cases), count, replace=False))]

    return draw


def _chosen_for(software: bool, device: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Have kernels chosen for a kind of adapter, whatever the adapter is."""
    if device != "webgpu":
        yield
        return
    import py_tensor as pt

    backend: Any = pt.default_device().backend
    profile = replace(backend.profile, software=software)
    monkeypatch.setattr(backend, "profile", profile)
    backend._plans.clear()
    yield
    backend._plans.clear()


@pytest.fixture
def gpu_kernels(device: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Use the kernels for a GPU, with workgroup memory and barriers."""
    yield from _chosen_for(False, device, monkeypatch)


@pytest.fixture
def software_kernels(device: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Use the kernels for a software adapter."""
    yield from _chosen_for(True, device, monkeypatch)


@pytest.fixture(params=["software", "gpu"])
def kernels(request: pytest.FixtureRequest) -> str:
    """Run a test with the kernels for a software adapter, and with those for a GPU."""
    request.getfixturevalue(f"{request.param}_kernels")
    return request.param
