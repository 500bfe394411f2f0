"""sort and argsort: axes, lengths, layouts, dtypes, ties, special values, both orders."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import py_tensor as pt
from py_tensor.numpy import setops
from py_tensor.numpy.setops import MIN_COUNTED
from py_tensor.runtime.device import with_backend
from tests.ops import references as ref
from tests.ops.compare import same
from tests.ops.operands import LAYOUTS, SPECIAL, pool

Array = np.ndarray[Any, Any]
# Around the sizes that an invocation, a workgroup and a tile sort, in powers of two.
LENGTHS = (0, 1, 2, 3, 5, 8, 31, 32, 33, 63, 64, 65, 255, 257, 1023, 1024, 1025, 2047, 2049, 4097)


def order(array: Array, axis: int, descending: bool) -> Array:
    """Return indices in the order of values: NaN is last, equal values keep their order."""
    if not descending or array.dtype.kind in "fc":
        return np.argsort(-array if descending else array, axis, kind="stable")
    backwards = np.argsort(np.flip(array, axis), axis, kind="stable")
    return array.shape[axis] - 1 - np.flip(backwards, axis)


def check(x: pt.Tensor, array: Array, axis: int | None, what: str) -> None:
    """Check both functions, in both orders, bit for bit, including the order of equal elements."""
    given, at = (array.reshape(-1), 0) if axis is None else (array, axis)
    for descending in (False, True):
        expected = order(given, at, descending)
        where = f"of {array.dtype} {what}, axis {axis}, descending={descending}"
        same(
            pt.argsort(x, axis, descending=descending),
            expected.astype(np.int32),
            f"argsort {where}",
        )
        values = np.take_along_axis(given, expected, at)
        same(pt.sort(x, axis, descending=descending), values, f"sort {where}")


@pytest.mark.computes
@pytest.mark.parametrize("dtype", ref.ANY_DTYPES)
def test_axes_and_dtypes(dtype: str, device: str, rng: np.random.Generator) -> None:
    array = rng.choice(pool(dtype, rng), (3, 5, 8))
    x = pt.tensor(array, dtype=array.dtype, device=device)
    for axis in (None, 0, 1, 2, -1, -2):
        check(x, array, axis, "(3, 5, 8)")
    same(x.argsort(0), order(array, 0, False).astype(np.int32), "as a method")
    assert x.sort() is None
    same(x, np.sort(array, kind="stable"), "in place, along the last axis")


def test_64_bits_on_the_cpu(rng: np.random.Generator) -> None:
    for dtype in ref.WIDE_DTYPES:
        array = pool(dtype, rng)
        check(pt.tensor(array, dtype=dtype, device="cpu"), array, 0, "on the cpu")


@pytest.mark.computes
def test_lengths(kernels: str, device: str, rng: np.random.Generator) -> None:
    values = pool("float32", rng, 6000)
    for n in LENGTHS:
        for shape, axis in (((3, n), 1), ((n, 5), 0))[: 2 if kernels == "software" else 1]:
            array = rng.choice(values, shape)
            check(pt.tensor(array, dtype=array.dtype, device=device), array, axis, str(shape))


@pytest.mark.computes
def test_layouts(device: str, rng: np.random.Generator) -> None:
    for layout, make in LAYOUTS.items():
        x, array = make(pool("int32", rng, 500), rng, device)
        for axis in (None, *range(array.ndim)):
            check(x, array, axis, layout)


@pytest.mark.computes
@pytest.mark.usefixtures("gpu_kernels")
def test_long_rows(device: str, rng: np.random.Generator) -> None:
    """Several tiles: few distinct values, and arbitrary bits."""
    # The passes between the first and the last sort uint32, whatever the dtype.
    for dtype in ("bool", "int32", "float32"):
        array = rng.choice(pool(dtype, rng, 9000), (2, 9001))
        check(pt.tensor(array, dtype=array.dtype, device=device), array, -1, "any bits")
        few = rng.choice(np.array(SPECIAL[dtype], dtype), (3, 5000))
        check(pt.tensor(few, dtype=few.dtype, device=device), few, 1, "special values")
    columns = rng.choice(pool("float32", rng, 9000), (3000, 3))
    check(pt.tensor(columns, dtype=columns.dtype, device=device), columns, 0, "columns")


@pytest.mark.computes
def test_many_rows(device: str, rng: np.random.Generator) -> None:
    for shape in ((70_001, 3), (5000, 17), (300, 100)):
        array = rng.integers(-9, 9, shape).astype(np.float32)
        check(pt.tensor(array, dtype=array.dtype, device=device), array, 1, str(shape))


@pytest.mark.computes
def test_a_hundred_thousand(device: str, rng: np.random.Generator) -> None:
    array = rng.standard_normal(123_457).astype(np.float32)
    x = pt.tensor(array, dtype=array.dtype, device=device)
    same(pt.sort(x), np.sort(array), "sort")
    same(x.argsort(), np.argsort(array, kind="stable").astype(np.int32), "argsort")


@pytest.mark.computes
def test_sorted_input(device: str) -> None:
    for n in (7, 100, 3000):
        for array in (
            np.arange(n, dtype=np.int32),
            np.arange(n, 0, -1, dtype=np.int32),
            np.full(n, 7, np.int32),
            np.arange(n, dtype=np.int32) % 2,
        ):
            check(
                pt.tensor(array, dtype=array.dtype, device=device),
                array,
                0,
                f"{n} elements in some order",
            )


@pytest.mark.computes
@pytest.mark.usefixtures("kernels")
def test_equal_elements_stay_in_their_order(device: str) -> None:
    inf, nan = np.inf, np.nan
    array = np.array([nan, 0.0, -0.0, inf, 0.0, -inf, nan, -0.0, 1e-40, -1e-40, 0.0], np.float32)
    for times in (1, 7, 300):
        long = np.tile(array, times)
        check(pt.tensor(long, device=device), long, 0, f"zeros and NaN, {times} times")


@pytest.mark.computes
def test_pending_operands(device: str, rng: np.random.Generator) -> None:
    for n in (9, 700, 3000):
        a = rng.integers(-99, 99, (4, n)).astype(np.float32)
        x = pt.tensor(a, dtype=a.dtype, device=device)
        same(pt.sort(x * 2 + 1), np.sort(a * 2 + 1), f"of an expression, {n}")
        same(pt.sort(x, 1) + x, np.sort(a) + a, f"inside an expression, {n}")
        same(pt.sort(x.pad(2), 0), np.sort(np.pad(a, 2), 0), f"of a padded tensor, {n}")
        same(pt.sort(pt.sort(x), 0), np.sort(np.sort(a), 0), f"one after the other, {n}")
        same(x.argsort().argsort(), np.argsort(np.argsort(a, kind="stable")).astype("i4"), "ranks")
        same(pt.sort(x.sum(0)), np.sort(a.sum(0)), f"of a reduction, {n}")
        same(pt.sort(x)[:, ::-1].max(1), a.min(1) * 0 + a.max(1), f"reduced, {n}")


@pytest.mark.computes
def test_errors(device: str) -> None:
    x = pt.ones((2, 3), device=device)
    for name in ("sort", "argsort"):
        with pytest.raises(pt.AxisError, match=rf"^{name}: axis 2\b.*2 axes"):
            getattr(x, name)(2)
        with pytest.raises(TypeError, match=rf"^{name}: .*\(0, 1\)"):
            getattr(x, name)((0, 1))
        with pytest.raises(TypeError, match=rf"^{name}: "):
            getattr(pt, name)("text")
    with pytest.raises(pt.AxisError, match=r"^sort: axis -1\b.*0 axes"):
        x[0, 0].sort()
    same(x.sum(), np.float32(6), "the session afterwards")


@pytest.mark.computes
@pytest.mark.parametrize("dtype", ["float32", "int32", "complex64"])
def test_views(dtype: str, device: str, rng: np.random.Generator) -> None:
    array = rng.integers(-3, 3, (5, 6)).astype(dtype)
    array = array * np.array(1 + 1j if dtype == "complex64" else 1, dtype)
    x = pt.tensor(array, device=device)
    pairs = (
        (x.T, array.T),
        (x[:, ::-1], array[:, ::-1]),
        (x[::2, 1:], array[::2, 1:]),
        (pt.broadcast_to(x[:, :1], (5, 4)), np.broadcast_to(array[:, :1], (5, 4))),
    )
    for ours, numpys in pairs:
        for axis in (0, 1):
            same(pt.sort(ours, axis), np.sort(numpys, axis), f"sort of a view of {dtype}")
            positions = np.argsort(numpys, axis, kind="stable").astype(np.int32)
            same(pt.argsort(ours, axis), positions, f"argsort of a view of {dtype}")


@pytest.mark.computes
def test_unique_rows_of_complex_numbers(device: str, rng: np.random.Generator) -> None:
    """NaN is the last real part and the last imaginary part."""
    parts = rng.choice([0.0, -1.0, 2.0, np.nan], (40, 3, 2)).astype(np.float32)
    given = np.concatenate([parts, parts[::2]]).view(np.complex64)[..., 0]
    x = pt.tensor(given, device=device)
    expected = np.unique(given, True, axis=0)
    for ours, numpys in zip(pt.unique(x, True, axis=0), expected, strict=True):
        np.testing.assert_array_equal(ours.numpy(), numpys)


@pytest.mark.parametrize(
    ("dtype", "start", "span"),
    [
        ("bool", 0, 2),
        ("int8", -128, 256),
        ("uint8", 0, 256),
        ("int16", -(2**15), 2**16),
        ("uint16", 7, 1000),
        ("int32", -(2**31), 5000),
        ("int32", 2**31 - 5000, 5000),
        ("int32", -(2**31), 2**32),
        ("int32", -3, 1),
        ("uint32", 2**32 - 70_000, 70_000),
        ("int64", 2**40, 3000),
        ("uint64", 2**64 - 3000, 3000),
    ],
)
def test_unique_of_many_integers(
    device: str,
    rng: np.random.Generator,
    monkeypatch: pytest.MonkeyPatch,
    dtype: str,
    start: int,
    span: int,
) -> None:
    """They are counted if their range is small, even where reading it takes long."""
    monkeypatch.setattr(with_backend(pt.ones(1, device=device).device).backend, "read_work", 0)
    for shape in [(MIN_COUNTED,), (5, 7, 700)]:
        offsets = rng.integers(0, span, shape, dtype=np.uint64)
        given = (offsets + np.uint64(start % 2**64)).astype(dtype)
        found = pt.unique(pt.tensor(given, dtype=dtype, device=device), True, True, True)
        for ours, numpys in zip(found, np.unique(given, True, True, True), strict=True):
            assert ours.numpy().shape == numpys.shape
            np.testing.assert_array_equal(ours.numpy(), numpys)
        alone = pt.unique(pt.tensor(given, dtype=dtype, device=device))
        assert alone.dtype.name == dtype
        np.testing.assert_array_equal(alone.numpy(), np.unique(given))


@pytest.mark.parametrize(
    ("dtype", "size", "is_counted"),
    [
        ("int32", MIN_COUNTED + 99, False),
        ("int64", MIN_COUNTED + 99, False),
        ("uint32", MIN_COUNTED + 100, True),
        ("int16", MIN_COUNTED, True),
        ("int16", MIN_COUNTED - 1, False),
    ],
)
def test_unique_reads_a_range_where_that_costs_less_than_a_sort(
    device: str,
    rng: np.random.Generator,
    monkeypatch: pytest.MonkeyPatch,
    dtype: str,
    size: int,
    is_counted: bool,
) -> None:
    """Integers of up to 16 bits have a small range that is known."""
    monkeypatch.setattr(
        with_backend(pt.ones(1, device=device).device).backend, "read_work", MIN_COUNTED + 100
    )
    counted = []
    original = setops._counted

    def noted(*given: Any) -> list[pt.Tensor] | None:
        counted.append(original(*given))
        return counted[-1]

    monkeypatch.setattr(setops, "_counted", noted)
    given = rng.integers(0, 700, size).astype(dtype)
    found = pt.unique(pt.tensor(given, dtype=dtype, device=device), True, True, True)
    for ours, numpys in zip(found, np.unique(given, True, True, True), strict=True):
        np.testing.assert_array_equal(ours.numpy(), numpys)
    assert [result is not None for result in counted] == [True] * is_counted


def test_argsort_of_a_scalar(device: str) -> None:
    x = pt.tensor(3.5, device=device)
    for axis in (-1, 0, None):
        expected = np.argsort(np.array(3.5), axis=axis).astype(np.int32)
        np.testing.assert_array_equal(pt.argsort(x, axis).numpy(), expected, strict=True)
    with pytest.raises(pt.AxisError):
        pt.argsort(x, 1)


@pytest.mark.computes
@pytest.mark.parametrize("dtype", ["float32", "int8", "bool", "complex64"])
def test_unique_slices(dtype: str, device: str, rng: np.random.Generator) -> None:
    """Lexicographic order of any number of columns, along any axis; NaN equals nothing there."""
    for shape in ((1, 1), (7, 1), (40, 2), (40, 3), (60, 5), (5, 4, 3), (3, 64), (4, 0), (0, 4)):
        a = rng.integers(0, 2, shape).astype(dtype)
        x = pt.tensor(a, dtype=dtype, device=device)
        for axis in range(-1, a.ndim - 1):
            if not a.size and a.shape[axis]:
                continue  # NumPy has no dtype for rows without elements
            options: dict[str, Any] = dict.fromkeys(
                ("return_index", "return_inverse", "return_counts"), True
            )
            expected = np.unique(a, axis=axis, **options)
            found = pt.unique(x, axis=axis, **options)
            for mine, theirs in zip(found, expected, strict=True):
                np.testing.assert_array_equal(mine.numpy(), theirs, f"{shape} along {axis}")
    if dtype == "float32":
        nan = pt.tensor([[np.nan, 2], [1, 0], [np.nan, 1], [1, 0]], device=device)
        found = pt.unique(nan, axis=0).numpy()
        np.testing.assert_array_equal(found, [[1, 0], [np.nan, 1], [np.nan, 2]])
