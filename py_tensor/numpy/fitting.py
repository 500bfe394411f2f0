"""Least-squares fits of polynomials."""

from __future__ import annotations

from typing import Any
from warnings import warn

from py_tensor.base import dtypes
from py_tensor.base.errors import RankWarning
from py_tensor.linalg.decompositions import LinAlgError, svd, svdvals
from py_tensor.numpy.grids import vander
from py_tensor.ops.creation import ones, zeros
from py_tensor.ops.declare import register_functions
from py_tensor.ops.elementwise import equal, sqrt, where
from py_tensor.ops.linalg import matmul
from py_tensor.ops.movement import (
    concat,
    converted,
    expand_dims,
    flip,
    in_common_dtype,
    pad_constant,
    stack,
    swapaxes,
)
from py_tensor.ops.operands import Operand, known, whole_number
from py_tensor.ops.reduction import max, min, sum
from py_tensor.tensors.tensor import Tensor, tensor_of

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
    """Fit a polynomial of degree `deg` to points by least squares.

    `x` is mapped to [-1, 1] and its powers are made orthogonal, so points far from 0 are fitted as
    well as others. If the rank is less than the number of coefficients, many polynomials fit
    equally well. The result is then the one that NumPy returns: the vector of coefficients, each
    scaled by the norm of its column of powers, is the shortest. On the cpu device a `RankWarning`
    is issued in that case, unless the rank is returned (`full`); on the GPU the rank is not read.

    Parameters
    ----------
    x, y
        The points: a vector, and a vector or a matrix with one column for each polynomial.
    rcond : optional
        Singular values smaller than `rcond` times the largest count as 0; by default the number of
        points times the precision of the dtype.
    full : bool
        Whether to also return the sums of squared residuals, the rank, the singular values of the
        matrix of powers of `x`, and `rcond`. The rank is read.
    w : optional
        Weights for the residual of each point.
    cov : bool or "unscaled"
        Whether to also return the covariance of the coefficients; "unscaled" takes the weights as
        the inverse standard deviations of the points.

    Raises
    ------
    TypeError
        If the shapes do not match.
    ValueError
        If `deg` is negative, or if `cov` is True and there are not more points than coefficients.
    LinAlgError
        On the cpu device, if a point is NaN, or if `cov` is requested and the rank is deficient. On
        the GPU the result is NaN, or the covariance for the effective rank.
    """
    order = whole_number("polyfit", "deg", deg) + 1
    if order < 1:
        raise ValueError(f"polyfit: deg must be at least 0, not {deg}")
    x, y = _points("polyfit", x, y)
    weights = None if w is None else _weights_of("polyfit", w, x)
    low, high = min(x), max(x)
    half = where(equal(low, high), 1.0, (high - low) / 2)
    middle = (low + high) / 2
    powers = _weighted(vander((x - middle) / half, order), weights)
    values = _weighted(y if y.ndim == 2 else expand_dims(y, 1), weights)
    cut = _cut_of(x, rcond)
    across = _orthonormal(powers)
    inverse, rank = _inverse(matmul(swapaxes(across, 0, 1), powers), cut)
    coefficients = matmul(inverse, matmul(swapaxes(across, 0, 1), values))
    rest = sum((values - matmul(powers, coefficients)) ** 2, 0)
    change = _change(1 / half, -middle / half, order)
    coefficients = matmul(change, coefficients)
    ranks = known(rank)
    if ranks is None or ranks < order:
        other, _ = _shortest(_weighted(vander(x, order), weights), values, cut)
        coefficients = where(rank < order, other, coefficients)
    coefficients = coefficients if y.ndim == 2 else coefficients[:, 0]
    if full:
        count = int(rank)
        columns, _ = _normalized(_weighted(vander(x, order), weights))
        return (
            coefficients,
            rest if count == order < x.size else rest[:0],
            count,
            svdvals(columns),
            cut,
        )
    if cov and ranks is not None and ranks < order:
        raise LinAlgError(f"polyfit: the covariance needs full rank, {order}, not {ranks}")
    _warn_of_rank("polyfit", ranks, order)
    if not cov:
        return coefficients
    spread = matmul(change, inverse)
    spread = matmul(spread, swapaxes(spread, 0, 1))
    if cov == "unscaled":
        scale = ones(1, x.dtype, device=x.device)
    elif x.size <= order:
        raise ValueError(f"polyfit: the covariance needs more than {order} points, not {x.size}")
    else:
        scale = rest / (x.size - order)
    return coefficients, spread * scale[0] if y.ndim == 1 else expand_dims(spread, 2) * scale


def _normalized(powers: Tensor) -> tuple[Tensor, Tensor]:
    """Return columns divided by their norms, and the norms, with 1 for 0."""
    lengths = sqrt(sum(powers * powers, 0))
    lengths = where(lengths > 0, lengths, 1.0)
    return powers / lengths, lengths


def _shortest(columns: Tensor, values: Tensor, cut: float) -> tuple[Tensor, Tensor]:
    """Return the least-squares solution for columns, and the rank of the columns.

    Of several solutions it is the shortest, with factors scaled by the norms of the columns.
    """
    normalized, lengths = _normalized(columns)
    inverse, rank = _inverse(normalized, cut)
    return matmul(inverse, values) / expand_dims(lengths, 1), rank


def _inverse(x: Tensor, cut: float) -> tuple[Tensor, Tensor]:
    """Return the pseudo-inverse of a matrix, and its rank, with `cut` as the relative threshold."""
    u, s, vh = svd(x, full_matrices=False)
    counts = s > cut * s[0]
    inverse = where(counts, 1 / where(counts, s, 1.0), 0.0)
    return matmul(swapaxes(vh, 0, 1), expand_dims(inverse, 1) * swapaxes(u, 0, 1)), sum(counts)


def _warn_of_rank(op: str, rank: Any, order: int) -> None:
    """Warn if the rank is known to be less than the number of coefficients."""
    if rank is not None and rank < order:
        warn(
            f"{op}: the rank, {rank}, is less than the number of coefficients, {order}",
            RankWarning,
            stacklevel=3,
        )


def _points(op: str, x: Operand, y: Operand) -> tuple[Tensor, Tensor]:
    a, b = (converted(v, dtypes.at_least_single(v.dtype)) for v in in_common_dtype(op, x, y))
    if a.ndim != 1 or not a.size or b.ndim not in (1, 2) or b.shape[0] != a.size:
        raise TypeError(f"{op}: x of shape {a.shape} does not match y of shape {b.shape}")
    return a, b


def _weights_of(op: str, w: Operand, x: Tensor) -> Tensor:
    weights = tensor_of(w, op, device=x.device)
    if weights.shape != x.shape:
        raise TypeError(f"{op}: weights of shape {weights.shape} do not match {x.size} points")
    return converted(weights, x.dtype)


def _cut_of(x: Tensor, rcond: float | None) -> float:
    """Return the relative threshold below which singular values count as 0."""
    return x.size * dtypes.epsilon(x.dtype) if rcond is None else rcond


def _weighted(x: Tensor, weights: Tensor | None) -> Tensor:
    return x if weights is None else x * expand_dims(weights, 1)


def _orthonormal(x: Tensor) -> Tensor:
    """Return orthonormal columns with the same span, by Gram-Schmidt with repeated subtractions.

    (Giraud, Langou and Rozloznik, The loss of orthogonality in the Gram-Schmidt process, 2005.)
    """
    basis: Tensor | None = None
    for i in range(x.shape[1]):
        column = x[:, i : i + 1]
        for _ in range(2 if basis is not None else 0):
            column = column - matmul(basis, matmul(swapaxes(basis, 0, 1), column))
        size = sqrt(sum(column * column))
        column = column / where(size > 0, size, 1.0)
        basis = column if basis is None else concat([basis, column], 1)
    assert basis is not None
    return basis


def _change(a: Tensor, b: Tensor, order: int) -> Tensor:
    """Return the matrix that converts coefficients in powers of ``a x + b`` to powers of `x`."""
    row = pad_constant(zeros(order - 1, a.dtype, device=a.device), (0, 1), 1)
    rows = [row]
    for _ in range(order - 1):
        row = concat([row[1:], row[:1] * 0]) * a + row * b
        rows.append(row)
    return swapaxes(flip(stack(rows), 0), 0, 1)


register_functions(__name__)
