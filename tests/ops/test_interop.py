"""Conversion from and to lists, scalars, buffers and NumPy arrays; attributes of tensors."""

# pyright: reportArgumentType=false
# Many calls deliberately violate the type annotations.
from __future__ import annotations

import array
import functools
import math
import operator
import random
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import py_tensor as pt
from tests.ops import references as ref
from tests.ops.compare import same
from tests.ops.operands import SPECIAL

Array = Any


def test_nested_lists(device: str) -> None:
    cases: tuple[tuple[Any, str], ...] = (
        ([1, 2, 3], "int32"),
        ([1, 2.5], "float32"),
        ([True, False], "bool"),
        ([True, 2], "int32"),
        ([[1], [2]], "int32"),
        (((1, 2), [3, 4.5]), "float32"),
        ([], "float32"),
        ([[], []], "float32"),
        ([[[1, 2]], [[3, 4]]], "int32"),
        (range(4), "int32"),
        ([range(2), [5, 6]], "int32"),
        (3, "int32"),
        (2.5, "float32"),
        (True, "bool"),
        ([math.inf, -math.inf, -0.0], "float32"),
        ([np.float32(1.5), 2], "float32"),
        ([np.int32(3)], "int32"),
    )
    for data, dtype in cases:
        x = pt.tensor(data, device=device)
        expected = np.array(
            [list(d) for d in data]
            if isinstance(data, list) and data and isinstance(data[0], range)
            else data
        )
        same(x, expected.astype(dtype), f"tensor({data})")
    same(pt.asarray([1, 2], device=device), np.array([1, 2], np.int32), "asarray")
    for dtype in ref.ANY_DTYPES:
        same(
            pt.tensor([[0, 1], [1, 0]], dtype=dtype, device=device),
            np.array([[0, 1], [1, 0]], dtype),
            f"tensor, {dtype}",
        )
    same(
        pt.tensor([1e39, -1e39, 3.4028235e38], device=device),
        np.array([np.inf, -np.inf, 3.4028235e38], np.float32),
        "overflow",
    )
    same(
        pt.tensor([2.9, -2.9], dtype="int32", device=device),
        np.array([2, -2], np.int32),
        "floats in int32",
    )
    same(
        pt.tensor([2**24 + 1], dtype="float32", device=device),
        np.array([2**24], np.float32),
        "int past float32",
    )
    same(
        pt.tensor([4294967295], dtype="uint32", device=device),
        np.array([2**32 - 1], np.uint32),
        "uint32 max",
    )


@pytest.mark.computes
def test_lists_of_tensors(device: str) -> None:
    x = pt.tensor([1.0, 2.0], device=device) + 1
    same(
        pt.tensor([x, x], device=device),
        np.array([[2, 3], [2, 3]], np.float32),
        "a list of tensors",
    )
    same(
        pt.tensor([x[0], 7], device=device),
        np.array([2, 7], np.float32),
        "a 0-d tensor and a scalar",
    )
    same(
        pt.tensor([[x, x + 1], [x, x]], device=device),
        np.array([[[2, 3], [3, 4]], [[2, 3], [2, 3]]], np.float32),
        "nested lists of tensors",
    )
    same(
        pt.tensor([x, [5, 6]], device=device),
        np.array([[2, 3], [5, 6]], np.float32),
        "a tensor and a list",
    )
    same(
        pt.tensor([x[0], pt.tensor(7, device=device)]),
        np.array([2, 7], np.float32),
        "0-d tensors, on their own device",
    )
    same(
        pt.tensor([x, x], dtype="int32"),
        np.array([[2, 3], [2, 3]], np.int32),
        "a list of tensors, with a dtype",
    )
    assert pt.tensor([x, x]).device is x.device
    if device == "webgpu":
        with pytest.raises(pt.DeviceError, match=r"^tensor: .*webgpu.*cpu"):
            pt.tensor([x, pt.ones(2, device="cpu")])


def test_lists_of_arrays(device: str) -> None:
    a = np.arange(6, dtype=np.float32).reshape(2, 3)
    i, narrow = np.array([1, 2, 3], np.int32), np.array([1, 2, 3], np.int8)
    cases: tuple[tuple[Any, Array], ...] = (
        ([a, a + 1], np.stack([a, a + 1])),
        ([[a], [a]], np.array([[a], [a]])),
        ((a[0], i), np.stack([a[0], i]).astype(np.float32)),
        ([i, [4, 5, 6]], np.array([i, [4, 5, 6]], np.int32)),
        ([i, narrow], np.array([i, narrow], np.int32)),
        ([a[:, 0], a[:, 1]], a.T[:2]),
        ([np.float32(0.5), np.int32(2)], np.array([0.5, 2], np.float32)),
        ([np.int64(3), np.uint8(4)], np.array([3, 4], np.int32)),
        ([np.float64(0.5), np.float16(2)], np.array([0.5, 2], np.float32)),
        ([np.bool_(True), np.bool_(False)], np.array([True, False])),
        ([np.uint32(2**32 - 1)], np.array([2**32 - 1], np.uint32)),
        ([np.array(3), 4.5], np.array([3, 4.5], np.float32)),
        ([np.arange(2)] * 2, np.array([[0, 1]] * 2, np.int32)),
        ([[np.arange(2.0)], [np.arange(2.0)]], np.array([[[0, 1]]] * 2, np.float32)),
        ([np.arange(2), np.arange(2.0)], np.array([[0, 1]] * 2, np.float32)),
        ([np.uint64(2**32 - 1)] * 2, np.array([2**32 - 1] * 2, np.uint32)),
        ([0.5, np.float64(1.5)], np.array([0.5, 1.5], np.float32)),
    )
    for data, expected in cases:
        same(pt.tensor(data, device=device), expected, f"tensor({data})")


@pytest.mark.parametrize("shape", [(1,), (7,), (3, 4), (2, 1, 5), (0,), (2, 0), (0, 3), (2, 3, 0)])
@pytest.mark.parametrize("kind", ["ints", "floats", "bools", "mixed", "NumPy's"])
def test_lists_of_one_shape(
    kind: str, shape: tuple[int, ...], device: str, rng: np.random.Generator
) -> None:
    """Nested lists, tuples and ranges of scalars of one or several types."""
    whole = rng.integers(-99, 99, shape)
    made = {
        "ints": whole,
        "floats": rng.standard_normal(shape),
        "bools": whole > 0,
        "mixed": whole.astype(object) if 0 in shape else whole / 2,
        "NumPy's": whole.astype(np.float32),
    }[kind]
    data = made.tolist()
    if kind == "mixed":
        data = _mapped(lambda v: int(v) if v == int(v) else v, data)
    elif kind == "NumPy's":
        data = _mapped(np.float32, data)
    has_elements = 0 not in shape
    dtype = {"ints": "int32", "bools": "bool"}.get(kind, "float32") if has_elements else "float32"
    if kind == "mixed" and np.all(made == made.astype(int)):
        dtype = "int32" if has_elements else "float32"
    expected = np.array(made, dtype).reshape(_seen(shape))
    same(pt.tensor(data, device=device), expected, f"{kind} {shape}")
    same(pt.tensor(tuple(data), device=device), expected, f"{kind} {shape}, a tuple")
    for to in ("float32", "int32", "bool"):
        wanted = made.astype(to).reshape(_seen(shape))
        same(pt.tensor(data, dtype=to, device=device), wanted, f"{kind} {shape} in {to}")


def _mapped(function: Any, data: Any) -> Any:
    return [_mapped(function, d) for d in data] if isinstance(data, list) else function(data)


def _seen(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return the shape visible in lists: an empty axis hides the axes after it."""
    return shape[: shape.index(0) + 1] if 0 in shape else shape


HOST = {
    "bool": "bool", "int8": "int8", "int16": "int16", "int32": "int32", "int64": "int32",
    "uint8": "uint8", "uint16": "uint16", "uint32": "uint32", "uint64": "uint32",
    "float16": "float16", "float32": "float32", "float64": "float32", "longdouble": "float32",
}  # fmt: skip


@pytest.mark.parametrize("dtype", HOST)
def test_default_precision(dtype: str, device: str, rng: np.random.Generator) -> None:
    """NumPy arrays, scalars, lists and buffers get at most 32 bits, also with tensors."""
    to = HOST[dtype]
    a = (rng.integers(0, 100, (3, 4)) if to != "bool" else rng.random((3, 4)) > 0.5).astype(dtype)
    if to[0] == "f":
        a = a + rng.random((3, 4)).astype(dtype)
    expected = a.astype(to)
    for what, data in (
        ("array", a),
        ("transposed", a.T.copy().T),
        ("lists of arrays", list(a)),
        ("lists of scalars", [list(row) for row in a]),
    ):
        same(pt.asarray(data, device=device), expected, f"{dtype}: {what}")
    if dtype != "longdouble":  # Python cannot read its buffers
        same(pt.asarray(memoryview(a), device=device), expected, f"{dtype}: a buffer")
        same(pt.asarray(memoryview(a[:, ::2]), device=device), expected[:, ::2], f"{dtype}: steps")
        swapped = memoryview(a.astype(a.dtype.newbyteorder(">")))
        same(pt.asarray(swapped, device=device), expected, f"{dtype}: big-endian")
    same(pt.asarray(a[0, 0], device=device), expected[0, 0], f"{dtype}: a scalar")
    same(pt.full(2, a[0, 0], device=device), np.full(2, expected[0, 0]), f"{dtype}: full")
    x = pt.tensor(expected, device=device)
    for got in (x == a, a == x, pt.equal(a, x)):
        assert isinstance(got, pt.Tensor)
        assert got.all()
    same(pt.where(x == x, a, x), expected, f"{dtype}: where")


@pytest.mark.parametrize("scalar", [np.float64, np.float32, np.float16, np.longdouble])
def test_numpy_scalars_are_weak(scalar: Any, device: str) -> None:
    """Combined with tensors, NumPy scalars behave like Python's."""
    one, half = scalar(1), scalar(0.5)
    x, i = pt.tensor([0.25, -2.0], device=device), pt.tensor([1, -2], device=device)
    u = pt.tensor([1, 2], dtype="uint32", device=device)
    for number in (np.int64(1), np.int8(1), np.uint64(1), np.int32(1), np.array(1)):
        own = {"int64": "int32", "uint64": "uint32"}.get(number.dtype.name, number.dtype.name)
        for tensor, first in ((i, 1), (u, 1), (i > 0, 1)):
            common = ref.common_dtype(tensor.dtype.name, own)  # not weak, as an integer
            expected = np.array([first + 1, tensor.numpy()[1] + 1], common)
            same(tensor + number, expected, f"{tensor.dtype} + {number!r}")
            same(number + tensor, expected, f"{number!r} + {tensor.dtype}")
        same(x * number, x.numpy(), f"float32 * {number!r}")
        same(i == number, np.array([True, False]), f"int32 == {number!r}")
    for got, expected in (
        (half * x, [0.125, -1]),
        (x + one, [1.25, -1]),
        (i * half, [0.5, -1]),
        (pt.where(x > 0, one, x), [1, -2]),
        (pt.clip(x, -one, half), [0.25, -1]),
        (np.add(half, x), [0.75, -1.5]),
        (pt.full_like(x, half), [0.5, 0.5]),
    ):
        same(got, np.array(expected, np.float32), f"{scalar.__name__}")
    own = np.float16 if scalar is np.float16 else np.float32
    same(pt.full(2, half, device=device), np.full(2, 0.5, own), "which has nothing beside it")
    same(pt.tensor([True], device=device) & np.bool_(True), np.array([True]), "np.bool_")
    large = np.int64(2**40)
    same(i < large, np.array([True, True]), "a comparison with what no int32 is")
    same(large == i, np.array([False, False]), "the same from the other side")
    with pytest.raises(OverflowError, match=r"^add: .*1099511627776.*int32"):
        _ = i + large


def test_sizes_and_places_as_numpys_integers(device: str) -> None:
    n, one = np.int64(3), np.uint8(1)
    assert pt.zeros(n, device=device).shape == (3,)
    assert pt.ones((n, one), device=device).shape == (3, 1)
    same(pt.arange(n, device=device), np.arange(3, dtype=np.int32), "arange")
    same(pt.arange(one, n, device=device), np.array([1, 2], np.int32), "arange from")
    same(
        pt.linspace(np.float32(0), np.float64(1), n, device=device),
        np.array([0, 0.5, 1], np.float32),
        "linspace",
    )
    a = np.arange(12, dtype=np.int32)
    x = pt.tensor(a, device=device)
    same(x.reshape(n, -1)[one:n, np.int64(2)], a.reshape(3, 4)[1:3, 2], "reshape and index")
    same(x.reshape((n, np.int32(4))).sum(np.int64(1)), a.reshape(3, 4).sum(1, np.int32), "sum")
    assert all(type(size) is int for size in pt.linspace(0, 1, n, device=device).shape)
    drawn = [pt.Generator(seed).rand(4, device=device).tolist() for seed in (7, np.int64(7))]
    assert drawn[0] == drawn[1]


def test_64_bits_by_name(device: str) -> None:
    a, i = np.array([0.1, 1e300]), np.array([1, 2**40])
    if device == "webgpu":
        for make in (
            lambda: pt.asarray(a, dtype=pt.float64),
            lambda: pt.asarray([0.5], np.float64),
            lambda: pt.zeros(2, "f8"),
            lambda: pt.ones(2).astype(np.dtype("float64")),
            lambda: pt.tensor(a, dtype=pt.float64, device="cpu").to("webgpu"),
        ):
            with pytest.raises(pt.DTypeError, match=r"float64 .*webgpu.*float32"):
                make()
    same(pt.array(i, np.int64), i, "int64 by name")
    same(pt.array(i, "u8"), i.astype(np.uint64), "uint64 by name")
    same(pt.asarray([0.1], float), np.array([0.1], np.float32), "Python's float is float32")
    b, j = np.array([0.1, 0]), np.array([2**40, 0])
    same(pt.tensor(i, dtype="i8") + j, i + j, "an array beside int64")
    if device == "webgpu":
        return
    same(pt.asarray(a, dtype=pt.float64), a, "float64 by name")
    same(pt.tensor(a, dtype="double") + b, a + b, "an array beside float64")
    same(pt.tensor(a, dtype="f8") + np.float64(0.1), a + 0.1, "a scalar beside float64")


def test_values_out_of_range(device: str) -> None:
    for make, match in (
        (lambda: pt.array([[1, 2], [3, 2**31]]), r"^array: integer 2147483648 at index \(1, 1\)"),
        (lambda: pt.asarray(np.array([1, -(2**31) - 1])), r"^asarray: .* -2147483649 at index"),
        (lambda: pt.asarray(np.uint64([[0, 2**32]])), r"4294967296 at index \(0, 1\) .*uint32"),
        (lambda: pt.asarray(array.array("q", [0, 2**40])), r"1099511627776 at index 1 .*int32"),
        (lambda: pt.asarray([np.arange(2), np.array([2**31, 0])]), r"2147483648 at index \(1, 0\)"),
        (lambda: pt.asarray(np.array([0.5, 3e9]), "int32"), r"3000000000.0 at index 1 .*int32"),
        (lambda: pt.ones(2, device=device) * np.array([0, 2**31]), r"^multiply: .* at index 1 "),
        (lambda: pt.asarray(np.int64(2**31)), r"^asarray: Python integer 2147483648 .*int32"),
        (lambda: pt.asarray(np.array([-1.0, 0]), "uint32"), r"-1.0 at index 0 .*uint32"),
    ):  # fmt: skip
        with pytest.raises(OverflowError, match=match):
            make()
    for data in (np.array([0.5, math.nan]), [0.5, math.nan], array.array("d", [0.5, math.nan])):
        with pytest.raises(ValueError, match="int32 cannot hold NaN at index 1"):
            pt.asarray(data, int)
    limits = np.array([-(2**31), 2**31 - 1])
    same(pt.asarray(limits, device=device), limits.astype(np.int32), "the limits of int32")
    between = np.array([-0.9, 2**32 - 0.5])
    same(pt.tensor(between, dtype="uint32", device=device), np.array([0, 2**32 - 1], np.uint32), "")
    same(pt.asarray(np.array([1e300, -1e39]), device=device), np.float32([np.inf, -np.inf]), "")


def test_copies(device: str) -> None:
    x = pt.tensor([1.0, 2.0], device=device)
    assert pt.asarray(x) is pt.asarray(x, copy=False) is pt.asanyarray(x, float) is x
    assert pt.ascontiguousarray(x) is x
    turned = pt.ascontiguousarray(pt.zeros((2, 3)).T)
    assert turned.base is None
    assert turned.flags.c_contiguous
    for copied in (pt.tensor(x), pt.array(x), pt.asarray(x, copy=True), pt.array(x, "f4", ndmin=1)):
        assert copied is not x
        same(copied, x.numpy(), "a copy")
    assert pt.array(x, copy=False) is pt.array(x, copy=None) is x
    for data, dtype in ([1.0], None), (np.ones(2, np.float32), None), (x, int):
        with pytest.raises(ValueError, match=r"^array: .*without a copy"):
            pt.array(data, dtype, copy=False)
    for ndmin, shape in ((0, (2,)), (1, (2,)), (3, (1, 1, 2))):
        assert pt.array([1, 2], ndmin=ndmin).shape == shape
    assert pt.ascontiguousarray(2.5).shape == (1,)
    before = np.ones(3)
    copied = pt.array(before, device=device)
    before[:] = 5
    same(copied, np.ones(3, np.float32), "an array changed afterwards")


def test_objects_with_an_array_method(device: str) -> None:
    """``__array__`` suffices, for example for a column of a table."""

    class Column:
        def __array__(self, dtype: Any = None, copy: Any = None) -> Array:
            return np.array([1.5, 2.5], dtype)

    same(pt.asarray(Column(), device=device), np.array([1.5, 2.5], np.float32), "__array__")


@pytest.mark.computes
def test_an_array_method_that_returns_a_tensor(device: str) -> None:
    """An `__array__` that returns a tensor, which is used, and copied where an array would be."""

    class Wrapped:
        def __init__(self, data: Any) -> None:
            self.data = data

        def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
            return self.data.copy() if copy else self.data

    array = np.arange(3, dtype=np.int32)
    x = pt.tensor(array, device=device)
    mine, theirs = Wrapped(x), Wrapped(array)
    same(pt.asarray(mine), np.asarray(theirs), "asarray")
    same(pt.asarray(mine, "float32"), np.array([0, 1, 2], np.float32), "asarray with a dtype")
    same(pt.add(mine, 1.5), np.array([1.5, 2.5, 3.5], np.float32), "an operand")
    same(pt.where(x > 0, mine, 7), np.where(array > 0, array, np.int32(7)), "an operand of several")
    assert np.shares_memory(np.asarray(theirs), array)
    assert pt.shares_memory(pt.asarray(mine), x)
    for copied in (pt.tensor(mine), pt.array(mine), pt.asarray(mine, copy=True)):
        assert not pt.shares_memory(copied, x)
        copied[0] = 9
    same(x, array, "the tensor afterwards")


def test_bad_data(device: str) -> None:
    for make, error, match in (
        (
            lambda: pt.tensor([[1, 2], [3]], device=device),
            pt.ShapeError,
            r"ragged: expected a sequence of length 2, got length 1",
        ),
        (lambda: pt.tensor([[1, 2], 3], device=device), pt.ShapeError, r"ragged.*scalar"),
        (lambda: pt.tensor([1, [2]], device=device), pt.ShapeError, r"ragged"),
        (lambda: pt.tensor([[[1]], [[1, 2]]], device=device), pt.ShapeError, r"ragged"),
        (lambda: pt.tensor([2**31], device=device), OverflowError, r"2147483648.*int32"),
        (lambda: pt.tensor([-1], dtype="uint32", device=device), OverflowError, r"-1.*uint32"),
        (lambda: pt.tensor(2**40, device=device), OverflowError, r"1099511627776.*int32"),
        (lambda: pt.tensor(["a"], device=device), TypeError, "strings"),
        (lambda: pt.tensor(None, device=device), TypeError, "NoneType"),
        (lambda: pt.tensor({1: 2}, device=device), TypeError, "dict"),
        (lambda: pt.tensor([1], dtype="float128", device=device), pt.DTypeError, "float128"),
        (lambda: pt.tensor(np.array(["a"]), device=device), pt.DTypeError, "^tensor: .*strings"),
        (lambda: pt.tensor([np.str_("a")], device=device), pt.DTypeError, "^tensor: .*strings"),
        (
            lambda: pt.tensor(memoryview(b"a").cast("c"), device=device),
            pt.DTypeError,
            "^tensor: the buffer format 'c'",
        ),
        (
            lambda: pt.tensor([math.nan], dtype="int32", device=device),
            ValueError,
            r"^tensor: int32 .*NaN",
        ),
        (
            lambda: pt.tensor([1, -math.inf], dtype="uint32", device=device),
            OverflowError,
            r"^tensor: .*-inf.*uint32",
        ),
        (
            lambda: pt.tensor([0.5, 1e20], dtype="int32", device=device),
            OverflowError,
            r"^tensor: .*1e\+20.*int32",
        ),
        (lambda: pt.tensor([3 * 10**9], device=device), OverflowError, r"^tensor: .*3000000000"),
        (
            lambda: pt.tensor([10**400], dtype="float32", device=device),
            OverflowError,
            r"^tensor: .*1329 bits.*float32",
        ),
        (
            lambda: pt.tensor([np.ones(2), np.ones(3)], dtype="float32", device=device),
            pt.ShapeError,
            r"^tensor: .*ragged: expected shape \(2,\), got shape \(3,\)",
        ),
        (lambda: pt.tensor([pt.ones(2), pt.ones(3)]), pt.ShapeError, r"^tensor: .*ragged"),
        (lambda: pt.tensor([pt.ones(2), [1]]), pt.ShapeError, r"^tensor: .*ragged"),
        (
            lambda: pt.tensor([np.int64(2**40)], device=device),
            OverflowError,
            r"^tensor: .*1099511627776.*int32",
        ),
    ):
        with pytest.raises(error, match=match) as caught:
            make()
        assert caught.value.__cause__ is None
        assert caught.value.__context__ is None or caught.value.__suppress_context__
    same(pt.tensor([1, 2], device=device), np.array([1, 2], np.int32), "the session afterwards")


def _layouts(a: Array) -> dict[str, Array]:
    two = np.resize(a, (6, 4))
    return {
        "1-D": a,
        "2-D": two,
        "Fortran": np.asfortranarray(two),
        "transposed": two.T,
        "sliced": two[1:5:2, ::3],
        "flipped": two[::-1, ::-1],
        "broadcast": np.broadcast_to(two[:, :1], (6, 5)),
        "0-d": np.asarray(a[0]),
        "empty": two[:0],
        "read-only": _read_only(a),
        "big-endian": a.astype(a.dtype.newbyteorder(">")),
    }


def _read_only(a: Array) -> Array:
    a = a.copy()
    a.flags.writeable = False
    return a


def test_numpy_arrays(device: str) -> None:
    dtypes = ref.DTYPES if device == "webgpu" else (*ref.DTYPES, *ref.WIDE_DTYPES)
    for dtype in dtypes:
        for layout, a in _layouts(np.array(SPECIAL[dtype], dtype)).items():
            same(
                pt.tensor(a, dtype=dtype, device=device),
                a.astype(dtype),
                f"tensor of NumPy's {dtype}, {layout}",
            )
    a = np.array([1.5, 2.5, -3.0])
    same(
        pt.tensor(a, dtype=pt.float32, device=device), a.astype(np.float32), "float64 with a dtype"
    )
    same(
        pt.tensor(a.astype(np.float16), dtype="float32", device=device),
        a.astype(np.float32),
        "float16 with a dtype",
    )
    same(
        pt.tensor(np.arange(3), dtype="int32", device=device),
        np.arange(3, dtype=np.int32),
        "int64 with a dtype",
    )
    same(pt.tensor(np.float32(2.5), device=device), np.float32(2.5), "a NumPy scalar")
    before = np.ones(3, np.float32)
    x = pt.tensor(before, device=device)
    before[:] = 5
    same(x, np.ones(3, np.float32), "a tensor is a copy")


def test_buffers(device: str) -> None:
    for data, dtype in (
        (array.array("f", [1.5, -2.5]), "float32"),
        (array.array("i", [1, -2]), "int32"),
        (array.array("I", [1, 2**32 - 1]), "uint32"),
        (memoryview(array.array("f", [1, 2, 3, 4])).cast("B").cast("f", [2, 2]), "float32"),
        (memoryview(array.array("i", range(10)))[::3], "int32"),
        (memoryview(array.array("i", range(4)))[::-1], "int32"),
        (memoryview(b"\x00\x01\x01").cast("?"), "bool"),
    ):
        same(pt.tensor(data, device=device), np.array(data).astype(dtype), f"a buffer of {dtype}")
    same(
        pt.tensor(b"\x01\xff", dtype="int32", device=device),
        np.array([1, 255], np.int32),
        "bytes with a dtype",
    )
    same(
        pt.tensor(bytearray([3, 4]), dtype="float32", device=device),
        np.array([3, 4], np.float32),
        "bytearray",
    )
    same(
        pt.tensor(array.array("d", [1.5]), dtype="float32", device=device),
        np.array([1.5], np.float32),
        "doubles with a dtype",
    )
    same(
        pt.tensor(array.array("h", [-3, 4]), dtype="int32", device=device),
        np.array([-3, 4], np.int32),
        "shorts with a dtype",
    )
    two = memoryview(array.array("d", [1, 2, 3, 4])).cast("B").cast("d", [2, 2])
    same(
        pt.tensor(two, dtype="float32", device=device),
        np.array([[1, 2], [3, 4]], np.float32),
        "2-D doubles with a dtype",
    )
    with pytest.raises(pt.DTypeError, match="'B'"):
        pt.tensor(b"abc", device=device)


@pytest.mark.computes
def test_out_again(device: str) -> None:
    """tolist, item, numpy and __array__ of results, for every dtype and several shapes."""
    for dtype in ref.ANY_DTYPES:
        for shape in ((), (1,), (5,), (2, 3), (2, 1, 3), (0,), (2, 0), (0, 2), (2, 0, 3)):
            a = np.resize(np.array(SPECIAL[dtype][-6:], dtype), shape)
            x = pt.tensor(a, dtype=dtype, device=device)
            for view, expected in ((x, a), (x.T, a.T), (x[None], a[None])):
                what = f"{dtype} {expected.shape}"
                same(view, expected, f"numpy() of {what}")
                if dtype not in ("float32", "complex64"):
                    assert view.tolist() == expected.tolist(), f"tolist() of {what}"
                else:
                    assert repr(view.tolist()) == repr(expected.tolist()), f"tolist() of {what}"
                assert np.asarray(view).dtype == expected.dtype, f"asarray of {what}"
                assert np.array_equal(
                    np.asarray(view), expected, equal_nan=dtype in ("float32", "complex64")
                ), f"asarray of {what}"
                assert view.tobytes() == expected.tobytes(), f"tobytes() of {what}"
                assert view.nbytes == expected.nbytes
                assert (view.ndim, view.size, view.itemsize) == (
                    expected.ndim,
                    expected.size,
                    expected.itemsize,
                )
        kind = {"bool": bool, "float32": float, "complex64": complex}.get(dtype, int)
        scalar = pt.tensor([1, 0], dtype=dtype, device=device)[0]
        assert scalar.item() == 1
        assert type(scalar.item()) is kind
        assert complex(scalar) == 1
        if dtype != "complex64":
            assert (float(scalar), int(scalar), bool(scalar)) == (1.0, 1, True)


@pytest.mark.computes
def test_bytes(device: str) -> None:
    """The bytes are right in each order, for views with different memory layouts."""
    for dtype in ("int32", "uint8", "float32"):
        a = np.arange(24, dtype=dtype).reshape(2, 3, 4)
        x = pt.tensor(a, device=device)
        for order in "CFAK":
            for see in (
                lambda v: v,
                lambda v: v.T,
                lambda v: v.transpose(1, 0, 2),
                lambda v: v[:, ::-1, ::2],
                lambda v: v[0, 0, 1],
            ):
                assert see(x).tobytes(order) == see(a).tobytes(order), f"{dtype}, {order}"
    for each in (a, x):
        with pytest.raises(ValueError, match="order"):
            each.tobytes("X")


@pytest.mark.computes
def test_numpy_is_a_copy_of_its_own(device: str) -> None:
    x = pt.tensor([1.0, 2.0], device=device) + 0
    a = x.numpy()
    a[:] = 9
    same(x, np.array([1, 2], np.float32), "after its copy was changed")
    assert np.array_equal(np.array(x, dtype=np.int64), [1, 2])
    assert np.array_equal(np.array(x, copy=True), [1, 2])
    with pytest.raises(ValueError, match="copy"):
        x.__array__(copy=False)


@pytest.mark.computes
def test_scalars(device: str) -> None:
    x = pt.tensor([[2.5]], device=device)
    assert x.item() == 2.5
    assert x.sum().item() == 2.5
    assert bool(x)
    assert f"{x.sum():.3f}" == "2.500"
    assert math.sqrt(pt.tensor(9.0, device=device)) == 3
    assert [10, 20, 30][pt.tensor(2, device=device) - 1] == 20
    several = pt.tensor([1.0, 2.0], device=device)
    for read, error, match in (
        (several.item, ValueError, r"item: .*\(2,\).*not 2"),
        (lambda: bool(several), ValueError, r"\(2,\).*any\(\) or all\(\)"),
        (lambda: bool(several[:0]), ValueError, r"\(0,\)"),
        (lambda: float(several), TypeError, r"\(2,\)"),
        (lambda: int(several), TypeError, r"\(2,\)"),
        (lambda: [1, 2][several[0]], TypeError, "float32"),
        (lambda: len(several[0]), TypeError, "0-d"),
        (lambda: list(several[0]), TypeError, "0-d"),
        (several[:0].item, ValueError, "not 0"),
    ):
        with pytest.raises(error, match=match):
            read()
    assert int(pt.tensor(2.9, device=device)) == 2


@pytest.mark.computes
@pytest.mark.parametrize("values", [[0, 3, -7], [0.5, -0.0, 3.0, math.inf, 0.1], [True, False]])
def test_scalars_are_keys_by_value(values: list[Any], device: str) -> None:
    """Scalars equal the Python number and each other, also in tuples, as in NumPy."""
    a = np.array(values)
    a = a.astype({"f": np.float32, "i": np.int32}.get(a.dtype.kind, a.dtype))
    x = pt.asarray(a, device=device)
    assert [hash(v) for v in x] == [hash(v) for v in a]
    assert len(set(x) | set(x + 0) | set(a.tolist())) == len(values)
    assert {v.item(): i for i, v in enumerate(a)}[x[-1]] == len(values) - 1
    assert (x[0], x[1]) in {(a[0].item(), a[1].item())}
    assert hash(x.max()) == hash(a.max())


def test_unhashable_tensors_and_nan(device: str) -> None:
    """Arrays are not keys because they can change; a NaN is found only by identity."""
    nan = pt.tensor([math.nan], device=device)[0]
    assert {nan: 1}[nan] == 1
    squared: Any = functools.cache(lambda v: v * v)
    x = pt.array(2.0, device=device)
    for whole in (x, pt.zeros(3, device=device), pt.zeros(0, device=device), x[None]):
        for use in (hash, squared, lambda v: {v}):
            with pytest.raises(TypeError, match=r"^unhashable type: a tensor of shape \("):
                use(whole)
    assert squared(x * 1) == 4


@pytest.mark.computes
def test_scalars_are_numbers_of_python(device: str) -> None:
    """Attributes that NumPy scalars have and arrays do not."""
    x: Any = pt.tensor([2.5, -3.0, math.inf], device=device)
    i: Any = pt.tensor([6, -7], device=device)
    assert [v.is_integer() for v in x] == [False, True, False]
    assert [v.is_integer() for v in i] == [True, True]
    assert (x[0].as_integer_ratio(), x[0].hex()) == ((5, 2), (2.5).hex())
    assert [(v.bit_count(), v.numerator, v.denominator) for v in i] == [(2, 6, 1), (3, -7, 1)]
    assert [math.trunc(v) for v in (x[0], x[1], i[1], x[:2].sum())] == [2, -3, -7, 0]
    assert [math.floor(x[0]), math.ceil(x[0]), round(x[0]), operator.index(i[0])] == [2, 3, 2, 6]
    assert (round(x[0] / 3, 2).item(), f"{x[0]:.3f}", f"{i[0]:04d}") == (
        np.float32(0.83), "2.500", "0006",
    )  # fmt: skip
    for whole in (x, x[:1], pt.array(2.5, device=device)):
        for name in ("is_integer", "as_integer_ratio", "bit_count"):
            assert not hasattr(whole, name)
    assert not hasattr(x[0], "bit_count")
    assert not hasattr(i[0], "as_integer_ratio")
    assert not hasattr(pt.tensor([True], device=device)[0], "is_integer")
    with pytest.raises(TypeError, match="takes a tensor of one element"):
        math.trunc(x)


@pytest.mark.computes
def test_sequences_times_scalars(device: str) -> None:
    """An integer scalar repeats them, as in NumPy; an array multiplies."""
    x, a = pt.asarray([2, -1], device=device), np.array([2, -1])
    for values in ([1, 2], (0.5,), [[1], [2]]):
        for n in (0, 1):
            for mine, numpys in ((x[n] * values, a[n] * values), (values * x[n], values * a[n])):
                assert type(mine) is type(values)
                assert mine == numpys
        doubled = np.multiply(2, values)
        assert np.array_equal(pt.array(2, device=device) * values, doubled)
        assert np.array_equal(pt.multiply(x[0], values), doubled)
    assert random.Random(0).sample(range(9), x[0]) == random.Random(0).sample(range(9), 2)
    for other in (x[0] * 1.0, x[0] > 0):
        with pytest.raises(TypeError, match="integer"):
            _ = other * [1, 2]


@pytest.mark.computes
def test_integer_scalars_are_sizes(device: str) -> None:
    """They work as bounds of ranges and as counts."""
    x, a = pt.asarray([1, 2, 5], device=device), np.array([1, 2, 5], np.int32)
    cases: tuple[Callable[[Any, Any], Any], ...] = (
        lambda np, v: np.arange(v[2]),
        lambda np, v: np.arange(v[2] - 1 + v[0]),
        lambda np, v: np.arange(v[0], v[2], v[1]),
        lambda np, v: np.arange(v[2], 0, -v[0]),
        lambda np, v: np.arange(v[2], v[0]),
        lambda np, v: np.mgrid[: v[1], : v[2]],
        lambda np, v: np.r_[v[0] : v[2], 7],
    )
    for case in cases:
        expected = case(np, a)
        assert expected.dtype.kind == "i"
        same(case(pt, x), expected.astype(np.int32), "range")
    for end in (0.5, 2.5):
        expected = np.arange(end, a[2]).astype(np.float32)
        same(pt.arange(end, x[2]), expected, "from a float")
        same(pt.arange(pt.tensor(end, device=device), x[2]), expected, "from a float tensor")
    for number in (x[1], np.int64(2)):
        for mine, numpys in (
            (pt.array_split(x, number), np.array_split(a, 2)),
            (pt.split(x[:2], number), np.split(a[:2], 2)),
        ):
            for part, wanted in zip(mine, numpys, strict=True):
                same(part, wanted, "part")
    with pytest.raises(TypeError, match=r"\(3,\)"):
        pt.arange(x)


@pytest.mark.computes
def test_tensors_in_a_part_of_an_index(device: str) -> None:
    """They are stacked: the result of `where(condition)` may be combined with other indices."""
    x, a = pt.asarray([[0, 1, 2], [3, 4, 5], [6, 7, 8]], device=device), np.arange(9).reshape(3, 3)
    cases: tuple[Callable[[Any, Any], Any], ...] = (
        lambda np, v: v[np.where(v[:, 0] > 2), 0],
        lambda np, v: v[np.where(v[:, 0] > 9), 0],
        lambda np, v: v[np.where(v > 4), :],
        lambda np, v: v[0, [v[0], v[0, ::-1]]],
        lambda np, v: v[[v[0], v[0, ::-1]]],
        lambda np, v: v[[v[0] > 0, v[1] > 4, v[2] > 6]],
        lambda np, v: v[[v[0, 1], v[0, 2]], [0, v[0, 1]]],
    )
    for case in cases:
        same(case(pt, x), case(np, a).astype(np.int32), "read")
    for mask in (x[:, 1] > 3, x[:, 1] > 99):
        for part in (x, a):
            part[(np.where(mask.numpy()) if part is a else pt.where(mask)), 2] *= -1
        same(x, a.astype(np.int32), "written to")
    with pytest.raises(IndexError, match="float32"):
        x[[x[0] / 2], 0]


@pytest.mark.computes
def test_round_of_scalars(device: str) -> None:
    """Python's `round` of a scalar is an int, as in NumPy; of an array, or to places, a tensor."""
    x = pt.asarray([0.5, 1.5, -2.7, 7.0], device=device)
    assert [10, 20, 30][round(x[1])] == 30
    for v in x:
        assert type(round(v)) is int
        assert round(v) == round(v.item())
    assert isinstance(round(x[0], 0), pt.Tensor)
    assert isinstance(round(pt.array(1.5, device=device)), pt.Tensor)
    for value, error in ((math.nan, ValueError), (math.inf, OverflowError)):
        with pytest.raises(error):
            round(x[0] * 0 + value)


def test_isscalar(device: str) -> None:
    x = pt.array([1.0, 2.0], device=device)
    assert pt.isscalar(x[0])
    assert pt.isscalar(x.sum())
    assert not pt.isscalar(x)
    assert not pt.isscalar(pt.array(1.0, device=device))
    for value in (2.5, 1, "text", b"", np.float32(1), np.array(1.0), [1], None, Fraction(1, 3)):
        assert pt.isscalar(value) == np.isscalar(value), value


@pytest.mark.computes
def test_the_bytes_of_a_tensor(device: str) -> None:
    for dtype in ref.ANY_DTYPES:
        a = np.array(SPECIAL[dtype][:2], dtype).repeat(3).reshape(2, 3)
        x = pt.tensor(a, dtype=dtype, device=device)
        assert bytes(x) == bytes(a), dtype
        assert bytes(x.T) == bytes(a.T), dtype
        copied = np.asarray(x)
        copied[0] = 1  # a writable copy, on every version of Python
        assert bytes(x) == bytes(a), dtype
    assert bytes(pt.zeros((0, 3), device=device)) == b""
    with pytest.raises(TypeError, match="Tensor"):
        memoryview(pt.zeros(2, device=device))  # type: ignore[arg-type]


@pytest.mark.computes
def test_iteration_and_length(device: str) -> None:
    x = pt.tensor([[1, 2], [3, 4], [5, 6]], device=device)
    assert len(x) == 3
    assert [row.tolist() for row in x] == [[1, 2], [3, 4], [5, 6]]
    first, *_, last = x
    assert (first + last).tolist() == [6, 8]
    assert len(x[:0]) == 0
    assert list(x[:0]) == []
    assert x in [x]
    assert x.strides == (8, 4)


@pytest.mark.computes
def test_between_devices(device: str) -> None:
    for dtype in ref.ANY_DTYPES:
        a = np.array(SPECIAL[dtype], dtype)
        x = pt.tensor(a, dtype=dtype, device=device)
        there = x[::-1].to("cpu")
        assert str(there.device) == "cpu"
        same(there, a[::-1], f"to cpu, {dtype}")
        same(there.to(device), a[::-1], f"to cpu and back, {dtype}")
        assert x.to(device) is x
        assert pt.asarray(x) is x
        same(pt.tensor(x, dtype="float32"), a.astype(np.float32), f"tensor of a tensor, {dtype}")
    same(
        pt.zeros((0, 2), device=device).to("cpu"),
        np.zeros((0, 2), np.float32),
        "an empty one to cpu",
    )
    if device == "webgpu":
        with pytest.raises(pt.DeviceError, match=r"^add: .*webgpu.*cpu"):
            _ = pt.ones(3, device=device) + pt.ones(3, device="cpu")
        with pytest.raises(pt.DTypeError, match="float64"):
            pt.ones(2, dtype="float64", device="cpu").to("webgpu")


@pytest.mark.computes
def test_numpy_and_tensors_together(device: str) -> None:
    x, a = pt.tensor([1.0, 2.0], device=device), np.array([[1], [2]], np.float32)
    for got in (a + x, x + a, a * x, np.float32(3) - x, a @ x[None], x[None] < a):
        assert isinstance(got, pt.Tensor)
        assert got.device is x.device
    same(a + x, a + x.numpy(), "array + tensor")


@pytest.mark.computes
def test_numpys_functions_of_tensors(device: str) -> None:
    """They call our functions; unsupported calls raise and name alternatives."""
    x, a = pt.tensor([0.25, 4.0], device=device), np.array([[1], [2]], np.float32)
    for got, expected in (
        (np.sqrt(x), np.sqrt(x.numpy())),
        (np.add(a, x), a + x.numpy()),
        (np.maximum(x, 1), np.maximum(x.numpy(), 1)),
        (np.absolute(x), x.numpy()),
        (np.isnan(x), np.isnan(x.numpy())),
    ):
        assert isinstance(got, pt.Tensor)
        same(got, expected, "a function of NumPy's")
    quotient, rest = divmod(a, x)
    same(quotient, a // x.numpy(), "divmod of an array by a tensor")
    same(rest, a % x.numpy(), "divmod of an array by a tensor, what is left")
    for call, match in (
        (lambda: np.isnat(x), r"^np\.isnat: .*np\.isnat\(x\.numpy\(\)\)"),
        (lambda: np.equal.reduce(x), r"^equal\.reduce: returns bool"),
        (lambda: np.sqrt(x, out=np.empty(2, np.int32)), "same_kind"),
        (lambda: np.add(x, 1, signature="ff->f"), r"^add: signature is not supported"),
        (
            lambda: np.add(x, pt.arange(2, device=device), casting="no"),
            r"^add: .*int32 .*casting='no'",
        ),
    ):
        with pytest.raises(TypeError, match=match):
            call()
    assert np.array_equal(np.asarray(x), [0.25, 4])
    assert np.add.reduce(x) == 4.25
    assert np.multiply.outer(x, x).tolist() == [[0.0625, 1], [1, 16]]
    there = np.array([1.0, 2.0])
    there += x
    assert np.sqrt(x, out=there[:2], where=[True, False]).tolist() == [0.5, 6]
    assert there.tolist() == [0.5, 6]
