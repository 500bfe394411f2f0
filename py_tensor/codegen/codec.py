"""The layout of elements in buffers: bindings, and the WGSL that reads and writes elements.

An element of four bytes is one word, and an element of eight bytes is two words. Smaller elements
are packed four or two to a u32, the first in the lowest bits, as in host memory. Kernels access
buffers only through this module and the functions of `shaders/lib/storage.wgsl` that it calls.

A vector is four neighbouring elements that start at a multiple of four. In kernels that only use
one-byte elements it may be 16. Elements of two words are loaded and stored one by one.

Vector stores write whole words. Stores of single packed elements change only their bits, with
atomic operations, because other invocations may write neighbouring elements at the same time.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass

from py_tensor.base.dtypes import DType, real_of

XYZW = "xyzw"
# WGSL of the bits of a value, and of the value with these bits; the others are bitcasts.
_TO_WORD = {"u32": "{}", "bool": "select(0u, 1u, {})"}
_FROM_WORD = {"u32": "{}", "bool": "({} != 0u)"}


@dataclass(frozen=True, slots=True)
class Binding:
    """A storage buffer of a program.

    Attributes
    ----------
    slot : int
        The slot of the node; -1 - n for the n-th temporary of the plan.
    lanes : int
        Elements of a vector: 4, or 16 if they have one byte. 1 if it is an array of elements, or of
        words of packed elements.
    atomic : bool
        Whether its words are atomic.
    """

    slot: int
    dtype: DType
    lanes: int = 1
    writable: bool = False
    atomic: bool = False

    def declaration(self, number: int, name: str) -> str:
        """Return WGSL of the variable."""
        access = "read_write" if self.writable else "read"
        kind = self._vector if self.lanes > 1 else f"{self.dtype.storage}"
        kind = f"atomic<{kind}>" if self.atomic else kind
        return f"@group(0) @binding({number}) var<storage, {access}> {name}: array<{kind}>;"

    @property
    def _words(self) -> int:
        """Words of a vector."""
        return self.dtype.itemsize * self.lanes // 4

    @property
    def _vector(self) -> str:
        kind = str(self.dtype.storage)
        return f"vec{self._words}<{kind}>" if self._words > 1 else kind

    def element(self, number: int, dtype: DType, at: str) -> str:
        """Return WGSL of the element at `at`, as a value of this dtype."""
        if not dtype.is_packed:
            where = f"[{at} >> 2u][{at} & 3u]" if self.lanes > 1 else f"[{at}]"
            return f"load_{dtype.name}(b{number}{where})"
        by = dtype.per_word // 2  # the shift from elements to words
        word = f"b{number}[{at} >> {by}u]"
        if self._words > 1:
            more = self._words // 2
            word = f"b{number}[{at} >> {by + more}u][({at} >> {by}u) & {self._words - 1}u]"
        word = f"atomicLoad(&{word})" if self.atomic else word
        return f"load_{dtype.name}({word}, {at})"

    def put(self, number: int, dtype: DType, at: str, value: str) -> str:
        """Return a statement that stores one element."""
        stored = self._stored(dtype, value)
        if not dtype.is_packed:
            return f"b{number}[{at}] = {stored};"
        each, bits = dtype.per_word, 8 * dtype.itemsize
        word = f"&b{number}[put_at >> {each // 2}u]"
        return (
            f"{{ let put_at = {at}; let put_bits = {stored}; "
            f"let put_by = {bits}u * (put_at & {each - 1}u); "
            f"atomicAnd({word}, ~({2**bits - 1}u << put_by)); "
            f"atomicOr({word}, put_bits << put_by); }}"
        )

    def _stored(self, dtype: DType, value: str) -> str:
        """Return WGSL of a value as it is stored; a binding may hold the bits of its elements."""
        stored = f"store_{dtype.name}({value})"
        is_same = dtype.storage == self.dtype.storage
        return stored if is_same else f"bitcast<{self.dtype.storage}>({stored})"

    def put_vector(self, number: int, dtype: DType, at: str, values: Sequence[str]) -> str:
        """Return a statement that stores the elements of a vector; `at` counts vectors."""
        each, words = dtype.per_word, list[str]()
        for first in range(0, len(values), each):
            stored = [self._stored(dtype, value) for value in values[first : first + each]]
            shifted = [f"({x} << {8 * dtype.itemsize * n}u)" for n, x in enumerate(stored) if n]
            words.append(" | ".join([stored[0], *shifted]))
        return f"b{number}[{at}] = {self._vector}({', '.join(words)});"

    def lane(self, dtype: DType, vector: str, number: int | str) -> str:
        """Return WGSL of element `number` of a loaded vector; the number may itself be WGSL."""
        dynamic = isinstance(number, str)
        if not dtype.is_packed:
            which = f"[{number}]" if dynamic else f".{XYZW[number]}"
            return f"load_{dtype.name}({vector}{which})"
        element = number if dynamic else f"{number}u"
        if self._words == 1:
            return f"load_{dtype.name}({vector}, {element})"
        by = dtype.per_word // 2
        which = f"[{number} >> {by}u]" if dynamic else f".{XYZW[number >> by]}"
        return f"load_{dtype.name}({vector}{which}, {element})"


def as_words(dtype: DType, value: str) -> list[str]:
    """Return WGSL of the bits of a value, one u32 per word; `from_words` is the inverse.

    `value` should be a name, because it occurs twice for a value of two words.
    """
    if dtype.is_wide:
        bits = "bitcast<u32>({})" if dtype.is_complex else "{}"
        return [bits.format(f"{value}.{component}") for component in "xy"]
    return [_TO_WORD.get(str(dtype.wgsl), "bitcast<u32>({})").format(value)]


def from_words(dtype: DType, *words: str) -> str:
    """Return WGSL of the value with these u32 words."""
    if dtype.is_wide:
        value = f"vec2u({', '.join(words)})"
        return value if not dtype.is_complex else f"bitcast<vec2f>({value})"
    (word,) = words
    return _FROM_WORD.get(str(dtype.wgsl), f"bitcast<{dtype.wgsl}>({{}})").format(word)


def to_words(value: complex, dtype: DType) -> list[int]:
    """Return the words of a Python scalar, as `from_words` expects them."""
    if dtype.is_complex:
        return [_float_bits(component, real_of(dtype)) for component in (value.real, value.imag)]
    value = value.real
    bits = int(value) if not dtype.is_floating else _float_bits(value, dtype)
    return [bits >> 32 * n & 0xFFFFFFFF for n in range(dtype.words)]


def _float_bits(value: float, dtype: DType) -> int:
    value = dtype.rounded(value) if dtype.is_small else value
    try:
        return int.from_bytes(struct.pack("<f", value), "little")
    except OverflowError:  # beyond the largest float32, NumPy rounds to infinity
        return 0x7F800000 if value > 0 else 0xFF800000
