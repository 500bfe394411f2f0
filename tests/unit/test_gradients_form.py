"""Every op has decided on its derivative, and every rule is in the cases that are tested.

`tests/ops/test_derivatives.py` has the values. Here is also how many kernels gradients take.
"""

from __future__ import annotations

import sys

import numpy as np
import pytest

import py_tensor as pt
from py_tensor.ir.node import NOT_DIFFERENTIABLE, Node, Op
from py_tensor.ir.recording import recording
from py_tensor.tensors.tensor import Tensor
from tests.functions import functions
from tests.ops.differentiable import CASES, Function, arrays_of
from tests.unit import simulate


def test_every_derivative_is_tested() -> None:
    tested: set[object] = set()
    for f, shapes in CASES:
        with recording() as made:
            y = f(*[pt.tensor(a, dtype="float64", device="cpu") for a in arrays_of(shapes)])
        nodes: set[Node] = set()
        stack = [y._node]
        while stack:
            node = stack.pop()
            if node not in nodes:
                nodes.add(node)
                rule = made.rules.get(node)
                stack += made.operands(node) if rule is None else [*node.inputs, *rule.arguments]
        tested |= {node.op.vjp for node in nodes}
    for op in every_op():
        assert op.vjp is NOT_DIFFERENTIABLE or op.vjp in tested, op.name


def every_op() -> set[Op]:
    """Return the ops that are attributes of modules or of public functions."""
    for name in dir(pt):  # imports what loads on first use
        getattr(pt, name)
    modules = [module for name, module in sys.modules.items() if name.startswith("py_tensor")]
    values = [value for module in modules for value in vars(module).values()]
    ops = [getattr(value, "op", value) for value in (*values, *functions().values())]
    return {op for op in ops if isinstance(op, Op)}


def test_every_op_has_decided_on_its_derivative() -> None:
    assert len(every_op()) > 150
    for op in every_op():
        assert op.vjp is NOT_DIFFERENTIABLE or callable(op.vjp), op


def stencil(x: Tensor) -> Tensor:
    return x[1:-1] + 0.1 * (x[2:] - 2 * x[1:-1] + x[:-2])


def heat(x: Tensor) -> Tensor:
    for _ in range(4):
        y = x * 1
        y[1:-1] = stencil(x)
        x = y
    return x


def cross_entropy(x: Tensor) -> Tensor:
    return -pt.take_along_axis(pt.log_softmax(x), pt.full((4096, 1), 2, device=x.device), 1)


@pytest.mark.parametrize(
    ("f", "shape", "most"),
    [
        (stencil, (4096,), 2),
        (heat, (4096,), 11),
        (cross_entropy, (4096, 16), 6),
        (lambda x: pt.sort(x, 1), (64, 1024), 4),
        (lambda x: x.T[::-1, 1:], (64, 64), 1),
    ],
)
def test_kernels_of_gradients(f: Function, shape: tuple[int, ...], most: int) -> None:
    place = simulate.device(10)
    x = pt.asarray(np.ones(shape, "f"), device=place)
    g = pt.grad(lambda x: (f(x) ** 2).sum())(x)
    pt.realize(g)
    assert len(simulate.kernels_of(place)) <= most
