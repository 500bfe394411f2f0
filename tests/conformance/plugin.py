"""A pytest plugin that runs the array API standard's tests on py_tensor, on a chosen device.

It is loaded on the host and, for `--device webgpu`, also inside the page's worker, like
tests/ops/conftest.py.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from textwrap import indent

import pytest

IN_WORKER = sys.platform == "emscripten"
EXPECTED = Path(__file__).with_name("expected_failures.txt")


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("py_tensor")
    group.addoption("--device", choices=("cpu", "native", "webgpu"), default="cpu")
    group.addoption("--worker-args", default="", help="more arguments for the worker's pytest")
    group.addoption("--worker-timeout", type=float, default=300.0)


def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    """Name the library and its device before the suite's conftest.py imports it."""
    import py_tensor as pt

    os.environ["ARRAY_API_TESTS_MODULE"] = "py_tensor"
    on_cpu = early_config.known_args_namespace.device == "cpu"
    pt.set_default_device("cpu" if on_cpu else "webgpu")
    info = pt.__array_namespace_info__()
    missing = info.dtypes(device="cpu").keys() - info.dtypes().keys()
    os.environ["ARRAY_API_TESTS_SKIP_DTYPES"] = ",".join(sorted(missing))


@pytest.hookimpl(trylast=True)  # after the suite's own, which loads its settings
def pytest_configure(config: pytest.Config) -> None:
    from hypothesis import HealthCheck, settings

    options = config.option
    options.xfails_file = str(EXPECTED)
    # A first call may compile a kernel.
    slow = settings(settings.default, deadline=None, suppress_health_check=[HealthCheck.too_slow])
    settings.register_profile("py_tensor", slow)
    settings.load_profile("py_tensor")
    if sys.version_info >= (3, 13):
        _indent_docstrings()
    if options.device == "webgpu" and not IN_WORKER:
        from tests.browser.worker_pytest import WorkerRunner  # it needs Playwright
        from tests.conformance.__main__ import PACKAGES

        examples = f"--max-examples={options.hypothesis_max_examples}"
        arguments = ["-p", "tests.conformance.plugin", "--device=webgpu", examples]
        suite = config.rootpath
        runner = WorkerRunner(config, suite, arguments, {suite: "suite", PACKAGES: "site"}, "suite")
        config.pluginmanager.register(runner, "py_tensor-worker")


def _indent_docstrings() -> None:
    """Indent docstrings as before Python 3.13: the suite finds a function's first case by that."""
    from array_api_tests import stubs  # pyright: ignore[reportMissingImports]

    for function in stubs.category_to_funcs["elementwise"]:
        function.__doc__ = indent(function.__doc__, "    ")
