"""Polynomials that fit points by least squares."""

from __future__ import annotations

from typing import Any

from py_tensor import dtypes
from py_tensor.decompositions import pinv, svdvals
from py_tensor.ops.creation import ones, zeros
from py_tensor.ops.define import register
from py_tensor.ops.elementwise import equal, sqrt, where
from py_tensor.ops.grids import vander
from py_tensor.ops.linalg import matmul
from py_tensor.ops.movement import (
    concat,
    converted,
    expand_dims,
    flip,
    in_common_dtype,
    pad,
    stack,
    swapaxes,
)
from py_tensor.ops.operands import Operand, whole_number
from py_tensor.ops.reduction import max, min, sum
from py_tensor.tensor import Tensor, tensor_of

__all__ = ["polyfit"]


def polyfit(
    x: Operand,
    y: Operand,
    deg: int,
    rcond: float | None = None,
    full: bool = False,
    w: Operand | None = None,
    cov: bool | str = False,
) -> Any:
    """The polynomial of degree `deg` with the least sum of squared distances to points.

    Powers of `x` brought to [-1, 1] are made orthogonal, so that places far from 0 are fitted as
    well as others. Without `full` nothing is read, and nobody is warned of a poor fit. Where many
    polynomials fit as well, the one that is found may be another than NumPy's.

    Parameters
    ----------
    x, y
        The points: a vector, and a vector or a matrix with one column for each polynomial.
    rcond : optional
        The part of the largest singular value up to which others count as 0; by default the number
        of points times the precision of the dtype.
    full : bool
        Whether to give the sums of squared residuals, the rank, the singular values of the powers
        of `x`, and `rcond` besides.
    w : optional
        What the distance of each point is multiplied by.
    cov : bool or "unscaled"
        Whether to give the covariance of the coefficients besides; "unscaled" takes the weights for
        the inverse of how far points scatter.

    Raises
    ------
    TypeError
        For shapes other than these.
    ValueError
        For a negative degree; for no more points than coefficients where `cov` is True.
    """
    order = whole_number("polyfit", "deg", deg) + 1
    if order < 1:
        raise ValueError(f"polyfit: the degree is {deg}; it is at least 0")
    x, y = _points(x, y)
    weights = None if w is None else _weights(w, x)
    low, high = min(x), max(x)
    half = where(equal(low, high), 1.0, (high - low) / 2)
    middle = (low + high) / 2
    powers = _weighted(vander((x - middle) / half, order), weights)
    values = _weighted(y if y.ndim == 2 else expand_dims(y, 1), weights)
    bits = 52 if x.dtype is dtypes.float64 else 23
    cut = x.size * 2.0**-bits if rcond is None else rcond
    across = _orthonormal(powers)
    triangle = matmul(swapaxes(across, 0, 1), powers)
    inverse = pinv(triangle, rtol=cut)
    found = matmul(inverse, matmul(swapaxes(across, 0, 1), values))
    rest = sum((values - matmul(powers, found)) ** 2, 0)
    change = _change(1 / half, -middle / half, order)
    found = matmul(change, found)
    found = found if y.ndim == 2 else found[:, 0]
    if full:
        lengths = _weighted(vander(x, order), weights)
        sizes = svdvals(lengths / sqrt(sum(lengths * lengths, 0)))
        rank = int(sum(sizes > cut * sizes[0]))
        return found, rest if rank == order < x.size else rest[:0], rank, sizes, cut
    if not cov:
        return found
    spread = matmul(change, inverse)
    spread = matmul(spread, swapaxes(spread, 0, 1))
    if cov == "unscaled":
        scale = ones(1, x.dtype, device=x.device)
    elif x.size <= order:
        raise ValueError(f"polyfit: {x.size} points for {order} coefficients have no covariance")
    else:
        scale = rest / (x.size - order)
    return found, spread * scale[0] if y.ndim == 1 else expand_dims(spread, 2) * scale


def _points(x: Operand, y: Operand) -> tuple[Tensor, Tensor]:
    a, b = (
        converted(v, dtypes.promote(dtypes.floating(v.dtype), dtypes.float32))
        for v in in_common_dtype("polyfit", x, y)
    )
    if a.ndim != 1 or not a.size or b.ndim not in (1, 2) or b.shape[0] != a.size:
        raise TypeError(f"polyfit: points of shapes {a.shape} and {b.shape}")
    return a, b


def _weights(w: Operand, x: Tensor) -> Tensor:
    found = tensor_of(w, "polyfit", device=x.device)
    if found.shape != x.shape:
        raise TypeError(f"polyfit: weights of shape {found.shape} for {x.size} points")
    return converted(found, x.dtype)


def _weighted(x: Tensor, weights: Tensor | None) -> Tensor:
    return x if weights is None else x * expand_dims(weights, 1)


def _orthonormal(x: Tensor) -> Tensor:
    """Columns that span the same: each less its part along those before it, taken away twice.

    (Giraud, Langou and Rozloznik, The loss of orthogonality in the Gram-Schmidt process, 2005.)
    """
    found: Tensor | None = None
    for i in range(x.shape[1]):
        column = x[:, i : i + 1]
        for _ in range(2 if found is not None else 0):
            column = column - matmul(found, matmul(swapaxes(found, 0, 1), column))
        size = sqrt(sum(column * column))
        column = column / where(size > 0, size, 1.0)
        found = column if found is None else concat([found, column], 1)
    assert found is not None
    return found


def _change(a: Tensor, b: Tensor, order: int) -> Tensor:
    """The matrix from coefficients of powers of ``a x + b`` to those of powers of `x`."""
    row = pad(zeros(order - 1, a.dtype, device=a.device), (0, 1), constant_values=1)
    rows = [row]
    for _ in range(order - 1):
        row = concat([row[1:], row[:1] * 0]) * a + row * b
        rows.append(row)
    return swapaxes(flip(stack(rows), 0), 0, 1)


register(polyfit, method=False)
