"""Indexing: ``x[key]`` and ``x[key] = value``, by all of NumPy's rules.

A key is basic (ints, slices, ``...``, ``None``), and then selects a view; or it holds masks or
tensors of integers, and selects elements: a copy where it is read. NumPy's "Indexing on ndarrays"
has the rules for mixtures.
"""

from __future__ import annotations

from operator import index as as_index
from typing import Any, cast

from py_tensor import dtypes
from py_tensor.errors import ShapeError
from py_tensor.graph.node import Node
from py_tensor.layout import Layout
from py_tensor.ops.define import Operand, constant, number_like
from py_tensor.ops.gather import take
from py_tensor.ops.movement import broadcast_to, converted, is_mask, reshape, view_by
from py_tensor.shapes import Shape, check_rank
from py_tensor.tensor import Tensor, install

_ALL = slice(None)


def getitem(x: Tensor, key: Any) -> Tensor:
    """The elements that a key selects: a view of `x` for a basic one, else a copy.

    Raises
    ------
    IndexError
        For an index out of range, more indices than axes, a mask whose shape does not fit, or
        anything that is no index. Where indices lie on the GPU it is raised by the next read.
    """
    keys = _parsed(key)
    if keys is None:
        keys = cast("tuple[Any, ...]", key if type(key) is tuple else (key,))
        found = _select(x, keys)
        # An element is a scalar, and no view, unless the key has more than ints.
        is_element = not found.ndim and Ellipsis not in keys and x.ndim
        return found.copy() if is_element else found
    if len(keys) == 1 and not is_mask(keys[0]):
        return take(x, keys[0], 0)
    raise TypeError("index: masks and several tensors of integers are not supported yet")


def setitem(x: Tensor, key: Any, value: Operand) -> None:
    """Assign to the elements that a key selects; `value` broadcasts to them, and is converted.

    Raises
    ------
    ValueError
        If `x` is read-only, or `value` does not broadcast to what is selected.
    IndexError
        As for reading.
    """
    x._check_writeable("setitem")  # pyright: ignore[reportPrivateUsage]
    keys = _parsed(key)
    if keys is None:
        selected = _layout_of(x, cast("tuple[Any, ...]", key if type(key) is tuple else (key,)))
        write(x, selected, value)
    else:
        raise TypeError("setitem: masks and tensors of integers are not supported yet")


def write(x: Tensor, selected: Layout, value: Operand) -> None:
    """Assign to the places of x's memory that a layout names."""
    node = _value_node(x, value, selected.shape)
    x._assign(selected, node)  # pyright: ignore[reportPrivateUsage]


def _value_node(x: Tensor, value: Operand, shape: Shape) -> Node:
    """A value in the dtype of `x`, broadcast to a shape; a number stays a constant."""
    number = number_like(value)
    if number is not None:
        return constant("setitem", number, x.dtype, x.device)
    return fitted(x, value, shape)._node  # pyright: ignore[reportPrivateUsage]


def fitted(x: Tensor, value: Operand, shape: Shape, op: str = "setitem") -> Tensor:
    """A value as a tensor in the dtype and on the device of `x`, broadcast to a shape.

    Leading axes of length 1 that the shape lacks are dropped, as in NumPy.
    """
    from py_tensor.interop import asarray

    given = value if isinstance(value, Tensor) else asarray(value, device=x.device, op=op)
    if given.device is not x.device:
        given = given.to(x.device) if given.device.name == "cpu" else _refused(op, x, given)
    given = converted(given, x.dtype)
    surplus = given.ndim - len(shape)
    if surplus > 0 and all(n == 1 for n in given.shape[:surplus]):
        given = reshape(given, given.shape[surplus:])
    if given.shape == shape:
        return given
    try:
        return broadcast_to(given, shape)
    except ShapeError:
        raise ShapeError(
            f"{op}: a value of shape {given.shape} does not broadcast to the selection's {shape}"
        ) from None


def _refused(op: str, x: Tensor, given: Tensor) -> Tensor:
    from py_tensor.errors import DeviceError

    raise DeviceError(
        f"{op}: operands on {x.device} and {given.device}; move one with x.to(device)"
    )


# -- Basic keys ---------------------------------------------------------------------------------


def _parsed(key: Any) -> tuple[Any, ...] | None:
    """The parts of a key that holds masks or tensors of integers; None for a basic key."""
    parts = cast("tuple[Any, ...]", key if type(key) is tuple else (key,))
    for part in parts:
        if part is None or part is Ellipsis or isinstance(part, slice):
            continue
        if isinstance(part, int) and not isinstance(part, bool):
            continue
        if isinstance(part, bool | Tensor | list | tuple) or hasattr(part, "dtype"):
            if not _is_numpy_integer(part):
                return parts
            continue
        if not hasattr(part, "__index__"):
            raise IndexError(
                "index: takes ints, slices, ..., None, masks, and integers in a tensor, array or"
                f" list, not {_described(part)}"
            )
    return None


def _is_numpy_integer(part: Any) -> bool:
    alone = not isinstance(part, Tensor) and getattr(part, "ndim", None) == 0
    return alone and part.dtype.kind in "iu"


def _described(part: Any) -> str:
    return f"the float {part}" if isinstance(part, float) else type(part).__name__


def _select(x: Tensor, keys: tuple[Any, ...]) -> Tensor:
    return view_by(x, _layout_of(x, keys))


def _layout_of(x: Tensor, keys: tuple[Any, ...]) -> Layout:
    """The places of x's memory that a basic key selects."""
    layout = x._layout  # pyright: ignore[reportPrivateUsage]
    sizes = layout.shape
    rank = len(sizes)
    keys = _without_ellipsis(keys, rank)
    shape: list[int] = []
    strides: list[int] = []
    offset, axis = layout.offset, 0
    for k in keys:
        if k is None:
            shape.append(1)
            strides.append(0)
            continue
        n, s = sizes[axis], layout.strides[axis]
        if isinstance(k, slice):
            start, stop, step = cast("slice[Any, Any, Any]", k).indices(n)
            count = len(range(start, stop, step))
            shape.append(count)
            strides.append(step * s)
            offset += start * s if count else 0
        else:
            i = as_index(k)
            if not -n <= i < n:
                raise IndexError(f"index: {i} is out of range for axis {axis} of shape {x.shape}")
            offset += (i + n if i < 0 else i) * s
        axis += 1
    if len(shape) > rank:
        check_rank("index", tuple(shape))
    return Layout(tuple(shape), tuple(strides), offset)


def _axes_of(key: Any) -> int:
    """The number of axes that a part of a key selects from."""
    if key is None or key is Ellipsis or _is_flag(key):
        return 0
    return key.ndim if isinstance(key, Tensor) and key.dtype is dtypes.bool_ else 1


def _is_flag(key: Any) -> bool:
    """Whether it is a single bool, which selects all or nothing."""
    return isinstance(key, bool) or (
        isinstance(key, Tensor) and key.dtype is dtypes.bool_ and not key.ndim
    )


def _without_ellipsis(keys: tuple[Any, ...], rank: int) -> tuple[Any, ...]:
    dots = [i for i, k in enumerate(keys) if k is Ellipsis]
    used = sum(map(_axes_of, keys))
    if used > rank:
        raise IndexError(f"index: {used} indices for a tensor of {rank} axes")
    if len(dots) > 1:
        raise IndexError("index: only one ... may stand in an index")
    if used == rank and not dots:
        return keys
    fill = (_ALL,) * (rank - used)
    return (*keys[: dots[0]], *fill, *keys[dots[0] + 1 :]) if dots else (*keys, *fill)


install("__getitem__", getitem)
install("__setitem__", setitem)
