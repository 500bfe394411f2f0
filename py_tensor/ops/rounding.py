"""Rounding to integers and to decimals, and Python's rounding protocols."""

from __future__ import annotations

from operator import index as as_index
from typing import Any

from py_tensor.base import dtypes
from py_tensor.base.dtypes import ANY, REAL, REAL_WITH_BOOL_AS_INT8
from py_tensor.ir.arrays import of_floats
from py_tensor.ir.node import FLAT
from py_tensor.ir.op import Elementwise
from py_tensor.ir.primitives import COMPLEX
from py_tensor.ops.define import EXACT, composed, function_of, register, unary
from py_tensor.ops.elementwise import add, divide, floor_divide, greater, multiply, remainder
from py_tensor.ops.operands import Operand, goes_first, takes
from py_tensor.ops.out import Out, stored
from py_tensor.ops.record import apply
from py_tensor.tensors.tensor import Tensor, install, tensor_of

__all__ = ["around", "divmod", "round", "trunc"]


trunc = unary(
    "trunc",
    REAL,
    {"f32": "trunc_f32({0})", "*": "{0}"},
    of_floats("trunc"),
    vjp=FLAT,
    doc="Truncate each element towards 0, in the same dtype.",
)
ROUND = Elementwise(
    "round",
    wgsl={
        "f32": "round_f32({0})",
        "complex64": "vec2f(round_f32({0}.x), round_f32({0}.y))",
        "*": "{0}",
    },
    numpy=of_floats("rint"),
    accepts=ANY,
    vjp=FLAT,
)
_to_integers = function_of(ROUND, doc="Round each element to the nearest integer, ties to even.")


def round(a: Operand, decimals: int = 0, out: Out = None) -> Tensor:
    """Round each element to `decimals` decimals, ties to even, in the same dtype.

    Negative `decimals` round to tens, hundreds and so on. Floats are scaled, rounded to integers
    and scaled back, as in NumPy. Integers out of range wrap around. With ``decimals=0`` results are
    correctly rounded in float32.

    Raises
    ------
    TypeError
        If `decimals` is not an integer.
    """
    if out is not None:
        return stored("round", round(a, decimals), out)
    x, digits = tensor_of(a, "round"), _places(decimals)
    if not x.dtype.is_inexact:
        return _round_integers(x, 10**-digits) if digits < 0 else _to_integers(x)
    if digits and x.dtype.is_complex:  # scaled as a whole, an infinite part makes the other NaN
        return apply(COMPLEX, (round(x.real, digits), round(x.imag, digits)))
    scale = float(f"1e{abs(digits)}")
    if digits > 0:
        return divide(_to_integers(multiply(x, scale)), scale)
    return multiply(_to_integers(divide(x, scale)), scale) if digits else _to_integers(x)


def _places(decimals: Any) -> int:
    try:
        return as_index(decimals)
    except TypeError:
        raise TypeError(f"round: decimals must be an int, not {decimals!r}") from None


def _round_integers(x: Tensor, unit: int) -> Tensor:
    """Round integers to multiples of `unit`, or to 0 if the dtype does not hold it."""
    if x.dtype.is_small:  # twice the rest may not fit
        return _round_integers(x.astype(dtypes.int32), unit).astype(x.dtype)
    if not dtypes.holds(x.dtype, unit) or x.dtype.is_bool:
        return multiply(x, False)
    multiples, rest = divmod(x, unit)
    twice, odd = multiply(rest, 2), remainder(multiples, 2)
    up = greater(add(twice, odd), unit)  # both twice and unit are even
    return multiply(add(multiples, up), unit)


@composed(REAL_WITH_BOOL_AS_INT8, ulp=None, nout=2)
def divmod(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    """Return `floor_divide` and `remainder`; both are 0 for an integer divided by 0.

    Both are within 4 ulp in float32.
    """
    return floor_divide(x, y), remainder(x, y)


def _divmod(self: Tensor, other: Operand) -> tuple[Tensor, Tensor]:
    return divmod(self, other) if takes(other) and not goes_first(other) else NotImplemented


def _reflected_divmod(self: Tensor, other: Operand) -> tuple[Tensor, Tensor]:
    return divmod(other, self) if takes(other) else NotImplemented


def _round(self: Tensor, ndigits: int | None = None) -> Tensor | int:
    """Python's `round`, which converts a scalar to an int if no digits are given."""
    if ndigits is None and self.is_scalar:
        return int(round(self))
    return round(self, ndigits or 0)


around = round
register(round, ROUND, ulp=EXACT)
install("__round__", _round)
install("__divmod__", _divmod)
install("__rdivmod__", _reflected_divmod)
