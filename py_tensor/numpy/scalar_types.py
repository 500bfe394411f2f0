"""NumPy's abstract scalar types, for `isinstance` and `issubdtype`.

A dtype is its own scalar type and counts as a subclass of these types. Types that tensors cannot
hold exist for such checks too.
"""

from __future__ import annotations

import sys
from functools import reduce
from types import GenericAlias
from typing import Any, NoReturn, cast

from py_tensor.base import dtypes
from py_tensor.base.dtype_attributes import is_numpy_scalar
from py_tensor.base.dtypes import DType
from py_tensor.base.errors import DTypeError
from py_tensor.convert.conversion import asarray
from py_tensor.ops.operands import Scalar
from py_tensor.runtime.host import host
from py_tensor.tensors.tensor import Tensor

__all__ = [
    "False_", "ScalarType", "True_", "bytes_", "character", "clongdouble", "common_type",
    "complexfloating", "datetime64", "flexible", "floating", "generic", "inexact", "integer",
    "issubdtype", "little_endian", "longdouble", "min_scalar_type", "mintypecode", "number",
    "object_", "sctypeDict", "signedinteger", "str_", "timedelta64", "typecodes", "typename",
    "unsignedinteger", "void",
]  # fmt: skip


class _Abstract(type):
    """The metaclass of these types; `kinds` are those of the dtypes that count as subclasses."""

    kinds: str

    def __instancecheck__(cls, value: object) -> bool:
        is_scalar = value.is_scalar if isinstance(value, Tensor) else is_numpy_scalar(value)
        return is_scalar and cast("Any", value).dtype.kind in cls.kinds

    def __subclasscheck__(cls, subclass: Any) -> bool:
        if isinstance(subclass, DType):
            return subclass.kind in cls.kinds
        numpy: Any = sys.modules.get("numpy")
        if numpy is not None and issubclass(subclass, numpy.generic):  # the type of a dtype
            numpys = getattr(numpy, cls.__name__, None)
            return numpys is not None and issubclass(subclass, numpys)
        return type.__subclasscheck__(cls, subclass)

    def __call__(cls, *args: object, **options: object) -> NoReturn:
        raise DTypeError(f"{cls.__name__}: cannot be instantiated; tensors hold {dtypes.KNOWN}")


class generic(metaclass=_Abstract):  # noqa: N801 - NumPy's name, as are all here
    """Any scalar."""

    kinds = dtypes.KINDS

    def __class_getitem__(cls, item: Any) -> GenericAlias:
        """Return a type for annotations, such as ``floating[Any]``."""
        return GenericAlias(cls, item)


class number(generic):  # noqa: N801
    """An integer, a floating or a complex scalar."""

    kinds = "iufc"


class integer(number):  # noqa: N801
    """An integer scalar."""

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
    """Text or records; not supported in tensors."""

    kinds = ""


class character(flexible):  # noqa: N801
    """Text; not supported in tensors."""


class str_(character):  # noqa: N801
    """Text; not supported in tensors."""


class bytes_(character):  # noqa: N801
    """Bytes; not supported in tensors."""


class void(flexible):  # noqa: N801
    """Records; not supported in tensors."""


class object_(generic):  # noqa: N801
    """Python objects; not supported in tensors."""

    kinds = ""


class datetime64(generic):  # noqa: N801
    """Dates; not supported in tensors."""

    kinds = ""


class timedelta64(signedinteger):  # noqa: N801
    """Time differences; not supported in tensors."""

    kinds = ""


_ABSTRACT: dict[str, type] = {
    **{name: value for name, value in globals().items() if isinstance(value, _Abstract)},
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


def _type_of(spec: Any) -> Any:
    """Convert an argument to a dtype or an abstract type."""
    if isinstance(spec, _Abstract):
        return spec
    name = getattr(getattr(spec, "type", spec), "__name__", None)
    return _ABSTRACT.get(str(name)) or dtypes.parse(spec)


def issubdtype(arg1: Any, arg2: Any) -> bool:
    """Return whether a dtype or abstract type is a subtype of another one.

    Parameters
    ----------
    arg1, arg2
        A dtype, the name of one, or an abstract type such as `floating`.

    Examples
    --------
    >>> import py_tensor as pt
    >>> pt.issubdtype(pt.float32, pt.floating), pt.issubdtype(pt.int32, pt.floating)
    (True, False)
    """
    return issubclass(_type_of(arg1), _type_of(arg2))


def common_type(*arrays: Any) -> DType:
    """Return the floating or complex dtype that fits all operands; float32 for integers.

    Raises
    ------
    DTypeError
        If an operand is bool.
    """
    operand = [asarray(x, op="common_type").dtype for x in arrays]
    if any(dtype.is_bool for dtype in operand):
        raise DTypeError("common_type: takes numbers, not bool")
    return reduce(dtypes.promote, map(dtypes.floating, operand)) if operand else dtypes.float16


def min_scalar_type(a: Any, /) -> DType:
    """Return the smallest dtype that can hold a number; for a tensor, its dtype.

    Nonnegative integers are unsigned; floats may lose precision but not overflow.
    """
    if not isinstance(a, Scalar):
        x = asarray(a, op="min_scalar_type")
        if x.ndim:
            return x.dtype
        a = x.item()
    least = host.load_numpy().min_scalar_type(a)
    if least.kind == "O":
        raise OverflowError(f"min_scalar_type: {a} does not fit an integer dtype")
    return dtypes.parse(least.name)


def mintypecode(typechars: Any, typeset: str = "GDFgdf", default: str = "d") -> str:
    """Return the character of the smallest dtype in a set that all given types can be cast to.

    Parameters
    ----------
    typechars
        Type characters, or operands.
    typeset : str
        The type characters to choose from.
    default : str
        The result if none is in the set.
    """
    letters = [
        t if isinstance(t, str) else asarray(t, op="mintypecode").dtype.char for t in typechars
    ]
    return host.load_numpy().mintypecode(letters, typeset, default)


def typename(char: str) -> str:
    """Return a description of a dtype's character.

    Raises
    ------
    KeyError
        If no dtype has this character.
    """
    return "half precision" if char == "e" else host.load_numpy().typename(char)
