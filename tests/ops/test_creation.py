"""Creation functions, against NumPy's functions of the same names."""

from __future__ import annotations

import re
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from itertools import product
from typing import Any, cast

import numpy as np
import pytest

import py_tensor as pt
from py_tensor.base.dtypes import parse
from py_tensor.ir.arrays import cast as cast_numbers
from tests.ops import references as ref
from tests.ops.compare import same

SHAPES: tuple[Any, ...] = ((), (1,), (7,), (3, 5), (2, 3, 4), (0,), (0, 3), 5, [2, 3], (1031,))


@pytest.mark.computes
def test_constants(device: str) -> None:
    for shape in SHAPES:
        same(pt.zeros(shape, device=device), np.zeros(shape, np.float32), f"zeros({shape})")
        same(pt.ones(shape, device=device), np.ones(shape, np.float32), f"ones({shape})")
        same(pt.empty(shape, device=device) * 0, np.zeros(shape, np.float32), f"empty({shape})")
        for dtype in ref.ANY_DTYPES:
            same(
                pt.zeros(shape, dtype=dtype, device=device),
                np.zeros(shape, dtype),
                f"zeros({shape}, {dtype})",
            )
            same(
                pt.ones(shape, dtype=dtype, device=device),
                np.ones(shape, dtype),
                f"ones({shape}, {dtype})",
            )
            same(
                pt.full(shape, 1, dtype=dtype, device=device),
                np.full(shape, 1, dtype),
                f"full({shape}, 1, {dtype})",
            )
            assert str(pt.empty(shape, dtype=dtype, device=device).dtype) == dtype


@pytest.mark.computes
def test_the_class_makes_tensors(device: str) -> None:
    """``pt.ndarray(shape, dtype)``, whose elements are zeros here."""
    forms: list[tuple[Any, dict[str, Any]]] = [
        ((2, 3), {}),
        ((4,), {"dtype": pt.int8}),
        ((), {"order": "F"}),
    ]
    for args, options in forms:
        x = pt.ndarray(args, **options)
        assert isinstance(x, pt.ndarray)
        assert (x.shape, str(x.device)) == (args, device)
        assert x.dtype is options.get("dtype", pt.float32)
        assert not x.numpy().any()
    x = pt.ndarray(shape=3, dtype="int32")
    x[1:] = 5
    assert x.tolist() == [0, 5, 5]
    assert pt.ndarray((0, 2)).tolist() == []
    wrong: list[tuple[dict[str, Any], type[Exception]]] = [
        ({"shape": (-1,)}, ValueError),
        ({"shape": 2, "order": "K"}, ValueError),
        ({"shape": 2, "dtype": "bogus"}, TypeError),
        ({"shape": 2, "strides": (4,)}, TypeError),
        ({"shape": "two"}, TypeError),
    ]
    for given, error in wrong:
        with pytest.raises(error):
            pt.ndarray(**given)


def test_full_of_a_tensor(device: str) -> None:
    row = np.array([1.5, -2.5, 3.5], np.float32)
    x = pt.tensor(row, device=device)
    like = pt.zeros((2, 3), dtype="int32", device=device)
    same(pt.full((2, 3), x), np.full((2, 3), row), "full of a row")
    same(pt.full((2, 3), x[1], dtype="int32"), np.full((2, 3), -2, np.int32), "full as int32")
    same(pt.full_like(like, x.sum()), np.full((2, 3), 2, np.int32), "full_like")
    with pytest.raises(pt.ShapeError, match=r"\(3,\).*\(2, 2\)"):
        pt.full((2, 2), x)


@pytest.mark.computes
def test_full_of_an_array(device: str) -> None:
    """Lists and NumPy arrays are broadcast to the shape; by default they determine the dtype."""
    for value, dtype in (
        ([1, 2, 3], "int32"),
        ((0.5, 1, 2), "float32"),
        ([[True], [False]], "bool"),
        (range(3), "int32"),
        (np.array([[1.5], [-2.5]]), "float32"),
        (np.arange(3, dtype=np.uint8), "uint8"),
        ([7], "int32"),
    ):
        same(pt.full((2, 3), value, device=device), np.full((2, 3), value, dtype), f"{value}")
        for other in ("int32", "float32"):
            got = pt.full((2, 3), value, other, device=device)
            same(got, np.full((2, 3), value, other), f"{value} as {other}")
    like = np.zeros((2, 3), np.float32)
    x = pt.tensor(like, device=device)
    same(pt.full_like(x, [1, 2, 3]), np.full_like(like, [1, 2, 3]), "full_like of a list")
    same(np.full_like(x, np.arange(3)), np.full_like(like, np.arange(3)), "NumPy's full_like")
    filled = pt.full((2, 3), [1, 2, 3], device=device)
    filled[0] = 9
    same(filled, np.array([[9, 9, 9], [1, 2, 3]], np.int32), "a write afterwards")
    for full in (pt.full, np.full):
        with pytest.raises(ValueError, match=r"3.*2"):
            full((2, 2), [1, 2, 3])


@pytest.mark.computes
def test_full_takes_the_values_dtype(device: str) -> None:
    for value, dtype in (
        (2, "int32"),
        (2.5, "float32"),
        (True, "bool"),
        (-0.0, "float32"),
        (float("nan"), "float32"),
        (float("-inf"), "float32"),
        (-(2**31), "int32"),
        (2**31 - 1, "int32"),
    ):
        same(pt.full((2, 3), value, device=device), np.full((2, 3), value, dtype), f"full({value})")
        same(
            pt.full(3, cast("Any", np.array(value)[()]), device=device),
            np.full(3, value, dtype),
            "NumPy's",
        )
    same(
        pt.full(3, 2**32 - 1, dtype="uint32", device=device),
        np.full(3, 2**32 - 1, np.uint32),
        "full of uint32",
    )
    same(
        pt.full(3, 2.9, dtype=pt.int32, device=device),
        np.full(3, 2, np.int32),
        "full of a float in int32",
    )
    same(
        pt.full(3, 0.1, device=device) + 0.2,
        np.full(3, 0.1, np.float32) + np.float32(0.2),
        "full in an expression",
    )
    for value, dtype in ((2**31, "int32"), (-1, "uint32"), (2**32, "uint32")):
        with pytest.raises(OverflowError, match=rf"^full: .*{value}.*{dtype}"):
            pt.full(2, value, dtype=dtype, device=device)
    with pytest.raises(ValueError, match=r"^full: int32 .*NaN"):
        pt.full(2, float("nan"), dtype="int32", device=device)
    with pytest.raises(OverflowError, match=r"^full_like: .*-1.*uint32"):
        pt.full_like(pt.ones(2, "uint32", device=device), -1)
    for value, dtype in ((300, "uint8"), (-1, "uint8"), (2**31, "int32"), (2**70, "int64")):
        for shape in (2, (0, 3)):
            with pytest.raises(OverflowError, match=rf"^full_like: .*{value}.*{dtype}"):
                pt.full_like(pt.ones(shape, dtype, device=device), value)


@pytest.mark.computes
def test_like(device: str) -> None:
    for dtype in ref.ANY_DTYPES:
        x = pt.ones((2, 3), dtype=dtype, device=device)
        for name, value in (("zeros_like", 0), ("ones_like", 1)):
            same(getattr(pt, name)(x), np.full((2, 3), value, dtype), f"{name}, {dtype}")
        same(pt.full_like(x, 1), np.full((2, 3), 1, dtype), f"full_like, {dtype}")
        same(
            pt.empty_like(x).astype(pt.float32) * 0,
            np.zeros((2, 3), np.float32),
            f"empty_like, {dtype}",
        )
        same(
            pt.zeros_like(x, dtype=pt.float32),
            np.zeros((2, 3), np.float32),
            "zeros_like with a dtype",
        )
        assert pt.ones_like(x).device is x.device


@pytest.mark.computes
def test_eye(device: str) -> None:
    for n, m, k in (
        (3, None, 0),
        (3, 5, 0),
        (5, 3, 1),
        (4, 4, -2),
        (1, 7, 6),
        (3, 3, 9),
        (0, 3, 0),
        (33, 17, -5),
    ):
        same(
            pt.eye(n, m, k=k, device=device),
            np.eye(n, m, k, dtype=np.float32),
            f"eye({n}, {m}, k={k})",
        )
    for dtype in ref.ANY_DTYPES:
        same(pt.eye(3, 4, dtype=dtype, device=device), np.eye(3, 4, dtype=dtype), f"eye, {dtype}")


@pytest.mark.computes
def test_arange(device: str) -> None:
    for args in (
        (5,),
        (0,),
        (-3,),
        (2, 9),
        (9, 2),
        (1, 10, 3),
        (10, 1, -3),
        (-5, 5, 2),
        (0, 1031),
        (2**31 - 3, 2**31 - 1),
        (-(2**31), -(2**31) + 3),
        (0, -7, -1),
    ):
        same(pt.arange(*args, device=device), np.arange(*args, dtype=np.int32), f"arange{args}")
        same(
            pt.arange(*args, dtype="float32", device=device),
            np.arange(*args).astype(np.float32),
            f"arange{args}, float32",
        )
    for args in ((0, 1, 0.25), (2.0,), (1.5, 6), (3, 0, -0.5), (0.0, 0.0), (1, 0, 0.5)):
        got, expected = pt.arange(*args, device=device), np.arange(*args).astype(np.float32)
        same(got, expected, f"arange{args}")
    same(
        pt.arange(3, dtype="uint32", device=device), np.arange(3, dtype=np.uint32), "arange, uint32"
    )
    same(
        pt.arange(5, 0, -2, dtype="uint32", device=device),
        np.arange(5, 0, -2).astype(np.uint32),
        "arange, uint32 downwards",
    )
    same(pt.arange(2, dtype="bool", device=device), np.array([False, True]), "arange, bool")
    long = pt.arange(0, 1, 1e-3, device=device).numpy()
    np.testing.assert_allclose(long, np.arange(0, 1, 1e-3), atol=2e-7)
    with pytest.raises(ValueError, match=r"^arange: step"):
        pt.arange(0, 5, 0, device=device)
    with pytest.raises(OverflowError, match=r"^arange: .*int32"):
        pt.arange(2**31, 2**31 + 3, device=device)
    with pytest.raises((pt.ShapeError, MemoryError), match=r"^arange: .*3000000000"):
        pt.arange(3 * 10**9, device=device)
    with pytest.raises(ValueError, match=r"^arange: .*inf"):
        pt.arange(0, float("inf"), device=device)


@pytest.mark.computes
def test_arange_of_floats_in_an_integer_dtype(device: str) -> None:
    """The first two numbers, truncated, determine the start and the step."""
    signed, unsigned = ("int8", "int32"), ("uint8", "uint32")
    for args, dtypes in (
        ((0, 5, 0.5), signed),
        ((-3, 3, 0.5), signed),
        ((-0.5, 0.4, 0.6), signed),
        ((0.9, 3), signed),
        ((2.5,), signed),
        ((0, 5, 2.5), signed),
        ((3, -3, -0.7), signed),
        ((0.5, 4, True), signed),
        ((3, 0, -1.5), unsigned),
        ((0.5, 5), unsigned),
        ((0, 2, 0.25), unsigned),
    ):
        for dtype in dtypes:
            got = pt.arange(*args, dtype=dtype, device=device)
            same(got, np.arange(*args, dtype=dtype), f"arange{args}, {dtype}")
    half: Any = pt.tensor(0.5, device=device)
    same(
        pt.arange(-3, 3, half, dtype=int, device=device),
        np.arange(-3, 9, dtype=np.int32),
        "of a tensor",
    )
    for arange in (pt.arange, np.arange):
        for args in ((-3.5, 3), (255, 300)):
            with pytest.raises(OverflowError):
                arange(*args, dtype="uint8")
    same(
        pt.arange(254, 300, dtype="uint8", device=device),
        np.arange(254, 300, dtype="uint8"),
        "beyond the dtype",
    )


@pytest.mark.computes
def test_linspace(device: str) -> None:
    cases: tuple[tuple[Any, Any], ...] = (
        ((1, 20, 20), {}),
        ((0, 1), {}),
        ((0, 1, 7), {"endpoint": False}),
        ((5, -5, 11), {}),
        ((2, 3, 1), {}),
        ((2, 3, 0), {}),
        ((-1e-3, 1e6, 1031), {}),
        ((3, 3, 4), {}),
    )
    for args, options in cases:
        got = pt.linspace(*args, **options, device=device)
        expected = np.linspace(*args, **options)
        assert got.shape == expected.shape
        assert str(got.dtype) == "float32"
        size = float(max(abs(args[0]), abs(args[1])))
        np.testing.assert_allclose(
            got.numpy(), expected, rtol=3e-7, atol=3e-7 * size, err_msg=f"linspace{args}"
        )
        if expected.size > 1 and options.get("endpoint", True):
            assert got[-1].item() == np.float32(args[1]), f"linspace{args}: the last number"
    same(
        pt.linspace(0, 10, 5, dtype="int32", device=device),
        np.linspace(0, 10, 5).astype(np.int32),
        "linspace, int32",
    )
    with pytest.raises(ValueError, match=r"^linspace: num.*-1"):
        pt.linspace(0, 1, -1, device=device)


@pytest.mark.parametrize("endpoint", [True, False])
@pytest.mark.parametrize(
    ("start", "stop"), [(0, 14), (9, -5), (-3, 2**24 + 3), (0, 2**31 - 1), (2**40, 2**40 + 99)]
)
def test_linspace_between_ints_is_exact(start: int, stop: int, endpoint: bool, device: str) -> None:
    dtype = "int64" if stop >= 2**31 else "int32"
    for num in (0, 1, 2, 3, 47, 1000):
        gaps = max(num - 1 if endpoint else num, 1)
        expected = [start + i * (stop - start) // gaps for i in range(num)]
        got = pt.linspace(start, stop, num, endpoint, dtype=dtype, device=device)
        assert got.dtype == dtype
        assert got.tolist() == expected


def test_column_major_results(device: str) -> None:
    def layouts(lib: Any, **options: Any) -> list[tuple[bool, bool]]:
        shape = 3, 4
        made = [lib.zeros(shape, "float32", "F", **options), lib.eye(*shape, order="F", **options)]
        made += [lib.full(shape, 2, order="F", **options), lib.full_like(made[0], 3, order="F")]
        return [(x.flags.f_contiguous, x.flags.c_contiguous) for x in made]

    assert layouts(pt, device=device) == layouts(np) == [(True, False)] * 4


@pytest.mark.computes
def test_a_dtype_by_position(device: str) -> None:
    """The dtype follows the shape, as in NumPy; separate sizes raise an error with a hint."""
    x = pt.ones(2, device=device)
    same(pt.zeros((2, 3), "int32", device=device), np.zeros((2, 3), "int32"), "zeros")
    same(pt.ones(3, int, device=device), np.ones(3, "int32"), "ones")
    same(pt.full((2,), 3, "float32", device=device), np.full((2,), 3, "float32"), "full")
    same(pt.zeros_like(x, "bool"), np.zeros(2, "bool"), "zeros_like")
    same(pt.full_like(x, 3, "int32"), np.full(2, 3, "int32"), "full_like")
    same(pt.eye(3, 4, 1, "int32", device=device), np.eye(3, 4, 1, "int32"), "eye")
    makers = cast("tuple[Callable[..., Any], ...]", (pt.zeros, pt.ones, pt.empty))
    for make in makers:
        for sizes in ((2, 3), (2, 3, 4)):
            name = f"{make.__name__}"
            with pytest.raises(TypeError, match=rf"^{name}: .*shape.*pt\.{name}\({re_of(sizes)}\)"):
                make(*sizes)
    assert pt.rand(2, 3, device=device).shape == pt.randn(2, 3, device=device).shape == (2, 3)


def re_of(sizes: tuple[int, ...]) -> str:
    return re.escape(str(sizes))


LARGE = 20_000
TOO_LARGE: dict[str, Callable[[str], Any]] = {
    "zeros": lambda device: pt.zeros((LARGE, LARGE), device=device),
    "ones": lambda device: pt.ones((LARGE, LARGE), device=device),
    "empty": lambda device: pt.empty((LARGE, LARGE), device=device),
    "full": lambda device: pt.full((LARGE, LARGE), 2, device=device),
    "ones_like": lambda device: pt.ones_like(pt.ones((LARGE, LARGE), device=device)),
    "rand": lambda device: pt.rand(LARGE, LARGE, device=device),
    "randn": lambda device: pt.randn(LARGE, LARGE, device=device),
    "randint": lambda device: pt.randint(0, 9, (LARGE, LARGE), device=device),
    "eye": lambda device: pt.eye(LARGE, device=device),
    "arange": lambda device: pt.arange(LARGE * LARGE, device=device),
    "linspace": lambda device: pt.linspace(0, 1, LARGE * LARGE, device=device),
}


@pytest.mark.computes
def test_errors_about_size_name_the_function(device: str) -> None:
    """Storing it raises; an expression that uses it need not."""
    if device == "cpu":  # its only limit is memory
        pt.ones(2, device=device).realize()
        return
    limit = pt.device_info()["limits"]["maxBufferSize"]
    if limit < 4 * LARGE * LARGE:
        for name, make in TOO_LARGE.items():
            x = make(device)
            for store in (x.realize, x.numpy):
                with pytest.raises(MemoryError, match=rf"^{name}: \w+ of shape .*0000.* 1\.49 GiB"):
                    store()
            assert x.reshape(-1)[:3].numpy().shape == (3,)
    with pytest.raises(MemoryError, match=r"^arange: int32 of shape \(3000000000,\)"):
        pt.arange(3 * 10**9)
    same(pt.ones(2) + 1, np.full(2, 2, np.float32), "the session afterwards")


TAKE_A_DTYPE: dict[str, Callable[[str], Any]] = {
    "zeros": lambda dtype: pt.zeros(3, dtype=dtype),
    "full": lambda dtype: pt.full((2, 2), 1, dtype=dtype),
    "arange": lambda dtype: pt.arange(3, dtype=dtype),
    "tensor": lambda dtype: pt.tensor([1], dtype=dtype),
    "astype": lambda dtype: pt.ones(2).astype(dtype),
    "eye": lambda dtype: pt.eye(2, dtype=dtype),
    "linspace": lambda dtype: pt.linspace(0, 1, 3, dtype=dtype),
}


@pytest.mark.computes
def test_shapes_and_dtypes_that_are_wrong(device: str) -> None:
    half: Any = (2, 0.5)
    for make, error, match in (
        (lambda: pt.zeros((2, -3), device=device), pt.ShapeError, r"-3"),
        (lambda: pt.zeros(half, device=device), TypeError, r"0\.5"),
        (lambda: pt.zeros((1,) * 65, device=device), pt.ShapeError, "65 axes"),
        (lambda: pt.zeros(3, dtype="complex256", device=device), pt.DTypeError, "complex128"),
        (lambda: pt.zeros(3, device="tpu"), pt.DeviceError, "tpu"),
    ):
        with pytest.raises(error, match=match):
            make()
    if device == "webgpu":
        for dtype in ref.WIDE_DTYPES:
            for name, make in TAKE_A_DTYPE.items():
                with pytest.raises(pt.DTypeError, match=dtype):
                    pytest.fail(f"{name} made {make(dtype)!r}")
    same(pt.ones(3, device=device) + 1, np.full(3, 2, np.float32), "the session afterwards")


def test_the_step_of_linspace(device: str) -> None:
    for num, endpoint in ((5, True), (5, False), (1, True), (1, False), (0, True)):
        got, step = pt.linspace(1, 3, num, endpoint, retstep=True, device=device)
        expected, expected_step = np.linspace(1, 3, num, endpoint, retstep=True)
        np.testing.assert_allclose(got.numpy(), expected, rtol=1e-6)
        np.testing.assert_equal(step, float(expected_step))


@pytest.mark.computes
def test_steps_and_bools_of_arange(device: str) -> None:
    same(pt.arange(2, 9, None, device=device), np.arange(2, 9, dtype=np.int32), "no step")
    for count in (0, 1, 2):
        same(pt.arange(count, dtype=bool, device=device), np.arange(count, dtype=bool), "bools")
    with pytest.raises(TypeError, match=r"^arange: .*not 3"):
        pt.arange(3, dtype=bool, device=device)


def test_linspace_between_ints_has_all_digits_of_float64() -> None:
    start, stop = [0, 120], [100, 0]
    x, y = pt.tensor(start, device="cpu"), pt.tensor(stop, device="cpu")
    got = pt.linspace(x, y, 50, dtype="float64")
    np.testing.assert_allclose(got.numpy(), np.linspace(start, stop, 50), rtol=1e-15, strict=True)


def test_text_and_none_where_a_dtype_is_given(device: str) -> None:
    cases: list[tuple[Any, str]] = [
        (["1", "2.5", "nan", "-inf"], "float32"),
        ([["1", "2"], ["3", "4"]], "int32"),
        ([[1, None], [3, 4]], "float32"),
        ([Fraction(1, 2), Decimal("0.25")], "float32"),
        (["1+2j", None], "complex64"),
        (["7"], "uint8"),
    ]
    for given, dtype in cases:
        found = pt.array(given, dtype=dtype, device=device)
        same(found, np.array(given, dtype=dtype), f"{given} as {dtype}")
    for given, error in ((["one"], ValueError), ([None], TypeError), (["1.5"], ValueError)):
        with pytest.raises(error, match=r"^array: .*is not int32"):
            pt.array(cast("Any", given), dtype="int32", device=device)
    with pytest.raises(pt.DTypeError):
        pt.array(cast("Any", ["1"]), device=device)


def drawn_number(rng: np.random.Generator) -> float:
    kinds = (
        float(rng.integers(-100, 100)),
        float(rng.integers(-100, 100)) / 10,
        float(rng.standard_normal()),
        float(rng.standard_normal() * 10.0 ** rng.integers(-37, 38)),
        float(rng.choice([0.0, -0.0, 1e-40, 3e38, 1e39, -1e300, 1e-300, 1 / 3])),
        float(rng.choice([np.inf, -np.inf, np.nan])),
    )
    return kinds[min(int(rng.integers(12)) // 2, 5) if rng.random() < 0.9 else 4]


def check_rounded(got: pt.Tensor, expected: Any, size: float, what: str) -> None:
    """Check for the float32 nearest to float64 numbers, except near the middle between two.

    A number within 8 float64 ulp of that, for the largest number of the range, may be rounded the
    other way. Subnormal numbers may be 0 on a GPU.
    """
    found, nearest = got.numpy(), expected.astype(np.float32)
    assert found.dtype == np.float32
    differs = (found != nearest) & ~(np.isnan(found) & np.isnan(nearest))
    differs &= (np.abs(nearest) >= np.finfo(np.float32).tiny) | (np.abs(found) > np.abs(nearest))
    middle = (found[differs].astype(float) + nearest[differs]) / 2
    assert (np.abs(expected[differs] - middle) <= 8 * np.spacing(size)).all(), what


@pytest.mark.computes
@pytest.mark.filterwarnings("ignore")
def test_ranges_are_those_of_numpy_rounded_once(
    device: str, few: Any, rng: np.random.Generator
) -> None:
    for _ in few(range(150), 20):
        start, stop, step = (drawn_number(rng) for _ in range(3))
        stop = -start if rng.random() < 0.2 else stop
        num = int(rng.choice([0, 1, 2, 3, 11, 50, 101, 1001, 20_001]))
        endpoint = bool(rng.integers(2))
        expected, gap = np.linspace(start, stop, num, endpoint, retstep=True)
        got, found = pt.linspace(start, stop, num, endpoint, retstep=True, device=device)
        size = max(abs(start), abs(stop))
        check_rounded(got, expected, size, f"linspace({start!r}, {stop!r}, {num}, {endpoint})")
        np.testing.assert_equal(found, float(gap))
        if num > 1:
            half = pt.linspace(start, stop, num, endpoint, dtype="float16", device=device)
            twice = expected.astype(np.float32).astype(np.float16)
            np.testing.assert_allclose(half.numpy(), twice, 1e-3, 1e-7)
        if abs(start) + abs(stop) < 1e9:
            expected = np.linspace(start, stop, num, endpoint, dtype=np.int32)
            got = pt.linspace(start, stop, num, endpoint, dtype="int32", device=device)
            np.testing.assert_array_equal(got.numpy(), expected, f"{start!r} to {stop!r}, {num}")
        if step and np.isfinite(step) and np.isfinite(start) and 0 < num < 2000:
            last = start + num * step
            expected = np.arange(start, last, step)
            if 0 < expected.size < 4000:
                got = pt.arange(start, last, step, device=device)
                check_rounded(got, expected, max(abs(start), abs(last)), f"{start!r}, {step!r}")


@pytest.mark.computes
@pytest.mark.parametrize(
    ("start", "stop"), [(0, 1), (-1, 1), (-0.3, 0.7), (1e6, 1e6 + 1), (0, 2.0**26 + 3)]
)
def test_long_ranges(start: float, stop: float, device: str, rng: np.random.Generator) -> None:
    """Indices beyond 2**24; only the selected elements are computed."""
    num = 2**25 + int(rng.integers(1000))
    size = max(abs(start), abs(stop))
    step = (stop - start) / (num - 1)
    x = pt.linspace(start, stop, num, device=device)
    y = pt.arange(start, stop, step, device=device)
    for at in (0, num // 2 - 5000, num - 10_000, int(rng.integers(2**24, num - 10_000))):
        numbers = np.arange(at, at + 10_000)
        expected = numbers * step + start
        expected[numbers == num - 1] = stop
        check_rounded(x[at : at + 10_000], expected, size, f"linspace from {at}")
        numbers = np.arange(at, min(at + 10_000, y.size))
        expected = start + numbers * ((start + step) - start)
        check_rounded(y[at : at + 10_000], expected, size, f"arange from {at}")


@pytest.mark.computes
def test_common_ranges(device: str) -> None:
    for low, high, num in ((0, 1, 101), (-1, 1, 2001), (0, 10, 1001), (-0.3, 0.3, 7), (5, 0.1, 99)):
        got = pt.linspace(low, high, num, device=device).numpy()
        np.testing.assert_array_equal(got, np.linspace(low, high, num).astype(np.float32))
    for low, high, step in ((0, 10, 0.1), (1, 0, -0.01), (-0.5, 0.5, 1 / 3), (0.05, 20, 0.05)):
        got = pt.arange(low, high, step, device=device).numpy()
        np.testing.assert_array_equal(got, np.arange(low, high, step).astype(np.float32))
    complexes = pt.linspace(0.1 + 1j, 1 - 0.3j, 101, device=device).numpy()
    expected = np.linspace(0.1 + 1j, 1 - 0.3j, 101)
    np.testing.assert_array_equal(complexes, expected.astype(np.complex64))


@pytest.mark.computes
@pytest.mark.filterwarnings("ignore")
def test_linspace_between_ends_with_axes(device: str, few: Any, rng: np.random.Generator) -> None:
    """Lists and integers give float64 numbers, rounded once; float32 tensors NumPy's float32."""
    for _ in few(range(12), 3):
        x, y = rng.integers(-100, 100, 3) / 10, rng.standard_normal((2, 1))
        whole = rng.integers(-(2**30), 2**30, 3, dtype=np.int32)
        single = rng.standard_normal((2, 3)).astype(np.float32)
        options: dict[str, Any] = {
            "num": int(rng.integers(0, 60)),
            "endpoint": bool(rng.integers(2)),
            "axis": int(rng.integers(3)),
        }
        own, other = (pt.tensor(v, device=device) for v in (single, -single))
        cases: list[tuple[Any, Any, Any, Any]] = [  # ends for NumPy, and for py_tensor
            (x, y, x.tolist(), y),
            (0.1, y, 0.1, y.tolist()),
            (whole, y, pt.tensor(whole, device=device), y),
            (single, x, own, x),
            (single, -single, own, other),
            (single, 2.5, own, 2.5),
        ]
        for start, stop, first, last in cases:
            expected, gap = np.linspace(start, stop, **options, retstep=True)
            got, step = pt.linspace(first, last, **options, retstep=True, device=device)
            same(got, expected.astype(np.float32), f"{start!r} to {stop!r}, {options}")
            if options["num"] > 1:
                same(step, gap.astype(np.float32), f"the step from {start!r} to {stop!r}")


REAL_TYPES = "?bBhHiIlLefd"


@pytest.mark.computes
def test_linspace_computes_in_numpys_promoted_dtype(
    device: str, few: Any, rng: np.random.Generator
) -> None:
    """Small integers and float32 are float32, for example; 32-bit integers make it float64."""

    def drawn(kind: str) -> Any:
        numbers = rng.random(30) * 100
        return numbers > 50 if kind == "?" else numbers.astype(kind)

    pairs = [(x, str(rng.choice([*REAL_TYPES, "list"]))) for x in REAL_TYPES]
    pairs += [(x, y) for x in "?bBhH" for y in "ef"]
    for first, second in few(pairs, 8):
        x, y = drawn(first), drawn("d" if second == "list" else second)
        if rng.random() < 0.5:
            x[0] = y[0] = x[0] > 50  # a step of zero changes how NumPy rounds the others
        expected, gap = np.linspace(x, y, 7, retstep=True)
        ends: list[tuple[Any, Any]] = [(x, y.tolist() if second == "list" else y)]
        if x.dtype.itemsize < 8 and y.dtype.itemsize < 8:
            tensor = pt.tensor(x, dtype=x.dtype.name, device=device)
            ends += [(tensor, y), (tensor, pt.tensor(y, dtype=y.dtype.name, device=device))]
        for start, stop in ends:
            got, step = pt.linspace(start, stop, 7, retstep=True, device=device)
            what = f"{x.dtype} to {second}, {type(start)} and {type(stop)}"
            assert step.dtype is got.dtype, what
            same(got, expected.astype(got.numpy().dtype), what)
            same(step, gap.astype(got.numpy().dtype), f"the step of {what}")


@pytest.mark.parametrize("dtype", ["complex64", "float32", "float16"])
def test_linspace_beside_a_step_of_zero(dtype: str, device: str, rng: np.random.Generator) -> None:
    """It changes how NumPy rounds the other numbers."""
    for count in range(2, 12):
        x, y = (rng.standard_normal((2, 5)).astype(dtype) for _ in range(2))
        if dtype == "complex64":
            x, y = x + 1j * y[::-1], y + 1j * x[::-1]
        x[0, 0] = y[0, 0]
        expected = np.linspace(x, y, count)
        ends = (pt.tensor(v, dtype=dtype, device=device) for v in (x, y))
        got = pt.linspace(*ends, count)
        if dtype != "complex64":
            same(got, expected, f"{count} of {dtype}")
        else:  # products of complex numbers are rounded in another way on a GPU
            ulp = 0 if device == "cpu" else 1e-6
            np.testing.assert_allclose(got.numpy(), expected, ulp, ulp, err_msg=str(count))


def test_linspace_with_a_step_that_underflows() -> None:
    for stop in (5e-324, 1.5e-323, -1e-323):
        got = pt.linspace(0, stop, 4, dtype="float64", device="cpu")
        same(got, np.linspace(0, stop, 4), str(stop))


@pytest.mark.computes
@pytest.mark.filterwarnings("ignore")
def test_linspace_in_integers_overflows_like_astype(device: str) -> None:
    wide = (-3e19, -1e19, -3e9, -1.5, 0.5, 300.5, 3e9, 5e9, 1e19, 1.8e19, 3e19, np.nan)
    pairs = [(x, y) for x in wide for y in (0.25, 1.7e19, 2.9e9)]
    starts, stops = zip(*pairs, strict=True)
    for dtype in ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"):
        exact = np.floor(np.linspace(starts, stops, 4))
        expected = cast_numbers(np, exact, parse(dtype))
        same(pt.linspace(starts, stops, 4, dtype=dtype, device=device), expected, dtype)
        for column in (1, 9, 10, 18, 25, 33):
            got = pt.linspace(*pairs[column], 4, dtype=dtype, device=device)
            same(got, expected[:, column], f"{pairs[column]}, {dtype}")


@pytest.mark.computes
def test_the_sign_of_zero_in_linspace(device: str) -> None:
    ends = (-0.0, 0.0, -2.0, 2.0, -1.25, 1.25)
    for start, stop, num, endpoint in product(ends, ends, (1, 2, 3, 4), (True, False)):
        expected = np.linspace(start, stop, num, endpoint).astype(np.float32)
        got = pt.linspace(start, stop, num, endpoint, device=device)
        same(got, expected, f"linspace({start}, {stop}, {num}, {endpoint})")


def test_linspace_of_no_numbers(device: str) -> None:
    for dtype in ("int32", "int64", "uint8", "float32"):
        got = pt.linspace(-1992160360, 927435815, 0, dtype=dtype, device=device)
        same(got, np.empty(0, dtype), dtype)
