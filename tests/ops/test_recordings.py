"""Recordings keep what derivatives need: a walk over one against central differences.

The values are read, written to and computed at once inside the function, as in any program.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Generator
from typing import Any

import numpy as np
import pytest

import py_tensor as pt
from py_tensor.ir.node import NOT_DIFFERENTIABLE, Node
from py_tensor.ir.recording import RECORDINGS, Recording, is_recording, recording
from py_tensor.runtime.device import deferring
from py_tensor.schedule.order import OVERWRITTEN_BYTES

Function = Callable[[pt.Tensor], pt.Tensor]


def gradient(made: Recording, y: pt.Tensor, x: pt.Tensor) -> pt.Tensor:
    """Return the derivatives of a scalar with respect to a stored tensor, by a walk from it."""
    nodes = {y._node}
    stack = [y._node]
    while stack:
        for operand in made.operands(stack.pop()):
            if operand not in nodes:
                nodes.add(operand)
                stack.append(operand)
    of_node: dict[Node, pt.Tensor] = {y._node: pt.ones_like(y)}
    with deferring():
        for node in sorted(nodes, key=lambda node: -node.number):
            operands = made.operands(node)
            if node not in of_node or not operands or node.op.vjp is NOT_DIFFERENTIABLE:
                continue
            vjp: Any = node.op.vjp
            g = of_node.pop(node)
            parts = vjp(g, pt.Tensor(node), *map(pt.Tensor, operands), node.attrs)
            for operand, part in zip(operands, parts, strict=True):
                if part is not None:
                    of_node[operand] = of_node[operand] + part if operand in of_node else part
    return of_node[x._node]


def branch(x: pt.Tensor) -> pt.Tensor:
    y = x * 3
    if y.sum() > 0:  # reads, and so computes y
        y = y * x
    return (y[1] * y).sum() if float(y[0, 0]) > -100 else y.sum()


def written(x: pt.Tensor) -> pt.Tensor:
    y = pt.zeros_like(x)
    for i in range(3):
        y[i] = x[2 - i] * x[i]  # in place on the cpu device otherwise
        y[i, 0] += 2 * x[i, 1]
    y *= x
    return y.sum()


def small_products(x: pt.Tensor) -> pt.Tensor:
    y = x @ x.T  # computed at once on the cpu device otherwise
    y.tolist()
    return (y @ x).sum() * y[0, 1]


def selected(x: pt.Tensor) -> pt.Tensor:
    kept = x[x > 0]
    return (kept**2).sum() + kept[0] + x[[0, 2, 0]].sum() * x[1, 1]


def long_loop(x: pt.Tensor) -> pt.Tensor:
    """More nodes than are left pending."""
    y = x
    for _ in range(200):
        y = y + 0.001 * pt.sin(3 * y) * y
    return y.sum()


def items(x: pt.Tensor) -> pt.Tensor:
    """Elements of a computed tensor in a list are operands, not numbers."""
    y = (x * x).realize()
    z = pt.zeros_like(y)
    z[0] = [y[0, 1], 2, y[1, 0] * 3]
    joined = pt.stack([y[0, 0], y[1, 1] * y[0, 1]]).sum() + pt.asarray([y[2, 0], y[0, 0]]).prod()
    return (
        joined + pt.tensor([[y[0, 0], 1.0], [3, y[2, 2]]], device=x.device).prod() + (z * z).sum()
    )


def large(x: pt.Tensor) -> pt.Tensor:
    """The buffers of large results are overwritten otherwise."""
    y = pt.tile(x, (200, 200))
    for _ in range(3):
        y = (y * y).realize()
        y = (y / 4).realize()
    return y.mean()


FUNCTIONS: list[Function] = [branch, written, small_products, selected, long_loop, items, large]


@pytest.mark.parametrize("f", FUNCTIONS, ids=lambda f: f.__name__)
def test_derivatives(f: Function, device: str, rng: np.random.Generator) -> None:
    values = rng.uniform(0.2, 1.2, (3, 3)) * np.where(rng.random((3, 3)) < 0.3, -1, 1)
    values[0, 0] = 0.7  # one is positive
    expected = np.empty((3, 3))
    for at in np.ndindex(3, 3):
        ends: list[float] = []
        for sign in (1, -1):
            moved = values.copy()
            moved[at] += sign * 1e-6
            ends.append(float(f(pt.tensor(moved, dtype="float64", device="cpu"))))
        expected[at] = (ends[0] - ends[1]) / 2e-6
    x = pt.tensor(values, dtype="float64" if device == "cpu" else "float32", device=device)
    with recording() as made:
        y = f(x)
    y.tolist()  # computed after the recording
    got = gradient(made, y, x).numpy()
    tolerance = 1e-5 if device == "cpu" else 2e-3
    np.testing.assert_allclose(got, expected, rtol=tolerance, atol=tolerance)
    del made
    assert not RECORDINGS


def element(w: pt.Tensor) -> None:
    w[1] = 100


def window(w: pt.Tensor) -> None:
    w[0:2] = 100


def whole(w: pt.Tensor) -> None:
    for _ in range(3):
        w *= 100
        w.realize()


@pytest.mark.parametrize("size", [3, OVERWRITTEN_BYTES // 4 + 1])
@pytest.mark.parametrize("write", [element, window, whole], ids=lambda f: f.__name__)
def test_what_a_recording_needs_is_not_overwritten(
    write: Callable[[pt.Tensor], None], size: int, device: str, rng: np.random.Generator
) -> None:
    """Writes to a tensor after the recording do not change what its derivatives use."""
    values = rng.uniform(0.5, 1.5, size).astype(np.float32)
    x = pt.tensor(values, device=device)
    with recording() as made:
        w = (x * x).realize()
        y = (w * w).sum()
    y.tolist()
    write(w)
    w.realize()
    np.testing.assert_allclose(gradient(made, y, x).numpy(), 4 * values**3, rtol=1e-5)


def test_a_task_does_not_continue_an_ended_recording() -> None:
    x = pt.ones(3, device="cpu")

    async def later() -> bool:
        await asyncio.sleep(0)
        assert not is_recording()
        with recording() as own:
            y = x * 2
        y.tolist()
        return x._node in own.operands(y._node)

    async def main() -> bool:
        with recording():
            task = asyncio.create_task(later())
        return await task

    assert asyncio.run(main())


def test_generators_do_not_share_a_recording_that_ended() -> None:
    x = pt.ones(3, device="cpu")

    def records() -> Generator[bool]:
        with recording() as made:
            yield True
            y = x * 2
            y.tolist()
            yield x._node in made.operands(y._node)

    first, second = records(), records()
    next(first)
    assert list(second) == [True, True]
    first.close()
    assert not is_recording()
    assert list(records()) == [True, True]


def test_a_recording_ends(device: str) -> None:
    """What is recorded after it, and what was before, is a leaf once it is computed."""
    x = pt.ones(3, device=device)
    before = x * 2
    with recording() as made, recording() as inner:
        assert inner is made
        assert is_recording()
        inside = x * 3
    assert not is_recording()
    after = x * 4
    pt.realize(before, inside, after)
    assert made.operands(before._node) == ()
    assert made.operands(after._node) == ()
    assert x._node in made.operands(inside._node)
