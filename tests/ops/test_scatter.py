"""Scatter: modes, dtypes, repeated, negative and broadcast indices; functions composed of it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import py_tensor as pt
from py_tensor.codegen.adapter_profile import AdapterProfile
from py_tensor.ops.gather import gather_nd, scatter
from py_tensor.tools import control
from tests.ops import references as ref
from tests.ops.compare import same
from tests.ops.operands import LAYOUTS, pool

Array = np.ndarray[Any, Any]
MODES = ("set", "add", "min", "max", "add_atomic")
COMBINE = {"add": np.add, "add_atomic": np.add, "min": np.minimum, "max": np.maximum}
# The shape of x, the indexed axes, the shapes of the indices, and the position of their axes.
PLACES: tuple[tuple[tuple[int, ...], tuple[int, ...], tuple[tuple[int, ...], ...], int], ...] = (
    ((7,), (0,), ((20,),), 0),
    ((7,), (0,), ((),), 0),
    ((1,), (0,), ((5, 2),), 0),
    ((4, 5), (0,), ((6,),), 0),
    ((4, 5), (1,), ((2, 3),), 1),
    ((4, 5), (1,), ((2, 3),), 0),
    ((4, 5), (0, 1), ((30,), (30,)), 0),
    ((4, 5), (1, 0), ((3, 1), (1, 4)), 0),
    ((3, 4, 5), (0, 2), ((6,), (6,)), 0),
    ((3, 4, 5), (0, 2), ((6,), (6,)), 1),
    ((3, 4, 5), (2, 1), ((2, 1), (3,)), 1),
    ((3, 4, 5), (0, 1, 2), ((9,), (9,), ()), 0),
    ((2, 3, 4, 5), (1, 3), ((2, 2), (2,)), 2),
)


def key_of(
    shape: tuple[int, ...], axes: tuple[int, ...], indices: list[Array], at: int
) -> tuple[Array, ...]:
    """NumPy's index of the same elements in the same order."""
    common = np.broadcast_shapes(*(i.shape for i in indices))
    rest = [a for a in range(len(shape)) if a not in axes]
    rank = len(common) + len(rest)
    places: dict[int, Array] = {}
    for axis, index in zip(axes, indices, strict=True):
        behind = (1,) * (len(rest) - at)
        places[axis] = np.broadcast_to(index, common).reshape((1,) * at + common + behind)
    for n, axis in enumerate(rest):
        where = n if n < at else n + len(common)
        own = [1] * rank
        own[where] = shape[axis]
        places[axis] = np.arange(shape[axis]).reshape(own)
    return tuple(places[a] for a in range(len(shape)))


def expected_of(x: Array, key: tuple[Array, ...], values: Any, mode: str) -> Array:
    result = x.copy()
    with np.errstate(all="ignore"):
        if mode == "set":
            result[key] = values
        else:
            COMBINE[mode].at(result, key, values)
    return result


def some(n: int, shape: tuple[int, ...], dtype: str, rng: np.random.Generator) -> Array:
    return np.asarray(rng.integers(0 if dtype == "uint32" else -n, n, shape), dtype)


def numbers(dtype: str, shape: tuple[int, ...], rng: np.random.Generator) -> Array:
    """Return values whose sums are exact in any order."""
    if dtype == "bool":
        return rng.random(shape) < 0.3
    return rng.integers(0 if dtype == "uint32" else -99, 99, shape).astype(dtype)


@pytest.mark.computes
@pytest.mark.parametrize("dtype", ref.ANY_DTYPES)
@pytest.mark.parametrize("mode", MODES)
def test_modes(mode: str, dtype: str, device: str, rng: np.random.Generator) -> None:
    for shape, axes, shapes, at in PLACES:
        array = numbers(dtype, shape, rng)
        kind = "uint32" if rng.random() < 0.3 else "int32"
        indices = [some(shape[a], s, kind, rng) for a, s in zip(axes, shapes, strict=True)]
        key = key_of(shape, axes, indices, at)
        values = numbers(dtype, array[key].shape, rng)
        x, v = (
            pt.tensor(array, dtype=array.dtype, device=device),
            pt.tensor(values, dtype=values.dtype, device=device),
        )
        given = [pt.tensor(i, device=device) for i in indices]
        what = f"{mode} of {dtype}{shape} along {axes} at {shapes}, {at}"
        same(gather_nd(x, axes, given, at), array[key], f"gather, {what}")
        got = scatter(x, axes, given, at, v, mode)
        same(got, expected_of(array, key, values, mode), what)
        same(x, array, f"the operand after {what}")


@pytest.mark.computes
@pytest.mark.parametrize("mode", ["set", "min", "max"])
def test_special_values(mode: str, device: str, rng: np.random.Generator) -> None:
    """NaN wins against every number; stored values keep every bit."""
    array, values = rng.choice(pool("float32", rng), 40), rng.choice(pool("float32", rng), 90)
    at = rng.integers(-40, 40, 90).astype(np.int32)
    x, v, t = (pt.tensor(a, dtype=a.dtype, device=device) for a in (array, values, at))
    got = scatter(x, (0,), (t,), 0, v, mode)
    expected = expected_of(array, (at,), values, mode)
    if mode == "set":
        same(got, expected, mode)
    else:  # NumPy keeps either of -0 and 0
        np.testing.assert_array_equal(got.numpy(), expected)


@pytest.mark.computes
def test_float_sums_are_in_order(kernels: str, device: str, rng: np.random.Generator) -> None:
    """Sums equal sequential addition bit for bit, except that long runs are split."""
    array = rng.standard_normal(50).astype(np.float32)
    counts = ((30, 50), (60, 3), (3000, 50), (3000, 7000), (10_000, 1), (40_000, 5), (60_000, 1))
    for n, places in counts:
        base = np.resize(array, places)
        at = rng.integers(0, places, n).astype(np.int32)
        values = (rng.standard_normal(n) * 10.0 ** rng.integers(-3, 4, n)).astype(np.float32)
        x, v, t = (pt.tensor(a, dtype=a.dtype, device=device) for a in (base, values, at))
        first, again = (scatter(x, (0,), (t,), 0, v, "add").numpy() for _ in range(2))
        np.testing.assert_array_equal(first, again)
        expected = base.copy()
        np.add.at(expected, at, values)
        if n <= 60:
            np.testing.assert_array_equal(first, expected)
        exact = base.astype(np.float64)
        np.add.at(exact, at, values)
        size = np.abs(base).astype(np.float64)
        np.add.at(size, at, np.abs(values))
        # An addition rounds by 2**-24; the pieces of long runs lengthen the longest chain slightly.
        bound = 2.0**-24 * size * np.maximum(8, np.bincount(at, minlength=places))
        assert (np.abs(first - exact) <= bound).all(), (n, places)


@pytest.mark.computes
def test_many(device: str, rng: np.random.Generator) -> None:
    """More elements than in a workgroup, and in 65,535 workgroups."""
    for n, places in ((1000, 70), (70_001, 70_001), (17_000_000, 1000)):
        at = pt.arange(n, device=device) % places
        ones = pt.zeros(places, pt.int32, device=device)
        got = scatter(ones, (0,), (at,), 0, 1, "add")
        same(got, np.bincount(np.arange(n) % places).astype(np.int32), f"{n} counted")
    n = 70_001
    array, at = rng.standard_normal(n).astype(np.float32), rng.permutation(n).astype(np.int32)
    x, t = pt.tensor(array, dtype=array.dtype, device=device), pt.tensor(at, device=device)
    expected = np.empty_like(array)
    expected[at] = array
    same(scatter(pt.zeros_like(x), (0,), (t,), 0, x, unique=True), expected, "a permutation")
    index = rng.integers(0, 5, n).astype(np.int32)
    last = np.zeros(5, np.int32)
    last[index] = np.arange(n)
    number = pt.arange(n, device=device)
    got = scatter(
        pt.zeros(5, pt.int32, device=device), (0,), (pt.tensor(index, device=device),), 0, number
    )
    same(got, last, "the last of many")


@pytest.mark.computes
def test_layouts(device: str, rng: np.random.Generator) -> None:
    """Layouts of the operand, the values and the indices."""
    for layout, make in LAYOUTS.items():
        x, array = make(pool("int32", rng), rng, device)
        if not array.size or not array.ndim:
            continue
        index = some(array.shape[0], (6,), "int32", rng)
        t = pt.tensor(index, device=device)
        values = numbers("int32", (6, *array.shape[1:]), rng)
        v = pt.tensor(values, dtype=values.dtype, device=device)
        same(
            scatter(x, (0,), (t,), 0, v, "add"),
            expected_of(array, (index,), values, "add"),
            f"into {layout}",
        )
        target = np.zeros((9, *array.shape[1:]), np.int32)
        index = some(9, (array.shape[0],), "int32", rng)
        t = pt.tensor(index, device=device)
        got = scatter(pt.tensor(target, dtype=target.dtype, device=device), (0,), (t,), 0, x)
        same(got, expected_of(target, (index,), array, "set"), f"values of {layout}")
        t, index = make(rng.integers(-9, 9, 500).astype(np.int32), rng, device)
        got = scatter(pt.zeros(9, pt.int32, device=device), (0,), (t,), 0, 1, "add")
        counts = np.bincount(index.reshape(-1) % 9, minlength=9).astype(np.int32)
        same(got, counts, f"at {layout}")


@pytest.mark.computes
def test_surrounding_ops(kernels: str, device: str, rng: np.random.Generator) -> None:
    a = rng.integers(-9, 9, (40, 6)).astype(np.float32)
    at = rng.integers(-40, 40, 25).astype(np.int32)
    x, t = pt.tensor(a, dtype=a.dtype, device=device), pt.tensor(at, device=device)
    b = a * 2 + 1
    y = x * 2 + 1
    done = expected_of(b, (at,), a[:25] * 3, "set")
    same(scatter(y, (0,), (t,), 0, x[:25] * 3), done, "computed operands")
    same(scatter(y, (0,), (t,), 0, x[:25] * 3) + y, done + b, "and used as it was")
    same(
        scatter(x, (0,), (t * 1,), 0, 0.0).sum(1),
        expected_of(a, (at,), np.float32(0), "set").sum(1),
        "reduced",
    )
    twice = expected_of(expected_of(a, (at,), np.float32(1), "add"), (at,), np.float32(2), "max")
    z = scatter(scatter(x, (0,), (t,), 0, 1.0, "add"), (0,), (t,), 0, 2.0, "max")
    same(z, twice, "one after the other")
    own = scatter(x, (0,), (t,), 0, gather_nd(x, (0,), (t,), 0) + 1)
    same(own, expected_of(a, (at,), a[at] + 1, "set"), "values out of the operand")
    y = x * 3
    own = scatter(y, (0,), (t,), 0, gather_nd(y, (0,), (t,), 0) + 1)
    same(own, expected_of(a * 3, (at,), a[at] * 3 + 1, "set"), "of one that is computed")
    flat = scatter(x.reshape(240), (0,), (t,), 0, 5.0).reshape(40, 6)
    same(flat, expected_of(a.reshape(-1), (at,), np.float32(5), "set").reshape(40, 6), "reshaped")
    same(
        scatter(x, (0,), (t.take(t % 25),), 0, 1.0),
        expected_of(a, (at[at % 25],), np.float32(1), "set"),
        "gathered indices",
    )
    same(x, a, "the operand afterwards")
    half = rng.random(1 << 20).astype(np.float32)
    big = pt.tensor(half, device=device)
    for _ in range(3):
        big = scatter(big, (0,), (t,), 0, gather_nd(big, (0,), (t,), 0) * 2)
        half[at] = half[at] * 2
    same(big, half, "in place, again and again")


@pytest.mark.computes
def test_out_of_range(device: str) -> None:
    """Nothing is written, and the error is raised once; see also test_gather."""
    x = pt.zeros((4, 3), pt.int32, device=device)
    t = pt.tensor([1, 4, -5, 2], device=device)
    for mode in MODES:
        y = scatter(x, (0,), (t,), 0, 7, mode, op="x[i]")
        with pytest.raises(
            IndexError, match=r"^x\[i\]: index (4|-5) is out of range for axis 0 of.*\(4, 3\)"
        ):
            y.numpy()
        hit = 0 if mode == "min" else 7
        same(
            y,
            np.repeat([[0], [hit], [hit], [0]], 3, 1).astype(np.int32),
            f"{mode}, what is in range",
        )
        same(scatter(x, (0,), (t,), 0, 7, mode, op=""), y.numpy(), "promised, and passed over")
    same(x + 1, np.ones((4, 3), np.int32), "the session afterwards")


@pytest.mark.computes
def test_errors(device: str) -> None:
    x = pt.ones((2, 3), device=device)
    t = pt.tensor([0, 1], device=device)
    with pytest.raises(pt.ShapeError, match=r"^scatter: .*\(2, 2\).*\(2, 3\)"):
        scatter(x, (0,), (t,), 0, pt.ones((2, 2), device=device))
    with pytest.raises(ValueError, match=r"^scatter: mode .*'mul'"):
        scatter(x, (0,), (t,), 0, 1.0, "mul")
    none = pt.zeros(0, pt.int32, device=device)
    same(scatter(x, (0,), (none,), 0, 5.0), np.ones((2, 3), "f4"), "nothing is written")
    same(x.sum(), np.float32(6), "the session afterwards")


@pytest.mark.computes
def test_put(device: str, rng: np.random.Generator) -> None:
    array = rng.standard_normal((4, 5)).astype(np.float32)
    x = pt.tensor(array, dtype=array.dtype, device=device)
    for at in ([3, -1, 3], [[0, 7], [1, 1]], 5):
        for values in (1.5, [2.0, 3.0], rng.standard_normal(7).astype(np.float32)):
            expected = array.copy()
            np.put(expected, at, values)
            got = x.copy()
            pt.put(got, at, values)
            same(got, expected, f"put at {at}")
    for axis in (0, 1, -1):
        shape = list(array.shape)
        shape[axis] = 3
        at = some(array.shape[axis], tuple(shape), "int32", rng)
        for values in (2.0, rng.standard_normal(shape).astype(np.float32)):
            expected = array.copy()
            np.put_along_axis(expected, at, values, axis)
            t = pt.tensor(at, device=device)
            got = x.copy()
            pt.put_along_axis(got, t, values, axis)
            same(got, expected, f"along axis {axis}")
    expected = array.copy()
    np.put_along_axis(expected, np.array([3, 7]), 1.0, None)
    pt.put_along_axis(x, [3, 7], 1.0, None)
    same(x, expected, "flattened")


@pytest.mark.computes
@pytest.mark.parametrize("dtype", ref.ANY_DTYPES)
def test_nonzero(dtype: str, device: str, rng: np.random.Generator) -> None:
    for shape in ((1,), (9,), (4, 5), (3, 4, 5), (2, 0, 3), (0,), (3000,), (70, 90)):
        for share in (0.0, 0.3, 1.0):
            array = (rng.random(shape) < share) * numbers(dtype, shape, rng)
            array = array.astype(dtype)
            x = pt.tensor(array, dtype=array.dtype, device=device)
            what = f"of {dtype}{shape}"
            for got, expected in zip(pt.nonzero(x), np.nonzero(array), strict=True):
                same(got, expected.astype(np.int32), f"nonzero {what}")
            same(pt.flatnonzero(x), np.flatnonzero(array).astype(np.int32), f"flatnonzero {what}")
            same(pt.argwhere(x), np.argwhere(array).astype(np.int32), f"argwhere {what}")
            same(pt.extract(x, x), np.extract(array, array), f"extract {what}")
            assert len(pt.where(x)) == len(shape)
    x = pt.tensor(np.asarray(1, dtype), device=device)
    assert pt.argwhere(x).shape == np.argwhere(np.asarray(1)).shape
    assert pt.argwhere(x * 0 if dtype != "bool" else x & False).shape == (0, 0)
    same(pt.flatnonzero(x), np.array([0], np.int32), "of 0-d")
    with pytest.raises(pt.ShapeError, match=r"^nonzero: .* a 0-d tensor"):
        pt.nonzero(x)
    with pytest.raises(TypeError, match=r"^where: .*both"):
        pt.where(x, x)  # type: ignore[call-overload]


@pytest.mark.computes
def test_nan_is_nonzero(device: str) -> None:
    x = pt.tensor([0.0, float("nan"), -0.0, float("inf")], device=device)
    same(x.nonzero()[0], np.array([1, 3], np.int32), "nonzero")
    same(pt.where(x)[0], np.array([1, 3], np.int32), "where")


@pytest.mark.computes
def test_compress(device: str, rng: np.random.Generator) -> None:
    array = rng.standard_normal((4, 6)).astype(np.float32)
    x = pt.tensor(array, dtype=array.dtype, device=device)
    for axis in (None, 0, 1, -2):
        n = array.size if axis is None else array.shape[axis]
        for length in (n, n - 1, 0):
            c = rng.random(length) < 0.5
            same(pt.compress(c, x, axis), np.compress(c, array, axis), f"axis {axis}")
    same(pt.compress([0, 2, 0, 1], x, 0), array[[1, 3]], "numbers")
    with pytest.raises(pt.ShapeError, match=r"^compress: .*\(1, 1\)"):
        pt.compress([[True]], x)
    with pytest.raises(IndexError, match=r"^compress: index 4 .*axis 0 of shape \(4, 6\)"):
        pt.compress([0, 0, 0, 0, 1], x, 0).numpy()
    same(pt.compress([1, 0, 0, 0, 0], x, 0), array[:1], "longer, but false")


@pytest.mark.computes
def test_bincount(device: str, rng: np.random.Generator) -> None:
    for n, most in ((1, 1), (10, 4), (5000, 3), (5000, 9000)):
        for dtype in ("int32", "uint32"):
            array = rng.integers(0, most, n).astype(dtype)
            x = pt.tensor(array, dtype=array.dtype, device=device)
            for least in (0, 7):
                counts = np.bincount(array, minlength=least).astype(np.int32)
                same(pt.bincount(x, minlength=least), counts, f"{n} below {most}")
            w = rng.integers(-9, 9, n).astype(np.float32)
            sums = np.bincount(array, w).astype(np.float32)
            same(pt.bincount(x, pt.tensor(w, device=device)), sums, "weights")
            same(pt.bincount(x, w), sums, "weights on the host")
    bools = pt.tensor([True, False, True], device=device)
    same(pt.bincount(bools), np.array([1, 2], np.int32), "of bool")
    none = pt.zeros(0, pt.int32, device=device)
    same(pt.bincount(none), np.zeros(0, np.int32), "of nothing")
    same(pt.bincount(none, minlength=3), np.zeros(3, np.int32), "of nothing, three long")
    x = pt.tensor([1, -2], device=device)
    with pytest.raises(ValueError, match=r"^bincount: elements .*-2"):
        pt.bincount(x)
    with pytest.raises(ValueError, match=r"^bincount: minlength"):
        pt.bincount(x, minlength=-1)
    with pytest.raises(pt.DTypeError, match=r"^bincount: .*float32"):
        pt.bincount(pt.ones(3, device=device))
    with pytest.raises(pt.ShapeError, match=r"^bincount: .*\(2, 2\)"):
        pt.bincount(pt.ones((2, 2), pt.int32, device=device))
    with pytest.raises(pt.ShapeError, match=r"^bincount: weights of shape \(3,\)"):
        pt.bincount(x, [1.0, 2.0, 3.0])


@pytest.mark.computes
@pytest.mark.parametrize("dtype", ["int32", "uint32", "int8", "uint16"])
def test_many_values_for_few_elements(
    dtype: str, device: str, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Workgroups combine them first; here also on a software adapter."""
    monkeypatch.setattr(AdapterProfile, "max_bins", 4096)
    for count, n in ((4096 * 16, 4096), (4096 * 16 + 1, 1000), (300, 3), (70001, 17)):
        base = rng.integers(0, 50, n).astype(dtype)
        values = rng.integers(-100 if dtype[0] == "i" else 0, 100, count).astype(dtype)
        at = rng.integers(0, n, count).astype(np.int32)
        for name in ("add", "maximum", "minimum"):
            x, expected = pt.tensor(base, device=device), base.copy()
            getattr(np, name).at(expected, at, values)
            given = [pt.tensor(a, device=device) for a in (at, values)]
            getattr(pt, name).at(x, *given)
            same(x, expected, f"{name} of {count} values for {n} elements")


@pytest.mark.computes
def test_dispatches(device: str, rng: np.random.Generator) -> None:
    """Its inputs are computed in its passes; the operand is copied only if needed elsewhere."""
    x, t = pt.ones(300, device=device), pt.arange(9, device=device)
    t = (t * 7).realize()
    y = (x * 2).realize()
    cases = {
        "promised to be unique": (lambda: scatter(y, (0,), (t + 1,), 0, t * 2.0, unique=True), 2),
        "into zeros": (
            lambda: scatter(pt.zeros(99, device=device), (0,), (t,), 0, 1.0, unique=True),
            2,
        ),
        "the last": (lambda: scatter(y, (0,), (t,), 0, t * 2.0), 4),
        "the least": (lambda: scatter(y, (0,), (t + 1,), 0, t * 2.0, "min"), 2),
        "a chain": (
            lambda: scatter(scatter(y, (0,), (t,), 0, 1.0, "max"), (0,), (t,), 0, 1.0, "min"),
            3,
        ),
    }
    for what, (make, dispatches) in cases.items():
        before = control.dispatches() if device == "webgpu" else 0
        make().realize()
        assert device == "cpu" or control.dispatches() == before + dispatches, what
