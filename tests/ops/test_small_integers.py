"""8-bit and 16-bit integers: every op in their range, promotion, and storage."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import pytest

import py_tensor as pt
from tests.ops import references as ref
from tests.ops.compare import SMALLEST, same
from tests.ops.operands import SPECIAL, all_pairs, pool, raised_to
from tests.ops.test_elementwise import check

Array = Any
DTYPES = ref.SMALL_DTYPES
add: Any = pt.add  # type checkers do not know the functions' methods
maximum: Any = pt.maximum


def drawn(dtype: str, rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """Return elements from the dtype's whole range."""
    low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
    return rng.integers(low, high, shape, dtype, endpoint=True)


@pytest.mark.computes
@pytest.mark.parametrize("name", ref.UNARY)
def test_unary(name: str, device: str, rng: np.random.Generator) -> None:
    for dtype in DTYPES:
        whole = np.arange(np.iinfo(dtype).min, np.iinfo(dtype).max + 1).astype(dtype)
        values = whole if whole.size == 256 else pool(dtype, rng)
        x = pt.tensor(values, dtype=values.dtype, device=device)
        if dtype not in ref.UNARY[name].dtypes:
            with pytest.raises(pt.DTypeError, match=rf"^{name}\b.*\b{dtype}\b"):
                getattr(pt, name)(x)
            continue
        entry, op = ref.UNARY[name], getattr(pt, name)
        check(name, entry, op(x), [values], dtype, dtype)
        check(name, entry, op(x[250:1:-3]), [values[250:1:-3]], dtype, f"{dtype}, steps")


@pytest.mark.computes
@pytest.mark.parametrize("name", ref.BINARY)
def test_binary(name: str, device: str, rng: np.random.Generator) -> None:
    entry, op = ref.BINARY[name], getattr(pt, name)
    for dtype in DTYPES:
        a, b = all_pairs(pool(dtype, rng, 300), pool(dtype, rng, 300), dtype, dtype)
        b = raised_to(name, dtype, device, b)
        x, y = (
            pt.tensor(a, dtype=a.dtype, device=device),
            pt.tensor(b, dtype=b.dtype, device=device),
        )
        check(name, entry, op(x, y), [a, b], dtype, dtype)
        check(name, entry, op(x[::-1], 3), [a[::-1], np.array(3, dtype)], dtype, f"{dtype}, 3")


@pytest.mark.computes
@pytest.mark.parametrize("first", DTYPES)
def test_with_other_dtypes(first: str, device: str, rng: np.random.Generator) -> None:
    """Sums and comparisons in the common dtype, which may have more bits than both."""
    for second in (*ref.DTYPES, *DTYPES):
        a, b = pool(first, rng, 90), pool(second, rng, 90)
        if second == "float32":
            b = np.where(np.abs(b) < SMALLEST, 0, b)  # as devices may
        x, y = (
            pt.tensor(a, dtype=a.dtype, device=device),
            pt.tensor(b, dtype=b.dtype, device=device),
        )
        common = ref.common_dtype(first, second)
        if common is None:
            with pytest.raises(pt.DTypeError, match=f"add: {first} and {second} have no common"):
                pt.add(x, y)
            continue
        with np.errstate(all="ignore"):
            same(x + y, a.astype(common) + b.astype(common), f"{first} + {second}")
            same(y - x, b.astype(common) - a.astype(common), f"{second} - {first}")
        same(x < y, a < b, f"{first} < {second}")


@pytest.mark.computes
@pytest.mark.parametrize("dtype", DTYPES)
def test_astype(dtype: str, device: str, rng: np.random.Generator) -> None:
    """Conversions keep the low bits of an integer, or the integer part of a float."""
    for other in (*ref.DTYPES, *DTYPES):
        a = pool(dtype, rng, 301)
        same(
            pt.tensor(a, dtype=a.dtype, device=device).astype(other),
            a.astype(other),
            f"{dtype} to {other}",
        )
        b = pool(other, rng, 301)
        if other == "float32":
            b = rng.uniform(np.iinfo(dtype).min, np.iinfo(dtype).max, 301).astype(np.float32)
        same(
            pt.tensor(b, dtype=b.dtype, device=device).astype(dtype),
            b.astype(dtype),
            f"{other} to {dtype}",
        )
    far = np.array([np.nan, np.inf, -np.inf, 1e30, 3e9, -3e9, 65536 * 3 + 258.9], np.float32)
    with np.errstate(all="ignore"):
        expected = np.where(np.abs(far) < 2**31, far, 0).astype(np.int32).astype(dtype)
    same(pt.tensor(far, device=device).astype(dtype), expected, f"floats out of range to {dtype}")


@pytest.mark.computes
@pytest.mark.parametrize("dtype", DTYPES)
def test_reductions(dtype: str, device: str, rng: np.random.Generator) -> None:
    """Sums have 32 bits, or a requested dtype, in which they wrap around."""
    a = drawn(dtype, rng, (37, 53))
    x = pt.tensor(a, dtype=a.dtype, device=device)
    wide = ref.SUMMED[dtype]
    for axis in (None, 0, 1):
        for name in ("sum", "prod"):
            found, expected = getattr(x, name), getattr(a, name)
            same(found(axis), expected(axis, dtype=wide), f"{name} over {axis}")
            wrapped = expected(axis, dtype=dtype)
            same(found(axis, dtype=dtype), wrapped, f"{name} over {axis} in {dtype}")
            half = (found(axis, dtype=dtype) * 0.5, wrapped * np.float32(0.5))
            same(half[0], np.float32(half[1]), f"{name} over {axis}, used in its kernel")
        for name in ("max", "min", "ptp"):
            same(getattr(pt, name)(x, axis), getattr(np, name)(a, axis), f"{name} over {axis}")
        for name in ("argmax", "argmin"):
            at = np.asarray(getattr(a, name)(axis), np.int32)
            same(getattr(x, name)(axis), at, f"{name} over {axis}")
        mean = a.mean(axis)
        np.testing.assert_allclose(x.mean(axis).numpy(), mean, 1e-6, 1e-6 * np.abs(a).max())
    for axis in (0, 1):
        same(x.cumsum(axis), a.cumsum(axis, dtype=wide), f"cumsum along {axis}")
        sums = a.cumsum(axis, dtype=dtype)
        same(x.cumsum(axis, dtype), sums, f"cumsum along {axis}, {dtype}")
        same(x.cumsum(axis, dtype) > 100, sums > 100, f"what reads such a cumsum along {axis}")
        running = np.maximum.accumulate(a, axis)
        same(maximum.accumulate(x, axis), running, f"running maximum along {axis}")
        same(pt.sort(x, axis), np.sort(a, axis), f"sort along {axis}")
        order = np.argsort(a, axis, kind="stable").astype(np.int32)
        same(pt.argsort(x, axis), order, f"argsort along {axis}")
    same(pt.sort(x.ravel()), np.sort(a.ravel()), "sort of more than a workgroup")
    values, counts = np.unique(a, return_counts=True)
    found = pt.unique(x, return_counts=True)
    same(found[0], values, "unique")
    same(found[1], counts.astype(np.int32), "counts of unique ones")


@pytest.mark.computes
@pytest.mark.parametrize("dtype", DTYPES)
def test_products(dtype: str, device: str, rng: np.random.Generator) -> None:
    """Matrix products wrap around in their own dtype, as in NumPy."""
    a, b = drawn(dtype, rng, (19, 33)), drawn(dtype, rng, (33, 21))
    x, y = pt.tensor(a, dtype=a.dtype, device=device), pt.tensor(b, dtype=b.dtype, device=device)
    same(x @ y, a @ b, "matmul")
    same(x[0] @ y[:, 0], a[0] @ b[:, 0], "vectors")
    same((x @ y) // 2 + 1, (a @ b) // 2 + np.array(1, dtype), "with what follows")
    same((x * x).sum(), (a * a).sum(dtype=ref.SUMMED[dtype]), "a sum of squares that wrap")
    same(pt.einsum("ij,jk->ki", x, y), np.einsum("ij,jk->ki", a, b), "einsum")


@pytest.mark.computes
@pytest.mark.parametrize("dtype", DTYPES)
def test_writes(dtype: str, device: str, rng: np.random.Generator) -> None:
    """Assignments to elements and windows, by masks and indices, keep adjacent values."""
    a = drawn(dtype, rng, (9, 11))
    x = pt.tensor(a, dtype=a.dtype, device=device)
    for n in (0, 5, 7, 98):
        x.ravel()[n] = a.ravel()[n] = n
    x[1:8, ::3] += 100
    a[1:8, ::3] += np.array(100, dtype)
    same(x, a, "a window")
    x[::-2, 3:] = x[::-2, :-3] * 3
    a[::-2, 3:] = a[::-2, :-3] * np.array(3, dtype)
    same(x, a, "a window that overlaps its value")
    x[x > 90] = pt.arange(1, device=device) + 70000  # int32, whose low bits are kept
    a[a > 90] = np.array([70000]).astype(dtype)
    same(x, a, "a mask")
    rows = rng.integers(0 if dtype[0] == "u" else -9, 9, 40).astype(dtype)
    values = drawn(dtype, rng, (40, 11))
    np.add.at(a, rows, values)
    add.at(x, pt.tensor(rows, device=device), pt.tensor(values, dtype=values.dtype, device=device))
    same(x + 0, a, "add.at, whose indices are of the same dtype")
    np.maximum.at(a, rows % 9, values)
    maximum.at(
        x, pt.tensor(rows, device=device) % 9, pt.tensor(values, dtype=values.dtype, device=device)
    )
    same(x, a, "maximum.at")
    x[pt.tensor(rows[:3], device=device)] = values[:3]
    a[rows[:3]] = values[:3]
    same(x, a, "rows")
    with np.errstate(all="ignore"):
        a //= np.array(7, dtype)
    x //= 7
    same(x, a, "in place")


@pytest.mark.computes
@pytest.mark.parametrize("dtype", DTYPES)
def test_movement_and_selection(dtype: str, device: str, rng: np.random.Generator) -> None:
    a, c = drawn(dtype, rng, (7, 5)), rng.random((7, 5)) < 0.5
    x, m = pt.tensor(a, dtype=a.dtype, device=device), pt.tensor(c, device=device)
    index = rng.integers(0, 7, 12).astype(dtype)
    for what, got, expected in (
        ("concat", pt.concat([x, x[:2]]), np.concatenate([a, a[:2]])),
        ("stack of a view", pt.stack([x.T, x.T[:, ::-1]]), np.stack([a.T, a.T[:, ::-1]])),
        ("pad", pt.pad(x, 2, constant_values=9), np.pad(a, 2, constant_values=9)),
        ("roll", pt.roll(x, 3, 1), np.roll(a, 3, 1)),
        ("where", pt.where(m, x, 5), np.where(c, a, np.array(5, dtype))),
        ("a mask", x[m], a[c]),
        ("indices", x[pt.tensor(index, device=device)], a[index]),
        ("take", pt.take(x, index, 0), a[index]),
        ("clip", x.clip(3, 100), np.clip(a, 3, 100)),
        ("repeat", pt.repeat(x, 3, 1), np.repeat(a, 3, 1)),
        ("0-d", x[3, 4], a[3, 4]),
        ("nothing", x[:0] + 1, a[:0]),
        ("truth", x.astype(bool) & m, a.astype(bool) & c),
    ):
        same(got, expected, what)
    counts = np.bincount(a.ravel() % 8 if dtype[0] == "u" else np.abs(a.ravel() % 8), minlength=9)
    same(pt.bincount(abs(x.ravel() % 8), minlength=9), counts.astype(np.int32), "bincount")


@pytest.mark.parametrize("dtype", DTYPES)
def test_to_the_host_and_back(dtype: str, device: str, rng: np.random.Generator) -> None:
    for n in (1, 2, 3, 5, 1021):
        a = drawn(dtype, rng, (n,))
        x = pt.asarray(a, device=device)
        assert x.nbytes == a.nbytes
        assert (x.itemsize, x.strides) == (a.itemsize, a.strides)
        same(x, a, f"{n} elements")
        assert x.tolist() == a.tolist()
        same(pt.asarray(memoryview(a), device=device), a, "of a buffer")
        same(pt.array(a.tolist(), dtype, device=device), a, "of a list")
        same(pt.asarray(a[::-2], device=device), a[::-2], "steps of the host's")
        same(x[1::2] + 0, a[1::2], "an odd offset")
    special = SPECIAL[dtype]
    x = pt.array(special, dtype=np.dtype(dtype), device=device)
    assert eval(repr(x.to("cpu")), {"tensor": pt.tensor, **{dtype: dtype}}).tolist() == special
    assert pt.iinfo(dtype).max == np.iinfo(dtype).max
    ones = np.ones(3, dtype)
    same(ones + x[:3], ones + np.array(special[:3], dtype), "beside NumPy's")
    with pytest.raises(OverflowError, match=f"out of bounds for {dtype}"):
        x[0] = 2**17
    with pytest.raises(pt.DTypeError, match=f"cannot be stored in {dtype}"):
        x += 0.5
    same(x, np.array(special, dtype), "after errors")


@pytest.mark.computes
def test_a_picture(device: str, rng: np.random.Generator) -> None:
    """Typical pixel operations: clip, conversion to floats and back, histograms, tables."""
    image = rng.integers(0, 256, (33, 47, 3), np.uint8)
    x = pt.asarray(image, device=device)
    weights = np.array([0.299, 0.587, 0.114], np.float32)
    grey = (x * weights).sum(-1).astype(np.uint8)
    expected = (image * weights).sum(-1, dtype=np.float64).astype(np.uint8)
    assert int(abs(grey.astype(np.int16) - expected.astype(np.int16)).max()) <= 1
    same(255 - x, 255 - image, "a negative")
    same(x > 127, image > 127, "a threshold")
    brighter = np.clip(image.astype(np.int16) + 40, 0, 255).astype(np.uint8)
    same(pt.clip(x.astype(np.int16) + 40, 0, 255).astype(np.uint8), brighter, "brighter")
    counts = np.histogram(image, 256, (0, 256))[0].astype(np.int32)
    same(pt.histogram(x, 256, (0, 256))[0], counts, "a histogram")
    table = rng.permutation(256).astype(np.uint8)
    same(pt.asarray(table, device=device)[x], table[image], "by a table")
    flipped = image[::-1, :, ::-1].copy()
    flipped[5:9, 7:30] = 0
    y = x[::-1, :, ::-1].copy()
    y[5:9, 7:30] = 0
    same(y, flipped, "upside down, with other channels, and a part blacked out")


@pytest.mark.computes
@pytest.mark.parametrize("dtype", DTYPES)
def test_python_integers_out_of_range(dtype: str, device: str, rng: np.random.Generator) -> None:
    """They raise only if the result has this dtype."""
    a = drawn(dtype, rng, (40,))
    x = pt.tensor(a, dtype=a.dtype, device=device)
    far = 100_000
    for what, got, expected in (
        ("divide", x / far, (a / far).astype(np.float32)),
        ("divide by", far / (x | 1), (far / (a | 1)).astype(np.float32)),
        ("logical_and", pt.logical_and(x, far), a != 0),
        ("equal", x == far, np.zeros(40, bool)),
        ("clip", x.clip(-far, far), a),
        ("clip below", pt.clip(x, 3, far), np.clip(a, 3, None)),
        ("clip above", pt.clip(x, -far, 3), np.clip(a, None, 3)),
        ("isin", pt.isin(x, far), np.zeros(40, bool)),
        ("searchsorted", pt.searchsorted(pt.sort(x), far), np.int32(40)),
        ("append", pt.append(x, far), np.append(a, far).astype(np.int32)),
        ("diff", pt.diff(x, prepend=0), np.diff(a, prepend=0).astype(np.int32)),
        ("of NumPy's", x * np.int64(far), (a * np.int64(far)).astype(np.int32)),
        ("int32 of NumPy's", np.int32(2) * x, np.int32(2) * a),
        (
            "arange",
            pt.arange(5, 0, -1, dtype=dtype, device=device),
            np.arange(5, 0, -1).astype(dtype),
        ),
        (
            "arange that wraps",
            pt.arange(300, dtype=dtype, device=device),
            np.arange(300).astype(dtype),
        ),
    ):
        same(got, expected, what)
    for write in (
        lambda: x.__setitem__(slice(2), [far, 1]),
        lambda: x.__setitem__([0, 1], [far, 1]),
        lambda: x.__setitem__(x > 3, far),
        lambda: pt.put(x, [0], [far]),
        lambda: x + far,
        lambda: pt.maximum(x[:0], far),
        lambda: pt.full(2, far, dtype, device=device),
        lambda: pt.add(x, far, dtype=dtype),
        lambda: pt.piecewise(x, [x > 3], [far, 1]),
    ):
        with pytest.raises(OverflowError, match=f"{far}.* is out of bounds for {dtype}"):
            write()
    same(x, a, "after errors")


@pytest.mark.computes
@pytest.mark.parametrize("dtype", DTYPES)
def test_results_that_need_more_bits(dtype: str, device: str, rng: np.random.Generator) -> None:
    """Indices and remainders that do not fit the dtype of the operand."""
    a, b = drawn(dtype, rng, (23,)), drawn(dtype, rng, (5,))
    x, y = pt.tensor(a, dtype=a.dtype, device=device), pt.tensor(b, dtype=b.dtype, device=device)
    for mode in ("full", "same", "valid"):
        same(pt.convolve(x, y, mode), np.convolve(a, b, mode), f"convolve, {mode}")
    tens = np.arange(0, 111, 5).astype(dtype)
    same(pt.round(pt.tensor(tens, device=device), -1), np.round(tens, -1), "round to tens")
    index = np.array([0, 50, 99, 100, 127]).astype(dtype)
    places = pt.tensor(index, device=device)
    wide = np.ravel_multi_index((index, index), (300, 300)).astype(np.int32)
    same(pt.ravel_multi_index((places, places), (300, 300)), wide, "ravel_multi_index")
    found = pt.unravel_index(places, (5, 300))
    for got, expected in zip(found, np.unravel_index(index, (5, 300)), strict=True):
        same(got, expected.astype(np.int32), "unravel_index")
    row = pt.arange(1000, device=device)
    for mode in ("raise", "clip", "wrap"):
        same(pt.take(row, places, mode=mode), index.astype(np.int32), f"take, {mode}")
    same(pt.vander(places, 3), np.vander(index, 3).astype(np.int32), "vander")
    same(
        pt.polyval([3, 0, 300], places), np.polyval([3, 0, 300], index).astype(np.int32), "polyval"
    )
    ends = np.linspace(int(a[0]), int(a[1]), 3).astype(np.float32)
    first, last = cast("tuple[Any, Any]", (x[0], x[1]))
    np.testing.assert_allclose(pt.linspace(first, last, 3).numpy(), ends, 1e-6)


def test_random_integers(device: str) -> None:
    low, high = 0, 256
    x = pt.randint(low, high, (4, 500), dtype=np.uint8, device=device)
    assert (str(x.dtype), x.shape) == ("uint8", (4, 500))
    assert x.min() < 20 < 230 < x.max()
    y = pt.random.default_rng(1).integers(-128, 128, 100, dtype="int8")
    assert str(y.dtype) == "int8"
    with pytest.raises(ValueError, match=r"^randint: \[0, 300\) is outside the range of uint8"):
        pt.random.randint(0, 300, 5, dtype=np.uint8)
