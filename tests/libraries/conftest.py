"""Fixtures of the tests with other libraries: the devices, and random data."""

from __future__ import annotations

import os
from collections.abc import Iterator

import numpy as np
import pytest

os.environ["SCIPY_ARRAY_API"] = "1"  # SciPy reads it when imported

import py_tensor as pt


@pytest.fixture(scope="session", autouse=True)
def _kept_apart(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Use an empty folder for data that the device keeps between processes."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("caches")))
        yield


@pytest.fixture(params=["cpu", "webgpu"])
def device(request: pytest.FixtureRequest) -> Iterator[str]:
    before = pt.default_device()
    pt.set_default_device(request.param)
    yield request.param
    pt.set_default_device(before)


@pytest.fixture
def rng() -> np.random.Generator:
    seed = int(np.random.default_rng().integers(2**32))
    print(f"seed {seed}")  # pytest shows it if the test fails
    return np.random.default_rng(seed)
