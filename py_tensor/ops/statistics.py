"""Averages, quantiles, counts in bins and covariances; and reductions that leave NaN out."""

from __future__ import annotations

import builtins
import math
from collections.abc import Callable, Sequence
from operator import index as as_index
from typing import Any

from py_tensor import dtypes
from py_tensor.dtypes import WORDS
from py_tensor.errors import ShapeError
from py_tensor.graph.op import NOT_DIFFERENTIABLE, Elementwise
from py_tensor.ops.creation import arange, full, zeros
from py_tensor.ops.define import (
    Operand,
    Out,
    Scalar,
    apply,
    numbers_of,
    register,
    stored,
    stored_whole,
)
from py_tensor.ops.elementwise import (
    clip,
    equal,
    floor,
    isnan,
    logical_and,
    maximum,
    minimum,
    sqrt,
)
from py_tensor.ops.elementwise import where as choose
from py_tensor.ops.gather import take_along_axis
from py_tensor.ops.linalg import matmul
from py_tensor.ops.movement import (
    broadcast_to,
    concat,
    converted,
    expand_dims,
    in_shape,
    permute,
    ravel,
    reshape,
    squeeze,
    stack,
    transpose,
)
from py_tensor.ops.rearrange import diag
from py_tensor.ops.reduction import (
    Axes,
    all,
    argmax,
    argmin,
    max,
    mean,
    min,
    prod,
    std,
    sum,
    var,
)
from py_tensor.ops.scan import cumprod, cumsum
from py_tensor.ops.scatter import scatter
from py_tensor.ops.searching import searchsorted
from py_tensor.ops.sorting import sort
from py_tensor.shapes import dropped, normalize_axes, reduced, size_of
from py_tensor.tensor import Tensor, tensor_of

__all__ = [
    "average", "corrcoef", "cov", "histogram", "histogram2d", "histogram_bin_edges", "median",
    "nanargmax", "nanargmin", "nancumprod", "nancumsum", "nanmax", "nanmean", "nanmedian",
    "nanmin", "nanpercentile", "nanprod", "nanquantile", "nanstd", "nansum", "nanvar",
    "percentile", "quantile",
]  # fmt: skip


def _floating(x: Operand, op: str) -> Tensor:
    x = tensor_of(x, op)
    return converted(x, dtypes.floating(x.dtype))


def average(
    x: Operand,
    /,
    axis: Axes = None,
    weights: Operand | None = None,
    returned: bool = False,
    *,
    keepdims: bool = False,
) -> Any:
    """The mean over `axis`, in which elements count by their weights.

    Parameters
    ----------
    weights : optional
        Of the shape of `x`, or of that of the axes given.
    returned : bool
        Whether to give besides, in a tuple, the sums of the weights.

    Raises
    ------
    ShapeError
        For weights of another shape.
    """
    x = _floating(x, "average")
    axes = normalize_axes("average", axis, x.ndim)
    if weights is None:
        found = mean(x, axis, keepdims=keepdims)
        total = full(found.shape, float(size_of(tuple(x.shape[a] for a in axes))), x.dtype)
        return (found, total.to(x.device)) if returned else found
    w = _floating(tensor_of(weights, "average", device=x.device), "average")
    if w.shape != x.shape:
        if w.shape != tuple(x.shape[a] for a in axes):
            raise ShapeError(f"average: weights of shape {w.shape} for axes {axes} of {x.shape}")
        w = reshape(w, tuple(n if a in axes else 1 for a, n in enumerate(x.shape)))
        w = broadcast_to(w, x.shape)
    total = sum(w, axis, keepdims=keepdims)
    found = sum(x * w, axis, keepdims=keepdims) / total
    return (found, total) if returned else found


# -- Quantiles ----------------------------------------------------------------------------------

_BETWEEN = {
    "linear": (1.0, 1.0),
    "weibull": (0.0, 0.0),
    "hazen": (0.5, 0.5),
    "median_unbiased": (1 / 3, 1 / 3),
    "normal_unbiased": (3 / 8, 3 / 8),
    "interpolated_inverted_cdf": (0.0, 1.0),
}
"""Methods that draw lines between elements: what they leave off the two ends."""
_EXACT = ("lower", "higher", "nearest")
_AT = (*_EXACT, "midpoint")

MULTIPLY_HIGH = Elementwise(
    "multiply_high",
    wgsl={"*": "mulhi_u32({0}, {1})"},
    numpy=lambda np, x, y: (x.astype(np.uint64) * y.astype(np.uint64) >> 32).astype(np.uint32),
    accepts=WORDS,
    cost=12,
    vjp=NOT_DIFFERENTIABLE,
)
"""The upper words of products of uint32."""


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
) -> Tensor:
    """Quantiles over some axes; the axes of `q` come first in the result."""
    numbers, of_shares = numbers_of(op, q)
    if method == "linear" and scale == 1 and builtins.all(isinstance(v, int) for v in numbers):
        method = "lower"  # 0 and 1, at which elements are
    x = tensor_of(x, op) if method in _EXACT else _floating(x, op)
    shares = [v / scale for v in numbers]
    if not builtins.all(0 <= v <= 1 for v in shares):
        raise ValueError(f"{op}: {q} is not between 0 and {scale:g}")
    if method not in _BETWEEN and method not in (*_AT, "mean"):
        raise ValueError(f"{op}: method is one of {(*_BETWEEN, *_AT)}, not {method!r}")
    axes = normalize_axes(op, axis, x.ndim)
    shape = reduced(x.shape, axes) if keepdims else dropped(x.shape, axes)
    kept = tuple(a for a in range(x.ndim) if a not in axes)
    n = size_of(tuple(x.shape[a] for a in axes))
    rows = in_shape(permute(x, (*kept, *axes)), (*(x.shape[a] for a in kept), n))
    if n:
        at = _among_numbers if without_nan else _among_all
        ordered = sort(rows)
        found = [reshape(at(ordered, share, method), shape) for share in shares]
    else:
        found = [full(shape, math.nan, x.dtype, device=x.device)] * len(shares)
    if not of_shares:
        return stored(op, found[0], out)
    none = zeros((0, *shape), x.dtype, device=x.device)
    return stored(op, reshape(stack(found) if found else none, (*of_shares, *shape)), out)


def _among_all(ordered: Tensor, share: float, method: str) -> Tensor:
    """A quantile of each sorted row; NaN where there is one, which comes last."""
    n = ordered.shape[-1]
    off = _offset(share, method)
    place = (n - 1) * share if off is None else n * share + off
    whole = math.floor(place)
    *places, part = _neighbours(whole, place - whole, method)
    low, high = (builtins.min(builtins.max(i, 0), n - 1) for i in places)
    first, second = ordered[..., low], ordered[..., high]
    found = first if method in _EXACT else _between(first, second, part)
    is_float = found.dtype.kind == "f"
    return choose(isnan(ordered[..., -1]), math.nan, found) if is_float else found


def _among_numbers(ordered: Tensor, share: float, method: str) -> Tensor:
    """A quantile of what is not NaN in each sorted row."""
    count = sum(~isnan(ordered), -1, keepdims=True)
    last = maximum(count - 1, 0)
    off = _offset(share, method)
    whole, part = _product(last if off is None else count, share, ordered.dtype)
    if off is not None:
        part = part + off
        whole, part = whole + converted(floor(part), whole.dtype), part - floor(part)
    *places, part = _neighbours(whole, part, method)
    first, second = (take_along_axis(ordered, minimum(maximum(i, 0), last), -1) for i in places)
    return first if method in _EXACT else _between(first, second, part)


def _offset(share: float, method: str) -> float | None:
    """What a method adds to ``n * share`` for the place among n; None of ``(n - 1) * share``."""
    if method not in _BETWEEN or method == "linear":
        return None
    alpha, beta = _BETWEEN[method]
    return alpha + share * (1 - alpha - beta) - 1


def _product(counts: Tensor, share: float, dtype: dtypes.DType) -> tuple[Tensor, Tensor]:
    """Counts times a share, as whole numbers and what is above them, in `dtype`.

    The latter is a multiple of 2**-24. To that the product of integers, of 95 bits, is rounded, as
    NumPy's is to float64, so that 0.3 of 10 is 3.
    """
    high, low = divmod(int(share * 2**63), 2**32)
    twice = converted(counts, dtypes.uint32) * 2
    above = twice * high
    below = above + (apply(MULTIPLY_HIGH, (twice, low)) + 2**7)
    whole = apply(MULTIPLY_HIGH, (twice, high)) + (below < above)
    return converted(whole, dtypes.int32), converted(below >> 8, dtype) * 2.0**-24


def _neighbours(whole: Any, part: Any, method: str) -> tuple[Any, Any, Any]:
    """The places beside one between them, and how far it is from the first to the second.

    NumPy's "linear" has two places even where one of them is exact: of infinities that is NaN.
    """
    if method in _EXACT:
        if method == "nearest":
            whole = whole + ((part > 0.5) | ((part == 0.5) & (whole % 2 == 1)))
        elif method == "higher":
            whole = whole + (part > 0)
        return whole, whole, None
    if method == "mean":
        return whole, whole + (part > 0), None
    return whole, whole + 1, (part > 0) * 0.5 if method == "midpoint" else part


def _between(low: Tensor, high: Tensor, part: Any) -> Tensor:
    """The value on the way from one to the other, from the nearer end, as NumPy's."""
    if part is None:
        return low / 2 + high / 2
    apart = high - low
    return choose(part >= 0.5, high - apart * (1 - part), low + apart * part)


def quantile(
    x: Operand,
    /,
    q: Operand,
    axis: Axes = None,
    out: Out = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
) -> Tensor:
    """The values below which the shares `q` of the elements over `axis` lie; NaN if one is.

    Parameters
    ----------
    q
        Between 0 and 1; a tensor is read. Its axes are the first of the result.
    overwrite_input : bool
        Accepted: the operand stays as it is.
    method
        "linear", "lower", "higher", "nearest", "midpoint", "weibull", "hazen", "median_unbiased",
        "normal_unbiased" or "interpolated_inverted_cdf", as in NumPy.

    Raises
    ------
    ValueError
        For shares out of range, or another method.
    """
    return _quantiles("quantile", x, q, axis, out, method, keepdims)


def percentile(
    x: Operand,
    /,
    q: Operand,
    axis: Axes = None,
    out: Out = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
) -> Tensor:
    """`quantile`, whose shares are in percent."""
    return _quantiles("percentile", x, q, axis, out, method, keepdims, scale=100.0)


def median(
    x: Operand,
    /,
    axis: Axes = None,
    out: Out = None,
    overwrite_input: bool = False,
    keepdims: bool = False,
) -> Tensor:
    """The middle of the sorted elements over `axis`, or the mean of the two there; NaN if one is.

    `overwrite_input` is accepted: the operand stays as it is.
    """
    return _quantiles("median", x, 0.5, axis, out, "mean", keepdims)


def nanquantile(
    x: Operand,
    /,
    q: Operand,
    axis: Axes = None,
    out: Out = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
) -> Tensor:
    """`quantile` of the elements that are not NaN."""
    return _quantiles("nanquantile", x, q, axis, out, method, keepdims, without_nan=True)


def nanpercentile(
    x: Operand,
    /,
    q: Operand,
    axis: Axes = None,
    out: Out = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
) -> Tensor:
    """`percentile` of the elements that are not NaN."""
    return _quantiles(
        "nanpercentile", x, q, axis, out, method, keepdims, scale=100.0, without_nan=True
    )


def nanmedian(
    x: Operand,
    /,
    axis: Axes = None,
    out: Out = None,
    overwrite_input: bool = False,
    keepdims: bool = False,
) -> Tensor:
    """`median` of the elements that are not NaN."""
    return _quantiles("nanmedian", x, 0.5, axis, out, "mean", keepdims, without_nan=True)


# -- Without NaN --------------------------------------------------------------------------------


def nansum(
    x: Operand,
    axis: Axes = None,
    dtype: object = None,
    out: Out = None,
    keepdims: bool = False,
    initial: Scalar | None = None,
    where: Operand = True,
) -> Tensor:
    """`sum` of the elements that are not NaN."""
    x, held = _without_nan("nansum", x, where)
    return sum(x, axis, dtype, out, keepdims, initial, held)


def nanprod(
    x: Operand,
    axis: Axes = None,
    dtype: object = None,
    out: Out = None,
    keepdims: bool = False,
    initial: Scalar | None = None,
    where: Operand = True,
) -> Tensor:
    """`prod` of the elements that are not NaN."""
    x, held = _without_nan("nanprod", x, where)
    return prod(x, axis, dtype, out, keepdims, initial, held)


def nanmean(
    x: Operand,
    axis: Axes = None,
    dtype: object = None,
    out: Out = None,
    keepdims: bool = False,
    *,
    where: Operand = True,
) -> Tensor:
    """`mean` of the elements that are not NaN; NaN if there are none."""
    x, held = _without_nan("nanmean", x, where)
    return mean(x, axis, dtype, out, keepdims, where=held)


def nanvar(
    x: Operand,
    axis: Axes = None,
    dtype: object = None,
    out: Out = None,
    ddof: float = 0,
    keepdims: bool = False,
    *,
    where: Operand = True,
    correction: float | None = None,
) -> Tensor:
    """`var` of the elements that are not NaN; NaN if there are not more than `ddof`.

    Of integers it is `var`.
    """
    ddof = ddof if correction is None else correction
    return stored_whole(
        "nanvar", _spread(var, "nanvar", x, axis, dtype, ddof, keepdims, where), out
    )


def nanstd(
    x: Operand,
    axis: Axes = None,
    dtype: object = None,
    out: Out = None,
    ddof: float = 0,
    keepdims: bool = False,
    *,
    where: Operand = True,
    correction: float | None = None,
) -> Tensor:
    """`std` of the elements that are not NaN; NaN if there are not more than `ddof`."""
    ddof = ddof if correction is None else correction
    return stored_whole(
        "nanstd", _spread(std, "nanstd", x, axis, dtype, ddof, keepdims, where), out
    )


def _spread(
    fold: Callable[..., Tensor],
    op: str,
    x: Operand,
    axis: Axes,
    dtype: object,
    ddof: float,
    keepdims: bool,
    where: Operand,
) -> Tensor:
    x, held = _without_nan(op, x, where)
    found = fold(x, axis, dtype, None, ddof, keepdims, where=held)
    if x.dtype.kind != "f":
        return found
    count = sum(held, axis, keepdims=keepdims)
    return choose(count > ddof, found, math.nan)


def _without_nan(op: str, x: Operand, where: Operand) -> tuple[Tensor, Operand]:
    """A tensor, and which of its elements count: those of `where` that are no NaN."""
    x = tensor_of(x, op)
    if x.dtype.kind != "f":
        return x, where
    return x, ~isnan(x) if where is True else logical_and(where, ~isnan(x))


def _replaced(x: Operand, op: str, value: float) -> Tensor:
    """The elements, with a number in place of NaN."""
    x = tensor_of(x, op)
    return choose(isnan(x), value, x) if x.dtype.kind == "f" else x


def nanmax(
    x: Operand,
    axis: Axes = None,
    out: Out = None,
    keepdims: bool = False,
    initial: Scalar | None = None,
    where: Operand = True,
) -> Tensor:
    """`max` of the elements that are not NaN; NaN if there are none. Options as in `max`."""
    return _extreme(max, "nanmax", -math.inf, x, axis, out, keepdims, initial, where)


def nanmin(
    x: Operand,
    axis: Axes = None,
    out: Out = None,
    keepdims: bool = False,
    initial: Scalar | None = None,
    where: Operand = True,
) -> Tensor:
    """`min` of the elements that are not NaN; NaN if there are none. Options as in `max`."""
    return _extreme(min, "nanmin", math.inf, x, axis, out, keepdims, initial, where)


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
    found = fold(_replaced(x, op, beyond), axis, None, keepdims, initial, where)
    if initial is None and x.dtype.kind == "f":
        found = choose(all(isnan(x), axis, keepdims=keepdims), math.nan, found)
    return stored(op, found, out)


def nanargmax(
    x: Operand, axis: int | None = None, out: Out = None, *, keepdims: bool = False
) -> Tensor:
    """`argmax` of the elements that are not NaN; 0 if there are none."""
    return argmax(_replaced(x, "nanargmax", -math.inf), axis, out, keepdims=keepdims)


def nanargmin(
    x: Operand, axis: int | None = None, out: Out = None, *, keepdims: bool = False
) -> Tensor:
    """`argmin` of the elements that are not NaN; 0 if there are none."""
    return argmin(_replaced(x, "nanargmin", math.inf), axis, out, keepdims=keepdims)


def nancumsum(x: Operand, axis: int | None = None, dtype: object = None, out: Out = None) -> Tensor:
    """`cumsum`, in which NaN counts as 0."""
    return cumsum(_replaced(x, "nancumsum", 0.0), axis, dtype, out)


def nancumprod(
    x: Operand, axis: int | None = None, dtype: object = None, out: Out = None
) -> Tensor:
    """`cumprod`, in which NaN counts as 1."""
    return cumprod(_replaced(x, "nancumprod", 1.0), axis, dtype, out)


# -- Counts in bins -----------------------------------------------------------------------------

Bins = int | Operand


def histogram_bin_edges(
    x: Operand,
    /,
    bins: Bins = 10,
    range: tuple[float, float] | None = None,
    weights: Operand | None = None,
) -> Tensor:
    """The edges that `histogram` uses; `weights` change nothing."""
    return _edges("histogram_bin_edges", ravel(_floating(x, "histogram_bin_edges")), bins, range)


def _edges(op: str, x: Tensor, bins: Bins, limits: Sequence[float] | None) -> Tensor:
    if isinstance(bins, str):
        raise ValueError(f"{op}: takes a number of bins, or their edges, not {bins!r}")
    if not hasattr(bins, "__index__") or getattr(bins, "ndim", 0):
        edges = _floating(tensor_of(bins, op, device=x.device), op)
        if edges.ndim != 1 or edges.size < 2:
            raise ShapeError(f"{op}: edges are a vector of at least 2, not of shape {edges.shape}")
        return edges
    count = as_index(bins)
    if count < 1:
        raise ValueError(f"{op}: the number of bins is {count}; it is at least 1")
    if limits is None and x.size:
        low, high = min(x), max(x)
    else:
        low, high = (full((), float(v), x.dtype, device=x.device) for v in limits or (0.0, 1.0))
        if limits is not None and not limits[0] <= limits[1]:
            raise ValueError(f"{op}: the range {limits} does not rise")
    alike = equal(low, high)
    low, high = choose(alike, low - 0.5, low), choose(alike, high + 0.5, high)
    number = arange(count + 1, device=x.device)
    return choose(equal(number, count), high, low + (high - low) * (number / count))


def _bin_of(x: Tensor, edges: Tensor) -> Tensor:
    """The number of each element's bin, and of no bin where it has none."""
    count = edges.size - 1
    number = searchsorted(edges, x, "right") - 1
    number = choose(equal(x, edges[-1]), count - 1, number)
    return choose((x >= edges[0]) & (x <= edges[-1]), number, count)


def _counted(number: Tensor, count: int, weights: Tensor | None) -> Tensor:
    """How many elements each bin has, or the sums of their weights."""
    dtype = dtypes.int32 if weights is None else weights.dtype
    none = zeros(count, dtype, device=number.device)
    return scatter(none, (0,), (number,), 0, 1 if weights is None else weights, "add", op="")


def _weights(op: str, weights: Operand, x: Tensor) -> Tensor:
    found = tensor_of(weights, op, device=x.device)
    return converted(found, dtypes.int32) if found.dtype is dtypes.bool_ else found


def histogram(
    x: Operand,
    /,
    bins: Bins = 10,
    range: tuple[float, float] | None = None,
    density: bool | None = None,
    weights: Operand | None = None,
) -> tuple[Tensor, Tensor]:
    """How many elements lie in each bin, and the edges of the bins.

    Parameters
    ----------
    bins
        How many of one width, or a vector of rising edges.
    range : tuple, optional
        Where the first bin begins and the last ends; by default the least and largest element.
    density : bool
        Whether to give shares, divided by the widths of the bins.
    weights : optional
        As what each element counts.

    Raises
    ------
    ShapeError
        For weights of another shape, or edges that are no vector.
    ValueError
        For a number of bins below 1, or a range that does not rise.
    """
    x = ravel(_floating(x, "histogram"))
    edges = _edges("histogram", x, bins, range)
    given = None if weights is None else ravel(_weights("histogram", weights, x))
    if given is not None and given.shape != x.shape:
        raise ShapeError(f"histogram: weights of shape {given.shape} for elements of {x.shape}")
    counts = _counted(_bin_of(x, edges), edges.size - 1, given)
    if density:
        counts = counts / sum(counts) / (edges[1:] - edges[:-1])
    return counts, edges


def histogram2d(
    x: Operand,
    /,
    y: Operand,
    bins: Any = 10,
    range: Sequence[Sequence[float] | None] | None = None,
    density: bool | None = None,
    weights: Operand | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """How many points lie in each field of a grid, and the edges along each axis.

    Parameters
    ----------
    bins
        As of `histogram`: for both axes, or a pair.
    range
        A pair of ranges.
    density, weights
        As of `histogram`.

    Raises
    ------
    ShapeError
        Unless there are as many `x` as `y`, in vectors.
    """
    first = _floating(x, "histogram2d")
    second = _floating(tensor_of(y, "histogram2d", device=first.device), "histogram2d")
    if first.ndim != 1 or first.shape != second.shape:
        raise ShapeError(f"histogram2d: points of shapes {first.shape} and {second.shape}")
    is_pair = type(bins) in (list, tuple) and len(bins) == 2
    pair: Sequence[Any] = bins if is_pair else (bins, bins)
    limits: Sequence[Sequence[float] | None] = (None, None) if range is None else range
    given = None if weights is None else _weights("histogram2d", weights, first)
    edges = [
        _edges("histogram2d", v, b, r)
        for v, b, r in zip((first, second), pair, limits, strict=True)
    ]
    n, m = (e.size - 1 for e in edges)
    row, column = (_bin_of(v, e) for v, e in zip((first, second), edges, strict=True))
    field = choose(equal(row, n) | equal(column, m), n * m, row * m + column)
    counts = reshape(converted(_counted(field, n * m, given), first.dtype), (n, m))
    if density:
        widths = [e[1:] - e[:-1] for e in edges]
        counts = counts / sum(counts) / (expand_dims(widths[0], 1) * widths[1])
    return counts, edges[0], edges[1]


# -- Covariances --------------------------------------------------------------------------------


def cov(
    x: Operand,
    y: Operand | None = None,
    rowvar: bool = True,
    bias: bool = False,
    ddof: int | None = None,
    fweights: Operand | None = None,
    aweights: Operand | None = None,
    *,
    dtype: object = None,
) -> Tensor:
    """The covariances of variables, of which each row has the observations of one.

    Parameters
    ----------
    y : optional
        More variables, in the same form.
    rowvar : bool
        Whether variables are rows; False takes columns.
    bias, ddof
        The divisor is the number of observations less `ddof`: by default 1, or 0 with `bias`.
    fweights, aweights : optional
        How often each observation counts, and how much.

    Raises
    ------
    ShapeError
        For more than two axes.
    """
    x = _variables(x, "cov", rowvar)
    if y is not None:
        x = concat([x, _variables(tensor_of(y, "cov", device=x.device), "cov", rowvar)])
    x = x if dtype is None else converted(x, dtypes.parse(dtype))
    less_by = (0 if bias else 1) if ddof is None else ddof
    given = [
        converted(tensor_of(w, "cov", device=x.device), x.dtype)
        for w in (fweights, aweights)
        if w is not None
    ]
    if not given:
        centred = x - mean(x, 1, keepdims=True)
        divisor: Any = builtins.max(float(x.shape[1] - less_by), 0.0)
        return squeeze(matmul(centred, transpose(centred)) / divisor)
    w = given[0] if len(given) == 1 else given[0] * given[1]
    total = sum(w)
    spread = total if aweights is None else sum(w * given[-1])
    divisor = total - less_by * spread / total if aweights is not None else total - less_by
    centred = x - sum(x * w, 1, keepdims=True) / total
    return squeeze(matmul(centred * w, transpose(centred)) / maximum(divisor, 0.0))


def _variables(x: Operand, op: str, rowvar: bool) -> Tensor:
    """A matrix of which each row is a variable."""
    x = _floating(x, op)
    if x.ndim > 2:
        raise ShapeError(f"{op}: takes a vector or a matrix, not shape {x.shape}")
    if x.ndim < 2:
        return reshape(x, (1, x.size))
    return x if rowvar else transpose(x)


def corrcoef(
    x: Operand, y: Operand | None = None, rowvar: bool = True, *, dtype: object = None
) -> Tensor:
    """The correlations of variables, between -1 and 1; variables as of `cov`."""
    found = cov(x, y, rowvar, dtype=dtype)
    if not found.ndim:
        return found / found
    spread = sqrt(diag(found))
    return clip(found / expand_dims(spread, 1) / spread, -1, 1)


for _function in (
    average, corrcoef, cov, histogram, histogram2d, histogram_bin_edges, median, nanargmax,
    nanargmin, nancumprod, nancumsum, nanmax, nanmean, nanmedian, nanmin, nanpercentile, nanprod,
    nanquantile, nanstd, nansum, nanvar, percentile, quantile,
):  # fmt: skip
    register(_function, method=False)
