"""Counts of elements in bins, for `pt.hist`."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import ceil, floor
from typing import Any

from py_tensor.base.dtypes import float32
from py_tensor.convert.conversion import tensor
from py_tensor.display.pictures import numbers, value_range
from py_tensor.ops.elementwise import isnan
from py_tensor.ops.movement import concat, stack
from py_tensor.ops.reduction import max as largest
from py_tensor.ops.reduction import min as least
from py_tensor.tensors.tensor import Tensor

MAX_DEFAULT_BINS = 48
"""The largest default number of bins."""

COUNTED_AT_ONCE = 1 << 24
"""The elements counted per dispatch: int32 counts stay exact, and the dispatch stays short."""

COUNTED_AT_ONCE_ON_CPU = 1 << 17
"""The same for the CPU, where counting takes 48 bytes of memory per element."""

MIN_SPAN = 1e-36
"""A smaller range is one bin, because a GPU may flush its subnormal bin widths to 0."""

INFINITY = float("inf")


@dataclass(frozen=True, slots=True)
class Counts:
    """The number of elements in each bin, and of NaN, -inf and inf, which are in no bin."""

    inside: list[int]
    nan: int
    minus: int
    plus: int

    def other(self, size: int) -> dict[str, int]:
        """Return the number of elements in no bin by kind, for a tensor of `size` elements."""
        odd = {"nan": self.nan, "-inf": self.minus, "inf": self.plus}
        outside = size - sum(self.inside) - sum(odd.values())
        return odd | ({"outside the range": outside} if outside else {})


@dataclass(frozen=True, slots=True)
class Bins:
    """Bins that several tensors share, and the counts of each tensor.

    Attributes
    ----------
    is_whole : bool
        Whether each bin covers the same number of integers, including its lower edge.
    """

    edges: list[Any]
    is_whole: bool
    counts: list[Counts]


def bins_for(size: int) -> int:
    """Return the number of bins by Rice's rule, at most `MAX_DEFAULT_BINS`."""
    return min(MAX_DEFAULT_BINS, max(1, ceil(2 * size ** (1 / 3) - 1e-9)))


async def counted(
    series: Sequence[Tensor],
    bins: int | Sequence[float] | None,
    limits: tuple[float, float] | None,
    blocking: bool,
) -> Bins:
    """Count the finite elements of 1-D tensors between the same edges.

    Bins include their lower edge, and the last bin also its upper edge, as in `numpy.histogram`.
    Elements are only compared with edges, so no value of any dtype can overflow. The comparisons
    run on the device of each tensor, and the counts are read.

    Parameters
    ----------
    bins
        The number of bins of equal width, or their edges; by default `bins_for` the largest tensor.
    limits
        The outer edges; by default the smallest and the largest finite element.
    """
    odd = [await _odd(x, blocking) for x in series]
    is_whole = bins is None and limits is None and all(not x.dtype.is_floating for x in series)
    if bins is not None and not isinstance(bins, int):
        edges: list[Any] = list(bins)
    else:
        low: Any
        high: Any
        low, high = limits or _outer([await _ends(x, blocking) for x in series])
        if bins is not None and low == high:
            low, high = low - 0.5, high + 0.5
        number = bins or bins_for(max((x.size for x in series), default=0))
        edges = _whole_edges(low, high, number) if is_whole else _real_edges(low, high, number)
        floats = [x.dtype for x in series if x.dtype.is_floating]
        if floats and not any(dtype.has_64_bits for dtype in floats):
            edges = _in_float32(edges)
        if not is_whole and _is_narrow(edges, series):
            edges = [edges[0], edges[-1]]
    counts = [
        Counts(await _inside(x, edges, blocking), *special)
        for x, special in zip(series, odd, strict=True)
    ]
    return Bins(edges, is_whole, counts)


async def _odd(x: Tensor, blocking: bool) -> list[int]:
    """Count the elements that are NaN, -inf and inf."""
    counts = [0, 0, 0]
    if not x.dtype.is_floating:
        return counts
    for begin in range(0, x.size, COUNTED_AT_ONCE):
        piece = x[begin : begin + COUNTED_AT_ONCE]
        masks = stack([isnan(piece).sum(), (piece == -INFINITY).sum(), (piece == INFINITY).sum()])
        counts = [a + b for a, b in zip(counts, await numbers(masks, blocking), strict=True)]
    return counts


async def _ends(x: Tensor, blocking: bool) -> tuple[Any, Any]:
    """Return the smallest and the largest finite element; (inf, -inf) if there are none."""
    if not x.size:
        return INFINITY, -INFINITY
    ends = (least(x), largest(x)) if not x.dtype.is_floating else value_range(x)
    low, high = await numbers(stack(list(ends)), blocking)
    return low, high


def _outer(ends: Sequence[tuple[Any, Any]]) -> tuple[Any, Any]:
    """Return the smallest and the largest of the ends of all tensors; zeros if none is finite."""
    low, high = min((a for a, _ in ends), default=0), max((b for _, b in ends), default=0)
    return (low, high) if low <= high else (0, 0)


def _whole_edges(low: int, high: int, bins: int) -> list[int]:
    """Return the edges of at most `bins` bins that cover the same number of integers each."""
    width = -(-(high - low + 1) // bins)
    return [low + i * width for i in range(-(-(high - low + 1) // width) + 1)]


def _real_edges(low: float, high: float, bins: int) -> list[float]:
    """Return strictly increasing edges of equal distances."""
    half = high * 0.5 - low * 0.5  # the difference itself may be infinite
    shares = (i / bins for i in range(1, bins))
    inner = (low * (1 - t) + high * t if half > 1e300 else low + 2 * half * t for t in shares)
    between = {edge for edge in inner if low < edge < high}
    return [low, high] if low == high else sorted({low, high} | between)


def _in_float32(edges: Sequence[float]) -> list[float]:
    """Round edges to float32 and drop inner edges that coincide with another one."""
    first, *inner, last = array("f", edges)
    return [first, *sorted({edge for edge in inner if first < edge < last}), last]


def _is_narrow(edges: Sequence[float], series: Sequence[Tensor]) -> bool:
    """Return whether the range of the edges is too small for the arithmetic of a GPU."""
    on_cpu = all(x.device.computes_cpu_ops for x in series)
    return not on_cpu and edges[-1] * 0.5 - edges[0] * 0.5 <= MIN_SPAN


async def _inside(x: Tensor, edges: Sequence[Any], blocking: bool) -> list[int]:
    """Count the elements in each bin."""
    if x.dtype.is_floating:
        if not x.dtype.has_64_bits:
            edges = [min(max(edge, float32.lowest), float32.highest) for edge in edges]
        starts = tensor(edges[:-1], dtype=x.dtype, device=x.device).reshape(len(edges) - 1, 1)
        end = tensor(edges[-1:], dtype=x.dtype, device=x.device).reshape(1, 1)
    else:  # The first integer of each bin, and the first one above the last bin.
        bits = 8 * x.dtype.itemsize
        low, high = (
            (0, 2**bits - 1) if x.dtype.is_unsigned else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
        )
        first = [*map(ceil, edges[:-1]), floor(edges[-1]) + 1]
        known = [max(start, low) for start in first if start <= high]
        starts = tensor(known, dtype=x.dtype, device=x.device).reshape(len(known), 1)
        end = None
    limit = COUNTED_AT_ONCE_ON_CPU if x.device.computes_cpu_ops else COUNTED_AT_ONCE
    at_once = max(1, limit * MAX_DEFAULT_BINS // max(len(edges), MAX_DEFAULT_BINS))
    from_there_on = [0] * len(edges)  # elements in each bin and above it, and above the last bin
    for begin in range(0, x.size, at_once):
        piece = x[begin : begin + at_once].reshape(1, -1)
        sums = (piece >= starts).sum(axis=1)
        if end is not None:
            sums = concat([sums, (piece > end).sum(axis=1)])
        for i, n in enumerate(await numbers(sums, blocking)):
            from_there_on[i] += n
    return [a - b for a, b in pairwise(from_there_on)]
