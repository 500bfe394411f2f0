"""Cumulative sums and products: axes, lengths, layouts, dtypes, special values, accuracy."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import pytest

import py_tensor as pt
from py_tensor.tools import control
from tests.ops import references as ref
from tests.ops.compare import element, same
from tests.ops.operands import LAYOUTS, pool

Array = np.ndarray[Any, Any]
EPS = 2.0**-24
RUNNING = {"cumsum": np.cumsum, "cumprod": np.cumprod}
RUNNING_FUNCTIONS = (
    "maximum", "minimum", "logical_and", "logical_or", "logical_xor", "subtract",
)  # fmt: skip
# Around the capacity of a lane, a vector, a chain, a tile and a workgroup.
LENGTHS = (
    0,
    1,
    2,
    3,
    4,
    5,
    15,
    16,
    17,
    63,
    64,
    65,
    255,
    256,
    257,
    511,
    513,
    1023,
    1025,
    4096,
    4099,
)


def tame(name: str, dtype: str, shape: Any, rng: np.random.Generator) -> Array:
    """Return values whose running sums or products are exact in float32."""
    if dtype == "bool":
        return rng.random(shape) < 0.7
    if name == "cumprod":
        powers = np.where(rng.random(shape) < 0.05, 2.0, np.where(rng.random(shape) < 0.05, 0.5, 1))
        signs = 1 if dtype == "uint32" else rng.choice([-1, 1], shape)
        return (powers * signs if dtype.startswith("float") else np.ones(shape) * signs).astype(
            dtype
        )
    return rng.integers(0 if dtype == "uint32" else -4, 5, shape).astype(dtype)


def check(name: str, x: pt.Tensor, array: Array, axis: int | None, what: str) -> None:
    """Compare exactly with NumPy, for values without rounding."""
    dtype = ref.COUNTED[array.dtype.name]
    with np.errstate(all="ignore"):
        expected = RUNNING[name](array, axis=axis, dtype=dtype)
    same(getattr(pt, name)(x, axis), expected, f"{name}({axis}) of {array.dtype}, {what}")


@pytest.mark.computes
@pytest.mark.parametrize("name", RUNNING)
def test_axes_and_dtypes(name: str, device: str, rng: np.random.Generator) -> None:
    dtypes = ref.DTYPES if device == "webgpu" else (*ref.DTYPES, *ref.WIDE_DTYPES)
    for dtype in dtypes:
        array = tame(name, dtype, (3, 5, 8), rng)
        x = pt.tensor(array, dtype=dtype, device=device)
        for axis in (None, 0, 1, 2, -1, -3):
            check(name, x, array, axis, "3 axes")
        same(getattr(x, name)(1), getattr(pt, name)(x, axis=1).numpy(), f"{name} as a method")


@pytest.mark.computes
@pytest.mark.parametrize("name", RUNNING)
def test_lengths(name: str, kernels: str, device: str, rng: np.random.Generator) -> None:
    lengths = LENGTHS if kernels == "software" or name == "cumsum" else (3, 65, 513, 4099)
    for n in lengths:
        for shape, axis in (((3, n), 1), ((n, 5), 0), ((n, 8), 0)):
            array = tame(name, "float32", shape, rng)
            check(name, pt.tensor(array, device=device), array, axis, f"shape {shape}")


@pytest.mark.computes
@pytest.mark.parametrize("name", RUNNING)
def test_layouts(name: str, device: str, rng: np.random.Generator) -> None:
    for layout, make in LAYOUTS.items():
        x, array = make(tame(name, "float32", (300,), rng), rng, device)
        for axis in (None, *range(array.ndim)):
            check(name, x, array, axis, layout)


@pytest.mark.computes
@pytest.mark.usefixtures("kernels")
@pytest.mark.parametrize(
    "shape", [(1, 70_001), (70_001, 1), (70_001, 2), (3, 33_000), (5, 4000, 6)]
)
def test_tall_and_wide(shape: tuple[int, ...], device: str, rng: np.random.Generator) -> None:
    """Rows split into slices, along every axis, and slices split again."""
    array = tame("cumsum", "int32", shape, rng)
    x = pt.tensor(array, device=device)
    for axis in (None, *range(len(shape))):
        check("cumsum", x, array, axis, f"shape {shape}")
    check("cumsum", x[..., ::-1].T, array[..., ::-1].T, 0, f"shape {shape}, flipped, transposed")


@pytest.mark.computes
def test_a_million(device: str, rng: np.random.Generator) -> None:
    array = rng.integers(-(2**31), 2**31, 1_234_567).astype(np.int32)
    check("cumsum", pt.tensor(array, device=device), array, 0, "a million integers that wrap")


@pytest.mark.computes
def test_any_bits(device: str, rng: np.random.Generator) -> None:
    """Integers wrap around."""
    for dtype in ("int32", "uint32"):
        array = np.resize(pool(dtype, rng), (7, 140))
        x = pt.tensor(array, device=device)
        for name in RUNNING:
            check(name, x, array, 0, "any bits")
            check(name, x, array, 1, "any bits")


@pytest.mark.computes
@pytest.mark.usefixtures("kernels")
def test_special_values(device: str) -> None:
    inf, nan = np.inf, np.nan
    rows = np.array(
        [
            [1, nan, 3, 2, 5, 6, 7],
            [-0.0, -0.0, 0.0, -0.0, -0.0, 1, -1],
            [inf, 1, -inf, 2, 3, 4, 5],
            [-inf, -inf, 1, nan, 1, 1, 1],
            [3e38, 3e38, 1, 1, 1, 1, 1],
            [2, -0.0, 3, -4, 0.0, 5, -6],
        ],
        np.float32,
    )
    x = pt.tensor(rows, device=device)
    with np.errstate(all="ignore"):
        same(x.cumsum(1), rows.cumsum(1), "cumsum of special values")
        same(x.T.cumsum(0), rows.T.cumsum(0), "cumsum of special values, by columns")
        products = rows.cumprod(1)
        np.testing.assert_array_equal(x.cumprod(1).numpy(), products)
    long = np.zeros(9001, np.float32)
    long[4321] = nan
    got = pt.tensor(long, device=device).cumsum().numpy()
    assert not np.isnan(got[:4321]).any()
    assert np.isnan(got[4321:]).all()


@pytest.mark.computes
@pytest.mark.usefixtures("kernels")
@pytest.mark.parametrize("name", RUNNING_FUNCTIONS)
def test_accumulate(name: str, device: str, rng: np.random.Generator) -> None:
    """Cumulative extremes, logic and differences equal NumPy's, on exact operands."""
    ours, theirs = getattr(pt, name), getattr(np, name)
    for dtype in ("bool", "int32", "uint32", "float32"):
        if name == "subtract" and dtype == "bool":
            continue
        for shape, axis in (((0,), 0), ((1,), 0), ((5, 7), 1), ((300, 3), 0), ((3, 1025), -1)):
            array = tame("cumsum", dtype, shape, rng)
            if name.startswith("m") and dtype == "float32":
                array = pool(dtype, rng, array.size).reshape(shape)
            got = ours.accumulate(pt.tensor(array, device=device), axis)
            expected = theirs.accumulate(array, axis)
            assert got.dtype == expected.dtype, (name, dtype)
            np.testing.assert_array_equal(got.numpy(), expected, f"{name} of {dtype} {shape}")


@pytest.mark.computes
def test_long_accumulate(device: str, rng: np.random.Generator) -> None:
    array = rng.standard_normal(100_003).astype(np.float32)
    array[70_000] = np.nan
    x = pt.tensor(array, device=device)
    functions = cast("Any", pt)
    same(functions.maximum.accumulate(x), np.maximum.accumulate(array), "maxima")
    same(np.minimum.accumulate(x[::-1]), np.minimum.accumulate(array[::-1]), "minima, backwards")
    out = pt.zeros(100_003, "bool", device=device)
    functions.logical_xor.accumulate(x > 1, out=out)
    same(out, np.logical_xor.accumulate(array > 1), "parity")


@pytest.mark.computes
@pytest.mark.usefixtures("kernels")
def test_pending_operands(device: str, rng: np.random.Generator) -> None:
    """Pending operands are computed when loaded, and not stored."""
    a, b = (rng.integers(-4, 5, (9, 300)).astype(np.float32) for _ in range(2))
    x, y = pt.tensor(a, device=device), pt.tensor(b[:, :1].copy(), device=device)
    whole = a * 2 + b[:, :1]
    for axis in (0, 1):
        before = control.dispatches() if device == "webgpu" else 0
        got = (x * 2 + y).cumsum(axis).realize()
        assert device == "cpu" or control.dispatches() <= before + 3
        same(got, whole.cumsum(axis, dtype=np.float32), f"of an expression, axis {axis}")
    same((x + 1).pad(3).cumsum(1), np.pad(a + 1, 3).cumsum(1), "of a padded expression")
    same(x.cumsum(1) * 2 + x, a.cumsum(1) * 2 + a, "inside an expression")
    same(x.cumsum(1).cumsum(0), a.cumsum(1).cumsum(0), "one after the other")
    same(x.cumsum(0).sum(0), a.cumsum(0).sum(0), "reduced")
    same(
        pt.arange(5000, device=device).cumsum(), np.arange(5000, dtype="i4").cumsum(dtype="i4"), ""
    )
    same(x.sum(0).cumsum(), a.sum(0).cumsum(), "of a reduction")


@pytest.mark.computes
@pytest.mark.usefixtures("kernels")
@pytest.mark.parametrize("shape", [(1_000_000,), (4, 250_001), (250_000, 4)])
def test_accuracy(shape: tuple[int, ...], device: str, rng: np.random.Generator) -> None:
    """Against float64, relative to the sum of magnitudes: no chain of additions is long."""
    axis = int(np.argmax(shape))
    for array in (rng.random(shape, dtype=np.float32), np.full(shape, 0.1, np.float32)):
        got = pt.tensor(array, device=device).cumsum(axis).numpy()
        exact = array.cumsum(axis, dtype=np.float64)
        off = np.abs(got - exact) / exact
        assert off.max() < 1e-6, f"element {element(off == off.max())} is off by {off.max():.2g}"
    near_one = (1 + rng.standard_normal((3, 5000)) * 1e-3).astype(np.float32)
    got = pt.tensor(near_one, device=device).cumprod(1).numpy()
    np.testing.assert_allclose(got, near_one.astype(np.float64).cumprod(1), rtol=5000 * EPS)


@pytest.mark.computes
def test_dtype_argument(device: str) -> None:
    x = pt.tensor([1.5, 0.0, 2.5], device=device)
    same(x.cumsum(0, pt.int32), np.array([1, 1, 3], np.int32), "in int32")
    same(x.cumsum(dtype="bool"), np.array([True, True, True]), "in bool")
    same(x.cumprod(dtype=bool), np.array([True, False, False]), "product in bool")
    flags = pt.tensor([True, True, False], device=device)
    same(flags.cumsum(), np.array([1, 2, 2], np.int32), "of bools")
    same(flags.cumsum(dtype=pt.float32), np.array([1, 2, 2], np.float32), "of bools, in float32")


@pytest.mark.computes
def test_the_array_apis_names(device: str) -> None:
    x = pt.tensor([[1, 2, 3], [4, 5, 6]], device=device)
    a = x.numpy()
    for axis in (0, 1, -1):
        zeros = np.zeros_like(np.take(a, [0], axis))
        same(pt.cumulative_sum(x, axis=axis), a.cumsum(axis, dtype="i4"), "cumulative_sum")
        same(pt.cumulative_prod(x, axis=axis), a.cumprod(axis, dtype="i4"), "cumulative_prod")
        same(
            pt.cumulative_sum(x, axis=axis, include_initial=True),
            np.concatenate([zeros, a.cumsum(axis, dtype="i4")], axis),
            "cumulative_sum with 0 in front",
        )
        same(
            pt.cumulative_prod(x, axis=axis, include_initial=True, dtype=pt.float32),
            np.concatenate([zeros + 1, a.cumprod(axis)], axis).astype(np.float32),
            "cumulative_prod with 1 in front",
        )
    same(pt.cumulative_sum(x[0]), np.array([1, 3, 6], np.int32), "of one axis")
    empty = pt.zeros((2, 0), device=device)
    same(pt.cumulative_sum(empty, axis=1, include_initial=True), np.zeros((2, 1), "f4"), "of none")


@pytest.mark.computes
def test_errors(device: str) -> None:
    x = pt.ones((2, 3), device=device)
    for name in RUNNING:
        with pytest.raises(pt.AxisError, match=rf"^{name}: axis 2\b.*2 axes"):
            getattr(x, name)(2)
        with pytest.raises(TypeError, match=rf"^{name}: .*\(0, 1\)"):
            getattr(x, name)((0, 1))
        with pytest.raises(pt.AxisError, match=rf"^{name}: axis 1\b.*0 axes"):
            getattr(x[0, 0], name)(1)
        with pytest.raises(TypeError, match=rf"^{name}: "):
            getattr(pt, name)("text")
    for name in ("cumulative_sum", "cumulative_prod"):
        with pytest.raises(pt.ShapeError, match=rf"^{name}: .*\(2, 3\)"):
            getattr(pt, name)(x)
        with pytest.raises(pt.AxisError, match=rf"^{name}: axis 2\b"):
            getattr(pt, name)(x, axis=2)
    if device == "webgpu":
        with pytest.raises(pt.DTypeError, match="float64"):
            x.cumsum(0, "float64")
    same(x.sum(), np.float32(6), "the session afterwards")
