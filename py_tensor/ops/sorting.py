"""Sorting along an axis, searching sorted elements, and interpolation."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from py_tensor.base import dtypes
from py_tensor.base.errors import ShapeError, check_option
from py_tensor.base.shapes import normalize_axis
from py_tensor.ir.node import NOT_DIFFERENTIABLE
from py_tensor.ir.op import CpuOp, Sort
from py_tensor.ops.creation import full, zeros, zeros_like
from py_tensor.ops.define import declared_like, register
from py_tensor.ops.elementwise import clip, isnan, minimum, where
from py_tensor.ops.gather import gather_nd, scattered, take, take_along_axis
from py_tensor.ops.movement import along_axis, concat, converted, in_common_dtype, members_of
from py_tensor.ops.operands import Operand, Scalar, known, numbers_of, tensor_beside, tensors_of
from py_tensor.ops.record import Composition, build
from py_tensor.tensors.tensor import Tensor, install, tensor_of

__all__ = [
    "argpartition", "argsort", "digitize", "interp", "isin", "lexsort", "partition", "searchsorted",
    "sort",
]  # fmt: skip


def _grad_sort(g: Tensor, y: Tensor, x: Tensor, attrs: tuple[int, bool]) -> tuple[Tensor]:
    """Return the gradients at the places that the elements came from."""
    axis, _ = attrs
    came_from = build(ARGSORT, (x,), attrs)
    return (scattered(zeros_like(x), (came_from,), g, (axis,), axis, "", "set", True),)


SORT = Sort("sort", indices=False, vjp=_grad_sort)
ARGSORT = Sort("argsort", indices=True, vjp=NOT_DIFFERENTIABLE)


def _along(op: Sort, x: Operand, axis: int | None, descending: bool) -> Tensor:
    x, number = along_axis(op.name, x, axis)
    if descending and x.dtype.is_inexact:  # NaN comes last: sort the negatives in ascending order
        sorted_ = build(op, (-x,), (number, False))
        return sorted_ if op is ARGSORT else -sorted_
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


def _argsort(a: Operand, axis: int | None, descending: bool, **options: Any) -> Tensor:
    """Return the indices (int32) that would sort the elements along `axis`; see `sort`.

    For a 0-d tensor the result has one element, as in NumPy.
    """
    check_kind("argsort", options["kind"], options["order"])
    x = tensor_of(a, "argsort")
    if not x.ndim and axis is not None:
        normalize_axis("argsort", axis, 1)
        return zeros(1, dtypes.int32, device=x.device)
    return _along(ARGSORT, x, axis, descending)


argsort = declared_like(sort, _argsort, "argsort")


def _checked(
    op: str, a: Operand, kth: int | Sequence[int], axis: int | None, kind: str, order: None
) -> Tensor:
    """Check the arguments of a partition, and return its operand."""
    check_option(op, "kind", kind, ("introselect",))
    no_fields(op, order)
    x = tensor_of(a, op)
    n = x.size if axis is None or not x.ndim else x.shape[normalize_axis(op, axis, x.ndim)]
    for k in numbers_of(op, kth)[0]:
        if not isinstance(k, int):
            raise TypeError(f"{op}: kth must be an int or a sequence of ints, not {k!r}")
        if n and not -n <= k < n:
            raise ValueError(f"{op}: kth {k} is out of bounds for {n} elements")
    return x


def partition(
    a: Operand,
    kth: int | Sequence[int],
    axis: int | None = -1,
    kind: str = "introselect",
    order: None = None,
) -> Tensor:
    """Partition along `axis`: the `kth` element is in sorted position, smaller ones before it.

    The elements are fully sorted, whatever `kind` is. `order` must be None, because elements have
    no fields.
    """
    return sort(_checked("partition", a, kth, axis, kind, order), axis)


def _argpartition(a: Operand, axis: int | None, **options: Any) -> Tensor:
    """Return the indices (int32) that would partition the elements; see `partition`."""
    return argsort(_checked("argpartition", a, axis=axis, **options), axis)


argpartition = declared_like(partition, _argpartition, "argpartition")


def lexsort(keys: Operand | Sequence[Operand], axis: int = -1) -> Tensor:
    """Return the indices (int32) that sort by several keys, the last key first.

    Parameters
    ----------
    keys
        Tensors of equal shape, or one tensor whose slices along the first axis are the keys.
    """
    tensors = tensors_of("lexsort", members_of("lexsort", keys))
    if not tensors:
        raise TypeError("lexsort: needs at least one key")
    first, *rest = tensors
    if not first.ndim:  # each key is one element
        return zeros((), dtypes.int32, device=first.device)
    order = argsort(first, axis)
    for key in rest:
        order = take_along_axis(order, argsort(take_along_axis(key, order, axis), axis), axis)
    return order


# -- Searching ----------------------------------------------------------------------------------


_SEARCH = CpuOp(
    "searchsorted",
    vjp=NOT_DIFFERENTIABLE,
    result=lambda metas, side: (metas[1].shape, dtypes.int32),
    numpy=lambda np, given, side: np.searchsorted(*given, side).astype(np.int32),
)


def element_at(x: Tensor, indices: Tensor) -> Tensor:
    """Take elements of a vector at indices known to be in range."""
    return gather_nd(x, (0,), (indices,), 0, op="")


def searchsorted(
    a: Operand, v: Operand, side: str = "left", sorter: Operand | None = None
) -> Tensor:
    """Find the indices where the elements of `v` would keep a sorted vector sorted.

    Uses binary search. NaN sorts last.

    Parameters
    ----------
    side : {"left", "right"}
        Whether an element is placed before or after elements that are equal to it.
    sorter : optional
        The indices that sort `a`, as returned by `argsort`.

    Raises
    ------
    ShapeError
        If `a` is not a vector.
    """
    a, wanted = in_common_dtype("searchsorted", a, v)
    if a.ndim != 1:
        raise ShapeError(f"searchsorted: takes a sorted vector, not shape {a.shape}")
    check_option("searchsorted", "side", side, ("left", "right"))
    if sorter is not None:
        n, a = a.size, take(a, sorter)
        if a.size != n:
            raise ValueError(f"searchsorted: sorter of size {a.size} does not match {n} elements")
    if a.device.computes_cpu_ops and a.size and wanted.size:
        return build(_SEARCH, (a, wanted), side)

    def is_before(element: Tensor) -> Tensor:
        if side == "right":
            return (element <= wanted) | isnan(wanted)
        return (element < wanted) | (isnan(wanted) & ~isnan(element))

    n = a.size
    position = zeros(wanted.shape, dtypes.int32, device=a.device)
    step = 1 << n.bit_length() >> 1
    while step:
        further = position + step
        element = element_at(a, minimum(further, n) - 1)
        position = where((further <= n) & is_before(element), further, position)
        step //= 2
    return position


def is_increasing(edges: Any) -> bool:
    """Return whether edges never decrease; edges in a GPU tensor are not read."""
    values = known(edges) if isinstance(edges, Tensor) else edges
    listed = () if values is None else edges if values is edges else values.tolist()
    return not any(a > b for a, b in pairwise(listed))


def digitize(x: Operand, bins: Operand, right: bool = False) -> Tensor:
    """Return the index of the bin that contains each element, for the edges `bins`.

    It is 0 before the first edge. Edges must increase or decrease monotonically.

    Parameters
    ----------
    right : bool
        Whether a bin includes its right edge instead of its left edge.

    Raises
    ------
    ShapeError
        If the edges are not a vector.
    ValueError
        If the edges are not monotonic; edges in a GPU tensor are not checked.
    """
    edges, x = in_common_dtype("digitize", bins, x)
    dtypes.REAL.check("digitize", x.dtype)
    if edges.ndim != 1:
        raise ShapeError(f"digitize: bins must be 1-D, not of shape {edges.shape}")
    if not (is_increasing(bins) or is_increasing(bins[::-1])):
        raise ValueError("digitize: bins must increase or decrease monotonically")
    side = "left" if right else "right"
    rising = searchsorted(edges, x, side)
    if edges.size < 2:
        return rising
    falling = edges.size - searchsorted(edges.flip(), x, side)
    falls = (edges[-1] < edges[0]) | isnan(edges[0])  # NaN is the largest
    return where(falls, falling, rising)


def interp(
    x: Operand,
    xp: Operand,
    fp: Operand,
    left: Scalar | None = None,
    right: Scalar | None = None,
    period: float | None = None,
) -> Tensor:
    """Linear interpolation at `x` of the points (`xp`, `fp`), with increasing `xp`.

    Parameters
    ----------
    left, right : optional
        The values below the first point and above the last; by default those at these points.
    period : optional
        The period of `xp`, which then need not be sorted; `left` and `right` are ignored.

    Raises
    ------
    ShapeError
        If `xp` and `fp` are not nonempty vectors of equal length.
    """
    positions, wanted = in_common_dtype("interp", tensor_beside("interp", xp, x, fp), x)
    dtypes.REAL.check("interp", positions.dtype)
    positions, values = in_common_dtype("interp", positions, fp)
    if positions.dtype.is_floating:  # neighbouring positions may be equal in 16 bits
        positions = converted(positions, dtypes.in_words(positions.dtype))
    positions, values = in_common_dtype("interp", positions, values)
    positions, values = (converted(v, dtypes.floating(v.dtype)) for v in (positions.real, values))
    wanted = converted(wanted, positions.dtype)
    if positions.ndim != 1 or positions.shape != values.shape or not positions.size:
        raise ShapeError(
            f"interp: xp of shape {positions.shape} does not match fp of shape {values.shape}"
        )
    if period is not None:
        period, left, right = abs(period), None, None
        positions, wanted = positions % period, wanted % period
        order = argsort(positions)
        positions, values = take(positions, order), take(values, order)
        positions = concat([positions[-1:] - period, positions, positions[:1] + period])
        values = concat([values[-1:], values, values[:1]])
    interpolated = _interpolated((positions, values, wanted))
    if left is not None:
        interpolated = where(wanted < positions[0], left, interpolated)
    return interpolated if right is None else where(wanted > positions[-1], right, interpolated)


@Composition
def _interpolated(positions: Tensor, values: Tensor, wanted: Tensor) -> Tensor:
    """Like `interp`, for operands of one dtype and the values of the points at both ends."""
    if positions.size > 1:
        above = clip(searchsorted(positions, wanted, "right"), 1, positions.size - 1)
        low, high = element_at(positions, above - 1), element_at(positions, above)
        start, end = element_at(values, above - 1), element_at(values, above)
        slope = (end - start) / (high - low)
        interpolated = slope * (wanted - low) + start
        # For infinite points.
        interpolated = where(isnan(interpolated), slope * (wanted - high) + end, interpolated)
        level = isnan(interpolated) & (start == end) & ~isnan(wanted)
        interpolated = where(level | (wanted == low), start, interpolated)
    else:
        interpolated = values[0].broadcast_to(wanted.shape)
    interpolated = where(wanted >= positions[-1], values[-1], interpolated)
    return where(wanted < positions[0], values[0], interpolated)


def isin(
    element: Operand,
    test_elements: Operand,
    assume_unique: bool = False,
    invert: bool = False,
    *,
    kind: str | None = None,
) -> Tensor:
    """Return whether each element is in `test_elements`; NaN is not.

    Parameters
    ----------
    assume_unique, kind
        Accepted; have no effect. `kind` is None, "sort" or "table".
    invert : bool
        Whether to invert the result.
    """
    check_option("isin", "kind", kind, (None, "sort", "table"))
    return is_among("isin", element, test_elements, invert)


def is_among(op: str, element: Operand, test_elements: Operand, invert: bool) -> Tensor:
    """`isin` under the name of another op."""
    x, tested = in_common_dtype(op, element, test_elements)
    if not tested.size:
        return full(x.shape, invert, device=x.device)
    among = sort(tested.ravel())
    nearest = element_at(among, minimum(searchsorted(among, x), among.size - 1))
    return nearest != x if invert else nearest == x


register(sort, SORT, method=False)
register(argsort, ARGSORT)
install("argpartition", argpartition)
install("searchsorted", searchsorted)
