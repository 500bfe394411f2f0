"""Elementwise functions composed of other ops: angles, signs, hypotenuses and NaN handling."""

from __future__ import annotations

import math
from typing import Any

from py_tensor.base import dtypes
from py_tensor.base.dtypes import (
    ANY,
    FLOATING,
    REAL,
    REAL_FLOATING,
    REAL_WITH_BOOL_AS_INT8,
    Accepts,
)
from py_tensor.base.errors import ShapeError
from py_tensor.ir.node import NOT_DIFFERENTIABLE
from py_tensor.ir.primitives import COMPLEX
from py_tensor.ops.define import binary, composed, register, unary
from py_tensor.ops.elementwise import (
    abs,
    equal,
    exp,
    isinf,
    isnan,
    maximum,
    minimum,
    not_equal,
    power,
    remainder,
    sin,
    where,
)
from py_tensor.ops.movement import as_floating, converted
from py_tensor.ops.operands import Operand, Scalar, as_ndarray
from py_tensor.ops.record import apply
from py_tensor.ops.rounding import round, trunc
from py_tensor.ops.transcendental import exp2, log1p
from py_tensor.tensors.tensor import Tensor, tensor_of

__all__ = [
    "arctan2", "atan2", "copysign", "deg2rad", "degrees", "fabs", "fix", "float_power", "fmax",
    "fmin", "fmod", "heaviside", "hypot", "logaddexp", "logaddexp2", "nan_to_num", "nextafter",
    "rad2deg", "radians", "rint", "signbit", "sinc",
]  # fmt: skip


# -- Signs --------------------------------------------------------------------------------------

signbit = unary(
    "signbit",
    REAL_FLOATING,
    "(bitcast<u32>({0}) >> 31u) == 1u",
    vjp=NOT_DIFFERENTIABLE,
    result=dtypes.bool_,
    doc="Whether the sign bit of each element is set, as in negative numbers and -0.",
    method=False,
)
copysign = binary(
    "copysign",
    REAL_FLOATING,
    "bitcast<f32>((bitcast<u32>({0}) & 0x7fffffffu) | (bitcast<u32>({1}) & 0x80000000u))",
    vjp=lambda g, y, a, b, _: (where(equal(signbit(a), signbit(b)), g, -g), None),
    doc="Each element of `x1` with the sign of the element of `x2`, including the sign of zero.",
)
nextafter = binary(
    "nextafter",
    Accepts("biuf", dtypes.at_least_single, "real dtypes"),
    vjp=lambda g, y, a, b, _: (g, None),
    ulp=1,
    doc="The next floating-point number after `x1` towards `x2`; float16 operands use float32.",
)


@composed(REAL_FLOATING)
def heaviside(x: Tensor, y: Tensor) -> Tensor:
    """Heaviside step function: 0 where ``x1 < 0``, `x2` where ``x1 == 0``, 1 where ``x1 > 0``."""
    return where(equal(x, 0), y, where(isnan(x), x, x > 0))


@composed(REAL_FLOATING)
def fabs(x: Tensor) -> Tensor:
    """Absolute value of each element, as a float."""
    return abs(x)


# -- Angles and lengths -------------------------------------------------------------------------

radians = unary(
    "radians",
    REAL_FLOATING,
    "{0} * 0.017453292",
    vjp=lambda g, y, x, _: (g * (math.pi / 180),),
    ulp=4,
    doc="Convert angles from degrees to radians.",
    method=False,
)
degrees = unary(
    "degrees",
    REAL_FLOATING,
    "{0} * 57.29578",
    vjp=lambda g, y, x, _: (g * (180 / math.pi),),
    ulp=4,
    doc="Convert angles from radians to degrees.",
    method=False,
)


arctan2 = binary(
    "arctan2",
    REAL_FLOATING,
    "atan2_f32({0}, {1})",
    vjp=lambda g, _, y, x, __: (g * x / (x * x + y * y), -(g * y / (x * x + y * y))),
    cost=30,
    ulp=4,
    doc="""Angle in [-pi, pi] of the point with ordinate `x1` and abscissa `x2`.

    As in NumPy, the ordinate comes first: ``arctan2(y, x)``. The signs of zeros matter.
    """,
)
hypot = binary(
    "hypot",
    REAL_FLOATING,
    numpy=lambda np, x, y: _hypot(np, x, y),
    vjp=lambda g, y, a, b, _: _grad_hypot(g, where(equal(y, 0), 1, y), a, b),
    cost=20,
    ulp=4,
    doc="Hypotenuse of a right triangle with legs `x1` and `x2`, without intermediate overflow.",
)


def _grad_hypot(g: Tensor, length: Tensor, a: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
    return g * a / length, g * b / length


def _hypot(np: Any, x: Any, y: Any) -> Any:
    """Return inf beside a NaN, even a signaling one, for which the C library returns NaN."""
    return np.where(np.isinf(x) | np.isinf(y), x.dtype.type(np.inf), np.hypot(x, y))


def sinc(x: Operand) -> Tensor:
    """Normalized sinc function ``sin(pi x) / (pi x)`` of each element; 1 at 0.

    Within 4 ulp in float32.
    """
    x = as_floating(x, "sinc")
    if x.dtype.is_complex:
        return where(equal(x, 0), 1.0, sin(x * math.pi) / (x * math.pi))
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
    apart = abs(where(equal(x, y), 0.0, x - y))  # 0 for equal infinities too
    return maximum(x, y) + log1p(exp(-apart))


@composed(REAL_FLOATING, ulp=None)
def logaddexp2(x: Tensor, y: Tensor) -> Tensor:
    """``log2(2**x + 2**y)`` without intermediate overflow.

    In float32 within 4 ulp of the largest of the result, the operands and 1.
    """
    apart = abs(where(equal(x, y), 0.0, x - y))
    return maximum(x, y) + log1p(exp2(-apart)) * math.log2(math.e)


@composed(FLOATING, ulp=4)
def float_power(x: Tensor, y: Tensor) -> Tensor:
    """Each element of `x1` raised to the power of the element of `x2`, as a float."""
    return power(x, y)


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
        return copysign(remainder(abs(x), abs(y)), x)
    rest = remainder(x, y)
    return where(not_equal(rest, 0) & not_equal(x < 0, y < 0), rest - y, rest)


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
        components = (
            nan_to_num(component, True, nan, posinf, neginf) for component in (x.real, x.imag)
        )
        number = apply(COMPLEX, tuple(components))
        if copy:
            return as_ndarray(number)
        x[...] = number
        return x
    if not x.dtype.is_floating:
        return x.copy() if copy else x
    largest = x.dtype.highest
    finite = where(isnan(x), nan, x)
    finite = where(equal(x, math.inf), largest if posinf is None else posinf, finite)
    finite = where(equal(x, -math.inf), -largest if neginf is None else neginf, finite)
    if finite.shape != x.shape:
        raise ShapeError(
            f"nan_to_num: replacements of shape {finite.shape} do not broadcast to {x.shape}"
        )
    finite = converted(finite, x.dtype)  # a replacement may have a wider dtype
    if copy:
        return as_ndarray(finite)
    x[...] = finite
    return x


atan2, rad2deg, deg2rad = arctan2, degrees, radians
