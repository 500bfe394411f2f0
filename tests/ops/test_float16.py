"""float16: stored in 16 bits, computed in float32, with each result rounded as in NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import py_tensor as pt
from tests.ops.compare import same

Array = Any
ALL = np.arange(65536, dtype=np.uint16).view(np.float16)  # every float16
DTYPES = ("bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "float16", "float32")
ROUNDED = ("add", "subtract", "multiply", "divide", "maximum", "minimum", "fmod", "copysign")
UNARY = ("exp", "log", "sin", "cos", "tanh", "sqrt", "abs", "floor", "negative", "square")


def near(found: pt.Tensor, expected: Array, what: str, ulp: int = 1) -> None:
    """Assert equality up to `ulp` units in the last place; NaN where NumPy has NaN."""
    got = found.numpy()
    assert got.dtype == np.float16 == expected.dtype, what
    assert got.shape == expected.shape, what
    missing = np.isnan(expected)
    np.testing.assert_array_equal(np.isnan(got), missing, what)

    def rank(x: Array) -> Array:
        bits = x.view(np.int16).astype(int)
        return np.where(bits < 0, -(bits & 0x7FFF), bits)

    apart = np.abs(rank(got) - rank(expected))[~missing]
    assert apart.size == 0 or apart.max() <= ulp, f"{what}: {apart.max()} ulp"


@pytest.mark.computes
def test_every_half(device: str) -> None:
    """Stored, read back, and converted to and from all other dtypes."""
    x = pt.tensor(ALL, device=device)
    assert x.dtype is pt.float16
    same(x, ALL, "stored")
    same((x + 0).realize(), ALL + np.float16(0), "with 0")
    with np.errstate(all="ignore"):
        for dtype in DTYPES:
            known = ALL
            if dtype not in ("bool", "float16", "float32"):
                known = ALL[np.isfinite(ALL) & (np.abs(ALL) < 30000)]
            y = pt.tensor(known, device=device).astype(dtype)
            expected = (
                known.astype("int32").astype(dtype) if dtype[0] in "iu" else known.astype(dtype)
            )
            same(y, expected, dtype)


@pytest.mark.computes
def test_rounding(device: str, rng: np.random.Generator) -> None:
    """float32 rounds to nearest, ties to even, also to subnormals, zeros and infinities."""
    bits = rng.integers(0, 2**32, 20000, np.uint32).view(np.float32)
    halves = rng.choice(ALL[np.isfinite(ALL)], 5000).astype(np.float32)
    ties = (halves + np.nextafter(halves.astype(np.float16), np.float16(np.inf))) / 2
    edges = np.array(
        [65504, 65519.996, 65520, 1e30, 2.0**-25, 2.0**-24 * 1.5, -0.0, np.inf, np.nan]
    )
    far = np.where(np.abs(bits) < 1.2e-38, 0, bits)  # a device may flush float32 subnormals to 0
    for values in (far, ties, -ties, np.nextafter(ties, np.float32(0)), edges.astype(np.float32)):
        with np.errstate(all="ignore"):
            near(
                pt.tensor(values, device=device).astype("float16"),
                values.astype("f2"),
                "from float32",
                0,
            )
    for dtype in ("int16", "uint16", "int32"):
        info = np.iinfo(dtype)
        whole = rng.integers(max(info.min, -70000), min(info.max, 70000), 5000).astype(dtype)
        with np.errstate(all="ignore"):
            near(pt.tensor(whole, device=device).astype("half"), whole.astype("f2"), dtype, 0)


@pytest.mark.computes
@pytest.mark.parametrize("name", ROUNDED)
def test_binary(name: str, device: str, rng: np.random.Generator) -> None:
    a, b = rng.choice(ALL, 20001), rng.choice(ALL, 20001)
    if name == "fmod":
        a, b = (rng.normal(0, 30, 2001).astype("f2") for _ in range(2))
    x, y = pt.tensor(a, device=device), pt.tensor(b, device=device)
    with np.errstate(all="ignore"):
        near(getattr(pt, name)(x, y), getattr(np, name)(a, b), name, 0 if name != "divide" else 1)
        near(getattr(pt, name)(x[1::2], 2.5), getattr(np, name)(a[1::2], np.float16(2.5)), name, 1)
        chained = (x + y) * y - x  # each step is rounded, fused or not
        near(chained, (a + b) * b - a, f"a chain, beside {name}", 0)
        same(x < y, a < b, "compared")


@pytest.mark.computes
@pytest.mark.parametrize("name", UNARY)
def test_unary(name: str, device: str) -> None:
    x = pt.tensor(ALL, device=device)
    with np.errstate(all="ignore"):
        exact = getattr(np, name)(ALL.astype(np.float32))
        near(getattr(pt, name)(x), exact.astype("f2"), name)


@pytest.mark.computes
def test_folds(device: str, rng: np.random.Generator) -> None:
    a = rng.normal(0, 1, (37, 129)).astype("f2")
    x = pt.tensor(a, device=device)
    wide = a.astype(np.float64)
    for axis in (None, 0, 1):
        near(x.max(axis), a.max(axis), "max", 0)
        same(x.argmin(axis), np.asarray(a.argmin(axis), np.int32), "argmin")
        for name in ("sum", "mean", "var"):
            found, exact = getattr(pt, name)(x, axis), getattr(np, name)(wide, axis)
            assert found.dtype is pt.float16
            np.testing.assert_allclose(found.numpy(), exact, 3e-3, 0.06, err_msg=name)
    assert float(pt.full(70000, 1, dtype="half", device=device).sum()) == float("inf")
    near(pt.sort(x, axis=1), np.sort(a, axis=1), "sort", 0)
    same(
        pt.argsort(x, axis=1, stable=True), np.argsort(a, 1, kind="stable").astype("i4"), "argsort"
    )
    np.testing.assert_allclose(x.cumsum(1).numpy(), wide.cumsum(1), 5e-3, 0.1)
    product = (x @ x.T).numpy()
    assert product.dtype == np.float16
    np.testing.assert_allclose(product, wide @ wide.T, 2e-3, 2e-2)
    rows = pt.softmax(x, 1)
    assert rows.dtype is pt.float16
    np.testing.assert_allclose(rows.numpy().sum(1), 1, 1e-2)
    places = rng.integers(0, 9, 300)
    values = rng.integers(-8, 8, 300).astype("f2")
    base = np.zeros(9, "f2")
    t = pt.tensor(base, device=device)
    np.add.at(base, places, values)
    at: Any = pt.add
    at.at(t, pt.tensor(places, device=device), pt.tensor(values, device=device))
    near(t, base, "added at indices", 0)


def test_promotion(device: str) -> None:
    """Promotion is NumPy's, with float32 instead of float64."""
    half = pt.ones(3, dtype=pt.float16, device=device)
    for dtype in DTYPES:
        expected = np.result_type("float16", dtype)
        expected = "float32" if expected == np.float64 else expected.name
        assert (half + pt.ones(3, dtype=dtype, device=device)).dtype.name == expected, dtype
    assert (half * 2.5).dtype is pt.float16
    assert (half + 1).dtype is pt.float16
    assert pt.sqrt(half).dtype is pt.float16


def test_on_the_host(device: str) -> None:
    """Lists, scalars, text, pickles and NumPy arrays."""
    import pickle

    x = pt.tensor([1.5, 0.1, 1e6, -2.5], dtype="half", device=device)
    assert x.tolist() == [1.5, 0.0999755859375, float("inf"), -2.5]
    assert float(x[1]) == 0.0999755859375
    assert "array([1.5, 0.1, inf, -2.5], dtype=float16)".replace("array", "tensor") in repr(
        x.to("cpu")
    ).replace("  ", " ").replace("[ ", "[").replace(", device='cpu'", "")
    assert pickle.loads(pickle.dumps(x)).tolist() == x.tolist()
    assert x.numpy().dtype == np.float16
    assert pt.tensor(np.ones(2, np.float16), device=device).dtype is pt.float16
    assert pt.finfo("float16").max == 65504.0
    assert pt.finfo(pt.float16).eps == float(np.finfo("f2").eps)
    assert x.nbytes == 8


@pytest.mark.computes
def test_constants_are_rounded(device: str) -> None:
    """A Python float with float16 operands is a float16, as in NumPy: otherwise 3 * 0.1 differs."""
    halves = np.array([1, 2, 3, 7, 300], np.float16)
    x = pt.tensor(halves, device=device)
    for number in (0.1, 1 / 3, 1e-7, 2049.0):
        same(x * number, halves * number, f"times {number}")
        same(x + number, halves + number, f"plus {number}")


@pytest.mark.computes
def test_means_of_large_sums(device: str) -> None:
    """The sum exceeds the largest float16, but the mean does not."""
    for array in (np.full(2, 60000), np.full((3, 4000), 20), np.ones(100_000)):
        halves = array.astype(np.float16)
        x = pt.tensor(halves, device=device)
        for axis in (None, -1):
            same(pt.mean(x, axis), np.asarray(halves.mean(axis)), f"mean, {array.shape}")
        some = pt.mean(x, where=x > 0)
        same(some, np.asarray(halves.mean()), "of those above 0")
        assert pt.std(x, where=x > 0).dtype is pt.float16


@pytest.mark.computes
def test_sums_along_any_axis_round_once(device: str) -> None:
    array = np.arange(1, 241, dtype=np.float16).reshape(2, 30, 4)
    x = pt.tensor(array, device=device)
    for axis in (0, 1, 2, (0, 2), None):
        expected = array.astype(np.float64).sum(axis).astype(np.float16)
        same(x.sum(axis), expected, f"sum along {axis}")
