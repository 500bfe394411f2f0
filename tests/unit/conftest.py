"""Fixtures: reproducible random data, and a webgpu device without a GPU."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

import py_tensor as pt
from py_tensor.ir import node as graph
from py_tensor.runtime.registry import WRITING, devices
from tests.unit.fake_bridge import GPU, new_gpu

pt.set_default_device("cpu")  # ignore any GPU of this machine


@pytest.fixture
def source() -> random.Random:
    """Random numbers, new in each run; a failure shows the seed, and PY_TENSOR_SEED repeats it."""
    seed = int(os.environ.get("PY_TENSOR_SEED", random.SystemRandom().getrandbits(32)))
    print(f"PY_TENSOR_SEED={seed}")  # pytest shows it if the test fails
    return random.Random(seed)


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> GPU:
    """A webgpu device on a fake bridge, with a Python that can block.

    All tests together make more metas than the table has room for. If it were cleared during a
    test, what the test repeats would be planned again.
    """
    monkeypatch.setattr(graph, "_TABLE_LIMIT", 2**62)
    return new_gpu()


@pytest.fixture
def on_cpu() -> Iterator[None]:
    """Make the cpu device the default device."""
    before = pt.default_device()
    pt.set_default_device("cpu")
    yield
    pt.set_default_device(before)


@pytest.fixture(autouse=True)
def _no_lock_is_held() -> Iterator[None]:
    """A lock that a test leaves acquired would stop the threads of a later one."""
    yield
    with ThreadPoolExecutor(1) as other:
        for lock in (WRITING, *(device.lock for device in devices())):
            is_free = other.submit(lock.acquire, blocking=False).result()
            assert is_free, lock
            other.submit(lock.release).result()
