"""Selecting elements by indices."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from operator import index as as_index
from typing import Any, NamedTuple, cast

from py_tensor.base import dtypes
from py_tensor.base.errors import DeviceError, DTypeError, ShapeError
from py_tensor.base.shapes import Shape, broadcast, check_rank, size_of
from py_tensor.ir.arrays import has_integers
from py_tensor.ir.bind import Recipe, Recipes, Step, recipe, record, steps
from py_tensor.ir.node import Device, Meta, meta_of
from py_tensor.ir.primitives import EXPAND, GATHER, RESHAPE
from py_tensor.ops.define import register
from py_tensor.ops.elementwise import clip, remainder
from py_tensor.ops.movement import along_axis, expand, widened
from py_tensor.ops.operands import Operand, known, node_of, on_one_device, tensor_beside
from py_tensor.ops.out import Out, stored_whole
from py_tensor.ops.record import build, empty_node
from py_tensor.schedule.body import Check
from py_tensor.schedule.order import bottom
from py_tensor.tensors.tensor import Tensor, tensor_of

__all__ = ["take", "take_along_axis"]


def take(
    a: Operand,
    indices: Operand,
    axis: int | None = None,
    out: Out = None,
    mode: str = "raise",
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


def indices_to_take(op: str, indices: Operand, x: Tensor, axis: int) -> Indices:
    """Like `indices_of`, but unchecked if an earlier axis has no elements, as in NumPy."""
    try:
        return indices_of(op, indices, x, axis)
    except IndexError:
        if 0 not in x.shape[:axis]:
            raise
    return Indices(tensor_of(indices, op, dtype=dtypes.int32, device=x.device), "")


def in_mode(op: str, indices: Operand, n: int, mode: str, device: Device) -> Operand:
    """Apply NumPy's `mode` to indices into `n` elements."""
    if mode == "raise":
        return indices
    if mode not in ("wrap", "clip"):
        raise ValueError(f"{op}: mode must be 'raise', 'wrap' or 'clip', not {mode!r}")
    numbers = tensor_of(indices, op, device=device)
    if not numbers.size:
        return indices
    if not numbers.dtype.is_integer or not n:  # selecting raises an error
        return numbers
    numbers = widened(numbers)
    return remainder(numbers, n) if mode == "wrap" else clip(numbers, 0, n - 1)


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
    whole, spread = (expand(v, _with_axis(shape, axis, v.shape[axis])) for v in (x, index))
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


def indices_of(op: str, indices: Operand, x: Tensor, axis: int) -> Indices:
    """Convert indices to a tensor on the device of `x`, and check them if they are known."""
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


register(take)
register(take_along_axis, GATHER, method=False)
