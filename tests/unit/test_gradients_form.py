"""Graphs can be differentiated: nodes, ops and attributes contain all that autodiff needs.

The library has no autodiff. The tests compare the first and second derivatives of every op with
finite differences in float64, and those at special points with what they should be.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from typing import Any, cast

import numpy as np
import pytest

import py_tensor as pt
from py_tensor.backends.kinds import CPU_DEVICE
from py_tensor.ir.bind import LEAF
from py_tensor.ir.node import NOT_DIFFERENTIABLE, Node, Op
from py_tensor.ir.primitives import CONST
from py_tensor.ops.gather import gather_nd, scatter
from py_tensor.runtime.device import deferring
from py_tensor.schedule.order import topological
from py_tensor.tensors.tensor import Tensor
from tests.functions import functions
from tests.unit import simulate

Function = Callable[..., Tensor]
MAXIMA, MINIMA = (cast("Any", f).accumulate for f in (pt.maximum, pt.minimum))
Array = np.ndarray


def gradients(y: Tensor, inputs: list[Tensor]) -> list[Tensor]:
    """Return the derivative of sum(y) by each input, by one pass over the graph, results first.

    Inputs are collected before anything is recorded, which may flush: realized nodes drop theirs.
    """
    tape = [(node, node.inputs) for node in topological([y._node])]
    of_node: dict[Node, Tensor] = {y._node: pt.ones_like(y)}
    for node, operands_of_node in reversed(tape):
        g = of_node.get(node)
        if g is None or node.op in (LEAF, CONST) or node.op.vjp is NOT_DIFFERENTIABLE:
            continue
        operands = [Tensor(operand) for operand in operands_of_node]
        vjp: Any = node.op.vjp
        parts = vjp(g, Tensor(node), *operands, node.attrs)
        assert len(parts) == len(operands)
        for operand, part in zip(operands_of_node, parts, strict=True):
            if part is not None and operand.op is not CONST:
                assert part.shape == operand.meta.shape, node
                assert part.dtype is operand.meta.dtype, node
                known = of_node.get(operand)
                of_node[operand] = part if known is None else known + part
    return [of_node.get(x._node, pt.zeros_like(x)) for x in inputs]


def on_cpu(arrays: list[Array]) -> list[Tensor]:
    return [pt.tensor(a, dtype=a.dtype, device="cpu") for a in arrays]


def differences(f: Function, arrays: list[Array], which: int, step: float = 1e-6) -> Array:
    result = np.zeros_like(arrays[which])
    for at in np.ndindex(result.shape):
        totals = []
        for sign in (1, -1):
            moved = [a.copy() for a in arrays]
            moved[which][at] += sign * step
            totals.append(float(f(*on_cpu(moved)).sum().item()))
        result[at] = (totals[0] - totals[1]) / (2 * step)
    return result


def slope(f: Function) -> Function:
    """Return a function with the derivatives of f in an arbitrary direction."""

    def along(*inputs: Tensor) -> Tensor:
        CPU_DEVICE.flush()  # so that no automatic flush occurs, and f's nodes keep their inputs
        with deferring():
            sides = gradients(f(*inputs), list(inputs))
            weights = [pt.cos(pt.arange(g.size, device="cpu") * 1.0) for g in sides]
            return sum((g.ravel() * w).sum() for g, w in zip(sides, weights, strict=True))  # type: ignore[return-value]

    return along


HOLES = pt.tensor([[1.0, 0, 1], [0, 1, 1], [2, 0, 1], [0, 1, 2]], device="cpu")


PLACES = pt.tensor([1, 0, -1, 1, 0], device="cpu")
SLOPES = pt.tensor([1.0, 20, 300], dtype="float64", device="cpu")


def put(x: Tensor, y: Tensor, mode: str) -> Tensor:
    return scatter(x, (0,), (PLACES,), 0, y, mode)


def layer_norm(x: Tensor) -> Tensor:
    return (x - pt.mean(x, 1, keepdims=True)) / pt.sqrt(pt.var(x, 1, keepdims=True) + 0.1)


def written(x: Tensor, key: Any, value: Tensor) -> Tensor:
    y = x.copy()
    y[key] = value
    return y


Cases = list[tuple[Function, list[tuple[int, ...]]]]
CASES: Cases = [
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
    (lambda x, y: pt.abs(x + 1j * y) * pt.sign(x - 1j * y).imag, [(3,), (3,)]),
    (lambda x, y: pt.nan_to_num(x + 1j * y).imag * (x * 1j).imag ** 2, [(3,), (3,)]),
    (lambda x, y: pt.exp(x + 1j * y).real * pt.angle(x + 2j + y), [(3,), (3,)]),
    (lambda x, y: (x + 1j * y).conj().imag ** 2 + ((x + 2j) ** (y + 1j)).real, [(3,), (3,)]),
    (lambda x: pt.abs(pt.fft.fft(x)) + pt.fft.irfft(pt.fft.rfft(x) * 2, 4), [(3, 4)]),
    (lambda x, y: pt.hypot(x, y) * pt.arctan2(x, y) + pt.copysign(x, y), [(4,), (4,)]),
    (lambda x, y: pt.remainder(x, y) * x + pt.fmod(x, y) * y + x // y * x, [(5,), (5,)]),
    (lambda x: pt.floor(x) * x + pt.round(3 * x) * x + pt.trunc(x) * x + pt.ceil(x) * x, [(4,)]),
    (lambda x: pt.sign(x) * x**2 + pt.modf(3 * x)[0] ** 2 + pt.frexp(x)[0] ** 2, [(4,)]),
    (lambda x: pt.ldexp(x, PLACES) ** 2 + pt.nextafter(x, 2 * x) ** 2, [(5,)]),
    (lambda x: pt.asinh(x) + pt.acosh(x + 3) + pt.atanh(x / 2) + pt.cbrt(x + 2), [(4,)]),
    (lambda x: pt.radians(x) ** 2 + pt.degrees(x) ** 2 + pt.reciprocal(x + 2), [(4,)]),
    (lambda x, y: pt.logaddexp(x, y) + pt.logaddexp2(x, y) * x, [(4,), (4,)]),
    (lambda x: pt.roll(x, 1, 1) ** 3 + pt.clip(x, -0.5, 0.5) ** 2 + +x, [(3, 4)]),
    (lambda x: pt.prod(x * HOLES[..., None], 0) + pt.prod(x, (0, 2))[:, None] * x[0], [(4, 3, 3)]),
    (lambda x: pt.cumprod(x[:, 0] * HOLES[:, 1]) + pt.cumprod(x), [(4, 1)]),
    (lambda x: x[x[:, 0].argmax()] * x[1] + x[x[0].argmin() - 3, 0], [(3, 4)]),
    (lambda x: pt.take_along_axis(x, x.argmax(1, keepdims=True) - 4, 1) * x, [(3, 4)]),
    (lambda x: x.std(0) * pt.linalg.norm(x, axis=0) + pt.linalg.norm(x), [(3, 4)]),
    (lambda x: x.reshape(-1)[3:9].reshape(2, 3) * x[1:3, 2::-1] * pt.diagonal(x)[:3], [(4, 4)]),
    (lambda x, y: written(x, (slice(None, None, -1), 1), y) * x, [(3, 4), (3,)]),
]  # fmt: skip


@pytest.mark.parametrize(("f", "shapes"), CASES)
def test_gradient(f: Function, shapes: list[tuple[int, ...]]) -> None:
    rng = np.random.default_rng(1)
    arrays = [rng.uniform(-1, 1, shape) for shape in shapes]
    inputs = on_cpu(arrays)
    CPU_DEVICE.flush()
    with deferring():
        first = gradients(f(*inputs), inputs)
    second = gradients(slope(f)(*inputs), inputs)
    for which in range(len(shapes)):
        expected = differences(f, arrays, which)
        np.testing.assert_allclose(first[which].numpy(), expected, rtol=1e-5, atol=1e-7)
        expected = differences(slope(f), arrays, which)
        np.testing.assert_allclose(second[which].numpy(), expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_gradients_in_16_bits(dtype: str) -> None:
    """The parts have the dtypes of the operands, which `gradients` checks."""
    for f, shapes in CASES:
        inputs = [pt.tensor(np.full(s, 0.5), dtype=dtype, device="cpu") for s in shapes]
        CPU_DEVICE.flush()
        with deferring():
            assert all(g.dtype == dtype for g in gradients(f(*inputs), inputs))


INF, NAN = math.inf, math.nan
SPECIAL: list[tuple[Function, list[list[float]], list[list[float]]]] = [
    (lambda x: x.max() + 2 * x.min(), [[1, 1, 0, 0]], [[0.5, 0.5, 1, 1]]),
    (pt.maximum, [[1, 2, NAN], [1, 3, 1]], [[0.5, 0, 0], [0.5, 1, 0]]),
    (pt.minimum, [[1, 2], [1, 3]], [[0.5, 1], [0.5, 0]]),
    (lambda x: pt.clip(x, -1, 1), [[-2, -1, 0, 1, 2]], [[0, 1, 1, 1, 0]]),
    (pt.clip, [[1, 2, 3], [1, 3, 1], [2, 3, 3]], [[1, 0, 1], [0, 1, 0], [0, 0, 0]]),
    (pt.relu, [[-1, 0, 1, NAN]], [[0, 0, 1, 0]]),
    (pt.abs, [[-1, 0, 1]], [[-1, 0, 1]]),
    (pt.sqrt, [[0, 1]], [[INF, 0.5]]),
    (lambda x: x**0, [[0, 1, INF]], [[0, 0, 0]]),
    (lambda x: x**1.0 + x**2.0, [[0, 1]], [[1, 3]]),
    (lambda x, y: x**y, [[0, 0, -2, -2], [0, 2, 2, 3]], [[0, 0, -4, 12], [0, 0, 0, 0]]),
    (lambda x: 0**x, [[2, 0.5]], [[0, 0]]),
    (pt.hypot, [[0, 3], [0, 4]], [[0, 0.6], [0, 0.8]]),
    (pt.linalg.norm, [[0, 0]], [[0, 0]]),
    (lambda x: pt.linalg.norm(x + 0j), [[0, 0]], [[0, 0]]),
    (pt.std, [[2, 2, 2]], [[0, 0, 0]]),
    (lambda x: pt.abs(x * (1 + 1j)), [[0]], [[0]]),
    (lambda x: pt.sign(x * (1 + 1j)).real, [[0]], [[0]]),
    (pt.logaddexp, [[-INF, 1, -INF], [-INF, 1, 2]], [[0.5, 0.5, 0], [0.5, 0.5, 1]]),
    (pt.logaddexp2, [[-INF, 1], [-INF, 1]], [[0.5, 0.5], [0.5, 0.5]]),
    (pt.prod, [[0, 2, 3]], [[6, 0, 0]]),
    (pt.prod, [[0, 2, 0]], [[0, 0, 0]]),
    (pt.cumprod, [[2, 0, 3]], [[1, 8, 0]]),
    (lambda x: pt.sort(x) * SLOPES, [[2, 1, 2]], [[20, 1, 300]]),
]  # fmt: skip


@pytest.mark.parametrize(("f", "values", "expected"), SPECIAL)
def test_gradient_at_special_points(
    f: Function, values: list[list[float]], expected: list[list[float]]
) -> None:
    inputs = on_cpu([np.array(value, float) for value in values])
    CPU_DEVICE.flush()
    with deferring():
        first = gradients(f(*inputs), inputs)
    assert [g.tolist() for g in first] == expected


def test_every_derivative_is_tested() -> None:
    tested: set[object] = set()
    for f, shapes in CASES:
        inputs = on_cpu([np.full(shape, 0.5) for shape in shapes])
        CPU_DEVICE.flush()
        with deferring():
            tested |= {node.op.vjp for node in topological([f(*inputs)._node])}
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
    with deferring():
        y = f(x)
        (g,) = gradients((y * y).sum(), [x])
    pt.realize(g)
    assert len(simulate.kernels_of(place)) <= most
