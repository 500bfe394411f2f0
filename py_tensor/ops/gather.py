"""Selecting elements by indices."""

from __future__ import annotations

import builtins
from collections.abc import Iterator
from operator import index as as_index
from typing import Any, cast

from py_tensor import dtypes
from py_tensor.backend.device import CPU_DEVICE
from py_tensor.errors import DeviceError, DTypeError, ShapeError
from py_tensor.graph.primitives import GATHER
from py_tensor.ops.define import Operand, build, register
from py_tensor.ops.movement import expand, ravel, reshape, tensor_of
from py_tensor.ops.reduction import max, min
from py_tensor.shapes import Shape, broadcast, check_rank, normalize_axis
from py_tensor.tensor import Tensor

__all__ = ["take", "take_along_axis"]


def take(x: Operand, indices: Operand, /, axis: int | None = None) -> Tensor:
    """The elements along `axis` at `indices`; None takes from the flattened tensor.

    Parameters
    ----------
    indices
        Integers of any shape, which stands in the place of the axis. Negative ones count from the
        end. ``x[indices]`` is ``take(x, indices, 0)`` for a tensor, array or list of them.

    Raises
    ------
    IndexError
        For an index out of range, where it is known: in a list, an array, or on the cpu device. A
        GPU computes before anybody can look, and clips it to the nearest that is in range.
    DTypeError
        For indices that are no integers.

    Examples
    --------
    >>> import py_tensor as pt
    >>> pt.take(pt.tensor([10, 20, 30]), [2, 0, -1])
    tensor([30, 10, 30])
    """
    x = tensor_of(x, "take")
    if axis is None:
        x, axis = ravel(x), 0
    at = normalize_axis("take", axis, x.ndim)
    found = _indices("take", indices, x, at)
    before, behind = x.shape[:at], x.shape[at + 1 :]
    check_rank("take", (*before, *found.shape, *behind))
    spread = (*(1 for _ in before), found.size, *(1 for _ in behind))
    shape = (*before, found.size, *behind)
    taken = _gather(x, expand(reshape(found, spread), shape), at)
    return reshape(taken, (*before, *found.shape, *behind))


def take_along_axis(x: Operand, indices: Operand, /, axis: int | None = -1) -> Tensor:
    """For each position the element of its own line along `axis` that `indices` names there.

    Where `argsort` or `argmax` say where elements are, this gives the elements.

    Parameters
    ----------
    indices
        Integers, with as many axes as `x`; the axes beside `axis` broadcast. None takes from the
        flattened tensor.

    Raises
    ------
    ShapeError
        If the numbers of axes differ, or axes do not broadcast.
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
    x = tensor_of(x, "take_along_axis")
    if axis is None:
        x, axis = ravel(x), 0
    at = normalize_axis("take_along_axis", axis, x.ndim)
    found = _indices("take_along_axis", indices, x, at)
    if found.ndim != x.ndim:
        raise ShapeError(
            f"take_along_axis: indices of shape {found.shape} do not have the {x.ndim} axes of"
            f" {x.shape}"
        )
    sides = [_with_axis(v.shape, at, 1) for v in (x, found)]
    shape = broadcast("take_along_axis", *sides)
    x, found = (expand(v, _with_axis(shape, at, v.shape[at])) for v in (x, found))
    return _gather(x, found, at)


def _with_axis(shape: Shape, axis: int, n: int) -> Shape:
    return (*shape[:axis], n, *shape[axis + 1 :])


def _gather(x: Tensor, indices: Tensor, axis: int) -> Tensor:
    return build(GATHER, (x, indices), axis, indices.shape, x.dtype, x.device)


def _indices(op: str, given: Operand, x: Tensor, axis: int) -> Tensor:
    """Indices as a tensor on the device of `x`, checked as far as they are known."""
    from py_tensor.interop import asarray

    if isinstance(given, Tensor):
        if given.device is not x.device:
            raise DeviceError(
                f"{op}: operands on {x.device} and {given.device}; move one with x.to(device)"
            )
        if given.dtype.kind not in "iu":
            raise DTypeError(f"{op}: indices are integers, not {given.dtype}")
        if given.device is CPU_DEVICE and given.size:
            _check(op, int(min(given)), int(max(given)), x, axis)
        elif given.size and not x.shape[axis]:
            raise IndexError(f"{op}: axis {axis} of shape {x.shape} has no elements to take")
        return given
    if hasattr(given, "__array_interface__"):
        if given.dtype.kind not in "iu":
            raise DTypeError(f"{op}: indices are integers, not {given.dtype}")
        if given.size:
            _check(op, int(given.min()), int(given.max()), x, axis)
    else:
        try:
            values = [as_index(i) for i in _flat(given)]
        except TypeError:
            raise DTypeError(f"{op}: indices are integers, not {given!r}") from None
        if values:
            _check(op, builtins.min(values), builtins.max(values), x, axis)
    return asarray(given, dtype=dtypes.int32, device=x.device, op=op)


def _flat(given: Any) -> Iterator[Any]:
    """The scalars in nested lists; a bool is no index."""
    if isinstance(given, list | tuple | range):
        for item in cast("list[Any]", given):
            yield from _flat(item)
    else:
        yield None if isinstance(given, bool) else given


def _check(op: str, low: int, high: int, x: Tensor, axis: int) -> None:
    n = x.shape[axis]
    wrong = low if low < -n else high if high >= n else None
    if wrong is not None:
        raise IndexError(f"{op}: {wrong} is out of range for axis {axis} of shape {x.shape}")


register(take)
register(take_along_axis, GATHER, method=False)
