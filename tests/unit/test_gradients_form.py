"""Graphs can be differentiated: nodes, ops and attributes contain all that autodiff needs.

The library has no autodiff. The tests compare the derivative of every op with finite differences in
float64.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import numpy as np
import pytest

import py_tensor as pt
from py_tensor.backend.backends import CPU_DEVICE
from py_tensor.backend.device import deferring
from py_tensor.graph.bind import LEAF
from py_tensor.graph.node import NOT_DIFFERENTIABLE, Node, Op
from py_tensor.graph.order import topological
from py_tensor.graph.primitives import CONST
from py_tensor.ops.define import REGISTRY
from py_tensor.ops.gather import gather_nd
from py_tensor.ops.scatter import scatter
from py_tensor.tensor import Tensor

Function = Callable[..., Tensor]
MAXIMA, MINIMA = (cast("Any", f).accumulate for f in (pt.maximum, pt.minimum))
Array = np.ndarray


def gradients(y: Tensor, inputs: list[Tensor]) -> list[Array]:
    """Return the derivative of sum(y) by each input, by one pass over the graph, results first.

    Inputs are collected before anything is recorded, which may flush: realized nodes drop theirs.
    """
    tape = [(node, node.inputs) for node in topological([y._node])]
    found: dict[Node, Tensor] = {y._node: pt.ones_like(y)}
    for node, operands_of_node in reversed(tape):
        g = found.get(node)
        if g is None or node.op in (LEAF, CONST) or node.op.vjp is NOT_DIFFERENTIABLE:
            continue
        operands = [Tensor(operand) for operand in operands_of_node]
        assert callable(node.op.vjp)
        parts = node.op.vjp(g, Tensor(node), *operands, node.attrs)
        assert len(parts) == len(operands)
        for operand, part in zip(operands_of_node, parts, strict=True):
            if part is not None and operand.op is not CONST:
                assert part.shape == operand.meta.shape, node
                known = found.get(operand)
                found[operand] = part if known is None else known + part
    return [found[x._node].numpy() for x in inputs]


def differences(f: Function, arrays: list[Array], which: int, step: float = 1e-6) -> Array:
    result = np.zeros_like(arrays[which])
    for at in np.ndindex(result.shape):
        totals = []
        for sign in (1, -1):
            moved = [a.copy() for a in arrays]
            moved[which][at] += sign * step
            totals.append(
                float(f(*(pt.tensor(a, dtype=a.dtype, device="cpu") for a in moved)).sum().item())
            )
        result[at] = (totals[0] - totals[1]) / (2 * step)
    return result


HOLES = pt.tensor([[1.0, 0, 1], [0, 1, 1], [2, 0, 1], [0, 1, 2]], device="cpu")


PLACES = pt.tensor([1, 0, -1, 1, 0], device="cpu")


def put(x: Tensor, y: Tensor, mode: str) -> Tensor:
    return scatter(x, (0,), (PLACES,), 0, y, mode)


def layer_norm(x: Tensor) -> Tensor:
    return (x - pt.mean(x, 1, keepdims=True)) / pt.sqrt(pt.var(x, 1, keepdims=True) + 0.1)


def written(x: Tensor, key: Any, value: Tensor) -> Tensor:
    y = x.copy()
    y[key] = value
    return y


@pytest.mark.parametrize(
    ("f", "shapes"),
    [
        (lambda x: pt.exp(x) * pt.log(x + 3), [(2, 3)]),
        (lambda x, y: x * y - x / (y + 3), [(2, 3), (3,)]),
        (lambda x, y: (x + 2) ** y, [(2, 3), (2, 3)]),
        (lambda x: (x + 2) ** 2.5 + x**2 + (x + 2) ** -1.5, [(4,)]),
        (lambda x: pt.tanh(x) + pt.sigmoid(x) + pt.sqrt(x + 2) + 1 / (x + 2), [(4,)]),
        (lambda x: pt.sin(x) * pt.cos(x) + pt.tan(x) + pt.relu(x) + abs(x), [(4,)]),
        (lambda x: pt.log2(x + 3) + pt.log10(x + 3) + pt.log1p(x / 2) + pt.expm1(x), [(4,)]),
        (lambda x: pt.exp2(x) + pt.sinh(x) * pt.cosh(x) + pt.erf(x), [(4,)]),
        (lambda x: pt.asin(x / 2) * pt.acos(x / 2) + pt.atan(x), [(4,)]),
        (lambda x: x.sum(0) * x.max(1)[:2] + pt.min(x), [(3, 2)]),
        (lambda x: pt.prod(x, 1) + x.max((0, 1)), [(3, 2)]),
        (lambda x, w, b: pt.tanh(x @ w + b) @ w.T, [(2, 3), (3, 4), (4,)]),
        (lambda a, b: a @ b, [(2, 1, 2, 3), (3, 3, 2)]),
        (lambda a, b: a.fused_multiply_add(b, (0, 2)) * a, [(2, 3, 2), (3, 1)]),
        (lambda x, y: (x.reshape(3, 2) * y).reshape(6) ** 2, [(2, 3), (3, 2)]),
        (lambda x, y: x.permute((2, 0, 1)) * y, [(2, 3, 4), (4, 2, 3)]),
        (lambda x: x.expand((4, 2, 3)) * pt.arange(24, device="cpu").reshape(4, 2, 3), [(2, 1)]),
        (lambda x: x[1:, ::2] * x[:2, ::-2] + x[0, 0], [(3, 5)]),
        (lambda x: x[5:0:-3] * 2 + x[7:1:-4], [(9,)]),
        (lambda x: pt.flip(x, 0) * x, [(3, 2)]),
        (
            lambda x: x.pad(((1, 2), (0, 1)), constant_values=3) * pt.arange(4, device="cpu"),
            [(2, 3)],
        ),
        (lambda x, y: pt.concat([x, y * 2, x], 1) * pt.arange(7, device="cpu"), [(2, 2), (2, 3)]),
        (lambda x, y: pt.where(x > y, x * 3, y * y), [(3, 2), (2,)]),
        (lambda x, y: pt.maximum(x, y) + pt.minimum(x, 2 * y), [(3, 2), (2,)]),
        (lambda x: layer_norm(x) * x, [(2, 4)]),
        (lambda x, y: x.cumsum(0) * y + x.cumsum()[2] * y.cumsum(1), [(4, 3), (4, 3)]),
        (lambda x, y: (x * HOLES).cumprod(0) * y + x.cumprod(1) * y, [(4, 3), (4, 3)]),
        (lambda x, y: MAXIMA(x, 0) * y + MINIMA(x, 1) ** 2, [(4, 3), (4, 3)]),
        (lambda x, y: pt.sort(x, 0) * y + pt.sort(x, 1, descending=True) * y, [(4, 3), (4, 3)]),
        (lambda x: x.take(PLACES, 0) ** 2, [(3, 3)]),
        (lambda x: pt.take_along_axis(x, HOLES.argsort(0), 0) * x, [(4, 3)]),
        (lambda x: x[HOLES > 0] ** 2 * pt.arange(8, device="cpu"), [(4, 3)]),
        (lambda x: gather_nd(x, (2, 0), (PLACES[:2, None], PLACES), 1) ** 2, [(3, 2, 3)]),
        (lambda x, y: put(x, y, "set") * x[0], [(3, 4), (5, 4)]),
        (lambda x, y: put(x, y, "add") ** 2, [(3, 4), (5, 4)]),
        (lambda x, y: put(x, y, "min") * x[0] + put(x, y, "max") ** 2, [(3, 4), (5, 4)]),
        (lambda x: (x[1:, ::2].T * x.T[0, 1:]) + x[::-1][1:, 1:3].T, [(3, 4)]),
        (lambda x, y: written(x, (slice(1, None), slice(None, None, 2)), y) ** 2, [(3, 4), (2, 2)]),
        (lambda x, y: written(x, (slice(0, 2), slice(1, 3)), y) * x, [(3, 4), (2,)]),
        (lambda x, w, b: pt.layer_norm(x, w, b, 0, 0.1) * x, [(4, 2), (4,), (4,)]),
        (lambda x: pt.softmax(x, 0) * x + pt.log_softmax(x) * x, [(3, 4)]),
        (lambda x, y: pt.convolve(x, y) ** 2, [(7,), (3,)]),
        (lambda x, y: pt.convolve(x, y, "same") ** 2 + pt.correlate(x, y, "same"), [(7,), (4,)]),
        (lambda x, y: pt.convolve(x, y, "valid") ** 2 + pt.correlate(x, y), [(7,), (4,)]),
    ],
)  # fmt: skip
def test_gradient(f: Function, shapes: list[tuple[int, ...]]) -> None:
    rng = np.random.default_rng(1)
    arrays = [rng.uniform(-1, 1, shape) for shape in shapes]
    CPU_DEVICE.flush()  # so that no automatic flush occurs, and f's nodes keep their inputs
    inputs = [pt.tensor(a, dtype=a.dtype, device="cpu") for a in arrays]
    with deferring():
        found = gradients(f(*inputs), inputs)
    for which, gradient in enumerate(found):
        np.testing.assert_allclose(gradient, differences(f, arrays, which), rtol=1e-5, atol=1e-7)


def test_every_op_has_decided_on_its_derivative() -> None:
    ops = {vars(f)["op"] for f in REGISTRY.values() if "op" in vars(f)} | {*_named_ops()}
    assert len(ops) > 50
    for op in ops:
        assert op.vjp is NOT_DIFFERENTIABLE or callable(op.vjp), op


def _named_ops() -> list[Op]:
    """Return ops that are attributes of modules, including primitives."""
    from py_tensor import random
    from py_tensor.graph import primitives
    from py_tensor.ops import creation, elementwise, reduction, rounding, scan, sorting

    modules = (primitives, creation, elementwise, reduction, rounding, random, scan, sorting)
    return [v for m in modules for v in vars(m).values() if isinstance(v, Op)]
