"""Affine maps between index spaces, which make movement ops free.

The elements of a tensor are numbered in row-major order of its shape: this is the *flat index*. A
movement op is a `Layout`: a map from the coordinates of its result to the flat index of its
operand. Code generation traverses an expression from the result to the buffers and composes these
maps. Elementwise ops leave them unchanged, because operands and result have the same flat index.
While the composition stays affine, movement costs nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from py_tensor.base.shapes import Shape, row_major, size_of


@dataclass(frozen=True, slots=True)
class Layout:
    """``flat(i) = offset + sum(strides[d] * i[d])`` for coordinates ``0 <= i[d] < shape[d]``."""

    shape: Shape
    strides: tuple[int, ...]
    offset: int = 0

    @staticmethod
    def contiguous(shape: Shape) -> Layout:
        return Layout(shape, row_major(shape))

    @property
    def size(self) -> int:
        return size_of(self.shape)

    def expanded(self, target: Shape) -> Layout:
        """Repeat axes of length 1, and new leading axes, to `target`."""
        lead = len(target) - len(self.shape)
        repeated = (0 if n == 1 else s for n, s in zip(self.shape, self.strides, strict=True))
        return Layout(target, (0,) * lead + tuple(repeated), self.offset)

    def permuted(self, order: tuple[int, ...]) -> Layout:
        """Return the axes in the given order."""
        shape, strides = self.shape, self.strides
        return Layout(tuple(shape[a] for a in order), tuple(strides[a] for a in order), self.offset)

    def flipped(self, axes: tuple[int, ...]) -> Layout:
        """Return the elements in reverse order along `axes`."""
        shape, strides = self.shape, self.strides
        moved = sum(strides[a] * (shape[a] - 1) for a in axes if shape[a])
        turned = tuple(-s if a in axes else s for a, s in enumerate(strides))
        return Layout(shape, turned, self.offset + moved)

    def sliced(self, slices: tuple[tuple[int, int, int], ...]) -> Layout:
        """Take (start, count, step) along each axis; all indices must be in range."""
        shape: list[int] = []
        strides: list[int] = []
        offset = self.offset
        for (start, count, step), s in zip(slices, self.strides, strict=True):
            shape.append(count)
            strides.append(step * s)
            offset += start * s if count else 0
        return Layout(tuple(shape), tuple(strides), offset)

    def reshaped(self, target: Shape) -> Layout | None:
        """Return the same elements in another shape; None if no strides express it.

        This is NumPy's rule for whether `reshape` returns a view or a copy: it needs groups of axes
        with equal numbers of elements before and after, each traversed with one stride. Axes of
        size 1 after the last group have its stride.
        """
        if not self.size:
            return Layout(target, row_major(target), self.offset)
        axes = [(n, s) for n, s in zip(self.shape, self.strides, strict=True) if n != 1]
        strides = [0] * len(target)
        old = new = 0
        while old < len(axes):
            first = old
            before, stride = axes[old]
            start, after = new, 1
            while after != before or new == start:
                if after < before or new == start:
                    after *= target[new]
                    new += 1
                else:
                    old += 1
                    before *= axes[old][0]
            for outer, inner in pairwise(axes[first : old + 1]):
                if outer[1] != inner[0] * inner[1]:
                    return None
            stride = axes[old][1]
            for axis in range(new - 1, start - 1, -1):
                strides[axis] = stride
                stride *= target[axis]
            old += 1
        strides[new:] = [strides[new - 1] if new else 1] * (len(target) - new)
        return Layout(target, tuple(strides), self.offset)

    def diagonal(self, offset: int = 0) -> Layout:
        """Return the elements with equal indices; for two axes, `offset` columns to the right."""
        skipped = (max(-offset, 0), max(offset, 0)) if offset else (0,) * len(self.shape)
        size = max(0, min(n - k for n, k in zip(self.shape, skipped, strict=True)))
        start = sum(k * s for k, s in zip(skipped, self.strides, strict=True)) if size else 0
        return Layout((size,), (sum(self.strides),), self.offset + start)

    def window_of(self, whole: Shape) -> tuple[Layout, tuple[tuple[int, int], ...]] | None:
        """Return the widths of a pad that puts the elements back, and the layout of its operand.

        None unless the elements are a window of `whole`, with its axes in any order and direction.
        """
        split = coordinates(self.strides, self.offset, tuple((0, n) for n in self.shape), whole)
        if split is None:
            return None
        steps = Layout.contiguous(self.shape)  # of the operand: its elements are numbered by self
        shape, strides, offset = [1] * len(whole), [0] * len(whole), 0
        starts = list(split[0])
        for n, row, step in zip(self.shape, split[1], steps.strides, strict=True):
            moved = [axis for axis, by in enumerate(row) if by] if n > 1 else []
            if not moved:
                continue
            (axis, *others) = moved
            if others or shape[axis] > 1 or abs(row[axis]) > 1:
                return None
            shape[axis], strides[axis] = n, step * row[axis]
            if row[axis] < 0:
                starts[axis] -= n - 1
                offset += step * (n - 1)
        ends = zip(starts, shape, whole, strict=True)
        widths = tuple((start, total - start - n) for start, n, total in ends)
        return Layout(tuple(shape), tuple(strides), offset), widths

    @property
    def extent(self) -> tuple[int, int]:
        """The lowest and the highest flat index, if there are elements."""
        return extent(self.shape, self.strides, self.offset)

    @property
    def memory_order(self) -> tuple[int, ...]:
        """The axes ordered by decreasing step in memory: NumPy's K order.

        As in NumPy, the sign of a step does not count, and axes without a step (repeated, or of
        length 1) stay as close to their positions as the others allow.
        """
        inwards: list[int] = []
        for axis in reversed(range(len(self.shape))):
            position = len(inwards)
            for index in reversed(range(len(inwards))):
                outer, inner = self._step(axis), self._step(inwards[index])
                if outer and inner:
                    if outer >= inner:
                        break
                    position = index
            inwards.insert(position, axis)
        return tuple(reversed(inwards))

    def _step(self, axis: int) -> int:
        """Return the distance in memory between neighbours along an axis; 0 if there are none."""
        return abs(self.strides[axis]) if self.shape[axis] > 1 else 0

    @property
    def is_injective(self) -> bool:
        """Whether no two coordinates map to one element; False unless strides nest."""
        return is_injective(self.shape, self.strides)

    @property
    def is_contiguous(self) -> bool:
        """Whether flat(i) numbers the elements 0, 1, 2, ... in row-major order."""
        return self.offset == 0 and all(
            n == 1 or s == c
            for n, s, c in zip(self.shape, self.strides, row_major(self.shape), strict=True)
        )


def extent(shape: Shape, strides: tuple[int, ...], offset: int) -> tuple[int, int]:
    """Return the lowest and the highest flat index that strides reach, if there are elements."""
    low = high = offset
    for n, s in zip(shape, strides, strict=True):
        if s < 0:
            low += (n - 1) * s
        else:
            high += (n - 1) * s
    return low, high


def is_injective(shape: Shape, strides: tuple[int, ...]) -> bool:
    """Return whether no two coordinates map to one element; False unless strides nest."""
    if len(shape) == 1:  # the usual case
        return strides[0] != 0 or shape[0] < 2
    reach = 0
    for stride, n in sorted([(abs(s), n) for n, s in zip(shape, strides, strict=True) if n > 1]):
        if stride <= reach:
            return 0 in shape
        reach += stride * (n - 1)
    return True


def edges(shape: Shape, axes: tuple[int, ...], items: int) -> Layout:
    """Return the first and last `items` elements along `axes`, each of which becomes (2, items)."""
    extents: list[int] = []
    strides: list[int] = []
    for axis, (n, s) in enumerate(zip(shape, row_major(shape), strict=True)):
        extents += [2, items] if axis in axes else [n]
        strides += [(n - items) * s, s] if axis in axes else [s]
    return Layout(tuple(extents), tuple(strides))


Range = tuple[int, int]  # [low, high) in one dimension of the iteration space


def coordinates(
    strides: tuple[int, ...], offset: int, ranges: tuple[Range, ...], shape: Shape
) -> tuple[tuple[int, ...], tuple[tuple[int, ...], ...]] | None:
    """Split an affine flat index over `shape` into one affine coordinate per axis.

    Parameters
    ----------
    strides, offset
        The flat index as an affine function of the iteration space.
    ranges
        The part of the iteration space in which the flat index is in range.
    shape
        The index space that the flat index numbers.

    Returns
    -------
    (offsets, matrix) or None
        ``coordinate[a] = offsets[a] + sum(matrix[d][a] * i[d])``; None if a coordinate would carry
        into the next, so that the map is not affine.
    """
    if size_of(shape) == 0:
        return (0,) * len(shape), tuple((0,) * len(shape) for _ in strides)
    if any(high <= low for low, high in ranges):
        ranges = tuple((low, low + 1) for low, _ in ranges)
    units = row_major(shape)
    matrix = tuple(_digits(s, shape, units) for s in strides)
    corner = offset + sum(s * low for s, (low, _) in zip(strides, ranges, strict=True))
    if not 0 <= corner < size_of(shape):
        return None
    start = [corner // unit % n for unit, n in zip(units, shape, strict=True)]
    for axis, n in enumerate(shape):
        low = high = start[axis]
        for row, (first, last) in zip(matrix, ranges, strict=True):
            reach = row[axis] * (last - 1 - first)
            low, high = low + min(reach, 0), high + max(reach, 0)
        if low < 0 or high >= n:
            return None
    offsets = tuple(
        start[axis] - sum(row[axis] * low for row, (low, _) in zip(matrix, ranges, strict=True))
        for axis in range(len(shape))
    )
    return offsets, matrix


def _digits(stride: int, shape: Shape, units: tuple[int, ...]) -> tuple[int, ...]:
    """Split a signed step of the flat index into steps of the coordinates, all of the same sign.

    A step beyond the first axis gives a digit there that is out of range, which the caller's check
    of the range detects.
    """
    sign, rest, digits = (-1 if stride < 0 else 1), abs(stride), [0] * len(shape)
    for axis, unit in enumerate(units):
        if shape[axis] > 1:
            digits[axis], rest = sign * (rest // unit), rest % unit
    return tuple(digits)


def compose(
    strides: tuple[int, ...], offset: int, ranges: tuple[Range, ...], layout: Layout
) -> tuple[tuple[int, ...], int] | None:
    """Compose the map iteration space -> flat index of `layout`'s result with `layout`.

    Returns (strides, offset) of the flat index of the layout's operand, or None if the composition
    is not affine.
    """
    split = coordinates(strides, offset, ranges, layout.shape)
    if split is None:
        return None
    offsets, matrix = split
    inner = layout.strides
    return (
        tuple(sum(m * s for m, s in zip(row, inner, strict=True)) for row in matrix),
        layout.offset + sum(o * s for o, s in zip(offsets, inner, strict=True)),
    )


def canonical_strides(strides: tuple[int, ...], extents: tuple[int, ...]) -> tuple[int, ...]:
    """Return strides with 0 for axes of length 1, so that equal maps compare equal."""
    return tuple(0 if n == 1 else s for s, n in zip(strides, extents, strict=True))


@dataclass(frozen=True, slots=True)
class Merged:
    """Dimensions without those of extent 1, and with jointly traversed ones merged."""

    extents: tuple[int, ...]
    groups: tuple[tuple[int, ...], ...]  # the original dimensions of each merged one

    def strides(self, strides: tuple[int, ...]) -> tuple[int, ...]:
        """Return an access's strides over the merged dimensions."""
        return tuple(strides[group[-1]] for group in self.groups)

    def position(self, dim: int) -> int:
        """Return the position of a dimension that was not merged."""
        return self.groups.index((dim,))


def merge_dims(
    extents: tuple[int, ...],
    maps: Sequence[tuple[int, ...]],
    order: Sequence[int],
    fixed: frozenset[int] = frozenset(),
    limit: int = 2**31,
) -> Merged:
    """Take dimensions in `order`, drop those of extent 1, merge neighbours if all maps allow it.

    Parameters
    ----------
    maps
        The strides of each access over the dimensions.
    fixed
        Dimensions that are neither dropped nor merged, because a mask uses their coordinate.
    limit
        The largest merged dimension, so that an index along it fits in 32 bits.
    """

    def joins(group: tuple[int, ...], d: int) -> bool:
        size = size_of(tuple(extents[g] for g in (*group, d)))
        is_free = size <= limit and not fixed.intersection((*group, d))
        return is_free and all(m[group[-1]] == m[d] * extents[d] for m in maps)

    groups: list[tuple[int, ...]] = []
    for d in order:
        if extents[d] == 1 and d not in fixed:
            continue
        if groups and joins(groups[-1], d):
            groups[-1] += (d,)
        else:
            groups.append((d,))
    return Merged(tuple(size_of(tuple(extents[d] for d in g)) for g in groups), tuple(groups))
