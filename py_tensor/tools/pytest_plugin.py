"""A plugin of pytest: an error of the GPU fails the test that caused it.

The GPU checks an index in a tensor as it computes, and the error is raised at the next read, which
may be in another test. pytest loads this plugin wherever py_tensor is installed, as a module
outside the package, so that it imports nothing of the package: most tests do not use it.
"""

from __future__ import annotations

import sys
from collections.abc import Generator
from typing import Any

import pytest


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """Wait for the devices after each test, so that an error that no read has raised is its own."""
    try:
        result = yield
    except BaseException as error:
        try:
            _synchronize()
        except Exception as late:
            error.add_note(f"Its device also reports: {late}")
        raise
    _synchronize()
    return result


def _synchronize() -> None:
    registry: Any = sys.modules.get("py_tensor.runtime.registry")
    session: Any = sys.modules.get("py_tensor.tools.control")
    if registry is not None and session is not None:
        for device in registry.devices():
            if device.is_ready:
                session.synchronize(device)


pytest_runtest_setup = pytest_runtest_teardown = pytest_runtest_call
