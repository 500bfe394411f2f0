"""Products that sum: the seeds' fused multiply-add, and matmul as that op on expanded operands."""

from __future__ import annotations

from py_tensor import dtypes
from py_tensor.dtypes import DType
from py_tensor.errors import DTypeError, ShapeError
from py_tensor.graph.primitives import CONTRACT
from py_tensor.ops.creation import zeros
from py_tensor.ops.define import Operand, build, coerce, common_dtype, register
from py_tensor.ops.movement import astype, expand, reshape, tensor_of
from py_tensor.shapes import Shape, broadcast, normalize_axes, reduced, size_of
from py_tensor.tensor import Tensor, install

__all__ = [
    "dot",
    "fused_multiply_add",
    "matmul",
]


def _product_dtype(op: str, a: Tensor, b: Tensor) -> DType:
    dtype = dtypes.promote(op, a.dtype, b.dtype)
    if dtype is dtypes.bool_:
        raise DTypeError(
            f"{op}: takes int and float dtypes, not bool; convert with x.astype(pt.int32)"
        )
    return dtype


def fused_multiply_add(x: Operand, y: Operand, /, axes: int | tuple[int, ...]) -> Tensor:
    """Multiply, and sum over `axes`, which stay as length 1: one kernel, and no product in memory.

    Operands broadcast. Integers wrap around.
    """
    a, b = (tensor_of(v, "fused_multiply_add") for v in coerce("fused_multiply_add", (x, y)))
    dtype = common_dtype("fused_multiply_add", (a, b))
    dtype = dtypes.int32 if dtype is dtypes.bool_ else dtype
    shape = broadcast("fused_multiply_add", a.shape, b.shape)
    return _contract(astype(a, dtype), astype(b, dtype), shape, axes)


def _contract(a: Tensor, b: Tensor, shape: Shape, axes: int | tuple[int, ...]) -> Tensor:
    summed = normalize_axes("fused_multiply_add", axes, len(shape))
    result = reduced(shape, summed)
    if not size_of(tuple(shape[axis] for axis in summed)):
        return zeros(result, dtype=a.dtype, device=a.device)
    a, b = expand(a, shape), expand(b, shape)
    return build(CONTRACT, (a, b), summed, result, a.dtype, a.device) if summed else a * b


def matmul(x: Operand, y: Operand, /) -> Tensor:
    """Matrix product of the last two axes; leading axes broadcast, vectors as in NumPy.

    Raises
    ------
    ShapeError
        If the inner sizes differ, or an operand is 0-d.
    """
    a, b = (tensor_of(v, "matmul") for v in coerce("matmul", (x, y)))
    if not a.ndim or not b.ndim:
        raise ShapeError(
            f"matmul: operands need at least one axis, got shapes {a.shape} and {b.shape}"
        )
    dtype = _product_dtype("matmul", a, b)
    a, b = astype(a, dtype), astype(b, dtype)
    left = a if a.ndim > 1 else reshape(a, (1, *a.shape))
    right = b if b.ndim > 1 else reshape(b, (*b.shape, 1))
    (m, k), (k2, n) = left.shape[-2:], right.shape[-2:]
    if k != k2:
        raise ShapeError(
            f"matmul: inner sizes differ: {a.shape} has {k} columns, {b.shape} has {k2} rows"
        )
    try:
        batch = broadcast("matmul", left.shape[:-2], right.shape[:-2])
    except ShapeError:
        raise ShapeError(
            f"matmul: the batch axes of {a.shape} and {b.shape} do not broadcast:"
            f" {left.shape[:-2]} and {right.shape[:-2]}"
        ) from None
    shape = (*batch, m, k, n)
    left = reshape(left, (*left.shape, 1))
    right = reshape(right, (*right.shape[:-2], 1, *right.shape[-2:]))
    product = _contract(left, right, shape, len(shape) - 2)
    kept = (*batch, *((m,) if a.ndim > 1 else ()), *((n,) if b.ndim > 1 else ()))
    return reshape(product, kept)


def dot(x: Operand, y: Operand, /) -> Tensor:
    """Product of vectors or matrices, as `matmul`; a scalar multiplies."""
    a, b = (tensor_of(v, "dot") for v in coerce("dot", (x, y)))
    return matmul(a, b) if a.ndim and b.ndim and a.ndim < 3 and b.ndim < 3 else _wide_dot(a, b)


def _wide_dot(a: Tensor, b: Tensor) -> Tensor:
    if not a.ndim or not b.ndim:
        return a * b
    raise ShapeError(f"dot: takes at most 2 axes, got shapes {a.shape} and {b.shape}; use matmul")


def _reflected_matmul(self: Tensor, other: Operand) -> Tensor:
    return matmul(other, self)


register(fused_multiply_add, CONTRACT)
register(matmul)
register(dot)
install("__matmul__", matmul)
install("__rmatmul__", _reflected_matmul)
