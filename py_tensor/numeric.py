"""What dtypes hold, and how NumPy would warn: `finfo`, `iinfo`, `errstate` and their like."""

from __future__ import annotations

import math
from contextlib import ContextDecorator
from typing import Any, cast

from py_tensor import dtypes
from py_tensor.dtypes import DType
from py_tensor.errors import DTypeError
from py_tensor.ops.operands import Scalar


def _dtype_of(given: Any) -> DType:
    """A dtype, or that of a tensor or number, or in which an array of the host comes in."""
    if isinstance(given, Scalar):
        return dtypes.of_scalar(given)
    if hasattr(given, "__array_interface__") and not isinstance(given, type):
        own = given.dtype
        return dtypes.of_host("dtype", own.kind, own.itemsize, own.name)
    return dtypes.parse(getattr(given, "dtype", given) if not isinstance(given, type) else given)


class finfo:  # noqa: N801 - NumPy's name
    """The limits of a floating dtype, or of the parts of a complex one.

    Attributes
    ----------
    bits : int
    eps : float
        From 1 to the next larger number.
    epsneg : float
        From 1 to the next smaller number.
    max, min : float
        The largest finite number, and the least.
    tiny, smallest_normal : float
        The least positive number that a GPU keeps.
    smallest_subnormal : float
    precision : int
        How many decimal digits are exact; `resolution` is 10 to the power of minus that.
    """

    def __init__(self, dtype: Any) -> None:
        self.dtype = dtypes.real_of(_dtype_of(dtype))
        if self.dtype.kind != "f":
            raise DTypeError(f"finfo: takes a floating dtype, not {self.dtype}")
        digits, least = {2: (11, -14), 4: (24, -126), 8: (53, -1022)}[self.dtype.itemsize]
        self.bits = 8 * self.dtype.itemsize
        self.eps = 2.0 ** (1 - digits)
        self.epsneg = 2.0**-digits
        self.max = dtypes.largest(self.dtype)
        self.min = -self.max
        self.tiny = self.smallest_normal = 2.0**least
        self.smallest_subnormal = self.tiny * self.eps
        self.precision = math.floor((digits - 1) * math.log10(2))
        self.resolution = 10.0**-self.precision
        self.nmant = digits - 1

    def __repr__(self) -> str:
        return f"finfo(dtype={self.dtype}, min={self.min}, max={self.max}, eps={self.eps})"


class iinfo:  # noqa: N801 - NumPy's name
    """The limits of an integer dtype.

    Attributes
    ----------
    bits : int
    min, max : int
    """

    def __init__(self, dtype: Any) -> None:
        self.dtype = _dtype_of(dtype)
        if self.dtype.kind not in "iu":
            raise DTypeError(f"iinfo: takes an integer dtype, not {self.dtype}")
        self.bits = 8 * self.dtype.itemsize
        self.kind = self.dtype.kind
        self.min, self.max = dtypes.integer_range(self.dtype)

    def __repr__(self) -> str:
        return f"iinfo(dtype={self.dtype}, min={self.min}, max={self.max})"


_SILENT: dict[str, str] = dict.fromkeys(("divide", "over", "under", "invalid"), "ignore")


class errstate(ContextDecorator):  # noqa: N801 - NumPy's name
    """Accepted, for programs that silence NumPy's warnings: here nothing warns.

    What divides by zero, overflows or has no value gives an infinity or NaN, or what the op says. A
    GPU reports none of that, so "raise", "call", "log", "print" and "warn" are taken as "ignore".
    """

    def __init__(self, **options: Any) -> None:
        unknown = options.keys() - _SILENT.keys() - {"all", "call"}
        if unknown:
            raise TypeError(f"errstate: unknown argument {', '.join(sorted(unknown))}")

    def __enter__(self) -> None:
        pass

    def __exit__(self, *error: object) -> None:
        pass


def seterr(
    all: str | None = None,
    divide: str | None = None,
    over: str | None = None,
    under: str | None = None,
    invalid: str | None = None,
) -> dict[str, str]:
    """Accepted, as `errstate` is; returns what NumPy's would: how each error is treated.

    That is "ignore" always: "raise", "warn" and the like are taken as that.
    """
    return dict(_SILENT)


def geterr() -> dict[str, str]:
    """How errors of floating point are treated: nothing warns."""
    return dict(_SILENT)


_handler: Any = None  # of `seterrcall`


def seterrcall(func: Any) -> Any:
    """Accepted, as `errstate` is: nothing calls the function; returns the one before it."""
    global _handler
    if not (func is None or callable(func) or hasattr(func, "write")):
        raise ValueError("seterrcall: takes a function or an object with a method `write`")
    before, _handler = _handler, func
    return before


def geterrcall() -> Any:
    """What `seterrcall` was given."""
    return _handler


_buffer_size = 8192


def setbufsize(size: int) -> int:
    """Accepted, and changes nothing: ops have no buffers of that kind; returns the size before it.

    Raises
    ------
    ValueError
        For a negative size.
    """
    global _buffer_size
    if size < 0:
        raise ValueError(f"setbufsize: size must be at least 0, not {size}")
    before, _buffer_size = _buffer_size, size
    return before


def getbufsize() -> int:
    """What `setbufsize` was given."""
    return _buffer_size


class _DTypes(type):
    def __instancecheck__(cls, value: object) -> bool:
        return isinstance(value, DType)


class dtype(metaclass=_DTypes):  # noqa: N801 - NumPy's name
    """``dtype("float32")`` is the dtype that a name or a type stands for.

    Each dtype is an instance: ``isinstance(x.dtype, pt.dtype)``.
    """

    def __new__(cls, dtype: Any, align: bool = False, copy: bool = False) -> DType:  # type: ignore[misc]
        return dtypes.parse(dtype)

    def __class_getitem__(cls, item: object) -> type[DType]:
        return DType


def result_type(*arrays_and_dtypes: Any) -> DType:
    """The dtype that tensors, dtypes and Python's numbers have together, as ops promote them."""
    weak = [x for x in arrays_and_dtypes if isinstance(x, Scalar)]
    strong = [_dtype_of(x) for x in arrays_and_dtypes if not isinstance(x, Scalar)]
    if not strong:
        strong = [dtypes.of_scalar(weak[0])]
    found = strong[0]
    for other in strong[1:]:
        found = dtypes.promote(found, other)
    for number in weak:
        found = dtypes.with_scalar(found, number)
    return found


def promote_types(type1: Any, type2: Any, /) -> DType:
    """The dtype that two dtypes have together, as ops promote them."""
    return result_type(type1, type2)


_KINDS = {
    "bool": "b",
    "signed integer": "i",
    "unsigned integer": "u",
    "integral": "iu",
    "real floating": "f",
    "complex floating": "c",
    "numeric": "iufc",
}  # of the array API standard


def isdtype(dtype: Any, kind: Any) -> bool:
    """Whether a dtype is of a kind, or is another dtype.

    Parameters
    ----------
    kind
        A dtype; "bool", "signed integer", "unsigned integer", "integral", "real floating",
        "complex floating" or "numeric"; or a tuple of these, of which one is enough.

    Raises
    ------
    ValueError
        For another text.
    """
    given = dtypes.parse(dtype)
    if isinstance(kind, tuple):
        return any(isdtype(given, one) for one in cast("tuple[Any, ...]", kind))
    if isinstance(kind, str) and (kind == "bool" or kind not in dtypes.BY_NAME):
        if kind not in _KINDS:
            raise ValueError(f"isdtype: kind must be one of {', '.join(_KINDS)}, not {kind!r}")
        return given.kind in _KINDS[kind]
    return given is dtypes.parse(kind)


def can_cast(from_: Any, to: Any, casting: str = "safe") -> bool:
    """Whether a dtype, or that of a tensor, may be converted to another one.

    Parameters
    ----------
    casting : {"no", "equiv", "safe", "same_kind", "unsafe"}
        "safe" keeps every value, but for integers of 64 bits in float64 or complex128, as NumPy has
        it; "same_kind" may lose bits, and keeps the kind or widens it; "unsafe" is always true.
    """
    return dtypes.can_cast(_dtype_of(from_), dtypes.parse(to), casting)
