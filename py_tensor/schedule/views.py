"""Views: how a kernel sees a node, as an affine map from its space to the node's flat indices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from py_tensor.base.layout import Layout, Range, canonical_strides, coordinates
from py_tensor.base.shapes import Shape, row_major
from py_tensor.schedule.body import Access


@dataclass(frozen=True, slots=True)
class IndexMap:
    """How a kernel sees a node: its flat index over the space, and where that is in range.

    After the dimensions of the space, strides and ranges have one more entry for each of `along`,
    whose coordinate is the value of an index at the point.
    """

    strides: tuple[int, ...]
    offset: int
    ranges: tuple[Range, ...]
    along: tuple[Along, ...] = ()

    @property
    def access(self) -> Access:
        """The address where the coordinates of `along` are 0."""
        return Access(self.strides[: len(self.strides) - len(self.along)], self.offset)


Key = tuple[int, IndexMap]  # a value: the node in a slot, seen through a view


@dataclass(frozen=True, slots=True)
class Along:
    """An axis; its coordinate is the value of the node in a slot, seen through a view: `index`."""

    index: Key
    extent: int


@dataclass(frozen=True, slots=True)
class Window:
    """A part of a node whose elements come from another node.

    Attributes
    ----------
    slot : int
        The other node.
    widths : tuple of (int, int)
        The widths of the node before and after the window along each axis.
    units : tuple of int, optional
        The strides through the other node; None if it has the shape of the window.
    first : int
        The flat index in the other node of the window's first element.
    """

    slot: int
    widths: tuple[Range, ...]
    units: tuple[int, ...] | None = None
    first: int = 0


def index_map(
    strides: tuple[int, ...],
    offset: int,
    ranges: tuple[Range, ...],
    along: tuple[Along, ...],
    extents: Shape,
) -> IndexMap:
    """Return the map over a space of these extents; maps that see the same elements are equal.

    The coordinate of a range of one point is part of the offset. A coordinate of stride 0 is in
    range everywhere; it is dropped if it is that of an index.
    """
    rank = len(extents)
    kept_strides: list[int] = []
    kept_ranges: list[Range] = []
    kept_along: list[Along] = []
    for d, (stride, (low, high)) in enumerate(zip(strides, ranges, strict=True)):
        moves = stride != 0 and high - low > 1
        if not moves:
            offset += stride * low
        if d < rank:
            kept_strides.append(stride if moves else 0)
            kept_ranges.append((low, high) if moves else (0, extents[d]))
        elif moves:
            kept_strides.append(stride)
            kept_ranges.append((low, high))
            kept_along.append(along[d - rank])
    return IndexMap(tuple(kept_strides), offset, tuple(kept_ranges), tuple(kept_along))


def permuted(shape: Shape, axes: Sequence[int]) -> tuple[Shape, IndexMap]:
    """Return the extents of a space over the axes in this order, and its view of a node."""
    units = row_major(shape)
    extents = tuple(shape[a] for a in axes)
    strides = canonical_strides(tuple(units[a] for a in axes), extents)
    return extents, IndexMap(strides, 0, tuple((0, n) for n in extents))


def identity(extents: Shape) -> IndexMap:
    """Return the flat index of the space itself."""
    return permuted(extents, range(len(extents)))[1]


def window_of(layout: Layout, shape: Shape) -> tuple[Range, ...] | None:
    """Return the widths before and after a view along each axis of a shape.

    None unless the view is a window: contiguous ranges in order.
    """
    window = layout.window_of(shape)
    return window[1] if window is not None and window[0].is_contiguous else None


def strides_over_result(
    strides: tuple[int, ...], axes: tuple[int, ...], at: int, rank: int
) -> tuple[int, ...]:
    """Return the strides of a gather's operand over its result; 0 for the axes of the indices."""
    rest = [s for a, s in enumerate(strides) if a not in axes]
    return (*rest[:at], *(0,) * (rank - len(rest)), *rest[at:])


def seen_window(
    view: IndexMap, whole: Shape, window: Window, extents: Shape
) -> tuple[tuple[tuple[int, int, int], ...], IndexMap | None] | None:
    """Return the ranges of the space inside a window of `whole`, and the inner node's view there.

    That view is None if the window is not seen. The result is None if a coordinate that bounds the
    window depends on several dimensions.
    """
    widths = window.widths
    shape = tuple(n - low - high for n, (low, high) in zip(whole, widths, strict=True))
    split = coordinates(view.strides, view.offset, view.ranges, whole)
    if split is None:
        return None
    offsets, matrix = split
    ranges, conditions = list(view.ranges), set[int]()
    for axis, (before, _) in enumerate(widths):
        low, high = before - offsets[axis], before + shape[axis] - offsets[axis]
        dims = [d for d, row in enumerate(matrix) if row[axis]]
        if len(dims) > 1 and whole[axis] != shape[axis]:
            return None
        if not dims and not low <= 0 < high:
            return (), None
        if len(dims) == 1:
            d, step = dims[0], matrix[dims[0]][axis]
            narrowed = _solve(step, low, high)
            bounded = max(ranges[d][0], narrowed[0]), min(ranges[d][1], narrowed[1])
            if bounded[0] >= bounded[1]:
                return (), None
            if bounded != ranges[d]:
                ranges[d] = bounded
                conditions.add(d)
    units = row_major(shape) if window.units is None else window.units
    strides = tuple(sum(m * u for m, u in zip(row, units, strict=True)) for row in matrix)
    offset = window.first + sum(
        (o - b) * u for o, (b, _), u in zip(offsets, widths, units, strict=True)
    )
    mask = tuple((d, *ranges[d]) for d in sorted(conditions))
    return mask, index_map(strides, offset, tuple(ranges), view.along, extents)


def _solve(step: int, low: int, high: int) -> Range:
    """Return the i for which ``low <= step * i < high``."""
    if step > 0:
        return -(-low // step), -(-high // step)
    return -((high - 1) // -step), -low // -step + 1
