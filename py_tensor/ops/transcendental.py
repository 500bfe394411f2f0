"""More elementary functions, each with an error of at most 4 ulp."""

from __future__ import annotations

import math
from typing import Any

from py_tensor.base.dtypes import REAL_FLOATING
from py_tensor.ops.define import unary
from py_tensor.ops.elementwise import elementary, exp, sqrt, square

__all__ = [
    "acos", "acosh", "arccos", "arccosh", "arcsin", "arcsinh", "arctan", "arctanh", "asin", "asinh",
    "atan", "atanh", "cbrt", "cosh", "erf", "exp2", "expm1", "log1p", "log2", "log10", "sinh",
]  # fmt: skip


LN2, LN10 = math.log(2), math.log(10)
ERF_SLOPE = 2 / math.sqrt(math.pi)  # at 0


@elementary(vjp=lambda g, y, x, _: (g * y * LN2,), cost=12)
def exp2(x: Any) -> Any:
    """``2**x`` of each element; exact for integers."""


@elementary(vjp=lambda g, y, x, _: (g * (y + 1),), cost=16)
def expm1(np: Any, x: Any) -> Any:
    """``exp(x) - 1`` of each element, accurate near 0."""
    return _expm1_complex(np, x) if np.iscomplexobj(x) else np.expm1(x)


@elementary(vjp=lambda g, y, x, _: (g / (x * LN2),), cost=40)
def log2(x: Any) -> Any:
    """Base-2 logarithm of each element, exact for powers of 2; -inf at 0, NaN below 0."""


@elementary(vjp=lambda g, y, x, _: (g / (x * LN10),), cost=40)
def log10(x: Any) -> Any:
    """Base-10 logarithm of each element, exact for powers of 10; -inf at 0, NaN below 0."""


@elementary(vjp=lambda g, y, x, _: (g / (1 + x),), cost=16)
def log1p(np: Any, x: Any) -> Any:
    """``log(1 + x)`` of each element, accurate near 0; -inf at -1, NaN below -1."""
    return _log1p_complex(np, x) if np.iscomplexobj(x) else np.log1p(x)


@elementary(vjp=lambda g, y, x, _: (g * cosh(x),), cost=20)
def sinh(x: Any) -> Any:
    """Hyperbolic sine of each element."""


@elementary(vjp=lambda g, y, x, _: (g * sinh(x),), cost=16)
def cosh(x: Any) -> Any:
    """Hyperbolic cosine of each element."""


@elementary(vjp=lambda g, y, x, _: (g / sqrt(1 - square(x)),), cost=24)
def asin(x: Any) -> Any:
    """Arc sine of each element, in radians; NaN outside [-1, 1]."""


@elementary(vjp=lambda g, y, x, _: (-(g / sqrt(1 - square(x))),), cost=24)
def acos(x: Any) -> Any:
    """Arc cosine of each element, in radians; NaN outside [-1, 1]."""


@elementary(vjp=lambda g, y, x, _: (g / (1 + square(x)),), cost=16)
def atan(x: Any) -> Any:
    """Arc tangent of each element, in radians."""


@elementary(vjp=lambda g, y, x, _: (g / sqrt(1 + square(x)),), cost=30)
def asinh(x: Any) -> Any:
    """Inverse hyperbolic sine of each element."""


@elementary(vjp=lambda g, y, x, _: (g / (sqrt(x - 1) * sqrt(x + 1)),), cost=30)
def acosh(np: Any, x: Any) -> Any:
    """Inverse hyperbolic cosine of each element; NaN for real numbers below 1."""
    # Below 1, Pyodide's C library returns a number.
    return np.arccosh(x if np.iscomplexobj(x) else np.where(x < 1, x.dtype.type(np.nan), x))


@elementary(vjp=lambda g, y, x, _: (g / (1 - square(x)),), cost=24)
def atanh(x: Any) -> Any:
    """Inverse hyperbolic tangent of each element; NaN for real numbers outside [-1, 1]."""


@unary(REAL_FLOATING, vjp=lambda g, y, x, _: (g / (3 * square(y)),), cost=20, ulp=2, method=False)
def cbrt(x: Any) -> Any:
    """Cube root of each element, with its sign."""


@unary(REAL_FLOATING, vjp=lambda g, y, x, _: (g * exp(-square(x)) * ERF_SLOPE,), cost=40, ulp=4)
def erf(np: Any, x: Any) -> Any:
    """Error function of each element."""
    return np.asarray(np.frompyfunc(math.erf, 1, 1)(x), x.dtype)  # NumPy has no erf


def _expm1_complex(np: Any, x: Any) -> Any:
    """Return exp(x) - 1, also where NumPy's expm1 is NaN; at 0 it is +0, as in the standard."""
    result = np.asarray(np.exp(x) - x.dtype.type(1))
    is_small = np.abs(x.real) <= 1
    half = np.sin(x.imag / 2)
    small = np.expm1(np.where(is_small, x.real, 0)) * np.cos(x.imag) - 2 * half * half
    result.real[is_small] = small[is_small]
    is_real = x.imag == 0
    result.real[is_real], result.imag[is_real] = np.expm1(x.real)[is_real] + 0, x.imag[is_real]
    return result


def _log1p_complex(np: Any, x: Any) -> Any:
    """Return log1p, accurate for a small x; NumPy computes log(1 + x), which loses its digits."""
    result = np.asarray(np.log1p(x))
    is_small = np.maximum(np.abs(x.real), np.abs(x.imag)) <= 0.5
    small = np.where(is_small, x, 0)
    result.real[is_small] = (np.log1p(small.real * (2 + small.real) + small.imag**2) / 2)[is_small]
    return result


# NumPy's names.
arcsin, arccos, arctan = asin, acos, atan
arcsinh, arccosh, arctanh = asinh, acosh, atanh
