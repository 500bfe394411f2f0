"""Methods of the memory of tensors: its bytes, as another dtype, in files, and what it allows."""

from __future__ import annotations

from typing import Any

from py_tensor.dtypes import typed
from py_tensor.ops.operands import Operand
from py_tensor.tensor import Tensor, install, tensor_of

__all__ = ["isfortran"]


def _view(self: Tensor, dtype: Any = None, type: Any = None) -> Tensor:
    """The same memory as elements of another dtype; without one, another view of it.

    Parameters
    ----------
    dtype
        Of the same size: the result is a view, which may be assigned. Of another size: the last
        axis is longer or shorter, as in NumPy, and the result is a read-only copy.
    type
        Nothing but the class of tensors, which may be the first argument as well.

    Raises
    ------
    ShapeError
        Where the size differs, for no axis, or for bytes along the last axis that are no whole
        elements.
    ValueError
        Where the size differs, and the elements along the last axis do not follow each other.
    DTypeError
        For float64 and complex128 on a GPU.
    """
    from py_tensor.ops.reinterpret import view

    return view(self, dtype, type)


def _byteswap(self: Tensor, inplace: bool = False) -> Tensor:
    """The elements with their bytes in the opposite order: of complex ones those of each part.

    Parameters
    ----------
    inplace : bool
        Whether they are written to the tensor, which is the result then.
    """
    from py_tensor.ops.reinterpret import byteswap

    return byteswap(self, inplace)


def _data(self: Tensor) -> memoryview:
    """A copy of the elements in the host's memory, which is read-only."""
    if self.dtype.typecode == "e" or self.dtype.kind == "c":  # for which a memoryview has no format
        return typed(memoryview(self.tobytes()), "B")
    return typed(memoryview(self.tobytes()), self.dtype.typecode, self.shape if self.size else None)


def _tofile(self: Tensor, fid: Any, sep: str = "", format: str = "%s") -> None:
    """Write the elements to a file in row-major order, as NumPy does.

    Parameters
    ----------
    fid : str, path or file
    sep : str
        What stands between the elements as text; without it the file gets their bytes.
    format : str
        Of each element as text, by Python's operator ``%``.
    """
    if not hasattr(fid, "write"):
        with open(fid, "wb") as opened:
            _tofile(self, opened, sep, format)
    elif sep:
        fid.write(sep.join(format % (v,) for v in self.ravel().tolist()).encode("latin1"))
    else:
        fid.write(self.tobytes())


def _dumps(self: Tensor) -> bytes:
    """The tensor as a pickle."""
    import pickle

    return pickle.dumps(self)


def _dump(self: Tensor, file: Any) -> None:
    """Write the tensor to a file, or to one of a name, as a pickle."""
    if hasattr(file, "write"):
        file.write(_dumps(self))
    else:
        with open(file, "wb") as opened:
            opened.write(_dumps(self))


def _setflags(
    self: Tensor, write: bool | None = None, align: bool | None = None, uic: bool | None = None
) -> None:
    """Say whether elements may be assigned, as ``x.flags.writeable`` does.

    Raises
    ------
    ValueError
        For a writeable view of what is read-only; for `align` False or `uic` True, which no tensor
        is.
    """
    if align is not None and not align:
        raise ValueError("setflags: align cannot be False; elements are always aligned")
    if uic:
        raise ValueError("setflags: writebackifcopy is not supported")
    if write is not None:
        self.flags.writeable = write


def isfortran(a: Operand) -> bool:
    """Whether the elements lie in column-major order, and not in row-major order as well.

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
