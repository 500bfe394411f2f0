"""Functions and methods that write to a tensor: fill, in-place sort, put, copyto and others."""

from __future__ import annotations

from collections.abc import Callable
from inspect import signature
from math import prod
from operator import index as as_index
from typing import Any

from py_tensor.base.dtypes import CASTINGS, bool_, check_cast, of_scalar, parse
from py_tensor.base.errors import DTypeError, ShapeError, check_option
from py_tensor.base.shapes import broadcast, parse_shape, size_of, unravel
from py_tensor.ops.creation import zeros
from py_tensor.ops.define import declared
from py_tensor.ops.elementwise import where as choose
from py_tensor.ops.gather import as_given, beside, cast_and_broadcast, indices_of, scattered
from py_tensor.ops.indexing import getitem, setitem, write
from py_tensor.ops.movement import along_axis, concat, converted, reshape_copy
from py_tensor.ops.operands import Operand, copy_or_scalar, node_of, number_like, on_one_device
from py_tensor.ops.out import check_kind, writeable
from py_tensor.ops.rearrange import tile
from py_tensor.ops.sorting import partition, sort
from py_tensor.tensors.tensor import Tensor, install, tensor_of

__all__ = [
    "copyto", "fill_diagonal", "flatiter", "place", "put", "put_along_axis", "putmask",
]  # fmt: skip


def _overwrite(x: Tensor, y: Tensor) -> None:
    """Assign all elements."""
    write(x, x._layout, y)  # pyright: ignore[reportPrivateUsage]


def _fill(self: Tensor, value: Operand) -> None:
    """Fill the tensor with one value."""
    if number_like(value) is None and getattr(value, "ndim", 1):
        raise TypeError(f"fill: value must be one number, not {type(value).__name__}")
    setitem(self, Ellipsis, value)


def _in_place(plain: Callable[..., Tensor]) -> Callable[..., None]:
    """Return the method that does to a tensor what a function does to a copy of it."""
    op = plain.__name__

    def call(a: Tensor, axis: int | None, **options: Any) -> None:
        if axis is None:
            raise TypeError(f"{op}: x.{op} needs one axis; pt.{op}(x, None) {op}s a flat copy")
        result = plain(a, axis=axis, **options)
        _overwrite(writeable(op, a), result)

    doc = f"{op.capitalize()} the elements along `axis` in place; `pt.{op}` returns a copy."
    return declared(op, signature(plain).replace(return_annotation="None"), call, doc)


def _resize(self: Tensor, *new_shape: Any, refcheck: bool = True) -> None:
    """Change the shape in place: elements are dropped, or zeros appended.

    Raises
    ------
    ValueError
        If the size changes and the tensor is a view, has views (whatever `refcheck` is) or is a
        scalar.
    """
    sizes = new_shape[0] if len(new_shape) == 1 else new_shape
    if sizes is None or not new_shape:
        return
    shape = parse_shape("resize", sizes)
    if size_of(shape) == self.size and self.flags.c_contiguous and not self.is_scalar:
        self.shape = shape
        return
    if self.is_scalar or self._alias is not None:  # pyright: ignore[reportPrivateUsage]
        raise ValueError("resize: the tensor is a view or has views; use pt.resize, which copies")
    kept = self.copy().ravel()[: size_of(shape)]
    missing = zeros(size_of(shape) - kept.size, self.dtype, device=self.device)
    made = node_of(reshape_copy(concat([kept, missing]), shape))
    self._record(lambda node: made)  # pyright: ignore[reportPrivateUsage]


def put(a: Tensor, ind: Operand, v: Operand, mode: str = "raise") -> None:
    """Assign `v` at indices into the flattened tensor; too few values are repeated.

    Parameters
    ----------
    mode : {"raise", "wrap", "clip"}
        How to treat an index out of range, as in `take`.

    Raises
    ------
    IndexError
        If an index is out of range; raised by the next read if the indices are on the GPU.
    """
    x = writeable("put", a)
    flat, values = x.ravel(), as_given(a, v, "put")
    index, op = indices_of("put", ind, flat, 0, mode)
    if values.size and index.size:
        flat, values = on_one_device("put", (flat, _repeated(values, index.size)))
        values = converted(values, x.dtype)
        written = scattered(flat, (index.ravel(),), values, (0,), 0, op, "set", False)
        _overwrite(x, reshape_copy(written, x.shape))


def _put(self: Tensor, indices: Operand, values: Operand, /, mode: str = "raise") -> None:
    """Assign values at indices into the flattened tensor; see `pt.put`."""
    put(self, indices, values, mode)


def put_along_axis(arr: Tensor, indices: Operand, values: Operand, axis: int | None) -> None:
    """Assign `values` to the elements that `take_along_axis` selects with the same indices.

    Raises
    ------
    ShapeError, IndexError, DTypeError
        As in `take_along_axis`.
    """
    target = writeable("put_along_axis", arr)
    x, along = along_axis("put_along_axis", target, axis)
    index, op = indices_of("put_along_axis", indices, x, along)
    wide, index = beside("put_along_axis", x, index, along)
    if wide.shape != x.shape:
        raise ShapeError(
            f"put_along_axis: indices of shape {index.shape} do not broadcast"
            f" to the axes other than {along} of {x.shape}"
        )
    elements = cast_and_broadcast(x, values, index.shape, "put_along_axis")
    written = scattered(x, (index,), elements, (along,), along, op, "set", False)
    _overwrite(target, reshape_copy(written, target.shape))


def copyto(dst: Tensor, src: Operand, casting: str = "same_kind", where: Operand = True) -> None:
    """Assign `src`, which broadcasts, to all elements or to those where `where` is true.

    Parameters
    ----------
    casting : {"no", "equiv", "safe", "same_kind", "unsafe"}
        Which dtypes may be stored in the dtype of `dst`. For a Python number only the kind matters.

    Raises
    ------
    ShapeError
        If the values or `where` do not broadcast to the shape of `dst`.
    DTypeError
        If `casting` does not allow the dtype of the values, or if `where` is neither bool nor one
        number.
    """
    writeable("copyto", dst)
    check_option("copyto", "casting", casting, CASTINGS)
    number = number_like(src, dst.dtype)
    source = as_given(dst, src, "copyto")
    if number is None:
        dtype = source.dtype
    elif isinstance(src, int | float | complex):
        dtype = of_scalar(src)
    else:  # NumPy's number: its own dtype, also one of 64 bits
        dtype = parse(src.dtype.name)
    weak = isinstance(src, int) and dst.dtype.is_unsigned
    is_array = number is None or (dtype.is_integer and not isinstance(src, int))
    if is_array and casting != "same_kind":
        check_cast("copyto", dtype, dst.dtype, casting)
    elif casting != "unsafe" and not weak:
        check_kind("copyto", dtype, dst.dtype, "casting='unsafe' allows it")
    if where is True:
        setitem(dst, Ellipsis, source if number is None else number)
        return
    condition = tensor_of(where, "copyto", device=dst.device)
    if condition.ndim and not condition.dtype.is_bool:
        raise DTypeError(f"copyto: where must be bool, not {condition.dtype}")
    if broadcast("copyto", dst.shape, condition.shape) != dst.shape:
        raise ShapeError(
            f"copyto: where of shape {condition.shape} does not broadcast to {dst.shape}"
        )
    _overwrite(dst, choose(condition, cast_and_broadcast(dst, source, dst.shape, "copyto"), dst))


def putmask(a: Tensor, /, mask: Operand, values: Operand) -> None:
    """Where `mask` is nonzero, assign the elements of `values` at the same positions.

    `values` is repeated if it is shorter than the flattened tensor.

    Raises
    ------
    ShapeError
        If the mask does not have as many elements as `a`.
    DTypeError
        If `values` is a tensor or an array of floats for integers, or of numbers for bools.
    """
    mask, replacements = _masked("putmask", "a", a, mask, values)
    if getattr(values, "ndim", 0):
        check_kind("putmask", replacements.dtype, a.dtype, "pt.copyto(..., casting='unsafe')")
    if replacements.size and a.size:
        repeated = converted(_repeated(replacements, a.size), a.dtype)
        _overwrite(a, choose(mask, reshape_copy(repeated, a.shape), a))


def _masked(op: str, name: str, x: Tensor, mask: Operand, values: Operand) -> tuple[Tensor, Tensor]:
    """Return a mask in the shape of the tensor to write to, and the values to write."""
    writeable(op, x)
    condition, replacements = tensor_of(mask, op, device=x.device), as_given(x, values, op)
    if condition.size != x.size:
        raise ShapeError(
            f"{op}: mask of shape {condition.shape} does not match {name} of shape {x.shape}"
        )
    return reshape_copy(condition, x.shape), replacements


def _repeated(values: Tensor, size: int) -> Tensor:
    """Return `size` elements, by repeating the values."""
    flat = reshape_copy(values, (values.size,))
    if flat.size == size:
        return flat
    return getitem(tile(flat, -(-size // flat.size)), slice(size))


def place(arr: Tensor, mask: Operand, vals: Operand) -> None:
    """Assign `vals` in order to the elements where `mask` is nonzero, repeating them if needed.

    Reads the number of these elements.

    Raises
    ------
    ValueError
        If an element is selected and `vals` is empty.
    """
    mask, replacements = _masked("place", "arr", arr, mask, vals)
    mask = converted(mask, bool_)
    count = int(mask.sum())
    if count and not replacements.size:
        raise ValueError("place: vals must not be empty")
    if count:
        setitem(arr, mask, _repeated(replacements, count))


def fill_diagonal(a: Tensor, val: Operand, wrap: bool = False) -> None:
    """Assign the elements of `val`, repeated, to the main diagonal.

    Parameters
    ----------
    wrap : bool
        Whether the diagonal of a tall matrix restarts, one row after it ends.

    Raises
    ------
    ShapeError
        If `a` has fewer than two axes, or more than two of different lengths.
    """
    writeable("fill_diagonal", a)
    if a.ndim < 2 or (a.ndim > 2 and len(set(a.shape)) > 1):
        raise ShapeError(
            f"fill_diagonal: takes a matrix or axes of equal length, not shape {a.shape}"
        )
    n = a.shape[1]
    step = 1 + sum(prod(a.shape[axis:]) for axis in range(1, a.ndim))
    flatiter(a)[: n * n if a.ndim == 2 and not wrap else None : step] = val


class flatiter:  # noqa: N801 - NumPy's name
    """Flat iterator over a tensor in row-major order, as ``x.flat``; reads return copies.

    Attributes
    ----------
    base : Tensor
        The tensor that assignments write to.
    index : int
        The flat index of the next element.
    """

    __slots__ = ("base", "index")

    def __init__(self, base: Tensor) -> None:
        self.base = base
        self.index = 0

    def __len__(self) -> int:
        return self.base.size

    def __next__(self) -> Tensor:
        if self.index >= len(self):
            raise StopIteration
        self.index += 1
        return self[self.index - 1]

    def __iter__(self) -> flatiter:
        return self

    @property
    def coords(self) -> tuple[int, ...]:
        """The index of the next element along each axis."""
        return unravel(self.index, self.base.shape)

    def __getitem__(self, key: Any) -> Tensor:
        index = self._place(key)
        if index is None:
            return getitem(self.base.flatten(), key)
        return copy_or_scalar(getitem(self.base, index))

    def __setitem__(self, key: Any, value: Operand) -> None:
        """Assign the elements of `value` in order, repeating them if there are too few."""
        x = writeable("flat", self.base)
        index = self._place(key)
        if index is not None:
            setitem(x, index, value)
            return
        is_view = x.flags.c_contiguous
        flat = x.reshape(-1) if is_view else x.flatten()
        stored: Operand = number_like(value, x.dtype)
        if stored is None:
            values = tensor_of(value, "flat", device=x.device)
            selected = getitem(flat, key)
            if selected.size and not values.size:
                raise ValueError("flat: the value must not be empty")
            stored = reshape_copy(_repeated(values, selected.size), selected.shape)
        setitem(flat, key, stored)
        if not is_view:
            _overwrite(x, reshape_copy(flat, x.shape))

    def copy(self) -> Tensor:
        """Return the elements as a 1-D tensor."""
        return self.base.flatten()

    def _place(self, key: Any) -> tuple[int, ...] | None:
        """Return the index of one element in the tensor; None if the key is not an int."""
        if isinstance(key, bool) or not hasattr(key, "__index__") or getattr(key, "ndim", 0):
            return None
        flat_index, n = as_index(key), len(self)
        if not -n <= flat_index < n:
            raise IndexError(f"flat: index {flat_index} is out of range for {n} elements")
        return unravel(flat_index % n, self.base.shape)


def _set_flat(self: Tensor, value: Operand) -> None:
    flatiter(self)[:] = value


install("fill", _fill)
install("flat", property(flatiter, _set_flat, doc="The elements in row-major order."))
install("sort", _in_place(sort))
install("partition", _in_place(partition))
install("resize", _resize)
install("put", _put)
