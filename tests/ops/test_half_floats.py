"""float16 and bfloat16: stored in 16 bits, computed in float32, each result rounded as in NumPy.

The reference of bfloat16 is the package ml_dtypes, and float32 arithmetic rounded by it.
"""

from __future__ import annotations

import ctypes
import io
import pickle
import sys
from importlib import import_module
from typing import Any, cast

import numpy as np
import pytest

import py_tensor as pt
from py_tensor.base.dtypes import parse
from tests.ops.compare import BFLOAT16, IN_NUMPY, same

Array = Any
DTYPES = ("bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "float16", "float32")
EPS = {np.float16: 2.0**-10, BFLOAT16: 2.0**-7}
ROUNDED = ("add", "subtract", "multiply", "divide", "maximum", "minimum", "fmod", "copysign")
UNARY = ("exp", "log", "sin", "cos", "tanh", "sqrt", "abs", "floor", "negative", "square")


@pytest.fixture(params=[name for name in ("float16", "bfloat16") if name in IN_NUMPY])
def half(request: pytest.FixtureRequest) -> Any:
    """NumPy's type of 16 bits."""
    return {"float16": np.float16, "bfloat16": BFLOAT16}[request.param]


def every(half: Any) -> Array:
    """Return every number of a type of 16 bits."""
    return np.arange(65536, dtype=np.uint16).view(half)


def by_singles(name: str, *operands: Array) -> Array:
    """Return NumPy's result in float32, rounded once."""
    half = operands[0].dtype
    return getattr(np, name)(*(x.astype(np.float32) for x in operands)).astype(half)


def near(found: pt.Tensor, expected: Array, what: str, ulp: int = 1) -> None:
    """Assert equality up to `ulp` units in the last place; NaN where NumPy has NaN."""
    got = found.numpy()
    assert got.dtype == expected.dtype, what
    assert got.itemsize == 2, what
    assert got.shape == expected.shape, what
    missing = np.isnan(expected.astype(np.float32))
    np.testing.assert_array_equal(np.isnan(got.astype(np.float32)), missing, what)

    def rank(x: Array) -> Array:
        bits = x.view(np.int16).astype(int)
        return np.where(bits < 0, -(bits & 0x7FFF), bits)

    apart = np.abs(rank(got) - rank(expected))[~missing]
    assert apart.size == 0 or apart.max() <= ulp, f"{what}: {apart.max()} ulp"


def close(found: pt.Tensor, expected: Array, rtol: float, atol: float) -> None:
    np.testing.assert_allclose(found.numpy().astype(np.float32), expected, rtol, atol)


@pytest.mark.computes
def test_every_half(half: Any, device: str) -> None:
    """Stored, read back, and converted to and from all other dtypes."""
    numbers = every(half)
    x = pt.tensor(numbers, device=device)
    assert x.dtype == half.__name__
    near(x, numbers, "stored", 0)
    finite = np.isfinite(numbers)
    assert x.tolist() == pytest.approx(numbers.astype(float).tolist(), rel=0, abs=0, nan_ok=True)
    assert np.array_equal(x.numpy()[finite].view("u2"), numbers[finite].view("u2"))
    with np.errstate(all="ignore"):
        if half is BFLOAT16:  # a device may flush float32 subnormals to 0
            numbers = numbers[~(np.abs(numbers) < 1.2e-38) | (numbers == 0)]
            finite = np.isfinite(numbers)
            x = pt.tensor(numbers, device=device)
        near((x + 0).realize(), numbers + half(0), "with 0", 0)
        for dtype in DTYPES:
            known = numbers
            if dtype not in ("bool", "float16", "float32"):
                known = numbers[finite & (np.abs(numbers) < 30000)]
            y = pt.tensor(known, device=device).astype(dtype)
            expected = (
                known.astype("int32").astype(dtype) if dtype[0] in "iu" else known.astype(dtype)
            )
            same(y, expected, dtype)


@pytest.mark.computes
def test_rounding(half: Any, device: str, rng: np.random.Generator) -> None:
    """float32 rounds to nearest, ties to even, also to subnormals, zeros and infinities."""
    numbers = every(half)
    bits = rng.integers(0, 2**32, 20000, np.uint32).view(np.float32)
    halves = rng.choice(numbers[np.isfinite(numbers)], 5000).astype(np.float32)
    with np.errstate(all="ignore"):
        above = np.nextafter(halves.astype(half), half(np.inf)).astype(np.float32)
    ties = halves / 2 + above / 2
    edges = np.array(
        [
            65504,
            65519.996,
            65520,
            1e30,
            2.0**-25,
            2.0**-24 * 1.5,
            -0.0,
            np.inf,
            np.nan,
            3.3961775e38,
        ]
    )
    cases = bits, ties, -ties, np.nextafter(ties, np.float32(0)), edges.astype(np.float32)
    for values in cases:
        # A device may flush float32 subnormals to 0.
        values = np.where(np.abs(values) < 1.2e-38, np.float32(0), values)
        with np.errstate(all="ignore"):
            near(
                pt.tensor(values, device=device).astype(half.__name__),
                values.astype(half),
                "from float32",
                0,
            )
    for dtype in ("int16", "uint16", "int32"):
        info = np.iinfo(dtype)
        whole = rng.integers(max(info.min, -70000), min(info.max, 70000), 5000).astype(dtype)
        with np.errstate(all="ignore"):
            rounded = pt.tensor(whole, device=device).astype(half.__name__)
            near(rounded, whole.astype(half), dtype, 0)


@pytest.mark.computes
def test_rounding_to_bfloat16(device: str) -> None:
    """bfloat16 is the upper half of a float32: each is rounded with each kind of lower half."""
    upper = np.arange(65536, dtype=np.uint32) << 16
    for lower in (0, 1, 0x7FFF, 0x8000, 0x8001, 0xFFFF):
        values = (upper | lower).view(np.float32)
        x = pt.tensor(values, device=device)
        with np.errstate(all="ignore"):
            near(x.astype("bfloat16"), values.astype(BFLOAT16), f"{lower:#x}", 0)


def test_rounding_on_the_host(half: Any, rng: np.random.Generator) -> None:
    values = rng.integers(0, 2**32, 20000, np.uint32).view(np.float32)
    dtype = parse(half.__name__)
    with np.errstate(all="ignore"):
        near(pt.tensor(values.tolist(), dtype=dtype, device="cpu"), values.astype(half), "", 0)
        rounded = [dtype.rounded(x) for x in values[:500].tolist()]
        np.testing.assert_array_equal(np.array(rounded), values[:500].astype(half).astype(float))


@pytest.mark.computes
@pytest.mark.parametrize("name", ROUNDED)
def test_binary(name: str, half: Any, device: str, rng: np.random.Generator) -> None:
    numbers = every(half)
    if half is BFLOAT16:  # results in the range in which float32 is exact enough on every device
        with np.errstate(all="ignore"):
            numbers = numbers[(np.abs(numbers) > 1e-12) & (np.abs(numbers) < 1e12)]
    a, b = rng.choice(numbers, 20001), rng.choice(numbers, 20001)
    if name == "fmod":
        a, b = (rng.normal(0, 30, 2001).astype(half) for _ in range(2))
    x, y = pt.tensor(a, device=device), pt.tensor(b, device=device)
    with np.errstate(all="ignore"):
        near(getattr(pt, name)(x, y), by_singles(name, a, b), name, 0 if name != "divide" else 1)
        some = by_singles(name, a[1::2], half(2.5))
        near(getattr(pt, name)(x[1::2], 2.5), some, name, 1)
        chained = (x + y) * y - x  # each step is rounded, fused or not
        near(chained, (a + b) * b - a, f"a chain, beside {name}", 0)
        same(x < y, a < b, "compared")


@pytest.mark.computes
@pytest.mark.parametrize("name", UNARY)
def test_unary(name: str, half: Any, device: str) -> None:
    numbers = every(half)
    with np.errstate(all="ignore"):
        if half is BFLOAT16:  # neither results nor operands that a device may flush to 0
            limit = 80 if name == "exp" else 1e15
            numbers = numbers[~((np.abs(numbers) < 1e-15) | (np.abs(numbers) > limit))]
        x = pt.tensor(numbers, device=device)
        near(getattr(pt, name)(x), by_singles(name, numbers), name)


@pytest.mark.computes
def test_folds(half: Any, device: str, rng: np.random.Generator) -> None:
    eps, name = EPS[half], half.__name__
    a = rng.normal(0, 1, (37, 129)).astype(half)
    x = pt.tensor(a, device=device)
    wide = a.astype(np.float64)
    for axis in (None, 0, 1):
        near(x.max(axis), a.max(axis), "max", 0)
        same(x.argmin(axis), np.asarray(a.argmin(axis), np.int32), "argmin")
        for name in ("sum", "mean", "var"):
            found, exact = getattr(pt, name)(x, axis), getattr(np, name)(wide, axis)
            assert found.dtype == half.__name__
            close(found, exact, 3 * eps, 60 * eps)
    if half is np.float16:
        assert float(pt.full(70000, 1, dtype="half", device=device).sum()) == float("inf")
    near(pt.sort(x, axis=1), np.sort(a, axis=1), "sort", 0)
    same(
        pt.argsort(x, axis=1, stable=True), np.argsort(a, 1, kind="stable").astype("i4"), "argsort"
    )
    close(x.cumsum(1), wide.cumsum(1), 5 * eps, 100 * eps)
    product = x @ x.T
    assert product.dtype == half.__name__
    close(product, wide @ wide.T, 2 * eps, 20 * eps)
    rows = pt.softmax(x, 1)
    assert rows.dtype == half.__name__
    close(rows.astype("float32").sum(1), 1, 10 * eps, 0)
    places = rng.integers(0, 9, 300)
    values = rng.integers(-8, 8, 300).astype(half)
    base = np.zeros(9, half)
    t = pt.tensor(base, device=device)
    sums = base.astype(np.float32)
    np.add.at(sums, places, values.astype(np.float32))
    base = sums.astype(half)
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


def test_promotion_of_bfloat16(device: str) -> None:
    """With float16, and integers of more than 8 bits, for which NumPy has no dtype, float32."""
    half = pt.ones(3, dtype=pt.bfloat16, device=device)
    expected = {
        **dict.fromkeys(("bool", "int8", "uint8", "bfloat16"), "bfloat16"),
        **dict.fromkeys(("int16", "uint16", "int32", "uint32", "int64", "uint64"), "float32"),
        **dict.fromkeys(("float16", "float32"), "float32"),
        "complex64": "complex64",
    }
    for dtype, common in expected.items():
        other = pt.ones(3, dtype=dtype, device=device)
        assert (half + other).dtype == (other + half).dtype == common, dtype
        assert pt.result_type("bfloat16", dtype) == pt.promote_types(dtype, "bfloat16") == common
    assert (half * 2.5).dtype is (half + 1).dtype is (1 - half).dtype is pt.bfloat16
    assert pt.sqrt(half).dtype is pt.mean(half).dtype is pt.bfloat16
    assert (half < half).dtype is pt.bool_
    assert pt.result_type("bfloat16", "float64") is pt.float64


def test_casts_of_bfloat16() -> None:
    """`can_cast` is that of ml_dtypes, and float16 and bfloat16 do not include each other."""
    for dtype in (*DTYPES, "int64", "float64", "complex64"):
        for pair in ((dtype, "bfloat16"), ("bfloat16", dtype)):
            expected = np.can_cast(np.dtype(pair[0]), np.dtype(pair[1]))
            assert pt.can_cast(*pair) == expected, pair
    assert pt.can_cast("float32", "bfloat16", "same_kind")
    assert pt.isdtype(pt.bfloat16, "real floating")
    assert pt.issubdtype(pt.bfloat16, pt.floating)
    assert "bfloat16" not in pt.__array_namespace_info__().dtypes()


def test_limits_of_bfloat16() -> None:
    ml_dtypes: Any = import_module("ml_dtypes")
    mine, theirs = pt.finfo("bfloat16"), ml_dtypes.finfo(BFLOAT16)
    for name in ("bits", "eps", "epsneg", "max", "min", "tiny", "smallest_subnormal", "precision"):
        assert getattr(mine, name) == float(getattr(theirs, name)), name
    assert pt.bfloat16.str == np.dtype(BFLOAT16).str
    assert pt.bfloat16.char == np.dtype(BFLOAT16).char
    assert np.dtype(pt.bfloat16) == BFLOAT16 == pt.bfloat16
    with pytest.raises(pt.DTypeError, match="iinfo"):
        pt.iinfo("bfloat16")


def test_bfloat16_on_the_host(device: str) -> None:
    """Lists, scalars, text, pickles, files and arrays of ml_dtypes."""
    x = pt.tensor([1.5, 0.1, 1e39, -2.5], dtype="bfloat16", device=device)
    assert x.tolist() == [1.5, 0.10009765625, float("inf"), -2.5]
    assert "[ 1.5,  0.1,  inf, -2.5], dtype=bfloat16" in repr(x)
    assert repr(x.to("cpu")[1:2].tolist()) == "[0.10009765625]"
    assert pickle.loads(pickle.dumps(x)).tolist() == x.tolist()
    assert x.nbytes == 8
    array = x.numpy()
    assert array.dtype == BFLOAT16
    assert np.asarray(x).dtype == BFLOAT16
    assert pt.tensor(array, device=device).dtype is pt.bfloat16
    same(pt.tensor(array, device=device, dtype="float32"), array.astype(np.float32), "float32")
    same(pt.tensor(array[:1], device=device, dtype="int32"), np.array([1], np.int32), "int32")
    assert (x + BFLOAT16(1)).dtype is pt.bfloat16
    file = io.BytesIO()
    pt.save(file, x)
    numpys = io.BytesIO()
    np.save(numpys, array)
    assert file.getvalue() == numpys.getvalue()
    file.seek(0)
    loaded = pt.load(file, device=device)
    assert loaded.dtype is pt.bfloat16
    assert loaded.tolist() == x.tolist()
    assert np.array_equal(np.load(io.BytesIO(file.getvalue())).view(BFLOAT16), array)
    assert pt.frombuffer(x.tobytes(), "bfloat16", device=device).tolist() == x.tolist()


@pytest.mark.parametrize("name", ["float8_e4m3fn", "int4"])
def test_other_types_of_ml_dtypes(name: str, device: str) -> None:
    """They are converted to an explicit dtype; the error without one asks for it."""
    kind = getattr(pytest.importorskip("ml_dtypes"), name)
    for data in (np.ones(2, kind), [kind(1), kind(1)]):
        for dtype in ("float32", "int32", "float16", "bfloat16"):
            x = pt.tensor(data, dtype=dtype, device=device)
            assert (x.dtype, x.tolist()) == (dtype, [1, 1])
        with pytest.raises(pt.DTypeError, match=rf"^tensor: NumPy's {name} .*; pass a dtype$"):
            pt.tensor(data, device=device)
    assert pt.tensor(kind(1), dtype="float32", device=device).item() == 1


def test_powers_of_two_beyond_the_digits(half: Any, device: str) -> None:
    """`ldexp` takes exponents that the elements' own dtype does not hold."""
    least = 2.0**-24 if half is np.float16 else 2.0**-130
    values = np.array([least, least, 1, 1.5, np.inf], half)
    below = -1 if half is np.float16 else 8  # a device may flush float32 subnormals to 0
    powers = np.array([below, 257, -13, 15, -2049])
    y = pt.ldexp(pt.tensor(values, device=device), powers)
    with np.errstate(over="ignore"):
        same(y, np.ldexp(values.astype(float), powers).astype(half), "ldexp")


def test_ranges_beside_halves(half: Any, device: str) -> None:
    """Python's numbers beside an element take its dtype, also in `linspace` and `logspace`."""
    x = pt.tensor(np.ones(1, half), device=device)
    for y, expected in (
        (pt.linspace(x[0], 2, 3), [1, 1.5, 2]),
        (pt.linspace(0, x[0], 3), [0, 0.5, 1]),
        (pt.logspace(x[0], 2, 2), [10, 100]),
    ):
        same(y, np.array(expected, half), "a range")


class Exporter:
    """An object that is not a tensor; it notes the capsule that it exports."""

    def __init__(self, x: pt.Tensor) -> None:
        self.x: Any = x
        self.capsule: Any = None

    def __dlpack__(self, **options: Any) -> Any:
        self.capsule = self.x.__dlpack__(**options)
        return self.capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.x.__dlpack_device__()


@pytest.mark.parametrize("version", [None, (1, 0)])
def test_dlpack_of_bfloat16(version: tuple[int, int] | None, device: str) -> None:
    """The type is kDLBfloat, 4, of 16 bits, which PyTorch and JAX exchange, and NumPy from 2.5."""
    x = pt.tensor([[1.5, 0.1], [float("nan"), -2.5]], dtype="bfloat16", device=device)
    loaded: Any = pt.from_dlpack(Exporter(x), device=device)
    assert loaded.dtype is pt.bfloat16
    assert loaded.shape == (2, 2)
    near(loaded, x.numpy(), "exchanged", 0)
    capsule = x.__dlpack__(max_version=version)
    name = b"dltensor" if version is None else b"dltensor_versioned"
    address: Any = ctypes.pythonapi.PyCapsule_GetPointer
    address.restype = ctypes.c_void_p
    pt.from_dlpack(Exporter(x))
    assert address.restype is ctypes.c_void_p
    start = address(ctypes.py_object(capsule), name) + (20 if version is None else 52)
    assert ctypes.string_at(start, 4) == bytes((4, 16, 1, 0))  # code, bits and lanes
    if np.lib.NumpyVersion(np.__version__) < "2.5.0":
        with pytest.raises((BufferError, RuntimeError)):
            np.from_dlpack(Exporter(x))
    else:
        near(loaded, np.from_dlpack(Exporter(x)), "by NumPy", 0)
    integers: Any = pt.from_dlpack(Exporter(pt.tensor([1, 2], dtype="uint16", device=device)))
    assert integers.dtype is pt.uint16


def test_numpy_without_ml_dtypes(device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The page has no such package; tensors work without it."""
    monkeypatch.setitem(sys.modules, "ml_dtypes", None)
    x = pt.tensor([1.5, 0.1], dtype="bfloat16", device=device)
    with pytest.raises(ImportError, match=r'ml_dtypes.*x\.astype\("float32"\)'):
        x.numpy()
    assert (x + 1).tolist() == [2.5, 1.1015625]
    assert x.astype("float32").numpy().tolist() == [1.5, 0.10009765625]
    assert repr(x.to("cpu"))
    assert not hasattr(pt.bfloat16, "dtype")
    assert np.asarray(x, dtype="f4").tolist() == [1.5, 0.10009765625]
    with pytest.raises(ImportError, match="ml_dtypes"):
        np.asarray(x)


def test_functions_of_the_host(device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """NumPy's functions compute with both halves alike, and without the package ml_dtypes."""
    monkeypatch.setitem(sys.modules, "ml_dtypes", None)
    for dtype in ("bfloat16", "float16"):
        x = pt.tensor([1, 2.5], dtype=dtype, device=device)
        made: list[tuple[pt.Tensor, list[float]]] = [
            (pt.polyadd(x, x), [2, 5]),
            (pt.polyint(x, k=x[1]).astype(dtype), [0.5, 2.5, 2.5]),
            (pt.polynomial.polynomial.polyadd(x, x), [2, 5]),
            (pt.polynomial.Polynomial(x).coef, [1, 2.5]),
            (pt.vectorize(lambda v: v * 2)(x), [2, 5]),
            (pt.vectorize(lambda v: v, otypes=[dtype])(x.tolist()), [1, 2.5]),
            (pt.loadtxt(["1", "2.5"], dtype), [1, 2.5]),
            (pt.genfromtxt(["1", "2.5"], dtype), [1, 2.5]),
            (pt.fromstring("1 2.5", dtype, sep=" "), [1, 2.5]),
        ]
        for number, (result, expected) in enumerate(made):
            assert (str(result.dtype), result.tolist()) == (dtype, expected), number
        file = io.StringIO()
        pt.savetxt(file, x, fmt="%g")
        assert file.getvalue() == "1\n2.5\n"
        assert str(pt.poly1d(x)) == " \n1 x + 2.5"
        counts, edges = pt.histogram(x, "auto", cast("Any", (x[0], x[1])))
        assert (counts.sum().item(), edges[0].item(), edges[-1].item()) == (2, 1, 2.5)
        steps = pt.tensor([1, 2], device=device) * pt.finfo(dtype).eps
        next_to, farther = ((x + n * steps).astype(dtype) for n in (1, 2))
        pt.testing.assert_array_equal(x, [1, 2.5])
        pt.testing.assert_equal({"x": [x[1]]}, {"x": [2.5]})
        assert pt.testing.assert_array_max_ulp(x, next_to).max() == 1
        pt.testing.assert_array_almost_equal_nulp(x, next_to)
        for name in ("assert_array_max_ulp", "assert_array_almost_equal_nulp"):
            with pytest.raises(AssertionError, match="ULP"):
                getattr(pt.testing, name)(x, farther)
    assert repr(pt.finfo("bfloat16")) == (
        "finfo(resolution=0.01, min=-3.38953e+38, max=3.38953e+38, dtype=bfloat16)"
    )


def test_formats_of_bfloat16(device: str) -> None:
    """The digits are the shortest that identify the number, or those of its exact value."""
    x = pt.tensor([0.1, 2.35, 123456, float("inf")], dtype="bfloat16", device=device)
    positional, scientific = pt.format_float_positional, pt.format_float_scientific
    assert [positional(v) for v in x] == ["0.1", "2.34", "123400.", "inf"]
    assert [scientific(v) for v in x] == ["1.e-01", "2.34e+00", "1.234e+05", "inf"]
    assert positional(x[0], 8) == "0.1"
    assert positional(x[0], min_digits=5) == "0.10010"
    assert positional(x[1], 1) == "2.3"  # of 2.34375
    assert positional(x[1], 2, fractional=False) == "2.3"
    assert scientific(x[2], 2) == "1.23e+05"
    assert positional(x[0], 6, unique=False) == "0.100098"


@pytest.mark.computes
def test_bits_of_bfloat16(device: str) -> None:
    """Views as integers, writes through them, sums at indices, and parts of a tensor."""
    numbers = every(BFLOAT16)
    numbers = np.append(numbers[~np.isnan(numbers.astype(np.float32))], BFLOAT16(np.nan))[1:]
    x = pt.tensor(numbers, device=device)
    same(x.view("uint16"), numbers.view(np.uint16), "as uint16")
    near(pt.tensor(numbers.view(np.int16), device=device).view("bfloat16"), numbers, "back", 0)
    same(x.view("uint32"), numbers.view(np.uint32), "as pairs")
    y = pt.ones(5, dtype="bfloat16", device=device)
    y.view("uint16")[1] = 0x4000
    y[2:4] = 0.1
    y[4] = 257
    assert y.tolist() == [1, 2, 0.10009765625, 0.10009765625, 256]
    y += 1
    assert y.tolist() == [2, 3, 1.1015625, 1.1015625, 256]


def test_on_the_host(device: str) -> None:
    """Lists, scalars, text, pickles and NumPy arrays."""
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
def test_constants_are_rounded(half: Any, device: str) -> None:
    """A Python float with float16 operands is a float16, as in NumPy: otherwise 3 * 0.1 differs."""
    halves = np.array([1, 2, 3, 7, 300], half)
    x = pt.tensor(halves, device=device)
    for number in (0.1, 1 / 3, 1e-7, 2049.0):
        near(x * number, halves * half(number), f"times {number}", 0)
        near(x + number, halves + half(number), f"plus {number}", 0)


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
def test_sums_along_any_axis_round_once(half: Any, device: str) -> None:
    array = np.arange(1, 241).astype(half).reshape(2, 30, 4)
    x = pt.tensor(array, device=device)
    for axis in (0, 1, 2, (0, 2), None):
        expected = np.asarray(array.astype(np.float64).sum(axis)).astype(half)
        near(x.sum(axis), expected, f"sum along {axis}", 0)
