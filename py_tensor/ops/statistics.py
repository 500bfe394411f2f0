"""Averages, quantiles, counts in bins and covariances; and reductions that leave NaN out."""

from __future__ import annotations

import builtins
import math
from collections.abc import Sequence
from operator import index as as_index
from typing import Any

from py_tensor import dtypes
from py_tensor.errors import ShapeError
from py_tensor.ops.creation import arange, full, zeros
from py_tensor.ops.define import Operand, Out, numbers_of, register, stored
from py_tensor.ops.elementwise import (
    ceil,
    clip,
    equal,
    floor,
    isnan,
    maximum,
    minimum,
    sqrt,
    where,
)
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
from py_tensor.ops.rounding import round
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
    x = tensor_of(x, op) if method in _EXACT else _floating(x, op)
    numbers, of_shares = numbers_of(op, q)
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
    place = builtins.min(builtins.max(_place(n, share, method), 0.0), n - 1.0)
    low, high, part = _neighbours(
        place, n - 1, method, math.floor, math.ceil, builtins.round, builtins.min
    )
    first, second = ordered[..., low], ordered[..., high]
    found = first if method in _EXACT else _between(first, second, part)
    is_float = found.dtype.kind == "f"
    return where(isnan(ordered[..., -1]), math.nan, found) if is_float else found


def _among_numbers(ordered: Tensor, share: float, method: str) -> Tensor:
    """A quantile of what is not NaN in each sorted row."""
    count = sum(~isnan(ordered), -1, keepdims=True)
    last = maximum(count - 1, 0)
    place = minimum(maximum(_place(count, share, method), 0.0), last)
    low, high, part = _neighbours(place, last, method, floor, ceil, round, minimum)
    first, second = (take_along_axis(ordered, converted(i, dtypes.int32), -1) for i in (low, high))
    return first if method in _EXACT else _between(first, second, part)


def _place(n: Any, share: float, method: str) -> Any:
    """Where a quantile stands among `n` sorted elements, between the places of two."""
    if method not in _BETWEEN:
        return (n - 1) * share
    alpha, beta = _BETWEEN[method]
    return n * share + (alpha + share * (1 - alpha - beta)) - 1


def _neighbours(
    place: Any, last: Any, method: str, down: Any, up: Any, near: Any, least: Any
) -> tuple[Any, Any, Any]:
    """The places beside one between them, and how far it is from the first to the second."""
    if method in _EXACT:
        only = {"lower": down, "higher": up, "nearest": near}[method](place)
        return only, only, 0.0
    low = down(place)
    if method in _BETWEEN:
        return low, least(low + 1, last), place - low
    high = up(place)
    if method == "mean":
        return low, high, None
    return low, high, (high - low) * 0.5 if method == "midpoint" else place - low


def _between(low: Tensor, high: Tensor, part: Any) -> Tensor:
    """The value on the way from one to the other, from the nearer end, as NumPy's."""
    if part is None:
        return low / 2 + high / 2
    apart = high - low
    return where(part >= 0.5, high - apart * (1 - part), low + apart * part)


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


def _present(x: Tensor) -> Operand:
    """Where elements are no NaN; True where none can be."""
    return ~isnan(x) if x.dtype.kind == "f" else True


def nansum(
    x: Operand, axis: Axes = None, dtype: object = None, out: Out = None, keepdims: bool = False
) -> Tensor:
    """`sum` of the elements that are not NaN."""
    x = tensor_of(x, "nansum")
    return sum(x, axis, dtype, out, keepdims, where=_present(x))


def nanprod(
    x: Operand, axis: Axes = None, dtype: object = None, out: Out = None, keepdims: bool = False
) -> Tensor:
    """`prod` of the elements that are not NaN."""
    x = tensor_of(x, "nanprod")
    return prod(x, axis, dtype, out, keepdims, where=_present(x))


def nanmean(
    x: Operand, axis: Axes = None, dtype: object = None, out: Out = None, keepdims: bool = False
) -> Tensor:
    """`mean` of the elements that are not NaN; NaN if there are none."""
    x = tensor_of(x, "nanmean")
    return mean(x, axis, dtype, out, keepdims, where=_present(x))


def nanvar(
    x: Operand,
    axis: Axes = None,
    dtype: object = None,
    out: Out = None,
    ddof: float = 0,
    keepdims: bool = False,
) -> Tensor:
    """`var` of the elements that are not NaN; NaN if there are not more than `ddof`."""
    x = tensor_of(x, "nanvar")
    return var(x, axis, dtype, out, ddof, keepdims, where=_present(x))


def nanstd(
    x: Operand,
    axis: Axes = None,
    dtype: object = None,
    out: Out = None,
    ddof: float = 0,
    keepdims: bool = False,
) -> Tensor:
    """`std` of the elements that are not NaN; NaN if there are not more than `ddof`."""
    x = tensor_of(x, "nanstd")
    return std(x, axis, dtype, out, ddof, keepdims, where=_present(x))


def _replaced(x: Operand, op: str, value: float) -> Tensor:
    """The elements, with a number in place of NaN."""
    x = tensor_of(x, op)
    return where(isnan(x), value, x) if x.dtype.kind == "f" else x


def nanmax(x: Operand, axis: Axes = None, out: Out = None, keepdims: bool = False) -> Tensor:
    """`max` of the elements that are not NaN; NaN if there are none."""
    x = tensor_of(x, "nanmax")
    found = max(_replaced(x, "nanmax", -math.inf), axis, keepdims=keepdims)
    nothing = all(isnan(x), axis, keepdims=keepdims)
    return stored("nanmax", where(nothing, math.nan, found) if x.dtype.kind == "f" else found, out)


def nanmin(x: Operand, axis: Axes = None, out: Out = None, keepdims: bool = False) -> Tensor:
    """`min` of the elements that are not NaN; NaN if there are none."""
    x = tensor_of(x, "nanmin")
    found = min(_replaced(x, "nanmin", math.inf), axis, keepdims=keepdims)
    nothing = all(isnan(x), axis, keepdims=keepdims)
    return stored("nanmin", where(nothing, math.nan, found) if x.dtype.kind == "f" else found, out)


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
    low, high = where(alike, low - 0.5, low), where(alike, high + 0.5, high)
    number = arange(count + 1, device=x.device)
    return where(equal(number, count), high, low + (high - low) * (number / count))


def _bin_of(x: Tensor, edges: Tensor) -> Tensor:
    """The number of each element's bin, and of no bin where it has none."""
    count = edges.size - 1
    number = searchsorted(edges, x, "right") - 1
    number = where(equal(x, edges[-1]), count - 1, number)
    return where((x >= edges[0]) & (x <= edges[-1]), number, count)


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
    field = where(equal(row, n) | equal(column, m), n * m, row * m + column)
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
    return x if rowvar or x.shape[0] == 1 else transpose(x)


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
