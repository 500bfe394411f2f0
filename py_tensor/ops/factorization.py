"""Ops for linear solvers and decompositions, by elimination and by Jacobi rotations.

`linalg/decompositions.py` has the functions.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, cast

from py_tensor.base.dtypes import DType
from py_tensor.base.errors import DTypeError, ShapeError
from py_tensor.base.shapes import Shape, size_of
from py_tensor.codegen.factorization import SIDES as SIDES
from py_tensor.codegen.factorization import Factorization, Rotated
from py_tensor.ir.arrays import Array, Run
from py_tensor.ir.node import NOT_DIFFERENTIABLE, Meta, Node, Op
from py_tensor.ops.record import build
from py_tensor.schedule import build as kernels
from py_tensor.schedule.body import Body
from py_tensor.schedule.build import Builder, Family
from py_tensor.schedule.kernel import Kernel, Stage
from py_tensor.tensors.tensor import Tensor

OnArrays = Callable[[Any, Array, int], Array]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class _OfMatrices(Op):
    """An op on the matrices in the last two axes of its operand, with kernels of its own."""

    barrier: ClassVar[bool] = True

    def batched(self, attrs: Any) -> Any:
        return attrs

    def buffered(self, node: Node) -> tuple[Node, ...]:
        return node.inputs

    def stage(self, node: Node, source: int, target: int) -> tuple[Shape, Stage]:
        """Return the space and the stage of the kernel that computes a node."""
        raise NotImplementedError(self.name)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Factor(_OfMatrices):
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
    on_arrays: OnArrays

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

    def stage(self, node: Node, source: int, target: int) -> tuple[Shape, Stage]:
        shape, dtype = node.inputs[0].meta.shape, node.meta.dtype
        *batch, columns, length = shape
        matrices = size_of(tuple(batch))
        return shape, Factorization(
            source, target, dtype, self.name, matrices, length, columns, node.attrs
        )

    def compute(self, run: Run, node: Node, *operands: Array) -> Array:
        with run.np.errstate(all="ignore"):
            factored = self.on_arrays(run.np, operands[0], node.attrs)
        return run.np.asarray(factored).astype(node.meta.dtype.host, copy=False)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Rotation(_OfMatrices):
    """Rotates the columns of matrices; magnitudes should be about 1.

    The node's attribute is the number of leading rows in which the columns become orthogonal. It is
    None for Hermitian matrices, whose lower triangle is read: the result has their eigenvectors as
    columns, and one more row with the eigenvalues in ascending order.
    """

    def shape_and_dtype(self, metas: tuple[Meta, ...], attrs: Any) -> tuple[Shape, DType]:
        ((*batch, rows, n), dtype) = metas[0].shape, metas[0].dtype
        if not dtype.is_inexact or dtype.is_packed:
            raise DTypeError(f"{self.name}: takes floating point of 32 bits or more, not {dtype}")
        if not metas[0].size or (rows != n if attrs is None else not n <= attrs <= rows):
            raise ShapeError(f"{self.name}: cannot rotate shape {metas[0].shape} by {attrs} rows")
        return (*batch, rows + 1 if attrs is None else rows, n), dtype

    def work(self, node: Node) -> int:
        return node.meta.size * node.meta.shape[-1]

    def stage(self, node: Node, source: int, target: int) -> tuple[Shape, Stage]:
        *batch, rows, n = node.inputs[0].meta.shape
        rotated = Rotated(source, target, node.meta.dtype, rows, n, node.attrs)
        return (size_of(tuple(batch)),), rotated

    def compute(self, run: Run, node: Node, *operands: Array) -> Array:
        np, (x,), length = run.np, operands, node.attrs
        if length is None:
            values, vectors = np.linalg.eigh(x)
            return np.concatenate([vectors, values[..., None, :].astype(x.dtype)], -2)
        vh = np.linalg.svd(x[..., :length, :], full_matrices=False)[2]
        return x @ _swapped(np, np.conj(vh))


def _build(builder: Builder, slot: int, node: Node) -> None:
    (x,) = builder.decisions.buffered[slot]
    builder.need(x.slot)
    op = cast("_OfMatrices", node.op)
    space, stage = op.stage(node, x.slot, slot)
    builder.kernels.append(Kernel(space, (), (stage,), Body(), (), op.name))


kernels.FAMILIES.insert(0, Family(_OfMatrices, _build))


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


def _orthogonal(np: Any, x: Array, beside: int) -> Array:
    """Return the columns of both factors; those of the triangle are padded with zeros."""
    a = _swapped(np, x[..., beside:, :])
    q, r = np.linalg.qr(a, mode="complete" if beside == x.shape[-1] else "reduced")
    factors = np.zeros_like(x)
    factors[..., :beside, :] = _swapped(np, q)[..., :beside, :]
    factors[..., beside:, : r.shape[-2]] = _swapped(np, r)
    return factors


def _factor(name: str, on_arrays: OnArrays, numbers: int | None = None) -> Factor:
    return Factor(name, vjp=NOT_DIFFERENTIABLE, numbers=numbers, on_arrays=on_arrays)


# Takes the columns of matrices followed by those of right-hand sides, which become the solutions.
SOLVE = _factor("solve", _solved)
# The determinant; and its sign, of modulus 1 if complex, with the logarithm of its modulus.
DET = _factor("det", lambda np, x, beside: np.linalg.det(x)[..., None], 1)
SLOGDET = _factor("slogdet", lambda np, x, beside: np.stack(np.linalg.slogdet(x), -1), 2)
# Rows of a positive definite matrix become those of a triangle; elements above it are ignored.
CHOLESKY = _factor("cholesky", lambda np, x, beside: _each(np, np.linalg.cholesky, x))
# Columns of an optional identity and a matrix become those of an orthogonal matrix and a triangle.
QR = _factor("qr", _orthogonal)
ROTATION = Rotation("rotation", vjp=NOT_DIFFERENTIABLE)


def rotated(x: Tensor, length: int | None = None) -> Tensor:
    """Multiply matrices by orthogonal ones that make the columns of the first rows orthogonal.

    Without a length, return the eigenvectors of Hermitian matrices as columns, and below them a row
    of eigenvalues. Only the lower triangle is read. On a GPU they may have at most `SIDES` rows.
    """
    return build(ROTATION, (x,), length)
