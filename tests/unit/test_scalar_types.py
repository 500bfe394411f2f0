"""NumPy's abstract types, the attributes of dtypes, and predicates on both."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest

import py_tensor as pt
from py_tensor.base import dtypes

NAMES = [dtype.name for dtype in dtypes.ALL if dtype.is_numpys]
ABSTRACT = (
    "generic", "number", "integer", "signedinteger", "unsignedinteger", "inexact", "floating",
    "complexfloating", "flexible", "character", "str_", "bytes_", "void", "object_", "datetime64",
    "timedelta64",
)  # fmt: skip
TOLD = (
    "kind", "char", "num", "str", "name", "itemsize", "byteorder", "isbuiltin", "isnative", "names",
    "fields", "subdtype", "shape", "ndim", "flags", "hasobject", "isalignedstruct", "metadata",
    "descr", "alignment",
)  # fmt: skip

FLOAT32: Any = pt.float32


def scalar(name: str) -> pt.Tensor:
    return pt.ones(2, dtype=name, device="cpu")[0]


@pytest.mark.parametrize("name", NAMES)
def test_attributes_of_a_dtype(name: str) -> None:
    dtype, numpys = dtypes.BY_NAME[name], np.dtype(name)
    for field in TOLD:
        assert getattr(dtype, field) == getattr(numpys, field), field
    assert dtype.base is dtype
    assert dtype.type is numpys.type
    assert dtype.__name__ == numpys.type.__name__
    assert isinstance(dtype, pt.dtype)
    for same in (copy.copy(dtype), copy.deepcopy(dtype), pickle.loads(pickle.dumps(dtype))):
        assert same is dtype


def test_byte_orders() -> None:
    assert pt.float32.newbyteorder("<") is pt.float32.newbyteorder("=") is pt.float32
    assert pt.int8.newbyteorder() is pt.int8
    with pytest.raises(pt.DTypeError, match=r"^newbyteorder: .*big-endian int32"):
        pt.int32.newbyteorder()


@pytest.mark.parametrize("name", NAMES)
def test_issubdtype(name: str) -> None:
    dtype: Any = dtypes.BY_NAME[name]
    numpys = np.dtype(name)
    for above in (*ABSTRACT, *NAMES):
        ours: Any = dtypes.BY_NAME.get(above) or getattr(pt, above)
        theirs = np.dtype(above).type if above in NAMES else getattr(np, above)
        expected = np.issubdtype(numpys, theirs)
        for given in (dtype, dtype.type, name, numpys, numpys.type):
            assert pt.issubdtype(given, ours) == expected, (given, above)
        assert issubclass(dtype.type, ours) == expected
        assert pt.issubdtype(dtype, theirs) == expected


def test_issubdtype_of_abstract_types() -> None:
    for below in ABSTRACT:
        for above in ABSTRACT:
            expected = np.issubdtype(getattr(np, below), getattr(np, above))
            assert pt.issubdtype(getattr(pt, below), getattr(pt, above)) == expected
            assert pt.issubdtype(getattr(np, below), getattr(pt, above)) == expected
    assert pt.issubdtype(float, pt.floating)
    assert pt.issubdtype(pt.int32, int)
    assert pt.issubdtype(np.dtype("U3"), pt.str_)
    with pytest.raises(pt.DTypeError, match="nothing"):
        pt.issubdtype("nothing", pt.floating)


@pytest.mark.parametrize("name", NAMES)
def test_isinstance_of_scalars(name: str) -> None:
    one = scalar(name)
    for above in ABSTRACT:
        assert isinstance(one, getattr(pt, above)) == np.issubdtype(name, getattr(np, above))
    for other in NAMES:
        one_of: Any = dtypes.BY_NAME[other]
        assert isinstance(one, one_of) == (other == name)
    assert isinstance(one, (pt.generic, int))


def test_no_scalars() -> None:
    for value in (1.5, True, "a", pt.ones(2, device="cpu"), pt.array(1.5, device="cpu"), None):
        assert not isinstance(value, pt.generic)
        assert not isinstance(value, FLOAT32)


def test_annotations() -> None:
    def f(x: pt.float32 | None, y: int | pt.float32) -> None: ...  # type: ignore[valid-type]

    assert f.__annotations__


@pytest.mark.parametrize("name", [n for n in ABSTRACT if n != "object_"])
def test_abstract_types_make_nothing(name: str) -> None:
    with pytest.raises(pt.DTypeError, match=f"^{name}: .* tensors hold"):
        getattr(pt, name)(3)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (object, "dtype object; tensors hold numbers"),
        ("O", "dtype object; tensors hold numbers"),
        (np.dtype("M8[s]"), r"dtype datetime64\[s\]; tensors hold numbers"),
        ("m8", "dtype m8; tensors hold numbers"),
        ([("x", "f4")], r"dtype \[\('x', 'f4'\)\]; elements have no fields"),
        ({"names": ["x"]}, "elements have no fields"),
        ("float128", "dtype float128; use float64"),
        (str, "cannot hold strings"),
    ],
)
def test_dtypes_that_are_not_there(given: Any, words: str) -> None:
    with pytest.raises(pt.DTypeError, match=words):
        pt.dtype(given)


def test_common_type() -> None:
    def ones(dtype: str) -> pt.Tensor:
        return pt.ones(2, dtype=dtype, device="cpu")

    for names, expected in (
        (["float16"], "float16"),
        (["float16", "int32"], "float32"),
        (["int8", "uint8"], "float32"),
        (["complex64", "float64"], "complex128"),
        (["complex64", "float16"], "complex64"),
    ):
        assert pt.common_type(*map(ones, names)) == expected
    with pytest.raises(pt.DTypeError, match="bool"):
        pt.common_type(ones("bool"))


@pytest.mark.parametrize(
    "value",
    [0, 1, 255, 256, 65536, 2**40, -1, -128, -129, -(2**40), True, 1.5, 1e6, 1e50, np.inf, np.nan,
     1j, 1e300j],
)  # fmt: skip
def test_min_scalar_type(value: Any) -> None:
    assert pt.min_scalar_type(value) == np.min_scalar_type(value)


def test_min_scalar_type_of_operands() -> None:
    assert pt.min_scalar_type(pt.ones(3, device="cpu")) is pt.float32
    assert pt.min_scalar_type(scalar("float32")) is pt.float16
    with pytest.raises(OverflowError, match="min_scalar_type"):
        pt.min_scalar_type(2**70)


def test_letters() -> None:
    for letters in ("d", "fd", "Fd", "Ff", "il", "", "eG", ["f", "D"]):
        assert pt.mintypecode(letters) == np.mintypecode(letters)
    assert pt.mintypecode([pt.ones(2, device="cpu")]) == "f"
    for letter in pt.typecodes["All"]:
        if letter != "e":  # NumPy has no message for it
            assert pt.typename(letter) == np.typename(letter)  # type: ignore[call-overload]
        assert pt.sctypeDict[letter] == np.dtype(letter)
    for kind, letters in pt.typecodes.items():
        assert set(letters) <= set(np.typecodes[kind]), kind
    assert pt.float32 in pt.ScalarType


def test_names_of_constants() -> None:
    assert (pt.True_, pt.False_, pt.little_endian) == (True, False, np.little_endian)
    assert pt.longdouble is pt.float64
    assert pt.clongdouble is pt.complex128


def test_numpy_scalars_are_instances() -> None:
    """Scalars from the host, such as labels, have the same classes."""
    for value in (np.int64(1), np.float32(1), np.bool_(True), np.complex128(1), np.uint8(1)):
        for name in ("generic", "number", "integer", "signedinteger", "floating", "inexact"):
            expected = isinstance(value, getattr(np, name))
            assert isinstance(value, getattr(pt, name)) is expected, (value, name)
        for name in ("int64", "float32", "bool_", "complex128", "uint8", "float64"):
            expected = isinstance(value, getattr(np, name))
            assert isinstance(value, getattr(pt, name)) is expected, (value, name)
    assert not isinstance(np.ones(3), pt.generic)
    assert not isinstance(np.array(1), pt.number)
    assert not isinstance(np.str_("1"), pt.number)
