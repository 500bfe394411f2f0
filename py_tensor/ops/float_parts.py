"""Parts of floats: fractions, exponents, spacing and signs."""

from __future__ import annotations

from typing import Any

from py_tensor.base import dtypes
from py_tensor.base.dtypes import REAL, REAL_FLOATING, Accepts
from py_tensor.base.errors import DTypeError
from py_tensor.ir.node import NOT_DIFFERENTIABLE
from py_tensor.ir.op import Elementwise
from py_tensor.ops.arithmetic import copysign
from py_tensor.ops.define import composed, unary, with_options
from py_tensor.ops.elementwise import clip, isinf
from py_tensor.ops.elementwise import where as choose
from py_tensor.ops.movement import as_floating, converted
from py_tensor.ops.operands import Operand
from py_tensor.ops.record import apply
from py_tensor.ops.rounding import trunc
from py_tensor.tensors.tensor import Tensor, tensor_of

__all__ = ["frexp", "isneginf", "isposinf", "ldexp", "modf", "spacing"]

spacing = unary(
    "spacing",
    Accepts("biuf", dtypes.at_least_single, "real dtypes"),
    vjp=NOT_DIFFERENTIABLE,
    ulp=1,
    doc="""Distance from each element to the next number away from 0, with its sign.

    float16 elements use the spacing of float32.
    """,
    method=False,
)
isneginf = unary(
    "isneginf",
    REAL,
    {"f32": "is_inf({0}) & sign_bit({0})", "*": "false"},
    vjp=NOT_DIFFERENTIABLE,
    result=dtypes.bool_,
    doc="Whether each element is negative infinity.",
    method=False,
)
isposinf = unary(
    "isposinf",
    REAL,
    {"f32": "is_inf({0}) & !sign_bit({0})", "*": "false"},
    vjp=NOT_DIFFERENTIABLE,
    result=dtypes.bool_,
    doc="Whether each element is positive infinity.",
    method=False,
)


def _grad_fraction(g: Tensor, y: Tensor, x: Tensor, _: None) -> tuple[Tensor]:
    return (ldexp(g, -apply(EXPONENT, (x,))),)


FRACTION = Elementwise(
    "frexp",
    wgsl={"*": "frexp_fraction_f32({0})"},
    numpy=lambda np, x: np.frexp(x)[0],
    accepts=REAL_FLOATING,
    vjp=_grad_fraction,
)
EXPONENT = Elementwise(
    "frexp",
    wgsl={"*": "frexp_exponent_f32({0})"},
    numpy=lambda np, x: np.where(np.isfinite(x), np.frexp(x)[1], 0),  # unspecified in C
    accepts=REAL_FLOATING,
    gives=dtypes.int32,
    vjp=NOT_DIFFERENTIABLE,
)


def _grad_ldexp(g: Tensor, y: Tensor, a: Tensor, b: Tensor, _: Any) -> tuple[Tensor, None]:
    return ldexp(g, converted(b, dtypes.int32)), None


LDEXP = Elementwise(
    "ldexp",
    wgsl={"*": "ldexp_f32({0}, i32({1}))"},
    numpy=lambda np, x, y: np.ldexp(x, y.astype(np.int32)),
    accepts=REAL_FLOATING,
    vjp=_grad_ldexp,
)
MAX_POWER = 2100  # turns every float64 into 0 or infinity


@composed(REAL_FLOATING, ulp=None, nout=2, is_uniform=False)
def frexp(x: Tensor) -> tuple[Tensor, Tensor]:
    """Decompose each element into a mantissa (magnitude in [0.5, 1)) and a binary exponent (int32).

    Zeros, infinities and NaN are their own mantissas, with exponent 0. Both results are exact.
    """
    return apply(FRACTION, (x,)), apply(EXPONENT, (x,))


@composed(REAL_FLOATING, ulp=None, nout=2)
def modf(x: Tensor) -> tuple[Tensor, Tensor]:
    """Split each element into fractional and integral parts, both floats with its sign.

    The fractional part of infinities is 0. Both results are exact.
    """
    whole = trunc(x)
    return copysign(choose(isinf(x), 0.0, x - whole), x), whole


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
    kept = converted(clip(powers, -MAX_POWER, MAX_POWER), wide)
    return converted(apply(LDEXP, (converted(x, wide), kept)), x.dtype)


ldexp = with_options(
    "ldexp", _ldexp, nin=2, accepts=REAL_FLOATING, op=LDEXP, doc=_ldexp.__doc__, is_uniform=False
)
