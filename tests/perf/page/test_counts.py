"""In the page: the second time an expression is computed, nothing is compiled or allocated."""

from __future__ import annotations

from ast import literal_eval
from collections.abc import Callable
from typing import Any

import pytest

Run = Callable[[str], dict[str, Any]]

COUNT = """
class Counting:
    def __init__(self, bridge):
        self.bridge, self.calls = bridge, []
    def __getattr__(self, name):
        def call(*arguments):
            self.calls.append(name)
            return getattr(self.bridge, name)(*arguments)
        return call

def counted(work):
    backend = pt.default_device().backend
    before, held = backend.stats(), backend.memory_info()
    backend.bridge = counting = Counting(backend.bridge)
    try:
        result = work()
    finally:
        backend.bridge = counting.bridge
    after = backend.stats()
    grown = {k: after[k] - before[k] for k in ("compiles", "planned", "flushes", "dispatches")}
    del result
    new = backend.memory_info()["device_buffers"] - held["device_buffers"]
    return grown | {"buffers": new, "calls": sorted(set(counting.calls) - {"stats", "drain"})}
"""


def second_time(run: Run, operands: str, work: str) -> dict[str, Any]:
    """Return the counts of the second run of some work; the first one may compile."""
    code = (
        f"{COUNT}\n{operands}\ndef work():\n    return {work}\n"
        "pt.synchronize()\ncounted(work)\npt.synchronize()\ncounted(work)"
    )
    answer = run(code)
    assert answer["error"] is None, answer["error"]
    return literal_eval(answer["result"])


@pytest.mark.parametrize(
    ("operands", "work", "dispatches"),
    [
        ("x = pt.rand(16).realize()", "(x + x).realize()", 1),
        ("x = pt.rand(64, 64).realize()", "(pt.tanh(x * x + pt.exp(-x))).realize()", 1),
        ("x = pt.rand(256, 64).realize()", "(x / pt.exp(x).sum(-1, keepdims=True)).realize()", 1),
        ("x = pt.rand(64, 64).realize()", "pt.relu(x @ x + x[0]).realize()", 1),
        ("xs = [pt.rand(16).realize() for _ in range(200)]", "pt.realize(*[x + 1 for x in xs])", 0),
    ],
)
def test_the_second_time(run: Run, operands: str, work: str, dispatches: int) -> None:
    found = second_time(run, operands, work)
    calls, ran = found.pop("calls"), found.pop("dispatches")
    assert found == {"compiles": 0, "planned": 0, "flushes": 1, "buffers": 0}
    assert calls == ["flush"]
    assert ran == dispatches or not dispatches


def test_a_number_read_back(run: Run) -> None:
    found = second_time(run, "x = pt.rand(16).realize()", "float((x * 2).sum())")
    assert (found["flushes"], found["compiles"], found["buffers"]) == (1, 0, 0)
    assert set(found["calls"]) <= {"flush", "read", "isReading"}
