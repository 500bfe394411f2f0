"""More elementary functions, as `exp` and its like in `elementwise`: each within 4 ulp."""

from __future__ import annotations

import math
from typing import Any

from py_tensor.dtypes import FLOATING
from py_tensor.ops.define import Unary, UnaryMethod, unary
from py_tensor.ops.elementwise import exp, sqrt, square

__all__ = [
    "acos",
    "arccos",
    "arcsin",
    "arctan",
    "asin",
    "atan",
    "cosh",
    "erf",
    "exp2",
    "expm1",
    "log1p",
    "log2",
    "log10",
    "sinh",
]  # fmt: skip


class Methods:
    """For type checkers: the ops of this module that are methods of tensors too."""

    acos: UnaryMethod
    asin: UnaryMethod
    atan: UnaryMethod
    cosh: UnaryMethod
    erf: UnaryMethod
    exp2: UnaryMethod
    expm1: UnaryMethod
    log10: UnaryMethod
    log1p: UnaryMethod
    log2: UnaryMethod
    sinh: UnaryMethod


LN2, LN10 = math.log(2), math.log(10)

exp2 = unary(
    "exp2",
    FLOATING,
    "exp2_f32({0})",
    lambda np, x: np.exp2(x),
    vjp=lambda g, y, x, _: (g * y * LN2,),
    cost=12,
    doc="2 to the power of each element; exact for integers.",
)
expm1 = unary(
    "expm1",
    FLOATING,
    "expm1_f32({0})",
    lambda np, x: np.expm1(x),
    vjp=lambda g, y, x, _: (g * (y + 1),),
    cost=16,
    doc="``exp(x) - 1`` of each element, accurate near 0.",
)
log2 = unary(
    "log2",
    FLOATING,
    "log2_f32({0})",
    lambda np, x: np.log2(x),
    vjp=lambda g, y, x, _: (g / (x * LN2),),
    cost=40,
    doc="Logarithm to base 2 of each element, exact for powers of 2; -inf at 0, NaN below.",
)
log10 = unary(
    "log10",
    FLOATING,
    "log10_f32({0})",
    lambda np, x: np.log10(x),
    vjp=lambda g, y, x, _: (g / (x * LN10),),
    cost=40,
    doc="Logarithm to base 10 of each element, exact for powers of 10; -inf at 0, NaN below.",
)
log1p = unary(
    "log1p",
    FLOATING,
    "log1p_f32({0})",
    lambda np, x: np.log1p(x),
    vjp=lambda g, y, x, _: (g / (1 + x),),
    cost=16,
    doc="``log(1 + x)`` of each element, accurate near 0; -inf at -1, NaN below.",
)
sinh: Unary = unary(  # annotated, since its derivative is made from it
    "sinh",
    FLOATING,
    "sinh_f32({0})",
    lambda np, x: np.sinh(x),
    vjp=lambda g, y, x, _: (g * cosh(x),),
    cost=20,
    doc="Hyperbolic sine of each element.",
)
cosh: Unary = unary(
    "cosh",
    FLOATING,
    "cosh_f32({0})",
    lambda np, x: np.cosh(x),
    vjp=lambda g, y, x, _: (g * sinh(x),),
    cost=16,
    doc="Hyperbolic cosine of each element.",
)
asin = unary(
    "asin",
    FLOATING,
    "asin_f32({0})",
    lambda np, x: np.arcsin(x),
    vjp=lambda g, y, x, _: (g / sqrt(1 - square(x)),),
    cost=24,
    doc="Arc sine of each element, in radians; NaN outside [-1, 1].",
)
acos = unary(
    "acos",
    FLOATING,
    "acos_f32({0})",
    lambda np, x: np.arccos(x),
    vjp=lambda g, y, x, _: (-(g / sqrt(1 - square(x))),),
    cost=24,
    doc="Arc cosine of each element, in radians; NaN outside [-1, 1].",
)
atan = unary(
    "atan",
    FLOATING,
    "atan_f32({0})",
    lambda np, x: np.arctan(x),
    vjp=lambda g, y, x, _: (g / (1 + square(x)),),
    cost=16,
    doc="Arc tangent of each element, in radians.",
)
erf = unary(
    "erf",
    FLOATING,
    "erf_f32({0})",
    lambda np, x: _erf(np, x),
    vjp=lambda g, y, x, _: (g * exp(-square(x)) * (2 / math.sqrt(math.pi)),),
    cost=40,
    doc="The error function of each element.",
)


def _erf(np: Any, x: Any) -> Any:
    """NumPy has none; Python's, element by element."""
    return np.asarray(np.frompyfunc(math.erf, 1, 1)(x), x.dtype)


# NumPy's names.
arcsin, arccos, arctan = asin, acos, atan
