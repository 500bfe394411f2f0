"""Elementwise functions composed of other ops: rounding, angles, signs, parts of floats, NaN."""

from __future__ import annotations

import builtins
import math
from functools import partial
from typing import Any

from py_tensor.base import dtypes
from py_tensor.base.dtypes import ANY, FLOATING, REAL, REAL_FLOATING, REAL_WITH_BOOL_AS_INT8
from py_tensor.base.errors import DTypeError, ShapeError
from py_tensor.ir.arrays import of_floats
from py_tensor.ir.node import FLAT, NOT_DIFFERENTIABLE
from py_tensor.ir.op import Elementwise
from py_tensor.ir.primitives import COMPLEX
from py_tensor.ops.define import EXACT, binary, composed, function_of, register, unary, with_options
from py_tensor.ops.elementwise import (
    abs,
    cos,
    isinf,
    isnan,
    maximum,
    minimum,
    predicate,
    sin,
    where,
)
from py_tensor.ops.movement import as_floating, converted
from py_tensor.ops.operands import Operand, Scalar, as_ndarray, goes_first, takes, whole_number
from py_tensor.ops.out import Out, stored
from py_tensor.ops.record import apply
from py_tensor.ops.rules import differentiated_by
from py_tensor.ops.transcendental import exp2, log1p
from py_tensor.tensors.tensor import Tensor, install, tensor_of

__all__ = [
    "arctan2", "around", "atan2", "copysign", "deg2rad", "degrees", "divmod", "fabs", "fix",
    "float_power", "fmax", "fmin", "fmod", "frexp", "heaviside", "hypot", "isneginf", "isposinf",
    "ldexp", "logaddexp", "logaddexp2", "modf", "nan_to_num", "nextafter", "rad2deg", "radians",
    "rint", "round", "signbit", "sinc", "spacing", "trunc",
]  # fmt: skip


AT_LEAST_SINGLE = dtypes.Accepts("biuf", dtypes.at_least_single, "real dtypes")

# -- Rounding -------------------------------------------------------------------------------------


@unary(REAL, {"f32": "trunc_f32({0})", "*": "{0}"}, vjp=FLAT)
def trunc(np: Any, x: Any) -> Any:
    """Truncate each element towards 0, in the same dtype."""
    return of_floats("trunc")(np, x)


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
    x, digits = tensor_of(a, "round"), whole_number("round", "decimals", decimals)
    if not x.dtype.is_inexact:
        return _round_integers(x, 10**-digits) if digits < 0 else _to_integers(x)
    if digits and x.dtype.is_complex:  # scaled as a whole, an infinite part makes the other NaN
        return apply(COMPLEX, (round(x.real, digits), round(x.imag, digits)))
    scale = float(f"1e{builtins.abs(digits)}")
    if digits > 0:
        return _to_integers(x * scale) / scale
    return _to_integers(x / scale) * scale if digits else _to_integers(x)


def _round_integers(x: Tensor, unit: int) -> Tensor:
    """Round integers to multiples of `unit`, or to 0 if the dtype does not hold it."""
    if x.dtype.is_small:  # twice the rest may not fit
        return _round_integers(x.astype(dtypes.int32), unit).astype(x.dtype)
    if not dtypes.holds(x.dtype, unit) or x.dtype.is_bool:
        return x * False
    multiples, rest = divmod(x, unit)
    up = rest * 2 + multiples % 2 > unit  # both twice the rest and the unit are even
    return (multiples + up) * unit


@composed(REAL_WITH_BOOL_AS_INT8, ulp=None, nout=2)
def divmod(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    """Return `floor_divide` and `remainder`; both are 0 for an integer divided by 0.

    Both are within 4 ulp in float32.
    """
    return x // y, x % y


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

# -- Signs --------------------------------------------------------------------------------------


@predicate(REAL_FLOATING, "(bitcast<u32>({0}) >> 31u) == 1u", method=False)
def signbit(x: Any) -> Any:
    """Whether the sign bit of each element is set, as in negative numbers and -0."""


@binary(
    REAL_FLOATING,
    "bitcast<f32>((bitcast<u32>({0}) & 0x7fffffffu) | (bitcast<u32>({1}) & 0x80000000u))",
    vjp=lambda g, y, a, b, _: (where(signbit(a) == signbit(b), g, -g), None),
)
def copysign(x: Any, y: Any) -> Any:
    """Each element of `x1` with the sign of the element of `x2`, including the sign of zero."""


@binary(AT_LEAST_SINGLE, vjp=lambda g, y, a, b, _: (g, None), ulp=1)
def nextafter(x: Any, y: Any) -> Any:
    """The next floating-point number after `x1` towards `x2`; float16 operands use float32."""


@composed(REAL_FLOATING)
def heaviside(x: Tensor, y: Tensor) -> Tensor:
    """Heaviside step function: 0 where ``x1 < 0``, `x2` where ``x1 == 0``, 1 where ``x1 > 0``."""
    return where(x == 0, y, where(isnan(x), x, x > 0))


@composed(REAL_FLOATING)
def fabs(x: Tensor) -> Tensor:
    """Absolute value of each element, as a float."""
    return abs(x)


# -- Angles and lengths -------------------------------------------------------------------------


_angle = partial(unary, REAL_FLOATING, ulp=4, method=False)


@_angle("{0} * 0.017453292", vjp=lambda g, y, x, _: (g * (math.pi / 180),))
def radians(x: Any) -> Any:
    """Convert angles from degrees to radians."""


@_angle("{0} * 57.29578", vjp=lambda g, y, x, _: (g * (180 / math.pi),))
def degrees(x: Any) -> Any:
    """Convert angles from radians to degrees."""


def _grad_arctan2(g: Tensor, _: Tensor, y: Tensor, x: Tensor, __: None) -> tuple[Tensor, Tensor]:
    squares = x * x + y * y
    return g * x / squares, -(g * y / squares)


@binary(REAL_FLOATING, "atan2_f32({0}, {1})", vjp=_grad_arctan2, cost=30, ulp=4)
def arctan2(x: Any, y: Any) -> Any:
    """Angle in [-pi, pi] of the point with ordinate `x1` and abscissa `x2`.

    As in NumPy, the ordinate comes first: ``arctan2(y, x)``. The signs of zeros matter.
    """


def _grad_hypot(g: Tensor, y: Tensor, a: Tensor, b: Tensor, _: None) -> tuple[Tensor, Tensor]:
    length = where(y == 0, 1, y)
    return g * a / length, g * b / length


@binary(REAL_FLOATING, vjp=_grad_hypot, cost=20, ulp=4)
def hypot(np: Any, x: Any, y: Any) -> Any:
    """Hypotenuse of a right triangle with legs `x1` and `x2`, without intermediate overflow."""
    # Also beside a NaN, even a signaling one, for which the C library returns NaN.
    is_infinite = np.isinf(x) | np.isinf(y)
    return np.where(is_infinite, x.dtype.type(np.inf), np.hypot(x, y))


def sinc(x: Operand) -> Tensor:
    """Normalized sinc function ``sin(pi x) / (pi x)`` of each element; 1 at 0.

    Within 4 ulp in float32.
    """
    return _sinc(as_floating(x, "sinc"))


def _grad_sinc(g: Tensor, y: Tensor, x: Tensor) -> tuple[Tensor]:
    """By the power series near 0, where the quotient cancels; its derivatives are right, too."""
    is_small = abs(x) < 0.25
    near, far = where(is_small, x, 0.0), where(is_small, 1.0, x)
    series, square = near * 0, near * near
    for k in range(9, 0, -1):
        factor = (-1) ** k * 2 * k * math.pi ** (2 * k) / math.factorial(2 * k + 1)
        series = series * square + factor
    quotient = (cos(far * math.pi) - _sinc(far)) / far
    return (g * where(is_small, series * near, quotient),)


@differentiated_by(_grad_sinc)
def _sinc(x: Tensor) -> Tensor:
    if x.dtype.is_complex:
        return where(x == 0, 1.0, sin(x * math.pi) / (x * math.pi))
    near = x - 2 * round(x / 2)  # in [-1, 1], exactly
    # Mirror at 1/2, so that the sine is that of a small angle.
    near = where(abs(near) > 0.5, copysign(1.0, near) - near, near)
    ratio = where(isinf(x), math.nan, sin(near * math.pi) / (x * math.pi))
    return where(abs(x) <= 1e-9, 1.0, ratio)  # also for subnormals, which may be flushed to 0


register(sinc, method=False, ulp=4)

# -- Exponentials and powers --------------------------------------------------------------------


@composed(REAL_FLOATING, ulp=None)
def logaddexp(x: Tensor, y: Tensor) -> Tensor:
    """``log(exp(x) + exp(y))`` without intermediate overflow.

    In float32 within 4 ulp of the largest of the result, the operands and 1.
    """
    apart = abs(where(x == y, 0.0, x - y))  # 0 for equal infinities too
    return maximum(x, y) + log1p((-apart).exp())


@composed(REAL_FLOATING, ulp=None)
def logaddexp2(x: Tensor, y: Tensor) -> Tensor:
    """``log2(2**x + 2**y)`` without intermediate overflow.

    In float32 within 4 ulp of the largest of the result, the operands and 1.
    """
    apart = abs(where(x == y, 0.0, x - y))
    return maximum(x, y) + log1p(exp2(-apart)) * math.log2(math.e)


@composed(FLOATING, ulp=4)
def float_power(x: Tensor, y: Tensor) -> Tensor:
    """Each element of `x1` raised to the power of the element of `x2`, as a float."""
    return x**y


# -- Rounding and remainders --------------------------------------------------------------------


@composed(FLOATING)
def rint(x: Tensor) -> Tensor:
    """Round each element to the nearest integer, ties to even; the result is a float."""
    return round(x)


@composed(REAL)
def fix(x: Tensor) -> Tensor:
    """Alias of `trunc`."""
    return trunc(x)


@composed(REAL_WITH_BOOL_AS_INT8, ulp=4)
def fmod(x: Tensor, y: Tensor) -> Tensor:
    """Remainder of division with the sign of `x1`, as in C; an integer modulo 0 is 0."""
    if x.dtype.is_floating:
        return copysign(abs(x) % abs(y), x)
    rest = x % y
    return where((rest != 0) & ((x < 0) != (y < 0)), rest - y, rest)


# -- NaN ----------------------------------------------------------------------------------------


@composed(ANY)
def fmax(x: Tensor, y: Tensor) -> Tensor:
    """Elementwise maximum; if one element is NaN, the other is returned."""
    return where(isnan(x), y, where(isnan(y), x, maximum(x, y)))


@composed(ANY)
def fmin(x: Tensor, y: Tensor) -> Tensor:
    """Elementwise minimum; if one element is NaN, the other is returned."""
    return where(isnan(x), y, where(isnan(y), x, minimum(x, y)))


def nan_to_num(
    x: Operand,
    copy: bool = True,
    nan: Scalar = 0.0,
    posinf: Scalar | None = None,
    neginf: Scalar | None = None,
) -> Tensor:
    """Replace NaN and infinities with finite numbers.

    Parameters
    ----------
    copy : bool
        Whether to return a new tensor; False overwrites `x`.
    nan, posinf, neginf
        The replacements; by default 0, the largest and the lowest finite number. An array gives one
        for each element.

    Raises
    ------
    ShapeError
        If a replacement does not broadcast to the shape of `x`.
    """
    x = tensor_of(x, "nan_to_num")
    if x.dtype.is_complex:
        parts = (nan_to_num(part, True, nan, posinf, neginf) for part in (x.real, x.imag))
        finite = apply(COMPLEX, tuple(parts))
    elif x.dtype.is_floating:
        finite = _finite(x, nan, posinf, neginf)
    else:
        return x.copy() if copy else x
    if copy:
        return as_ndarray(finite)
    x[...] = finite
    return x


def _finite(x: Tensor, nan: Scalar, posinf: Scalar | None, neginf: Scalar | None) -> Tensor:
    largest = x.dtype.highest
    finite = where(isnan(x), nan, x)
    finite = where(x == math.inf, largest if posinf is None else posinf, finite)
    finite = where(x == -math.inf, -largest if neginf is None else neginf, finite)
    if finite.shape != x.shape:
        raise ShapeError(
            f"nan_to_num: replacements of shape {finite.shape} do not broadcast to {x.shape}"
        )
    return converted(finite, x.dtype)  # a replacement may have a wider dtype


# -- Parts of floats ------------------------------------------------------------------------------


@unary(AT_LEAST_SINGLE, vjp=NOT_DIFFERENTIABLE, ulp=1, method=False)
def spacing(x: Any) -> Any:
    """Distance from each element to the next number away from 0, with its sign.

    float16 elements use the spacing of float32.
    """


@predicate(REAL, {"f32": "is_inf({0}) & sign_bit({0})", "*": "false"}, method=False)
def isneginf(x: Any) -> Any:
    """Whether each element is negative infinity."""


@predicate(REAL, {"f32": "is_inf({0}) & !sign_bit({0})", "*": "false"}, method=False)
def isposinf(x: Any) -> Any:
    """Whether each element is positive infinity."""


_frexp = partial(unary, REAL_FLOATING, method=False, name="frexp")


@_frexp("frexp_fraction_f32({0})", vjp=lambda g, y, x, _: (ldexp(g, -_exponent(x)),))
def _fraction(np: Any, x: Any) -> Any:
    """Return the mantissas of `frexp`."""
    return np.frexp(x)[0]


@_frexp("frexp_exponent_f32({0})", vjp=NOT_DIFFERENTIABLE, result=dtypes.int32)
def _exponent(np: Any, x: Any) -> Any:
    """Return the exponents of `frexp`."""
    return np.where(np.isfinite(x), np.frexp(x)[1], 0)  # unspecified in C


LDEXP = Elementwise(
    "ldexp",
    wgsl={"*": "ldexp_f32({0}, i32({1}))"},
    numpy=lambda np, x, y: np.ldexp(x, y.astype(np.int32)),
    accepts=REAL_FLOATING,
    vjp=lambda g, y, a, b, _: (ldexp(g, converted(b, dtypes.int32)), None),
)
MAX_POWER = 2100  # turns every float64 into 0 or infinity


@composed(REAL_FLOATING, ulp=None, nout=2, is_uniform=False)
def frexp(x: Tensor) -> tuple[Tensor, Tensor]:
    """Decompose each element into a mantissa (magnitude in [0.5, 1)) and a binary exponent (int32).

    Zeros, infinities and NaN are their own mantissas, with exponent 0. Both results are exact.
    """
    return _fraction(x), _exponent(x)


@composed(REAL_FLOATING, ulp=None, nout=2)
def modf(x: Tensor) -> tuple[Tensor, Tensor]:
    """Split each element into fractional and integral parts, both floats with its sign.

    The fractional part of infinities is 0. Both results are exact.
    """
    whole = trunc(x)
    return copysign(where(isinf(x), 0.0, x - whole), x), whole


def _ldexp(x1: Operand, x2: Operand) -> Tensor:
    """``x1 * 2**x2``, elementwise, for integer exponents `x2`. Correctly rounded in float32.

    Raises
    ------
    DTypeError
        If the exponents are not integers.
    """
    target = getattr(x2, "device", None)
    x = x1 if isinstance(x1, Tensor) else tensor_of(x1, "ldexp", device=target)
    powers = x2 if isinstance(x2, Tensor) else tensor_of(x2, "ldexp", device=x.device)
    if powers.dtype.is_inexact:
        raise DTypeError(f"ldexp: the exponents must be integers, not {powers.dtype}")
    x = as_floating(x, "ldexp", REAL_FLOATING)
    wide = dtypes.at_least_single(x.dtype)  # bfloat16 does not hold all the exponents
    kept = converted(powers.clip(-MAX_POWER, MAX_POWER), wide)
    return converted(apply(LDEXP, (converted(x, wide), kept)), x.dtype)


ldexp = with_options(
    "ldexp", _ldexp, nin=2, accepts=REAL_FLOATING, op=LDEXP, doc=_ldexp.__doc__, is_uniform=False
)
atan2, rad2deg, deg2rad = arctan2, degrees, radians
