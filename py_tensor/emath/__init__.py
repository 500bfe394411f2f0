"""Functions whose results are complex if an element is outside the domain of the real function.

They check the elements, so they read one bool, which waits for pending ops.
"""

from __future__ import annotations

from py_tensor.base import dtypes
from py_tensor.ops import elementwise
from py_tensor.ops import transcendental as functions
from py_tensor.ops.elementwise import abs, less
from py_tensor.ops.movement import as_floating, converted
from py_tensor.ops.operands import Operand
from py_tensor.ops.reduction import any
from py_tensor.tensors.tensor import Tensor, tensor_of

__all__ = [
    "arccos", "arcsin", "arctanh", "log", "log2", "log10", "logn", "power", "sqrt",
]  # fmt: skip


def __dir__() -> list[str]:
    return __all__


def _is_beyond(outside: Tensor) -> bool:
    return bool(any(outside))


def _complex_below_0(op: str, x: Operand) -> Tensor:
    operand = tensor_of(x, op)
    if operand.dtype.is_complex or not _is_beyond(less(operand, 0)):
        return operand
    return converted(operand, dtypes.complex_of(operand.dtype))


def _complex_beyond_1(op: str, x: Operand) -> Tensor:
    operand = tensor_of(x, op)
    if operand.dtype.is_complex or not _is_beyond(abs(as_floating(operand, op)) > 1):
        return operand
    return converted(operand, dtypes.complex_of(operand.dtype))


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
    if exponent.dtype.is_signed and _is_beyond(less(exponent, 0)):
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
