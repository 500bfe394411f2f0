"""Methods from rarely used modules, which are imported when they are called."""

from __future__ import annotations

from collections.abc import Sequence

from py_tensor.ops.operands import Operand
from py_tensor.ops.out import Out
from py_tensor.tensor import Tensor, install

__all__: list[str] = []  # this module only defines methods


def _argpartition(
    self: Tensor,
    kth: int | Sequence[int],
    axis: int | None = -1,
    kind: str = "introselect",
    order: None = None,
) -> Tensor:
    """Return the indices (int32) that would partition the elements along `axis`."""
    from py_tensor.ops.searching import argpartition

    return argpartition(self, kth, axis, kind, order)


def _choose(
    self: Tensor, choices: Operand | Sequence[Operand], out: Out = None, mode: str = "raise"
) -> Tensor:
    """Return elements from the choice whose number is in this tensor; see `pt.choose`."""
    from py_tensor.ops.functional import choose

    return choose(self, choices, out, mode)


def _searchsorted(
    self: Tensor, v: Operand, side: str = "left", sorter: Operand | None = None
) -> Tensor:
    """Find where to insert the elements of `v` in this sorted vector; see `pt.searchsorted`."""
    from py_tensor.ops.searching import searchsorted

    return searchsorted(self, v, side, sorter)


install("argpartition", _argpartition)
install("choose", _choose)
install("searchsorted", _searchsorted)
