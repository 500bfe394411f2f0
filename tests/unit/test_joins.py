"""Loops that join, pad, roll and slice: planned in linear time, correct, without repeated work."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import py_tensor as pt
from py_tensor.schedule.build import schedule
from py_tensor.schedule.evaluate import Evaluator, IndexMap
from py_tensor.schedule.kernel import Budget
from py_tensor.schedule.order import make_request
from tests.unit import simulate

MAX_STEPS = 12  # values that kernels demand, for each node of the flush


def repeated(step: Callable[[Any, Any, int], Any]) -> Callable[[Any, Any, int], Any]:
    """Return the program that applies a step some times."""

    def program(xp: Any, x: Any, times: int) -> Any:
        for k in range(times):
            x = step(xp, x, k)
        return x

    return program


def bordered(xp: Any, x: Any, times: int) -> Any:
    h = x[:64].reshape(8, 8)
    for _ in range(times):
        h = xp.concatenate([h, h[:, -1:]], 1)
        h = xp.concatenate([h, h[-1:, :] * 0.5])
    return h


def rows(xp: Any, x: Any, times: int) -> Any:
    h = x[:64].reshape(8, 8)
    for _ in range(times):
        h = xp.concatenate([h, h[-1:] * 0.5])
    return h


def fibonacci(xp: Any, x: Any, times: int) -> Any:
    a, b, result = x[:1], x[1:2], x[:2]
    for _ in range(times):
        a, b = b, a + b * 0.5
        result = xp.concatenate([result, b])
    return result


def history(xp: Any, x: Any, times: int) -> Any:
    h, result = x[-1:], []
    for _ in range(times):
        h = h * 0.5 + 1
        result.append(h)
    return xp.concatenate(result)


def two_lists(xp: Any, x: Any, times: int) -> Any:
    a = b = x
    for _ in range(times):
        a, b = xp.concatenate([a, b[-1:]]), xp.concatenate([b, a[:1] * 2])
    return xp.concatenate([a, b])


def pascal(xp: Any, x: Any, times: int) -> Any:
    p = x[:1]
    for _ in range(times):
        p = (xp.pad(p, (1, 0)) + xp.pad(p, (0, 1))) * 0.5
    return p


def assigned(xp: Any, x: Any, times: int) -> Any:
    for k in range(times):
        grown = xp.concatenate([x, x[:1]])
        grown[1:] = x
        grown[0] = x[-1] + k
        x = grown
    return x


LOOPS: dict[str, Callable[[Any, Any, int], Any]] = {
    "prepend": repeated(lambda xp, x, k: xp.concatenate([x[:1], x])),
    "append": repeated(lambda xp, x, k: xp.concatenate([x, x[-1:] + 1])),
    "both ends": repeated(lambda xp, x, k: xp.concatenate([x[:1] * 0.5, x, x[-1:] + 1])),
    "np.append": repeated(lambda xp, x, k: xp.append(x, float(k))),
    "sum of the last": repeated(lambda xp, x, k: xp.concatenate([x, (x[-1:] + x[-2:-1]) * 0.5])),
    "sum of two": repeated(lambda xp, x, k: xp.concatenate([x, (x[k : k + 1] + x[-2:-1]) * 0.5])),
    "reversed": repeated(lambda xp, x, k: xp.concatenate([x[::-1], x[:1]])),
    "rotated": repeated(lambda xp, x, k: xp.concatenate([x[1:], x[:1]])),
    "rotated, computed": repeated(lambda xp, x, k: xp.concatenate([x[1:], x[:1] * 0.5 + 1])),
    "rolled": repeated(lambda xp, x, k: xp.roll(x, 1) * 0.5 + x),
    "inserted": repeated(lambda xp, x, k: xp.insert(x, 5, 1.0)),
    "split": repeated(lambda xp, x, k: xp.concatenate([x[:10], x[10:11], x[10:]])),
    "picked": repeated(lambda xp, x, k: xp.concatenate([x, xp.take(x, [0])])),
    "stacked": repeated(lambda xp, x, k: xp.stack([x, x * 0.5])[1]),
    "padded": repeated(lambda xp, x, k: xp.pad(x, (1, 0), constant_values=2)),
    "padded with edges": repeated(lambda xp, x, k: xp.pad(x, 1, mode="edge")),
    "flipped": repeated(lambda xp, x, k: xp.where(x > 1, x, x[::-1] * 0.5)),
    "bordered": bordered,
    "rows": rows,
    "fibonacci": fibonacci,
    "history": history,
    "two lists": two_lists,
    "pascal": pascal,
    "assigned": assigned,
}  # fmt: skip


@pytest.mark.parametrize("name", LOOPS)
def test_planning_is_linear(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The values that all kernels of a flush demand are at most a multiple of its nodes."""
    demanded = 0
    step = Evaluator._step

    def counted(self: Evaluator, slot: int, view: IndexMap) -> Any:
        nonlocal demanded
        demanded += 1
        return step(self, slot, view)

    monkeypatch.setattr(Evaluator, "_step", counted)
    for times in (80, 160, 320):
        device = simulate.device(10, execute=False)
        monkeypatch.setattr(device, "_per_node", 0.0)  # one flush, however long
        x = pt.asarray(np.arange(64, dtype="f"), device=device)
        made = make_request([LOOPS[name](pt, x, times)._node]).program
        demanded = 0
        schedule(made, Budget(10))
        assert demanded <= MAX_STEPS * len(made.nodes), times


@pytest.mark.parametrize("name", LOOPS)
def test_values_and_operations(name: str, source: random.Random) -> None:
    x = np.random.default_rng(source.getrandbits(32)).standard_normal(64).astype("f")
    times = source.randint(20, 40)
    device = simulate.device(source.choice((8, 10)))
    result = LOOPS[name](pt, pt.asarray(x, device=device), times)
    order = make_request([result._node]).program.nodes
    alone = sum(node.op.operations(node) for node in order if node.storage is None)
    np.testing.assert_allclose(result.numpy(), LOOPS[name](np, x, times), rtol=1e-4, atol=1e-5)
    assert sum(k.operations() for k in simulate.kernels_of(device)) <= max(2 * alone, 64)


def test_random_joins(source: random.Random) -> None:
    """Pieces of pieces: values as in NumPy, at most twice the operations."""
    for _ in range(60):
        rng = np.random.default_rng(source.getrandbits(32))
        steps = [[source.randrange(10**6) for _ in range(6)] for _ in range(source.randint(3, 30))]
        x = rng.standard_normal((6, 5)).astype("f")
        device = simulate.device(source.choice((8, 10)))
        result = joined(pt, pt.asarray(x, device=device), steps)
        order = make_request([result._node]).program.nodes
        alone = sum(node.op.operations(node) for node in order if node.storage is None)
        np.testing.assert_allclose(result.numpy(), joined(np, x, steps), rtol=1e-4, atol=1e-4)
        done = sum(k.operations() for k in simulate.kernels_of(device))
        assert done <= max(3 * alone, 500), steps


def joined(xp: Any, x: Any, steps: list[list[int]]) -> Any:
    """Join pieces of the latest results."""
    known = [x, x * 0.5]
    for kind, which, other, i, j, axis in steps:
        a, b = known[-1 - which % 2], known[-1 - other % 2]
        axis %= 2
        n = a.shape[axis]
        position = i % n
        piece = (
            a[position : position + 1 + j % 3]
            if axis == 0
            else a[:, position : position + 1 + j % 3]
        )
        match kind % 9:
            case 0:
                made = xp.concatenate([a, piece], axis)
            case 1:
                made = xp.concatenate([piece * 0.5 + 1, a], axis)
            case 2:
                made = xp.concatenate([xp.flip(a, axis), piece - 1], axis)
            case 3:
                made = xp.roll(a, j % n, axis) * 0.5 + a
            case 4:
                made = xp.pad(piece * 0.5, ((1, j % 2), (i % 2, 1)))
            case 5:
                made = a.T
            case 6:
                made = xp.where(xp.flip(a, 0) > 0, a, xp.flip(a, 1) * 0.5)
            case 7:
                size = min(a.shape[0], b.shape[0]), min(a.shape[1], b.shape[1])
                made = a[: size[0], : size[1]] - b[-size[0] :, -size[1] :] * 0.5
            case _:
                made = xp.stack([a, a * 0.5], axis)[(slice(None),) * axis + (i % 2,)]
        if made.size > 600:
            made = made[-9:, :9] * 0.5
        known.append(made)
    return xp.concatenate([known[-1].reshape(-1), known[-2].reshape(-1)])
