"""Views of a tensor: a table, a heat map, a histogram, an image. All are tensor expressions.

A tensor of more than two axes is shown a plane at a time; planes are counted in row-major order.
"""

from __future__ import annotations

from array import array
from math import prod
from typing import Any

import py_tensor as pt
from py_tensor.convert.printing import format_str
from py_tensor.display.charts import chart, max_shown
from py_tensor.display.options import ChartOptions, ImageOptions
from py_tensor.display.pictures import (
    PLAIN,
    can_paint,
    is_colour,
    picture,
    taken,
    thumbnail,
    value_range,
)

ROWS, COLUMNS = 50, 20
"""Of one page of a table."""

LARGEST_MAP = 512
"""Pixels along each side of a heat map: blocks of a larger plane are averaged."""

BINS = 48
COUNTED_AT_ONCE = 1 << 24
"""Elements of a histogram that one dispatch counts: int32 counts stay exact, and it stays short."""

COUNTED_AT_ONCE_ON_CPU = 1 << 17
"""Each takes 48 bytes there while they are counted."""

LEAST_SPAN = 1e-36
"""Values that differ by less than about this are in one bin: a GPU may take it for 0."""

Content = tuple[dict[str, Any], Any]
"""A bundle, and the pixels of its image or None."""


async def view(x: pt.Tensor, name: str, place: dict[str, int], blocking: bool) -> Content:
    """One view as a bundle; `place` is where to look, by "plane", "row" and "column".

    Of complex numbers the absolute values are drawn.
    """
    if x.dtype.kind == "c" and name != "table":
        x = abs(x)
    makers = {"table": _table, "plot": _plot, "heatmap": _heatmap, "histogram": _histogram}
    return await (makers | {"image": _image})[name](x, place, blocking)


async def elements(x: pt.Tensor, blocking: bool) -> Any:
    """The elements as nested lists, waiting for the GPU by blocking or by suspending."""
    return x.tolist() if blocking else (await x.to_numpy_async()).tolist()


def _plane(x: pt.Tensor, place: dict[str, int]) -> tuple[pt.Tensor, dict[str, Any]]:
    """The plane at a place, 2-D, and what tells which of how many it is; a row is a column."""
    if x.ndim == 1:
        return x.reshape(x.size, 1), {"plane": 0, "planes": 1, "index": []}
    leading = x.shape[:-2]
    planes = 1
    for n in leading:
        planes *= n
    plane = min(max(place.get("plane", 0), 0), planes - 1)
    index: list[int] = []
    rest = plane
    for n in reversed(leading):
        rest, at = divmod(rest, n)
        index.insert(0, at)
    return x[tuple(index)], {"plane": plane, "planes": planes, "index": index}


def _text_of(value: complex, kind: str) -> str:
    return format_str((), kind, [value], edge=False)


def _kind(x: pt.Tensor) -> str:
    return {"b": "bool", "f": str(x.dtype), "c": str(x.dtype)}.get(x.dtype.kind, "int")


async def _table(x: pt.Tensor, place: dict[str, int], blocking: bool) -> Content:
    shown, which = _plane(x, place)
    height, width = shown.shape
    row = min(max(place.get("row", 0), 0), (height - 1) // ROWS * ROWS)
    column = min(max(place.get("column", 0), 0), (width - 1) // COLUMNS * COLUMNS)
    window = shown[row : row + ROWS, column : column + COLUMNS]
    values = await elements(window, blocking)
    cells = [[_text_of(value, _kind(x)) for value in line] for line in values]
    size = {"height": height, "width": width, "row": row, "column": column}
    page = {"rows": ROWS, "columns": COLUMNS, "isVector": x.ndim == 1}
    return {"kind": "table", "cells": cells, **size, **page, **which}, None


async def _plot(x: pt.Tensor, place: dict[str, int], blocking: bool) -> Content:
    return await chart(x, None, ChartOptions(xlabel="index")).bundle(blocking), None


async def _heatmap(x: pt.Tensor, place: dict[str, int], blocking: bool) -> Content:
    shown, which = _plane(x, place)
    height, width = shown.shape
    down, across = _steps(shown)
    small = thumbnail(shown[::down, ::across], LARGEST_MAP, LARGEST_MAP)
    bounds = pt.stack(value_range(small))
    bundle = await drawn(small, blocking)
    low, high = await elements(bounds, blocking)
    ends = [_text_of(value, str(bounds.dtype)) for value in (low, high)] if low <= high else []
    facts = {"height": height, "width": width, "ends": ends, "steps": [down, across]}
    return {**bundle[0], **which, "kind": "heatmap", "of": facts}, bundle[1]


def _steps(x: pt.Tensor) -> list[int]:
    """Every how manieth index along each axis is looked at, so that a view takes seconds at most.

    All are odd, so that even and odd indices are met.
    """
    steps = [1] * x.ndim
    kept = list(x.shape)
    while prod(kept) > max_shown(x):
        axis = kept.index(max(kept))
        steps[axis] = 2 * steps[axis] + 1
        kept[axis] = -(-x.shape[axis] // steps[axis])
    return steps


async def _image(x: pt.Tensor, place: dict[str, int], blocking: bool) -> Content:
    return await drawn(x, blocking)


async def drawn(x: pt.Tensor, blocking: bool, options: ImageOptions = PLAIN) -> Content:
    """A tensor as an image."""
    made = picture(x, options, can_paint(x))
    label = f"{'Image' if is_colour(x) else 'Heat map'} of a tensor of shape {x.shape}"
    bundle = {"kind": "image", "width": made.width, "height": made.height, "label": label}
    return {**bundle, "scale": None}, await taken(made, blocking)


async def _histogram(x: pt.Tensor, place: dict[str, int], blocking: bool) -> Content:
    """Counts of the finite elements between equal bounds; the others are counted apart.

    An element lies in the bin of the last edge that it is not below, as in `numpy.histogram`:
    comparisons alone, which no extreme of a dtype can make overflow.
    """
    steps = _steps(x)
    seen = x[tuple(slice(None, None, step) for step in steps)].realize()
    flat = seen.reshape(seen.size)
    values = flat.astype(pt.int32) if x.dtype.kind == "b" else flat
    if values.dtype.kind == "f":
        other, edges = await _real_edges(values, blocking)
    else:
        other, edges = [0, 0, 0], await _whole_edges(values, blocking)
    starts = pt.tensor(edges[:-1], dtype=values.dtype, device=x.device).reshape(-1, 1)
    from_there_on = [0] * (len(edges) - 1)  # of each bin and all behind it
    at_once = COUNTED_AT_ONCE_ON_CPU if str(x.device) == "cpu" else COUNTED_AT_ONCE
    for begin in range(0, values.size, at_once):
        part = values[begin : begin + at_once]
        found = await elements((part.reshape(1, part.size) >= starts).sum(axis=1), blocking)
        from_there_on = [a + b for a, b in zip(from_there_on, found, strict=True)]
    nan, minus, plus = other
    ends = [*from_there_on[1:], plus]
    if nan + minus + plus == values.size:  # no bin has a reason to be where it is
        from_there_on, ends = [0], [0]
    return {
        "kind": "histogram",
        "counts": [a - b for a, b in zip(from_there_on, ends, strict=True)],
        "edges": edges,
        "other": {"nan": nan, "-inf": minus, "inf": plus},
        "isWhole": values.dtype.kind != "f",
        "isBool": x.dtype.kind == "b",
        "step": prod(steps),
        "size": x.size,
    }, None


async def _whole_edges(x: pt.Tensor, blocking: bool) -> list[Any]:
    """Each bin has the same number of whole values, so that each has a fair share."""
    low, high = await elements(pt.stack([x.min(), x.max()]), blocking)
    width = -(-(high - low + 1) // BINS)
    bins = -(-(high - low + 1) // width)
    return [low + i * width for i in range(bins + 1)]


async def _real_edges(x: pt.Tensor, blocking: bool) -> tuple[list[int], list[float]]:
    """How many are NaN, -inf and inf; and edges that the dtype has, each above the one before."""
    odd = [pt.isnan(x), x == float("-inf"), x == float("inf")]
    other = [0, 0, 0]
    for begin in range(0, x.size, COUNTED_AT_ONCE):
        part = slice(begin, begin + COUNTED_AT_ONCE)
        found = await elements(pt.stack([mask[part].sum() for mask in odd]), blocking)
        other = [a + b for a, b in zip(other, found, strict=True)]
    low, high = await elements(pt.stack(value_range(x)), blocking)
    if low > high:  # no element is finite
        low = high = 0.0
    half = high * 0.5 - low * 0.5  # the difference itself may be infinite
    if half <= LEAST_SPAN and (str(x.device) != "cpu" or half == 0):
        return other, [low, high]
    shares = (i / BINS for i in range(1, BINS))
    inner = [low * (1 - t) + high * t if half > 1e300 else low + 2 * half * t for t in shares]
    if x.dtype is pt.float32:
        inner = array("f", inner).tolist()
    return other, sorted({low, high, *(edge for edge in inner if low < edge < high)})
