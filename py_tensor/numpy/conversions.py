"""Conversions to tensors: from DLPack, and with requirements on memory layout or elements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from py_tensor.base import dtypes
from py_tensor.convert.conversion import asarray
from py_tensor.convert.dlpack import BfloatAsBits
from py_tensor.ir.node import Device
from py_tensor.ops.elementwise import isfinite
from py_tensor.ops.movement import copy
from py_tensor.ops.operands import Operand
from py_tensor.runtime.host import host
from py_tensor.tensors.tensor import Tensor

__all__ = ["asarray_chkfinite", "asfortranarray", "from_dlpack", "require"]


def asfortranarray(a: Operand, dtype: object = None, *, like: Any = None) -> Tensor:
    """Convert to a tensor in column-major order with at least one axis.

    A tensor in another order is copied; the result is a view of a tensor with its axes reversed.
    `like` is accepted and has no effect.
    """
    x = asarray(a, dtype, "F", op="asfortranarray")
    return x if x.ndim else x.reshape(1)


def asarray_chkfinite(a: Operand, dtype: object = None, order: str | None = None) -> Tensor:
    """Convert to a tensor and check that all elements are finite; reads one bool.

    `order` is as in `asarray`.

    Raises
    ------
    ValueError
        If an element is NaN or infinite.
    """
    x = asarray(a, dtype, order, op="asarray_chkfinite")
    if x.dtype.is_inexact and not bool(isfinite(x).all()):
        raise ValueError("asarray_chkfinite: the array contains infinities or NaN")
    return x


_REQUIREMENTS = (
    *("C", "C_CONTIGUOUS", "CONTIGUOUS", "F", "F_CONTIGUOUS", "FORTRAN", "A", "ALIGNED"),
    *("W", "WRITEABLE", "O", "OWNDATA", "E", "ENSUREARRAY"),
)
"""What `require` takes; the first letter says what is meant."""


def require(
    a: Operand,
    dtype: object = None,
    requirements: str | Sequence[str] | None = None,
    *,
    like: Any = None,
) -> Tensor:
    """Convert to a tensor that owns its memory ("O"), is writeable ("W") or row-major ("C").

    A tensor that does not satisfy the requirements is copied. "F" requests column-major memory: a
    copy is a view of a tensor with its axes reversed, which "O" excludes. "A" (aligned) and "E" (no
    subclass) are always satisfied. `like` is accepted and has no effect.

    Raises
    ------
    ValueError
        If a requirement is unknown, "C" is combined with "F", or "F" is combined with "O" and the
        tensor has several axes.
    """
    names = {each.upper() for each in requirements or ()}
    wanted = {name[:1] for name in names}
    if wanted >= {"C", "F"}:
        raise ValueError("require: C and F exclude each other")
    if not names <= {*_REQUIREMENTS}:
        raise ValueError(f"require: requirements must be of C, F, A, W, O, E, not {requirements!r}")
    x = asarray(a, dtype, op="require")
    if all(x.flags[each] for each in wanted - {"E"}):
        return x
    if wanted >= {"F", "O"} and x.ndim > 1:
        raise ValueError("require: F and O exclude each other; owned memory is row-major")
    return copy(x, "F" if "F" in wanted else "C")


_HOST_MEMORY = (1, 3, 11, 13)  # DLPack's device types of host memory


def from_dlpack(
    x: Any, /, *, device: str | Device | None = None, copy: bool | None = None
) -> Tensor:
    """Create a tensor from a DLPack object, as a copy made by NumPy.

    A copy in host memory is requested from an object on another device.

    Raises
    ------
    BufferError
        If `copy` is False, or the object cannot export a copy in host memory.
    """
    if isinstance(x, Tensor):
        return asarray(x, device=device, copy=copy)
    if copy is False:
        raise BufferError("from_dlpack: copy=False is not supported; a tensor owns its memory")
    kind, number = map(int, x.__dlpack_device__())
    bits = BfloatAsBits(x)
    try:
        array = host.load_numpy().from_dlpack(bits, device=None if kind in _HOST_MEMORY else "cpu")
    except BufferError as error:
        if kind in _HOST_MEMORY:
            raise
        raise BufferError(
            f"from_dlpack: the memory is on device ({kind}, {number}), not on the host ({error});"
            " copy the array to host memory first"
        ) from None
    x = asarray(array, dtypes.parse(array.dtype), device=device, op="from_dlpack")
    return x.view("bfloat16").copy() if bits.is_bfloat else x
