"""Linear algebra with the names of NumPy's `linalg`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from py_tensor.base.dtypes import real_of
from py_tensor.base.errors import ShapeError
from py_tensor.base.shapes import normalize_axes, normalize_axis, reduced, size_of
from py_tensor.linalg import decompositions
from py_tensor.linalg.decompositions import *
from py_tensor.ops import linalg, movement, products, rearrange
from py_tensor.ops.complex import root_of_squares, squared_length
from py_tensor.ops.creation import eye
from py_tensor.ops.elementwise import isnan, multiply, power, where
from py_tensor.ops.movement import as_floating, broadcast_to, converted, matrix_transpose
from py_tensor.ops.operands import Operand, Scalar, number_like, tensors_of, whole_number
from py_tensor.ops.out import stored
from py_tensor.ops.reduction import Axes
from py_tensor.tensors.tensor import Tensor, tensor_of

__all__ = [
    "cond", "cross", "diagonal", "matmul", "matrix_norm", "matrix_power", "matrix_transpose",
    "multi_dot", "norm", "outer", "tensordot", "tensorinv", "tensorsolve", "trace", "vecdot",
    "vector_norm",
]  # fmt: skip
__all__ += decompositions.__all__


def __dir__() -> list[str]:
    return __all__


def matmul(x1: Operand, x2: Operand, /) -> Tensor:
    """Like `pt.matmul`."""
    return linalg.matmul(x1, x2)


def tensordot(x1: Operand, x2: Operand, /, *, axes: Any = 2) -> Tensor:
    """Like `pt.tensordot`."""
    return products.tensordot(x1, x2, axes)


def vecdot(x1: Operand, x2: Operand, /, *, axis: int = -1) -> Tensor:
    """Like `pt.vecdot`."""
    return products.vecdot(x1, x2, axis=axis)


def outer(x1: Operand, x2: Operand, /) -> Tensor:
    """Return the outer product of two vectors.

    Raises
    ------
    ShapeError
        If an operand is not a vector.
    """
    a, b = movement.in_common_dtype("outer", x1, x2)
    if a.ndim != 1 or b.ndim != 1:
        raise ShapeError(f"outer: takes vectors, not shapes {a.shape} and {b.shape}")
    return rearrange.outer(a, b)


def diagonal(x: Operand, /, *, offset: int = 0) -> Tensor:
    """Return the diagonals of matrices in the last two axes, as a view."""
    return movement.diagonal(x, offset, -2, -1)


def trace(x: Operand, /, *, offset: int = 0, dtype: object = None) -> Tensor:
    """Sum along the diagonals of matrices in the last two axes."""
    return rearrange.trace(x, offset, -2, -1, dtype)


def norm(x: Operand, ord: Any = None, axis: Axes = None, keepdims: bool = False) -> Tensor:
    """Return the norm of a vector or a matrix, or of those along one or two axes.

    Parameters
    ----------
    ord : optional
        For vectors: a number p for the p-norm; inf or -inf for the largest or smallest absolute
        value; 0 for the number of nonzero elements. For matrices: "fro" for the Frobenius norm; 1
        or -1 for the largest or smallest column sum, inf or -inf for row sums; 2 or -2 for the
        largest or smallest singular value; "nuc" for the nuclear norm. By default the 2-norm of the
        flattened elements, for any shape.
    axis : int or tuple, optional
        The axis of the vectors, or the two axes of the matrices; None means the whole tensor.

    Raises
    ------
    ValueError
        If `ord` is invalid.
    ShapeError
        If there are more than two axes.
    """
    x = as_floating(x, "norm")
    if axis is None and ord is None:
        return _length(x, None, keepdims)
    axes = normalize_axes("norm", axis, x.ndim)
    if len(axes) == 1:
        return _of_vectors(x, ord, axes, keepdims)
    if len(axes) != 2:
        raise ShapeError(f"norm: takes vectors or matrices, not {len(axes)} axes of {x.shape}")
    if isinstance(axis, tuple | list):
        axes = tuple(normalize_axis("norm", a, x.ndim) for a in axis)
    return _of_matrices(x, ord, axes, keepdims)


def _length(x: Tensor, axis: Axes, keepdims: bool) -> Tensor:
    return root_of_squares(squared_length(x).sum(axis, keepdims=keepdims))


def _extreme(sizes: Tensor, order: float, axis: Axes, keepdims: bool) -> Tensor:
    """Return the largest element, 0 if there are none; or the smallest, which must exist."""
    if order > 0:
        return sizes.max(axis, keepdims=keepdims, initial=0)
    return sizes.min(axis, keepdims=keepdims)


def _of_vectors(x: Tensor, order: Any, axis: Axes, keepdims: bool) -> Tensor:
    number = number_like(order)
    order = order if number is None else number
    if order is None or order == 2:
        return _length(x, axis, keepdims)
    if order in (math.inf, -math.inf):
        return _extreme(abs(x), order, axis, keepdims)
    if order == 0:
        return converted((x != 0).sum(axis, keepdims=keepdims), real_of(x.dtype))
    if order == 1:
        return abs(x).sum(axis, keepdims=keepdims)
    if not isinstance(order, int | float):
        raise ValueError(f"norm: {order!r} is not a vector norm")
    return power(power(abs(x), float(order)).sum(axis, keepdims=keepdims), 1 / order)


def _of_matrices(x: Tensor, order: Any, axes: tuple[int, ...], keepdims: bool) -> Tensor:
    if order is None or order == "fro":
        return _length(x, axes, keepdims)
    if order in (2, -2, "nuc"):
        values = svdvals(rearrange.moveaxis(x, axes, (-2, -1)))
        norms = values.sum(-1) if order == "nuc" else _extreme(values, order, -1, False)
        return norms.reshape(reduced(x.shape, axes)) if keepdims else norms
    if order not in (1, -1, math.inf, -math.inf):
        raise ValueError(f"norm: {order!r} is not a matrix norm")
    summed, chosen = axes if order in (1, -1) else axes[::-1]
    sums = abs(x).sum(summed, keepdims=True)
    norms = _extreme(sums, order, chosen, True)
    return norms if keepdims else norms.squeeze(axes)


def cross(x1: Operand, x2: Operand, /, *, axis: int = -1) -> Tensor:
    """Return the cross product of vectors of 3 elements along an axis.

    Raises
    ------
    ShapeError
        If the vectors have a different length.
    """
    a, b = (tensor_of(v, "cross") for v in (x1, x2))
    if any(v.shape[normalize_axis("cross", axis, v.ndim)] != 3 for v in (a, b)):
        raise ShapeError(f"cross: vectors must have 3 elements, not shapes {a.shape}, {b.shape}")
    return products.cross(a, b, axis=axis)


def vector_norm(
    x: Operand, /, *, axis: Axes = None, keepdims: bool = False, ord: Scalar = 2
) -> Tensor:
    """Return the vector norm over one or more axes; None uses all elements."""
    x = as_floating(x, "vector_norm")
    return _of_vectors(x, ord, normalize_axes("vector_norm", axis, x.ndim), keepdims)


def matrix_norm(x: Operand, /, *, keepdims: bool = False, ord: Any = "fro") -> Tensor:
    """Return the matrix norm over the last two axes."""
    return norm(x, ord, (-2, -1), keepdims)


def cond(x: Operand, p: Any = None) -> Tensor:
    """Return the condition number: by norm `p`, or the ratio of the extreme singular values.

    It is infinite for a singular matrix. For matrices with NaN it is NaN if a norm is used;
    otherwise the behaviour is that of `svd`.

    Raises
    ------
    LinAlgError
        If `x` is not a matrix or has no elements.
    """
    x, axes = tensor_of(x, "cond"), (-2, -1)
    if x.ndim < 2 or not x.shape[-1] * x.shape[-2]:
        raise LinAlgError(f"cond: takes nonempty matrices, not shape {x.shape}")
    x = as_floating(x, "cond")
    if p in (None, 2, -2):
        s = svdvals(x)
        ratio = s[..., -1] / s[..., 0] if p == -2 else s[..., 0] / s[..., -1]
    else:
        ratio = multiply(norm(x, p, axes), norm(decompositions.unchecked_inverse(x), p, axes))
    return where(isnan(ratio) & ~isnan(x).any(axes), math.inf, ratio)


def matrix_power(a: Operand, n: int) -> Tensor:
    """Raise square matrices to the power `n`; negative powers use the inverse.

    Raises
    ------
    LinAlgError
        If the last two axes differ in length.
    """
    x = tensor_of(a, "matrix_power")
    count = whole_number("matrix_power", "n", n)
    if x.ndim < 2 or x.shape[-1] != x.shape[-2]:
        raise LinAlgError(f"matrix_power: takes square matrices, not shape {x.shape}")
    if count < 0:
        return matrix_power(inv(x), -count)
    if not count:
        return broadcast_to(eye(x.shape[-1], dtype=x.dtype, device=x.device), x.shape).copy()
    power, base = None, x
    while count:
        if count & 1:
            power = base if power is None else matmul(power, base)
        count >>= 1
        base = matmul(base, base) if count else base
    assert power is not None
    return power.copy() if power is x else power


def tensorinv(a: Operand, ind: int = 2) -> Tensor:
    """Return the inverse of a tensor for `tensordot` over `ind` axes.

    The tensor is treated as a matrix whose rows are the first `ind` axes; these come last in the
    result.

    Raises
    ------
    ValueError
        If `ind` is not positive.
    LinAlgError
        If the matrix is not square.
    """
    x = tensor_of(a, "tensorinv")
    count = whole_number("tensorinv", "ind", ind, 1)
    rows, columns = x.shape[:count], x.shape[count:]
    if size_of(rows) != size_of(columns):
        raise LinAlgError(
            f"tensorinv: axes of shapes {rows} and {columns} do not form a square matrix"
        )
    return inv(x.reshape(size_of(rows), -1)).reshape(*columns, *rows)


def tensorsolve(a: Operand, b: Operand, axes: Sequence[int] | None = None) -> Tensor:
    """Solve ``tensordot(a, x, x.ndim) == b`` for `x`.

    Parameters
    ----------
    axes : optional
        Axes of `a` to move to the end first.

    Raises
    ------
    ShapeError
        If the remaining axes of `a` do not have as many elements as `b`.
    """
    x, wanted = movement.in_common_dtype("tensorsolve", a, b)
    if axes is not None:
        moved = [normalize_axis("tensorsolve", axis, x.ndim) for axis in axes]
        x = movement.permute(x, (*(i for i in range(x.ndim) if i not in moved), *moved))
    shape = x.shape[wanted.ndim :]
    if size_of(shape) != wanted.size or x.size != wanted.size**2:
        words = f"does not match b of shape {wanted.shape}"
        raise ShapeError(f"tensorsolve: a of shape {x.shape} {words}")
    return solve(x.reshape(wanted.size, wanted.size), wanted.ravel()).reshape(shape)


def multi_dot(arrays: Sequence[Operand], *, out: Any = None) -> Tensor:
    """Multiply several matrices, in the order with the fewest multiplications.

    The first and the last may be vectors.

    Raises
    ------
    LinAlgError, ShapeError, ValueError
        If an operand is not a matrix, the sizes do not match, or there are fewer than two operands.
    """
    factors = tensors_of("multi_dot", arrays)
    n = len(factors)
    if n < 2:
        raise ValueError(f"multi_dot: takes at least two operands, not {n}")
    inner, ends = {x.ndim for x in factors[1:-1]}, {factors[0].ndim, factors[-1].ndim}
    if inner - {2} or ends - {1, 2}:
        raise LinAlgError(f"multi_dot: takes matrices, not {[x.shape for x in factors]}")
    first, last = factors[0], factors[-1]
    sizes = [first.shape[0] if first.ndim == 2 else 1, *(x.shape[0] for x in factors[1:])]
    sizes.append(last.shape[1] if last.ndim == 2 else 1)
    best: dict[tuple[int, int], tuple[int, int]] = {(i, i): (0, i) for i in range(n)}
    for length in range(1, n):
        for i in range(n - length):
            j = i + length
            best[i, j] = min(
                (best[i, k][0] + best[k + 1, j][0] + sizes[i] * sizes[k + 1] * sizes[j + 1], k)
                for k in range(i, j)
            )

    def product(i: int, j: int) -> Tensor:
        k = best[i, j][1]
        return factors[i] if i == j else matmul(product(i, k), product(k + 1, j))

    return stored("multi_dot", product(0, n - 1), out)
