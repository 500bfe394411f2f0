"""What functions of polynomials share: coefficients without zeros at their end, and domains."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any

from py_tensor import dtypes
from py_tensor.errors import ShapeError
from py_tensor.ops.complex import joined, parts_of
from py_tensor.ops.movement import as_floating, converted, ravel, stack
from py_tensor.ops.operands import Operand, numbers_of
from py_tensor.ops.reduction import max, min
from py_tensor.polynomial.polynomial import polytrim
from py_tensor.tensor import Tensor, tensor_of

__all__ = ["as_series", "getdomain", "mapdomain", "mapparms", "trimcoef", "trimseq"]


def as_series(alist: Sequence[Operand] | Tensor, trim: bool = True) -> list[Tensor]:
    """Copies of vectors of coefficients in one floating dtype; `trim` as `trimseq`, which reads.

    Raises
    ------
    ShapeError
        For coefficients that are no vector with elements.
    ValueError
        For bools.
    """
    given = [tensor_of(c, "as_series") for c in alist]
    for x in given:
        if x.ndim > 1 or not x.size:
            raise ShapeError(
                f"as_series: coefficients must be a nonempty vector, not of shape {x.shape}"
            )
        if x.dtype is dtypes.bool_:
            raise ValueError("as_series: coefficients must be numbers, not bool")
    found = [ravel(as_floating(x, "as_series")) for x in given]
    if not found:
        return []
    common = reduce(dtypes.promote, (x.dtype for x in found))
    return [converted(trimseq(x) if trim else x, common).copy() for x in found]


def trimseq(seq: Any) -> Any:
    """Coefficients without zeros at their end, but the first stays; those of a tensor are read."""
    values, shape = numbers_of("trimseq", seq)
    if not shape:
        raise TypeError("trimseq: coefficients must be a vector, not a number")
    if len(shape) > 1:
        raise ShapeError(f"trimseq: coefficients must be a vector, not of shape {shape}")
    kept = len(values)
    while kept > 1 and values[kept - 1] == 0:
        kept -= 1
    return seq[:kept] if kept < len(values) else seq


def trimcoef(c: Operand, tol: float = 0) -> Tensor:
    """The coefficients up to the last whose size is above `tol`: they are read.

    Raises
    ------
    ValueError
        For a negative `tol`, for bools, and for what is no vector with elements.
    """
    return polytrim(as_series([c], trim=False)[0], tol)


def getdomain(x: Operand) -> Tensor:
    """The least and the greatest of points: a domain for a polynomial through them.

    Of complex points it is two corners of a rectangle around them.
    """
    (points,) = as_series([x], trim=False)
    if points.dtype.kind != "c":
        return stack([min(points), max(points)])
    return joined(*(stack([min(part), max(part)]) for part in parts_of(points)))


def mapparms(old: Sequence[Any], new: Sequence[Any]) -> tuple[Any, Any]:
    """The offset and the scale of the linear map from the domain `old` to `new`."""
    (low, high), (left, right) = old, new
    return (high * left - low * right) / (high - low), (right - left) / (high - low)


def mapdomain(x: Operand, old: Sequence[Any], new: Sequence[Any]) -> Any:
    """Points mapped as the ends of the domain `old` are to those of `new`."""
    offset, scale = mapparms(old, new)
    points: Any = x if isinstance(x, Tensor | int | float | complex) else tensor_of(x, "mapdomain")
    return offset + scale * points
