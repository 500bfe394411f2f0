"""Conversions to and from complex tensors that depend on the elements."""

from __future__ import annotations

from py_tensor.base import dtypes
from py_tensor.numpy import numeric
from py_tensor.ops.movement import converted
from py_tensor.ops.operands import Operand, Real
from py_tensor.ops.sorting import sort
from py_tensor.tensors.tensor import Tensor, tensor_of

__all__ = ["real_if_close", "sort_complex"]


def real_if_close(a: Operand, tol: Real = 100) -> Tensor:
    """Return the real parts if all imaginary parts are below `tol`, else the input.

    Parameters
    ----------
    tol
        A value above 1 is multiplied by the precision of the dtype.
    """
    x = tensor_of(a, "real_if_close")
    if not x.dtype.is_complex:
        return x
    bound = numeric.finfo(x.dtype).eps * tol if tol > 1 else tol
    return x.real if bool((abs(x.imag) < bound).all()) else x


def sort_complex(a: Operand) -> Tensor:
    """Sort along the last axis as complex numbers: by real, then by imaginary part."""
    x = sort(tensor_of(a, "sort_complex"))
    return converted(x, dtypes.complex_of(x.dtype))
