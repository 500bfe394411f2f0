"""Methods for the memory of tensors: bytes, other dtypes, files and flags."""

from __future__ import annotations

from typing import Any

from py_tensor.base.dtypes import typed
from py_tensor.ops.operands import Operand
from py_tensor.tensors.tensor import Tensor, install, tensor_of

__all__ = ["isfortran"]


def _view(self: Tensor, dtype: Any = None, type: Any = None) -> Tensor:
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
    from py_tensor.ops.reinterpret import view

    return view(self, dtype, type)


def _byteswap(self: Tensor, inplace: bool = False) -> Tensor:
    """Swap the bytes of each element; for complex elements, of each part.

    Parameters
    ----------
    inplace : bool
        Whether to write to the tensor, which is returned.
    """
    from py_tensor.ops.reinterpret import byteswap

    return byteswap(self, inplace)


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
    if not hasattr(fid, "write"):
        with open(fid, "wb") as opened:
            _tofile(self, opened, sep, format)
    elif sep:
        fid.write(sep.join(format % (v,) for v in self.ravel().tolist()).encode("latin1"))
    else:
        fid.write(self.tobytes())


def _dumps(self: Tensor) -> bytes:
    """Return the tensor as a pickle."""
    import pickle

    return pickle.dumps(self)


def _dump(self: Tensor, file: Any) -> None:
    """Write the tensor as a pickle to a file object or path."""
    if hasattr(file, "write"):
        file.write(_dumps(self))
    else:
        with open(file, "wb") as opened:
            opened.write(_dumps(self))


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
