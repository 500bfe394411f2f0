"""Functions whose results are complex if an element is outside the domain of the real function.

They check the elements, so they read one bool, which waits for pending ops.
"""

from __future__ import annotations

from collections.abc import Callable

from py_tensor.base import dtypes
from py_tensor.ops import elementwise
from py_tensor.ops import transcendental as functions
from py_tensor.ops.movement import as_floating, converted
from py_tensor.ops.operands import Operand
from py_tensor.tensors.tensor import Tensor, tensor_of

__all__ = [
    "arccos", "arcsin", "arctanh", "log", "log2", "log10", "logn", "power", "sqrt",
]  # fmt: skip


def __dir__() -> list[str]:
    return __all__


def _in_domain(op: str, x: Operand, is_outside: Callable[[Tensor], Tensor]) -> Tensor:
    """Convert an operand to complex if an element is outside the real function's domain."""
    operand = tensor_of(x, op)
    if operand.dtype.is_complex or not bool(is_outside(operand).any()):
        return operand
    return converted(operand, dtypes.complex_of(operand.dtype))


def _complex_below_0(op: str, x: Operand) -> Tensor:
    return _in_domain(op, x, lambda v: v < 0)


def _complex_beyond_1(op: str, x: Operand) -> Tensor:
    return _in_domain(op, x, lambda v: abs(as_floating(v, op)) > 1)


def sqrt(x: Operand) -> Tensor:
    """Return the square root; complex if an element is negative."""
    return elementwise.sqrt(_complex_below_0("sqrt", x))


def log(x: Operand) -> Tensor:
    """Return the natural logarithm; complex if an element is negative."""
    return elementwise.log(_complex_below_0("log", x))


def log2(x: Operand) -> Tensor:
    """Return the base-2 logarithm; complex if an element is negative."""
    return functions.log2(_complex_below_0("log2", x))


def log10(x: Operand) -> Tensor:
    """Return the base-10 logarithm; complex if an element is negative."""
    return functions.log10(_complex_below_0("log10", x))


def logn(n: Operand, x: Operand) -> Tensor:
    """Return the logarithm of `x` to base `n`; complex if an element of either is negative."""
    return log(x) / log(n)


def power(x: Operand, p: Operand) -> Tensor:
    """Raise `x` to the power `p`: complex if an element of `x` is negative.

    The result is a float if an element of `p` is negative.
    """
    exponent = tensor_of(p, "power")
    if exponent.dtype.is_signed and bool((exponent < 0).any()):
        exponent = as_floating(exponent, "power")
    return elementwise.power(_complex_below_0("power", x), exponent)


def arccos(x: Operand) -> Tensor:
    """Return the inverse cosine; complex if an element is outside [-1, 1]."""
    return functions.acos(_complex_beyond_1("arccos", x))


def arcsin(x: Operand) -> Tensor:
    """Return the inverse sine; complex if an element is outside [-1, 1]."""
    return functions.asin(_complex_beyond_1("arcsin", x))


def arctanh(x: Operand) -> Tensor:
    """Return the inverse hyperbolic tangent; complex if an element is outside [-1, 1]."""
    return functions.atanh(_complex_beyond_1("arctanh", x))
