"""What an operand is, as functions: its shape, and its imaginary part, which none has."""

from __future__ import annotations

from typing import Any

from py_tensor import dtypes
from py_tensor.ops.creation import ones_like, zeros_like
from py_tensor.ops.define import register
from py_tensor.ops.operands import Operand, numbers_of
from py_tensor.shapes import Shape, normalize_axis
from py_tensor.tensor import Tensor, tensor_of

__all__ = [
    "array_equiv", "conj", "conjugate", "imag", "iscomplexobj", "isreal", "isrealobj", "isscalar",
    "iterable", "ndim", "real", "shape", "size",
]  # fmt: skip


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


def real(x: Operand, /) -> Tensor:
    """The real part of each element: the tensor itself, since no dtype is complex."""
    return tensor_of(x, "real")


def imag(x: Operand, /) -> Tensor:
    """The imaginary part of each element: 0, since no dtype is complex."""
    return zeros_like(tensor_of(x, "imag"))


def conjugate(x: Operand, /) -> Tensor:
    """The complex conjugate of each element: the element, since no dtype is complex."""
    return tensor_of(x, "conjugate").copy()


def isreal(x: Operand, /) -> Tensor:
    """Whether each element has no imaginary part: True, since no dtype is complex."""
    return ones_like(tensor_of(x, "isreal"), dtypes.bool_)


def isrealobj(x: Any, /) -> bool:
    """Whether the dtype is not complex; True of every tensor."""
    return not iscomplexobj(x)


def iscomplexobj(x: Any, /) -> bool:
    """Whether the dtype is complex; False of every tensor."""
    return isinstance(x, complex) or getattr(getattr(x, "dtype", None), "kind", "") == "c"


def array_equiv(x: Operand, y: Operand, /) -> bool:
    """Whether two operands that broadcast have equal elements; reads the answer back."""
    from py_tensor.errors import ShapeError

    try:
        return bool((tensor_of(x, "array_equiv") == tensor_of(y, "array_equiv")).all())
    except ShapeError:
        return False


conj = conjugate
for _function in (conjugate, imag, isreal, real):
    register(_function, method=False)
