"""Affine maps against enumeration of every point."""

from __future__ import annotations

from itertools import product
from math import prod
from random import Random

import numpy as np
import pytest

from py_tensor.base.layout import Layout, Range, compose, coordinates, merge_dims
from py_tensor.base.shapes import Shape, row_major

Map = tuple[tuple[int, ...], int]  # strides, offset


def points(ranges: tuple[Range, ...]) -> list[tuple[int, ...]]:
    return list(product(*(range(low, high) for low, high in ranges)))


def at(strides: tuple[int, ...], offset: int, point: tuple[int, ...]) -> int:
    return offset + sum(s * i for s, i in zip(strides, point, strict=True))


def applied(x: np.ndarray, found: Layout) -> np.ndarray:
    """Return the elements that a layout selects from x."""
    flat = x.reshape(-1)
    picked = [flat[at(found.strides, found.offset, p)] for p in np.ndindex(found.shape)]
    return np.array(picked, x.dtype).reshape(found.shape)


def random_shape(source: Random, most: int = 4) -> Shape:
    return tuple(source.choice((1, 1, 2, 3, 4, 6)) for _ in range(source.randint(0, most)))


def random_movement(source: Random, shape: Shape) -> tuple[Layout, np.ndarray]:
    """Return a layout made by one of the constructors, and the elements it should select."""
    x, whole = np.arange(prod(shape)).reshape(shape), Layout.contiguous(shape)
    kind = source.choice(("expand", "permute", "flip", "slice", "reshape"))
    if kind == "expand":
        lead = tuple(source.randint(1, 3) for _ in range(source.randint(0, 2)))
        target = lead + tuple(source.randint(1, 3) if n == 1 else n for n in shape)
        return whole.expanded(target), np.broadcast_to(x, target)
    if kind == "permute":
        order = tuple(source.sample(range(len(shape)), len(shape)))
        return whole.permuted(order), x.transpose(order)
    if kind == "flip":
        axes = tuple(a for a in range(len(shape)) if source.random() < 0.5)
        return whole.flipped(axes), np.flip(x, axes)
    if kind == "slice":
        keys = []
        for n in shape:
            a, b = source.randint(0, n), source.randint(0, n)
            keys.append(
                slice(a, b if source.random() < 0.8 else None, source.choice((1, 2, 3, -1, -2)))
            )
        given = [k.indices(n) for k, n in zip(keys, shape, strict=True)]
        slices = tuple((a, len(range(a, b, c)), c) for a, b, c in given)
        return whole.sliced(slices), x[tuple(keys)]
    target = tuple(source.sample(shape, len(shape)))
    return Layout.contiguous(target), x.reshape(target)


def test_views_of_views_and_what_reshapes_without_a_copy(source: Random) -> None:
    """The same reshapes as in NumPy need no copy."""
    for _ in range(2000):
        shape = random_shape(source) or (1,)
        base = x = np.arange(prod(shape)).reshape(shape)
        found = Layout.contiguous(shape)
        for _ in range(source.randint(0, 3)):
            x, found = _another_view(source, x, found)
        sizes = [n for n in x.shape if n != 1]
        source.shuffle(sizes)
        joined = source.randint(0, max(0, len(sizes) - 1))
        target = (prod(sizes[:joined]), *sizes[joined:])
        expected, reshaped = x.reshape(target), found.reshaped(target)
        assert (reshaped is not None) == np.shares_memory(base, expected), (found, target)
        if reshaped is not None:
            np.testing.assert_array_equal(applied(base, reshaped), expected)


def _another_view(source: Random, x: np.ndarray, found: Layout) -> tuple[np.ndarray, Layout]:
    kind = source.choice(("expand", "permute", "flip", "slice"))
    if kind == "expand":
        target = tuple(source.randint(1, 3) if n == 1 else n for n in x.shape)
        return np.broadcast_to(x, target), found.expanded(target)
    if kind == "permute":
        order = tuple(source.sample(range(x.ndim), x.ndim))
        return x.transpose(order), found.permuted(order)
    if kind == "flip":
        axes = tuple(a for a in range(x.ndim) if source.random() < 0.5)
        return np.flip(x, axes), found.flipped(axes)
    steps = [source.choice((1, 2, -1, -2)) for _ in x.shape]
    keys = tuple(slice(None, None, step) for step in steps)
    given = [k.indices(n) for k, n in zip(keys, x.shape, strict=True)]
    slices = tuple((a, len(range(a, b, c)), c) for a, b, c in given)
    return x[keys], found.sliced(slices)


def test_constructors(source: Random) -> None:
    for _ in range(400):
        found, expected = random_movement(source, shape := random_shape(source))
        assert found.shape == expected.shape
        np.testing.assert_array_equal(
            applied(np.arange(prod(shape)).reshape(shape), found), expected
        )


def test_is_contiguous(source: Random) -> None:
    for _ in range(300):
        found, expected = random_movement(source, random_shape(source))
        in_order = expected.reshape(-1).tolist() == list(range(expected.size))
        if expected.size:
            assert found.is_contiguous == in_order


def random_map(source: Random, shape: Shape) -> tuple[Map, tuple[Range, ...]]:
    """An affine map of a small space into the flat indices of `shape`, in range within `ranges`.

    Outside of the ranges, which represent a mask, it may be out of range. It is built like those of
    movement ops: each dimension steps by some unit of `shape`, forwards or backwards, or not at
    all; and sometimes by an arbitrary number.
    """
    size = prod(shape)
    while True:
        rank = source.randint(0, 3)
        extents = [source.randint(1, 5) for _ in range(rank)]
        steps = [0, 1, *row_major(shape), source.randint(1, max(1, size))]
        strides = tuple(source.choice((1, 1, 2, 3, -1, -2)) * source.choice(steps) for _ in extents)
        ranges = tuple(sorted((source.randint(0, n - 1), source.randint(1, n))) for n in extents)
        ranges = tuple((low, max(high, low + 1)) for low, high in ranges)
        values = [at(strides, 0, p) for p in points(ranges)]
        if max(values) - min(values) < size:
            offset = source.randint(0, size - 1 - (max(values) - min(values))) - min(values)
            return (strides, offset), ranges


def test_coordinates_are_those_of_the_flat_index(source: Random) -> None:
    """If there is an answer, it is right at every point; otherwise none exists."""
    split = whole = 0
    for _ in range(1500):
        shape = random_shape(source)
        (strides, offset), ranges = random_map(source, shape)
        found = coordinates(strides, offset, ranges, shape)
        expected = [np.unravel_index(at(strides, offset, p), shape) for p in points(ranges)]
        if found is None:
            split += 1
            assert not _is_affine(points(ranges), [tuple(map(int, e)) for e in expected])
            continue
        whole += 1
        offsets, matrix = found
        for p, e in zip(points(ranges), expected, strict=True):
            row = tuple(
                o + sum(i * m[axis] for i, m in zip(p, matrix, strict=True))
                for axis, o in enumerate(offsets)
            )
            assert row == tuple(map(int, e))
    assert split > 20
    assert whole > 200


def _is_affine(where: list[tuple[int, ...]], values: list[tuple[int, ...]]) -> bool:
    """Return whether some affine map with digits of one sign per step has these values.

    `coordinates` finds no others: a step of +3 over an axis of 2, (+2, -1), is not found.
    """
    table = dict(zip(where, values, strict=True))
    corner = where[0]
    base = table[corner]
    steps: list[tuple[int, ...]] = []
    for d in range(len(corner)):
        neighbour = tuple(i + (k == d) for k, i in enumerate(corner))
        beyond = table.get(neighbour)
        step = (0,) * len(base) if beyond is None else tuple(np.subtract(beyond, base).tolist())
        if any(s > 0 for s in step) and any(s < 0 for s in step):
            return False
        steps.append(step)
    return all(
        value
        == tuple(
            b + sum((i - c) * s[axis] for i, c, s in zip(p, corner, steps, strict=True))
            for axis, b in enumerate(base)
        )
        for p, value in table.items()
    )


def test_compose_of_movements(source: Random) -> None:
    """Following several movements backwards gives the same element as NumPy."""
    composed = 0
    for _ in range(600):
        shape = random_shape(source, 3)
        x = np.arange(prod(shape)).reshape(shape)
        chain: list[Layout] = []
        for _ in range(source.randint(1, 4)):
            found, x = random_movement(source, x.shape)
            chain.append(found)
            if x.size == 0 or x.size > 400:
                break
        if x.size == 0 or x.size > 400:
            continue
        ranges = tuple((0, n) for n in x.shape)
        expected = _followed(chain)
        strides, offset = row_major(x.shape), 0
        for found in reversed(chain):
            result = compose(strides, offset, ranges, found)
            if result is None:
                break
            strides, offset = result
        else:
            composed += 1
            assert [at(strides, offset, p) for p in points(ranges)] == expected
    assert composed > 150


def _followed(chain: list[Layout]) -> list[int]:
    """Return the flat index of the first operand, for each element of the last result in order."""
    indices = list(range(prod(chain[-1].shape)))
    for found in reversed(chain):
        places = list(np.ndindex(found.shape))
        indices = [at(found.strides, found.offset, places[i]) for i in indices]
    return indices


def test_compose_in_part_of_the_space() -> None:
    """A map may leave the ranges: a mask excludes such points."""
    doubled = Layout((3, 4), (8, 2))
    assert compose((4, 1), 0, ((0, 3), (0, 4)), doubled) == ((8, 2), 0)
    assert compose((4, 1), 2, ((0, 3), (0, 4)), doubled) is None
    assert compose((4, 1), -2, ((0, 3), (2, 4)), doubled) == ((8, 2), -4)


@pytest.mark.parametrize("ordered", [True, False])
def test_merge_dims(source: Random, ordered: bool) -> None:
    """Merged dimensions visit the same addresses, in the same order."""
    joined = 0
    for _ in range(600):
        rank = source.randint(0, 5)
        extents = tuple(source.randint(1, 4) for _ in range(rank))
        order = list(range(rank)) if ordered else source.sample(range(rank), rank)
        walked = tuple(extents[d] for d in order)
        maps = []
        for _ in range(source.randint(0, 3)):
            strides = source.choice(
                (row_major(walked), tuple(-2 * s for s in row_major(walked)), (0,) * rank)
            )
            strides = tuple(s if source.random() < 0.9 else source.randint(-3, 9) for s in strides)
            maps.append(tuple(strides[order.index(d)] for d in range(rank)))
        fixed = frozenset(d for d in range(rank) if source.random() < 0.15)
        limit = source.choice((2**31, 6))
        merged = merge_dims(extents, maps, order, fixed, limit)
        left = [d for d in order if extents[d] > 1 or d in fixed]
        assert [d for g in merged.groups for d in g] == left
        assert all(len(g) == 1 for g in merged.groups if fixed.intersection(g))
        assert all(n <= max(limit, *extents) for n in merged.extents)
        for d in fixed:
            assert merged.extents[merged.position(d)] == extents[d]
        for strides in maps:
            short = merged.strides(strides)
            ranges = tuple((0, n) for n in merged.extents)
            again = [at(short, 0, p) for p in points(ranges)]
            given = tuple(strides[d] for d in order)
            assert again == [at(given, 0, p) for p in np.ndindex(walked)]
        joined += len(merged.groups) < sum(n > 1 for n in extents)
    assert joined > 50


def test_merge_dims_joins_all_it_can() -> None:
    merged = merge_dims((2, 3, 4), [(12, 4, 1), (0, 0, 0)], range(3))
    assert merged.extents == (24,)
    assert merge_dims((2, 3, 4), [(12, 4, 1), (0, 4, 1)], range(3)).extents == (2, 12)
    assert merge_dims((2, 3, 4), [(12, 4, 1)], range(3), frozenset({1})).extents == (2, 3, 4)
    assert merge_dims((2**20, 2**20), [(2**20, 1)], range(2)).extents == (2**20, 2**20)


@pytest.mark.parametrize("seed", range(200))
def test_a_window_is_put_back_by_a_pad(seed: int) -> None:
    source = Random(seed)
    whole = random_shape(source)
    layout = Layout.contiguous(whole)
    for _ in range(3):  # slices, new axes, permutations and reversals
        slices = tuple(
            (a, source.randint(1, n - a), 1) for n in layout.shape for a in [source.randrange(n)]
        )
        layout = layout.sliced(slices)
        layout = layout.flipped(tuple(a for a in range(len(layout.shape)) if source.random() < 0.3))
        layout = layout.permuted(tuple(source.sample(range(len(layout.shape)), len(layout.shape))))
        layout = layout.expanded((*(1,) * source.randint(0, 1), *layout.shape))
    window = layout.window_of(whole)
    assert window is not None
    inside, widths = window
    values = np.arange(1, layout.size + 1).reshape(layout.shape)
    back = applied(values, inside)
    back = np.pad(back, widths) if whole else back
    assert back.shape == whole
    np.testing.assert_array_equal(applied(back, layout), values)
    assert np.count_nonzero(back) == layout.size


@pytest.mark.parametrize(
    ("layout", "whole"),
    [
        (Layout((3,), (2,), 0), (6,)),  # a step
        (Layout((3,), (4,), 0), (3, 3)),  # a diagonal
        (Layout((2, 3), (3, 1), 0), (6,)),  # one axis split in two
        (Layout((4,), (1,), 1), (2, 3)),  # crosses rows
    ],
)
def test_what_is_not_a_window(layout: Layout, whole: Shape) -> None:
    assert layout.window_of(whole) is None
