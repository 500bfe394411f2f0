"""Averages, covariances, quantiles, and reductions that ignore NaN."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial, update_wrapper
from typing import Any, ParamSpec

from py_tensor.base import dtypes
from py_tensor.base.errors import ShapeError, check_option
from py_tensor.base.shapes import dropped, normalize_axes, normalize_axis, reduced, size_of
from py_tensor.ir.node import NOT_DIFFERENTIABLE
from py_tensor.ir.op import Elementwise
from py_tensor.ops import elementwise, reduction
from py_tensor.ops.complex import conjugated, joined, root_of_squares
from py_tensor.ops.creation import full, zeros
from py_tensor.ops.define import declared_like
from py_tensor.ops.elementwise import floor, isfinite, isnan, maximum, minimum
from py_tensor.ops.elementwise import where as choose
from py_tensor.ops.gather import take_along_axis
from py_tensor.ops.linalg import matmul
from py_tensor.ops.movement import as_floating, broadcast_to, concat, converted, reshape_copy, stack
from py_tensor.ops.operands import Operand, known, numbers_of
from py_tensor.ops.out import Out, dtype_into, stored, stored_whole
from py_tensor.ops.rearrange import diag
from py_tensor.ops.record import apply
from py_tensor.ops.reduction import Axes, cumprod, cumsum, float_into, var
from py_tensor.ops.sorting import argsort, sort
from py_tensor.tensors.tensor import Tensor, tensor_of

__all__ = [
    "average", "corrcoef", "cov", "median", "nanargmax", "nanargmin", "nancumprod", "nancumsum",
    "nanmax", "nanmean", "nanmedian", "nanmin", "nanpercentile", "nanprod", "nanquantile",
    "nanstd", "nansum", "nanvar", "percentile", "quantile",
]  # fmt: skip


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
        averages = x.mean(axis, keepdims=keepdims)
        count = float(size_of(tuple(x.shape[a] for a in axes)))
        total = full(averages.shape, count, x.dtype, device=x.device)
    else:
        w = _weights_of("average", weights, x, axis)
        total = w.sum(axis, keepdims=keepdims)
        sums = known(total)
        if sums is not None and (sums == 0).any():
            raise ZeroDivisionError("average: the sum of the weights is 0")
        averages = (x * w).sum(axis, keepdims=keepdims) / total
    return (averages, total) if returned else averages


def _weights_of(op: str, weights: Operand, x: Tensor, axis: Axes) -> Tensor:
    """Broadcast weights to the shape of `x`, as floats."""
    w = as_floating(tensor_of(weights, op, device=x.device), op)
    if w.shape == x.shape:
        return w
    if axis is None:
        words = f"for a tensor of shape {x.shape} need an axis"
        raise TypeError(f"{op}: weights of shape {w.shape} {words}")
    listed = axis if isinstance(axis, tuple) else (axis,)
    axes = normalize_axes(op, axis, x.ndim)
    numbers = [normalize_axis(op, a, x.ndim) for a in listed]
    if w.shape != tuple(x.shape[a] for a in numbers):
        raise ShapeError(f"{op}: weights of shape {w.shape} do not match axes {axes} of {x.shape}")
    w = w.transpose([numbers.index(a) for a in axes])
    return broadcast_to(w.reshape([n if a in axes else 1 for a, n in enumerate(x.shape)]), x.shape)


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
    present = [tensor_of(w, "cov", device=x.device) for w in (fweights, aweights) if w is not None]
    weights = [converted(w, dtypes.real_of(x.dtype)) for w in present]
    if not weights:
        centred = x - x.mean(1, keepdims=True)
        divisor: Any = max(float(x.shape[1] - less_by), 0.0)
        return (matmul(centred, conjugated(centred).T) / divisor).squeeze()
    w = weights[0] if len(weights) == 1 else weights[0] * weights[1]
    total = w.sum()
    spread = total if aweights is None else (w * weights[-1]).sum()
    divisor = total - less_by * spread / total if aweights is not None else total - less_by
    centred = x - (x * w).sum(1, keepdims=True) / total
    return (matmul(centred * w, conjugated(centred).T) / maximum(divisor, 0.0)).squeeze()


def _variables(x: Operand, op: str, rowvar: bool) -> Tensor:
    """Return a matrix with one variable in each row."""
    x = as_floating(x, op)
    x = converted(x, dtypes.at_least_single(x.dtype))
    if x.ndim > 2:
        raise ShapeError(f"{op}: takes a vector or a matrix, not shape {x.shape}")
    if x.ndim < 2:
        return x.reshape(1, x.size)
    return x if rowvar else x.T


def corrcoef(
    x: Operand, y: Operand | None = None, rowvar: bool = True, *, dtype: object = None
) -> Tensor:
    """Correlation coefficients of variables, between -1 and 1; arguments as in `cov`."""
    covariance = cov(x, y, rowvar, dtype=dtype)
    if not covariance.ndim:
        return covariance / covariance
    spread = elementwise.sqrt(diag(covariance).real)
    covariance = covariance / spread[:, None] / spread
    if covariance.dtype.is_complex:
        return joined(covariance.real.clip(-1, 1), covariance.imag.clip(-1, 1))
    return covariance.clip(-1, 1)


P = ParamSpec("P")

_METHODS: dict[str, tuple[float, float] | None] = {
    "linear": None, "weibull": (0.0, 0.0), "hazen": (0.5, 0.5), "median_unbiased": (1 / 3, 1 / 3),
    "normal_unbiased": (3 / 8, 3 / 8), "interpolated_inverted_cdf": (0.0, 1.0), "lower": None,
    "higher": None, "nearest": None, "inverted_cdf": (0.0, 1.0), "closest_observation": (-0.5, 1.5),
    "midpoint": None, "averaged_inverted_cdf": (0.0, 1.0),
}  # fmt: skip
"""The methods, with the offsets alpha and beta of the positions at the two ends (`_offset`)."""
_EXACT = ("lower", "higher", "nearest", "inverted_cdf", "closest_observation")

MULTIPLY_HIGH = Elementwise(
    "multiply_high",
    wgsl={"*": "mulhi_u32({0}, {1})"},
    numpy=lambda np, x, y: (x.astype(np.uint64) * y.astype(np.uint64) >> 32).astype(np.uint32),
    accepts=dtypes.WORDS,
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
    if method == "linear" and scale == 1 and all(isinstance(v, int) for v in numbers):
        method = "lower"  # 0 and 1 are at elements
    x = tensor_of(x, op)
    if method != "mean":
        dtypes.REAL.check(op, x.dtype)
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
    if not all(0 <= v <= 1 for v in shares):
        raise ValueError(f"{op}: q must be from 0 to {scale:g}, not {q}")
    if method != "mean":
        check_option(op, "method", method, _METHODS)
    if weights is not None and method != "inverted_cdf":
        words = f"only by method 'inverted_cdf', not {method!r}"
        raise ValueError(f"{op}: weights are supported {words}")
    axes = normalize_axes(op, axis, x.ndim)
    shape = reduced(x.shape, axes) if keepdims else dropped(x.shape, axes)
    kept = tuple(a for a in range(x.ndim) if a not in axes)
    n = size_of(tuple(x.shape[a] for a in axes))

    def in_rows(x: Tensor) -> Tensor:
        return reshape_copy(x.transpose((*kept, *axes)), (*(x.shape[a] for a in kept), n))

    rows = in_rows(x)
    if n and weights is not None:
        of_rows = in_rows(_weights_of(op, weights, x, axis))
        values = [v.reshape(shape) for v in _weighted(op, rows, of_rows, shares, without_nan)]
    elif n:
        quantile_of = _among_numbers if without_nan else _among_all
        ordered = sort(rows)
        values = [quantile_of(ordered, share, method).reshape(shape) for share in shares]
    elif method != "mean" and not without_nan:
        raise IndexError(f"{op}: shape {x.shape} has no elements along the axes")
    else:
        values = [full(shape, math.nan, x.dtype, device=x.device)] * len(shares)
    if not of_shares:
        return stored(op, values[0], out)
    none = zeros((0, *shape), x.dtype, device=x.device)
    return stored(op, (stack(values) if values else none).reshape(*of_shares, *shape), out)


def _weighted(
    op: str, rows: Tensor, weights: Tensor, shares: list[float], without_nan: bool
) -> Iterator[Tensor]:
    """Yield weighted quantiles of rows; the weights are read and checked."""
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
    if (wrong.any() | (weights < 0).any()).item():
        raise ValueError(f"{op}: weights must be nonnegative and have a positive sum")
    reached = sums / total
    for share in shares:
        index = ((reached < share) | (reached == 0)).sum(-1, keepdims=True)
        values = take_along_axis(ordered, minimum(index, ordered.shape[-1] - 1), -1)[..., 0]
        is_nan = isnan(ordered[..., -1])
        yield choose(is_nan, math.nan, values) if has_nan and not without_nan else values


def _among_all(ordered: Tensor, share: float, method: str) -> Tensor:
    """Return a quantile of each sorted row; NaN if the row has a NaN, which is last."""
    n = ordered.shape[-1]
    off = _offset(share, method)
    position = (n - 1) * share if off is None else n * share + off
    whole = math.floor(position)
    *neighbours, fraction = _neighbours(whole, position - whole, method)
    low, high = (min(max(i, 0), n - 1) for i in neighbours)
    first, second = ordered[..., low], ordered[..., high]
    values = first if method in _EXACT else _between(first, second, fraction)
    has_nan = values.dtype.is_inexact
    return choose(isnan(ordered[..., -1]), math.nan, values) if has_nan else values


def _among_numbers(ordered: Tensor, share: float, method: str) -> Tensor:
    """Return a quantile of the elements in each sorted row that are not NaN."""
    count = (~isnan(ordered)).sum(-1, keepdims=True)
    last = maximum(count - 1, 0)
    off = _offset(share, method)
    whole, fraction = _product(last if off is None else count, share, ordered.dtype)
    if off is not None:
        steps = floor(fraction + off)
        whole, fraction = whole + converted(steps, whole.dtype), fraction + off - steps
    *neighbours, fraction = _neighbours(whole, fraction, method)
    first, second = (take_along_axis(ordered, minimum(maximum(i, 0), last), -1) for i in neighbours)
    values = first if method in _EXACT else _between(first, second, fraction)
    return converted(values, ordered.dtype)


def _offset(share: float, method: str) -> float | None:
    """Return a method's offset to ``n * share`` for the position; None: ``(n - 1) * share``."""
    ends = _METHODS.get(method)
    if ends is None:
        return None
    alpha, beta = ends
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


def _without_nan(op: str, x: Operand, axis: Axes, where: Operand) -> tuple[Tensor, Axes, Operand]:
    """Return a tensor, its axes, and a mask of the elements in `where` that are not NaN."""
    x = tensor_of(x, op)
    if not x.dtype.is_inexact:
        return x, axis, where
    axes = normalize_axes(op, axis, x.ndim, of_scalar=True)
    return x, axes, ~isnan(x) if where is True else elementwise.logical_and(where, ~isnan(x))


def _replaced(x: Operand, op: str, value: float) -> Tensor:
    """Replace NaN with a number."""
    x = tensor_of(x, op)
    return choose(isnan(x), value, x) if x.dtype.is_inexact else x


def _ignoring_nan(
    plain: Callable[P, Tensor], call: Callable[..., Tensor], what: str, *facts: Any
) -> Callable[P, Tensor]:
    """Return a function like `plain`; `call` gets its name, `plain`, the facts and arguments."""
    op = f"nan{plain.__name__}"
    bound = update_wrapper(partial(call, op, plain, *facts), call)
    return declared_like(plain, bound, op, what=what)


def _masked(op: str, plain: Any, a: Operand, axis: Axes, where: Operand, **options: Any) -> Tensor:
    """{what} over `axis`, ignoring NaN."""
    x, axis, where = _without_nan(op, a, axis, where)
    return plain(x, axis, where=where, **options)


nansum = _ignoring_nan(reduction.sum, _masked, "Sum of the elements")
nanprod = _ignoring_nan(reduction.prod, _masked, "Product of the elements")
nanmean = _ignoring_nan(reduction.mean, _masked, "Mean")


def _deviation(
    op: str, plain: Any, finish: Callable[[Tensor], Tensor] | None,
    a: Operand, axis: Axes, dtype: object, out: Any, ddof: float, keepdims: bool,
    where: Operand, mean: Operand | None, correction: float | None,
) -> Tensor:  # fmt: skip
    """{what} over `axis`, ignoring NaN; NaN if at most `ddof` elements remain."""
    least = ddof if correction is None else correction
    x, axis, where = _without_nan(op, a, axis, where)
    if dtype is None and out is not None:
        dtype = float_into(op, x, out)
    variance = var(x, axis, dtype, None, least, keepdims, where=where, mean=mean)
    if x.dtype.is_inexact:
        count = reduction.sum(where, axis, keepdims=keepdims)
        variance = choose(count > least, variance, math.nan)
    return stored_whole(op, finish(variance) if finish else variance, out)


nanvar = _ignoring_nan(var, _deviation, "Variance", None)
nanstd = _ignoring_nan(reduction.std, _deviation, "Standard deviation", root_of_squares)


def _extreme(
    op: str, plain: Any, beyond: float, a: Operand, axis: Axes, out: Any, keepdims: bool,
    initial: Any, where: Any,
) -> Tensor:  # fmt: skip
    """{what} over `axis`, ignoring NaN; NaN if all are NaN. Options as in `max`."""
    x = tensor_of(a, op)
    extreme = plain(_replaced(x, op, beyond), axis, None, keepdims, initial, where)
    if initial is None and x.dtype.is_inexact:
        extreme = choose(isnan(x).all(axis, keepdims=keepdims), math.nan, extreme)
    return stored(op, extreme, out)


nanmax = _ignoring_nan(reduction.max, _extreme, "Maximum", -math.inf)
nanmin = _ignoring_nan(reduction.min, _extreme, "Minimum", math.inf)


def _located(
    op: str, plain: Any, beyond: float, a: Operand, axis: int | None, **options: Any
) -> Tensor:
    """Index of the {what} along `axis`, ignoring NaN.

    Raises
    ------
    ValueError
        If all elements are NaN, on the cpu device. On the GPU nothing is read, and the result is 0.
    """
    x = tensor_of(a, op)
    axes = normalize_axes(op, axis, x.ndim, of_scalar=True)
    values = known(x) if x.dtype.is_inexact and x.size else None
    if values is not None and (values != values).all(axes).any():
        raise ValueError(f"{op}: all elements along an axis are NaN")
    return plain(_replaced(x, op, beyond), axis, **options)


nanargmax = _ignoring_nan(reduction.argmax, _located, "maximum", -math.inf)
nanargmin = _ignoring_nan(reduction.argmin, _located, "minimum", math.inf)


def _cumulative(op: str, plain: Any, value: float, a: Operand, **options: Any) -> Tensor:
    """Cumulative {what}."""
    return plain(_replaced(a, op, value), **options)


nancumsum = _ignoring_nan(cumsum, _cumulative, "sum, with NaN treated as 0", 0.0)
nancumprod = _ignoring_nan(cumprod, _cumulative, "product, with NaN treated as 1", 1.0)
