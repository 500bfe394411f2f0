"""Weighted averages and covariances."""

from __future__ import annotations

import builtins
from typing import Any

from py_tensor.base import dtypes
from py_tensor.base.errors import ShapeError
from py_tensor.base.shapes import normalize_axes, normalize_axis, size_of
from py_tensor.ops.complex import conjugated, joined
from py_tensor.ops.creation import full
from py_tensor.ops.declare import register_functions
from py_tensor.ops.elementwise import clip, maximum, sqrt
from py_tensor.ops.linalg import matmul
from py_tensor.ops.movement import (
    as_floating,
    broadcast_to,
    concat,
    converted,
    expand_dims,
    reshape,
    squeeze,
    transpose,
)
from py_tensor.ops.operands import Operand, known
from py_tensor.ops.rearrange import diag
from py_tensor.ops.reduction import Axes, mean, sum
from py_tensor.tensors.tensor import Tensor, tensor_of

__all__ = ["average", "corrcoef", "cov"]


def average(
    a: Operand,
    axis: Axes = None,
    weights: Operand | None = None,
    returned: bool = False,
    *,
    keepdims: bool = False,
) -> Any:
    """Weighted average over `axis`.

    Parameters
    ----------
    weights : optional
        The weights, with the shape of `a` or of the given axes.
    returned : bool
        Whether to also return, in a tuple, the sums of the weights.

    Raises
    ------
    ShapeError
        If the weights have neither shape.
    TypeError
        If the weights have a different shape than `a`, and no axis is given.
    ZeroDivisionError
        If the weights sum to 0, on the cpu device. On the GPU nothing is read, and the result is
        NaN or infinite.
    """
    x = as_floating(a, "average")
    axes = normalize_axes("average", axis, x.ndim)
    if weights is None:
        averages = mean(x, axis, keepdims=keepdims)
        count = float(size_of(tuple(x.shape[a] for a in axes)))
        total = full(averages.shape, count, x.dtype, device=x.device)
        return (averages, total) if returned else averages
    w = weights_of("average", weights, x, axis)
    total = sum(w, axis, keepdims=keepdims)
    sums = known(total)
    if sums is not None and (sums == 0).any():
        raise ZeroDivisionError("average: the sum of the weights is 0")
    averages = sum(x * w, axis, keepdims=keepdims) / total
    return (averages, total) if returned else averages


def weights_of(op: str, weights: Operand, x: Tensor, axis: Axes) -> Tensor:
    """Broadcast weights to the shape of `x`, as floats."""
    w = as_floating(tensor_of(weights, op, device=x.device), op)
    if w.shape == x.shape:
        return w
    if axis is None:
        raise TypeError(
            f"{op}: weights of shape {w.shape} for a tensor of shape {x.shape} need an axis"
        )
    listed = axis if isinstance(axis, tuple) else (axis,)
    axes = normalize_axes(op, axis, x.ndim)
    numbers = [normalize_axis(op, a, x.ndim) for a in listed]
    if w.shape != tuple(x.shape[a] for a in numbers):
        raise ShapeError(f"{op}: weights of shape {w.shape} do not match axes {axes} of {x.shape}")
    w = transpose(w, tuple(numbers.index(a) for a in axes))
    w = reshape(w, tuple(n if a in axes else 1 for a, n in enumerate(x.shape)))
    return broadcast_to(w, x.shape)


def cov(
    m: Operand,
    y: Operand | None = None,
    rowvar: bool = True,
    bias: bool = False,
    ddof: int | None = None,
    fweights: Operand | None = None,
    aweights: Operand | None = None,
    *,
    dtype: object = None,
) -> Tensor:
    """Covariance matrix of variables, with the observations of one variable in each row.

    Parameters
    ----------
    y : optional
        Additional variables, in the same form.
    rowvar : bool
        Whether the variables are rows (True) or columns (False).
    bias, ddof
        The divisor is the number of observations minus `ddof`: by default 1, or 0 with `bias`.
    fweights, aweights : optional
        Frequency and importance weights of the observations.

    Raises
    ------
    ShapeError
        If there are more than two axes.
    """
    if ddof is not None and ddof % 1:
        raise ValueError(f"cov: ddof must be an int, not {ddof}")
    x = _variables(m, "cov", rowvar)
    if y is not None:
        x = concat([x, _variables(tensor_of(y, "cov", device=x.device), "cov", rowvar)])
    x = x if dtype is None else converted(x, dtypes.parse(dtype))
    less_by = (0 if bias else 1) if ddof is None else ddof
    weights = [
        converted(tensor_of(w, "cov", device=x.device), dtypes.real_of(x.dtype))
        for w in (fweights, aweights)
        if w is not None
    ]
    if not weights:
        centred = x - mean(x, 1, keepdims=True)
        divisor: Any = builtins.max(float(x.shape[1] - less_by), 0.0)
        return squeeze(matmul(centred, transpose(conjugated(centred))) / divisor)
    w = weights[0] if len(weights) == 1 else weights[0] * weights[1]
    total = sum(w)
    spread = total if aweights is None else sum(w * weights[-1])
    divisor = total - less_by * spread / total if aweights is not None else total - less_by
    centred = x - sum(x * w, 1, keepdims=True) / total
    return squeeze(matmul(centred * w, transpose(conjugated(centred))) / maximum(divisor, 0.0))


def _variables(x: Operand, op: str, rowvar: bool) -> Tensor:
    """Return a matrix with one variable in each row."""
    x = as_floating(x, op)
    x = converted(x, dtypes.at_least_single(x.dtype))
    if x.ndim > 2:
        raise ShapeError(f"{op}: takes a vector or a matrix, not shape {x.shape}")
    if x.ndim < 2:
        return reshape(x, (1, x.size))
    return x if rowvar else transpose(x)


def corrcoef(
    x: Operand, y: Operand | None = None, rowvar: bool = True, *, dtype: object = None
) -> Tensor:
    """Correlation coefficients of variables, between -1 and 1; arguments as in `cov`."""
    covariance = cov(x, y, rowvar, dtype=dtype)
    if not covariance.ndim:
        return covariance / covariance
    spread = sqrt(diag(covariance).real)
    covariance = covariance / expand_dims(spread, 1) / spread
    if covariance.dtype.is_complex:
        return joined(clip(covariance.real, -1, 1), clip(covariance.imag, -1, 1))
    return clip(covariance, -1, 1)


register_functions(__name__)
