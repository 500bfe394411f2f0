"""Jacobi rotations, for eigenvalues and singular values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from py_tensor.base.dtypes import DType
from py_tensor.base.errors import DTypeError, ShapeError
from py_tensor.base.shapes import Shape, size_of
from py_tensor.codegen.factorization import SIDES as SIDES
from py_tensor.codegen.factorization import Rotated
from py_tensor.ir.arrays import Array, Run
from py_tensor.ir.node import NOT_DIFFERENTIABLE, Meta, Node, Op
from py_tensor.ops.record import build
from py_tensor.schedule import build as kernels
from py_tensor.schedule.body import Body
from py_tensor.schedule.build import Builder, Family
from py_tensor.schedule.kernel import Kernel
from py_tensor.tensors.tensor import Tensor


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Rotation(Op):
    """Rotates the columns of matrices in the last two axes; magnitudes should be about 1.

    The node's attribute is the number of leading rows in which the columns become orthogonal. It is
    None for Hermitian matrices, whose lower triangle is read: the result has their eigenvectors as
    columns, and one more row with the eigenvalues in ascending order.
    """

    barrier: ClassVar[bool] = True

    def buffered(self, node: Node) -> tuple[Node, ...]:
        return node.inputs

    def shape_and_dtype(self, metas: tuple[Meta, ...], attrs: Any) -> tuple[Shape, DType]:
        ((*batch, rows, n), dtype) = metas[0].shape, metas[0].dtype
        if not dtype.is_inexact or dtype.is_packed:
            raise DTypeError(f"{self.name}: takes floating point of 32 bits or more, not {dtype}")
        if not metas[0].size or (rows != n if attrs is None else not n <= attrs <= rows):
            raise ShapeError(f"{self.name}: cannot rotate shape {metas[0].shape} by {attrs} rows")
        return (*batch, rows + 1 if attrs is None else rows, n), dtype

    def work(self, node: Node) -> int:
        return node.meta.size * node.meta.shape[-1]

    def compute(self, run: Run, node: Node, *operands: Array) -> Array:
        np, (x,), length = run.np, operands, node.attrs
        if length is None:
            values, vectors = np.linalg.eigh(x)
            return np.concatenate([vectors, values[..., None, :].astype(x.dtype)], -2)
        vh = np.linalg.svd(x[..., :length, :], full_matrices=False)[2]
        return x @ np.conj(np.swapaxes(vh, -1, -2))


def _build(builder: Builder, slot: int, node: Node) -> None:
    (x,) = builder.decisions.buffered[slot]
    builder.need(x.slot)
    *batch, rows, n = node.inputs[0].meta.shape
    stage = Rotated(x.slot, slot, node.meta.dtype, rows, n, node.attrs)
    builder.kernels.append(Kernel((size_of(tuple(batch)),), (), (stage,), Body(), (), node.op.name))


kernels.FAMILIES.insert(0, Family(Rotation, _build))
ROTATION = Rotation("rotation", vjp=NOT_DIFFERENTIABLE)


def diagonalized(x: Tensor) -> Tensor:
    """Return eigenvectors of Hermitian matrices as columns, and below them a row of eigenvalues.

    Only the lower triangle is read. On a GPU the matrices may have at most `SIDES` rows.
    """
    return build(ROTATION, (x,), None)


def orthogonalized(x: Tensor, length: int) -> Tensor:
    """Multiply matrices by orthogonal ones that make the columns of the first rows orthogonal."""
    return build(ROTATION, (x,), length)
