"""Divisors, multiples and bits of integers."""

from __future__ import annotations

from py_tensor.base import dtypes
from py_tensor.base.dtypes import Accepts
from py_tensor.ir.node import NOT_DIFFERENTIABLE
from py_tensor.ops.bitwise import BITS_AS_INT
from py_tensor.ops.define import binary, unary

__all__ = ["bitwise_count", "gcd", "lcm"]

INTEGERS = Accepts("iu", lambda dtype: dtype, "int dtypes")

gcd = binary(
    "gcd",
    INTEGERS,
    vjp=NOT_DIFFERENTIABLE,
    cost=200,
    doc="Greatest common divisor of the absolute values; ``gcd(0, x)`` is ``abs(x)``.",
)
lcm = binary(
    "lcm",
    INTEGERS,
    vjp=NOT_DIFFERENTIABLE,
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
