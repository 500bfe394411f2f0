"""Data types, and how they promote.

NumPy's types without its widening to 64 bits: a GPU has no 64-bit arithmetic, so what NumPy would
widen stays 32 bits wide (an integer with a float gives float32), and the one pair with no 32-bit
common type, int32 with uint32, raises.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, Literal

from py_tensor.errors import DTypeError

Kind = Literal["b", "i", "u", "f"]


@dataclass(frozen=True, slots=True, eq=False)
class DType:
    """A data type; compare with ``is`` or ``==``.

    Attributes
    ----------
    name : str
        NumPy's name.
    kind : {"b", "i", "u", "f"}
        Boolean, signed, unsigned, floating.
    itemsize : int
        Bytes per element on the host, and in `Tensor.nbytes`.
    typecode : str
        The element's code in `array.array` and `memoryview` ("?" for bool).
    wgsl : str or None
        The type a kernel computes in; None where the GPU has no such type.
    storage : str or None
        The type of an element in a GPU buffer.
    """

    name: str
    kind: Kind
    itemsize: int
    typecode: str
    wgsl: str | None = None
    storage: str | None = None
    rank: int = field(default=0, repr=False)

    def __repr__(self) -> str:
        return f"py_tensor.{self.name}"

    def __str__(self) -> str:
        return self.name

    @property
    def on_gpu(self) -> bool:
        return self.wgsl is not None

    @property
    def stored_itemsize(self) -> int:
        """Bytes per element in a GPU buffer: a bool takes a whole u32 there."""
        return 4


bool_ = DType("bool", "b", 1, "?", "bool", "u32", 0)
int32 = DType("int32", "i", 4, "i", "i32", "i32", 1)
uint32 = DType("uint32", "u", 4, "I", "u32", "u32", 1)
int64 = DType("int64", "i", 8, "q", rank=2)
float32 = DType("float32", "f", 4, "f", "f32", "f32", 3)
float64 = DType("float64", "f", 8, "d", rank=4)

ALL = (bool_, int32, uint32, float32, int64, float64)
BY_NAME = {dtype.name: dtype for dtype in ALL}
DEFAULT_FLOAT = float32
DEFAULT_INT = int32
_FLOAT_OVERFLOW = 2**1024 - 2**970  # the least integer that no float64 rounds to

# The whole table: symmetric, and what is not here has no common type.
_PROMOTE: dict[tuple[DType, DType], DType] = {
    (bool_, int32): int32,
    (bool_, uint32): uint32,
    (bool_, int64): int64,
    (bool_, float32): float32,
    (bool_, float64): float64,
    (int32, int64): int64,
    (uint32, int64): int64,
    (int32, float32): float32,
    (uint32, float32): float32,
    (int64, float32): float32,
    (int32, float64): float64,
    (uint32, float64): float64,
    (int64, float64): float64,
    (float32, float64): float64,
}
_PROMOTE.update({(b, a): c for (a, b), c in list(_PROMOTE.items())})
_PROMOTE.update({(a, a): a for a in ALL})


def promote(op: str, a: DType, b: DType) -> DType:
    """The common dtype of two operands.

    Raises
    ------
    DTypeError
        For int32 with uint32: no 32-bit type holds both.
    """
    found = _PROMOTE.get((a, b))
    if found is None:
        raise DTypeError(
            f"{op}: {a} and {b} have no common 32-bit type; "
            f"convert one, for example x.astype(pt.{a})"
        )
    return found


def typed(data: memoryview, code: str, shape: tuple[int, ...] | None = None) -> memoryview:
    """The bytes of `data` as elements of a `typecode`, in row-major order."""
    flat: Any = data.cast("B")  # type checkers take no codes but literals
    return flat.cast(code) if shape is None else flat.cast(code, shape)


def of_scalar(value: bool | int | float) -> DType:
    """The dtype a Python scalar has by itself."""
    if isinstance(value, bool):
        return bool_
    return DEFAULT_INT if isinstance(value, int) else DEFAULT_FLOAT


def with_scalar(op: str, dtype: DType, value: bool | int | float) -> DType:
    """The common dtype of a tensor and a Python scalar, which is weak: it widens the kind only.

    Raises
    ------
    OverflowError
        For an integer that the tensor's integer dtype cannot hold.
    """
    if isinstance(value, bool):
        return dtype
    if isinstance(value, int):
        result = DEFAULT_INT if dtype is bool_ else dtype
        check_range(op, value, result)
        return result
    return dtype if dtype.kind == "f" else DEFAULT_FLOAT


def integer_range(dtype: DType) -> tuple[int, int]:
    """The least and the greatest value of an integer dtype."""
    bits = 8 * dtype.itemsize
    return (0, 2**bits - 1) if dtype.kind == "u" else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)


def holds(dtype: DType, value: float) -> bool:
    """Whether `value`, without its fraction, is a number of this dtype; infinities are floats."""
    if dtype.kind in "iu":
        low, high = integer_range(dtype)
        finite = isinstance(value, int) or math.isfinite(value)
        return finite and low <= int(value) <= high
    return dtype.kind == "b" or isinstance(value, float) or abs(value) < _FLOAT_OVERFLOW


def check_range(op: str, value: float, dtype: DType) -> None:
    """Raise where `dtype` cannot hold a Python number.

    Raises
    ------
    ValueError
        For NaN in an integer dtype.
    OverflowError
        For an integer, a float or an infinity out of an integer dtype's range, and for an integer
        past the largest float64.
    """
    if holds(dtype, value):
        return
    if value != value:
        raise ValueError(f"{op}: {dtype} cannot hold NaN")
    what = f"Python {'integer' if isinstance(value, int) else 'float'} {_shown(value)}"
    limits = " [{}, {}]".format(*integer_range(dtype)) if dtype.kind in "iu" else ""
    raise OverflowError(f"{op}: {what} is out of bounds for {dtype}{limits}")


def _shown(value: float) -> str:
    """A number for a message; of an integer without end, its length."""
    if isinstance(value, int) and abs(value) >= 10**40:
        return f"of {value.bit_length()} bits"
    return str(value)


def floating(dtype: DType) -> DType:
    """The dtype of a quotient or a mean: floats keep theirs, everything else gives float32."""
    return dtype if dtype.kind == "f" else DEFAULT_FLOAT


def parse(dtype: object) -> DType:
    """A DType from one of ours, a name, a Python type, or a NumPy dtype or scalar type.

    Raises
    ------
    DTypeError
        For anything that names none of our dtypes.
    """
    if isinstance(dtype, DType):
        return dtype
    python = {bool: bool_, int: DEFAULT_INT, float: DEFAULT_FLOAT}
    if isinstance(dtype, type) and dtype in python:
        return python[dtype]
    name = (
        dtype
        if isinstance(dtype, str)
        else getattr(dtype, "name", getattr(dtype, "__name__", None))
    )
    found = BY_NAME.get("bool" if name == "bool_" else str(name))
    if found is None:
        known = ", ".join(BY_NAME)
        raise DTypeError(f"unknown dtype {dtype!r}; there are {known}")
    return found
