"""What an operand is, as functions: its shape and size, and whether it is a scalar."""

from __future__ import annotations

from py_tensor.ops.operands import Operand, numbers_of
from py_tensor.shapes import Shape, normalize_axis
from py_tensor.tensor import Tensor, tensor_of

__all__ = ["array_equiv", "isscalar", "iterable", "ndim", "shape", "size"]


def shape(a: Operand) -> Shape:
    """The size of each axis, also of lists, which must not be ragged; any other object has none."""
    if hasattr(a, "shape"):
        return tuple(a.shape)
    return numbers_of("shape", a)[1] if isinstance(a, list | tuple | range) else ()


def ndim(a: Operand) -> int:
    """The number of axes."""
    return len(shape(a))


def size(a: Operand, axis: int | None = None) -> int:
    """The number of elements, or of those along `axis`."""
    sizes = shape(a)
    if axis is not None:
        return sizes[normalize_axis("size", axis, len(sizes))]
    count = 1
    for n in sizes:
        count *= n
    return count


def isscalar(element: object) -> bool:
    """Whether it is a number or a text of Python, or one of NumPy's scalars.

    Of tensors those are that stand for such a scalar: 0-d results of ops, and elements.
    """
    if isinstance(element, Tensor):
        return element.is_scalar
    return isinstance(element, int | float | complex | str | bytes) or (
        getattr(element, "shape", None) == () and not hasattr(element, "__array_function__")
    )


def iterable(y: object) -> bool:
    """Whether `iter` takes it."""
    try:
        iter(y)  # type: ignore[call-overload]
    except TypeError:
        return False
    return True


def array_equiv(a1: Operand, a2: Operand) -> bool:
    """Whether two operands that broadcast have equal elements; reads the answer back.

    No tensor equals what is no array of numbers.
    """
    try:
        return bool((tensor_of(a1, "array_equiv") == tensor_of(a2, "array_equiv")).all())
    except (TypeError, ValueError):
        return False
