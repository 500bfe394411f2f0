"""Histograms: counts of elements in bins."""

from __future__ import annotations

import builtins
import math
from collections.abc import Sequence
from operator import index as as_index
from typing import Any, NamedTuple, cast

from py_tensor import dtypes
from py_tensor.dtypes import REAL, REAL_FLOATING, DType
from py_tensor.errors import ShapeError
from py_tensor.ops.creation import arange, full, zeros
from py_tensor.ops.define import register
from py_tensor.ops.elementwise import equal, less, maximum
from py_tensor.ops.elementwise import where as choose
from py_tensor.ops.movement import (
    as_floating,
    converted,
    in_common_dtype,
    ravel,
    reshape,
    stack,
)
from py_tensor.ops.operands import Operand, known
from py_tensor.ops.quantiles import percentile
from py_tensor.ops.reduction import max, mean, min, std, sum
from py_tensor.ops.scatter import scatter
from py_tensor.ops.searching import element_at, is_increasing, searchsorted
from py_tensor.shapes import size_of
from py_tensor.tensor import Tensor, tensor_of

__all__ = ["histogram", "histogram2d", "histogram_bin_edges", "histogramdd"]


Bins = int | str | Operand

MAX_BY_POSITION = 1 << 20  # with more bins, float32 may place an element two bins off

RULES = ("auto", "doane", "fd", "rice", "scott", "sqrt", "stone", "sturges")


def histogram_bin_edges(
    a: Operand,
    bins: Bins = 10,
    range: tuple[float, float] | None = None,
    weights: Operand | None = None,
) -> Tensor:
    """Return the bin edges that `histogram` uses; `weights` has no effect."""
    x = ravel(tensor_of(a, "histogram_bin_edges"))
    return _bins("histogram_bin_edges", x, bins, range, weighted=weights is not None).edges


class _Bins(NamedTuple):
    """The edges of bins, and the ends of their range if the widths are equal."""

    edges: Tensor
    ends: tuple[Tensor, Tensor] | None = None


def _bins(
    op: str, given: Tensor, bins: Bins, limits: Sequence[float] | None, *, weighted: bool
) -> _Bins:
    x = as_floating(given, op, REAL_FLOATING)
    if limits is not None and not (
        limits[0] <= limits[1] and all(math.isfinite(v) for v in limits)
    ):
        raise ValueError(f"{op}: range must be finite and increasing, not {limits}")
    if isinstance(bins, str):
        if weighted:
            raise TypeError(f"{op}: the rule {bins!r} does not support weights")
        bins, limits = _by_rule(op, x, bins, limits, whole=given.dtype.kind in "biu")
    elif not hasattr(bins, "__index__") or getattr(bins, "ndim", 0):
        edges = tensor_of(bins, op, device=x.device)
        if not edges.ndim:
            raise TypeError(f"{op}: bins must be an int, edges or the name of a rule, not {bins!r}")
        if edges.ndim != 1:
            raise ShapeError(f"{op}: edges must be 1-D, not of shape {edges.shape}")
        REAL.check(op, edges.dtype)
        if not is_increasing(bins):
            raise ValueError(f"{op}: edges must increase monotonically")
        return _Bins(edges)
    count = as_index(bins)
    if count < 1:
        raise ValueError(f"{op}: bins must be at least 1, not {count}")
    if limits is None and x.size:
        values = known(x)
        if values is not None and not math.isfinite(values.max() - values.min()):
            raise ValueError(
                f"{op}: the range of the elements, {values.min()} to {values.max()}, is not finite"
            )
        low, high = min(x), max(x)
    else:
        low, high = (full((), float(v), x.dtype, device=x.device) for v in limits or (0.0, 1.0))
    alike = equal(low, high)
    low, high = choose(alike, low - 0.5, low), choose(alike, high + 0.5, high)
    number = arange(count + 1, device=x.device)
    # `maximum` rounds the product before the sum; GPUs would fuse the two otherwise. When fused,
    # -1 + 3 * (1 / 3) is not 0, and elements at edges fall into the bin below.
    inside = low + maximum(number * ((high - low) / count), 0.0)
    edges = choose(equal(number, count), high, inside)
    values = known(edges) if given.dtype.kind == "f" else None  # coarse for large integers
    if values is not None and not (values[:-1] < values[1:]).all():
        width = f"the range {low.item()} to {high.item()}"
        if not math.isfinite(values[1]):
            raise ValueError(f"{op}: {width} is wider than {edges.dtype} allows")
        raise ValueError(f"{op}: {width} has too few {edges.dtype} numbers for {count} bins")
    return _Bins(edges, (low, high))


def _by_rule(
    op: str, x: Tensor, rule: str, limits: Sequence[float] | None, *, whole: bool
) -> tuple[int, Sequence[float]]:
    """Return the number of bins that a rule gives, and the range of the elements; x is read.

    The rules are those of `numpy.histogram_bin_edges`. Bins of integers are at least 1 wide.
    """
    if rule not in RULES:
        raise ValueError(
            f"{op}: bins must be an int, edges or one of {', '.join(RULES)}, not {rule!r}"
        )
    if limits is not None:
        x = x[(x >= limits[0]) & (x <= limits[1])]
    n = x.size
    if not n:
        return 1, limits or (0.0, 1.0)
    least, most = stack([min(x), max(x)]).tolist()
    low, high = limits or (least, most)
    if not (math.isfinite(low) and math.isfinite(high)):
        raise ValueError(f"{op}: the range of the elements, {low} to {high}, is not finite")
    if low == high:
        low, high = low - 0.5, high + 0.5
    width = _width(x, rule, most - least, low, high)
    if not width:
        return 1, (low, high)
    return math.ceil((high - low) / (builtins.max(width, 1) if whole else width)), (low, high)


def _width(x: Tensor, rule: str, spread: float, low: float, high: float) -> float:
    """Return the bin width by a rule; 0 if it gives none."""
    n = x.size
    if rule == "sqrt":
        return spread / math.sqrt(n)
    if rule == "sturges":
        return spread / (math.log2(n) + 1)
    if rule == "rice":
        return spread / (2 * n ** (1 / 3))
    if rule == "scott":
        return (24 * math.pi**0.5 / n) ** (1 / 3) * std(x).item()
    if rule == "stone":
        if n == 1 or not spread:
            return 0.0
        most = builtins.max(100, math.isqrt(n))
        tried = builtins.range(1, most + 1)
        squares = stack([_square_of_counts(x, k, low, high) for k in tried]).tolist()
        errors = [(2 - (n + 1) * s / n**2) * k for k, s in zip(tried, squares, strict=True)]
        return spread / (1 + errors.index(builtins.min(errors)))
    if rule == "doane":
        scale = std(x)
        skew, scale = stack([mean(((x - mean(x)) / scale) ** 3), scale]).tolist()
        if n < 3 or not scale:
            return 0.0
        usual = math.sqrt(6 * (n - 2) / ((n + 1) * (n + 3)))
        return spread / (1 + math.log2(n) + math.log2(1 + abs(skew) / usual))
    upper, lower = percentile(x, [75, 25]).tolist()
    between_quartiles = 2 * (upper - lower) * n ** (-1 / 3)
    if rule == "fd":
        return between_quartiles
    least = _width(x, "sqrt", spread, low, high) / 2
    return builtins.min(
        builtins.max(between_quartiles, least), _width(x, "sturges", spread, low, high)
    )


def _square_of_counts(x: Tensor, bins: int, low: float, high: float) -> Tensor:
    """Return the exact sum of the squared counts in bins of equal width."""
    found = _bins("histogram", x, bins, (low, high), weighted=False)
    counts = converted(_counted(_bin_of(x, found), bins, None), dtypes.int64)
    return sum(counts * counts)


def _widths(edges: Tensor, dtype: DType) -> Tensor:
    edges = converted(edges, dtype)  # integer edges may not fit
    return edges[1:] - edges[:-1]


def _bin_of(x: Tensor, bins: _Bins) -> Tensor:
    """Return the index of each element's bin, or an index beyond all bins if it is in none.

    Integers among integer edges are found exactly, all others as floats.
    """
    edges, ends = bins
    count = edges.size - 1
    if count < 1:
        return zeros(x.shape, dtypes.int32, device=x.device)
    if edges.dtype.kind not in "iu":
        x = as_floating(x, "histogram", REAL_FLOATING)
    if x.dtype.kind == "f":
        x = converted(x, dtypes.at_least_single(x.dtype))
        edges = converted(edges, x.dtype)
    else:
        x, edges = in_common_dtype("histogram", x, edges)
    low, high = ends or (edges[0], edges[-1])
    if ends is None or count > MAX_BY_POSITION:
        number = searchsorted(edges, x, "right") - 1
    else:
        number = _by_position(x, edges, low, high)
    number = choose(equal(x, high), count - 1, number)
    return choose((x >= low) & (x <= high), number, count)


def _by_position(x: Tensor, edges: Tensor, low: Tensor, high: Tensor) -> Tensor:
    """Return the index of the bin of each element in the range of bins of equal width.

    As in NumPy, it is computed from the position in the range, and then corrected by the edges of
    that bin. The edges of very narrow bins are rounded to few numbers; elements may then be in
    another bin than a search would find.
    """
    low, high = (converted(v, x.dtype) for v in (low, high))
    count = edges.size - 1
    number = converted((x - low) / (high - low) * count, dtypes.int32)
    number = number.clip(0, count - 1)
    above = choose(x >= element_at(edges, number + 1), number + 1, number)
    return choose(less(x, element_at(edges, number)), number - 1, above)


def _counted(number: Tensor, count: int, weights: Tensor | None) -> Tensor:
    """Return the number of elements in each bin, or the sums of their weights."""
    dtype = dtypes.int32 if weights is None else weights.dtype
    none = zeros(count, dtype, device=number.device)
    if not count:
        return none
    return scatter(none, (0,), (number,), 0, 1 if weights is None else weights, "add", op="")


def _weights(op: str, weights: Operand, x: Tensor) -> Tensor:
    found = tensor_of(weights, op, device=x.device)
    return converted(found, dtypes.int32) if found.dtype is dtypes.bool_ else found


def histogram(
    a: Operand,
    bins: Bins = 10,
    range: tuple[float, float] | None = None,
    density: bool | None = None,
    weights: Operand | None = None,
) -> tuple[Tensor, Tensor]:
    """Return the number of elements in each bin, and the bin edges.

    Parameters
    ----------
    bins
        The number of bins of equal width, a vector of increasing edges, or the name of a rule:
        "auto", "doane", "fd", "rice", "scott", "sqrt", "stone" or "sturges", as in NumPy. A rule
        reads the elements.
    range : tuple, optional
        The start of the first bin and the end of the last; by default the smallest and largest
        element.
    density : bool
        Whether to return a probability density: the counts normalized so that the integral is 1.
    weights : optional
        The weight of each element.

    Raises
    ------
    ShapeError
        If the weights have a different shape or the edges are not a vector.
    ValueError
        If the number of bins is below 1, the rule is unknown, the range is not finite and
        increasing, or the edges do not increase. Also if the elements are not finite and no range
        is given, or if the range is too narrow for the number of bins. GPU tensors are read for
        these checks only if a rule reads them; otherwise their edges are infinite, NaN or equal.
    TypeError
        If a rule is combined with weights, or the elements are complex.
    """
    x = ravel(tensor_of(a, "histogram"))
    found = _bins("histogram", x, bins, range, weighted=weights is not None)
    edges = found.edges
    given = None if weights is None else ravel(_weights("histogram", weights, x))
    if given is not None and given.shape != x.shape:
        raise ShapeError(
            f"histogram: weights of shape {given.shape} do not match a of shape {x.shape}"
        )
    counts = _counted(_bin_of(x, found), builtins.max(edges.size - 1, 0), given)
    if density:
        counts = counts / sum(counts) / _widths(edges, dtypes.floating(x.dtype))
    return counts, edges


def histogram2d(
    x: Operand,
    y: Operand,
    bins: Any = 10,
    range: Sequence[Sequence[float] | None] | None = None,
    density: bool | None = None,
    weights: Operand | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """Return the number of points in each cell of a 2-D grid, and the bin edges along each axis.

    Parameters
    ----------
    bins
        As in `histogram`: for both axes, or a pair.
    range
        A pair of ranges, one for each axis.
    density, weights
        As in `histogram`.

    Raises
    ------
    ShapeError
        If `x` and `y` are not vectors of equal length.
    """
    first = as_floating(x, "histogram2d", REAL_FLOATING)
    y = tensor_of(y, "histogram2d", device=first.device)
    second = as_floating(y, "histogram2d", REAL_FLOATING)
    if first.ndim != 1 or first.shape != second.shape:
        raise ShapeError(
            f"histogram2d: x of shape {first.shape} does not match y of shape {second.shape}"
        )
    given = bins.tolist() if len(getattr(bins, "shape", ())) == 1 and len(bins) == 2 else bins
    is_pair = type(given) in (list, tuple) and len(given) == 2
    pair: Sequence[Any] = given if is_pair else (given, given)
    counts, edges = _of_points("histogram2d", (first, second), pair, range, density, weights)
    return counts, edges[0], edges[1]


def histogramdd(
    sample: Operand | Sequence[Operand],
    bins: Any = 10,
    range: Sequence[Sequence[float] | None] | None = None,
    density: bool | None = None,
    weights: Operand | None = None,
) -> tuple[Tensor, list[Tensor]]:
    """Return the number of points in each cell of an n-D grid, and the bin edges along each axis.

    Parameters
    ----------
    sample
        A matrix with a row for each point, a vector of points on one axis, or a list of vectors,
        one for each axis.
    bins
        As in `histogram`: for all axes, or a list with one entry for each.
    range
        A range or None for each axis.
    density, weights
        As in `histogram`.

    Raises
    ------
    ShapeError
        If the sample is neither a matrix nor vectors of equal length.
    ValueError
        If the number of bins or ranges does not match the number of axes.
    """
    if isinstance(sample, list | tuple):
        vectors = [as_floating(v, "histogramdd", REAL_FLOATING) for v in cast("list[Any]", sample)]
    else:
        x = as_floating(sample, "histogramdd", REAL_FLOATING)
        if x.ndim not in (1, 2):
            raise ShapeError(f"histogramdd: takes a matrix of points, not shape {x.shape}")
        vectors = [x] if x.ndim == 1 else [x[:, i] for i in builtins.range(x.shape[1])]
    if not vectors or any(v.ndim != 1 or v.shape != vectors[0].shape for v in vectors):
        raise ShapeError(
            f"histogramdd: coordinates must have the same shape, not {[v.shape for v in vectors]}"
        )
    given = bins.tolist() if len(getattr(bins, "shape", ())) == 1 else bins
    each = given if type(given) in (list, tuple) else [given] * len(vectors)
    if len(each) != len(vectors) or (range is not None and len(range) != len(vectors)):
        raise ValueError(
            f"histogramdd: bins {bins} and range {range} do not match {len(vectors)} axes"
        )
    return _of_points("histogramdd", vectors, each, range, density, weights)


def _of_points(
    op: str,
    vectors: Sequence[Tensor],
    bins: Sequence[Any],
    limits: Sequence[Sequence[float] | None] | None,
    density: bool | None,
    weights: Operand | None,
) -> tuple[Tensor, list[Tensor]]:
    """Return the counts in a grid with one axis per vector, and its edges."""
    first = vectors[0]
    given = None if weights is None else _weights(op, weights, first)
    ranges = [None] * len(vectors) if limits is None else limits
    if any(isinstance(b, str) for b in bins):
        raise TypeError(f"{op}: bins must be ints or edges; rules are for one axis")
    found = [
        _bins(op, v, b, r, weighted=weights is not None)
        for v, b, r in zip(vectors, bins, ranges, strict=True)
    ]
    edges = [each.edges for each in found]
    shape = tuple(builtins.max(e.size - 1, 0) for e in edges)
    field, beside = None, None
    for v, each, n in zip(vectors, found, shape, strict=True):
        number = _bin_of(v, each)
        out = equal(number, n)
        field = number if field is None else field * n + number
        beside = out if beside is None else beside | out
    assert field is not None
    assert beside is not None
    total = size_of(shape)
    counts = _counted(choose(beside, total, field), total, given)
    counts = reshape(converted(counts, first.dtype), shape)
    if density:
        counts = counts / sum(counts)
        for axis, e in enumerate(edges):
            widths = _widths(e, first.dtype)
            counts = counts / reshape(widths, (-1, *(1,) * (len(edges) - axis - 1)))
    return counts, edges


for _function in (histogram, histogram2d, histogram_bin_edges, histogramdd):
    register(_function, method=False)
