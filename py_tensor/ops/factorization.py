"""Ops for linear solvers and decompositions; `linalg/decompositions.py` has the functions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

from py_tensor.base.dtypes import DType
from py_tensor.base.errors import DTypeError, ShapeError
from py_tensor.base.shapes import Shape, size_of
from py_tensor.codegen.factorization import Factorization
from py_tensor.ir.arrays import Array, Run
from py_tensor.ir.node import NOT_DIFFERENTIABLE, Meta, Node, Op
from py_tensor.schedule import build as kernels
from py_tensor.schedule.body import Body
from py_tensor.schedule.build import Builder, Family
from py_tensor.schedule.kernel import Kernel


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Factor(Op):
    """An op on matrices whose columns lie along the last axis.

    The node's attribute is the number of identity columns that precede the matrix.

    Attributes
    ----------
    numbers : int or None
        The number of elements in each matrix's result; None for a result of the same shape.
    on_arrays : callable
        ``on_arrays(np, x, beside)`` computes the same with NumPy.
    """

    numbers: int | None
    on_arrays: Callable[[Any, Array, int], Array]

    barrier: ClassVar[bool] = True

    def buffered(self, node: Node) -> tuple[Node, ...]:
        return node.inputs

    def shape_and_dtype(self, metas: tuple[Meta, ...], attrs: Any) -> tuple[Shape, DType]:
        (x,) = metas
        if len(x.shape) < 2 or not x.size:
            raise ShapeError(f"{self.name}: takes nonempty matrices, not shape {x.shape}")
        if not x.dtype.is_inexact or x.dtype.is_packed:
            raise DTypeError(f"{self.name}: takes float32 or complex64, not {x.dtype}")
        return (x.shape if self.numbers is None else (*x.shape[:-2], self.numbers)), x.dtype

    def work(self, node: Node) -> int:
        """Return the number of terms of its products."""
        (x,) = node.inputs
        return x.meta.size * x.meta.shape[-1]

    def operations(self, node: Node) -> int:
        return 2 * self.work(node)

    def compute(self, run: Run, node: Node, *operands: Array) -> Array:
        with run.np.errstate(all="ignore"):
            factored = self.on_arrays(run.np, operands[0], node.attrs)
        return run.np.asarray(factored).astype(node.meta.dtype.host, copy=False)


def _build(builder: Builder, slot: int, node: Node) -> None:
    (x,) = builder.decisions.buffered[slot]
    builder.need(x.slot)
    (operand,) = node.inputs
    *batch, columns, length = operand.meta.shape
    dtype, matrices = node.meta.dtype, size_of(tuple(batch))
    assert dtype.on_gpu
    assert dtype.is_inexact
    stage = Factorization(x.slot, slot, dtype, node.op.name, matrices, length, columns, node.attrs)
    builder.kernels.append(Kernel(operand.meta.shape, (), (stage,), Body(), (), node.op.name))


kernels.FAMILIES.insert(0, Family(Factor, _build))


def _swapped(np: Any, x: Array) -> Array:
    return np.swapaxes(x, -1, -2)


def _each(np: Any, function: Callable[..., Array], *operands: Array) -> Array:
    """Apply a NumPy function to batches; NaN for matrices for which it raises an error."""
    try:
        return function(*operands)
    except np.linalg.LinAlgError:
        if operands[0].ndim == 2:
            return np.full_like(operands[-1], np.nan)
    return np.stack([_each(np, function, *x) for x in zip(*operands, strict=True)])


def _solved(np: Any, x: Array, beside: int) -> Array:
    n = x.shape[-1]
    a, b = _swapped(np, x[..., :n, :]), _swapped(np, x[..., n:, :])
    solution = _each(np, np.linalg.solve, a, b)
    return np.concatenate([x[..., :n, :], _swapped(np, solution)], -2)


def _determinant(np: Any, x: Array, beside: int) -> Array:
    return np.linalg.det(x)[..., None]


def _sign_and_logarithm(np: Any, x: Array, beside: int) -> Array:
    return np.stack(np.linalg.slogdet(x), -1)


def _triangle(np: Any, x: Array, beside: int) -> Array:
    return _each(np, np.linalg.cholesky, x)


def _orthogonal(np: Any, x: Array, beside: int) -> Array:
    """Return the columns of both factors; those of the triangle are padded with zeros."""
    a = _swapped(np, x[..., beside:, :])
    q, r = np.linalg.qr(a, mode="complete" if beside == x.shape[-1] else "reduced")
    factors = np.zeros_like(x)
    factors[..., :beside, :] = _swapped(np, q)[..., :beside, :]
    factors[..., beside:, : r.shape[-2]] = _swapped(np, r)
    return factors


def _factor(
    name: str, numbers: int | None, on_arrays: Callable[[Any, Array, int], Array]
) -> Factor:
    return Factor(name, vjp=NOT_DIFFERENTIABLE, numbers=numbers, on_arrays=on_arrays)


# Takes the columns of matrices followed by those of right-hand sides, which become the solutions.
SOLVE = _factor("solve", None, _solved)
# The determinant; and its sign, of modulus 1 if complex, with the logarithm of its modulus.
DET = _factor("det", 1, _determinant)
SLOGDET = _factor("slogdet", 2, _sign_and_logarithm)
# Rows of a positive definite matrix become those of a triangle; elements above it are ignored.
CHOLESKY = _factor("cholesky", None, _triangle)
# Columns of an optional identity and a matrix become those of an orthogonal matrix and a triangle.
QR = _factor("qr", None, _orthogonal)
