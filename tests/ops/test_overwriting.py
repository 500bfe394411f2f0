"""Results that overwrite their operands: values are right whatever else reads the operands."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import py_tensor as pt
from py_tensor.backends import webgpu
from py_tensor.schedule import order
from tests.ops import programs
from tests.ops.compare import same

pytestmark = pytest.mark.computes

ROUNDS = 6
SHAPES = [(512, 512), (511, 513), (1, 262_147), (128, 2048)]

# Exact in float32, which represents these integers; `a` is another operand of the same shape.
STEPS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "one operand": lambda np, x, a: x * 2 - 1,
    "two operands": lambda np, x, a: a - x,
    "used twice": lambda np, x, a: x * x + x,
    "a row beside": lambda np, x, a: x - a[:1],
    "a column beside": lambda np, x, a: x + a[:, :1],
    "reversed beside": lambda np, x, a: x + a[::-1, ::-1],
    "its own reverse": lambda np, x, a: x + x[::-1],
    "its own row": lambda np, x, a: x - x[:1],
    "its own largest": lambda np, x, a: x - x.max(),
    "flat": lambda np, x, a: (x.reshape(-1) + 1).reshape(x.shape),
    "shifted": lambda np, x, a: np.concat([x[:, 1:], x[:, :1]], axis=1) + x,
    "another type": lambda np, x, a: x.astype(np.int32) + 1,
    "its rows by index": lambda np, x, a: np.take(x, np.arange(len(x) - 1, -1, -1), axis=0) + 1,
    "its rows by index, and itself": lambda np, x, a: np.take(x, range(len(x))[::-1], axis=0) + x,
    "summed up": lambda np, x, a: np.cumsum(x, 1) + x,
    "sorted": lambda np, x, a: np.sort(x, 0) - x,
    "less of it": lambda np, x, a: x[:, :-1] + 1,
}


@pytest.fixture
def arrays(rng: np.random.Generator, request: pytest.FixtureRequest) -> tuple[Any, Any]:
    x, a = rng.integers(-9, 9, (2, *request.param)).astype("float32")
    return x, a


@pytest.mark.parametrize("arrays", SHAPES, indirect=True, ids=str)
@pytest.mark.parametrize("step", STEPS)
def test_a_step_overwrites_unreferenced_operands(
    step: str, arrays: tuple[Any, Any], device: str
) -> None:
    x, a = arrays
    f = STEPS[step]
    b = pt.tensor(a, device=device)
    for _ in range(2):  # the second time by the same plan
        y = pt.tensor(x, device=device)
        got = f(pt, y, b)
        del y
        same(got.realize(), f(np, x, a), step)
    same(b, a, "the other operand")


@pytest.mark.parametrize("arrays", SHAPES[:2], indirect=True, ids=str)
def test_a_loop_that_keeps_some_results(arrays: tuple[Any, Any], device: str) -> None:
    x, a = arrays
    y, b = pt.tensor(x, device=device), pt.tensor(a, device=device)
    kept: list[tuple[pt.Tensor, Any]] = []
    for n in range(ROUNDS):
        y = (y * -1 + b).realize()
        x = x * -1 + a
        if n % 2:
            kept.append((y, x))
    for got, expected in [*kept, (y, x)]:
        same(got, expected, "of a round")


@pytest.mark.parametrize("group", range(8))
def test_random_programs(
    group: int, device: str, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    """Tensors of any size may be overwritten."""
    for module in (order, webgpu):
        monkeypatch.setattr(module, "OVERWRITTEN_BYTES", 0)
    for n in range(12):
        length = (4, 8, 14, 24)[n % 4]
        seed = [request.config.option.seed, 1000 + group, n]
        programs.check(programs.make(seed, length), device)
