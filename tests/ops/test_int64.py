"""64-bit integers, which the GPU represents as pairs of words, against Python's integers."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import py_tensor as pt
from tests.ops.compare import same
from tests.ops.operands import Few, pool

Array = Any
DTYPES = ("int64", "uint64")
EDGES = [2**n + d for n in (0, 16, 31, 32, 33, 53, 62, 63, 64) for d in (-2, -1, 0, 1, 2)]
OTHERS = (
    *("bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"),
    *("float16", "float32"),
)


def wrapped(value: int, dtype: str) -> int:
    value %= 2**64
    return value - 2**64 if dtype == "int64" and value >= 2**63 else value


def shifted(x: int, y: int, *, up: bool) -> int:
    if up:
        return x << y if 0 <= y < 64 else 0
    return x >> y if 0 <= y < 64 else -int(x < 0)


OPERATIONS: dict[str, Callable[[int, int], int]] = {
    "add": operator.add,
    "subtract": operator.sub,
    "multiply": operator.mul,
    "floor_divide": lambda x, y: x // y if y else 0,
    "remainder": lambda x, y: x % y if y else 0,
    "bitwise_and": operator.and_,
    "bitwise_or": operator.or_,
    "bitwise_xor": operator.xor,
    "maximum": max,
    "minimum": min,
    "left_shift": lambda x, y: shifted(x, y, up=True),
    "right_shift": lambda x, y: shifted(x, y, up=False),
    "power": lambda x, y: pow(x, y, 2**64) if y >= 0 else {1: 1, -1: -1 if y % 2 else 1}.get(x, 0),
}
COMPARISONS = ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal")


def edges(dtype: str, rng: np.random.Generator, count: int) -> list[int]:
    """Return numbers near powers of two, small numbers, and random numbers."""
    near = [s * x for x in EDGES for s in (1, -1)]
    anywhere = rng.integers(0, 2**64, count, np.uint64, endpoint=False).tolist()
    found = rng.permutation(np.array([*near, *range(-70, 70), *anywhere], object)).tolist()
    return [wrapped(x, dtype) for x in (found * 9)[:count]]


@pytest.mark.computes
@pytest.mark.parametrize("dtype", DTYPES)
def test_ten_thousand_operations(dtype: str, device: str, rng: np.random.Generator) -> None:
    each = 10_000 // (len(OPERATIONS) + len(COMPARISONS)) + 1
    for name, exact in OPERATIONS.items():
        a, b = edges(dtype, rng, each), edges(dtype, rng, each)
        if name == "power" and device == "cpu":  # negative exponents raise there
            b = [abs(q) % 2**63 for q in b]
        x, y = (pt.tensor(v, dtype=dtype, device=device) for v in (a, b))
        expected = [wrapped(exact(p, q), dtype) for p, q in zip(a, b, strict=True)]
        same(getattr(pt, name)(x, y), np.array(expected, dtype), name)
        number = b[0] if name != "power" else abs(b[0]) % 2**63
        expected = [wrapped(exact(p, number), dtype) for p in a]
        same(getattr(pt, name)(x, number), np.array(expected, dtype), f"{name} with {number}")
    for name in COMPARISONS:
        exact = getattr(operator, {"equal": "eq", "not_equal": "ne"}.get(name, _short(name)))
        a, b = edges(dtype, rng, each), edges(dtype, rng, each)
        b[: each // 3] = a[: each // 3]
        x, y = (pt.tensor(v, dtype=dtype, device=device) for v in (a, b))
        expected = [exact(p, q) for p, q in zip(a, b, strict=True)]
        same(getattr(pt, name)(x, y), np.array(expected), name)


def _short(name: str) -> str:
    first, _, rest = name.partition("_")
    return first[0] + ("e" if rest else "t")


@pytest.mark.computes
@pytest.mark.parametrize("dtype", DTYPES)
def test_conversions(dtype: str, device: str, rng: np.random.Generator) -> None:
    """64-bit integers are converted to every dtype and from it."""
    numbers = np.array(edges(dtype, rng, 500), dtype)
    x = pt.tensor(numbers, dtype=dtype, device=device)
    for other in OTHERS:
        with np.errstate(over="ignore"):
            same(x.astype(other), numbers.astype(other), f"{dtype} to {other}")
            values = numbers.astype(other)
        if values.dtype.kind == "f":
            values = values[np.abs(values) < 2.0**62]
            values = np.abs(values) if dtype == "uint64" else values
        y = pt.tensor(values, dtype=other, device=device)
        same(y.astype(dtype), values.astype(dtype), f"{other} to {dtype}")


@pytest.mark.computes
@pytest.mark.parametrize("dtype", DTYPES)
def test_host(dtype: str, device: str) -> None:
    """Round trips through bytes, Python integers and text."""
    info = np.iinfo(dtype)
    numbers = [int(info.min), int(info.max), 0, 2**53 + 1]
    x = pt.tensor(numbers, dtype=dtype, device=device)
    assert x.tolist() == numbers
    assert [int(n) for n in x] == numbers
    assert x.itemsize == 8
    assert x.nbytes == 32
    assert str(numbers[1]) in repr(x)
    assert f"dtype={dtype}" in repr(x)
    same(pt.asarray(np.array(numbers, dtype), dtype=dtype, device=device), x.numpy(), "NumPy's")
    for outside in (numbers[0] - 1, numbers[1] + 1):
        with pytest.raises(OverflowError, match=dtype):
            pt.tensor([outside], dtype=dtype, device=device)
        with pytest.raises(OverflowError, match=dtype):
            pt.add(x, outside)
    same(pt.full(3, numbers[1], dtype=dtype, device=device), np.full(3, numbers[1], dtype), "full")
    steps = pt.arange(2**40, 2**40 + 9, 3, dtype=dtype, device=device)
    same(steps, np.arange(2**40, 2**40 + 9, 3).astype(dtype), "arange")
    same(pt.arange(7, dtype=dtype, device=device)[::-2], np.arange(7, dtype=dtype)[::-2], "a view")


@pytest.mark.computes
def test_promotion(device: str) -> None:
    def of(dtype: str) -> pt.Tensor:
        return pt.tensor([3], dtype=dtype, device=device)

    for a in OTHERS:
        for b in OTHERS:
            expected = np.promote_types(a, b).name
            expected = "float32" if expected == "float64" else expected
            assert (of(a) + of(b)).dtype == expected, f"{a} and {b}"
    assert (of("int64") + 1).dtype is pt.int64
    assert (of("uint64") + 0.5).dtype is pt.float32
    assert pt.mean(of("int64")).dtype is pt.float32
    assert pt.sum(of("uint64")).dtype is pt.uint64
    total = pt.tensor([2**32 - 1], dtype="uint32", device=device) + pt.tensor([-1], device=device)
    same(total, np.array([2**32 - 2]), "uint32 with int32")


@pytest.mark.computes
@pytest.mark.parametrize(
    ("dtype", "shape"),
    [
        *((dtype, shape) for dtype in DTYPES for shape in ((1,), (7,), (5, 33), (2, 9, 4, 5))),
        ("int64", (3, 70_001)),
        ("uint64", (20_001, 3)),
    ],
)
def test_folds(
    dtype: str,
    shape: tuple[int, ...],
    device: str,
    kernels: str,
    rng: np.random.Generator,
    few: Few,
) -> None:
    """Over any axes, with whole and split rows; fused with ops before and after."""
    a = np.array(edges(dtype, rng, 2000), dtype)
    a = rng.choice(a, shape)
    x = pt.tensor(a, dtype=dtype, device=device)
    for axis in few((None, *range(len(shape))), 1):
        what = f"{shape} over {axis}"
        for name in ("sum", "prod", "max", "min"):
            function = getattr(np, name)
            options = {"dtype": dtype} if name in ("sum", "prod") else {}
            expected = function(a, axis=axis, **options)
            same(getattr(pt, name)(x, axis=axis), np.asarray(expected), f"{name}, {what}")
        for name in ("argmax", "argmin"):
            expected = np.asarray(getattr(np, name)(a, axis=axis), np.int32)
            same(getattr(pt, name)(x, axis=axis), expected, f"{name}, {what}")
        for name in ("any", "all", "count_nonzero"):
            expected = np.asarray(getattr(np, name)(a, axis=axis))
            expected = expected.astype(np.int32) if name == "count_nonzero" else expected
            same(getattr(pt, name)(x, axis=axis), expected, f"{name}, {what}")
        for name in ("cumsum", "cumprod"):
            expected = getattr(np, name)(a, axis=axis, dtype=dtype)
            same(getattr(pt, name)(x, axis=axis), expected, f"{name}, {what}")
        expected = (np.maximum(a, 5) * a.dtype.type(3)).sum(axis=axis, dtype=dtype) + 1
        same((pt.maximum(x, 5) * 3).sum(axis=axis) + 1, np.asarray(expected), f"fused, {what}")
    maximum: Any = pt.maximum
    running = maximum.accumulate(x, axis=-1)
    same(running, np.maximum.accumulate(a, axis=-1), f"running maxima of {shape}")


@pytest.mark.computes
@pytest.mark.parametrize("dtype", DTYPES)
def test_folds_with_others(dtype: str, device: str, rng: np.random.Generator) -> None:
    """Sums of 32 and 64 bits, and comparisons of rows with them, in one kernel."""
    a = rng.integers(0, 1000, (40, 64)).astype(np.int32)
    x = pt.tensor(a, device=device)
    wide = a.astype(dtype)
    found = (x.sum(0), x.astype(dtype).sum(0), x.astype("float32").mean(0))
    same(found[1], wide.sum(0), "of 64 bits")
    same(found[0], a.sum(0, dtype=np.int32), "of 32 bits")
    big = wide * wide.dtype.type(2**33)
    y = pt.tensor(big, dtype=dtype, device=device)
    rest = y - y.max(axis=1, keepdims=True)
    same(rest.sum(axis=1), (big - big.max(axis=1, keepdims=True)).sum(1), "rows less their maxima")
    same(x.sum(1).astype(dtype) + y[:, 0], wide.sum(1) + big[:, 0], "a column of 64 bits added")


@pytest.mark.computes
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(1,), (2, 3), (5, 700), (2, 6001), (900, 3)])
def test_order(shape: tuple[int, ...], dtype: str, device: str, rng: np.random.Generator) -> None:
    a = rng.choice(np.array(edges(dtype, rng, 3000), dtype), shape)
    x = pt.tensor(a, dtype=dtype, device=device)
    for axis in range(len(shape)):
        same(pt.sort(x, axis=axis), np.sort(a, axis=axis), f"sort, {axis}")
        places = np.argsort(a, axis=axis, kind="stable").astype(np.int32)
        same(pt.argsort(x, axis=axis), places, f"argsort, {axis}")
        falling = np.flip(np.sort(a, axis=axis), axis)
        same(pt.sort(x, axis=axis, descending=True), falling, f"descending, {axis}")
    same(pt.sort(x.T + 1, axis=0), np.sort(a.T + a.dtype.type(1), axis=0), "of what is computed")
    same(pt.unique(x), np.unique(a), "unique")
    ordered = pt.sort(x.ravel())
    found = pt.searchsorted(ordered, x.ravel())
    same(found, np.searchsorted(np.sort(a.ravel()), a.ravel()).astype(np.int32), "searchsorted")


@pytest.mark.computes
@pytest.mark.parametrize("dtype", DTYPES)
def test_index(dtype: str, device: str, rng: np.random.Generator) -> None:
    """Elements by views, masks and indices; also 64-bit indices."""
    a = np.array(edges(dtype, rng, 60), dtype).reshape(5, 12)
    x = pt.tensor(a, dtype=dtype, device=device)
    rows = np.array([3, 0, 4, 3])
    wide = pt.tensor(rows, dtype=dtype, device=device)
    same(x[wide], a[rows], "by an index of 64 bits")
    same(x[::-2, 1::3], a[::-2, 1::3], "a view")
    same(x[x > 5], a[a > 5], "by a mask")
    same(pt.where(x > 5, x, 7), np.where(a > 5, a, a.dtype.type(7)), "where")
    same(pt.concat([x, x[:1] + 1]), np.concatenate([a, a[:1] + a.dtype.type(1)]), "concat")
    same(pt.roll(x, 5, 1), np.roll(a, 5, 1), "roll")
    same(pt.pad(x, 1, constant_values=9), np.pad(a, 1, constant_values=9), "pad")
    for outside in (5, 2**31, 2**32, 2**32 + 1, 2**63 - 1):
        shown = str(outside) if outside == 5 or device == "cpu" else "2147483647 or more"
        with pytest.raises(IndexError, match=rf"{shown} .* axis 0 of shape \(5, 12\)"):
            x[pt.tensor([outside], dtype=dtype, device=device)].numpy()
    if dtype == "int64":
        same(x[pt.tensor([-1, -5], dtype=dtype, device=device)], a[[-1, -5]], "from the end")
        for outside in (-6, -(2**32), -(2**32) + 1, -(2**63)):
            with pytest.raises(IndexError, match=r"axis 0 of shape \(5, 12\)"):
                x[pt.tensor([outside], dtype=dtype, device=device)].numpy()


@pytest.mark.computes
@pytest.mark.parametrize("dtype", DTYPES)
def test_writes(dtype: str, device: str, rng: np.random.Generator) -> None:
    a = np.array(edges(dtype, rng, 60), dtype).reshape(5, 12)
    x = pt.tensor(a, dtype=dtype, device=device)
    view = x[1:, ::2]
    x[2, 3] = 2**62 + 1
    a[2, 3] = 2**62 + 1
    x[1:, ::2] += 2**40
    a[1:, ::2] += a.dtype.type(2**40)
    x[x < 9] = 11
    a[a < 9] = 11
    x[[0, 0, 4]] = pt.tensor([[1], [2], [3]], dtype=dtype, device=device)
    a[[0, 0, 4]] = np.array([[1], [2], [3]], dtype)
    same(x, a, "written")
    same(view, a[1:, ::2], "the view")
    places = rng.integers(0, 50, 3000)
    values = np.array(edges(dtype, rng, 3000), dtype)
    for name in ("add", "minimum", "maximum"):
        expected = np.full(50, 2**40, dtype)
        getattr(np, name).at(expected, places, values)
        found = pt.full(50, 2**40, dtype=dtype, device=device)
        given = pt.tensor(values, dtype=dtype, device=device)
        getattr(pt, name).at(found, pt.tensor(places, device=device), given)
        same(found, expected, f"{name}.at")


@pytest.mark.computes
@pytest.mark.parametrize("dtype", DTYPES)
def test_products(dtype: str, device: str, rng: np.random.Generator) -> None:
    a, b = (pool(dtype, rng, 300)[: 12 * 20].reshape(12, 20) for _ in range(2))
    x, y = (pt.tensor(v, dtype=dtype, device=device) for v in (a, b))
    same(x @ y.T, a @ b.T, "matmul")


@pytest.mark.computes
def test_constants_of_a_loop(device: str) -> None:
    """Constants that differ between passes, too large for a float64."""
    x = pt.zeros(5, dtype="int64", device=device)
    expected = 0
    for n in range(40):
        x = (x ^ (2**53 + n)) + (2**62 + 3 * n)
        expected = wrapped((expected ^ (2**53 + n)) + (2**62 + 3 * n), "int64")
    assert x.tolist() == [expected] * 5
    for first in (2**53, 2**53 + 1):  # one structure, other constants
        y = pt.ones(3, dtype="int64", device=device) * first + 2**53
        assert y.tolist() == [first + 2**53] * 3


@pytest.mark.computes
def test_random_generators_by_hand(device: str) -> None:
    """splitmix64 and a hash of text (FNV-1a), as typically written."""
    state = pt.arange(100, dtype="uint64", device=device)
    z = state * 0x9E3779B97F4A7C15
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB
    z = z ^ (z >> 31)
    n = np.arange(100, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    n = (n ^ (n >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    n = (n ^ (n >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    same(z, n ^ (n >> np.uint64(31)), "splitmix64")
    digest = pt.full(4, 0xCBF29CE484222325, dtype="uint64", device=device)
    expected = 0xCBF29CE484222325
    for byte in b"tensor":
        digest = (digest ^ byte) * 0x100000001B3
        expected = ((expected ^ byte) * 0x100000001B3) % 2**64
    assert digest.tolist() == [expected] * 4


@pytest.mark.computes
@pytest.mark.parametrize("dtype", DTYPES)
def test_division_near_multiples(dtype: str, device: str, rng: np.random.Generator) -> None:
    """Numbers of any length, at and around multiples of the divisor."""
    count = 20_000

    def drawn() -> list[int]:
        bits = rng.integers(0, 2**64, count, np.uint64, endpoint=False).tolist()
        signs = rng.choice([-1, 1] if dtype == "int64" else [1], count).tolist()
        shifts = rng.integers(0, 64, count).tolist()
        return [
            wrapped((n >> by) * sign, dtype)
            for n, by, sign in zip(bits, shifts, signs, strict=True)
        ]

    a, b = drawn(), drawn()
    for i in range(count // 2):
        near = a[i] // b[i] * b[i] + int(rng.integers(-1, 2)) if b[i] else 0
        a[i] = near if near == wrapped(near, dtype) else a[i]
    x, y = (pt.tensor(v, dtype=dtype, device=device) for v in (a, b))
    quotients = [wrapped(p // q, dtype) if q else 0 for p, q in zip(a, b, strict=True)]
    same(x // y, np.array(quotients, dtype), "//")
    rests = [p % q if q else 0 for p, q in zip(a, b, strict=True)]
    same(x % y, np.array(rests, dtype), "%")


@pytest.mark.computes
def test_long_chains_and_rows(device: str) -> None:
    """More loop iterations in one kernel than CPU drivers allow per invocation."""
    x, n = pt.arange(1, 301, dtype="uint64", device=device), np.arange(1, 301, dtype=np.uint64)
    for _ in range(20):
        x = x * 48271 % 2147483647
        n = n * np.uint64(48271) % np.uint64(2147483647)
    same(x, n, "a generator, 20 times")
    x, n = pt.arange(200_000, dtype="int64", device=device), np.arange(200_000, dtype=np.int64)
    big, wide = x * 12345678901, n * 12345678901
    same((big // 7).sum(), np.asarray((wide // 7).sum()), "a sum of quotients")
    same((big % 1000).max(), np.asarray((wide % 1000).max()), "the greatest rest")
    same((x ** (x % 5)).sum(), np.asarray((n ** (n % 5)).sum()), "a sum of powers")
    ones = pt.ones(4_300_000, dtype="int64", device=device)
    assert int(ones.sum()) == 4_300_000
    assert int(ones.cumsum()[-1]) == 4_300_000


@pytest.mark.computes
def test_lists_as_the_other_operand(device: str) -> None:
    """Lists of Python integers have 64 bits if the other operand has."""
    x = pt.arange(6, dtype="int64", device=device)
    far = [2**40, 0, 1, -(2**40), 5, 2**62]
    same(x + far, np.arange(6) + np.array(far), "added")
    same(x == far, np.arange(6) == np.array(far), "compared")
    same(pt.concat([x, far]), np.concatenate([np.arange(6), far]), "joined")
    same(pt.stack([x[:2], [2**40, 1]]), np.stack([np.arange(2), [2**40, 1]]), "stacked")
    same(pt.isin(x, [0, 2**40]), np.isin(np.arange(6), [0, 2**40]), "isin")
    same(pt.searchsorted(x, [2**40, 3]), np.array([6, 3], np.int32), "searchsorted")
    with pytest.raises(OverflowError, match=r"int32"):
        pt.add(pt.arange(6, device=device), far)
    with pytest.raises(OverflowError, match=r"int64"):
        pt.add(x, [2**70] * 6)
    down = pt.arange(9, 0, -2, dtype="uint64", device=device)
    same(down, np.arange(9, 0, -2).astype(np.uint64), "an unsigned range that falls")


@pytest.mark.computes
@pytest.mark.parametrize("name", COMPARISONS)
@pytest.mark.parametrize("other", ["int8", "int32", "int64"])
def test_uint64_with_signed_integers(
    name: str, other: str, device: str, rng: np.random.Generator
) -> None:
    """Compared exactly, although no dtype represents both."""
    exact = getattr(operator, {"equal": "eq", "not_equal": "ne"}.get(name, _short(name)))
    a = edges("uint64", rng, 400)
    info = np.iinfo(other)
    b = [n if info.min <= n <= info.max else -1 for n in edges("int64", rng, 400)]
    a[:60] = [abs(n) for n in b[:60]]
    x = pt.tensor(a, dtype="uint64", device=device)
    y = pt.tensor(b, dtype=other, device=device)
    function = getattr(pt, name)
    same(function(x, y), np.array([exact(p, q) for p, q in zip(a, b, strict=True)]), name)
    same(function(y, x), np.array([exact(q, p) for p, q in zip(a, b, strict=True)]), name)


@pytest.mark.computes
def test_bins_of_large_integers(device: str) -> None:
    for start, dtype in (
        (2**24, "int32"),
        (2**24, "uint64"),
        (2**53, "int64"),
        (-(2**60), "int64"),
    ):
        numbers = [start + n for n in (0, 0, 1, 2, 2, 2)]
        x = pt.tensor(numbers, dtype=dtype, device=device)
        steps = pt.tensor([start, start + 1, start + 2, start + 3], dtype=dtype, device=device)
        counts, given = pt.histogram(x, bins=steps)
        same(counts, np.array([2, 1, 3], np.int32), f"between integers from {start}")
        assert given.tolist() == steps.tolist()
