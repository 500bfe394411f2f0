"""Dtypes: the promotion table, written out independently of the code."""

from __future__ import annotations

from array import array
from struct import calcsize
from typing import Any

import numpy as np
import pytest

import py_tensor as pt
from py_tensor.base import dtypes
from py_tensor.base.errors import DTypeError

INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
NAMES = ("bool", *INTEGERS, "float16", "float32", "float64", "complex64", "complex128")
WIDE = ("float64", "complex128")


def test_promotion() -> None:
    """Promotion is NumPy's, except that 64-bit floats come only from 64-bit operands."""
    assert sorted((*NAMES, "bfloat16")) == sorted(d.name for d in dtypes.ALL)
    for a in NAMES:
        for b in NAMES:
            expected = np.promote_types(a, b).name
            x, y = dtypes.BY_NAME[a], dtypes.BY_NAME[b]
            if expected in WIDE and a not in WIDE and b not in WIDE:
                expected = {"float64": "float32", "complex128": "complex64"}[expected]
            assert dtypes.promote(x, y).name == expected


def test_there_is_one_order_of_bytes() -> None:
    for name in (">i2", ">f4", ">c8"):
        with pytest.raises(pt.DTypeError, match=r"tensors are little-endian"):
            pt.dtype(name)
    assert pt.dtype(">u1") is pt.uint8


@pytest.mark.parametrize(
    ("value", "widened", "result"),
    [
        (True, (), ""),
        (1, ("bool",), "int32"),
        (1.5, ("bool", *INTEGERS), "float32"),
        (1j, ("bool", *INTEGERS, "float16", "float32"), "complex64"),
        (1j, WIDE, "complex128"),
    ],
)
def test_scalars_are_weak(value: complex, widened: tuple[str, ...], result: str) -> None:
    for name in NAMES:
        expected = result if name in widened else name
        if isinstance(value, complex) and name not in widened and not name.startswith("complex"):
            continue  # in another row
        assert dtypes.with_scalar(dtypes.BY_NAME[name], value).name == expected


@pytest.mark.parametrize("name", INTEGERS)
def test_integers_out_of_range(name: str) -> None:
    dtype, low, high = dtypes.BY_NAME[name], int(np.iinfo(name).min), int(np.iinfo(name).max)
    assert dtypes.integer_range(dtype) == (low, high)
    for value in (low, high):
        dtypes.check_range("add", value, dtype)
    for value in (low - 1, high + 1):
        with pytest.raises(OverflowError, match=f"add: Python integer {value} is out of bounds"):
            dtypes.check_range("add", value, dtype)


def test_sizes_and_codes_are_those_of_the_host() -> None:
    for dtype in map(dtypes.parse, NAMES):
        assert np.dtype(dtype.name).itemsize == dtype.itemsize
        assert np.dtype(dtype.name).kind == dtype.kind
        code: Any = dtype.typecode
        assert calcsize(code) * (2 if dtype.kind == "c" else 1) == dtype.itemsize
        if (
            dtype.kind == "c" or dtype is dtypes.float16
        ):  # not a memoryview format before Python 3.14
            continue
        assert memoryview(bytes(8)).cast(code).itemsize == dtype.itemsize
        if dtype.kind != "b":
            assert array(dtype.typecode).itemsize == dtype.itemsize


def test_dtypes_that_the_gpu_lacks() -> None:
    assert {d.name for d in dtypes.ALL if not d.on_gpu} == {*WIDE}


@pytest.mark.parametrize("name", NAMES)
def test_parse(name: str) -> None:
    dtype = dtypes.BY_NAME[name]
    scalar = getattr(np, "bool_" if name == "bool" else name)
    for given in (dtype, name, np.dtype(name), scalar, getattr(pt, name)):
        assert dtypes.parse(given) is dtype


def test_parse_of_python_types_and_others() -> None:
    assert [dtypes.parse(t) for t in (bool, int, float)] == [pt.bool, pt.int32, pt.float32]
    assert dtypes.parse(complex) == dtypes.parse("complex") == pt.complex64
    for unknown in (3, None, "", "f3", "<", object()):
        with pytest.raises(DTypeError, match=r"unknown dtype .* the dtypes are bool, uint8"):
            dtypes.parse(unknown)


@pytest.mark.parametrize("name", NAMES)
def test_names_are_numpys(name: str) -> None:
    """All names that NumPy accepts for this dtype; Python's types have no precision.

    A NumPy dtype may have any byte order, but a name with the other byte order is rejected.
    """
    dtype = dtypes.BY_NAME[name]
    codes = [np.dtype(name).str, np.dtype(name).str[1:], np.dtype(name).newbyteorder(">")]
    words = {
        "bool": ("?", "bool_", "b1"),
        "int8": ("b", "byte", np.byte),
        "int16": ("h", "short", np.short),
        "uint8": ("B", "ubyte", np.ubyte),
        "uint16": ("H", "ushort", np.ushort),
        "int32": ("i", "intc", np.intc),
        "uint32": ("I", "uintc", np.uintc),
        "int64": ("q", "l", "longlong", "long", np.longlong),
        "uint64": ("Q", "L", "ulonglong", "ulong", np.ulonglong),
        "float32": ("f", "single", np.single),
        "float16": ("e", "half", np.half),
        "float64": ("d", "double", np.double),
        "complex64": ("F", "c8", np.csingle),
        "complex128": ("D", "c16", "cdouble", np.cdouble),
    }[name]
    for given in (*codes, *words):
        assert np.dtype(given).newbyteorder("=") == np.dtype(name)
        assert dtypes.parse(given) is dtype
    assert [dtypes.parse(n) for n in ("int", "float", "uint")] == [pt.int32, pt.float32, pt.uint32]


@pytest.mark.parametrize("name", NAMES)
def test_equality(name: str) -> None:
    """Equal to all its names, on both sides; the hash is that of the dtype object."""
    dtype = dtypes.BY_NAME[name]
    scalar = np.dtype(name).type
    for same in (name, np.dtype(name), scalar, np.dtype(name).str, dtype):
        assert dtype == same
        assert same == dtype
    others = [d for d in dtypes.ALL if d is not dtype]
    for other in (*others, *(d.name for d in others), "bfloat16", np.longdouble, None, 3, ""):
        assert dtype != other
    assert {d: d.name for d in dtypes.ALL}[dtype] == name
    assert np.zeros(2, dtype).dtype == np.dtype(name)


@pytest.mark.parametrize(
    ("kind", "itemsize", "name"),
    [
        ("b", 1, "bool"),
        *(("i", n, f"int{min(8 * n, 32)}") for n in (1, 2, 4, 8)),
        *(("u", n, f"uint{min(8 * n, 32)}") for n in (1, 2, 4, 8)),
        ("f", 2, "float16"),
        *(("f", n, "float32") for n in (4, 8, 16)),
        *(("c", n, "complex64") for n in (8, 16, 32)),
    ],
)
def test_data_of_the_host(kind: str, itemsize: int, name: str) -> None:
    assert dtypes.of_host("add", kind, itemsize, "data").name == name


def test_other_data_of_the_host() -> None:
    with pytest.raises(DTypeError, match=r"^add: .*cannot hold strings"):
        dtypes.of_host("add", "U", 4, "NumPy's str")
    with pytest.raises(DTypeError, match=r"^add: NumPy's date is not supported \(bool, "):
        dtypes.of_host("add", "M", 8, "NumPy's date")


def test_text() -> None:
    assert repr(pt.float32) == "py_tensor.float32"
    assert str(pt.bool) == "bool"


def test_floating() -> None:
    results = [dtypes.floating(dtypes.BY_NAME[n]).name for n in NAMES]
    floats = [name for name in NAMES if name.startswith(("float", "complex"))]
    assert results == ["float32"] * (len(NAMES) - len(floats)) + floats
