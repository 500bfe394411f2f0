"""Fixtures of the tests of the webgpu device without a browser."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import py_tensor as pt


@pytest.fixture(scope="session", autouse=True)
def _on_the_gpu() -> Iterator[None]:
    before = pt.default_device()
    pt.set_default_device("webgpu")
    yield
    pt.set_default_device(before)
