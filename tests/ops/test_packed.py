"""Elements of less than four bytes, which share a word: each is written separately."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import py_tensor as pt
from tests.ops.compare import same

Array = Any
DTYPES = ("bool", "int8", "uint8", "int16", "uint16")
SIZES = (1, 2, 3, 4, 5, 7, 8, 13, 31, 64, 1001)


def drawn(dtype: str, rng: np.random.Generator, shape: Any) -> Array:
    if dtype == "bool":
        return rng.random(shape) < 0.5
    return rng.integers(np.iinfo(dtype).min, np.iinfo(dtype).max, shape, dtype, endpoint=True)


def part_of(size: int, rng: np.random.Generator) -> slice:
    """Return a window of odd begin, end and step; some go backwards, some are empty."""
    start, stop = sorted(rng.integers(0, size + 1, 2).tolist())
    step = int(rng.integers(1, 4))
    return slice(start, stop, step) if rng.random() < 0.6 else slice(stop, start or None, -step)


@pytest.mark.computes
@pytest.mark.parametrize("dtype", DTYPES)
def test_views(dtype: str, device: str, rng: np.random.Generator) -> None:
    """Views that are read directly, and used in computations."""
    for size in SIZES:
        a = drawn(dtype, rng, size)
        x = pt.tensor(a, device=device)
        for _ in range(3):
            part = part_of(size, rng)
            same(x[part], a[part], f"{size}[{part}]")
            same(x[part] == x[part][::-1], a[part] == a[part][::-1], f"{size}[{part}] compared")
            stored = x[part].copy().realize()
            same(stored, a[part], f"a copy of {size}[{part}]")


@pytest.mark.computes
@pytest.mark.parametrize("dtype", DTYPES)
def test_writes_next_to_others(dtype: str, device: str, rng: np.random.Generator) -> None:
    """A write keeps adjacent elements, whatever else writes to those."""
    for size in SIZES:
        a = drawn(dtype, rng, size)
        x = pt.tensor(a, device=device)
        for _ in range(4):
            part = part_of(size, rng)
            values = drawn(dtype, rng, a[part].shape)
            a[part] = values
            x[part] = pt.tensor(values, device=device)
            if rng.random() < 0.5:
                x.realize()  # the next write is to stored elements
            at = int(rng.integers(size))
            a[at] = values.flat[0] if values.size else 1
            x[at] = values.flat[0] if values.size else 1
            if dtype != "bool":
                a[part] += a[part]
                x[part] += x[part]
        same(x, a, f"{size} after writes")


@pytest.mark.computes
@pytest.mark.parametrize("dtype", DTYPES)
def test_odd_shapes(dtype: str, device: str, rng: np.random.Generator) -> None:
    """Rows end within a word, and are transposed, repeated, joined, gathered and scattered."""
    for shape in ((3, 5), (7, 1), (1, 9), (5, 4), (2, 3, 5), (17, 33), (128, 66), (64, 64)):
        a = drawn(dtype, rng, shape)
        x = pt.tensor(a, device=device)
        same(x.T.copy().realize(), a.T, f"{shape} transposed")
        same(pt.flip(x, -1).copy().realize(), a[..., ::-1], f"{shape} flipped")
        both = (pt.concat([x, x[..., :1]], -1), np.concatenate([a, a[..., :1]], -1))
        same(both[0].realize(), both[1], f"{shape} joined")
        same(pt.pad(x, 1).realize(), np.pad(a, 1), f"{shape} padded")
        same((x[..., 1:] != x[..., :-1]).realize(), a[..., 1:] != a[..., :-1], f"{shape} differ")
        same(x.max(-1).realize(), a.max(-1), f"{shape} reduced")
        same((x.sum(0) > 2).realize(), a.sum(0) > 2, f"{shape} sums compared")
        same(pt.sort(x, axis=-1), np.sort(a, axis=-1), f"{shape} sorted")
        rows = rng.integers(-shape[0], shape[0], 5)
        same(x[pt.tensor(rows, device=device)].realize(), a[rows], f"{shape} by indices")
        values = drawn(dtype, rng, (5, *shape[1:]))
        a[rows] = values
        x[pt.tensor(rows, device=device)] = pt.tensor(values, device=device)
        same(x, a, f"{shape} written by indices")
        mask = drawn("bool", rng, shape)
        a[mask] = 1
        x[pt.tensor(mask, device=device)] = 1
        same(x, a, f"{shape} written by a mask")


@pytest.mark.computes
@pytest.mark.parametrize("dtype", DTYPES)
def test_combined_at_indices(dtype: str, device: str, rng: np.random.Generator) -> None:
    """Several values at once are added to, or compared with, elements of one word."""
    ufuncs: Any = pt
    for name in ("maximum", "minimum") if dtype == "bool" else ("add", "maximum", "minimum"):
        a, values = drawn(dtype, rng, 37), drawn(dtype, rng, 500)
        places = rng.integers(0, 37, 500)
        x = pt.tensor(a, device=device)
        getattr(np, name).at(a, places, values)
        of = pt.tensor(places, device=device), pt.tensor(values, device=device)
        getattr(ufuncs, name).at(x, *of)
        same(x, a, f"{name} at indices")


def test_bytes_of_buffers(device: str) -> None:
    """`itemsize` and `nbytes` are the same on both devices."""
    for dtype, itemsize in (("bool", 1), ("uint8", 1), ("int16", 2), ("float32", 4)):
        x = pt.zeros(10, dtype=dtype, device=device)
        assert (x.itemsize, x.nbytes) == (itemsize, 10 * itemsize)
