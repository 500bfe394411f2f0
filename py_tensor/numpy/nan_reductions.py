"""Reductions and cumulative ops that ignore NaN."""

from __future__ import annotations

import math
from collections.abc import Callable

from py_tensor.base.shapes import normalize_axes
from py_tensor.ops.elementwise import isnan, logical_and, root_of_squares
from py_tensor.ops.elementwise import where as choose
from py_tensor.ops.operands import Operand, Scalar, known
from py_tensor.ops.out import Out, stored, stored_whole
from py_tensor.ops.reduction import (
    Axes,
    all,
    argmax,
    argmin,
    float_into,
    max,
    mean,
    min,
    prod,
    sum,
    var,
)
from py_tensor.ops.scan import cumprod, cumsum
from py_tensor.tensors.tensor import Tensor, tensor_of

__all__ = [
    "nanargmax", "nanargmin", "nancumprod", "nancumsum", "nanmax", "nanmean", "nanmin", "nanprod",
    "nanstd", "nansum", "nanvar",
]  # fmt: skip


def nansum(
    a: Operand,
    axis: Axes = None,
    dtype: object = None,
    out: Out = None,
    keepdims: bool = False,
    initial: Scalar | None = None,
    where: Operand = True,
) -> Tensor:
    """Sum of the elements over `axis`, ignoring NaN."""
    x, where = _without_nan("nansum", a, where)
    return sum(x, axis, dtype, out, keepdims, initial, where)


def nanprod(
    a: Operand,
    axis: Axes = None,
    dtype: object = None,
    out: Out = None,
    keepdims: bool = False,
    initial: Scalar | None = None,
    where: Operand = True,
) -> Tensor:
    """Product of the elements over `axis`, ignoring NaN."""
    x, where = _without_nan("nanprod", a, where)
    return prod(x, axis, dtype, out, keepdims, initial, where)


def nanmean(
    a: Operand,
    axis: Axes = None,
    dtype: object = None,
    out: Out = None,
    keepdims: bool = False,
    *,
    where: Operand = True,
) -> Tensor:
    """Mean over `axis`, ignoring NaN; NaN if all are NaN."""
    x, where = _without_nan("nanmean", a, where)
    if x.dtype.is_inexact:
        axis = normalize_axes("nanmean", axis, x.ndim, of_scalar=True)
    return mean(x, axis, dtype, out, keepdims, where=where)


def nanvar(
    a: Operand,
    axis: Axes = None,
    dtype: object = None,
    out: Out = None,
    ddof: float = 0,
    keepdims: bool = False,
    *,
    where: Operand = True,
    mean: Operand | None = None,
    correction: float | None = None,
) -> Tensor:
    """Variance over `axis`, ignoring NaN; NaN if at most `ddof` elements remain.

    For integers it is `var`.
    """
    least = ddof if correction is None else correction
    x, where = _without_nan("nanvar", a, where)
    if dtype is None and out is not None:
        dtype = float_into("nanvar", x, out)
    if x.dtype.is_inexact:
        axis = normalize_axes("nanvar", axis, x.ndim, of_scalar=True)
    variance = var(x, axis, dtype, None, least, keepdims, where=where, mean=mean)
    if x.dtype.is_inexact:
        variance = choose(sum(where, axis, keepdims=keepdims) > least, variance, math.nan)
    return stored_whole("nanvar", variance, out)


def nanstd(
    a: Operand,
    axis: Axes = None,
    dtype: object = None,
    out: Out = None,
    ddof: float = 0,
    keepdims: bool = False,
    *,
    where: Operand = True,
    mean: Operand | None = None,
    correction: float | None = None,
) -> Tensor:
    """Standard deviation over `axis`, ignoring NaN; NaN if at most `ddof` elements remain."""
    x = tensor_of(a, "nanstd")
    least = ddof if correction is None else correction
    if dtype is None and out is not None:
        dtype = float_into("nanstd", x, out)
    variance = nanvar(x, axis, dtype, None, least, keepdims, where=where, mean=mean)
    return stored_whole("nanstd", root_of_squares(variance), out)


def _without_nan(op: str, x: Operand, where: Operand) -> tuple[Tensor, Operand]:
    """Return a tensor, and a mask of the elements in `where` that are not NaN."""
    x = tensor_of(x, op)
    if not x.dtype.is_inexact:
        return x, where
    return x, ~isnan(x) if where is True else logical_and(where, ~isnan(x))


def _replaced(x: Operand, op: str, value: float) -> Tensor:
    """Replace NaN with a number."""
    x = tensor_of(x, op)
    return choose(isnan(x), value, x) if x.dtype.is_inexact else x


def nanmax(
    a: Operand,
    axis: Axes = None,
    out: Out = None,
    keepdims: bool = False,
    initial: Scalar | None = None,
    where: Operand = True,
) -> Tensor:
    """Maximum over `axis`, ignoring NaN; NaN if all are NaN. Options as in `max`."""
    return _extreme(max, "nanmax", -math.inf, a, axis, out, keepdims, initial, where)


def nanmin(
    a: Operand,
    axis: Axes = None,
    out: Out = None,
    keepdims: bool = False,
    initial: Scalar | None = None,
    where: Operand = True,
) -> Tensor:
    """Minimum over `axis`, ignoring NaN; NaN if all are NaN. Options as in `max`."""
    return _extreme(min, "nanmin", math.inf, a, axis, out, keepdims, initial, where)


def _extreme(
    fold: Callable[..., Tensor],
    op: str,
    beyond: float,
    x: Operand,
    axis: Axes,
    out: Out,
    keepdims: bool,
    initial: Scalar | None,
    where: Operand,
) -> Tensor:
    x = tensor_of(x, op)
    extreme = fold(_replaced(x, op, beyond), axis, None, keepdims, initial, where)
    if initial is None and x.dtype.is_inexact:
        extreme = choose(all(isnan(x), axis, keepdims=keepdims), math.nan, extreme)
    return stored(op, extreme, out)


def nanargmax(
    a: Operand, axis: int | None = None, out: Out = None, *, keepdims: bool = False
) -> Tensor:
    """Index of the maximum along `axis`, ignoring NaN.

    Raises
    ------
    ValueError
        If all elements are NaN, on the cpu device. On the GPU nothing is read, and the result is 0.
    """
    x = _replaced(_with_numbers("nanargmax", a, axis), "nanargmax", -math.inf)
    return argmax(x, axis, out, keepdims=keepdims)


def nanargmin(
    a: Operand, axis: int | None = None, out: Out = None, *, keepdims: bool = False
) -> Tensor:
    """Index of the minimum along `axis`, ignoring NaN.

    Raises
    ------
    ValueError
        If all elements are NaN, on the cpu device. On the GPU nothing is read, and the result is 0.
    """
    x = _replaced(_with_numbers("nanargmin", a, axis), "nanargmin", math.inf)
    return argmin(x, axis, out, keepdims=keepdims)


def _with_numbers(op: str, a: Operand, axis: int | None) -> Tensor:
    """Return the tensor; raises ValueError if all elements over an axis are known to be NaN."""
    x = tensor_of(a, op)
    axes = normalize_axes(op, axis, x.ndim, of_scalar=True)
    values = known(x) if x.dtype.is_inexact and x.size else None
    if values is not None and (values != values).all(axes).any():
        raise ValueError(f"{op}: all elements along an axis are NaN")
    return x


def nancumsum(a: Operand, axis: int | None = None, dtype: object = None, out: Out = None) -> Tensor:
    """Cumulative sum, with NaN treated as 0."""
    return cumsum(_replaced(a, "nancumsum", 0.0), axis, dtype, out)


def nancumprod(
    a: Operand, axis: int | None = None, dtype: object = None, out: Out = None
) -> Tensor:
    """Cumulative product, with NaN treated as 1."""
    return cumprod(_replaced(a, "nancumprod", 1.0), axis, dtype, out)
