"""Whether elements are equal up to a tolerance.

NumPy compares integers in float64, which the GPU lacks. There, integers are subtracted from each
other as such, and from floats as the sum of two floats (T. J. Dekker, A Floating-Point Technique
for Extending the Available Precision, 1971). Tolerances of integers are in fixed point.
"""

from __future__ import annotations

import math
from typing import TypeGuard

from py_tensor.base import dtypes
from py_tensor.base.shapes import broadcast
from py_tensor.ops.elementwise import isfinite, maximum, where
from py_tensor.ops.movement import broadcast_to, converted
from py_tensor.ops.operands import Operand, Scalar, beside, number_like, tensors_of, widest
from py_tensor.ops.record import Composition
from py_tensor.tensors.tensor import Tensor

__all__ = ["allclose", "isclose"]


def isclose(
    a: Operand, b: Operand, rtol: Operand = 1e-5, atol: Operand = 1e-8, equal_nan: bool = False
) -> Tensor:
    """Return whether ``|a - b| <= atol + rtol * |b|``, elementwise; equal infinities are close.

    Integers are compared in float64. On the GPU their differences are exact, and the tolerance is
    that of float64 for two integers and an `rtol` below 0.5, otherwise that of float32.
    """
    return _close("isclose", a, b, rtol, atol, equal_nan)


def _close(
    op: str, a: Operand, b: Operand, rtol: Operand, atol: Operand, equal_nan: bool
) -> Tensor:
    numbers = type(a) is int, type(b) is int
    a, b = tensors_of(op, (a, b))
    rtol, atol = tolerances = [_tolerance(op, v, a, b) for v in (rtol, atol)]
    # First, for an error that names this op.
    broadcast(op, a.shape, b.shape, *(v.shape for v in tolerances if isinstance(v, Tensor)))
    if numbers[0] and b.dtype.is_inexact:
        a = converted(a, b.dtype)
    elif numbers[1] and a.dtype.is_inexact:
        b = converted(b, a.dtype)
    if any(isinstance(v, Tensor) for v in tolerances):
        return _compare(a, b, rtol, atol, equal_nan)
    return _compared((a, b), rtol, atol, bool(equal_nan))


def _compare(
    a: Tensor, b: Tensor, rtol: Tensor | Scalar, atol: Tensor | Scalar, equal_nan: bool
) -> Tensor:
    if not a.dtype.is_inexact or not b.dtype.is_inexact:
        if not a.device.uses_numpy:
            return _beside_integers(a, b, rtol, atol)
        if not b.dtype.is_inexact:
            b = converted(b, dtypes.float64)
        else:
            a = converted(a, dtypes.float64)
    near = (abs(a - b) <= atol + rtol * abs(b)) & isfinite(b)
    near = near | (a == b)
    return near | ((a != a) & (b != b)) if equal_nan else near


_compared = Composition(_compare)


def _tolerance(op: str, value: Operand, a: Tensor, b: Tensor) -> Tensor | Scalar:
    number = value if isinstance(value, Tensor) else number_like(value)
    if number is not None:
        return number
    own_dtype = widest([a, b]) if a.device.uses_numpy else None  # a GPU has no float64
    return beside(own_dtype, value, op, a.device)


def _beside_integers(a: Tensor, b: Tensor, rtol: Tensor | Scalar, atol: Tensor | Scalar) -> Tensor:
    """Return `isclose` on the GPU if one operand or both are integers."""
    shape = broadcast("isclose", a.shape, b.shape)
    a, b = broadcast_to(a, shape), broadcast_to(b, shape)  # first: one kernel computes the rest
    if {a.dtype.kind, b.dtype.kind} & {*"fc"}:
        apart = abs((_rounded(a) - _rounded(b)) + (_lost(a) - _lost(b)))
    else:
        is_long = b.dtype.is_wide
        common = dtypes.promote(a.dtype, b.dtype)
        if not common.is_inexact:
            common = dtypes.longest(common)
            a, b = converted(a, common), converted(b, common)
            apart = converted(where(a > b, a - b, b - a), dtypes.uint64)
        else:
            a, b = _wide(a), _wide(b)
            apart = _apart_from_unsigned(a, b) if a.dtype.is_signed else _apart_from_unsigned(b, a)
        if _is_within(rtol, 0.5) and _is_within(atol, 2**62):
            return apart <= _reach(abs(b), float(rtol), float(atol), is_long)
    b = _rounded(b)
    return ((apart <= atol + rtol * abs(b)) & isfinite(b)) | (apart == 0)


def _apart_from_unsigned(x: Tensor, y: Tensor) -> Tensor:
    """Return the distance of int64 from uint64, as uint64; at least 2**63 if it is more."""
    bits = converted(x, dtypes.uint64)
    of_negative = maximum(y - bits, y)  # the sum of both sizes, unless that wraps around
    return where(x < 0, of_negative, where(y > bits, y - bits, bits - y))


def _wide(x: Tensor) -> Tensor:
    return converted(x, dtypes.longest(x.dtype))


def _is_within(number: object, end: float) -> TypeGuard[float]:
    return isinstance(number, int | float) and 0 <= number < end


def _reach(size: Tensor, share: float, least: float, is_long: bool) -> Tensor | int:
    """Return the integer part of ``least + share * size``, as in float64.

    The size is the bits of a uint64, below 2**32 unless `is_long`. The share is two 31-bit integers
    times a power of 2, and rounded up, because float64 rounds products to integers.
    """
    whole = math.floor(least)
    if not share:
        return whole
    bits = min(31 - math.frexp(share)[1], 62)
    scaled = math.ldexp(math.nextafter(share, 1), bits)
    first = math.floor(scaled)
    second = math.ceil(math.ldexp(scaled - first, 31))
    rest = math.ceil(math.ldexp(least - whole, bits))
    size = converted(size, dtypes.uint64)
    high, low = size >> 32 if is_long else 0, size & 0xFFFFFFFF
    between = high * second
    low = low * first + (low * second >> 31) + ((between & 0x7FFFFFFF) << 1) + (rest + 1)
    return ((high * first + (between >> 31) + (low >> 32)) >> (bits - 32)) + whole


def _rounded(x: Tensor) -> Tensor:
    """Convert integers to float32."""
    return x if x.dtype.is_inexact else converted(x, dtypes.float32)


def _lost(x: Tensor) -> Tensor | float:
    """Return what a tensor loses by `_rounded`, as float32."""
    if x.dtype.is_inexact or x.dtype.is_packed:
        return 0.0
    whole = _wide(x)
    rest = whole - converted(_rounded(x), whole.dtype)  # modulo 2**64
    return converted(converted(rest, dtypes.int64), dtypes.float32)


def allclose(
    a: Operand, b: Operand, rtol: Operand = 1e-5, atol: Operand = 1e-8, equal_nan: bool = False
) -> bool:
    """Return whether `isclose` is true for all elements; reads the result."""
    return bool(_close("allclose", a, b, rtol, atol, equal_nan).all())
