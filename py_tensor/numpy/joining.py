"""Joining and splitting tensors, adding axes and elements: compositions of other ops."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, cast

from py_tensor.base import dtypes, shapes
from py_tensor.base.errors import DTypeError, ShapeError, check_option
from py_tensor.base.shapes import Shape, normalize_axes, normalize_axis, parse_shape, size_of
from py_tensor.ir.node import Device
from py_tensor.ops import gather, movement
from py_tensor.ops.creation import arange, ones, zeros
from py_tensor.ops.elementwise import where
from py_tensor.ops.indexing import holds_masks
from py_tensor.ops.movement import along_axis, broadcast_to, concat, flip, reshape_copy, sliced
from py_tensor.ops.operands import Operand, numbers_of, tensors_of
from py_tensor.ops.rearrange import moveaxis, tile
from py_tensor.ops.reduction import Axes
from py_tensor.ops.sorting import argsort
from py_tensor.tensors.tensor import Tensor, tensor_of

__all__ = [
    "append", "atleast_1d", "atleast_2d", "atleast_3d", "block", "broadcast", "broadcast_arrays",
    "column_stack", "delete", "dsplit", "dstack", "fliplr", "flipud", "hsplit",
    "insert", "resize", "rollaxis", "rot90", "trim_zeros", "vsplit",
]  # fmt: skip


# -- More axes ----------------------------------------------------------------------------------


def _with_axes(op: str, rank: int, tensors: Sequence[Operand]) -> Any:
    """Return one operand with at least so many axes, or a tuple of several."""
    results = tuple(_with_more_axes(tensor_of(x, op), rank) for x in tensors)
    return results[0] if len(results) == 1 else results


def _with_more_axes(x: Tensor, rank: int) -> Tensor:
    if x.ndim >= rank:
        return x
    return x[..., None] if x.ndim == 2 else x.reshape(((-1,), (1, -1), (1, -1, 1))[rank - 1])


def atleast_1d(*arys: Operand) -> Any:
    """Return the tensor with at least one axis; for several tensors, a tuple."""
    return _with_axes("atleast_1d", 1, arys)


def atleast_2d(*arys: Operand) -> Any:
    """Return the tensor with at least two axes, a vector as a row; for several, a tuple."""
    return _with_axes("atleast_2d", 2, arys)


def atleast_3d(*arys: Operand) -> Any:
    """Return the tensor with at least three axes; for several tensors, a tuple.

    A vector of n elements becomes ``(1, n, 1)``; a matrix gets a new last axis.
    """
    return _with_axes("atleast_3d", 3, arys)


def broadcast_arrays(*args: Operand, subok: bool = False) -> tuple[Tensor, ...]:
    """Broadcast tensors against each other; the results are read-only views.

    `subok` is accepted and has no effect.
    """
    operands = [tensor_of(x, "broadcast_arrays") for x in args]
    shape = shapes.broadcast("broadcast_arrays", *(x.shape for x in operands))
    return tuple(x if x.shape == shape else broadcast_to(x, shape) for x in operands)


class broadcast:  # noqa: N801 - NumPy's name
    """Broadcast operands against each other and iterate over them in parallel.

    Iteration yields a tuple of Python scalars for each index, in row-major order. It reads all
    operands.

    Attributes
    ----------
    shape : tuple
    ndim, nd : int
        The number of axes.
    size : int
    numiter : int
        The number of operands.
    index : int
        The number of tuples yielded so far.
    iters : tuple
        An iterator over the scalars of each broadcast operand.

    Examples
    --------
    >>> import py_tensor as pt
    >>> b = pt.broadcast(pt.tensor([[1], [2]]), pt.tensor([10, 20]))
    >>> b.shape
    (2, 2)
    >>> [u + v for u, v in b]
    [11, 21, 12, 22]
    """

    def __init__(self, *arrays: Operand) -> None:
        self._operands = broadcast_arrays(*arrays)
        self.shape = self._operands[0].shape if arrays else ()
        self.ndim = self.nd = len(self.shape)
        self.size = size_of(self.shape)
        self.numiter = len(arrays)
        self.reset()

    @property
    def iters(self) -> tuple[Iterator[Any], ...]:
        return tuple(iter(x.ravel().tolist()) for x in self._operands)

    def reset(self) -> None:
        """Restart at the first index."""
        self.index = 0
        self._tuples = self._elements()

    def _elements(self) -> Iterator[tuple[Any, ...]]:
        yield from zip(*self.iters, strict=True)

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        return self

    def __next__(self) -> tuple[Any, ...]:
        elements = next(self._tuples)
        self.index += 1
        return elements


def rollaxis(a: Operand, axis: int, start: int = 0) -> Tensor:
    """Move an axis to before the axis at `start`; returns a view."""
    x = tensor_of(a, "rollaxis")
    along = normalize_axis("rollaxis", axis, x.ndim)
    to = start + x.ndim if start < 0 else start
    if not 0 <= to <= x.ndim:
        raise ShapeError(f"rollaxis: start {start} is out of bounds for {x.ndim} axes")
    return moveaxis(x, along, to - (along < to))


# -- Joining ------------------------------------------------------------------------------------


def dstack(tup: Sequence[Operand]) -> Tensor:
    """Join tensors along the third axis."""
    return concat([_with_more_axes(x, 3) for x in tensors_of("dstack", tup)], 2)


def column_stack(tup: Sequence[Operand]) -> Tensor:
    """Stack vectors as columns of a matrix, and join matrices side by side."""
    columns = tensors_of("column_stack", tup)
    return concat([x if x.ndim > 1 else x.reshape(-1, 1) for x in columns], 1)


def block(arrays: Any) -> Tensor:
    """Assemble a tensor from nested lists; the innermost are joined along the last axis.

    The next level is joined along the second-to-last axis, and so on. Missing axes are leading axes
    of length 1.
    """
    leaves: list[Operand] = []

    def depth_of(nested: Any) -> int:
        if not isinstance(nested, list):
            leaves.append(nested)
            return 0
        if not nested:
            raise ValueError("block: lists must not be empty")
        return 1 + max(map(depth_of, cast("list[Any]", nested)))

    depth = depth_of(arrays)
    tensors = tensors_of("block", leaves)
    left = iter(tensors)
    rank = max(depth, *(x.ndim for x in tensors))

    def joined(nested: Any, level: int) -> Tensor:
        if isinstance(nested, list):
            return concat([joined(x, level - 1) for x in cast("list[Any]", nested)], -level)
        x = next(left)
        return reshape_copy(x, (1,) * (rank - x.ndim) + x.shape)

    return joined(arrays, depth)


def append(arr: Operand, values: Operand, axis: int | None = None) -> Tensor:
    """Append `values` along `axis`; None flattens both first."""
    return concat(movement.in_common_dtype("append", arr, values), axis)


# -- Cutting ------------------------------------------------------------------------------------


def hsplit(ary: Operand, indices_or_sections: int | Sequence[int]) -> list[Tensor]:
    """`split` along the second axis, or along the only axis of a vector."""
    x = movement.of_rank("hsplit", ary, 1)
    return movement.split(x, indices_or_sections, int(x.ndim > 1))


def vsplit(ary: Operand, indices_or_sections: int | Sequence[int]) -> list[Tensor]:
    """`split` along the first axis; needs at least 2 axes."""
    return movement.split(movement.of_rank("vsplit", ary, 2), indices_or_sections, 0)


def dsplit(ary: Operand, indices_or_sections: int | Sequence[int]) -> list[Tensor]:
    """`split` along the third axis."""
    return movement.split(movement.of_rank("dsplit", ary, 3), indices_or_sections, 2)


# -- Fewer and more elements --------------------------------------------------------------------


MAX_CUTS = 8
"""Up to as many slices are deleted by joining what lies between them, in one pass."""


def delete(arr: Operand, obj: Any, axis: int | None = None) -> Tensor:
    """Return the tensor without the slices along `axis` at `obj`; None flattens it first.

    Parameters
    ----------
    obj
        An int, a slice, a mask or integers. For a tensor the number of remaining slices is read.

    Raises
    ------
    IndexError
        If an index is out of range.
    ShapeError
        If a mask has a different length.
    DTypeError
        If the indices are not integers.
    """
    x, along = along_axis("delete", arr, axis)
    n = x.shape[along]
    kept = ones((n,), dtypes.bool_, device=x.device)
    gone = None  # the indices, if they are known
    if isinstance(obj, slice):
        gone = range(n)[obj]
        if abs(gone.step) == 1:
            return _without(x, along, [(min(gone, default=0), max(gone, default=-1) + 1)])
        kept[obj] = False
    elif holds_masks(obj):
        mask = tensor_of(obj, "delete", device=x.device)
        if mask.shape != (n,):
            raise ShapeError(f"delete: mask of shape {mask.shape} does not match {n} elements")
        kept = mask == 0
    else:
        indices, op = gather.indices_of("delete", obj, x, along)
        if not isinstance(obj, Tensor):
            gone = {i % n for i in numbers_of("delete", obj)[0]}
        if gone is None or len(gone) > MAX_CUTS:
            # All values are one, so an index may occur twice.
            kept = gather.scatter(kept, (0,), (indices.ravel(),), 0, False, unique=True, op=op)
    if gone is not None and len(gone) <= MAX_CUTS:
        return _without(x, along, [(i, i + 1) for i in sorted(gone)])
    count = None if gone is None else n - len(gone)
    return gather.gather_nd(x, (along,), (gather.places_of("delete", kept, count),), along, op="")


def _without(x: Tensor, axis: int, cuts: list[tuple[int, int]]) -> Tensor:
    """Return a copy without the slices along an axis in some ranges, in ascending order."""
    starts, ends = [0, *(end for _, end in cuts)], [*(start for start, _ in cuts), x.shape[axis]]
    return concat([sliced(x, axis, *piece) for piece in zip(starts, ends, strict=True)], axis)


def insert(arr: Operand, obj: Any, values: Operand, axis: int | None = None) -> Tensor:
    """Insert `values` before the slices along `axis` at `obj`.

    Parameters
    ----------
    obj
        An int, a slice, a mask or integers: indices into the original `arr`. For a mask the number
        of its nonzero elements is read.
    values
        Values that broadcast to the new slices, converted to the dtype of `arr`; for one index, any
        number of slices.
    axis : int, optional
        None flattens the tensor first.

    Raises
    ------
    IndexError
        If an index is out of range; raised by the next read for indices in a tensor.
    ShapeError
        If the indices have several axes or the values do not broadcast.
    DTypeError
        If the indices are not integers.
    """
    x, along = along_axis("insert", arr, axis)
    n = x.shape[along]
    positions = _insertion_places(obj, n, x.device)
    inserted = gather.as_given(x, values, "insert")
    if positions.size == 1:  # all values are inserted before one place
        inserted = reshape_copy(inserted, (1,) * (x.ndim - inserted.ndim) + inserted.shape)
        inserted = inserted if positions.ndim else moveaxis(inserted, 0, along)
        positions = broadcast_to(positions, (inserted.shape[along],))
    shape = (*x.shape[:along], positions.size, *x.shape[along + 1 :])
    new = gather.cast_and_broadcast(x, inserted, shape, "insert")
    if not isinstance(obj, Tensor | slice) and not holds_masks(obj):
        numbers, _ = numbers_of("insert", obj)
        if len(numbers) == 1:
            position: int = numbers[0] + n if numbers[0] < 0 else numbers[0]
            before, behind = sliced(x, along, 0, position), sliced(x, along, position, n)
            return concat([before, new, behind], along)
    order = argsort(concat([positions, arange(n, device=x.device)]))  # stable: new elements first
    return gather.gather_nd(concat([new, x], along), (along,), (order,), along, op="")


def _insertion_places(obj: Any, n: int, device: Device) -> Tensor:
    """Return insertion positions along an axis of length n, from 0 to n."""
    if isinstance(obj, slice):
        return arange(*obj.indices(n), device=device)
    is_mask = holds_masks(obj)
    if is_mask or isinstance(obj, Tensor):
        positions = tensor_of(obj, "insert", device=device)
    else:
        numbers, shape = numbers_of("insert", obj)
        for i in numbers:
            if not isinstance(i, int):
                raise DTypeError(f"insert: indices must be integers, not {i!r}")
            if not -n <= i <= n:
                raise IndexError(f"insert: index {i} is out of range for an axis of {n} elements")
        positive = [i + n if i < 0 else i for i in numbers]
        positions = tensor_of(positive, "insert", dtype=dtypes.int32, device=device).reshape(shape)
    if positions.ndim > 1 or (is_mask and not positions.ndim):
        words = f"must be an index or a vector, not of shape {positions.shape}"
        raise ShapeError(f"insert: obj {words}")
    if is_mask:
        return gather.flatnonzero(positions)
    if not isinstance(obj, Tensor):
        return positions
    if not positions.dtype.is_integer:
        raise DTypeError(f"insert: indices must be integers, not {positions.dtype}")
    positions = movement.converted(positions, dtypes.int32)
    positions = where(positions < 0, positions + n, positions)
    positions = where(positions < 0, n + 1, positions)  # also out of range
    return gather.gather_nd(arange(n + 1, device=device), (0,), (positions,), 0, op="insert")


def trim_zeros(filt: Any, trim: str = "fb", axis: Axes = None) -> Any:
    """Trim zeros from the ends of the axes; the tensor is read.

    A tensor of zeros becomes empty. For a list or a tuple of numbers, the result is one too.

    Parameters
    ----------
    trim : {"fb", "f", "b"}
        Whether to trim at the front, at the back or at both ends.
    axis : int or tuple, optional
        The axes to trim; None trims all axes.

    Raises
    ------
    ValueError
        If `trim` is not one of these.
    """
    sides = trim.lower()
    if sides not in ("fb", "bf", "f", "b"):
        check_option("trim_zeros", "trim", trim, ("fb", "f", "b"))
    x = tensor_of(filt, "trim_zeros")
    axes = normalize_axes("trim_zeros", axis, x.ndim)
    if not axes:
        return filt
    is_there = x != 0
    key = [slice(None)] * x.ndim
    for trimmed in axes:
        others = tuple(a for a in range(x.ndim) if a != trimmed)
        along = is_there.any(others).tolist()
        if True in along:
            first, end = along.index(True), len(along) - along[::-1].index(True)
            key[trimmed] = slice(first if "f" in sides else None, end if "b" in sides else None)
        else:
            key[trimmed] = slice(0)
    is_list = isinstance(filt, list | tuple) and x.ndim == 1
    return cast("Any", filt)[key[0]] if is_list else x[tuple(key)]


def resize(a: Operand, new_shape: int | Shape) -> Tensor:
    """Return a tensor of another shape with the elements in row-major order, repeated."""
    x = tensor_of(a, "resize")
    shape = parse_shape("resize", new_shape)
    size = size_of(shape)
    if not x.size or not size:
        return zeros(shape, x.dtype, device=x.device)
    return reshape_copy(tile(x.ravel(), -(-size // x.size))[:size], shape)


# -- Turning ------------------------------------------------------------------------------------


def fliplr(m: Operand) -> Tensor:
    """Reverse the columns; returns a view."""
    return flip(movement.of_rank("fliplr", m, 2), 1)


def flipud(m: Operand) -> Tensor:
    """Reverse the rows; returns a view."""
    return flip(movement.of_rank("flipud", m, 1), 0)


def rot90(m: Operand, k: int = 1, axes: tuple[int, int] = (0, 1)) -> Tensor:
    """Rotate by 90 degrees `k` times, from the first axis towards the second; returns a view.

    Raises
    ------
    ShapeError
        If `axes` are not two different axes.
    """
    x = tensor_of(m, "rot90")
    first, second = (normalize_axis("rot90", axis, x.ndim) for axis in axes)
    if first == second:
        raise ShapeError(f"rot90: the axes {axes} of shape {x.shape} are the same")
    turns = k % 4
    if turns == 2:
        return flip(x, (first, second))
    if not turns:
        return x[...]
    return flip(x, second if turns == 1 else first).swapaxes(first, second)
