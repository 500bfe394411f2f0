"""Random data: fresh in each run; a failure shows the seed, and PY_TENSOR_SEED repeats it."""

from __future__ import annotations

import os
import random

import pytest


@pytest.fixture
def source() -> random.Random:
    seed = int(os.environ.get("PY_TENSOR_SEED", random.SystemRandom().getrandbits(32)))
    print(f"PY_TENSOR_SEED={seed}")  # pytest shows it where the test fails
    return random.Random(seed)
