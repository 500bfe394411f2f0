"""Properties of an operand as functions: shape, size, and whether it is a scalar."""

from __future__ import annotations

import math
from numbers import Number

from py_tensor.base.shapes import Shape, broadcast, normalize_axes, parse_shape
from py_tensor.ops.operands import Operand, numbers_of, tensors_of
from py_tensor.ops.reduction import Axes
from py_tensor.tensors.tensor import Tensor

__all__ = ["array_equiv", "broadcast_shapes", "isscalar", "iterable", "ndim", "shape", "size"]


def shape(a: Operand) -> Shape:
    """Return the shape of a tensor, array or nested list (not ragged); () for others."""
    if hasattr(a, "shape"):
        return tuple(a.shape)
    return numbers_of("shape", a)[1] if isinstance(a, list | tuple | range) else ()


def ndim(a: Operand) -> int:
    """Return the number of axes."""
    return len(shape(a))


def size(a: Operand, axis: Axes = None) -> int:
    """Return the number of elements, or their number along `axis`, which may be several axes."""
    sizes = shape(a)
    return math.prod(sizes[axis] for axis in normalize_axes("size", axis, len(sizes)))


def broadcast_shapes(*args: int | Shape) -> Shape:
    """Return the shape that all shapes broadcast to. Raises ShapeError if there is none."""
    return broadcast("broadcast_shapes", *(parse_shape("broadcast_shapes", s) for s in args))


def isscalar(element: object) -> bool:
    """Return whether `element` is a number or string of Python, or a NumPy scalar.

    0-d results of ops and single elements of tensors are scalars too.
    """
    if isinstance(element, Tensor):
        return element.is_scalar
    return isinstance(element, Number | str | bytes) or (
        getattr(element, "shape", None) == () and not hasattr(element, "__array_function__")
    )


def iterable(y: object) -> bool:
    """Return whether `y` can be iterated over."""
    try:
        iter(y)  # type: ignore[call-overload]
    except TypeError:
        return False
    return True


def array_equiv(a1: Operand, a2: Operand) -> bool:
    """Return whether two operands broadcast and have equal elements; reads the result.

    Operands that are not arrays of numbers are unequal to any tensor.
    """
    try:
        a, b = tensors_of("array_equiv", (a1, a2))
        return bool((a == b).all())
    except (TypeError, ValueError):
        return False
