"""Data types, promotion rules and the dtypes that ops accept.

The types are NumPy's, but no op widens to float64 or complex128, which GPUs lack: an integer with a
float gives float32, and so does uint64 with a signed integer. int64 and uint64, which a GPU
computes as pairs of words, result from operands of these dtypes, from int32 with uint32, and from
an explicit dtype. Host data is converted to 32 bits by default, complex numbers to 32 bits per
part.
"""

from __future__ import annotations

import math
import re
import struct
import sys
from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import reduce
from importlib import import_module
from itertools import chain
from typing import Any, Literal
from warnings import warn

from py_tensor.base.dtype_attributes import Described
from py_tensor.base.errors import ComplexWarning, DTypeError, check_option

__all__ = [
    "DType", "bfloat16", "bool_", "complex64", "complex128", "float16", "float32", "float64",
    "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
]  # fmt: skip

Kind = Literal["b", "i", "u", "f", "c"]
_KINDS_OF_TRAITS = {
    **{"is_bool": "b", "is_integer": "iu", "is_signed": "i", "is_unsigned": "u"},
    **{"is_floating": "f", "is_complex": "c", "is_inexact": "fc"},
}


@dataclass(frozen=True, slots=True, eq=False)
class DType(Described):
    """A data type; compare with ``is`` or ``==``.

    It is equal to its names and NumPy equivalents: ``x.dtype == "float32"``, ``x.dtype ==
    np.float32``. Its hash differs from theirs, as for NumPy's dtypes.

    Attributes
    ----------
    name : str
        NumPy's name.
    kind : {"b", "i", "u", "f", "c"}
        Boolean, signed, unsigned, floating, complex.
    itemsize : int
        Bytes per element on the host, and in `Tensor.nbytes`.
    typecode : str
        The element's code in `array.array` and `memoryview` ("?" for bool); for a complex dtype,
        that of its parts.
    wgsl : str or None
        The type a kernel computes in; None where the GPU has no such type. Integers of 8 and 16
        bits are computed in i32 and float16 in f32, and each result is converted to the dtype.
        Integers of 64 bits and complex numbers are vectors of two words (`shaders/lib/int64.wgsl`,
        `complex64.wgsl`).
    storage : str or None
        The type of an element in a GPU buffer, or u32, a word, for packed ones.
    digits, exponent : int
        The binary digits of a real float, and the exponent of its smallest normal number.
    host : str
        NumPy's dtype in which the cpu device computes; by default the one of the same name.
    is_bool, is_integer, is_signed, is_unsigned, is_floating, is_complex, is_inexact : bool
        Whether elements are bools, integers, signed or unsigned integers, real floats, complex
        numbers, or either of the last two. Code outside this module asks these and the other
        attributes, not the kind or the name (`tests/structure.py` counts).
    alignment : int
        Bytes of an element, or of each part of a complex one.
    has_64_bits : bool
        Whether an element, or each part of a complex one, has 64 bits.
    is_numpys : bool
        Whether NumPy has the dtype; others are those of the package ml_dtypes.
    on_gpu : bool
        Whether GPUs have the dtype.
    is_packed : bool
        Whether several elements share a word of a GPU buffer; `per_word` is their number.
    is_small : bool
        Whether elements have fewer bits than the type in which kernels compute.
    is_word, is_wide : bool
        Whether an element takes one word of a GPU buffer, or two.
    words : int
        The number of words in a GPU buffer for a single element.
    lowest, highest : int or float
        The smallest and the largest finite element; 0 for complex dtypes.
    """

    name: str
    kind: Kind
    itemsize: int
    typecode: str
    wgsl: str | None = None
    storage: str | None = None
    rank: int = field(default=0, repr=False)
    digits: int = 0
    exponent: int = 0
    host: str = ""
    is_bool: bool = field(init=False)
    is_integer: bool = field(init=False)
    is_signed: bool = field(init=False)
    is_unsigned: bool = field(init=False)
    is_floating: bool = field(init=False)
    is_complex: bool = field(init=False)
    is_inexact: bool = field(init=False)
    alignment: int = field(init=False)
    has_64_bits: bool = field(init=False)
    is_numpys: bool = field(init=False)
    on_gpu: bool = field(init=False)
    is_packed: bool = field(init=False)
    is_small: bool = field(init=False)
    is_word: bool = field(init=False)
    is_wide: bool = field(init=False)
    words: int = field(init=False)
    per_word: int = field(init=False)
    lowest: float = field(init=False)
    highest: float = field(init=False)

    def __post_init__(self) -> None:
        alignment = self.itemsize // 2 if self.kind == "c" else self.itemsize
        traits: dict[str, object] = {
            **{trait: self.kind in kinds for trait, kinds in _KINDS_OF_TRAITS.items()},
            "is_numpys": not self.host,
            "host": self.host or self.name,
            "alignment": alignment,
            "has_64_bits": alignment == 8,
            "on_gpu": self.wgsl is not None,
            "is_packed": self.itemsize < 4,
            "is_small": self.itemsize < 4 and self.kind != "b",
            "is_word": self.itemsize == 4,
            "is_wide": 4 < self.itemsize <= 8,
            "words": -(-self.itemsize // 4),
            "per_word": 4 // self.itemsize,
        }
        traits["lowest"], traits["highest"] = self._limits()
        for trait, value in traits.items():
            object.__setattr__(self, trait, value)  # the class is frozen

    def _limits(self) -> tuple[float, float]:
        if self.kind not in "iu":
            largest = (2 - 2.0 ** (1 - self.digits)) * 2.0 ** (1 - self.exponent)
            return (-largest, largest) if self.kind == "f" else (0, int(self.kind == "b"))
        bits = 8 * self.itemsize
        return (0, 2**bits - 1) if self.kind == "u" else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)

    def __eq__(self, other: object) -> bool:
        return self is (other if isinstance(other, DType) else _named(other))

    __hash__ = object.__hash__  # there is one object for each dtype

    def __repr__(self) -> str:
        return f"py_tensor.{self.name}"

    def __str__(self) -> str:
        return self.name

    def __call__(self, value: Any = 0) -> Any:
        """Create a scalar of this dtype, like NumPy's scalar types: ``float32(2)``."""
        assert _scalar is not None, "py_tensor.tensors.tensor is not imported"
        return _scalar(value, self)

    def __reduce__(self) -> tuple[Any, ...]:
        return parse, (self.name,)

    @property
    def dtype(self) -> Any:
        """NumPy's dtype of this name; NumPy uses it in ``np.zeros(3, x.dtype)``."""
        numpy: Any = sys.modules.get("numpy")
        if numpy is None:
            raise AttributeError("dtype: NumPy is not loaded")
        try:
            return self.in_numpy(numpy)
        except ImportError as error:
            raise AttributeError(f"dtype: {error}") from None

    def in_numpy(self, numpy: Any) -> Any:
        """Return NumPy's dtype of this name.

        Raises
        ------
        ImportError
            If the dtype is one of the package `ml_dtypes`, which is not installed.
        """
        if not self.is_numpys:
            try:
                import_module("ml_dtypes")  # gives NumPy the dtype
            except ImportError:
                raise ImportError(
                    f"NumPy has no {self.name} without the package ml_dtypes; install it, or"
                    f' convert the tensor: x.astype("{self.host}")'
                ) from None
        return numpy.dtype(self.name)

    def bytes_of(self, value: complex) -> memoryview:
        """Return a number as the bytes of one element; floats are rounded to this dtype."""
        return memoryview(bytearray(self.packed([value if self.is_complex else value.real])))

    def packed(self, values: Sequence[Any]) -> bytes | array[Any]:
        """Return numbers as elements; floats are rounded, and those too large become infinite.

        Raises
        ------
        OverflowError, TypeError
            If an integer dtype cannot hold a number.
        """
        if self.is_bool:
            return bytes(map(bool, values))
        if self.is_complex:
            parts = chain.from_iterable((value.real, value.imag) for value in values)
            return array(self.typecode, parts)
        if self is float16:
            return struct.pack(f"{len(values)}e", *map(self.rounded, map(float, values)))
        if self is bfloat16:
            words = array("I", array("f", values).tobytes())
            return array("H", map(_upper_half, words))
        return array(self.typecode, values)

    def stores(self, value: object) -> bool:
        """Return whether NumPy stores a Python int or float in this dtype without a warning."""
        if type(value) is int or (type(value) is float and self.is_floating):
            return self.lowest <= value <= self.highest
        return False

    def rounded(self, value: float) -> float:
        """Return the nearest number of this floating dtype; infinity beyond the largest."""
        if self is bfloat16:
            return values_of(memoryview(self.packed([value])), self)[0]
        try:
            return struct.unpack(self.typecode, struct.pack(self.typecode, value))[0]
        except OverflowError:
            return math.copysign(math.inf, value)

    @property
    def char(self) -> str:
        """NumPy's type character on Linux."""
        return {"q": "l", "Q": "L"}.get(self.character, self.character)

    @property
    def character(self) -> str:
        """NumPy's type character, as in ``dtype.char``."""
        return self.typecode.upper() if self.kind == "c" else self.typecode

    @property
    def view_code(self) -> str | None:
        """The format of elements in a memoryview; None if it has none."""
        return None if self.is_complex or self in (float16, bfloat16) else self.typecode

    def is_stored_like(self, other: DType) -> bool:
        """Return whether elements of both dtypes occupy the same words of a GPU buffer."""
        return (self.storage, self.itemsize) == (other.storage, other.itemsize)


def _upper_half(word: int) -> int:
    """Return the bfloat16 nearest to a float32, ties to even, as bits; any NaN becomes quiet."""
    if word & 0x7FFFFFFF > 0x7F800000:
        return word >> 16 & 0x8000 | 0x7FC0
    return word + 0x7FFF + (word >> 16 & 1) >> 16


@dataclass
class Defaults:
    """The dtypes of Python's float and complex, and of tensors created without a dtype."""

    floating: DType
    complex: DType


bool_ = DType("bool", "b", 1, "?", "bool", "u32", 0)
uint8 = DType("uint8", "u", 1, "B", "i32", "u32", 1)
int8 = DType("int8", "i", 1, "b", "i32", "u32", 1)
uint16 = DType("uint16", "u", 2, "H", "i32", "u32", 2)
int16 = DType("int16", "i", 2, "h", "i32", "u32", 2)
uint32 = DType("uint32", "u", 4, "I", "u32", "u32", 3)
int32 = DType("int32", "i", 4, "i", "i32", "i32", 3)
uint64 = DType("uint64", "u", 8, "Q", "uint64", "vec2<u32>", 4)
int64 = DType("int64", "i", 8, "q", "int64", "vec2<u32>", 4)
float16 = DType("float16", "f", 2, "e", "f32", "u32", 5, digits=11, exponent=-14)
bfloat16 = DType("bfloat16", "f", 2, "E", "f32", "u32", 5, digits=8, exponent=-126, host="float32")
float32 = DType("float32", "f", 4, "f", "f32", "f32", 6, digits=24, exponent=-126)
float64 = DType("float64", "f", 8, "d", rank=7, digits=53, exponent=-1022)
complex64 = DType("complex64", "c", 8, "f", "complex64", "vec2<f32>", 8)
complex128 = DType("complex128", "c", 16, "d", rank=9)

_scalar: Callable[[Any, DType], Any] | None = None


def make_scalars_by(scalar: Callable[[Any, DType], Any]) -> None:
    """Set the function that makes a scalar when a dtype is called; it is in a layer above."""
    global _scalar
    _scalar = scalar


ALL = (
    bool_, uint8, int8, uint16, int16, uint32, int32, uint64, int64, float16, bfloat16, float32,
    float64, complex64, complex128,
)  # fmt: skip
BY_NAME = {dtype.name: dtype for dtype in ALL}
KNOWN = ", ".join(BY_NAME)
DEFAULT_INT = int32
DEFAULT = Defaults(float32, complex64)  # changed by `set_default_dtype`
# The names of NumPy, and Python's int, which has no precision: int32 is the default.
_ALIASES = {
    bool_: "bool_", uint8: "ubyte", int8: "byte", uint16: "ushort", int16: "short",
    uint32: "uint uintc uintp P", int32: "int int_ intc intp p", uint64: "ulonglong ulong L",
    int64: "longlong long l", float16: "half", float32: "single", float64: "double",
    complex64: "csingle singlecomplex", complex128: "cdouble cfloat",
    bfloat16: "V2",  # in the files of arrays of ml_dtypes, which has no other dtype of 16 bits
}  # fmt: skip
_NAMES = {
    **BY_NAME,
    **{alias: dtype for dtype, aliases in _ALIASES.items() for alias in aliases.split()},
    **{code: d for d in ALL if d.is_numpys for code in (f"{d.kind}{d.itemsize}", d.character)},
}
_INSTEAD = {
    **dict.fromkeys(("longdouble", "float96", "float128", "g"), 'float64 on the device "cpu"'),
    **dict.fromkeys(("clongdouble", "complex256", "G"), 'complex128 on the device "cpu"'),
    "Tensor": "x.dtype",  # as in issubdtype(type(x[0]), integer)
}  # alternatives to NumPy's dtypes that are not supported
_INTEGERS = {(dtype.kind, dtype.itemsize): dtype for dtype in ALL if dtype.kind in "iu"}
KINDS = "buifc"  # each includes the numbers of the kinds before it
_FLOAT_OVERFLOW = 2**1024 - 2**970  # the smallest integer that overflows float64


def _common(a: DType, b: DType) -> DType | None:
    """Return NumPy's common dtype, with 32 bits for 64 (per part) if no operand has 64."""
    low, high = sorted((a, b), key=lambda dtype: (KINDS.index(dtype.kind), dtype.itemsize))
    if high.kind == "c":
        doubles = (x for x in (low, high) if x.is_inexact and x.has_64_bits)
        return complex128 if any(doubles) else complex64
    if high.kind == "f" and high.itemsize == low.itemsize and low is not high:
        return float32 if high.itemsize == 2 else high  # floats or integers, of 16 bits
    if high.kind == "f" and high.itemsize == 2 and low.itemsize > 1:
        return float32 if low.kind in "iu" else high
    if high.kind in (low.kind, "f") or low.kind == "b" or high.itemsize > low.itemsize:
        return high
    # The signed dtype that includes the unsigned one; there is none for uint64.
    return {1: int16, 2: int32, 4: int64}.get(low.itemsize)


_PROMOTE = {(a, b): _common(a, b) for a in ALL for b in ALL}


def promote(a: DType, b: DType) -> DType:
    """Return the common dtype of two operands."""
    return _PROMOTE[a, b] or DEFAULT.floating


def common(operands: Sequence[DType]) -> DType:
    """Return the common dtype of one or more operands.

    As in NumPy, floats come before integers: uint8 and int8 are int16 together, which beside
    float16 needs float32, but each of them alone fits float16.
    """
    if len(set(operands)) == 1:
        return operands[0]
    if len(operands) > 2:
        operands = sorted(operands, key=lambda dtype: KINDS.index(dtype.kind), reverse=True)
    return reduce(promote, operands)


def values_of(data: memoryview, dtype: DType) -> list[Any]:
    """Return the elements stored in bytes as Python scalars."""
    if dtype is float16:  # memoryview supports this format only from Python 3.14 on
        return list(struct.unpack(f"{data.nbytes // 2}e", data))
    if dtype is bfloat16:
        words = array("I", [half << 16 for half in typed(data, "H")])
        return array("f", words.tobytes()).tolist()
    if dtype.kind == "c":
        parts = typed(data, dtype.typecode).tolist()
        return list(map(complex, parts[::2], parts[1::2]))
    return typed(data, dtype.typecode).tolist()


def typed(data: memoryview, code: str, shape: tuple[int, ...] | None = None) -> memoryview:
    """Return the bytes of `data` as elements of a `typecode`, in row-major order."""
    flat: Any = data.cast("B")  # Any, because type checkers accept only literal codes
    return flat.cast(code) if shape is None else flat.cast(code, shape)


def of_host(op: str, kind: str, itemsize: int, name: str) -> DType:
    """Return the dtype of a tensor made from host data without an explicit dtype.

    It does not depend on the device, so that a program has the same meaning on all devices.

    Parameters
    ----------
    kind, itemsize
        NumPy's kind and item size of the data's own dtype.
    name
        The name of that dtype, for the error.

    Raises
    ------
    DTypeError
        If the data are not numbers.
    """
    if kind in ("U", "S", "T"):
        raise no_text(op)
    if kind in ("i", "u"):
        return _INTEGERS[kind, min(itemsize, 4)]
    if kind == "b":
        return bool_
    if kind == "V" and name.endswith("bfloat16"):  # the kind of the dtypes of ml_dtypes
        return bfloat16
    if kind == "f":
        return {2: float16, 4: float32}.get(itemsize, DEFAULT.floating)
    if kind == "c":
        return complex64 if itemsize == 8 else DEFAULT.complex
    raise DTypeError(f"{op}: {name} is not supported ({KNOWN}); pass a dtype")


def no_text(op: str) -> DTypeError:
    """Return the error for strings."""
    return DTypeError(
        f"{op}: tensors cannot hold strings; pass dtype=float to convert numbers, or"
        ' frombuffer(text.encode(), "uint8") for characters; use a list for other strings'
    )


def of_scalar(value: complex) -> DType:
    """Return the dtype of a Python scalar alone."""
    if isinstance(value, bool):
        return bool_
    if isinstance(value, complex):
        return DEFAULT.complex
    return DEFAULT_INT if isinstance(value, int) else DEFAULT.floating


def with_scalar(dtype: DType, value: complex) -> DType:
    """Return the common dtype of a tensor and a Python scalar, which affects only the kind."""
    if isinstance(value, bool):
        return dtype
    if isinstance(value, complex):
        return complex_of(dtype)
    if isinstance(value, int):
        return DEFAULT_INT if dtype is bool_ else dtype
    return floating(dtype)


def integer_range(dtype: DType) -> tuple[int, int]:
    """Return the smallest and the largest value of an integer dtype."""
    return int(dtype.lowest), int(dtype.highest)


def ends_of(dtype: DType) -> tuple[complex, complex]:
    """Return two numbers between which all elements are; for complex ones in lexical order."""
    if not dtype.is_inexact:
        return integer_range(dtype)
    highest = complex(math.inf, math.inf) if dtype.is_complex else math.inf
    return -highest, highest


def integers_held(dtype: DType) -> tuple[int, int]:
    """Return the smallest and largest Python int that a dtype can hold, or that converts to it."""
    if dtype.kind in "iu":
        return integer_range(dtype)
    return 1 - _FLOAT_OVERFLOW, _FLOAT_OVERFLOW - 1


def holds(dtype: DType, value: complex) -> bool:
    """Return whether `value`, truncated, is a number of this dtype; only floats hold infinities."""
    if isinstance(value, complex):
        return dtype.kind in "cb"
    low, high = integers_held(dtype)
    if dtype.kind in "iu":
        finite = isinstance(value, int) or math.isfinite(value)
        return finite and low <= int(value) <= high
    return dtype.kind == "b" or isinstance(value, float) or low <= value <= high


def check_range(op: str, value: complex, dtype: DType, where: str = "") -> None:
    """Raise an error if `dtype` cannot hold a Python number, or the element that `where` describes.

    Raises
    ------
    TypeError
        If the number is complex and the dtype is not.
    ValueError
        If the number is NaN and the dtype is an integer dtype.
    OverflowError
        If the number is outside the range of an integer dtype, or is an integer beyond the largest
        float64.
    """
    if holds(dtype, value):
        return
    if isinstance(value, complex):
        raise TypeError(f"{op}: {dtype} cannot hold the complex number {value}{where}")
    if value != value:
        raise ValueError(f"{op}: {dtype} cannot hold NaN{where}")
    what = f"{'integer' if isinstance(value, int) else 'float'} {_shown(value)}{where}"
    what = what if where else f"Python {what}"
    limits = " [{}, {}]".format(*integer_range(dtype)) if dtype.kind in "iu" else ""
    hint = "; int64 holds it" if dtype == int32 and holds(int64, value) else ""
    raise OverflowError(f"{op}: {what} is out of bounds for {dtype}{limits}{hint}")


def _shown(value: float) -> str:
    """Return a number for a message; for a very long integer, its length."""
    if isinstance(value, int) and abs(value) >= 10**40:
        return f"of {value.bit_length()} bits"
    return str(value)


def floating(dtype: DType) -> DType:
    """Return the dtype of a quotient or mean: the default for integers and bools, else `dtype`."""
    return dtype if dtype.kind in "fc" else DEFAULT.floating


def at_least_single(dtype: DType) -> DType:
    """Return `floating(dtype)`, but float32 for float16."""
    return promote(floating(dtype), float32)


def complex_of(dtype: DType) -> DType:
    """Return the complex dtype that includes a dtype, or approximates it with float32 parts."""
    return complex128 if floating(dtype).has_64_bits else complex64


def real_of(dtype: DType) -> DType:
    """Return the dtype of the parts of a complex dtype; another dtype is returned unchanged."""
    return {complex64: float32, complex128: float64}.get(dtype, dtype)


def warn_of_loss(source: DType, target: DType) -> None:
    """Warn if a conversion drops the imaginary parts of complex numbers."""
    if source.kind == "c" and target.kind not in "cb":
        warn(f"casting {source} to {target} discards the imaginary parts", ComplexWarning, 4)


def converter(dtype: DType) -> Callable[[Any], Any]:
    """Return the Python type that converts a number to the kind of a dtype."""
    return {"f": float, "b": bool, "c": complex}.get(dtype.kind, int)


def in_words(dtype: DType) -> DType:
    """Return a four-byte dtype that includes every value of a packed dtype; others unchanged."""
    if not dtype.is_packed:
        return dtype
    return {"b": uint32, "f": float32}.get(dtype.kind, int32)


def numeric(dtype: DType) -> DType:
    """Return the dtype of bools as numbers, int32; another dtype is returned unchanged."""
    return int32 if dtype is bool_ else dtype


def widened(dtype: DType) -> DType:
    """Return int32 for bools and integers of 8 and 16 bits; another dtype is returned unchanged."""
    return dtype if dtype.is_inexact else int32 if dtype.is_packed else dtype


def doubled(dtype: DType) -> DType:
    """Return the dtype of double precision that includes a dtype; the dtype itself for integers."""
    return {"f": float64, "c": complex128}.get(dtype.kind, dtype)


def have_no_common(a: DType, b: DType) -> bool:
    """Return whether no dtype includes both: they are uint64 and a signed integer dtype."""
    return _PROMOTE[a, b] is None


def longest(dtype: DType) -> DType:
    """Return the integer dtype of 64 bits that includes an integer dtype."""
    return uint64 if dtype is uint64 else int64


def summed(dtype: DType) -> DType:
    """Return the dtype of a sum: int32 or uint32 for integers of fewer than 32 bits."""
    if dtype.itemsize >= 4 or dtype.kind in "fc":
        return dtype
    return uint32 if dtype.kind == "u" else int32


def parse(dtype: object) -> DType:
    """Convert a DType, a name, a Python type, or a NumPy dtype or scalar type to a DType.

    Names are NumPy's, including codes such as ``"f4"`` and ``"<f4"``. Python's ``int`` and
    ``float``, and their names, have no precision: they are int32 and the default floating dtype.

    Raises
    ------
    DTypeError
        If the argument does not name a supported dtype.
    """
    if isinstance(dtype, DType):
        return dtype
    parsed = _named(dtype)
    if parsed is None:
        raise _no_dtype(dtype)
    if isinstance(dtype, str) and dtype[:1] == ">" and parsed.itemsize > 1:
        raise DTypeError(
            f"dtype {dtype!r} is not supported: tensors are little-endian; frombuffer, fromfile"
            " and load read big-endian data, and x.byteswap() swaps bytes"
        )
    return parsed


def _no_dtype(spec: object) -> DTypeError:
    """Return the error for a value that does not name a supported dtype."""
    name = _name_of(spec)
    if name in ("str", "str_", "bytes", "bytes_") or (name and re.fullmatch(r"[USa]\d*", name)):
        return no_text(f"dtype {name}")
    if name in _INSTEAD:
        return DTypeError(f"there is no dtype {name}; use {_INSTEAD[name]}")
    if isinstance(spec, list | tuple | dict) or name in ("void", "V") or "," in (name or ""):
        return DTypeError(f"there is no dtype {spec!r}; elements have no fields")
    if name in ("object", "object_", "O"):
        return DTypeError(
            f"there is no dtype object; tensors hold numbers and bools ({KNOWN});"
            " use a list for other objects"
        )
    if name is not None and name.startswith(("datetime64", "timedelta64", "M8", "m8")):
        return DTypeError(f"there is no dtype {name}; tensors hold numbers, such as seconds")
    return DTypeError(f"unknown dtype {spec!r}; the dtypes are {KNOWN}")


def _named(spec: object) -> DType | None:
    """Return the dtype named by a string, a Python type, or a NumPy dtype or scalar type."""
    name = _name_of(spec)
    if name in ("float", "float_"):
        return DEFAULT.floating
    if name in ("complex", "complex_"):
        return DEFAULT.complex
    return None if name is None else _NAMES.get(name)


def _name_of(spec: object) -> str | None:
    """Return the name of a Python type, or of a NumPy dtype or scalar type; a name is unchanged."""
    name = spec
    if not isinstance(spec, str):
        name = getattr(spec, "name", None) or getattr(spec, "__name__", None)
    if not isinstance(name, str):
        return None
    return name[1:] if name[:1] in ("<", ">", "=", "|") else name


def epsilon(dtype: DType) -> float:
    """Return the difference between 1 and the next larger number of an inexact dtype."""
    return 2.0 ** (1 - real_of(dtype).digits)


@dataclass(frozen=True, slots=True)
class Accepts:
    """The dtypes that an op accepts, and the dtype in which it computes.

    Attributes
    ----------
    kinds : str
        The accepted kinds of the (promoted) operand.
    compute : callable
        The dtype that operands are converted to.
    words : str
        The accepted dtypes in words, for the error message.
    """

    kinds: str
    compute: Callable[[DType], DType]
    words: str

    def check(self, op: str, dtype: DType) -> DType:
        """Return the dtype to compute in.

        Raises
        ------
        DTypeError
            If the op does not accept the dtype; the message names both.
        """
        if not self.takes(dtype):
            raise DTypeError(f"{op}: takes {self.words}, not {dtype}")
        return self.compute(dtype)

    def takes(self, dtype: DType) -> bool:
        """Return whether the op accepts the dtype."""
        return dtype.kind in self.kinds

    def check_converted(self, op: str, dtype: DType) -> None:
        """Raise DTypeError unless the op can compute in this dtype."""
        target = self.check(op, dtype)
        if target is not dtype:
            raise DTypeError(f"{op}: computes in {target}, not {dtype}")


FLOATING = Accepts("biufc", floating, "any dtype")
REAL_FLOATING = Accepts("biuf", floating, "real dtypes")
NUMERIC = Accepts("iufc", lambda dtype: dtype, "int, float and complex dtypes")
REAL_NUMERIC = Accepts("iuf", lambda dtype: dtype, "int and float dtypes")
WORDS = Accepts("u", lambda dtype: dtype, "uint32")
ANY = Accepts("biufc", lambda dtype: dtype, "any dtype")
REAL = Accepts("biuf", lambda dtype: dtype, "real dtypes")
COMPLEX = Accepts("c", lambda dtype: dtype, "complex dtypes")
WITH_BOOL_AS_INT8 = Accepts("biufc", lambda dtype: int8 if dtype is bool_ else dtype, "any dtype")
REAL_WITH_BOOL_AS_INT8 = Accepts("biuf", WITH_BOOL_AS_INT8.compute, "real dtypes")
INTEGRAL_AS_INT = Accepts("biufc", numeric, "any dtype")
SUMMED = Accepts("biufc", summed, "any dtype")
LOGICAL = Accepts("biufc", lambda dtype: bool_, "any dtype")


CASTINGS = ("no", "equiv", "safe", "same_kind", "unsafe")


def is_of_kind(source: DType, target: DType) -> bool:
    """Return whether the kind of the target includes the numbers of the kind of the source."""
    return KINDS.index(source.kind) <= KINDS.index(target.kind)


def can_cast(source: DType, target: DType, casting: str) -> bool:
    """Return whether one of NumPy's rules allows a conversion between two dtypes.

    Raises
    ------
    ValueError
        If the rule is not "no", "equiv", "safe", "same_kind" or "unsafe".
    """
    check_option("can_cast", "casting", casting, CASTINGS)
    if casting in ("no", "equiv"):
        return source is target
    if casting == "unsafe":
        return True
    if casting == "same_kind":
        return target.kind in "ifc" if source.is_signed else is_of_kind(source, target)
    return includes(target, source)


def check_cast(op: str, source: DType, target: DType, casting: str) -> None:
    """Raise DTypeError if `can_cast` is false."""
    check_option(op, "casting", casting, CASTINGS)
    if not can_cast(source, target, casting):
        raise DTypeError(f"{op}: cannot cast {source} to {target} with casting={casting!r}")


def includes(target: DType, source: DType) -> bool:
    """Return whether a dtype includes all numbers of another one, by NumPy's rules."""
    least = {"b": 0, "u": source.itemsize, "i": source.itemsize}.get(source.kind)
    room = real_of(target).itemsize
    if target.is_inexact and least is not None:
        return room > least or room == 8  # a float with twice the bytes includes every integer
    if source.is_inexact:
        narrow, wide = real_of(source), real_of(target)
        includes_all = wide.digits >= narrow.digits and wide.exponent <= narrow.exponent
        return target.kind in ("fc" if source.kind == "f" else "c") and includes_all
    if source.is_unsigned and target.is_signed:
        return room > source.itemsize
    return source.kind in ("b", target.kind) and room >= source.itemsize
