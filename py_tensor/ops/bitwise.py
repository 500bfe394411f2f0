"""Bitwise ops on bools and integers, and the operators ``& | ^ ~ << >>``.

On bools they are logical ops, for combining masks.
"""

from __future__ import annotations

from typing import Any

from py_tensor.base import dtypes
from py_tensor.base.dtypes import Accepts
from py_tensor.ir.node import NOT_DIFFERENTIABLE
from py_tensor.ops.define import binary, install, unary

__all__ = [
    "bitwise_and", "bitwise_invert", "bitwise_left_shift", "bitwise_not", "bitwise_or",
    "bitwise_right_shift", "bitwise_xor", "invert", "left_shift", "right_shift",
]  # fmt: skip


BITS = Accepts("biu", lambda dtype: dtype, "bool and int dtypes")
BITS_AS_INT = Accepts("biu", dtypes.WITH_BOOL_AS_INT8.compute, "bool and int dtypes")


def _shifted(np: Any, shift: Any, x: Any, y: Any, beyond: Any) -> Any:
    """Shift `x` by `y`; return `beyond` for counts that are negative or at least the bit width.

    NumPy takes a 64-bit count modulo 2**32 on platforms with 32-bit addresses, such as Pyodide.
    """
    inside = (y >= 0) & (y < 8 * x.dtype.itemsize)
    shifted = shift(x, np.where(inside, y, 0).astype(y.dtype))
    return np.where(inside, shifted, np.asarray(beyond).astype(x.dtype))


bitwise_and = binary(
    "bitwise_and",
    BITS,
    {"*": "{0} & {1}"},
    vjp=NOT_DIFFERENTIABLE,
    operator="and",
    doc="Bitwise AND; for bools, whether both are true.",
)
bitwise_or = binary(
    "bitwise_or",
    BITS,
    {"*": "{0} | {1}"},
    vjp=NOT_DIFFERENTIABLE,
    operator="or",
    doc="Bitwise OR; for bools, whether either is true.",
)
bitwise_xor = binary(
    "bitwise_xor",
    BITS,
    {"bool": "{0} != {1}", "*": "{0} ^ {1}"},
    vjp=NOT_DIFFERENTIABLE,
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
left_shift = binary(
    "left_shift",
    BITS_AS_INT,
    numpy=lambda np, x, y: _shifted(np, np.left_shift, x, y, 0),
    vjp=NOT_DIFFERENTIABLE,
    operator="lshift",
    doc="Shift the bits of `x1` left by `x2`; 0 if `x2` is negative or at least the bit width.",
)
right_shift = binary(
    "right_shift",
    BITS_AS_INT,
    numpy=lambda np, x, y: _shifted(np, np.right_shift, x, y, np.where(x < 0, -1, 0)),
    vjp=NOT_DIFFERENTIABLE,
    operator="rshift",
    doc="Shift the bits of `x1` right by `x2`, keeping the sign; a negative `x2` shifts all out.",
)
install("__invert__", invert)

# Names of the array API, and NumPy's alias.
bitwise_left_shift, bitwise_right_shift = left_shift, right_shift
bitwise_invert = bitwise_not = invert
