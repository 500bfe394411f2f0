"""NumPy's types and their limits, its error handling, and the inspection of the array API."""

from __future__ import annotations

import math
import sys
from contextlib import ContextDecorator, suppress
from functools import reduce
from types import GenericAlias
from typing import Any, NoReturn, cast

from py_tensor.backends.choice import default_device, parse
from py_tensor.base import dtypes
from py_tensor.base.dtype_attributes import is_numpy_scalar
from py_tensor.base.dtypes import DType
from py_tensor.base.errors import DeviceError, DTypeError
from py_tensor.base.shapes import MAX_RANK
from py_tensor.convert.conversion import asarray
from py_tensor.ir.node import Device
from py_tensor.ops.operands import Scalar, own_dtype, whole_number
from py_tensor.runtime.device import LazyDevice
from py_tensor.runtime.host import host
from py_tensor.runtime.registry import all_devices
from py_tensor.tensors.tensor import Tensor, tensor_of

__all__ = [
    "False_", "ScalarType", "True_", "__array_namespace_info__", "bytes_", "can_cast",
    "character", "clongdouble", "common_type", "complexfloating", "datetime64", "dtype",
    "errstate", "finfo", "flexible", "floating", "generic", "getbufsize", "geterr",
    "geterrcall", "iinfo", "inexact", "integer", "isdtype", "issubdtype", "little_endian",
    "longdouble", "min_scalar_type", "mintypecode", "number", "object_", "promote_types",
    "result_type", "sctypeDict", "setbufsize", "seterr", "seterrcall", "signedinteger", "str_",
    "timedelta64", "typecodes", "typename", "unsignedinteger", "void",
]  # fmt: skip


def _dtype_of(operand: Any) -> DType:
    """Return the dtype of a dtype, tensor or number; for a host array, that of its tensor."""
    if isinstance(operand, type):
        return dtypes.parse(operand)
    if isinstance(operand, Scalar) or hasattr(operand, "__array_interface__"):
        return own_dtype("dtype", operand)
    return dtypes.parse(getattr(operand, "dtype", operand))


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


_settings: dict[str, Any] = {"handler": None, "buffer size": 8192}  # which have no effect


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
        self._before: list[dict[str, Any]] = []

    def __enter__(self) -> None:
        self._before.append(dict(_settings))

    def __exit__(self, *error: object) -> None:
        _settings.update(self._before.pop())


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


def seterrcall(func: Any) -> Any:
    """Accepted, like `errstate`: the function is never called; returns the previous one."""
    if not (func is None or callable(func) or hasattr(func, "write")):
        raise ValueError("seterrcall: takes a function or an object with a method `write`")
    before, _settings["handler"] = _settings["handler"], func
    return before


def geterrcall() -> Any:
    """Return the function that was passed to `seterrcall`."""
    return _settings["handler"]


def setbufsize(size: int) -> int:
    """Accepted; has no effect, because ops have no such buffers. Returns the previous size.

    Raises
    ------
    ValueError
        If the size is negative.
    """
    before = getbufsize()
    _settings["buffer size"] = whole_number("setbufsize", "size", size, 0)
    return before


def getbufsize() -> int:
    """Return the size that was passed to `setbufsize`."""
    return _settings["buffer size"]


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
    promoted = dtypes.common(strong or [dtypes.of_scalar(weak[0])])
    return reduce(dtypes.with_scalar, weak, promoted)


def promote_types(type1: Any, type2: Any, /) -> DType:
    """Return the dtype that ops promote two dtypes to."""
    return result_type(type1, type2)


_KINDS = {
    "bool": "b", "signed integer": "i", "unsigned integer": "u", "integral": "iu",
    "real floating": "f", "complex floating": "c", "numeric": "iufc",
}  # fmt: skip
"""Maps the kinds of the array API standard to NumPy's."""


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
        return parsed.kind in _KINDS[kind]
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

    def __init_subclass__(cls, kinds: str = "") -> None:
        cls.kinds = kinds

    def __class_getitem__(cls, item: Any) -> GenericAlias:
        """Return a type for annotations, such as ``floating[Any]``."""
        return GenericAlias(cls, item)


class number(generic, kinds="iufc"):  # noqa: N801
    """An integer, a floating or a complex scalar."""


class integer(number, kinds="iu"):  # noqa: N801
    """An integer scalar."""


class signedinteger(integer, kinds="i"):  # noqa: N801
    """A scalar of int8, int16, int32 or int64."""


class unsignedinteger(integer, kinds="u"):  # noqa: N801
    """A scalar of uint8, uint16, uint32 or uint64."""


class inexact(number, kinds="fc"):  # noqa: N801
    """A floating or a complex scalar."""


class floating(inexact, kinds="f"):  # noqa: N801
    """A scalar of float16, float32 or float64."""


class complexfloating(inexact, kinds="c"):  # noqa: N801
    """A scalar of complex64 or complex128."""


class flexible(generic):  # noqa: N801
    """Text or records; not supported in tensors."""


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


class datetime64(generic):  # noqa: N801
    """Dates; not supported in tensors."""


class timedelta64(signedinteger):  # noqa: N801
    """Time differences; not supported in tensors."""


_ABSTRACT: dict[str, type] = {
    **{name: value for name, value in globals().items() if isinstance(value, _Abstract)},
    **{"str": str_, "bytes": bytes_, "object": object_},
}

True_, False_ = True, False
little_endian = sys.byteorder == "little"
longdouble, clongdouble = dtypes.float64, dtypes.complex128
"""The widest dtypes, which the cpu device has: in C, long double may be double."""

typecodes = {
    "Character": "", "Integer": "bhilq", "UnsignedInteger": "BHILQ", "Float": "efd",
    "Complex": "FD", "AllInteger": "bBhHiIlLqQ", "AllFloat": "efdFD", "Datetime": "",
    "All": "?bBhHiIlLqQefdFD",
}  # fmt: skip
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
    letters = (
        t if isinstance(t, str) else tensor_of(t, "mintypecode").dtype.char for t in typechars
    )
    return host.load_numpy().mintypecode([*letters], typeset, default)


def typename(char: str) -> str:
    """Return a description of a dtype's character.

    Raises
    ------
    KeyError
        If no dtype has this character.
    """
    return "half precision" if char == "e" else host.load_numpy().typename(char)


class Info:
    """The result of `__array_namespace_info__`: capabilities, devices and dtypes."""

    def capabilities(self) -> dict[str, Any]:
        """Return the capabilities: boolean indexing, data-dependent shapes and the maximum rank."""
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": MAX_RANK}

    def default_device(self) -> Device:
        """Return the default device."""
        return default_device()

    def devices(self) -> tuple[Device, ...]:
        """Return the available devices; requests the GPU."""
        return tuple(device for device in all_devices() if _is_available(device))

    def default_dtypes(self, *, device: str | Device | None = None) -> dict[str, DType]:
        """Return the default dtypes of Python numbers and of indices."""
        return {
            "real floating": dtypes.DEFAULT.floating,
            "complex floating": dtypes.DEFAULT.complex,
            "integral": dtypes.DEFAULT_INT,
            "indexing": dtypes.DEFAULT_INT,
        }

    def dtypes(self, *, device: str | Device | None = None, kind: Any = None) -> dict[str, DType]:
        """Return the dtypes of the standard that a device supports, optionally of some kinds."""
        has_all = parse(device).uses_numpy
        return {
            dtype.name: dtype
            for dtype in dtypes.ALL
            if not (dtype.is_floating and dtype.is_packed)  # the standard lacks these
            and (has_all or dtype.on_gpu)
            and (kind is None or isdtype(dtype, kind))
        }


def _is_available(device: LazyDevice) -> bool:
    if device.waits:
        with suppress(DeviceError):
            return bool(device.backend.info())
    return not device.waits


def __array_namespace_info__() -> Info:  # noqa: N807 - the standard's name
    """Return the capabilities of the library, as defined by the array API standard."""
    return Info()
