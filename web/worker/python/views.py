"""Views of a tensor: a table, a heat map, a histogram, an image. All are tensor expressions.

A tensor with more than two axes is shown one plane at a time; planes are numbered in row-major
order.
"""

from __future__ import annotations

from math import prod
from typing import Any

import py_tensor as pt
from py_tensor.convert.presentation import can_paint
from py_tensor.convert.printing import Elements, format_str
from py_tensor.display.charts import counted, max_shown, plot_chart
from py_tensor.display.options import PLAIN, Options
from py_tensor.display.pictures import (
    figure_facts,
    numbers,
    picture,
    taken,
    thumbnail,
    value_ends,
)
from py_tensor.display.shapes import is_colour

ROWS, COLUMNS = 50, 20
"""The size of one page of a table."""

LARGEST_MAP = 512
"""The most pixels along each side of a heat map; blocks of a larger plane are averaged."""

Content = tuple[dict[str, Any], Any]
"""A bundle, and the pixels of its image or None."""


async def view(x: pt.Tensor, name: str, place: dict[str, int], blocking: bool) -> Content:
    """Return one view as a bundle; `place` is the "plane", "row" and "column" to show.

    Complex numbers are drawn by their absolute values, which the axis or the title says.
    """
    what = ""
    if x.dtype.kind == "c" and name != "table":
        x, what = abs(x), "|z|"
    if name == "table":
        return await _table(x, place, blocking)
    makers = {"plot": _plot, "heatmap": _heatmap, "histogram": _histogram, "image": _image}
    return await makers[name](x, what, place, blocking)


def _plane(x: pt.Tensor, place: dict[str, int]) -> tuple[pt.Tensor, dict[str, Any]]:
    """Return the 2-D plane at a place, and its number and index; a 1-D tensor becomes a column."""
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
    return format_str(Elements((), kind, [value]))


def _kind(x: pt.Tensor) -> str:
    return {"b": "bool", "f": str(x.dtype), "c": str(x.dtype)}.get(x.dtype.kind, "int")


async def _table(x: pt.Tensor, place: dict[str, int], blocking: bool) -> Content:
    shown, which = _plane(x, place)
    height, width = shown.shape
    row = min(max(place.get("row", 0), 0), (height - 1) // ROWS * ROWS)
    column = min(max(place.get("column", 0), 0), (width - 1) // COLUMNS * COLUMNS)
    window = shown[row : row + ROWS, column : column + COLUMNS]
    values = await numbers(window, blocking)
    cells = [[_text_of(value, _kind(x)) for value in line] for line in values]
    size = {"height": height, "width": width, "row": row, "column": column}
    page = {"rows": ROWS, "columns": COLUMNS, "isVector": x.ndim == 1}
    return {"kind": "table", "cells": cells, **size, **page, **which}, None


async def _plot(x: pt.Tensor, what: str, place: dict[str, int], blocking: bool) -> Content:
    options = Options(xlabel="index", ylabel=what)
    return await plot_chart(x, None, options).drawn(blocking), None


async def _heatmap(x: pt.Tensor, what: str, place: dict[str, int], blocking: bool) -> Content:
    shown, which = _plane(x, place)
    height, width = shown.shape
    down, across = _steps(shown)
    small = thumbnail(shown[::down, ::across], LARGEST_MAP, LARGEST_MAP)
    bounds = value_ends(small)
    bundle = await drawn(small, blocking)
    of = {"height": height, "width": width}
    options = Options(colorbar=True, title=what)
    figure = figure_facts(options, shown, await numbers(bounds, blocking), True, of)
    kept = (-(-height // down), -(-width // across))
    blocks = [-(-n // LARGEST_MAP) for n in kept]
    facts = {"of": of | {"steps": [down, across], "blocks": blocks}, "figure": figure}
    return {**bundle[0], **which, "kind": "heatmap", **facts}, bundle[1]


def _steps(x: pt.Tensor) -> list[int]:
    """Return the sampling step along each axis, chosen so that a view takes seconds at most.

    All steps are odd, so that both even and odd indices are sampled.
    """
    steps = [1] * x.ndim
    kept = list(x.shape)
    while prod(kept) > max_shown(x):
        axis = kept.index(max(kept))
        steps[axis] = 2 * steps[axis] + 1
        kept[axis] = -(-x.shape[axis] // steps[axis])
    return steps


async def _image(x: pt.Tensor, what: str, place: dict[str, int], blocking: bool) -> Content:
    bundle, pixels = await drawn(x, blocking)
    if what:
        bundle["figure"] = figure_facts(Options(title=what), x, (), False)
    return bundle, pixels


async def drawn(x: pt.Tensor, blocking: bool, options: Options = PLAIN) -> Content:
    """Return a tensor as an image."""
    made = picture(x, options, can_paint(x))
    label = f"{'Image' if is_colour(x) else 'Heat map'} of a tensor of shape {x.shape}"
    bundle = {"kind": "image", "width": made.width, "height": made.height, "label": label}
    return {**bundle, "scale": None}, await taken(made, blocking)


async def _histogram(x: pt.Tensor, what: str, place: dict[str, int], blocking: bool) -> Content:
    """Count the finite elements in bins of equal width; others are counted separately."""
    steps = _steps(x)
    seen = x[tuple(slice(None, None, step) for step in steps)].realize()
    flat = seen.reshape(seen.size)
    values = flat.astype(pt.int32) if x.dtype.kind == "b" else flat
    found = await counted([values], None, None, blocking)
    (counts,) = found.counts
    facts = {"label": "", "color": None, "step": prod(steps), "size": x.size}
    about = {"title": "", "xlabel": what or "value", "ylabel": "elements"}
    names = None
    if x.dtype.kind == "b":
        at = found.edges[:-1]
        names = ["False", "True"]
        series = {"mark": "bar", "x": at, "y": counts.inside, "width": 0.8, **facts}
    else:
        other = counts.other(values.size)
        series = {"mark": "hist", "counts": counts.inside, "edges": found.edges, **facts}
        series |= {"other": other, "isWhole": found.is_whole}
    scales = {"xscale": "linear", "yscale": "linear"}
    return {"kind": "plot", "series": [series], "categories": names, **about, **scales}, None
