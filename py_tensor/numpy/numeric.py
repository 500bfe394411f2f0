"""Limits of dtypes and NumPy's error handling: `finfo`, `iinfo`, `errstate` and others."""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import ContextDecorator
from typing import Any, cast

from py_tensor.base import dtypes
from py_tensor.base.dtypes import DType
from py_tensor.base.errors import DTypeError
from py_tensor.ops.operands import Scalar
from py_tensor.runtime.host import host

__all__ = [
    "can_cast", "dtype", "errstate", "finfo", "getbufsize", "geterr", "geterrcall", "iinfo",
    "isdtype", "promote_types", "result_type", "setbufsize", "seterr", "seterrcall",
]  # fmt: skip


def _dtype_of(operand: Any) -> DType:
    """Return the dtype of a dtype, tensor or number; for a host array, that of its tensor."""
    if isinstance(operand, Scalar):
        return dtypes.of_scalar(operand)
    if hasattr(operand, "__array_interface__") and not isinstance(operand, type):
        host_dtype = operand.dtype
        return dtypes.of_host("dtype", host_dtype.kind, host_dtype.itemsize, host_dtype.name)
    return dtypes.parse(
        getattr(operand, "dtype", operand) if not isinstance(operand, type) else operand
    )


class finfo:  # noqa: N801 - NumPy's name
    """Limits of a floating dtype, or of the parts of a complex one.

    Attributes
    ----------
    bits : int
    eps : float
        The difference between 1 and the next larger number.
    epsneg : float
        The difference between 1 and the next smaller number.
    max, min : float
        The largest and the lowest finite number.
    tiny, smallest_normal : float
        The smallest positive normal number; GPUs may flush smaller ones to 0.
    smallest_subnormal : float
    precision : int
        The number of exact decimal digits; `resolution` is ``10**-precision``.
    """

    def __init__(self, dtype: Any) -> None:
        self.dtype = dtypes.real_of(_dtype_of(dtype))
        if not self.dtype.is_floating:
            raise DTypeError(f"finfo: takes a floating dtype, not {self.dtype}")
        digits = self.dtype.digits
        self.bits = 8 * self.dtype.itemsize
        self.eps = dtypes.epsilon(self.dtype)
        self.epsneg = 2.0**-digits
        self.max, self.min = self.dtype.highest, self.dtype.lowest
        self.tiny = self.smallest_normal = 2.0**self.dtype.exponent
        self.smallest_subnormal = self.tiny * self.eps
        self.precision = math.floor((digits - 1) * math.log10(2))
        self.resolution = 10.0**-self.precision
        self.nmant = digits - 1

    def __repr__(self) -> str:
        if self.dtype.is_numpys:
            return repr(host.load_numpy().finfo(self.dtype.name))
        ends = f"min={self.min:.5e}, max={self.max:.5e}"  # as for float16
        return f"finfo(resolution={self.resolution}, {ends}, dtype={self.dtype})"


class iinfo:  # noqa: N801 - NumPy's name
    """Limits of an integer dtype.

    Attributes
    ----------
    bits : int
    min, max : int
    """

    def __init__(self, dtype: Any) -> None:
        self.dtype = _dtype_of(dtype)
        if not self.dtype.is_integer:
            raise DTypeError(f"iinfo: takes an integer dtype, not {self.dtype}")
        self.bits = 8 * self.dtype.itemsize
        self.kind = self.dtype.kind
        self.min, self.max = dtypes.integer_range(self.dtype)

    def __repr__(self) -> str:
        return f"iinfo(min={self.min}, max={self.max}, dtype={self.dtype})"


_SILENT: dict[str, str] = dict.fromkeys(("divide", "over", "under", "invalid"), "ignore")


class errstate(ContextDecorator):  # noqa: N801 - NumPy's name
    """Context manager accepted for NumPy programs; it changes no result, because nothing warns.

    At its end, the handler of `seterrcall` and the size of `setbufsize` are what they were before.

    Division by zero, overflow and invalid operations return infinity or NaN, or what the op
    documents. GPUs do not report them, so "raise", "call", "log", "print" and "warn" are treated as
    "ignore".
    """

    def __init__(self, **options: Any) -> None:
        unknown = options.keys() - _SILENT.keys() - {"all", "call"}
        if unknown:
            raise TypeError(f"errstate: unknown argument {', '.join(sorted(unknown))}")
        self._before: list[tuple[int, Any]] = []

    def __enter__(self) -> None:
        self._before.append((_buffer_size, _handler))

    def __exit__(self, *error: object) -> None:
        global _buffer_size, _handler
        _buffer_size, _handler = self._before.pop()


def seterr(
    all: str | None = None,
    divide: str | None = None,
    over: str | None = None,
    under: str | None = None,
    invalid: str | None = None,
) -> dict[str, str]:
    """Accepted, like `errstate`; returns the old settings, as in NumPy.

    They are always "ignore": "raise", "warn" and others are treated as "ignore".
    """
    return dict(_SILENT)


def geterr() -> dict[str, str]:
    """Return how floating-point errors are handled: always "ignore"."""
    return dict(_SILENT)


_handler: Any = None  # the argument of `seterrcall`


def seterrcall(func: Any) -> Any:
    """Accepted, like `errstate`: the function is never called; returns the previous one."""
    global _handler
    if not (func is None or callable(func) or hasattr(func, "write")):
        raise ValueError("seterrcall: takes a function or an object with a method `write`")
    before, _handler = _handler, func
    return before


def geterrcall() -> Any:
    """Return the function that was passed to `seterrcall`."""
    return _handler


_buffer_size = 8192


def setbufsize(size: int) -> int:
    """Accepted; has no effect, because ops have no such buffers. Returns the previous size.

    Raises
    ------
    ValueError
        If the size is negative.
    """
    global _buffer_size
    if size < 0:
        raise ValueError(f"setbufsize: size must be at least 0, not {size}")
    before, _buffer_size = _buffer_size, size
    return before


def getbufsize() -> int:
    """Return the size that was passed to `setbufsize`."""
    return _buffer_size


class _DTypes(type):
    def __instancecheck__(cls, value: object) -> bool:
        return isinstance(value, DType)


class dtype(metaclass=_DTypes):  # noqa: N801 - NumPy's name
    """Return the dtype for a name or a type: ``dtype("float32")``.

    Each dtype is an instance: ``isinstance(x.dtype, pt.dtype)``.
    """

    def __new__(cls, dtype: Any, align: bool = False, copy: bool = False) -> DType:  # type: ignore[misc]
        return dtypes.parse(dtype)

    def __class_getitem__(cls, item: object) -> type[DType]:
        return DType


def result_type(*arrays_and_dtypes: Any) -> DType:
    """Return the dtype that ops promote tensors, dtypes and Python numbers to."""
    weak = [x for x in arrays_and_dtypes if isinstance(x, Scalar)]
    strong = [_dtype_of(x) for x in arrays_and_dtypes if not isinstance(x, Scalar)]
    if not arrays_and_dtypes:
        raise ValueError("result_type: needs at least one tensor, dtype or number")
    if not strong:
        strong = [dtypes.of_scalar(weak[0])]
    promoted = strong[0]
    for other in strong[1:]:
        promoted = dtypes.promote(promoted, other)
    for number in weak:
        promoted = dtypes.with_scalar(promoted, number)
    return promoted


def promote_types(type1: Any, type2: Any, /) -> DType:
    """Return the dtype that ops promote two dtypes to."""
    return result_type(type1, type2)


_KINDS: dict[str, Callable[[DType], bool]] = {
    "bool": lambda dtype: dtype.is_bool,
    "signed integer": lambda dtype: dtype.is_signed,
    "unsigned integer": lambda dtype: dtype.is_unsigned,
    "integral": lambda dtype: dtype.is_integer,
    "real floating": lambda dtype: dtype.is_floating,
    "complex floating": lambda dtype: dtype.is_complex,
    "numeric": lambda dtype: not dtype.is_bool,
}  # the kinds of the array API standard


def isdtype(dtype: Any, kind: Any) -> bool:
    """Return whether a dtype is of a given kind, or equals another dtype.

    Parameters
    ----------
    kind
        A dtype; "bool", "signed integer", "unsigned integer", "integral", "real floating",
        "complex floating" or "numeric"; or a tuple of these, of which one must match.

    Raises
    ------
    ValueError
        If `kind` is an unknown string.
    """
    parsed = dtypes.parse(dtype)
    if isinstance(kind, tuple):
        return any(isdtype(parsed, one) for one in cast("tuple[Any, ...]", kind))
    if isinstance(kind, str) and (kind == "bool" or kind not in dtypes.BY_NAME):
        if kind not in _KINDS:
            raise ValueError(f"isdtype: kind must be one of {', '.join(_KINDS)}, not {kind!r}")
        return _KINDS[kind](parsed)
    return parsed is dtypes.parse(kind)


def can_cast(from_: Any, to: Any, casting: str = "safe") -> bool:
    """Return whether a dtype, or the dtype of a tensor, can be cast to another one.

    Parameters
    ----------
    casting : {"no", "equiv", "safe", "same_kind", "unsafe"}
        "safe" preserves every value, except 64-bit integers in float64 or complex128, as in NumPy;
        "same_kind" may lose bits and keeps or widens the kind; "unsafe" is always true.
    """
    return dtypes.can_cast(_dtype_of(from_), dtypes.parse(to), casting)
