"""Functions and methods that write to a tensor: fill, sort in place, put, copyto and their like."""

from __future__ import annotations

from typing import Any

from py_tensor.errors import DTypeError, ShapeError
from py_tensor.ops.define import Operand, check_kind, number_like, register
from py_tensor.ops.elementwise import add, maximum, minimum, negative, subtract
from py_tensor.ops.elementwise import where as choose
from py_tensor.ops.indexing import combine, fitted, getitem, setitem, write
from py_tensor.ops.movement import converted, in_shape
from py_tensor.ops.rearrange import tile
from py_tensor.ops.scatter import with_put, with_put_along_axis
from py_tensor.ops.sorting import sort
from py_tensor.shapes import broadcast
from py_tensor.tensor import Tensor, install, tensor_of

__all__ = ["copyto", "fill_diagonal", "place", "put", "put_along_axis", "putmask"]


def _target(op: str, x: Any) -> Tensor:
    if not isinstance(x, Tensor):
        raise TypeError(f"{op}: writes to a tensor, not to {type(x).__name__}")
    x._check_writeable(op)  # pyright: ignore[reportPrivateUsage]
    return x


def _overwrite(x: Tensor, y: Tensor) -> None:
    """Assign all elements."""
    write(x, x._layout, y)  # pyright: ignore[reportPrivateUsage]


def _fill(self: Tensor, value: Operand) -> None:
    """Set every element to one value."""
    if number_like(value) is None and getattr(value, "ndim", 1):
        raise TypeError(f"fill: takes one number, not {type(value).__name__}")
    setitem(self, Ellipsis, value)


def _sort(
    self: Tensor,
    axis: int = -1,
    kind: str | None = None,
    *,
    descending: bool = False,
    stable: bool | None = None,
) -> None:
    """Put the elements along `axis` in order, in place; `pt.sort` gives a sorted copy."""
    result = sort(self, axis, kind, descending=descending, stable=stable)
    _overwrite(_target("sort", self), result)


def put(x: Tensor, indices: Operand, values: Operand, /, mode: str = "raise") -> None:
    """Assign `values` at indices into the flattened tensor; they are repeated where too few.

    Parameters
    ----------
    mode : {"raise", "wrap", "clip"}
        What stands for an index out of range, as in `take`.

    Raises
    ------
    IndexError
        For an index out of range; with the next read where the indices lie on the GPU.
    """
    _overwrite(_target("put", x), with_put(x, indices, values, mode))


def put_along_axis(x: Tensor, indices: Operand, values: Operand, /, axis: int | None) -> None:
    """Assign `values` where `take_along_axis` with the same indices takes elements.

    Raises
    ------
    ShapeError, IndexError, DTypeError
        As in `take_along_axis`.
    """
    _overwrite(_target("put_along_axis", x), with_put_along_axis(x, indices, values, axis))


def copyto(
    x: Tensor, values: Operand, /, casting: str = "same_kind", where: Operand = True
) -> None:
    """Assign `values`, which broadcast, to all elements, or to those where `where` is nonzero.

    Parameters
    ----------
    casting : {"same_kind", "unsafe"}
        Whether a float may be stored as an integer, or a number as a bool.

    Raises
    ------
    ShapeError
        If the values, or `where`, do not broadcast to the shape of `x`.
    DTypeError
        For a dtype of the values that `casting` does not allow.
    """
    _target("copyto", x)
    given = tensor_of(values, "copyto")
    number = number_like(values)
    weak = number is not None and given.dtype.kind == "i" and x.dtype.kind == "u"
    if casting != "unsafe" and not weak:
        check_kind("copyto", given.dtype, x.dtype, "casting='unsafe'")
    if where is True:
        setitem(x, Ellipsis, given if number is None else number)
        return
    condition = tensor_of(where, "copyto")
    if broadcast("copyto", x.shape, condition.shape) != x.shape:
        raise ShapeError(f"copyto: where of shape {condition.shape} for a tensor of {x.shape}")
    kept = fitted(x, given, x.shape, "copyto") if number is None else number
    _overwrite(x, converted(choose(condition, kept, x), x.dtype))


def putmask(x: Tensor, mask: Operand, values: Operand, /) -> None:
    """Assign to the elements where `mask` is nonzero those of `values` at the same place.

    `values` is repeated where it is shorter than the flattened tensor.

    Raises
    ------
    ShapeError
        If the mask has another shape.
    """
    _target("putmask", x)
    held, given = tensor_of(mask, "putmask"), tensor_of(values, "putmask")
    if held.shape != x.shape:
        raise ShapeError(f"putmask: a mask of shape {held.shape} for a tensor of {x.shape}")
    if given.size and x.size:
        repeated = _repeated(given, x.size)
        _overwrite(x, choose(held, in_shape(repeated, x.shape), x))


def _repeated(values: Tensor, size: int) -> Tensor:
    """The elements over and over, so many in all."""
    flat = in_shape(values, (values.size,))
    if flat.size == size:
        return flat
    return getitem(tile(flat, -(-size // flat.size)), slice(size))


def place(x: Tensor, mask: Operand, values: Operand, /) -> None:
    """Assign to the elements where `mask` is nonzero the first of `values`, in order, repeated.

    Reads how many there are.

    Raises
    ------
    ValueError
        If there is a place and no value.
    """
    _target("place", x)
    held, given = tensor_of(mask, "place").astype("bool"), tensor_of(values, "place")
    if held.size != x.size:
        raise ShapeError(f"place: a mask of shape {held.shape} for a tensor of {x.shape}")
    held = in_shape(held, x.shape)
    count = int(held.sum())
    if count and not given.size:
        raise ValueError("place: there are no values")
    if count:
        setitem(x, held, _repeated(given, count))


def fill_diagonal(x: Tensor, value: Operand, /) -> None:
    """Assign to the elements whose indices are all alike; `value` broadcasts to them.

    Raises
    ------
    ShapeError
        For fewer than two axes, or more than two of different lengths.
    """
    _target("fill_diagonal", x)
    if x.ndim < 2 or (x.ndim > 2 and len(set(x.shape)) > 1):
        raise ShapeError(f"fill_diagonal: shape {x.shape} has no diagonal of all axes")
    layout = x._layout  # pyright: ignore[reportPrivateUsage]
    write(x, layout.diagonal(), value)


def _at(plain: Any, mode: str, sign: int = 1) -> Any:
    """The method ``at`` of a function of two operands."""
    combined = plain if sign > 0 else add

    def at(x: Tensor, indices: Any, values: Operand, /, *, atomic: bool = False) -> None:
        """Combine values with the elements that an index names, in place.

        Each element as often as it is named, where ``x[i] += v`` does so once. Floats are added in
        the order of the values; with `atomic` in any order, which is faster and not repeatable.
        """
        op = f"{plain.__name__}.at"
        target = _target(op, x)
        if sign < 0 and target.dtype.kind == "b":
            raise DTypeError(f"{op}: takes int and float dtypes, not bool")
        given = values if isinstance(values, Tensor) else tensor_of(values, op, device=x.device)
        given = converted(given, x.dtype)
        chosen = "add_atomic" if atomic and mode == "add" else mode
        combine(target, indices, negative(given) if sign < 0 else given, chosen, combined)

    return at


for _op, _mode, _sign in (
    (add, "add", 1),
    (subtract, "add", -1),
    (maximum, "max", 1),
    (minimum, "min", 1),
):
    vars(_op)["at"] = _at(_op, _mode, _sign)
install("fill", _fill)
install("sort", _sort)
install("put", put)
for _function in (put, put_along_axis, copyto, putmask, place, fill_diagonal):
    register(_function, method=False)
