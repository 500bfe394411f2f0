"""Helper functions for polynomials: trimming of coefficients, and domains."""

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
from py_tensor.polynomial.powers import polytrim
from py_tensor.tensor import Tensor, tensor_of

__all__ = ["as_series", "getdomain", "mapdomain", "mapparms", "trimcoef", "trimseq"]


def as_series(alist: Sequence[Operand] | Tensor, trim: bool = True) -> list[Tensor]:
    """Copy vectors of coefficients to one floating dtype; `trim` applies `trimseq`.

    Raises
    ------
    ShapeError
        If coefficients are not a nonempty vector.
    ValueError
        If coefficients are bools.
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
    """Remove trailing zeros but keep one coefficient; a tensor is read."""
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
    """Remove trailing coefficients of magnitude up to `tol`; reads the coefficients.

    Raises
    ------
    ValueError
        If `tol` is negative, or the coefficients are bools or not a nonempty vector.
    """
    return polytrim(as_series([c], trim=False)[0], tol)


def getdomain(x: Operand) -> Tensor:
    """Return the smallest and largest of points, as a domain.

    For complex points these are two corners of their bounding rectangle.
    """
    (points,) = as_series([x], trim=False)
    if points.dtype.kind != "c":
        return stack([min(points), max(points)])
    return joined(*(stack([min(part), max(part)]) for part in parts_of(points)))


def mapparms(old: Sequence[Any], new: Sequence[Any]) -> tuple[Any, Any]:
    """Return the offset and the scale of the linear map from domain `old` to `new`."""
    (low, high), (left, right) = old, new
    return (high * left - low * right) / (high - low), (right - left) / (high - low)


def mapdomain(x: Operand, old: Sequence[Any], new: Sequence[Any]) -> Any:
    """Apply the linear map from domain `old` to `new` to points."""
    offset, scale = mapparms(old, new)
    points: Any = x if isinstance(x, Tensor | int | float | complex) else tensor_of(x, "mapdomain")
    return offset + scale * points
