"""Methods for the memory of tensors: bytes, other dtypes, files and flags."""

from __future__ import annotations

from typing import Any

from py_tensor.base import dtypes
from py_tensor.base.dtypes import DType, typed
from py_tensor.base.errors import DTypeError, ShapeError
from py_tensor.ir.primitives import bits
from py_tensor.ops.bitwise import left_shift, right_shift
from py_tensor.ops.complex import joined, parts_of
from py_tensor.ops.creation import arange
from py_tensor.ops.movement import converted, flip, reshape_copy, stack, view_by
from py_tensor.ops.operands import Operand
from py_tensor.ops.record import apply
from py_tensor.ops.reduction import sum as total
from py_tensor.tensors.tensor import Tensor, install, tensor_of

__all__ = ["isfortran"]

_UNSIGNED = {1: dtypes.uint8, 2: dtypes.uint16, 4: dtypes.uint32, 8: dtypes.uint64}


def _view(x: Tensor, dtype: Any = None, type: Any = None) -> Tensor:
    """View the memory as another dtype; without a dtype, return a new view.

    Parameters
    ----------
    dtype
        With the same size, the result is a view, writable if the tensor is. With another size, the
        last axis is longer or shorter, as in NumPy, and the result is a read-only copy.
    type
        Only `Tensor` is supported, which may be the first argument as well.

    Raises
    ------
    ShapeError
        If the size differs and the tensor is 0-d, or the bytes along the last axis are not a whole
        number of elements.
    ValueError
        If the size differs and the last axis is not contiguous.
    DTypeError
        If the dtype is float64 or complex128 on a GPU.
    """
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
        components = stack(parts_of(x), -1)
        whole = reshape_copy(components, (*x.shape[:-1], 2 * x.shape[-1]))
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
    groups = converted(_bits(x, _UNSIGNED[x.itemsize]), whole)
    groups = reshape_copy(groups, (*x.shape[:-1], x.shape[-1] // count, count))
    return _bits(total(left_shift(groups, _shifts(x, whole, x.itemsize)), -1, whole), target)


def _shifts(x: Tensor, whole: DType, size: int) -> Tensor:
    """Return the shift of each part of an element relative to the first, in bits."""
    return arange(0, 8 * whole.itemsize, 8 * size, dtype=whole, device=x.device)


def _byteswap(x: Tensor, inplace: bool = False) -> Tensor:
    """Swap the bytes of each element; for complex elements, of each part.

    Parameters
    ----------
    inplace : bool
        Whether to write to the tensor, which is returned.
    """
    component = dtypes.real_of(x.dtype)
    if component.itemsize == 1:
        swapped = x.copy()
    else:
        shape = (*x.shape, x.itemsize // component.itemsize, component.itemsize)
        octets = reshape_copy(_parted(reshape_copy(x, (*x.shape, 1)), dtypes.uint8), shape)
        swapped = reshape_copy(flip(octets, -1), (*x.shape, x.itemsize))
        swapped = reshape_copy(_joined(swapped, x.dtype), x.shape)
    if not inplace:
        return swapped
    x[...] = swapped
    return x


def _data(self: Tensor) -> memoryview:
    """Return a read-only copy of the elements in host memory."""
    code = self.dtype.view_code
    if code is None:
        return typed(memoryview(self.tobytes()), "B")
    return typed(memoryview(self.tobytes()), code, self.shape if self.size else None)


def _tofile(self: Tensor, fid: Any, sep: str = "", format: str = "%s") -> None:
    """Write the elements to a file in row-major order, as in NumPy.

    Parameters
    ----------
    fid : str, path or file
    sep : str
        The separator between elements as text; if empty, the bytes are written.
    format : str
        The format of each element as text, for Python's operator ``%``.
    """
    text = sep and sep.join(format % (v,) for v in self.ravel().tolist())
    _write(fid, text.encode("latin1") if sep else self.tobytes())


def _write(fid: Any, data: bytes) -> None:
    if hasattr(fid, "write"):
        fid.write(data)
    else:
        with open(fid, "wb") as opened:
            opened.write(data)


def _dumps(self: Tensor) -> bytes:
    """Return the tensor as a pickle."""
    import pickle

    return pickle.dumps(self)


def _dump(self: Tensor, file: Any) -> None:
    """Write the tensor as a pickle to a file object or path."""
    _write(file, _dumps(self))


def _setflags(
    self: Tensor, write: bool | None = None, align: bool | None = None, uic: bool | None = None
) -> None:
    """Set whether elements can be assigned, as ``x.flags.writeable`` does.

    `align` is accepted and has no effect: elements are always aligned.

    Raises
    ------
    ValueError
        If the base of a view is read-only; for ``uic=True``, which is not supported.
    """
    if uic:
        raise ValueError("setflags: writebackifcopy is not supported")
    if write is not None:
        self.flags.writeable = write


def isfortran(a: Operand) -> bool:
    """Return whether the elements are in column-major but not in row-major order.

    Examples
    --------
    >>> import py_tensor as pt
    >>> pt.isfortran(pt.ones((2, 3)).T)
    True
    """
    flags = tensor_of(a, "isfortran").flags
    return flags.f_contiguous and not flags.c_contiguous


install("view", _view)
install("byteswap", _byteswap)
install("data", property(_data))
install("tofile", _tofile)
install("dump", _dump)
install("dumps", _dumps)
install("setflags", _setflags)
