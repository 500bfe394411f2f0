"""Reductions and cumulative ops that ignore NaN: the plain ones, of elements without NaN."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, ParamSpec, cast

from py_tensor.base.shapes import normalize_axes
from py_tensor.ops.define import declared_like
from py_tensor.ops.elementwise import isnan, logical_and, root_of_squares
from py_tensor.ops.elementwise import where as choose
from py_tensor.ops.operands import Operand, known
from py_tensor.ops.out import stored, stored_whole
from py_tensor.ops.reduction import (
    Axes,
    all,
    argmax,
    argmin,
    cumprod,
    cumsum,
    float_into,
    max,
    mean,
    min,
    prod,
    std,
    sum,
    var,
)
from py_tensor.tensors.tensor import Tensor, tensor_of

__all__ = [
    "nanargmax", "nanargmin", "nancumprod", "nancumsum", "nanmax", "nanmean", "nanmin", "nanprod",
    "nanstd", "nansum", "nanvar",
]  # fmt: skip

P = ParamSpec("P")


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


def _masked(plain: Callable[P, Tensor], what: str) -> Callable[P, Tensor]:
    """Return a reduction for which NaN are not there."""
    op, fold = f"nan{plain.__name__}", cast("Any", plain)

    def call(a: Operand, axis: Axes, where: Operand, **options: Any) -> Tensor:
        """{what} over `axis`, ignoring NaN."""
        x, where = _without_nan(op, a, where)
        if x.dtype.is_inexact:
            axis = normalize_axes(op, axis, x.ndim, of_scalar=True)
        return fold(x, axis, where=where, **options)

    return declared_like(plain, call, op, what=what)


nansum = _masked(sum, "Sum of the elements")
nanprod = _masked(prod, "Product of the elements")
nanmean = _masked(mean, "Mean")


def _deviation(
    plain: Callable[P, Tensor], finish: Callable[[Tensor], Tensor], what: str
) -> Callable[P, Tensor]:
    op = f"nan{plain.__name__}"

    def call(
        a: Operand, axis: Axes, dtype: object, out: Any, ddof: float, keepdims: bool,
        where: Operand, mean: Operand | None, correction: float | None,
    ) -> Tensor:  # fmt: skip
        """{what} over `axis`, ignoring NaN; NaN if at most `ddof` elements remain."""
        least = ddof if correction is None else correction
        x, where = _without_nan(op, a, where)
        if dtype is None and out is not None:
            dtype = float_into(op, x, out)
        if x.dtype.is_inexact:
            axis = normalize_axes(op, axis, x.ndim, of_scalar=True)
        variance = var(x, axis, dtype, None, least, keepdims, where=where, mean=mean)
        if x.dtype.is_inexact:
            variance = choose(sum(where, axis, keepdims=keepdims) > least, variance, math.nan)
        return stored_whole(op, finish(variance), out)

    return declared_like(plain, call, op, what=what)


nanvar = _deviation(var, lambda variance: variance, "Variance")
nanstd = _deviation(std, root_of_squares, "Standard deviation")


def _extreme(plain: Callable[P, Tensor], beyond: float, what: str) -> Callable[P, Tensor]:
    """Return a reduction for which NaN are `beyond` all other elements."""
    op, fold = f"nan{plain.__name__}", cast("Any", plain)

    def call(a: Operand, axis: Axes, out: Any, keepdims: bool, initial: Any, where: Any) -> Tensor:
        """{what} over `axis`, ignoring NaN; NaN if all are NaN. Options as in `max`."""
        x = tensor_of(a, op)
        extreme = fold(_replaced(x, op, beyond), axis, None, keepdims, initial, where)
        if initial is None and x.dtype.is_inexact:
            extreme = choose(all(isnan(x), axis, keepdims=keepdims), math.nan, extreme)
        return stored(op, extreme, out)

    return declared_like(plain, call, op, what=what)


nanmax = _extreme(max, -math.inf, "Maximum")
nanmin = _extreme(min, math.inf, "Minimum")


def _located(plain: Callable[P, Tensor], beyond: float, what: str) -> Callable[P, Tensor]:
    op, fold = f"nan{plain.__name__}", cast("Any", plain)

    def call(a: Operand, axis: int | None, **options: Any) -> Tensor:
        """Index of the {what} along `axis`, ignoring NaN.

        Raises
        ------
        ValueError
            If all elements are NaN, on the cpu device. On the GPU nothing is read, and the result
            is 0.
        """
        x = tensor_of(a, op)
        axes = normalize_axes(op, axis, x.ndim, of_scalar=True)
        values = known(x) if x.dtype.is_inexact and x.size else None
        if values is not None and (values != values).all(axes).any():
            raise ValueError(f"{op}: all elements along an axis are NaN")
        return fold(_replaced(x, op, beyond), axis, **options)

    return declared_like(plain, call, op, what=what)


nanargmax = _located(argmax, -math.inf, "maximum")
nanargmin = _located(argmin, math.inf, "minimum")


def _cumulative(plain: Callable[P, Tensor], value: float, what: str) -> Callable[P, Tensor]:
    op, fold = f"nan{plain.__name__}", cast("Any", plain)

    def call(a: Operand, **options: Any) -> Tensor:
        """Cumulative {what}, with NaN treated as {value}."""
        return fold(_replaced(a, op, value), **options)

    return declared_like(plain, call, op, what=what, value=f"{value:g}")


nancumsum = _cumulative(cumsum, 0.0, "sum")
nancumprod = _cumulative(cumprod, 1.0, "product")
