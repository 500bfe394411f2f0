"""Quantiles, percentiles and medians, with and without NaN."""

from __future__ import annotations

import builtins
import math
from collections.abc import Callable
from typing import Any, ParamSpec

from py_tensor.base import dtypes
from py_tensor.base.dtypes import REAL, WORDS
from py_tensor.base.errors import check_option
from py_tensor.base.shapes import dropped, normalize_axes, reduced, size_of
from py_tensor.ir.node import NOT_DIFFERENTIABLE
from py_tensor.ir.op import Elementwise
from py_tensor.ops.creation import full, zeros
from py_tensor.ops.define import declared_like
from py_tensor.ops.elementwise import floor, isfinite, isnan, maximum, minimum
from py_tensor.ops.elementwise import where as choose
from py_tensor.ops.gather import take_along_axis
from py_tensor.ops.movement import as_floating, converted, permute, reshape, reshape_copy, stack
from py_tensor.ops.operands import Operand, numbers_of
from py_tensor.ops.out import Out, dtype_into, stored
from py_tensor.ops.record import apply
from py_tensor.ops.reduction import Axes, any, cumsum, sum
from py_tensor.ops.sorting import argsort, sort
from py_tensor.tensors.tensor import Tensor, tensor_of

__all__ = ["median", "nanmedian", "nanpercentile", "nanquantile", "percentile", "quantile"]


P = ParamSpec("P")

_BETWEEN = {
    "linear": (1.0, 1.0),
    "weibull": (0.0, 0.0),
    "hazen": (0.5, 0.5),
    "median_unbiased": (1 / 3, 1 / 3),
    "normal_unbiased": (3 / 8, 3 / 8),
    "interpolated_inverted_cdf": (0.0, 1.0),
}
"""Methods that interpolate linearly between elements, with their offsets at the two ends."""
_EXACT = ("lower", "higher", "nearest", "inverted_cdf", "closest_observation")
_AT = (*_EXACT, "midpoint", "averaged_inverted_cdf")
_STEPS = {"inverted_cdf": -1.0, "averaged_inverted_cdf": -1.0, "closest_observation": -1.5}
"""Methods that follow the steps of the distribution, with their offset to ``n * share``."""

MULTIPLY_HIGH = Elementwise(
    "multiply_high",
    wgsl={"*": "mulhi_u32({0}, {1})"},
    numpy=lambda np, x, y: (x.astype(np.uint64) * y.astype(np.uint64) >> 32).astype(np.uint32),
    accepts=WORDS,
    cost=12,
    vjp=NOT_DIFFERENTIABLE,
)
"""The upper words of uint32 products."""


def _quantiles(
    op: str,
    x: Operand,
    q: Any,
    axis: Axes,
    out: Out,
    method: str,
    keepdims: bool,
    *,
    scale: float = 1.0,
    without_nan: bool = False,
    weights: Operand = None,
) -> Tensor:
    """Compute quantiles over some axes; the axes of `q` come first in the result."""
    numbers, of_shares = numbers_of(op, q)
    between = method not in _EXACT
    if method == "linear" and scale == 1 and builtins.all(isinstance(v, int) for v in numbers):
        method = "lower"  # 0 and 1 are at elements
    x = tensor_of(x, op)
    if method != "mean":
        REAL.check(op, x.dtype)
    elif out is not None:
        x = converted(x, dtype_into(op, dtypes.floating(x.dtype), x.device, out))
    if without_nan and not x.size:
        x = as_floating(x, op)  # all results are NaN
    without_nan = without_nan and x.dtype.is_inexact
    x = x if method in _EXACT else as_floating(x, op)
    if isinstance(q, Tensor) and q.dtype.is_floating and x.dtype.is_floating and between:
        common = dtypes.promote(x.dtype, q.dtype)
        x = converted(x, common if common.on_gpu or x.device.uses_numpy else dtypes.float32)
    shares = [v / scale for v in numbers]
    if not builtins.all(0 <= v <= 1 for v in shares):
        raise ValueError(f"{op}: q must be from 0 to {scale:g}, not {q}")
    if method != "mean":
        check_option(op, "method", method, (*_BETWEEN, *_AT))
    if weights is not None and method != "inverted_cdf":
        raise ValueError(
            f"{op}: weights are supported only by method 'inverted_cdf', not {method!r}"
        )
    axes = normalize_axes(op, axis, x.ndim)
    shape = reduced(x.shape, axes) if keepdims else dropped(x.shape, axes)
    kept = tuple(a for a in range(x.ndim) if a not in axes)
    n = size_of(tuple(x.shape[a] for a in axes))

    def in_rows(x: Tensor) -> Tensor:
        return reshape_copy(permute(x, (*kept, *axes)), (*(x.shape[a] for a in kept), n))

    rows = in_rows(x)
    if n and weights is not None:
        from py_tensor.numpy.statistics import weights_of

        weighted = _weighted(op, rows, in_rows(weights_of(op, weights, x, axis)), without_nan)
        values = [reshape(weighted(share), shape) for share in shares]
    elif n:
        quantile_of = _among_numbers if without_nan else _among_all
        ordered = sort(rows)
        values = [reshape(quantile_of(ordered, share, method), shape) for share in shares]
    elif method != "mean" and not without_nan:
        raise IndexError(f"{op}: shape {x.shape} has no elements along the axes")
    else:
        values = [full(shape, math.nan, x.dtype, device=x.device)] * len(shares)
    if not of_shares:
        return stored(op, values[0], out)
    none = zeros((0, *shape), x.dtype, device=x.device)
    return stored(op, reshape(stack(values) if values else none, (*of_shares, *shape)), out)


def _weighted(
    op: str, rows: Tensor, weights: Tensor, without_nan: bool
) -> Callable[[float], Tensor]:
    """Return a function for weighted quantiles of rows; the weights are read and checked."""
    has_nan = rows.dtype.is_floating
    if without_nan and has_nan:
        weights = choose(isnan(rows), 0, weights)
    order = argsort(rows, -1)
    ordered = take_along_axis(rows, order, -1)
    sums = cumsum(take_along_axis(weights, order, -1), -1)
    total = sums[..., -1:]
    wrong = ~((total > 0) & isfinite(total))
    if without_nan and has_nan:
        wrong = wrong & ~isnan(ordered[..., :1])  # rows with only NaN need no weights
    if (any(wrong) | any(weights < 0)).item():
        raise ValueError(f"{op}: weights must be nonnegative and have a positive sum")
    reached = sums / total

    def at(share: float) -> Tensor:
        index = sum((reached < share) | (reached == 0), -1, keepdims=True)
        values = take_along_axis(ordered, minimum(index, ordered.shape[-1] - 1), -1)[..., 0]
        if without_nan or not has_nan:
            return values
        return choose(isnan(ordered[..., -1]), math.nan, values)

    return at


def _among_all(ordered: Tensor, share: float, method: str) -> Tensor:
    """Return a quantile of each sorted row; NaN if the row has a NaN, which is last."""
    n = ordered.shape[-1]
    off = _offset(share, method)
    position = (n - 1) * share if off is None else n * share + off
    whole = math.floor(position)
    *neighbours, fraction = _neighbours(whole, position - whole, method)
    low, high = (builtins.min(builtins.max(i, 0), n - 1) for i in neighbours)
    first, second = ordered[..., low], ordered[..., high]
    values = first if method in _EXACT else _between(first, second, fraction)
    has_nan = values.dtype.is_inexact
    return choose(isnan(ordered[..., -1]), math.nan, values) if has_nan else values


def _among_numbers(ordered: Tensor, share: float, method: str) -> Tensor:
    """Return a quantile of the elements in each sorted row that are not NaN."""
    count = sum(~isnan(ordered), -1, keepdims=True)
    last = maximum(count - 1, 0)
    off = _offset(share, method)
    whole, fraction = _product(last if off is None else count, share, ordered.dtype)
    if off is not None:
        fraction = fraction + off
        whole, fraction = (
            whole + converted(floor(fraction), whole.dtype),
            fraction - floor(fraction),
        )
    *neighbours, fraction = _neighbours(whole, fraction, method)
    first, second = (take_along_axis(ordered, minimum(maximum(i, 0), last), -1) for i in neighbours)
    return (
        first if method in _EXACT else converted(_between(first, second, fraction), ordered.dtype)
    )


def _offset(share: float, method: str) -> float | None:
    """Return a method's offset to ``n * share`` for the position; None: ``(n - 1) * share``."""
    if method in _STEPS:
        return _STEPS[method]
    if method not in _BETWEEN or method == "linear":
        return None
    alpha, beta = _BETWEEN[method]
    return alpha + share * (1 - alpha - beta) - 1


def _product(counts: Tensor, share: float, dtype: dtypes.DType) -> tuple[Tensor, Tensor]:
    """Return counts times a share, as integer and fractional parts; the latter for a `dtype`.

    Unless `dtype` is float64, the fraction is a float32, a multiple of 2**-24. The 95-bit product
    of integers is rounded to that, as NumPy's is to float64, so that 0.3 of 10 is 3.
    """
    if dtype.has_64_bits:
        product = converted(counts, dtype) * share
        whole = floor(product)
        return converted(whole, dtypes.int32), product - whole
    high, low = divmod(int(share * 2**63), 2**32)
    twice = converted(counts, dtypes.uint32) * 2
    above = twice * high
    below = above + (apply(MULTIPLY_HIGH, (twice, low)) + 2**7)
    whole = apply(MULTIPLY_HIGH, (twice, high)) + (below < above)
    return converted(whole, dtypes.int32), converted(below >> 8, dtypes.float32) * 2.0**-24


def _neighbours(whole: Any, fraction: Any, method: str) -> tuple[Any, Any, Any]:
    """Return the two positions around a fractional one, and its distance from the first.

    NumPy's "linear" uses two positions even if one is exact, which gives NaN for infinities.
    """
    if method in _EXACT:
        if method == "nearest":
            whole = whole + ((fraction > 0.5) | ((fraction == 0.5) & (whole % 2 == 1)))
        elif method == "closest_observation":
            whole = whole + ((fraction > 0) | (whole % 2 == 0))
        elif method != "lower":
            whole = whole + (fraction > 0)
        return whole, whole, None
    if method == "averaged_inverted_cdf":
        return whole, whole + 1, ((fraction > 0) + 1) * 0.5
    if method == "mean":
        return whole, whole + (fraction > 0), None
    return whole, whole + 1, (fraction > 0) * 0.5 if method == "midpoint" else fraction


def _between(low: Tensor, high: Tensor, fraction: Any) -> Tensor:
    """Interpolate between two values, from the nearer end, as in NumPy."""
    if fraction is None:
        return low / 2 + high / 2
    apart = high - low
    return choose(fraction >= 0.5, high - apart * (1 - fraction), low + apart * fraction)


def quantile(
    a: Operand,
    q: Operand,
    axis: Axes = None,
    out: Out = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
    *,
    weights: Operand | None = None,
) -> Tensor:
    """Quantiles `q` of the elements over `axis`; NaN if any element is NaN.

    Parameters
    ----------
    q
        Between 0 and 1; a tensor is read. Its axes are the first axes of the result.
    overwrite_input : bool
        Accepted; the operand is not changed.
    method
        "linear", "lower", "higher", "nearest", "midpoint", "weibull", "hazen", "median_unbiased",
        "normal_unbiased", "inverted_cdf", "averaged_inverted_cdf", "closest_observation" or
        "interpolated_inverted_cdf", as in NumPy.
    weights : optional
        The weight of each element, for the method "inverted_cdf"; with the shape of `a`, or of the
        given axes. They are summed as floats and read before the result is computed.

    Raises
    ------
    ShapeError
        If the weights have a different shape.
    IndexError
        If there are no elements.
    ValueError
        If `q` is out of range, the method is unknown or does not support weights, or the weights
        are negative or have no positive sum.
    """
    return _quantiles("quantile", a, q, axis, out, method, keepdims, weights=weights)


def _varied(
    plain: Callable[P, Tensor], op: str, difference: str, **options: Any
) -> Callable[P, Tensor]:
    """Return a function with the parameters of another one, and with options of `_quantiles`."""

    def call(a: Operand, overwrite_input: bool, **named: Any) -> Tensor:
        """Like `{plain}`, {difference}."""
        return _quantiles(op, a, **named, **options)

    return declared_like(plain, call, op, plain=plain.__name__, difference=difference)


_NO_NAN = "ignoring NaN; NaN if there are no elements"
percentile = _varied(quantile, "percentile", "with `q` in percent", scale=100.0)
nanquantile = _varied(quantile, "nanquantile", _NO_NAN, without_nan=True)
nanpercentile = _varied(percentile, "nanpercentile", _NO_NAN, scale=100.0, without_nan=True)


def median(
    a: Operand,
    axis: Axes = None,
    out: Out = None,
    overwrite_input: bool = False,
    keepdims: bool = False,
) -> Tensor:
    """Median of the elements over `axis`; NaN if any element is NaN.

    `overwrite_input` is accepted; the operand is not changed.
    """
    return _quantiles("median", a, 0.5, axis, out, "mean", keepdims)


nanmedian = _varied(median, "nanmedian", "ignoring NaN", q=0.5, method="mean", without_nan=True)
