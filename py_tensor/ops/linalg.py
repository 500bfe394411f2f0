"""Products that sum: the seeds' fused multiply-add, and matmul as that op on expanded operands."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from py_tensor import dtypes
from py_tensor.dtypes import DType
from py_tensor.errors import DTypeError, ShapeError
from py_tensor.graph.node import Meta, Node, key_of, meta_of
from py_tensor.graph.op import Op
from py_tensor.graph.primitives import CONTRACT, EXPAND, RESHAPE
from py_tensor.ops.creation import zeros
from py_tensor.ops.define import (
    RECIPES,
    Operand,
    Step,
    build,
    coerce,
    common_dtype,
    follow,
    node_of,
    register,
    step,
)
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
    if type(x) is Tensor and type(y) is Tensor:
        a, b = node_of(x), node_of(y)
        recipe = _recipe(a.meta, b.meta)
        if recipe is not None:
            nodes = follow(a, recipe.left), follow(b, recipe.right)
            product = Node(CONTRACT, nodes, recipe.axes, recipe.meta, recipe.key)
            return Tensor(follow(product, recipe.after))
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


@dataclass(frozen=True, slots=True)
class _Recipe:
    """What `matmul` does for matrices of given metas: steps for each, the product, and after it."""

    left: tuple[Step, ...]
    right: tuple[Step, ...]
    axes: tuple[int, ...]
    meta: Meta
    key: int
    after: tuple[Step, ...]


@lru_cache(RECIPES)
def _recipe(a: Meta, b: Meta) -> _Recipe | None:
    """The recipe of a product of two matrices that fit; None for all else."""
    if a.device is not b.device or a.dtype is not b.dtype or a.dtype is dtypes.bool_:
        return None
    if len(a.shape) != 2 or len(b.shape) != 2 or a.shape[1] != b.shape[0]:
        return None
    if not a.size or not b.size:
        return None
    (m, k), n = a.shape, b.shape[1]

    def to(op: Op, shape: Shape) -> Step:
        return step(op, None, meta_of(shape, a.dtype, a.device))

    def expanded(shape: Shape) -> tuple[Step, ...]:
        return (to(RESHAPE, shape), *((to(EXPAND, (m, k, n)),) if shape != (m, k, n) else ()))

    product = meta_of((m, 1, n), a.dtype, a.device)
    key = key_of(CONTRACT, (1,), product)
    after = (to(RESHAPE, (m, n)),)
    return _Recipe(expanded((m, k, 1)), expanded((1, k, n)), (1,), product, key, after)


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
