"""NumPy's abstract types, of which dtypes are: what is asked by `isinstance` and `issubdtype`.

A dtype is its own scalar type, and stands below these types where `isinstance` and `issubclass`
ask. Types of what tensors do not hold are here for such questions, too.
"""

from __future__ import annotations

import math
import sys
from typing import Any, NoReturn, cast

from py_tensor import dtypes
from py_tensor.convert.conversion import asarray
from py_tensor.described import is_numpy_scalar
from py_tensor.dtypes import DType
from py_tensor.errors import DTypeError
from py_tensor.ops.operands import Scalar
from py_tensor.tensor import Tensor


class _Abstract(type):
    """The class of these types, whose `kinds` are those of the dtypes below them."""

    kinds: str

    def __instancecheck__(cls, value: object) -> bool:
        is_scalar = value.is_scalar if isinstance(value, Tensor) else is_numpy_scalar(value)
        return is_scalar and cast("Any", value).dtype.kind in cls.kinds

    def __subclasscheck__(cls, given: Any) -> bool:
        if isinstance(given, DType):
            return given.kind in cls.kinds
        return type.__subclasscheck__(cls, given)

    def __call__(cls, *args: object, **options: object) -> NoReturn:
        raise DTypeError(f"{cls.__name__}: cannot be instantiated; tensors hold {dtypes.KNOWN}")


class generic(metaclass=_Abstract):  # noqa: N801 - NumPy's name, as are all here
    """Any scalar."""

    kinds = dtypes.KINDS


class number(generic):  # noqa: N801
    """An integer, a floating or a complex scalar."""

    kinds = "iufc"


class integer(number):  # noqa: N801
    """A scalar of integers."""

    kinds = "iu"


class signedinteger(integer):  # noqa: N801
    """A scalar of int8, int16, int32 or int64."""

    kinds = "i"


class unsignedinteger(integer):  # noqa: N801
    """A scalar of uint8, uint16, uint32 or uint64."""

    kinds = "u"


class inexact(number):  # noqa: N801
    """A floating or a complex scalar."""

    kinds = "fc"


class floating(inexact):  # noqa: N801
    """A scalar of float16, float32 or float64."""

    kinds = "f"


class complexfloating(inexact):  # noqa: N801
    """A scalar of complex64 or complex128."""

    kinds = "c"


class flexible(generic):  # noqa: N801
    """Nothing here: text or records."""

    kinds = ""


class character(flexible):  # noqa: N801
    """Nothing here: text."""


class str_(character):  # noqa: N801
    """Nothing here: tensors hold no text."""


class bytes_(character):  # noqa: N801
    """Nothing here: tensors hold no text."""


class void(flexible):  # noqa: N801
    """Nothing here: tensors hold no records."""


class object_(generic):  # noqa: N801
    """Nothing here: tensors hold no objects of Python."""

    kinds = ""


class datetime64(generic):  # noqa: N801
    """Nothing here: tensors hold no moments of time."""

    kinds = ""


class timedelta64(signedinteger):  # noqa: N801
    """Nothing here: tensors hold no spans of time."""

    kinds = ""


_ABSTRACT: dict[str, type] = {
    **{name: found for name, found in globals().items() if isinstance(found, _Abstract)},
    **{"str": str_, "bytes": bytes_, "object": object_},
}

True_, False_ = True, False
little_endian = sys.byteorder == "little"
longdouble, clongdouble = dtypes.float64, dtypes.complex128
"""The widest dtypes, which the cpu device has: in C, long double may be double."""

typecodes = {
    "Character": "",
    "Integer": "bhilq",
    "UnsignedInteger": "BHILQ",
    "Float": "efd",
    "Complex": "FD",
    "AllInteger": "bBhHiIlLqQ",
    "AllFloat": "efdFD",
    "Datetime": "",
    "All": "?bBhHiIlLqQefdFD",
}
"""Letters of dtypes by their kind."""

sctypeDict = {  # noqa: N816
    **dtypes.BY_NAME,
    **{letter: dtypes.parse(letter) for letter in typecodes["All"]},
}
"""Dtypes by name and letter."""

ScalarType = (int, float, complex, bool, bytes, str, memoryview, *dtypes.ALL)
"""Types of scalars: Python's, and the dtypes."""

_TITLES = {
    **{"?": "bool", "b": "signed char", "B": "unsigned char", "h": "short"},
    **{"H": "unsigned short", "i": "integer", "I": "unsigned integer", "l": "long integer"},
    **{"L": "unsigned long integer", "q": "long long integer", "Q": "unsigned long long integer"},
    **{"e": "half precision", "f": "single precision", "d": "double precision"},
    **{"F": "complex single precision", "D": "complex double precision"},
}


def _type_of(given: Any) -> Any:
    """A dtype or an abstract type, of whatever names one."""
    if isinstance(given, _Abstract):
        return given
    name = getattr(getattr(given, "type", given), "__name__", None)
    return _ABSTRACT.get(str(name)) or dtypes.parse(given)


def issubdtype(arg1: Any, arg2: Any) -> bool:
    """Whether a dtype, or a type of dtypes, is another one or below it.

    Parameters
    ----------
    arg1, arg2
        A dtype, whatever names one, or an abstract type such as `floating`.

    Examples
    --------
    >>> import py_tensor as pt
    >>> pt.issubdtype(pt.float32, pt.floating), pt.issubdtype(pt.int32, pt.floating)
    (True, False)
    """
    return issubclass(_type_of(arg1), _type_of(arg2))


def common_type(*arrays: Any) -> DType:
    """The floating or complex dtype that has the numbers of all operands; float32 of integers.

    Raises
    ------
    DTypeError
        For bools.
    """
    found = dtypes.float16
    for x in arrays:
        own = asarray(x, op="common_type").dtype
        if own.kind == "b":
            raise DTypeError("common_type: takes numbers, not bool")
        found = dtypes.promote(found, dtypes.floating(own))
    return found


def min_scalar_type(a: Any, /) -> DType:
    """The smallest dtype that holds a number; of more than one element their dtype.

    Integers that are not negative are unsigned; floats may lose digits, and do not overflow.
    """
    if not isinstance(a, Scalar):
        x = asarray(a, op="min_scalar_type")
        if x.ndim:
            return x.dtype
        a = x.item()
    return _smallest(a)


def _smallest(value: complex) -> DType:
    if isinstance(value, bool):
        return dtypes.bool_
    if isinstance(value, complex):
        parts = _smallest(value.real), _smallest(value.imag)
        return dtypes.complex_of(dtypes.promote(*parts))
    if isinstance(value, int):
        kind = "u" if value >= 0 else "i"
        fitting = [d for d in dtypes.ALL if d.kind == kind and dtypes.holds(d, value)]
        if not fitting:
            raise OverflowError(f"min_scalar_type: {value} does not fit an integer dtype")
        return fitting[0]
    if not math.isfinite(value) or abs(value) < 65000:
        return dtypes.float16
    return dtypes.float32 if abs(value) <= dtypes.largest(dtypes.float32) else dtypes.float64


def mintypecode(typechars: Any, typeset: str = "GDFgdf", default: str = "d") -> str:
    """The letter of the smallest dtype of a set to which all of others can be converted.

    Parameters
    ----------
    typechars
        Letters, or operands with them.
    typeset : str
        Letters of which one is the result.
    default : str
        The result where no letter is in the set.
    """
    given = [
        t if isinstance(t, str) else asarray(t, op="mintypecode").dtype.char for t in typechars
    ]
    found = [t for t in given if t in typeset]
    if "F" in found and "d" in found:
        return "D"
    return min(found, key="GDFgdfQqLlIiHhBb?".index) if found else default


def typename(char: str) -> str:
    """What a dtype's letter stands for, in words.

    Raises
    ------
    KeyError
        For a letter that no dtype has.
    """
    return _TITLES[char]
