"""Sorting along an axis."""

from __future__ import annotations

from py_tensor.base import dtypes
from py_tensor.base.errors import check_option
from py_tensor.base.shapes import normalize_axis
from py_tensor.ir.node import NOT_DIFFERENTIABLE
from py_tensor.ir.op import Sort
from py_tensor.ops.creation import zeros, zeros_like
from py_tensor.ops.define import register
from py_tensor.ops.elementwise import negative
from py_tensor.ops.movement import along_axis
from py_tensor.ops.operands import Operand
from py_tensor.ops.record import build
from py_tensor.ops.scatter import scattered
from py_tensor.tensors.tensor import Tensor, tensor_of

__all__ = ["argsort", "sort"]


def _grad_sort(g: Tensor, y: Tensor, x: Tensor, attrs: tuple[int, bool]) -> tuple[Tensor]:
    """Return the gradients at the places that the elements came from."""
    axis, _ = attrs
    came_from = build(ARGSORT, (x,), attrs)
    return (scattered(zeros_like(x), (axis,), (came_from,), axis, g, "set", True, ""),)


SORT = Sort("sort", indices=False, vjp=_grad_sort)
ARGSORT = Sort("argsort", indices=True, vjp=NOT_DIFFERENTIABLE)


def _along(op: Sort, x: Operand, axis: int | None, descending: bool) -> Tensor:
    x, number = along_axis(op.name, x, axis)
    if descending and x.dtype.is_inexact:  # NaN comes last: sort the negatives in ascending order
        sorted_ = build(op, (negative(x),), (number, False))
        return sorted_ if op is ARGSORT else negative(sorted_)
    return build(op, (x,), (number, bool(descending)))


_KINDS = ("quicksort", "heapsort", "mergesort", "stable")


def check_kind(op: str, kind: str | None, order: None) -> None:
    """Raise ValueError for an unknown kind of sort, or if fields are named.

    A prefix of the name is accepted, as in NumPy: "quick".
    """
    if kind is not None and not (kind and any(k.startswith(kind.lower()) for k in _KINDS)):
        check_option(op, "kind", kind, _KINDS)
    no_fields(op, order)


def no_fields(op: str, order: None) -> None:
    """Raise ValueError if fields are named."""
    if order is not None:
        raise ValueError(f"{op}: order must be None, not {order!r}: elements have no fields")


def sort(
    a: Operand,
    axis: int | None = -1,
    kind: str | None = None,
    order: None = None,
    *,
    descending: bool = False,
    stable: bool | None = None,
) -> Tensor:
    """Sort along `axis`, ascending or descending; None sorts the flattened tensor.

    The sort is always stable, whatever `kind` and `stable` are; -0 and 0 are equal. NaN comes last,
    also if `descending`, as in NumPy 2.5. ``x.sort()`` sorts in place, as in NumPy.
    `order` must be None, because elements have no fields.
    """
    check_kind("sort", kind, order)
    return _along(SORT, a, axis, descending)


def argsort(
    a: Operand,
    axis: int | None = -1,
    kind: str | None = None,
    order: None = None,
    *,
    descending: bool = False,
    stable: bool | None = None,
) -> Tensor:
    """Return the indices (int32) that would sort the elements along `axis`; see `sort`.

    For a 0-d tensor the result has one element, as in NumPy.
    """
    check_kind("argsort", kind, order)
    x = tensor_of(a, "argsort")
    if not x.ndim and axis is not None:
        normalize_axis("argsort", axis, 1)
        return zeros(1, dtypes.int32, device=x.device)
    return _along(ARGSORT, x, axis, descending)


register(sort, SORT, method=False)
register(argsort, ARGSORT)
