"""Elementwise functions that are made of others: angles, signs, lengths, and NaN."""

from __future__ import annotations

import math
from typing import Any

from py_tensor import dtypes
from py_tensor.dtypes import ANY, FLOATING, REAL, REAL_FLOATING, REAL_NUMERIC, Accepts
from py_tensor.errors import ShapeError
from py_tensor.graph.op import NOT_DIFFERENTIABLE
from py_tensor.graph.primitives import COMPLEX
from py_tensor.ops.define import apply, binary, composed_binary, composed_unary, register, unary
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
from py_tensor.ops.movement import as_floating
from py_tensor.ops.operands import Operand, Scalar, as_ndarray
from py_tensor.ops.rounding import round, trunc
from py_tensor.ops.transcendental import exp2, log1p
from py_tensor.tensor import Tensor, tensor_of

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
    lambda np, x: np.signbit(x),
    vjp=NOT_DIFFERENTIABLE,
    result=dtypes.bool_,
    doc="Whether each element is below 0, or -0.",
    method=False,
)
copysign = binary(
    "copysign",
    REAL_FLOATING,
    "bitcast<f32>((bitcast<u32>({0}) & 0x7fffffffu) | (bitcast<u32>({1}) & 0x80000000u))",
    lambda np, x, y: np.copysign(x, y),
    vjp=lambda g, y, a, b, _: (where(equal(signbit(a), signbit(b)), g, -g), None),
    doc="Each element of `x1` with the sign of that of `x2`, the sign of a zero too.",
)
nextafter = binary(
    "nextafter",
    Accepts("biuf", lambda dtype: dtypes.promote(dtype, dtypes.float32), "real dtypes"),
    "nextafter_f32({0}, {1})",
    lambda np, x, y: np.nextafter(x, y),
    vjp=lambda g, y, a, b, _: (g, None),
    ulp=1,
    doc="The next number from that of `x1` towards that of `x2`; of halves in float32.",
)
heaviside = composed_binary(
    "heaviside",
    REAL_FLOATING,
    lambda x, y: where(equal(x, 0), y, where(isnan(x), x, x > 0)),
    doc="0 where `x1` is below 0, 1 where it is above, and `x2` where it is 0.",
)
fabs = composed_unary(
    "fabs",
    REAL_FLOATING,
    lambda x: abs(x),
    doc="Absolute value of each element, in floating point.",
)

# -- Angles and lengths -------------------------------------------------------------------------

radians = unary(
    "radians",
    REAL_FLOATING,
    "{0} * 0.017453292",
    lambda np, x: np.radians(x),
    vjp=lambda g, y, x, _: (g * (math.pi / 180),),
    ulp=4,
    doc="Each element, an angle in degrees, in radians.",
    method=False,
)
degrees = unary(
    "degrees",
    REAL_FLOATING,
    "{0} * 57.29578",
    lambda np, x: np.degrees(x),
    vjp=lambda g, y, x, _: (g * (180 / math.pi),),
    ulp=4,
    doc="Each element, an angle in radians, in degrees.",
    method=False,
)


arctan2 = binary(
    "arctan2",
    REAL_FLOATING,
    "atan2_f32({0}, {1})",
    lambda np, y, x: np.arctan2(y, x),
    vjp=lambda g, _, y, x, __: (g * x / (x * x + y * y), -(g * y / (x * x + y * y))),
    cost=30,
    ulp=4,
    doc="""The angle in [-pi, pi] of the point whose height is `x1` and whose width is `x2`.

    As in NumPy the height comes first: ``arctan2(y, x)``. The signs of zeros count.
    """,
)
hypot = binary(
    "hypot",
    REAL_FLOATING,
    "hypot_f32({0}, {1})",
    lambda np, x, y: _hypot(np, x, y),
    vjp=lambda g, y, a, b, _: (g * a / y, g * b / y),
    cost=20,
    ulp=4,
    doc="The length of the hypotenuse for legs `x1` and `x2`, without overflow in between.",
)


def _hypot(np: Any, x: Any, y: Any) -> Any:
    """Infinite beside an infinite leg; the C library has NaN there for a signaling NaN."""
    return np.where(np.isinf(x) | np.isinf(y), x.dtype.type(np.inf), np.hypot(x, y))


def sinc(x: Operand) -> Tensor:
    """``sin(pi x) / (pi x)`` of each element, in floating point; 1 at 0."""
    x = as_floating(x, "sinc")
    if x.dtype.kind == "c":
        return where(equal(x, 0), 1.0, sin(x * math.pi) / (x * math.pi))
    near = x - 2 * round(x / 2)  # in [-1, 1], exactly
    # Mirrored, so that the sine is of a small angle.
    near = where(abs(near) > 0.5, copysign(1.0, near) - near, near)
    return where(equal(x, 0), 1.0, where(isinf(x), math.nan, sin(near * math.pi) / (x * math.pi)))


register(sinc, method=False)

# -- Exponentials and powers --------------------------------------------------------------------


def _logaddexp(x: Tensor, y: Tensor) -> Tensor:
    apart = where(equal(x, y), 0.0, abs(x - y))  # of equal infinities, too
    return maximum(x, y) + log1p(exp(-apart))


def _logaddexp2(x: Tensor, y: Tensor) -> Tensor:
    apart = where(equal(x, y), 0.0, abs(x - y))
    return maximum(x, y) + log1p(exp2(-apart)) * math.log2(math.e)


logaddexp = composed_binary(
    "logaddexp",
    REAL_FLOATING,
    _logaddexp,
    doc=(
        "``log(exp(x) + exp(y))``, without overflow in between. In float32 within"
        " 4 ulp of the largest of the result, the operands and 1."
    ),
    ulp=None,
)
logaddexp2 = composed_binary(
    "logaddexp2",
    REAL_FLOATING,
    _logaddexp2,
    doc=(
        "``log2(2**x + 2**y)``, without overflow in between. In float32 within"
        " 4 ulp of the largest of the result, the operands and 1."
    ),
    ulp=None,
)
float_power = composed_binary(
    "float_power",
    FLOATING,
    lambda x, y: power(x, y),
    ulp=4,
    doc="Each element of `x1` to the power of that of `x2`, in floating point.",
)

# -- Rounding and remainders --------------------------------------------------------------------

rint = composed_unary(
    "rint",
    FLOATING,
    lambda x: round(x),
    doc="Each element rounded to an integer, halves to the even one, in floating point.",
)
fix = composed_unary("fix", REAL, lambda x: trunc(x), doc="`trunc`, by another name.")


def _fmod(x: Tensor, y: Tensor) -> Tensor:
    if x.dtype.kind == "f":
        return copysign(remainder(abs(x), abs(y)), x)
    rest = remainder(x, y)
    return where(not_equal(rest, 0) & not_equal(x < 0, y < 0), rest - y, rest)


fmod = composed_binary(
    "fmod",
    REAL_NUMERIC,
    _fmod,
    ulp=4,
    doc="What division leaves, with the sign of `x1`, as in C; an integer modulo 0 gives 0.",
)

# -- NaN ----------------------------------------------------------------------------------------

fmax = composed_binary(
    "fmax",
    ANY,
    lambda x, y: where(isnan(x), y, where(isnan(y), x, maximum(x, y))),
    doc="The larger of the elements; the other one where one is NaN.",
)
fmin = composed_binary(
    "fmin",
    ANY,
    lambda x, y: where(isnan(x), y, where(isnan(y), x, minimum(x, y))),
    doc="The smaller of the elements; the other one where one is NaN.",
)


def nan_to_num(
    x: Operand,
    copy: bool = True,
    nan: Scalar = 0.0,
    posinf: Scalar | None = None,
    neginf: Scalar | None = None,
) -> Tensor:
    """Numbers in place of NaN and the infinities.

    Parameters
    ----------
    copy : bool
        Whether the result is a new tensor; False writes to `x`.
    nan, posinf, neginf
        What stands for each; by default 0, and the largest and the least finite number. Of arrays
        it is the element in the same place.

    Raises
    ------
    ShapeError
        For arrays that do not broadcast to the shape of `x`.
    """
    x = tensor_of(x, "nan_to_num")
    if x.dtype.kind == "c":
        parts = (nan_to_num(part, True, nan, posinf, neginf) for part in (x.real, x.imag))
        found = apply(COMPLEX, tuple(parts))
        if copy:
            return as_ndarray(found)
        x[...] = found
        return x
    if x.dtype.kind != "f":
        return x.copy() if copy else x
    largest = dtypes.largest(x.dtype)
    finite = where(isnan(x), nan, x)
    finite = where(equal(x, math.inf), largest if posinf is None else posinf, finite)
    finite = where(equal(x, -math.inf), -largest if neginf is None else neginf, finite)
    if finite.shape != x.shape:
        raise ShapeError(
            f"nan_to_num: replacements of shape {finite.shape} do not broadcast to {x.shape}"
        )
    if copy:
        return as_ndarray(finite)
    x[...] = finite
    return x


register(nan_to_num, method=False)
atan2, rad2deg, deg2rad = arctan2, degrees, radians
