"""Bitwise ops and the operators ``& | ^ ~ << >>``; divisors, multiples and bits of integers.

On bools, bitwise ops are logical ops, for combining masks.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from py_tensor.base import dtypes
from py_tensor.base.dtypes import Accepts
from py_tensor.ir.node import NOT_DIFFERENTIABLE
from py_tensor.ops.define import binary, install, unary

__all__ = [
    "bitwise_and", "bitwise_count", "bitwise_invert", "bitwise_left_shift", "bitwise_not",
    "bitwise_or", "bitwise_right_shift", "bitwise_xor", "gcd", "invert", "lcm", "left_shift",
    "right_shift",
]  # fmt: skip


INTEGERS = Accepts("iu", lambda dtype: dtype, "int dtypes")
BITS = Accepts("biu", lambda dtype: dtype, "bool and int dtypes")
BITS_AS_INT = Accepts("biu", dtypes.WITH_BOOL_AS_INT8.compute, "bool and int dtypes")


def _shifted(np: Any, shift: Any, x: Any, y: Any, beyond: Any) -> Any:
    """Shift `x` by `y`; return `beyond` for counts that are negative or at least the bit width.

    NumPy takes a 64-bit count modulo 2**32 on platforms with 32-bit addresses, such as Pyodide.
    """
    inside = (y >= 0) & (y < 8 * x.dtype.itemsize)
    shifted = shift(x, np.where(inside, y, 0).astype(y.dtype))
    return np.where(inside, shifted, np.asarray(beyond).astype(x.dtype))


_of_two = partial(binary, vjp=NOT_DIFFERENTIABLE)
bitwise_and = _of_two(
    "bitwise_and",
    BITS,
    {"*": "{0} & {1}"},
    operator="and",
    doc="Bitwise AND; for bools, whether both are true.",
)
bitwise_or = _of_two(
    "bitwise_or",
    BITS,
    {"*": "{0} | {1}"},
    operator="or",
    doc="Bitwise OR; for bools, whether either is true.",
)
bitwise_xor = _of_two(
    "bitwise_xor",
    BITS,
    {"bool": "{0} != {1}", "*": "{0} ^ {1}"},
    operator="xor",
    doc="Bitwise XOR; for bools, whether they differ.",
)
invert = unary(
    "invert",
    BITS,
    {"bool": "!{0}", "*": "~{0}"},
    vjp=NOT_DIFFERENTIABLE,
    doc="Bitwise NOT; for bools, whether the element is false.",
)
left_shift = _of_two(
    "left_shift",
    BITS_AS_INT,
    numpy=lambda np, x, y: _shifted(np, np.left_shift, x, y, 0),
    operator="lshift",
    doc="Shift the bits of `x1` left by `x2`; 0 if `x2` is negative or at least the bit width.",
)
right_shift = _of_two(
    "right_shift",
    BITS_AS_INT,
    numpy=lambda np, x, y: _shifted(np, np.right_shift, x, y, np.where(x < 0, -1, 0)),
    operator="rshift",
    doc="Shift the bits of `x1` right by `x2`, keeping the sign; a negative `x2` shifts all out.",
)
gcd = _of_two(
    "gcd",
    INTEGERS,
    cost=200,
    doc="Greatest common divisor of the absolute values; ``gcd(0, x)`` is ``abs(x)``.",
)
lcm = _of_two(
    "lcm",
    INTEGERS,
    cost=220,
    doc="Least common multiple of the absolute values, with wraparound; 0 if either is 0.",
)
bitwise_count = unary(
    "bitwise_count",
    BITS_AS_INT,
    "count_bits_{t}({0})",
    vjp=NOT_DIFFERENTIABLE,
    result=dtypes.uint8,
    doc="Number of bits set in the absolute value of each element, as uint8.",
    method=False,
)
install("__invert__", invert)

# Names of the array API, and NumPy's alias.
bitwise_left_shift, bitwise_right_shift = left_shift, right_shift
bitwise_invert = bitwise_not = invert
