"""`asarray` with something asked of the result: how it lies in memory, or what it holds."""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from typing import Any

from py_tensor.convert.conversion import asarray
from py_tensor.ops.elementwise import isfinite
from py_tensor.ops.movement import copy
from py_tensor.ops.operands import Operand
from py_tensor.ops.reduction import all
from py_tensor.tensor import Tensor

__all__ = ["asarray_chkfinite", "asfortranarray", "require"]


def asfortranarray(a: Operand, dtype: object = None, *, like: Any = None) -> Tensor:
    """`asarray` with one axis at least; memory is in column-major order.

    What lies otherwise is copied: the result is a view of a tensor with the axes reversed. `like`
    is accepted, and changes nothing.
    """
    x = asarray(a, dtype, "F", op="asfortranarray")
    return x if x.ndim else x.reshape(1)


def asarray_chkfinite(a: Operand, dtype: object = None, order: str | None = None) -> Tensor:
    """`asarray` of finite numbers, which are looked at: one bool is read.

    `order` is as of `asarray`.

    Raises
    ------
    ValueError
        For NaN or an infinity.
    """
    x = asarray(a, dtype, order, op="asarray_chkfinite")
    if x.dtype.kind in "fc" and not bool(all(isfinite(x))):
        raise ValueError("asarray_chkfinite: the array contains infinities or NaN")
    return x


_FLAGS = {
    **dict.fromkeys(("C", "C_CONTIGUOUS", "CONTIGUOUS"), "C"),
    **dict.fromkeys(("F", "F_CONTIGUOUS", "FORTRAN"), "F"),
    **dict.fromkeys(("A", "ALIGNED"), "A"),
    **dict.fromkeys(("W", "WRITEABLE"), "W"),
    **dict.fromkeys(("O", "OWNDATA"), "O"),
    **dict.fromkeys(("E", "ENSUREARRAY"), "E"),
}


def require(
    a: Operand,
    dtype: object = None,
    requirements: str | Sequence[str] | None = None,
    *,
    like: Any = None,
) -> Tensor:
    """`asarray` with memory of its own ("O"), that may be written to ("W"), row-major ("C").

    A copy where the tensor is otherwise. "F" asks for column-major memory: a copy is a view of a
    tensor with the axes reversed, which "O" does not allow. "A" (aligned) and "E" (no subclass)
    always hold. `like` is accepted, and changes nothing.

    Raises
    ------
    ValueError
        For another requirement, for "C" together with "F", and for "F" together with "O" where
        the tensor has several axes.
    """
    wanted = {_FLAGS.get(each.upper(), each) for each in requirements or ()}
    unknown = wanted - {*_FLAGS.values()}
    if unknown or wanted >= {"C", "F"}:
        raise ValueError(f"require: requirements must be of C, F, A, W, O, E, not {requirements!r}")
    x = asarray(a, dtype, op="require")
    flags = x.flags
    fits = {
        "C": flags.c_contiguous,
        "F": flags.f_contiguous,
        "W": flags.writeable,
        "O": flags.owndata,
    }
    if builtins.all(fits.get(each, True) for each in wanted):
        return x
    if wanted >= {"F", "O"} and x.ndim > 1:
        raise ValueError("require: F and O exclude each other; owned memory is row-major")
    return copy(x, "F" if "F" in wanted else "C")
