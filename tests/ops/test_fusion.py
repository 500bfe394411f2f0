"""Random expression graphs against the same program in float64: the test of the scheduler.

They have shared nodes, live and dropped intermediates, reductions inside and around elementwise
ops, matmuls, concatenations, views of views, and reads in random order. A failure prints the
program, the shortest program found that still fails, and the seed that repeats it.
"""

from __future__ import annotations

import pytest

import py_tensor as pt
from tests.ops import programs

PROGRAMS = 300
GROUPS = 20
FIXED = 0x5EED


@pytest.mark.computes
@pytest.mark.parametrize("group", range(GROUPS))
def test_random_programs(group: int, device: str, request: pytest.FixtureRequest) -> None:
    seed = request.config.option.seed
    for n in range(PROGRAMS // GROUPS):
        length = (4, 8, 14, 24)[n % 4]
        programs.check(programs.make([seed, group, n], length), device)


def test_pending_results_without_elements_flush_with_others(device: str) -> None:
    empty = pt.zeros((0, 4), dtype=pt.int32, device=device)
    results = [pt.arctan2(empty, empty), pt.sqrt(empty)[:, :2]]
    x = pt.ones(3, device=device)
    for _ in range(2000):  # more than may be pending
        x = x + 1
    assert [r.shape for r in results] == [(0, 4), (0, 2)]
    assert x.tolist() == [2001.0] * 3
