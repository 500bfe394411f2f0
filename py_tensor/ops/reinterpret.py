"""Reinterpreting the memory of a tensor: `view` and `byteswap`."""

from __future__ import annotations

from typing import Any

from py_tensor.base import dtypes
from py_tensor.base.dtypes import DType
from py_tensor.base.errors import DTypeError, ShapeError
from py_tensor.ir.primitives import bits
from py_tensor.ops.bitwise import left_shift, right_shift
from py_tensor.ops.complex import joined, parts_of
from py_tensor.ops.creation import arange
from py_tensor.ops.movement import converted, flip, reshape_copy, stack, view_by
from py_tensor.ops.record import apply
from py_tensor.ops.reduction import sum as total
from py_tensor.tensors.tensor import Tensor

_UNSIGNED = {1: dtypes.uint8, 2: dtypes.uint16, 4: dtypes.uint32, 8: dtypes.uint64}


def view(x: Tensor, dtype: Any = None, type: Any = None) -> Tensor:
    """Implement `Tensor.view`."""
    if isinstance(dtype, int | tuple):
        raise TypeError("view: takes a dtype; use x.reshape(...) to change the shape")
    if Tensor in getattr(dtype, "__mro__", ()):
        dtype, type = None, dtype
    if type not in (None, Tensor):
        raise TypeError(
            f"view: type must be Tensor, not {type!r}; a class can hold a tensor in an attribute"
        )
    if dtype is None:
        return view_by(x, x._layout)  # pyright: ignore[reportPrivateUsage]
    target = dtypes.parse(dtype)
    if not x.device.uses_numpy and not target.on_gpu:
        raise DTypeError(f"view: {target} is not available on {x.device}")
    if target.itemsize == x.itemsize:
        return x._view_bits(target)  # pyright: ignore[reportPrivateUsage]
    return _resized(x, target)._read_only()  # pyright: ignore[reportPrivateUsage]


def _resized(x: Tensor, target: DType) -> Tensor:
    """Return the bytes along the last axis as elements of another size."""
    if not x.ndim:
        raise ShapeError(f"view: {x.dtype} of shape () does not have the bytes of {target}")
    steps = x._steps  # pyright: ignore[reportPrivateUsage]
    if x.shape[-1] != 1 and steps[-1] != x.itemsize and x.size:
        raise ValueError(f"view: {target} has another size: the last axis must be contiguous")
    if x.shape[-1] * x.itemsize % target.itemsize:
        raise ShapeError(
            f"view: {x.shape[-1]} elements of {x.dtype} are not a whole number of {target}"
        )
    return _joined(x, target) if target.itemsize > x.itemsize else _parted(x, target)


def _bits(x: Tensor, target: DType) -> Tensor:
    return x if x.dtype is target else apply(bits(x.dtype, target), (x,))


def _parted(x: Tensor, target: DType) -> Tensor:
    """Split each element into several smaller ones, the lowest bits first."""
    shape = (*x.shape[:-1], x.shape[-1] * x.itemsize // target.itemsize)
    if x.dtype.is_complex:
        parts = stack(parts_of(x), -1)
        whole = reshape_copy(parts, (*x.shape[:-1], 2 * x.shape[-1]))
        return _bits(whole, target) if whole.itemsize == target.itemsize else _parted(whole, target)
    whole, small = _UNSIGNED[x.itemsize], _UNSIGNED[target.itemsize]
    shifted = right_shift(_bits(x, whole)[..., None], _shifts(x, whole, target.itemsize))
    return _bits(reshape_copy(converted(shifted, small), shape), target)


def _joined(x: Tensor, target: DType) -> Tensor:
    """Join groups of elements into larger ones."""
    if target.is_complex:
        component = dtypes.real_of(target)
        pairs = _bits(x, component) if x.itemsize == component.itemsize else _joined(x, component)
        return joined(pairs[..., ::2], pairs[..., 1::2])
    whole, count = _UNSIGNED[target.itemsize], target.itemsize // x.itemsize
    parts = converted(_bits(x, _UNSIGNED[x.itemsize]), whole)
    parts = reshape_copy(parts, (*x.shape[:-1], x.shape[-1] // count, count))
    return _bits(total(left_shift(parts, _shifts(x, whole, x.itemsize)), -1, whole), target)


def _shifts(x: Tensor, whole: DType, size: int) -> Tensor:
    """Return the shift of each part of an element relative to the first, in bits."""
    return arange(0, 8 * whole.itemsize, 8 * size, dtype=whole, device=x.device)


def byteswap(x: Tensor, inplace: bool = False) -> Tensor:
    """Implement `Tensor.byteswap`."""
    component = dtypes.real_of(x.dtype)
    if component.itemsize == 1:
        swapped = x.copy()
    else:
        shape = (*x.shape, x.itemsize // component.itemsize, component.itemsize)
        octets = reshape_copy(_parted_bytes(x), shape)
        swapped = reshape_copy(flip(octets, -1), (*x.shape, x.itemsize))
        swapped = reshape_copy(_joined(swapped, x.dtype), x.shape)
    if not inplace:
        return swapped
    x[...] = swapped
    return x


def _parted_bytes(x: Tensor) -> Tensor:
    return _parted(reshape_copy(x, (*x.shape, 1)), dtypes.uint8)
