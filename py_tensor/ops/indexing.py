"""Indexing: ``x[key]`` and ``x[key] = value``, with NumPy's rules.

A basic key (ints, slices, ``...``, ``None``) selects a view. A key with masks or integer tensors
selects elements, and reading gives a copy. NumPy's "Indexing on ndarrays" has the rules for mixed
keys.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from operator import index as as_index
from operator import is_not
from types import EllipsisType, NoneType
from typing import Any, NoReturn, SupportsIndex, cast

from py_tensor.base import dtypes
from py_tensor.base.errors import DTypeError, ShapeError
from py_tensor.base.layout import Layout
from py_tensor.base.shapes import Shape, axes_of, broadcast, check_rank
from py_tensor.ir.bind import Recipes
from py_tensor.ir.node import Node
from py_tensor.ir.primitives import constant
from py_tensor.ops.creation import full
from py_tensor.ops.define import Binary
from py_tensor.ops.elementwise import where
from py_tensor.ops.gather import (
    Indices,
    as_given,
    cast_and_broadcast,
    gather_nd,
    indices_to_take,
    scatter,
    selected,
)
from py_tensor.ops.movement import reshape_copy, stack, view_by
from py_tensor.ops.operands import (
    Operand,
    as_ndarray,
    copy_or_scalar,
    is_array_like,
    known,
    node_of,
    number_like,
)
from py_tensor.ops.reduction import cumsum
from py_tensor.tensors.tensor import Tensor, install, tensor_of

Index = SupportsIndex | slice | EllipsisType | Sequence[Any] | None

# The most index tensors that each get a buffer of their own. A kernel may bind 8 buffers on every
# GPU, also for the values, the result, and in a write the old elements and the order of the values.
MAX_READ_BY = 4
MAX_WRITTEN_BY = 2

_ALL = slice(None)
# The function that writes by indices in each mode of a scatter, for errors.
_WRITTEN_BY = {
    "set": "setitem",
    **dict.fromkeys(("add", "add_atomic"), "add.at"),
    "min": "minimum.at",
    "max": "maximum.at",
}


def getitem(x: Tensor, key: Index | tuple[Index, ...], /) -> Tensor:
    """Return the elements that a key selects: a view of `x` for a basic key, else a copy.

    Raises
    ------
    IndexError
        If an index is out of range, there are more indices than axes, the shape of a mask does not
        fit, or a part is not a valid index. For indices on the GPU it is raised by the next read.
    """
    flat_index, layout, keys = _resolved(x, key)
    if flat_index is not None:
        return x._element(flat_index)  # pyright: ignore[reportPrivateUsage]
    if layout is not None:
        view = x._view_by(layout)  # pyright: ignore[reportPrivateUsage]
        # NumPy treats an array of one integer as an int, but copies what it selects.
        if keys and any(map(_is_array, keys)):
            return copy_or_scalar(view)
        return as_ndarray(copy_or_scalar(view)) if not layout.shape and x.is_scalar else view
    at_once = x._selected(keys) if all(map(_is_for_numpy, keys)) else None  # pyright: ignore[reportPrivateUsage]
    if at_once is not None:
        return at_once
    selection = _Selection.of(x, keys)
    is_view = selection.window.ndim > len(selection.parts) or any(k is Ellipsis for k in keys)
    if is_view and all(map(_is_basic, keys)):
        return _viewed(x, keys, selection.read)
    return selection.read()


def setitem(x: Tensor, key: Any, value: Operand) -> None:
    """Assign to the elements that a key selects; `value` broadcasts and is converted.

    Raises
    ------
    ValueError
        If `x` is read-only or `value` does not broadcast to the selection.
    IndexError
        As in `getitem`.
    TypeError
        If `x` is a scalar taken by indexing, such as ``x[0]``. A 0-d result of an op, such as a
        sum, becomes an array when it is written to, as in the array API standard.
    OverflowError
        If the dtype of `x` cannot hold a number or an integer of a list; as in NumPy, its integers
        wrap around if the dtype is unsigned, or the key has arrays. On the cpu device, also
        for a scalar tensor, as NumPy does for signed dtypes and keys without arrays; on the GPU its
        bits wrap around, because nothing is read to raise an error.
    """
    x._check_writeable("setitem")  # pyright: ignore[reportPrivateUsage]
    flat_index, layout, keys = _resolved(x, key)
    if flat_index is not None:
        if not x._assign_element(flat_index, value):  # pyright: ignore[reportPrivateUsage]
            write(x, Layout((), (), flat_index), value)
    elif layout is not None:
        write(x, layout, value)
    else:
        _Selection.of(x, keys).write(value)


def _resolved(x: Tensor, key: Any) -> tuple[int | None, Layout | None, tuple[Any, ...]]:
    """Return what a key selects, and its parts.

    That is the place of an element in the memory of `x`, or a layout. It is neither for a key with
    masks or integer tensors. The parts of a key of Python's ints and slices are left out.
    """
    flat_index = _place(x, key)
    if flat_index is not None:
        return flat_index, None, ()
    keys: Any = key if type(key) is tuple else (key,)  # pyright: ignore[reportUnknownVariableType]
    plain = _plain(keys)
    if plain is None:
        known = tuple(map(_known, keys))
        if any(map(is_not, known, keys)):
            return _resolved(x, known)
    if plain is not None:
        whole = x._layout  # pyright: ignore[reportPrivateUsage]
        layout = _selections[whole.shape, whole.strides, whole.offset, plain]
        if layout.shape:
            return None, layout, ()
    elif _parsed(keys) is None:
        layout = _layout_of(x._layout, keys)  # pyright: ignore[reportPrivateUsage]
    else:
        return None, None, keys
    # One element is a scalar and not a view, unless the key has more than ints.
    if not (layout.shape or any(k is Ellipsis for k in keys)):
        return layout.offset, None, keys
    return None, layout, keys


def combine(x: Tensor, key: Any, value: Tensor, mode: str, plain: Binary) -> None:
    """Combine a value with the selected elements, once for each occurrence of an index.

    `mode` is that of `scatter`; `plain` is the equivalent op if no element is selected twice.

    Raises
    ------
    ShapeError
        If `value` does not broadcast to the selection, or has more axes.
    """
    x._check_writeable("at")  # pyright: ignore[reportPrivateUsage]
    keys = _parsed(key)
    if keys is None:
        selected = getitem(x, key)
        _check_axes(value, selected.shape)
        setitem(x, key, plain(selected, value))
    else:
        _Selection.of(x, keys).write(value, mode)


def _check_axes(value: Tensor, shape: Shape) -> None:
    """Raise ShapeError if a value to combine has more axes than the selection, even of length 1."""
    if value.ndim > len(shape):
        raise ShapeError(
            f"at: a value of shape {value.shape} does not broadcast to the selection's {shape}"
        )


def has_no_arrays(key: Any) -> bool:
    """Return whether a key has no arrays, so it selects no element twice."""
    return _parsed(key) is None


def write(x: Tensor, selected: Layout, value: Operand) -> None:
    """Assign to the elements of x's memory that a layout selects."""
    # Python finishes x[key] += 1 with x[key] = the view that was added to.
    if type(value) is Tensor and value._alias is not None and value._is_at(x, selected):  # pyright: ignore[reportPrivateUsage]
        return
    node = _value_node(x, value, selected.shape)
    x._assign(selected, node)  # pyright: ignore[reportPrivateUsage]


def _value_node(x: Tensor, value: Operand, shape: Shape) -> Node:
    """Return a value in the dtype of `x`, broadcast to a shape; a number stays a constant."""
    if type(value) is Tensor:
        node, target = value._node, x._node.meta  # pyright: ignore[reportPrivateUsage]
        meta = node.meta
        is_same = meta.dtype is target.dtype
        if is_same and meta.shape == shape and meta.device is target.device:
            return node
        is_real = not (meta.dtype.is_bool or meta.dtype.is_complex)
        if not is_same and target.dtype.is_signed and is_real and value.is_scalar:
            number_read = known(value)
            if number_read is not None:
                dtypes.check_range("setitem", number_read.item(), target.dtype)
    # As in NumPy, one of its scalars has to fit a signed dtype, and a 0-d array wraps around.
    wraps = x.dtype.is_unsigned or hasattr(value, "__setitem__")
    number = number_like(value, x.dtype if wraps else None)
    if number is not None:
        return constant("setitem", number, x.dtype, x.device)
    return cast_and_broadcast(x, value, shape)._node  # pyright: ignore[reportPrivateUsage]


# -- Basic keys ---------------------------------------------------------------------------------


def _plain(keys: tuple[Any, ...]) -> tuple[Any, ...] | None:
    """Return the parts of a key in hashable form: Python ints, None, ... and slices of ints."""
    hashable: list[Any] = []
    for item in keys:
        if type(item) is slice:
            ends = item.start, item.stop, item.step
            if not _ENDS.issuperset(map(type, ends)):
                return None
            hashable.append(ends)
        elif type(item) is int or item is None or item is Ellipsis:
            hashable.append(item)
        else:
            return None
    return tuple(hashable)


_ENDS = {int, NoneType}  # the types of a slice's ends in a cached key


def _selected_by(
    shape: Shape, strides: tuple[int, ...], offset: int, plain: tuple[Any, ...]
) -> Layout:
    """Return the layout that the result of `_plain` for a key selects from a layout."""
    keys = (slice(*cast("Any", item)) if type(item) is tuple else item for item in plain)
    return _layout_of(Layout(shape, strides, offset), tuple(keys))


_selections = Recipes[tuple[Shape, tuple[int, ...], int, tuple[Any, ...]], Layout](_selected_by)


def _place(x: Tensor, key: Any) -> int | None:
    """Return the place in a tensor's memory of the element selected by Python ints.

    None for other keys, and for ints out of range. Nothing is cached, so that the first access to
    each of many elements is not slower.
    """
    layout = x._layout  # pyright: ignore[reportPrivateUsage]
    if type(key) is int:
        if len(layout.shape) != 1 or not -layout.shape[0] <= key < layout.shape[0]:
            return None
        return layout.offset + (key if key >= 0 else key + layout.shape[0]) * layout.strides[0]
    if type(key) is not tuple or set(map(type, cast("tuple[Any, ...]", key))) != {int}:
        return None
    keys = cast("tuple[int, ...]", key)
    if len(keys) != len(layout.shape):
        return None
    flat_index = layout.offset
    for number, n, stride in zip(keys, layout.shape, layout.strides, strict=True):
        if not -n <= number < n:
            return None
        flat_index += (number if number >= 0 else number + n) * stride
    return flat_index


def _known(item: Any) -> Any:
    """Return an int for an integer scalar that can be read without waiting; others unchanged."""
    if type(item) is not Tensor or not item.is_scalar or not item.dtype.is_integer:
        return item
    node = node_of(item)
    return item if node.meta.device.at_once(node) is None else int(node.storage)


def _is_for_numpy(item: Any) -> bool:
    """Return whether NumPy reads a part of a key in the same way."""
    if isinstance(item, list):
        return all(type(k) is int for k in cast("list[Any]", item))
    return type(item) in _READ_ALIKE or isinstance(item, Tensor)


_READ_ALIKE = {int, slice, NoneType, type(Ellipsis)}


def _parsed(key: Any) -> tuple[Any, ...] | None:
    """Return the parts of a key with masks or integer tensors; None for a basic key."""
    items = cast("tuple[Any, ...]", key if type(key) is tuple else (key,))
    for item in items:
        if item is None or item is Ellipsis or isinstance(item, slice):
            continue
        if isinstance(item, bool | Tensor | list | tuple | range):
            return items
        kind = getattr(getattr(item, "dtype", None), "kind", "i")
        if kind == "b" or getattr(item, "ndim", 0):
            return items
        if kind not in "iu" or not hasattr(item, "__index__"):
            what = f"the float {item}" if isinstance(item, float) else type(item).__name__
            raise IndexError(
                "index: takes ints, slices, ..., None, masks, and integers in a tensor, array or"
                f" list, not {what}"
            )
    return None


def _is_array(item: Any) -> bool:
    """Return whether a part of a key is an array and not a NumPy scalar."""
    return hasattr(item, "dtype") and hasattr(item, "__len__")


def _is_basic(item: Any) -> bool:
    """Return whether a part selects a view. ``x.argmax()`` counts as an int, as in NumPy."""
    if isinstance(item, Tensor):
        return item.is_scalar and not item.dtype.is_bool
    return not (is_array_like(item) or _is_flag(item))


def _viewed(x: Tensor, keys: tuple[Any, ...], read: Callable[[], Tensor]) -> Tensor:
    """Return the result of a key with scalars, as a view: a write to it or its base reads them."""
    layout = x._layout  # pyright: ignore[reportPrivateUsage]

    def find() -> Layout:
        ints = (as_index(k) if isinstance(k, Tensor) else k for k in keys)
        return _layout_of(layout, tuple(ints))

    return x._found_view(read, find)  # pyright: ignore[reportPrivateUsage]


def _layout_of(layout: Layout, keys: tuple[Any, ...]) -> Layout:
    """Return the layout that a basic key selects from a layout."""
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
                raise IndexError(f"index {i} is out of range for axis {axis} of shape {sizes}")
            offset += (i + n if i < 0 else i) * s
        axis += 1
    if len(shape) > rank:
        check_rank("index", tuple(shape))
    return Layout(tuple(shape), tuple(strides), offset)


def _axes_of(key: Any) -> int:
    """Return the number of axes that a part of a key selects from."""
    if key is None or key is Ellipsis or _is_flag(key):
        return 0
    return key.ndim if _is_mask(key) else 1


def _is_flag(key: Any) -> bool:
    """Return whether a part of a key is a single bool, which selects all or nothing."""
    return isinstance(key, bool) or (_is_mask(key) and not key.ndim)


def _without_ellipsis(keys: tuple[Any, ...], rank: int) -> tuple[Any, ...]:
    dots = [i for i, k in enumerate(keys) if k is Ellipsis]
    used = sum(map(_axes_of, keys))
    if used > rank:
        raise IndexError(f"index: too many indices for a tensor of {axes_of(rank)}: {used}")
    if len(dots) > 1:
        raise IndexError("index: only one ... is allowed in an index")
    if used == rank and not dots:
        return keys
    fill = (_ALL,) * (rank - used)
    return (*keys[: dots[0]], *fill, *keys[dots[0] + 1 :]) if dots else (*keys, *fill)


# -- Masks and tensors of integers --------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Selection:
    """The selection of a key with masks or integer tensors.

    Attributes
    ----------
    window : Tensor
        The view after applying the key's ints, slices and None.
    mask : Tensor, optional
        The mask, if the key has exactly one and no integer tensors.
    parts : list of Tensor
        The tensors of integers or bools.
    places : list of int
        The first axis of the window that each part selects from.
    at : int
        The position of the selected axes in the result.
    op : str
        The function to name in errors about indices out of range; "" if all are in range.
    """

    window: Tensor
    mask: Tensor | None
    parts: list[Tensor]
    places: list[int]
    at: int
    op: str

    @staticmethod
    def of(x: Tensor, items: tuple[Any, ...]) -> _Selection:
        items = tuple(_with_masks(k, x) for k in items)
        dots = [i for i, k in enumerate(items) if k is Ellipsis]
        keys = _without_ellipsis(items, x.ndim)
        k: Any
        basic: list[Any] = []
        parts: list[Tensor] = []
        window_axes: list[int] = []
        positions: list[int] = []  # the positions of parts that select elements, including ints
        before: list[int] = []  # the number of window axes before each
        axis = kept = 0
        op = ""
        for position, k in enumerate(keys):
            is_kept = isinstance(k, slice | NoneType)
            if not is_kept:
                # An ellipsis separates the parts around it, even if it covers no axis.
                positions.append(position + (bool(dots) and position >= dots[0]))
                before.append(kept)
            if is_kept or not (_is_flag(k) or is_array_like(k)):
                basic.append(k)
                axis += k is not None
                kept += is_kept
                continue
            covered: list[Any] = [_ALL]
            if _is_flag(k):  # a new axis, of which it selects 1 or 0 elements
                covered = [None]
                k = reshape_copy(k, (1,)) if isinstance(k, Tensor) else _mask((1,), bool(k), x)
            elif _is_mask(k):
                k = _fitting_mask(k, x, axis)
                covered *= k.ndim
            else:
                checked = _indices_along(k, x, axis, keys)
                k, op = checked.tensor, op or checked.op
            basic += covered
            parts.append(k)
            window_axes.append(kept)
            axis += covered.count(_ALL)
            kept += len(covered)
        is_whole = len(basic) == x.ndim and all(k is _ALL for k in basic)
        window = x if is_whole else view_by(x, _layout_of(x._layout, tuple(basic)))  # pyright: ignore[reportPrivateUsage]
        apart = any(later - earlier > 1 for earlier, later in pairwise(positions))
        single = len(parts) == len(positions) == 1 and _is_mask(parts[0])
        mask = parts[0] if single else None
        return _Selection(window, mask, parts, window_axes, 0 if apart else before[0], op)

    def read(self) -> Tensor:
        mask, window = self.mask, self.window
        if mask is not None and mask.ndim == window.ndim and mask.size < 2**31:
            if mask.ndim > 1:
                mask, window = mask.ravel(), window.ravel()
            return selected(mask, window)
        indices, axes = self._indices(MAX_READ_BY)
        return gather_nd(self.window, axes, indices, self.at, op=self.op)

    def write(self, value: Operand, mode: str = "set") -> None:
        """Assign a value, or combine it with the elements by another mode of `scatter`."""
        window = self.window
        written = None
        if self.mask is not None and mode == "set":
            written = self._masked(self.mask, value)
        if written is None:
            indices, axes = self._indices(MAX_WRITTEN_BY)
            spread = broadcast("setitem", *(i.shape for i in indices))
            rest = tuple(n for a, n in enumerate(window.shape) if a not in axes)
            shape = (*rest[: self.at], *spread, *rest[self.at :])
            if mode != "set":
                _check_axes(value, shape)
            values = cast_and_broadcast(window, value, shape)
            unique, op = self.mask is not None, self.op and _WRITTEN_BY[mode]
            written = scatter(window, axes, indices, self.at, values, mode, unique=unique, op=op)
        layout = window._layout  # pyright: ignore[reportPrivateUsage]
        window._assign(layout, written._node)  # pyright: ignore[reportPrivateUsage]

    def _indices(self, bound: int) -> tuple[list[Tensor], list[int]]:
        """Return an integer tensor for each axis that is selected from.

        More than `bound` tensors share buffers.
        """
        indices: list[Tensor] = []
        axes: list[int] = []
        for item, window_axis in zip(self.parts, self.places, strict=True):
            selected = item.nonzero() if _is_mask(item) else (item,)
            indices += selected
            axes += range(window_axis, window_axis + len(selected))
        try:
            shape = broadcast("index", *(i.shape for i in indices))
        except ShapeError as error:
            raise IndexError(str(error)) from None
        if self.window.device.waits and len(indices) > bound:
            indices = _in_few_buffers(indices, shape)
        return indices, axes

    def _masked(self, mask: Tensor, value: Operand) -> Tensor | None:
        """Return the window with a value where a mask is true; None if indices are needed."""
        window, start = self.window, self.places[0]
        rest = window.shape[start + mask.ndim :]
        operand = as_given(window, value, "setitem")
        if operand.ndim > len(rest):
            if start:
                return None
            if operand.shape[-len(rest) - 1] != 1:
                return self._placed(mask, operand, rest)
        if operand.ndim or operand.dtype is not window.dtype:
            operand = reshape_copy(cast_and_broadcast(window, operand, (1, *rest)), rest)
        mask = reshape_copy(mask, (*mask.shape, *(1 for _ in rest)))
        return where(mask, operand, window)

    def _placed(self, mask: Tensor, value: Tensor, rest: Shape) -> Tensor:
        """Return the window with the n-th of some values at the n-th place where a mask is true."""
        window = self.window
        count = mask.nonzero()[0].size
        values = cast_and_broadcast(window, value, (count, *rest))
        if not count:
            return window
        counts = reshape_copy(cumsum(reshape_copy(mask, (mask.size,))), mask.shape)
        taken = gather_nd(values, [0], [where(mask, counts - 1, 0)], 0, op="")
        return where(reshape_copy(mask, (*mask.shape, *(1 for _ in rest))), taken, window)


def _in_few_buffers(indices: list[Tensor], shape: Shape) -> list[Tensor]:
    """Broadcast indices to a shape, and return them as views of at most two tensors."""
    result = list(indices)
    # With a signed integer, all integers but uint64 promote to integers.
    promoted = [dtypes.promote(x.dtype, dtypes.int8) for x in indices]
    for is_alike in (True, False):
        numbers = [n for n, dtype in enumerate(promoted) if dtype.is_integer is is_alike]
        if len(numbers) > 1:
            whole = stack([indices[n].broadcast_to(shape).ravel() for n in numbers])
            for position, number in enumerate(numbers):
                row = whole[position]
                result[number] = row if row.shape == shape else reshape_copy(row, shape)
    return result


def _is_mask(key: Any) -> bool:
    return getattr(getattr(key, "dtype", None), "kind", None) == "b"


def holds_masks(key: Any) -> bool:
    """Return whether a key is a bool, a mask, or nested lists of these."""
    if isinstance(key, list):
        members = cast("list[Any]", key)
        return bool(members) and all(map(holds_masks, members))
    return isinstance(key, bool) or _is_mask(key)


def _mask(shape: Shape, value: bool, x: Tensor) -> Tensor:
    return full(shape, value, dtype=dtypes.bool_, device=x.device)


def _with_masks(item: Any, x: Tensor) -> Any:
    """Return a part of a key; bools in lists and arrays, and tensors in lists, as a tensor."""
    listed = cast("list[Any]", item) if isinstance(item, list | tuple) else []
    if any(isinstance(k, Tensor) and k.ndim for k in listed):
        item = tensor_of(item, "index", device=x.device)
    if isinstance(item, Tensor):
        if item.dtype.is_floating:
            raise IndexError(f"index: takes integers and bools in a tensor, not {item.dtype}")
        return item
    if isinstance(item, bool) or not holds_masks(item):
        return _as_ints(item) if isinstance(item, list | tuple) else item
    return tensor_of(item, "index", dtype=dtypes.bool_, device=x.device)


def _as_ints(item: Any) -> Any:
    """Return nested lists in which a bool among integers is 0 or 1, as in NumPy."""
    if isinstance(item, list | tuple):
        return [_as_ints(k) for k in cast("list[Any]", item)]
    return int(item) if _is_flag(item) else item


def _selects_nothing(key: Any) -> bool:
    """Return whether a part of a key selects nothing, whatever the other parts are."""
    if isinstance(key, bool | list | tuple):
        return not key
    return not (key.any() if _is_mask(key) else getattr(key, "size", 1))


def _indices_along(key: Any, x: Tensor, axis: int, keys: tuple[Any, ...]) -> Indices:
    """Return a part of an index as integers along an axis; `keys` are all parts."""
    try:
        # NumPy does not raise an error about a range if nothing is selected.
        return indices_to_take("index", key, x, axis, lambda: any(map(_selects_nothing, keys)))
    except DTypeError as error:
        raise IndexError(str(error)) from None


def _fitting_mask(mask: Tensor, x: Tensor, axis: int) -> Tensor:
    """Return a mask checked against axes of `x`. A mask without elements selects nothing."""
    covered = x.shape[axis : axis + mask.ndim]
    if mask.shape == covered:
        return mask
    sizes = zip(mask.shape, covered, strict=False)
    if len(covered) < mask.ndim or any(k not in (0, n) for k, n in sizes):
        raise IndexError(
            f"index: a mask of shape {mask.shape} does not fit axes of shape {covered}, from axis"
            f" {axis} of {x.shape}"
        )
    return _mask(covered, False, x)


def _delitem(self: Tensor, key: Any, /) -> NoReturn:
    raise ValueError(
        "del: elements of a tensor cannot be deleted; x[mask] selects those to keep, and"
        " pt.concat([x[:i], x[i + 1 :]]) leaves one out"
    )


install("__delitem__", _delitem)
install("__getitem__", getitem)
install("__setitem__", setitem)
