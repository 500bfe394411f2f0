"""Fixtures of the tests of the webgpu device outside a browser."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import py_tensor as pt


@pytest.fixture(scope="session", autouse=True)
def _on_the_gpu(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Use the webgpu device, and an empty folder for data kept between processes."""
    before = pt.default_device()
    pt.set_default_device("webgpu")
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("caches")))
        yield
    pt.set_default_device(before)
