"""Named expressions: their kernels and dispatches, and nothing compiled the second time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest

import py_tensor as pt
from tests.perf.expressions import EXPRESSIONS, Counts, Expression
from tests.unit.fake_bridge import GPU


class Counting:
    """A bridge that counts the calls it passes on."""

    def __init__(self, bridge: Any) -> None:
        self.bridge = bridge
        self.calls: Counter[str] = Counter()

    def __getattr__(self, name: str) -> Callable[..., Any]:
        def call(*arguments: Any) -> Any:
            self.calls[name] += 1
            return getattr(self.bridge, name)(*arguments)

        return call


@pytest.fixture(params=["gpu", "software"])
def place(request: pytest.FixtureRequest, gpu: GPU) -> GPU:
    """A device with the kernels for a GPU, and one with those for a software adapter."""
    software = request.param == "software"
    gpu.backend.profile = replace(gpu.backend.profile, software=software, max_buffers=10)
    gpu.backend.pending_work = gpu.backend.ahead_work = 2**62  # only requested work runs
    return gpu


def operands(place: GPU, expression: Expression) -> list[pt.Tensor]:
    software = place.backend.profile.software
    shapes = expression.small() if software else expression.shapes
    made = [pt.zeros(shape, device=place.device) for shape in shapes]
    pt.realize(*made)
    return made


def read(results: Sequence[pt.Tensor]) -> None:
    """Compute together the work that reading each needs."""
    pt.realize(*results)
    for x in results:
        x._stored()  # a view of a stored tensor is copied when it is read


@pytest.mark.parametrize("expression", EXPRESSIONS, ids=lambda e: e.name)
def test_kernels_and_dispatches(place: GPU, expression: Expression) -> None:
    results = expression.results(*operands(place, expression))
    explained = pt.explain(*results)
    before = place.bridge.counts["dispatches"]
    read(results)
    ran = place.bridge.counts["dispatches"] - before
    expected = expression.software if place.backend.profile.software else expression.gpu
    assert Counts(len(explained.kernels), ran) == expected, explained
    assert explained.dispatches == ran


@pytest.mark.parametrize("expression", EXPRESSIONS, ids=lambda e: e.name)
def test_the_second_time_brings_nothing_new(place: GPU, expression: Expression) -> None:
    """A repetition makes no plan, program or buffer, and one call into JavaScript per flush."""
    xs = operands(place, expression)
    read(expression.results(*xs))
    counting: Any = Counting(place.bridge)
    place.backend.bridge = counting
    known = [dict(place.bridge.pipelines), set(place.bridge.ids), place.backend.planned]
    flushes = place.backend.recalled
    read(expression.results(*xs))
    flushes = place.backend.recalled - flushes
    assert [place.bridge.pipelines, place.bridge.ids, place.backend.planned] == known
    del counting.calls["drain"]  # waits for an old flush
    assert counting.calls == {"flush": flushes}
    assert 1 <= flushes <= 2


def test_a_read_is_two_calls(place: GPU) -> None:
    """A flush and a read, in one submit; the first time, the kernel is defined or compiled."""
    x = place.tensor(*range(16))
    float((x * 2).sum())
    counting: Any = Counting(place.bridge)
    place.backend.bridge = counting
    before = place.bridge.counts["submits"]
    float((x * 3).sum())
    assert place.bridge.counts["submits"] == before + 1
    assert counting.calls["flush"] == counting.calls["read"] == 1
    assert set(counting.calls) <= {"flush", "read", "isReading"}
