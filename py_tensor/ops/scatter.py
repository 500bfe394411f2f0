"""Scatter: writing values at indices, and ops built on it, such as nonzero and bincount."""

from __future__ import annotations

import builtins
import contextlib
from collections.abc import Sequence
from typing import Any, cast, overload
from weakref import ref

from py_tensor.base import dtypes
from py_tensor.base.errors import DTypeError, ShapeError
from py_tensor.base.shapes import Shape, normalize_axis, row_major
from py_tensor.ir.bind import follow
from py_tensor.ir.primitives import COMPRESS, SCATTER, WHERE, constant
from py_tensor.ops.creation import arange, zeros
from py_tensor.ops.define import register
from py_tensor.ops.elementwise import where as choose
from py_tensor.ops.gather import (
    beside,
    checking,
    gather_nd,
    in_mode,
    indices_of,
    indices_to_take,
    spread_over,
)
from py_tensor.ops.movement import (
    along_axis,
    broadcast_to,
    converted,
    ravel,
    reshape,
    reshape_copy,
    stack,
)
from py_tensor.ops.operands import Operand, node_of, number_like, on_one_device
from py_tensor.ops.out import Out, stored_whole
from py_tensor.ops.record import build
from py_tensor.ops.reduction import max, min, sum
from py_tensor.ops.scan import cumsum
from py_tensor.runtime.host import host
from py_tensor.tensors.tensor import Selected, Tensor, install, tensor_of, traced_write

__all__ = ["argwhere", "bincount", "compress", "extract", "flatnonzero", "nonzero", "where"]

MAX_UNREAD = 4
MAX_UNREAD_BYTES = 2**28
"""A selection that keeps more bytes of its mask and values is read at once."""
_unread: list[ref[Tensor]] = []
"""The latest selections by masks whose number of elements may be unknown."""


def scatter(
    x: Tensor,
    axes: Sequence[int],
    indices: Sequence[Tensor],
    at: int,
    values: Operand,
    mode: str = "set",
    *,
    unique: bool = False,
    op: str = "scatter",
) -> Tensor:
    """Return a copy of `x` with values scattered to indices along some axes.

    Parameters
    ----------
    axes, indices, at, op
        As in `gather_nd`, whose result for these arguments has the shape of the values.
    values
        The values, which broadcast and are converted to the dtype of `x`.
    mode : {"set", "add", "min", "max", "add_atomic"}
        "set" keeps the last of several values for one element. The other modes combine all of them
        with the element: floats are added in the order of the values, or in any order by
        "add_atomic". For bools, "add" and "max" mean any, and "min" means all.
    unique
        Whether no element is selected twice, or all values for one element are equal; not checked.

    Raises
    ------
    ShapeError
        If the values do not broadcast to the shape of the selection.
    """
    nodes = [node_of(index) for index in indices]
    spread = spread_over(op or "scatter", x.shape, axes, [node.meta for node in nodes], at)
    spread_values = cast_and_broadcast(x, values, spread.shape, op or "scatter")
    if not spread_values.size:
        return x
    over = [Tensor(follow(node, steps)) for node, steps in zip(nodes, spread.steps, strict=True)]
    return scattered(x, axes, over, at, reshape(spread_values, spread.walked), mode, unique, op)


def scattered(
    x: Tensor,
    axes: Sequence[int],
    indices: Sequence[Tensor],
    at: int,
    values: Tensor,
    mode: str,
    unique: bool,
    op: str,
) -> Tensor:
    """Like `scatter`, for indices and `values` of the same shape."""
    if not values.size:
        return x
    attrs = tuple(axes), at, op, mode, unique
    return checking(build(SCATTER, (x, values, *indices), attrs), op)


def cast_and_broadcast(x: Tensor, value: Operand, shape: Shape, op: str = "setitem") -> Tensor:
    """Return a value as a tensor in the dtype and on the device of `x`, broadcast to a shape.

    Leading axes of length 1 that the shape lacks are dropped, as in NumPy.
    """
    operand = as_given(x, value, op)
    if operand.device is not x.device:
        operand = _moved(op, x, operand)
    operand = converted(operand, x.dtype)
    if operand.shape == shape:
        return operand
    surplus = builtins.max(operand.ndim - len(shape), 0)
    if surplus and set(operand.shape[:surplus]) == {1}:
        operand = reshape_copy(operand, operand.shape[surplus:])
    try:
        return broadcast_to(operand, shape)
    except ShapeError:
        raise ShapeError(
            f"{op}: a value of shape {operand.shape} does not broadcast to the selection's {shape}"
        ) from None


def as_given(x: Tensor, value: Operand, op: str) -> Tensor:
    """Return a value as a tensor: a number in the dtype of `x`, any other operand on its device."""
    if isinstance(value, Tensor):
        return value
    number = number_like(value, x.dtype)
    if number is not None:
        return Tensor(constant(op, number, x.dtype, x.device))
    try:
        operand = tensor_of(value, op, device=x.device)
    except OverflowError:  # ints that the dtype of `x` may be able to hold
        return tensor_of(value, op, dtype=x.dtype, device=x.device)
    kinds = operand.dtype.kind + x.dtype.kind if isinstance(value, list | tuple | range) else ""
    if kinds in ("ii", "ui") or (kinds == "iu" and _holds_ints(value)):  # every element must fit
        return tensor_of(value, op, dtype=x.dtype, device=x.device)
    return operand


def _holds_ints(value: Operand) -> bool:
    """Return whether nested lists have Python ints: NumPy's wrap around in an unsigned dtype."""
    if isinstance(value, list | tuple):
        return any(map(_holds_ints, cast("list[Any]", value)))
    return isinstance(value, int | range)


def _moved(op: str, x: Tensor, value: Tensor) -> Tensor:
    """Return a value on the device of `x`; only one from the cpu device moves to a GPU."""
    if value.device.depth > x.device.depth:
        raise traced_write(op)
    if value.device.depth == x.device.depth == 0 and value.device.uses_numpy:
        return value.to(x.device)
    return on_one_device(op, (x, value))[1]


def with_put(x: Tensor, indices: Operand, values: Operand, mode: str = "raise") -> Tensor:
    """Return `x` with values at flat indices; too few values are repeated."""
    flat = ravel(x)
    checked = indices_of("put", in_mode("put", indices, x.size, mode, x.device), flat, 0)
    index = ravel(checked.tensor)
    elements = ravel(tensor_of(values, "put"))
    if not elements.size:
        return x
    if elements.size not in (1, index.size):
        number = arange(index.size, device=x.device)
        elements = gather_nd(elements, (0,), (number % elements.size,), 0, op="")
    return reshape_copy(scatter(flat, (0,), (index,), 0, elements, op=checked.op), x.shape)


def with_put_along_axis(x: Tensor, indices: Operand, values: Operand, axis: int | None) -> Tensor:
    """Return `x` with values at the places that `take_along_axis` reads with the same indices."""
    if axis is None:
        return reshape_copy(with_put_along_axis(ravel(x), indices, values, 0), x.shape)
    along = normalize_axis("put_along_axis", axis, x.ndim)
    checked = indices_of("put_along_axis", indices, x, along)
    wide, index = beside("put_along_axis", x, checked.tensor, along)
    if wide.shape != x.shape:
        raise ShapeError(
            f"put_along_axis: indices of shape {index.shape} do not broadcast"
            f" to the axes other than {along} of {x.shape}"
        )
    elements = cast_and_broadcast(x, values, index.shape, "put_along_axis")
    return scattered(x, (along,), (index,), along, elements, "set", False, checked.op)


def flatnonzero(a: Operand) -> Tensor:
    """Return the indices (int32) of the nonzero elements of the flattened tensor.

    Reads the number of elements found, and so waits for the GPU.
    """
    mask = converted(ravel(tensor_of(a, "flatnonzero")), dtypes.bool_)
    return places_of("flatnonzero", mask)


def places_of(op: str, mask: Tensor, count: int | None = None) -> Tensor:
    """Return the indices where a flat mask is true; their number is read unless given."""
    if mask.size >= 2**31:
        raise ShapeError(f"{op}: an index into {mask.size} elements does not fit int32")
    return values_where(mask, arange(mask.size, device=mask.device), count)


def values_where(mask: Tensor, values: Tensor, count: int | None = None) -> Tensor:
    """Return the values where a mask is true, both flat; their number is read unless given."""
    if not mask.size:
        return zeros((0,), values.dtype, device=mask.device)
    if mask.device.uses_numpy:
        return build(COMPRESS, (mask, values), int(sum(mask)) if count is None else count)
    counts = cumsum(mask)
    count = int(counts[-1]) if count is None else count
    selected = zeros((count,), values.dtype, device=mask.device)
    if not count:
        return selected
    target = choose(mask, counts - 1, count)  # out of range, where nothing is written
    return scattered(selected, (0,), (target,), 0, values, "set", unique=True, op="")


def selected(mask: Tensor, values: Tensor) -> Tensor:
    """Return the values where a mask is true, both flat.

    On a GPU their number is read when it is first needed; a result that is only summed needs none.
    Until then the values are not freed, so only the latest few selections stay unread. In a trace
    the number is never known, so the result can only be reduced.
    """
    if mask.device.depth:
        return Tensor._of_selected(Selected(mask, values, values_where))  # pyright: ignore[reportPrivateUsage]
    if mask.device.uses_numpy or not mask.size or not host.can_wait():
        return values_where(mask, values)
    operands = Selected(mask, values, values_where)
    if operands.nbytes > MAX_UNREAD_BYTES:
        return values_where(mask, values)
    y = Tensor._of_selected(operands)  # pyright: ignore[reportPrivateUsage]
    _find_older(MAX_UNREAD - 1)
    _unread.append(ref(y))
    return y


def read_selections() -> None:
    """Find the elements of all selections by masks, unless Python cannot block.

    An error is raised when such a selection is used.
    """
    if host.can_wait():
        _find_older(0)


def _find_older(kept: int) -> None:
    """Find the elements of all unread selections except the latest few."""
    alive = (known() for known in _unread)
    unread = [x for x in alive if x is not None and x._selected_by_mask is not None]  # pyright: ignore[reportPrivateUsage]
    older = unread[: builtins.max(len(unread) - kept, 0)]
    _unread[:] = map(ref, unread[len(older) :])
    for y in older:
        with contextlib.suppress(Exception):  # it is raised again when `y` is used
            node_of(y)


def nonzero(a: Operand) -> tuple[Tensor, ...]:
    """Return the indices of nonzero elements in row-major order: one int32 tensor for each axis.

    Reads the number of elements found, and so waits for the GPU.

    Raises
    ------
    ShapeError
        If the tensor is 0-d.
    """
    x = tensor_of(a, "nonzero")
    if not x.ndim:
        raise ShapeError("nonzero: not supported for a 0-d tensor; use x.reshape(1)")
    flat = places_of("nonzero", converted(ravel(x), dtypes.bool_))
    if x.ndim == 1:
        return (flat,)
    units = row_major(x.shape)
    return tuple(
        flat // unit % n if axis else flat // unit
        for axis, (unit, n) in enumerate(zip(units, x.shape, strict=True))
    )


@overload
def where(condition: Operand, /) -> tuple[Tensor, ...]: ...
@overload
def where(condition: Operand, x: Operand, y: Operand, /) -> Tensor: ...
def where(
    condition: Operand, x: Operand | None = None, y: Operand | None = None, /
) -> Tensor | tuple[Tensor, ...]:
    """Return elements of `x` where `condition` is nonzero, else of `y`; all three broadcast.

    With only a condition, return the indices where it is nonzero, like `nonzero`.
    """
    if x is None and y is None:
        return nonzero(condition)
    if x is None or y is None:
        raise TypeError("where: takes both x and y, or neither")
    return choose(condition, x, y)


def argwhere(a: Operand) -> Tensor:
    """Return the indices of nonzero elements: one row (int32) for each, in row-major order.

    Reads the number of elements found, and so waits for the GPU.
    """
    x = tensor_of(a, "argwhere")
    if not x.ndim:
        count = int(flatnonzero(x).size)
        return zeros((count, 0), dtypes.int32, device=x.device)
    return stack(nonzero(x), axis=1)


def compress(condition: Operand, a: Operand, axis: int | None = None, out: Out = None) -> Tensor:
    """Select slices along `axis` where `condition` is nonzero; None flattens the tensor first.

    Reads the number of elements found, and so waits for the GPU.

    Parameters
    ----------
    condition
        A vector, which may be shorter than the axis.

    Raises
    ------
    ShapeError
        If the condition is not 1-D.
    IndexError
        If it is nonzero beyond the end of the axis; raised by the next read.
    """
    x = tensor_of(a, "compress")
    mask = _beside("compress", condition, x)
    if mask.ndim != 1:
        raise ShapeError(f"compress: condition must be 1-D, not of shape {mask.shape}")
    x, along = along_axis("compress", x, axis, of_scalar=True)
    checked = indices_to_take("compress", places_of("compress", mask), x, along)
    op = checked.op if mask.size > x.shape[along] else ""
    return stored_whole("compress", gather_nd(x, (along,), (checked.tensor,), along, op=op), out)


def extract(condition: Operand, arr: Operand) -> Tensor:
    """Return the elements of flattened `arr` where flattened `condition` is nonzero.

    Reads the number of elements found, and so waits for the GPU.
    """
    x = tensor_of(arr, "extract")
    return compress(ravel(_beside("extract", condition, x)), ravel(x), 0)


def _beside(op: str, condition: Operand, x: Tensor) -> Tensor:
    """Return a condition as bool, on the device of `x`."""
    return converted(tensor_of(condition, op, device=x.device), dtypes.bool_)


def _compress(self: Tensor, condition: Operand, axis: int | None = None, out: Out = None) -> Tensor:
    """Return the slices along `axis` where `condition` is nonzero; see `pt.compress`."""
    return compress(condition, self, axis, out)


def bincount(x: Operand, /, weights: Operand | None = None, minlength: int = 0) -> Tensor:
    """Count the occurrences of each integer from 0, as int32, or sum their weights, as float32.

    Reads the largest element, and so waits for the GPU. Weights are added in order in float32,
    while NumPy uses float64: for n weights of one sign the relative error is at most n times 6e-8.
    ``pt.sum`` of each group, selected by a mask, adds pairwise and is more accurate.

    Parameters
    ----------
    x
        A vector of nonnegative integers.
    weights
        A number for each element.
    minlength
        The minimum length of the result, which otherwise ends with the largest element.

    Raises
    ------
    ShapeError
        If `x` is not 1-D or the weights have a different shape.
    DTypeError
        If the elements are not integers.
    ValueError
        If an element is negative.
    """
    empty = isinstance(x, list | tuple) and not x
    x = tensor_of(x, "bincount", dtype=dtypes.int32 if empty else None)
    if x.ndim != 1:
        raise ShapeError(f"bincount: takes a vector, not shape {x.shape}")
    if x.dtype.is_inexact:
        raise DTypeError(f"bincount: takes integers, not {x.dtype}")
    if minlength < 0:
        raise ValueError(f"bincount: minlength must be at least 0, not {minlength}")
    added = 1 if weights is None else _weights(x, weights)
    x = converted(x, dtypes.numeric(x.dtype))
    unsigned = dtypes.uint64 if x.dtype.is_wide else dtypes.uint32
    most = int(max(converted(x, unsigned))) if x.size else -1  # negative ones wrap to the largest
    if x.dtype.is_signed and most >= 2 ** (8 * unsigned.itemsize - 1):
        raise ValueError(f"bincount: elements must be at least 0, not {int(min(x))}")
    n = most + 1 if most >= minlength else minlength
    dtype = dtypes.int32 if weights is None else dtypes.DEFAULT.floating
    return scatter(zeros((n,), dtype, device=x.device), (0,), (x,), 0, added, "add", op="")


def _weights(x: Tensor, weights: Operand) -> Tensor:
    checked = tensor_of(weights, "bincount", device=x.device)
    dtypes.REAL.check("bincount", checked.dtype)
    if checked.shape != x.shape:
        raise ShapeError(
            f"bincount: weights of shape {checked.shape} do not match x of shape {x.shape}"
        )
    return checked


register(nonzero)
register(where, WHERE, method=False)
install("compress", _compress)
