"""Random programs: scheduled for WebGPU and simulated, against the cpu device.

PY_TENSOR_SEED repeats a run, PY_TENSOR_PROGRAMS sets how many programs it has.
"""

from __future__ import annotations

import os
import random

import pytest

from py_tensor.codegen.program import Programs
from py_tensor.schedule import pack
from tests.unit import simulate
from tests.unit.programs import Program

COUNT = int(os.environ.get("PY_TENSOR_PROGRAMS", "180"))
FIRST = int(os.environ.get("PY_TENSOR_SEED", random.SystemRandom().getrandbits(32)))


@pytest.mark.parametrize("max_buffers", [4, 8, 10])
def test_random_programs(max_buffers: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A few similar kernels are enough to be packed."""
    monkeypatch.setattr(pack, "MIN_SIMILAR", 2)
    programs = Programs()
    for seed in range(FIRST, FIRST + COUNT // 3):
        rng = random.Random(seed)
        place = simulate.device(max_buffers, programs=programs if seed % 4 == 0 else None)
        Program(seed, place).run(rng.randint(3, 40))


@pytest.mark.parametrize("seed", [5528, 6116, 60860])
def test_programs_that_are_planned_again(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A kernel reads its own result (2), or a value that another kernel's limit got stored (1)."""
    monkeypatch.setattr(pack, "MIN_SIMILAR", 2)
    Program(seed, simulate.device(4)).run(random.Random(seed).randint(3, 60))
