"""Histograms: counts of elements in bins."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import reduce
from typing import Any, NamedTuple, cast

from py_tensor.adapters.hosted import naming
from py_tensor.base import dtypes
from py_tensor.base.errors import ShapeError
from py_tensor.convert.host_arrays import on_host
from py_tensor.ir.node import Device
from py_tensor.ops import float64_bits as f64
from py_tensor.ops.creation import arange, full, linspace, zeros
from py_tensor.ops.elementwise import maximum, minimum, where
from py_tensor.ops.gather import scatter
from py_tensor.ops.movement import as_floating, converted, in_common_dtype, widened
from py_tensor.ops.operands import Operand, known, numbers_of, real_number_of, whole_number
from py_tensor.ops.record import apply, build
from py_tensor.ops.sorting import element_at, is_increasing, searchsorted
from py_tensor.runtime.host import host
from py_tensor.tensors.tensor import Tensor, tensor_of

__all__ = ["histogram", "histogram2d", "histogram_bin_edges", "histogramdd"]


Bins = int | str | Operand

MAX_BY_POSITION = 1 << 20  # with more bins, float32 may place an element two bins off

WIDEST = 3.4e38  # in a wider range, positions in float32 would be infinite


def histogram_bin_edges(
    a: Operand,
    bins: Bins = 10,
    range: tuple[float, float] | None = None,
    weights: Operand | None = None,
) -> Tensor:
    """Return the bin edges that `histogram` uses; `weights` has no effect."""
    x = tensor_of(a, "histogram_bin_edges").ravel()
    return _bins("histogram_bin_edges", x, bins, range, weights).edges


class _Range(NamedTuple):
    """The start and the end of a range, in the dtype of NumPy's arithmetic."""

    low: float
    high: float
    dtype: dtypes.DType = dtypes.float64


class _Bins(NamedTuple):
    """The edges of bins.

    Attributes
    ----------
    edges : Tensor
        The edges that are returned.
    ends : tuple, optional
        The ends of the range if the widths are equal; their bits if there are `bits`.
    bits : Tensor, optional
        The edges as the bits of float64 numbers, if NumPy compares the elements with those.
    limits : tuple, optional
        The range, if the host has it.
    least : Tensor, optional
        The smallest element, if it determines the range between `bits`.
    """

    edges: Tensor
    ends: tuple[Tensor, Tensor] | None = None
    bits: Tensor | None = None
    limits: _Range | None = None
    least: Tensor | None = None

    def widths(self, dtype: dtypes.DType) -> Tensor:
        bits = self.bits
        if bits is None and self.edges.dtype.is_integer and not dtype.has_64_bits:
            bits = f64.float64_bits(self.edges)
        if bits is not None:
            return converted(_difference(bits[1:], bits[:-1]), dtype)
        edges = self.edges if self.edges.dtype.is_floating else converted(self.edges, dtype)
        return converted(edges[1:] - edges[:-1], dtype)


def _range(op: str, low: float, high: float, dtype: dtypes.DType) -> _Range:
    """Return a range with a width: at least 1 if the ends are equal."""
    if low == high:
        low, high = dtype.rounded(low - 0.5), dtype.rounded(high + 0.5)
        if low == high:
            raise ValueError(f"{op}: bins in the range {low} to {high} have no width")
    return _Range(low, high, dtype)


def _range_of(op: str, limits: Any) -> _Range | None:
    """Return the parameter `range`; tensors are read.

    As in NumPy, edges between float32 and float16 scalars are computed in that dtype. Python
    numbers beside them are rounded to it; all other ends are float64.
    """
    if limits is None:
        return None
    ends, shape = numbers_of(op, limits)
    if shape != (2,):
        raise ValueError(f"{op}: range must be a pair, not {limits}")
    end_dtypes = [dtypes.parse(v.dtype) for v in (limits, *limits) if hasattr(v, "dtype")]
    is_narrow = end_dtypes and all(d.is_floating and not d.has_64_bits for d in end_dtypes)
    dtype = reduce(dtypes.promote, end_dtypes) if is_narrow else dtypes.float64
    low, high = (dtype.rounded(float(real_number_of(op, "an end of range", v))) for v in ends)
    if not (low <= high and math.isfinite(low) and math.isfinite(high)):
        raise ValueError(f"{op}: range must be finite and increasing, not {limits}")
    return _range(op, low, high, dtype)


def _bins(
    op: str, sample: Tensor, bins: Bins, limits: Any, weights: Operand, *, wide: bool = False
) -> _Bins:
    """Return bins; with `wide`, edges between Python numbers are float64 for floats too."""
    dtypes.REAL_FLOATING.check(op, sample.dtype)
    limits = _range_of(op, limits)
    if isinstance(bins, str):
        if weights is not None:
            raise TypeError(f"{op}: the rule {bins!r} does not support weights")
        bins, limits = _by_rule(op, sample, bins, limits)
    elif not hasattr(bins, "__index__") or getattr(bins, "ndim", 0):
        edges = tensor_of(bins, op, device=sample.device)
        if not edges.ndim:
            raise TypeError(f"{op}: bins must be an int, edges or the name of a rule, not {bins!r}")
        if edges.ndim != 1:
            raise ShapeError(f"{op}: edges must be 1-D, not of shape {edges.shape}")
        dtypes.REAL.check(op, edges.dtype)
        if not is_increasing(bins):
            raise ValueError(f"{op}: edges must increase monotonically")
        return _Bins(edges, bits=_bits_beside(op, sample, bins, edges))
    count = whole_number(op, "bins", bins, 1)
    return _equal_bins(op, sample, count, limits, wide=wide)


def _equal_bins(
    op: str, sample: Tensor, count: int, limits: _Range | None, *, wide: bool = False
) -> _Bins:
    """Return bins of equal width."""
    x = as_floating(sample, op, dtypes.REAL_FLOATING)
    if limits is None and not x.size:
        limits = _Range(0.0, 1.0)
    has_python_ends = limits is not None and limits.dtype.has_64_bits
    is_exact = not sample.dtype.is_inexact or (wide and has_python_ends)
    if is_exact and not x.dtype.has_64_bits:
        return _wide_bins(sample, x.dtype, count, limits)
    if limits is None:
        values = known(x)
        if values is not None and not math.isfinite(values.max() - values.min()):
            words = f"the range of the elements, {values.min()} to {values.max()}, is not finite"
            raise ValueError(f"{op}: {words}")
        low, high = x.min(), x.max()
        alike = low == high
        low, high = where(alike, low - 0.5, low), where(alike, high + 0.5, high)
        edges = _in_equal_steps(low, high, count)
    else:
        low, high = _ends(limits, x.dtype if has_python_ends else limits.dtype, x.device)
        if has_python_ends:
            edges = _between(*limits[:2], count, x.dtype, x.device)
            if limits.high - limits.low > WIDEST:
                return _Bins(edges)
        else:
            edges = _in_equal_steps(low, high, count)
            edges = converted(edges, dtypes.promote(limits.dtype, x.dtype))
    values = known(edges)
    if values is not None and not (values[:-1] < values[1:]).all():
        ends = (low.item(), high.item()) if limits is None else limits[:2]
        words = f"has too few {edges.dtype} numbers for {count} bins"
        raise ValueError(f"{op}: the range {ends[0]} to {ends[1]} {words}")
    return _Bins(edges, (low, high), limits=limits)


def _ends(limits: _Range, dtype: dtypes.DType, device: Device) -> tuple[Tensor, Tensor]:
    return full((), limits.low, dtype, device=device), full((), limits.high, dtype, device=device)


def _in_equal_steps(low: Tensor, high: Tensor, count: int) -> Tensor:
    """Return NumPy's edges between floats, computed in their dtype."""
    number = arange(count + 1, dtype=low.dtype, device=low.device)
    # `maximum` rounds the product before the sum; GPUs would fuse the two otherwise. When fused,
    # -1 + 3 * (1 / 3) is not 0, and elements at edges fall into the bin below.
    inside = low + maximum(number * ((high - low) / count), 0.0)
    return where(number == count, high, inside)


def _between(low: float, high: float, count: int, dtype: dtypes.DType, device: Device) -> Tensor:
    """Return NumPy's edges between Python numbers; `linspace` may round ties differently."""
    if dtype.has_64_bits:
        return linspace(low, high, count + 1, dtype=dtype, device=device)
    bits = _edge_bits(count, f64.constant_bits(low, device), f64.constant_bits(high, device))
    return converted(f64.to_float32(bits), dtype)


def _edge_bits(count: int, low: Tensor, high: Tensor) -> Tensor:
    return f64.divided(low, high, arange(count + 1, device=low.device), count)


def _wide_bins(sample: Tensor, dtype: dtypes.DType, count: int, limits: _Range | None) -> _Bins:
    """Return bins of equal width whose edges are float64 numbers, as NumPy's are for integers."""
    if limits is None:
        x = widened(sample)
        least, most = x.min(), x.max()
        halves = (f64.constant_bits(half, x.device) for half in (0.5, -0.5))
        pairs = zip(map(f64.float64_bits, (least, most)), halves, strict=True)
        low, high = (where(least == most, apply(f64.SUBTRACT, pair), pair[0]) for pair in pairs)
    else:
        least = None
        low, high = (f64.constant_bits(v, sample.device) for v in limits[:2])
    if limits is None or limits.dtype.has_64_bits:
        bits = _edge_bits(count, low, high)
    else:
        steps = _in_equal_steps(*_ends(limits, limits.dtype, sample.device), count)
        bits = f64.float64_bits(converted(steps, dtypes.float32))
    return _Bins(converted(f64.to_float32(bits), dtype), (low, high), bits, limits, least)


def _bits_beside(op: str, x: Tensor, bins: Any, edges: Tensor) -> Tensor | None:
    """Return edges as float64 bits, for float edges that float32 integers are not compared with."""
    if not x.dtype.is_integer or x.dtype.is_packed:
        return None
    if not edges.dtype.is_floating or edges.dtype.has_64_bits:
        return None
    if isinstance(bins, Tensor):
        return f64.float64_bits(converted(edges, dtypes.float32))
    numbers = [f64.bits_of(float(v)) for v in numbers_of(op, bins)[0]]
    return tensor_of(numbers, op, dtype=dtypes.uint64, device=x.device)


def _by_rule(op: str, sample: Tensor, rule: str, limits: _Range | None) -> tuple[int, _Range]:
    """Return the number of bins that a rule of NumPy gives, and the range; x is read."""
    np, elements = host.load_numpy(), on_host(sample)
    is_narrow = sample.dtype.is_floating and not sample.dtype.has_64_bits
    bounds = (elements.min().item(), elements.max().item()) if elements.size else (0.0, 1.0)
    if not sample.dtype.is_inexact:
        elements = elements.astype(dtypes.longest(sample.dtype).name)
        if limits is None:  # no width depends on the least element, and smaller numbers are exact
            elements = (elements - elements.min(initial=bounds[0])).view("uint64")
    ends = None
    if limits is not None:
        scalar = float if limits.dtype.has_64_bits else np.dtype(limits.dtype.host).type
        ends = scalar(limits.low), scalar(limits.high)
    with naming(op):
        count = len(np.histogram_bin_edges(elements, rule, ends)) - 1
    return count, limits or _range(op, *bounds, sample.dtype if is_narrow else dtypes.float64)


def _bin_of(x: Tensor, bins: _Bins) -> Tensor:
    """Return the index of each element's bin, or an index beyond all bins if it is in none.

    Integers are found exactly, and floats among edges of their dtype.
    """
    edges, ends, bits = bins.edges, bins.ends, bins.bits
    count = edges.size - 1
    if count < 1:
        return zeros(x.shape, dtypes.int32, device=x.device)
    if bits is not None:
        x, edges, ends, near = _compared(x, bins)
    elif edges.dtype.is_integer and not x.dtype.is_floating:
        x, edges = in_common_dtype("histogram", x, edges)
        near, ends = None, (edges[0], edges[-1])
    else:
        x = as_floating(x, "histogram", dtypes.REAL_FLOATING)
        x = converted(x, dtypes.at_least_single(x.dtype))
        edges = converted(edges, x.dtype)
        low, high = (converted(v, x.dtype) for v in ends or (edges[0], edges[-1]))
        near = None if ends is None else (x - low) / (high - low) * count
        ends = low, high
    if near is None or count > MAX_BY_POSITION:
        number = searchsorted(edges, x, "right") - 1
    else:
        number = _corrected(converted(near, dtypes.int32), x, edges)
    number = minimum(number, count - 1)
    return number if ends is None else where((x >= ends[0]) & (x <= ends[1]), number, count)


_Compared = tuple[Tensor, Tensor, "tuple[Tensor | float, Tensor | float] | None", Tensor | None]
"""Elements and edges in a dtype that compares them exactly, and two optional values.

First, the smallest and the largest element in a bin; None if each element is. Second, the position
in the range, in bins, with an error below 1 up to `MAX_BY_POSITION` bins.
"""


def _compared(x: Tensor, bins: _Bins) -> _Compared:
    """Compare with edges that are float64 numbers."""
    _, ends, bits, limits, least = bins
    assert bits is not None
    if x.dtype.is_floating:
        assert limits is not None
        return _compared_as_singles(x, bits, limits)
    if x.dtype.has_64_bits or ends is None or _covers(limits, x.dtype):
        return _compared_as_float64(x, bits, ends, limits)
    return _compared_as_distances(x, bits, ends, limits, least)


def _compared_as_singles(x: Tensor, bits: Tensor, limits: _Range) -> _Compared:
    """Compare floats with the float32 numbers above the edges."""
    low, high = limits[:2]
    x = converted(x, dtypes.at_least_single(x.dtype))
    edges = build(f64.TO_FLOAT32_ABOVE, (bits,), None)
    ends = f64.single_above(low), -f64.single_above(-high)
    count = bits.size - 1
    is_too_coarse = high - low < count * max(abs(low), abs(high)) * 2.0**-20
    near = None if is_too_coarse else _position(x, -low, _span(limits), count)
    return x, edges, ends, near


def _compared_as_float64(
    x: Tensor, bits: Tensor, ends: tuple[Tensor, Tensor] | None, limits: _Range | None
) -> _Compared:
    """Compare integers by the order of the bits of float64 numbers."""
    count = bits.size - 1
    wide = f64.float64_bits(x)
    x, edges = (build(f64.ORDER_KEY, (v,), None) for v in (wide, bits))
    if ends is None:
        return x, edges, (edges[0], edges[count]), None
    span = _difference(ends[1], ends[0]) if limits is None else _span(limits)
    near = _position(_difference(wide, ends[0]), 0.0, span, count)
    if limits is None:  # the range is that of the elements
        return x, edges, None, near
    return x, edges, (f64.order_key_of(limits.low), f64.order_key_of(limits.high)), near


def _compared_as_distances(
    x: Tensor, bits: Tensor, ends: Any, limits: _Range | None, least: Tensor | None
) -> _Compared:
    """Compare integers of up to 32 bits with the integers above, all relative to the first one."""
    wide, whole = widened(x), build(f64.CEIL, (bits,), None)
    if limits is None:
        assert least is not None
        distance = converted(wide - least, dtypes.uint32)  # these wrap around
        edges, inside = converted(whole, wide.dtype) - least, None
        before, span = _difference(f64.float64_bits(least), ends[0]), _difference(ends[1], ends[0])
    else:
        low, before, inside = _first_integer(limits, x.dtype)
        distance, span = converted(wide, dtypes.uint32) - low % 2**32, _span(limits)
        edges = whole.clip(low, low + 2**32 - 1) - low
    near = _position(converted(distance, dtypes.float32), before, span, bits.size - 1)
    return distance, converted(edges, dtypes.uint32), inside, near


def _first_integer(limits: _Range, dtype: dtypes.DType) -> tuple[int, float, tuple[int, int]]:
    """Return the first integer in a range, what is before it, and the ends of those from it on."""
    lowest, highest = dtypes.integer_range(dtypes.numeric(dtype))
    low, high = max(math.ceil(limits.low), lowest), min(math.floor(limits.high), highest)
    if low > high:  # no integer is inside; the range may be beyond int64
        return lowest, 0.0, (1, 0)
    return low, low - limits.low, (0, high - low)


def _difference(x: Tensor, y: Tensor) -> Tensor:
    """Return x - y of the bits of float64 numbers, as float32."""
    return f64.to_float32(apply(f64.SUBTRACT, (x, y)))


def _span(limits: _Range) -> float | None:
    """Return the width of a range, if it is finite in float32."""
    span = limits.high - limits.low
    return span if span < WIDEST else None


def _position(
    distance: Tensor, before: Tensor | float, span: Tensor | float | None, count: int
) -> Tensor | None:
    """Return positions in bins, of distances from an origin that is `before` above the start."""
    return None if span is None else (distance + before) / span * count


def _covers(limits: _Range | None, dtype: dtypes.DType) -> bool:
    """Return whether a range contains all 32-bit integers of a dtype, and more."""
    low, high = dtypes.integer_range(dtype)
    return limits is not None and not dtype.is_packed and limits[0] <= low and limits[1] > high


def _corrected(number: Tensor, x: Tensor, edges: Tensor) -> Tensor:
    """Correct the estimated index of the bin of each element, as NumPy does.

    The edges of very narrow bins are rounded to few numbers; elements may then be in another bin
    than a search would find.
    """
    number = number.clip(0, edges.size - 2)
    above = where(x >= element_at(edges, number + 1), number + 1, number)
    return where(x < element_at(edges, number), number - 1, above)


def _counted(number: Tensor, count: int, weights: Tensor | None) -> Tensor:
    """Return the number of elements in each bin, or the sums of their weights."""
    dtype = dtypes.int32 if weights is None else weights.dtype
    none = zeros(count, dtype, device=number.device)
    if not count:
        return none
    return scatter(none, (0,), (number,), 0, 1 if weights is None else weights, "add", op="")


def _weights(op: str, weights: Operand, x: Tensor) -> Tensor:
    converted_weights = tensor_of(weights, op, device=x.device)
    return converted(converted_weights, dtypes.numeric(converted_weights.dtype))


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
        "auto", "doane", "fd", "rice", "scott", "sqrt", "stone" or "sturges", computed by NumPy.
        A rule reads the elements. Edges are rounded to the dtype of floats, and compared exactly
        with integers.
    range : tuple, optional
        The start of the first bin and the end of the last; by default the smallest and largest
        element. Edges are NumPy's numbers: float64 for integers, and rounded when returned. They
        are computed in float32 between float32 scalars, such as elements, and likewise in float16.
        Tensors are read.
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
    x = tensor_of(a, "histogram").ravel()
    chosen = _bins("histogram", x, bins, range, weights)
    edges = chosen.edges
    vector = None if weights is None else _weights("histogram", weights, x).ravel()
    if vector is not None and vector.shape != x.shape:
        words = f"weights of shape {vector.shape} do not match a of shape {x.shape}"
        raise ShapeError(f"histogram: {words}")
    counts = _counted(_bin_of(x, chosen), max(edges.size - 1, 0), vector)
    if density:
        counts = counts / counts.sum() / chosen.widths(dtypes.floating(x.dtype))
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
    first = tensor_of(x, "histogram2d")
    second = tensor_of(y, "histogram2d", device=first.device)
    if first.ndim != 1 or first.shape != second.shape:
        words = f"x of shape {first.shape} does not match y of shape {second.shape}"
        raise ShapeError(f"histogram2d: {words}")
    pair = bins.tolist() if len(getattr(bins, "shape", ())) == 1 and len(bins) == 2 else bins
    pair = pair if type(pair) in (list, tuple) and len(pair) == 2 else (pair, pair)
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
        vectors = [tensor_of(v, "histogramdd") for v in cast("list[Any]", sample)]
    else:
        x = tensor_of(sample, "histogramdd")
        if x.ndim not in (1, 2):
            raise ShapeError(f"histogramdd: takes a matrix of points, not shape {x.shape}")
        vectors = [*(x[:, None] if x.ndim == 1 else x).T]
    if not vectors or any(v.ndim != 1 or v.shape != vectors[0].shape for v in vectors):
        words = f"must have the same shape, not {[v.shape for v in vectors]}"
        raise ShapeError(f"histogramdd: coordinates {words}")
    listed = bins.tolist() if len(getattr(bins, "shape", ())) == 1 else bins
    each = listed if type(listed) in (list, tuple) else [listed] * len(vectors)
    if len(each) != len(vectors) or (range is not None and len(range) != len(vectors)):
        words = f"bins {bins} and range {range} do not match {len(vectors)} axes"
        raise ValueError(f"histogramdd: {words}")
    return _of_points("histogramdd", vectors, each, range, density, weights)


def _of_points(
    op: str, vectors: Sequence[Tensor], bins: Any, limits: Any, density: Any, weights: Operand
) -> tuple[Tensor, list[Tensor]]:
    """Return the counts in a grid with one axis per vector, and its edges."""
    first = vectors[0]
    floating = dtypes.REAL_FLOATING.check(op, first.dtype)
    weight = None if weights is None else _weights(op, weights, first)
    ranges = [None] * len(vectors) if limits is None else limits
    if any(isinstance(b, str) for b in bins):
        raise TypeError(f"{op}: bins must be ints or edges; rules are for one axis")
    chosen = [
        _bins(op, v, b, r, weights, wide=True)
        for v, b, r in zip(vectors, bins, ranges, strict=True)
    ]
    edges = [axis_bins.edges for axis_bins in chosen]
    shape = tuple(max(e.size - 1, 0) for e in edges)
    numbers = [_bin_of(v, axis_bins) for v, axis_bins in zip(vectors, chosen, strict=True)]
    cell, outside = numbers[0], numbers[0] == shape[0]
    for number, n in zip(numbers[1:], shape[1:], strict=True):
        cell, outside = cell * n + number, outside | (number == n)
    total = math.prod(shape)
    counts = _counted(where(outside, total, cell), total, weight)
    counts = converted(counts, floating).reshape(shape)
    if density:
        counts = counts / counts.sum()
        for axis, axis_bins in enumerate(chosen):
            behind = (1,) * (len(chosen) - axis - 1)
            counts = counts / axis_bins.widths(floating).reshape(-1, *behind)
    return counts, edges
