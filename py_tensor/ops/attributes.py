"""What an operand is, as functions: its shape and size, and whether it is a scalar."""

from __future__ import annotations

from py_tensor.ops.operands import Operand, numbers_of
from py_tensor.shapes import Shape, normalize_axis
from py_tensor.tensor import Tensor, tensor_of

__all__ = ["array_equiv", "isscalar", "iterable", "ndim", "shape", "size"]


def shape(x: Operand, /) -> Shape:
    """The size of each axis, also of lists, which must not be ragged."""
    return tuple(x.shape) if hasattr(x, "shape") else numbers_of("shape", x)[1]


def ndim(x: Operand, /) -> int:
    """The number of axes."""
    return len(shape(x))


def size(x: Operand, /, axis: int | None = None) -> int:
    """The number of elements, or of those along `axis`."""
    sizes = shape(x)
    if axis is not None:
        return sizes[normalize_axis("size", axis, len(sizes))]
    count = 1
    for n in sizes:
        count *= n
    return count


def isscalar(x: object, /) -> bool:
    """Whether it is a number or a text of Python, or one of NumPy's scalars.

    Of tensors those are that stand for such a scalar: 0-d results of ops, and elements.
    """
    if isinstance(x, Tensor):
        return x.is_scalar
    return isinstance(x, int | float | complex | str | bytes) or (
        getattr(x, "shape", None) == () and not hasattr(x, "__array_function__")
    )


def iterable(x: object, /) -> bool:
    """Whether `iter` takes it."""
    try:
        iter(x)  # type: ignore[call-overload]
    except TypeError:
        return False
    return True


def array_equiv(x: Operand, y: Operand, /) -> bool:
    """Whether two operands that broadcast have equal elements; reads the answer back."""
    from py_tensor.errors import ShapeError

    try:
        return bool((tensor_of(x, "array_equiv") == tensor_of(y, "array_equiv")).all())
    except ShapeError:
        return False
