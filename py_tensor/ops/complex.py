"""Complex numbers: parts, conjugates, angles and tests for real values."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, cast

from py_tensor.base import dtypes
from py_tensor.base.dtypes import ANY
from py_tensor.ir.primitives import COMPLEX, IMAG_PART, REAL_PART
from py_tensor.ops.arithmetic import arctan2
from py_tensor.ops.creation import ones_like, zeros_like
from py_tensor.ops.define import unary
from py_tensor.ops.elementwise import equal, not_equal, sqrt, square, where
from py_tensor.ops.movement import as_floating, view_by
from py_tensor.ops.operands import Operand
from py_tensor.ops.record import apply
from py_tensor.tensors.tensor import Tensor, install, tensor_of

__all__ = [
    "angle", "conj", "conjugate", "imag", "iscomplex", "iscomplexobj", "isreal", "isrealobj",
    "real",
]  # fmt: skip


@unary(ANY, {"complex64": "conj_complex64({0})", "*": "{0}"}, vjp=lambda g, y, x, _: (g.conj(),))
def conjugate(np: Any, x: Any) -> Any:
    """Complex conjugate of each element; elements of real dtypes are unchanged."""
    return np.conjugate(x) if np.iscomplexobj(x) else x


def parts_of(x: Tensor) -> tuple[Tensor, Tensor]:
    """Return the real and the imaginary parts of complex numbers, as new tensors."""
    return apply(REAL_PART, (x,)), apply(IMAG_PART, (x,))


def joined(real: Tensor, imag: Tensor) -> Tensor:
    """Return complex numbers with these real and imaginary parts."""
    return apply(COMPLEX, (real, imag))


def real(val: Operand) -> Tensor:
    """Real part of each element, as a view; a tensor of a real dtype is returned unchanged."""
    return tensor_of(val, "real").real


def imag(val: Operand) -> Tensor:
    """Imaginary part of each element, as a view; read-only zeros for a real dtype."""
    return tensor_of(val, "imag").imag


def _real(self: Tensor) -> Tensor:
    """Real part of each element, as a view that can be assigned to."""
    return view_by(self, self._layout, part=REAL_PART) if self.dtype.is_complex else self  # pyright: ignore[reportPrivateUsage]


def _imag(self: Tensor) -> Tensor:
    """Imaginary part of each element, as a view that can be assigned to; zeros for a real dtype."""
    if self.dtype.is_complex:
        return view_by(self, self._layout, part=IMAG_PART)  # pyright: ignore[reportPrivateUsage]
    made = zeros_like(self)
    if not self.is_scalar:
        made.flags.writeable = False
    return made


def _set_real(self: Tensor, value: Operand) -> None:
    self.real[...] = value


def _set_imag(self: Tensor, value: Operand) -> None:
    if not self.dtype.is_complex:
        raise TypeError(f"imag: {self.dtype} has no imaginary part to set")
    self.imag[...] = value


def angle(z: Operand, deg: bool = False) -> Tensor:
    """Angle of each complex number in [-pi, pi], in radians; pi for a negative real number.

    Parameters
    ----------
    deg : bool
        Whether to return degrees.
    """
    z = as_floating(z, "angle")
    real, imag = parts_of(z) if z.dtype.is_complex else (z, 0.0)
    radians = arctan2(imag, real)
    return radians * (180 / math.pi) if deg else radians


def squared_length(x: Tensor) -> Tensor:
    """Squared absolute value of each element, as a real number."""
    if not x.dtype.is_complex:
        return square(x)
    real, imag = parts_of(x)
    return square(real) + square(imag)


def _grad_root(g: Tensor, y: Tensor, x: Tensor, _: None) -> tuple[Tensor]:
    return (g / where(equal(y, 0), math.inf, 2 * y),)


_ROOT = replace(cast("Any", sqrt).op, vjp=_grad_root)


def root_of_squares(squares: Tensor) -> Tensor:
    """Return the square root of a sum of squares: its derivative at 0 is 0."""
    return apply(_ROOT, (squares,))


def isreal(x: Operand) -> Tensor:
    """Return whether the imaginary part of each element is 0."""
    x = tensor_of(x, "isreal")
    return equal(parts_of(x)[1], 0) if x.dtype.is_complex else ones_like(x, dtypes.bool_)


def iscomplex(x: Operand) -> Tensor:
    """Return whether the imaginary part of each element is not 0."""
    x = tensor_of(x, "iscomplex")
    return not_equal(parts_of(x)[1], 0) if x.dtype.is_complex else zeros_like(x, dtypes.bool_)


def isrealobj(x: Any) -> bool:
    """Return whether the dtype is not complex; True for what is not an array of numbers."""
    return not iscomplexobj(x)


def iscomplexobj(x: Any) -> bool:
    """Return whether the dtype of a tensor, an array or a list is complex.

    False for what is not an array of numbers, such as a string.
    """
    kind = getattr(getattr(x, "dtype", None), "kind", None)
    if kind is not None:
        return kind == "c"
    try:
        return tensor_of(x, "iscomplexobj").dtype.is_complex
    except (TypeError, ValueError):
        return False


def conjugated(x: Tensor) -> Tensor:
    """Return the conjugates; a tensor of a real dtype is returned unchanged."""
    return conjugate(x) if x.dtype.is_complex else x


conj = conjugate
install("conj", conjugate)
install("real", property(_real, _set_real))
install("imag", property(_imag, _set_imag))
