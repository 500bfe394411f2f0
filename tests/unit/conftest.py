"""Fixtures: random data that a seed repeats, and a webgpu device without a GPU."""

from __future__ import annotations

import os
import random

import pytest

from py_tensor.backend import bridge as js
from py_tensor.backend import connection, webgpu
from tests.unit.fake_bridge import GPU, Heap, new_gpu


@pytest.fixture
def source() -> random.Random:
    """Fresh in each run; a failure shows the seed, and PY_TENSOR_SEED repeats it."""
    seed = int(os.environ.get("PY_TENSOR_SEED", random.SystemRandom().getrandbits(32)))
    print(f"PY_TENSOR_SEED={seed}")  # pytest shows it where the test fails
    return random.Random(seed)


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> GPU:
    """A webgpu device on a fake bridge, where Python can wait."""
    heap = Heap()
    for module in (connection, webgpu):
        monkeypatch.setattr(module, "array", heap.array())
    monkeypatch.setattr(js, "IN_PYODIDE", True)
    monkeypatch.setattr(js, "can_wait", lambda: True)
    monkeypatch.setattr(js, "wait", lambda promise, what: promise.value)
    return new_gpu(heap)
