"""NumPy's attributes of dtypes other than name, kind and size."""

from __future__ import annotations

import builtins
import sys
from typing import Any, Union, cast

from py_tensor.base.errors import DTypeError

_NUMBERS = {
    **{"bool": 0, "int8": 1, "uint8": 2, "int16": 3, "uint16": 4, "int32": 5, "uint32": 6},
    **{"int64": 7, "uint64": 8, "float32": 11, "float64": 12, "complex64": 14, "complex128": 15},
    **{"float16": 23, "bfloat16": 256},
}


def is_numpy_scalar(value: object) -> bool:
    """Return whether a value is a NumPy scalar, without importing NumPy."""
    numpy = sys.modules.get("numpy")
    return numpy is not None and isinstance(value, numpy.generic)


class Described:
    """NumPy's attributes of dtypes and scalar types; here one object is both."""

    __slots__ = ()
    name: builtins.str
    kind: Any
    itemsize: int
    is_numpys: bool

    names = fields = subdtype = metadata = None
    shape = ()
    ndim = flags = 0
    isbuiltin = 1
    isnative = True
    hasobject = isalignedstruct = False

    @property
    def __name__(self) -> builtins.str:
        return self.name

    @property
    def type(self) -> Any:
        """The type of scalars: NumPy's if NumPy is loaded, else the dtype itself.

        Libraries call it, and compare it by `issubclass` with NumPy's classes.
        """
        numpy: Any = sys.modules.get("numpy")
        return self if numpy is None or not self.is_numpys else numpy.dtype(self.name).type

    @property
    def base(self) -> Any:
        return self

    @property
    def num(self) -> int:
        """NumPy's type number on Linux."""
        return _NUMBERS[self.name]

    @property
    def byteorder(self) -> builtins.str:
        return "=" if self.itemsize > 1 else "|"

    @property
    def str(self) -> builtins.str:
        """Byte order, kind and size, such as ``"<f4"``."""
        kind = self.kind if self.is_numpys else "V"  # as for dtypes of ml_dtypes
        return f"{'<' if self.itemsize > 1 else '|'}{kind}{self.itemsize}"

    @property
    def descr(self) -> list[tuple[builtins.str, builtins.str]]:
        return [("", self.str)]

    def newbyteorder(self, new_order: builtins.str = "S", /) -> Any:
        """Return the dtype itself, because elements are little-endian.

        Raises
        ------
        DTypeError
            If the order is big-endian and an element has more than one byte.
        """
        if self.itemsize > 1 and new_order[:1].upper() in (">", "B", "S"):
            raise DTypeError(
                f"newbyteorder: big-endian {self.name} is not supported; use x.byteswap()"
            )
        return self

    def __instancecheck__(self, value: object) -> bool:
        """Return whether a value is a scalar of the dtype: ``isinstance(x[0], pt.float32)``.

        NumPy scalars count too.
        """
        if is_numpy_scalar(value):
            return cast("Any", value).dtype.name == self.name
        return getattr(value, "is_scalar", False) and getattr(value, "dtype", None) is self

    def __subclasscheck__(self, subclass: object) -> bool:
        return self == subclass  # also NumPy's class

    def __or__(self, other: Any) -> Any:
        """Return a union for annotations such as ``float32 | None``."""
        return Union[self, other]  # noqa: UP007

    def __ror__(self, other: Any) -> Any:
        return Union[other, self]  # noqa: UP007
