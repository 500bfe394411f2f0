"""Selecting elements by indices, writing at indices, and ops built on these, such as nonzero."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from operator import index as as_index
from typing import Any, NamedTuple, cast, overload
from weakref import ref

from py_tensor.base import dtypes
from py_tensor.base.errors import DeviceError, DTypeError, ShapeError, check_option
from py_tensor.base.shapes import Shape, broadcast, check_rank, row_major, size_of
from py_tensor.ir.arrays import has_integers
from py_tensor.ir.bind import Recipe, Recipes, Step, follow, recipe, record, steps
from py_tensor.ir.node import Device, Meta, meta_of
from py_tensor.ir.primitives import COMPRESS, EXPAND, GATHER, RESHAPE, SCATTER, WHERE, constant
from py_tensor.ops.creation import arange, zeros
from py_tensor.ops.define import register
from py_tensor.ops.elementwise import clip
from py_tensor.ops.elementwise import where as choose
from py_tensor.ops.movement import along_axis, converted, reshape_copy, stack, widened
from py_tensor.ops.operands import (
    Operand,
    known,
    node_of,
    number_like,
    on_one_device,
    tensor_beside,
    whole_number,
)
from py_tensor.ops.out import Out, stored_whole
from py_tensor.ops.record import build, empty_node
from py_tensor.ops.reduction import cumsum
from py_tensor.runtime.host import host
from py_tensor.schedule.body import Check
from py_tensor.schedule.order import bottom
from py_tensor.tensors.tensor import Selected, Tensor, install, tensor_of, traced_write

__all__ = [
    "argwhere", "bincount", "compress", "extract", "flatnonzero", "nonzero", "take",
    "take_along_axis", "where",
]  # fmt: skip


def take(
    a: Operand, indices: Operand, axis: int | None = None, out: Out = None, mode: str = "raise"
) -> Tensor:
    """Take the elements along `axis` at `indices`; None takes from the flattened tensor.

    Parameters
    ----------
    indices
        Integers of any shape, which replaces the axis in the result. Negative indices count from
        the end. ``x[indices]`` is ``take(x, indices, 0)`` for a tensor, array or list of them.
    mode : {"raise", "wrap", "clip"}
        How to treat an index out of range: raise an error, take it modulo the length of the axis,
        or use the nearest valid index (0 for a negative one).

    Raises
    ------
    IndexError
        If an index is out of range. For a list or an array it is raised immediately; for a tensor
        once, by the next read or `pt.synchronize` after the index was used.
    DTypeError
        If the indices are not integers.

    Examples
    --------
    >>> import py_tensor as pt
    >>> pt.take(pt.tensor([10, 20, 30]), [2, 0, -1])
    tensor([30, 10, 30])
    """
    x, along = along_axis("take", tensor_beside("take", a, indices), axis, of_scalar=True)
    indices = in_mode("take", indices, x.shape[along], mode, x.device)
    index, op = indices_to_take("take", indices, x, along)
    return stored_whole("take", gather_nd(x, (along,), (index,), along, op=op), out)


def indices_to_take(
    op: str, indices: Operand, x: Tensor, axis: int, is_empty: Callable[[], bool] | None = None
) -> Indices:
    """Like `indices_of`, but unchecked if nothing is taken, as in NumPy.

    By default that is so if an earlier axis has no elements.
    """
    try:
        return indices_of(op, indices, x, axis)
    except IndexError:
        if not (is_empty() if is_empty else 0 in x.shape[:axis]):
            raise
    return Indices(tensor_of(indices, op, dtype=dtypes.int32, device=x.device), "")


def in_mode(op: str, indices: Operand, n: int, mode: str, device: Device) -> Operand:
    """Apply NumPy's `mode` to indices into `n` elements."""
    if mode == "raise":
        return indices
    check_option(op, "mode", mode, ("raise", "wrap", "clip"))
    numbers = tensor_of(indices, op, device=device)
    if not numbers.size:
        return indices
    if not numbers.dtype.is_integer or not n:  # selecting raises an error
        return numbers
    numbers = widened(numbers)
    return numbers % n if mode == "wrap" else clip(numbers, 0, n - 1)


def take_along_axis(arr: Operand, indices: Operand, axis: int | None = -1) -> Tensor:
    """Take elements along `axis` at `indices`, matching the positions along the other axes.

    It turns the result of `argsort` or `argmax` into elements.

    Parameters
    ----------
    indices
        Integers with as many axes as `arr`; the axes other than `axis` broadcast. If `axis` is
        None, 1-D indices into the flattened tensor.

    Raises
    ------
    ShapeError
        If the numbers of axes differ or the other axes do not broadcast.
    IndexError, DTypeError
        As in `take`.

    Examples
    --------
    >>> import py_tensor as pt
    >>> x = pt.tensor([[30, 10, 20], [5, 6, 4]])
    >>> pt.take_along_axis(x, x.argsort())
    tensor([[10, 20, 30],
            [ 4,  5,  6]])
    """
    x, along = along_axis("take_along_axis", arr, axis)
    index, op = indices_of("take_along_axis", indices, x, along)
    x, index = beside("take_along_axis", x, index, along)
    return gathered(x, (along,), (index,), along, op)


def beside(op: str, x: Tensor, index: Tensor, axis: int) -> tuple[Tensor, Tensor]:
    """Broadcast a tensor and its indices along all axes except `axis`."""
    if index.ndim != x.ndim:
        raise ShapeError(
            f"{op}: indices of shape {index.shape} do not have the {x.ndim} axes of {x.shape}"
        )
    sides = [_with_axis(v.shape, axis, 1) for v in (x, index)]
    shape = broadcast(op, *sides)
    whole, spread = (v.expand(_with_axis(shape, axis, v.shape[axis])) for v in (x, index))
    return whole, spread


def _with_axis(shape: Shape, axis: int, n: int) -> Shape:
    return (*shape[:axis], n, *shape[axis + 1 :])


def gather_nd(
    x: Tensor, axes: Sequence[int], indices: Sequence[Tensor], at: int, *, op: str = "index"
) -> Tensor:
    """Gather elements of `x` with indices along some axes.

    Parameters
    ----------
    axes
        The axis of each index: distinct, and not negative.
    indices
        Integers, which broadcast against each other.
    at
        The position of their broadcast shape among the remaining axes of `x`.
    op
        The op name in an IndexError for an index out of range; "" if all are known to be valid.
    """
    nodes = tuple(map(node_of, (x, *indices)))
    try:
        recipe = _recipes[op, tuple(node.meta for node in nodes), tuple(axes), at]
    except DeviceError:
        x, *indices = on_one_device(op or "index", (x, *indices))
        return gather_nd(x, axes, indices, at, op=op)
    if isinstance(recipe, Meta):
        return Tensor(empty_node(recipe))
    return checking(Tensor(record(recipe, *nodes)), op)


def _recipe_of(op: str, metas: tuple[Meta, ...], axes: tuple[int, ...], at: int) -> Recipe | Meta:
    x = metas[0]
    spread = spread_over(op or "index", x.shape, axes, metas[1:], at)
    if not size_of(spread.walked):
        return meta_of(spread.shape, x.dtype, x.device)
    after = [] if spread.walked == spread.shape else [(RESHAPE, spread.shape)]
    return recipe(GATHER, ((), *spread.steps), metas, (axes, at, op), *after)


# The recipe of `gather_nd`; a meta if it selects nothing.
_recipes = Recipes[tuple[str, tuple[Meta, ...], tuple[int, ...], int], Recipe | Meta](_recipe_of)


def gathered(x: Tensor, axes: Sequence[int], indices: Sequence[Tensor], at: int, op: str) -> Tensor:
    """Like `gather_nd`, for indices that have the shape of the result."""
    return checking(build(GATHER, (x, *indices), (tuple(axes), at, op)), op)


def checking(result: Tensor, op: str) -> Tensor:
    """Register the index checks of a result, even if it is never used; "" means no checks."""
    if op:
        result.device.note_check(bottom(node_of(result)))
    return result


class Spread(NamedTuple):
    """How indices are expanded to the result of a gather.

    Attributes
    ----------
    steps
        The steps from each index to the shape `walked`.
    walked, shape
        The shape that is computed, and that of the result; both have the same size.
    """

    steps: tuple[tuple[Step, ...], ...]
    walked: Shape
    shape: Shape


def spread_over(
    op: str, shape: Shape, axes: Sequence[int], indices: Sequence[Meta], at: int
) -> Spread:
    """Expand indices along axes of a shape to the result of a gather.

    The axes of indices with equal shapes are merged, so that fewer programs are needed.
    """
    common = broadcast(op, *(index.shape for index in indices))
    rest = tuple(n for a, n in enumerate(shape) if a not in axes)
    full = check_rank(op, (*rest[:at], *common, *rest[at:]))
    is_flat = all(index.shape == common for index in indices)
    if is_flat:
        common = (size_of(common),)
    walked = (*rest[:at], *common, *rest[at:])

    def over(index: Meta) -> tuple[Step, ...]:
        inner = common if is_flat else (*(1,) * (len(common) - len(index.shape)), *index.shape)
        index_shape = (*(1 for _ in rest[:at]), *inner, *(1 for _ in rest[at:]))
        applied = [(RESHAPE, index_shape)] if index_shape != index.shape else []
        return steps(index, *applied, *([(EXPAND, walked)] if walked != index_shape else []))

    return Spread(tuple(map(over, indices)) if size_of(walked) else (), walked, full)


class Indices(NamedTuple):
    """Indices on the device of the tensor that they select from.

    Attributes
    ----------
    op : str
        The function to name in errors of checks still to be made; "" if they are checked.
    """

    tensor: Tensor
    op: str


def indices_of(op: str, indices: Operand, x: Tensor, axis: int, mode: str = "raise") -> Indices:
    """Convert indices to a tensor on the device of `x`, and check them if they are known."""
    indices = in_mode(op, indices, x.shape[axis], mode, x.device)
    if isinstance(indices, Tensor):
        if indices.device is not x.device:
            x, indices = on_one_device(op, (x, indices))
        if not indices.dtype.is_integer:
            raise DTypeError(f"{op}: indices must be integers, not {indices.dtype}")
        if indices.size and not x.shape[axis]:
            raise IndexError(f"{op}: axis {axis} of shape {x.shape} has no elements to take")
        if indices.size and not x.size:  # no kernel will check them
            values = known(indices)
            if values is not None:
                _check(op, int(values.min()), int(values.max()), x, axis)
        return Indices(indices, op)
    if hasattr(indices, "__array_interface__"):
        if not has_integers(indices):
            raise DTypeError(f"{op}: indices must be integers, not {indices.dtype}")
        if indices.size:
            _check(op, int(indices.min()), int(indices.max()), x, axis)
    else:
        try:
            values = [as_index(i) for i in _flat(indices)]
        except TypeError:
            raise DTypeError(f"{op}: indices must be integers, not {indices!r}") from None
        if values:
            _check(op, min(values), max(values), x, axis)
    return Indices(tensor_of(indices, op, dtype=dtypes.int32, device=x.device), "")


def _flat(nested: Any) -> Iterator[Any]:
    """Yield the scalars in nested lists; a bool is not an index."""
    if isinstance(nested, list | tuple | range):
        for item in cast("list[Any]", nested):
            yield from _flat(item)
    else:
        yield None if isinstance(nested, bool) else nested


def _check(op: str, low: int, high: int, x: Tensor, axis: int) -> None:
    n = x.shape[axis]
    wrong = low if low < -n else high if high >= n else None
    if wrong is not None:
        raise IndexError(Check(op, axis, x.shape, signed=True).message(wrong))


# -- Scatter ------------------------------------------------------------------------------------

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
    values = spread_values.reshape(spread.walked)
    return scattered(x, over, values, tuple(axes), at, op, mode, unique)


def scattered(x: Tensor, indices: Sequence[Tensor], values: Tensor, *attrs: Any) -> Tensor:
    """Like `scatter`, for indices and `values` of the same shape.

    The attributes of the node are the axes, `at`, `op`, `mode` and `unique`.
    """
    return checking(build(SCATTER, (x, values, *indices), attrs), attrs[2]) if values.size else x


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
    surplus = max(operand.ndim - len(shape), 0)
    if surplus and set(operand.shape[:surplus]) == {1}:
        operand = reshape_copy(operand, operand.shape[surplus:])
    try:
        return operand.broadcast_to(shape)
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


def flatnonzero(a: Operand) -> Tensor:
    """Return the indices (int32) of the nonzero elements of the flattened tensor.

    Reads the number of elements found, and so waits for the GPU.
    """
    mask = converted(tensor_of(a, "flatnonzero").ravel(), dtypes.bool_)
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
        return build(COMPRESS, (mask, values), int(mask.sum()) if count is None else count)
    counts = cumsum(mask)
    count = int(counts[-1]) if count is None else count
    selected = zeros((count,), values.dtype, device=mask.device)
    if not count:
        return selected
    target = choose(mask, counts - 1, count)  # out of range, where nothing is written
    return scattered(selected, (target,), values, (0,), 0, "", "set", True)


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
    older = unread[: max(len(unread) - kept, 0)]
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
    flat = places_of("nonzero", converted(x.ravel(), dtypes.bool_))
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
    return compress(_beside("extract", condition, x).ravel(), x.ravel(), 0)


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
    minlength = whole_number("bincount", "minlength", minlength, 0)
    added = 1 if weights is None else _weights(x, weights)
    x = converted(x, dtypes.numeric(x.dtype))
    unsigned = dtypes.uint64 if x.dtype.is_wide else dtypes.uint32
    most = int(converted(x, unsigned).max()) if x.size else -1  # negative ones wrap to the largest
    if x.dtype.is_signed and most >= 2 ** (8 * unsigned.itemsize - 1):
        raise ValueError(f"bincount: elements must be at least 0, not {int(x.min())}")
    n = most + 1 if most >= minlength else minlength
    dtype = dtypes.int32 if weights is None else dtypes.DEFAULT.floating
    x, *traced = on_one_device("bincount", (x, *([added] if isinstance(added, Tensor) else [])))
    total = zeros((n,), dtype, device=x.device)
    return scatter(total, (0,), (x,), 0, traced[0] if traced else added, "add", op="")


def _weights(x: Tensor, weights: Operand) -> Tensor:
    checked = tensor_of(weights, "bincount", device=x.device)
    dtypes.REAL.check("bincount", checked.dtype)
    if checked.shape != x.shape:
        raise ShapeError(
            f"bincount: weights of shape {checked.shape} do not match x of shape {x.shape}"
        )
    return checked


register(take)
register(take_along_axis, GATHER, method=False)
register(nonzero)
register(where, WHERE, method=False)
install("compress", _compress)
