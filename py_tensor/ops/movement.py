"""Movement: shapes, axes, padding, joining.

Results that shape, strides and an offset can express are views, as in NumPy.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from operator import index as as_index
from types import SimpleNamespace
from typing import Any, cast

from py_tensor.base import dtypes, shapes
from py_tensor.base.dtypes import FLOATING, Accepts, DType
from py_tensor.base.errors import ShapeError, check_option, check_order
from py_tensor.base.layout import Layout
from py_tensor.base.shapes import Shape, normalize_axis
from py_tensor.ir.bind import Maker, Recipes, ValueMaker, bind, maker_of, value_maker
from py_tensor.ir.node import Device, Meta, meta_of
from py_tensor.ir.op import Elementwise
from py_tensor.ir.primitives import CAST, CONCAT, CONST, PAD, RESHAPE
from py_tensor.ops.define import register
from py_tensor.ops.operands import (
    Operand,
    Scalar,
    as_ndarray,
    beside,
    coerce,
    common_dtype,
    copy_or_scalar,
    device_of,
    lift,
    node_of,
    numbers_of,
    on_one_device,
    widest,
)
from py_tensor.ops.out import SAME_KIND, Out, stored_whole
from py_tensor.ops.record import build, filled
from py_tensor.runtime.host import host
from py_tensor.tensors.tensor import Tensor, install, tensor_of

__all__ = [
    "array_split", "astype", "broadcast_to", "concat", "concatenate", "copy", "crop", "diagonal",
    "expand", "expand_dims", "flatten", "flip", "matrix_transpose", "may_share_memory", "permute",
    "permute_dims", "ravel", "reshape", "shares_memory", "split", "squeeze", "stack", "swapaxes",
    "transpose", "unsqueeze", "unstack",
]  # fmt: skip


def _ints(values: Sequence[Any]) -> Sequence[Any]:
    """Return the ints of ``f(x, 2, 3)`` or ``f(x, (2, 3))``."""
    first: Any = values[0] if len(values) == 1 else None
    is_shape = isinstance(first, Sequence) or getattr(first, "ndim", 0)
    return cast("Sequence[Any]", first) if is_shape else values


def _given(op: str, name: str, by_place: Sequence[Any], by_name: Any) -> Sequence[Any]:
    """Return a shape or axes, passed by position or by name."""
    if by_name is None:
        return _ints(by_place)
    if by_place:
        raise TypeError(f"{op}: {name} was passed twice")
    return _ints((by_name,))


def astype(
    x: Operand, dtype: object, /, *, copy: bool = True, device: str | Device | None = None
) -> Tensor:
    """Return a new tensor with the elements converted to another dtype.

    Floats are truncated to integers. NaN, infinities and values out of range become the lowest
    int32; in uint32 they wrap around or become 0. Complex numbers lose their imaginary part, with a
    `ComplexWarning`.

    Parameters
    ----------
    copy : bool
        Whether to copy a tensor that already has the dtype; otherwise it is returned unchanged.
    device : optional
        The device to move the tensor to first.
    """
    x, target = tensor_of(x, "astype"), dtypes.parse(dtype)
    x = x if device is None else x.to(device)
    if x.dtype is target:
        return x.copy() if copy else x
    cast = converted(x, target)
    return cast if x.is_scalar else as_ndarray(cast)


def _astype(
    x: Tensor,
    dtype: object,
    order: str = "K",
    casting: str = "unsafe",
    subok: bool = True,
    copy: bool = True,
    *,
    device: str | Device | None = None,
) -> Tensor:
    """Like `pt.astype`, with NumPy's `casting`, and `order` as in `pt.copy`.

    `subok` has no effect.
    """
    check_order("astype", order)
    if casting != "unsafe":
        dtypes.check_cast("astype", x.dtype, dtypes.parse(dtype), casting)
    cast_tensor = astype(x, dtype, copy=copy, device=device)
    return cast_tensor if cast_tensor.flags.f_contiguous else laid_out(cast_tensor, order)


def converted(x: Tensor, dtype: DType) -> Tensor:
    """Return the elements in a dtype; the tensor itself if it has that dtype."""
    if x.dtype is dtype:
        return x
    dtypes.warn_of_loss(x.dtype, dtype)
    x.device.check("astype", meta_of((), dtype, x.device))
    return build(CAST, (x,), dtype)


def as_floating(x: Operand, op: str, accepts: Accepts = FLOATING) -> Tensor:
    """Return the operand in floating point: integers and bools are converted."""
    x = tensor_of(x, op)
    return converted(x, accepts.check(op, x.dtype))


def _layout(x: Tensor) -> Layout:
    return x._layout  # pyright: ignore[reportPrivateUsage]


def view_by(
    x: Tensor, layout: Layout, *, writeable: bool = True, part: Elementwise | None = None
) -> Tensor:
    """Return a view of the memory of `x`, or of a part of each complex element there."""
    return x._view_by(layout, writeable=writeable, part=part)  # pyright: ignore[reportPrivateUsage]


def _key_of(x: Tensor) -> tuple[Shape, tuple[int, ...], int]:
    layout = x._layout  # pyright: ignore[reportPrivateUsage]
    return layout.shape, layout.strides, layout.offset


def _reshaped(
    shape: Shape, strides: tuple[int, ...], offset: int, sizes: tuple[Any, ...]
) -> Layout | None:
    target = shapes.resolve_reshape("reshape", shape, shapes.parse_sizes("reshape", _ints(sizes)))
    return Layout(shape, strides, offset).reshaped(target)


def _transposed(shape: Shape, strides: tuple[int, ...], offset: int) -> Layout:
    return Layout(shape[::-1], strides[::-1], offset)


# Cached by the shape, strides and offset of a layout: the layout reshaped to a shape of ints, None
# if that takes a copy; and the layout with the axes reversed.
_reshapes = Recipes[tuple[Shape, tuple[int, ...], int, tuple[Any, ...]], Layout | None](_reshaped)
_transposes = Recipes[tuple[Shape, tuple[int, ...], int], Layout](_transposed)


def reshape(a: Operand, /, shape: Any, order: str = "C", *, copy: bool | None = None) -> Tensor:
    """Reshape the tensor; one size may be -1.

    The result is a view whenever strides can express it, as in NumPy.

    Parameters
    ----------
    shape
        The sizes as a tuple, or one int.
    order : {"C", "F", "A"}
        Whether the last ("C") or the first ("F") axis changes fastest when elements are read and
        placed. "A" means "F" if the elements are in column-major order.
    copy : bool, optional
        True always copies; False raises if a copy is needed.

    Raises
    ------
    ShapeError
        If the number of elements differs.
    ValueError
        If a copy is needed and `copy` is False, or `order` is unknown.
    """
    return _reshape(a, shape, order=order, copy=copy)


def _reshape(
    x: Operand, /, shape: Any = None, *sizes: Any, order: str = "C", copy: bool | None = None
) -> Tensor:
    """`pt.reshape`; sizes may be given one by one."""
    if shape is not None:
        listed = cast("tuple[Any, ...]", shape)
        sizes = listed if type(shape) is tuple and not sizes else (cast("Any", shape), *sizes)
    if copy is None and order == "C" and type(x) is Tensor and set(map(type, sizes)) == {int}:
        known = _reshapes[*_key_of(x), sizes]
        if known is not None:
            return x._view_by(known)  # pyright: ignore[reportPrivateUsage]
    x = tensor_of(x, "reshape")
    target = shapes.resolve_reshape("reshape", x.shape, shapes.parse_sizes("reshape", _ints(sizes)))
    if _is_column_major("reshape", order, x, "CFA"):
        turned = reshape(transpose(x), tuple(reversed(target)), copy=copy)
        return transpose(turned)
    layout = None if copy else _layout(x).reshaped(target)
    if layout is not None:
        return view_by(x, layout)
    if copy is False:
        raise ValueError(f"reshape: {x.shape} with these strides needs a copy to become {target}")
    if target == x.shape:
        return x.copy()
    return build(RESHAPE, (x,), target)


def reshape_copy(x: Tensor, shape: Shape) -> Tensor:
    """Reshape to a new array, never a view."""
    return as_ndarray(x.copy() if shape == x.shape else build(RESHAPE, (x,), shape))


def _is_column_major(op: str, order: str, x: Tensor, orders: str) -> bool:
    check_order(op, order, orders)
    order = order.upper()
    return order == "F" or (order == "A" and x.flags.f_contiguous and not x.flags.c_contiguous)


def ravel(a: Operand, order: str = "C") -> Tensor:
    """Flatten to one axis; returns a view if the elements are contiguous in that order.

    Parameters
    ----------
    order : {"C", "F", "A", "K"}
        Row-major ("C") or column-major ("F"). "A" means "F" if the elements are in column-major
        order. "K" takes the axes in memory order, each in its own direction.
    """
    x = tensor_of(a, "ravel")
    if _is_column_major("ravel", order, x, "CFAK"):
        x = transpose(x)
    elif order in ("K", "k"):
        x = view_by(x, _layout(x).permuted(_layout(x).memory_order))
    return reshape(x, (x.size,), copy=not x.flags.c_contiguous or None)


def along_axis(
    op: str, x: Operand, axis: int | None, *, of_scalar: bool = False
) -> tuple[Tensor, int]:
    """Return the tensor and a nonnegative axis; for an axis of None, the flattened tensor and 0.

    With `of_scalar`, 0 and -1 are also axes of a 0-d tensor, which then gets one axis.
    """
    x = tensor_of(x, op)
    if axis is None:
        x, axis = x if x.ndim == 1 else ravel(x), 0
    number = normalize_axis(op, axis, x.ndim, of_scalar=of_scalar)
    return x if x.ndim else ravel(x), number


def of_rank(op: str, x: Operand, least: int) -> Tensor:
    """Return an operand as a tensor with at least some number of axes."""
    x = tensor_of(x, op)
    if x.ndim < least:
        got = f"shape {x.shape}" if x.ndim else "a 0-d tensor"
        raise ShapeError(f"{op}: needs at least {shapes.axes_of(least)}, got {got}")
    return x


def flatten(x: Operand, /, order: str = "C") -> Tensor:
    """Like `ravel`, but always returns a copy."""
    return ravel(x, order).copy()


def permute(x: Operand, /, *order: Any, axes: Any = None) -> Tensor:
    """Permute the axes: axis i of the result is axis ``order[i]`` of `x`; returns a view.

    `axes` is the keyword form of the order.

    Raises
    ------
    AxisError, ShapeError
        If the order is not a permutation of the axes.
    """
    return _permuted("permute", tensor_of(x, "permute"), _given("permute", "axes", order, axes))


def permute_dims(a: Operand, axes: Sequence[int] | None = None) -> Tensor:
    """Permute the axes by a tuple, as in the array API standard; None reverses them."""
    x = tensor_of(a, "permute_dims")
    return _permuted("permute_dims", x, range(x.ndim)[::-1] if axes is None else axes)


def _permuted(op: str, x: Tensor, order: Sequence[Any]) -> Tensor:
    axes = tuple(normalize_axis(op, a, x.ndim) for a in order)
    if sorted(axes) != list(range(x.ndim)):
        raise ShapeError(
            f"{op}: axes {axes} are not a permutation of the {x.ndim} axes of {x.shape}"
        )
    return view_by(x, _layout(x).permuted(axes))


def transpose(a: Operand, axes: Any = None) -> Tensor:
    """Reverse the axes, or permute them by `axes`; returns a view."""
    return _transpose(a, axes=axes)


def _transpose(x: Operand, /, *order: Any, axes: Any = None) -> Tensor:
    """Like `pt.transpose`; the axes can be separate arguments."""
    x = tensor_of(x, "transpose")
    axes = order if axes is None else _given("transpose", "axes", order, axes)
    if not len(axes) or (len(axes) == 1 and axes[0] is None):
        return view_by(x, _transposes[_key_of(x)])
    if len(axes) > 1 and len(axes) != x.ndim:
        raise ShapeError(
            f"transpose: axes {axes} are not a permutation of the {x.ndim} axes of {x.shape};"
            " swapaxes exchanges two"
        )
    return _permuted("transpose", x, _ints(tuple(axes)))


def swapaxes(a: Operand, axis1: int, axis2: int) -> Tensor:
    """Swap two axes; returns a view."""
    x = tensor_of(a, "swapaxes")
    order = list(range(x.ndim))
    a, b = (normalize_axis("swapaxes", axis, x.ndim) for axis in (axis1, axis2))
    order[a], order[b] = b, a
    return view_by(x, _layout(x).permuted(tuple(order)))


def matrix_transpose(x: Operand, /) -> Tensor:
    """Swap the last two axes; returns a view."""
    return swapaxes(of_rank("matrix_transpose", x, 2), -2, -1)


def expand(x: Operand, /, *shape: Any) -> Tensor:
    """Expand axes of length 1, and new leading axes, to `shape`; returns a read-only view.

    Raises
    ------
    ShapeError
        If an axis has neither length 1 nor the requested length.
    """
    x = tensor_of(x, "expand")
    target = shapes.parse_shape("expand", _ints(shape))
    shapes.check_expansion("expand", x.shape, target)
    return view_by(x, _layout(x).expanded(target), writeable=False)


def broadcast_to(array: Operand, shape: Any, subok: bool = False) -> Tensor:
    """NumPy's name for `expand`; `subok` is accepted and has no effect."""
    return expand(array, shape)


def squeeze(a: Operand, axis: int | tuple[int, ...] | None = None) -> Tensor:
    """Remove axes of length 1, the given ones or all; returns a view.

    Raises
    ------
    ShapeError
        If a given axis does not have length 1.
    """
    x = tensor_of(a, "squeeze")
    axes = shapes.normalize_axes("squeeze", axis, x.ndim, of_scalar=True)
    if axis is None:
        axes = tuple(a for a in axes if x.shape[a] == 1)
    long = [a for a in axes if x.shape[a] != 1]
    if long:
        raise ShapeError(f"squeeze: axis {long[0]} of shape {x.shape} is not of length 1")
    return reshape(x, tuple(n for a, n in enumerate(x.shape) if a not in axes))


def expand_dims(a: Operand, axis: int | tuple[int, ...] = 0) -> Tensor:
    """Insert axes of length 1 at the positions `axis` of the result; returns a view."""
    x = tensor_of(a, "expand_dims")
    listed = axis if isinstance(axis, tuple) else (axis,)
    axes = shapes.normalize_axes("expand_dims", listed, x.ndim + len(listed))
    sizes = iter(x.shape)
    shape = tuple(1 if a in axes else next(sizes) for a in range(x.ndim + len(listed)))
    return reshape(x, shapes.check_rank("expand_dims", shape))


def flip(m: Operand, axis: int | tuple[int, ...] | None = None) -> Tensor:
    """Reverse the elements along `axis`, by default along all axes; returns a view."""
    x = tensor_of(m, "flip")
    axes = shapes.normalize_axes("flip", axis, x.ndim)
    return view_by(x, _layout(x).flipped(axes)) if x.ndim else copy_or_scalar(x)


def crop(x: Operand, window: Sequence[tuple[int, int]], /) -> Tensor:
    """Crop each axis to ``window[axis] == (start, stop)``; returns a view."""
    x = tensor_of(x, "crop")
    pairs = _pairs("crop", window, x.ndim)
    for axis, ((start, stop), n) in enumerate(zip(pairs, x.shape, strict=True)):
        if not 0 <= start <= stop <= n:
            raise ShapeError(
                f"crop: ({start}, {stop}) does not lie within axis {axis} of shape {x.shape}"
            )
    return view_by(x, _layout(x).sliced(tuple((a, b - a, 1) for a, b in pairs)))


def sliced(x: Tensor, axis: int, *ends: int | None) -> Tensor:
    """Return a slice along a nonnegative axis, as a view; `ends` are as in `slice`."""
    return x[(*(slice(None),) * axis, slice(*ends))]


# The makers of the result and of the number, for a float tensor with this meta and one width.
_padded = Recipes[tuple[Meta, int], tuple[Maker, ValueMaker]]()


def pad_constant(x: Tensor, pad_width: Any, fill: Scalar = 0) -> Tensor:
    """Pad along each axis with one number; the widths are those of `pad`."""
    node = node_of(x)
    if type(pad_width) is int and isinstance(fill, int | float):
        kept = _padded.get((node.meta, pad_width))
        if kept is not None and dtypes.holds(node.meta.dtype, fill):
            make, make_number = kept
            return Tensor(make((node, make_number(float(fill), ()))))
    pairs = pad_widths(pad_width, x.ndim)
    shape = tuple(n + low + high for n, (low, high) in zip(x.shape, pairs, strict=True))
    if shape == x.shape:
        return copy(x)
    dtype = x.dtype
    meta = meta_of(shape, dtype, x.device)
    if not dtype.is_inexact and not isinstance(fill, complex):
        fill = bool(fill) if dtype.is_bool else int(fill)
    if not x.size:
        return filled(fill, meta)
    number = lift("pad", fill, (), dtype, x.device)
    made = bind(PAD, (node, number), pairs)
    if dtype.is_floating and type(pad_width) is int:
        _padded.keep((node.meta, pad_width), (maker_of(made), value_maker(CONST, number.meta)))
    return Tensor(made)


def pad_widths(pad_width: Any, rank: int) -> tuple[tuple[int, int], ...]:
    """Return the widths before and after each axis."""
    widths = pad_width
    if isinstance(widths, dict):
        items = cast("dict[int, Any]", widths).items()
        by_axis = {normalize_axis("pad", a, rank): w for a, w in items}
        one_by_one = (by_axis.get(a, 0) for a in range(rank))
        widths = [(w, w) if isinstance(w, int) else w for w in one_by_one]
    pairs = _pairs("pad", sides_of("pad_width", widths, rank), rank)
    if any(w < 0 for pair in pairs for w in pair):
        raise ShapeError(f"pad: negative width in {pairs}; use crop to remove elements")
    return pairs


def sides_of(name: str, value: Any, rank: int) -> list[tuple[Any, Any]]:
    """Return a pair for each axis, from a value, a pair, or pairs; tensors are not read."""
    if isinstance(value, Tensor):
        values, shape = [*value.reshape(-1)], value.shape
    else:
        values, shape = numbers_of("pad", value)
    if len(values) == 1:
        return [(values[0], values[0])] * rank
    if len(values) == 2 and shape != (2, 1):
        return [(values[0], values[1])] * rank
    if len(shape) != 2 or shape[0] != rank or shape[1] not in (1, 2):
        raise ShapeError(f"pad: {name} {value} does not give a pair for each of {rank} axes")
    return [(values[i], values[i + shape[1] - 1]) for i in range(0, len(values), shape[1])]


def _pairs(op: str, widths: Sequence[Sequence[int]], rank: int) -> tuple[tuple[int, int], ...]:
    try:
        pairs = [(low, high) for low, high in widths]
    except (TypeError, ValueError):
        raise ShapeError(f"{op}: takes a pair of ints for each axis, not {widths!r}") from None
    if len(pairs) != rank:
        raise ShapeError(f"{op}: got {len(pairs)} pairs for {rank} axes")
    try:
        return tuple((as_index(low), as_index(high)) for low, high in pairs)
    except TypeError:
        raise TypeError(f"{op}: takes pairs of ints, not {widths!r}") from None


# -- Joining ------------------------------------------------------------------------------------


def _together(op: str, tensors: Sequence[Operand]) -> list[Tensor]:
    """Return operands on one device, in their common dtype."""
    if not hasattr(tensors, "__iter__"):
        raise TypeError(f"{op}: takes a sequence of tensors, not {type(tensors).__name__}")
    known = [x for x in tensors if isinstance(x, Tensor)]
    wide = widest(known)
    own_device = known[0].device if known else None
    operands = [x if isinstance(x, Tensor) else beside(wide, x, op, own_device) for x in tensors]
    if not operands:
        raise ValueError(f"{op}: needs at least one tensor")
    device = operands[0].device
    for x in operands:
        if x.device is not device:
            return _together(op, on_one_device(op, operands))
    dtype = dtypes.common([x.dtype for x in operands])
    return [converted(x, dtype) for x in operands]


def widened(x: Tensor) -> Tensor:
    """Convert bools and 8- and 16-bit integers to int32, because results need more bits."""
    return converted(x, dtypes.widened(x.dtype))


def members_of(op: str, sequence: Any) -> list[Any]:
    """Return the items of a list or a tuple, or the slices of a tensor along its first axis."""
    is_listed = isinstance(sequence, list | tuple)
    return [*(cast("Any", sequence) if is_listed else tensor_of(sequence, op))]


def _is_int(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def in_common_dtype(op: str, x: Operand, y: Operand) -> tuple[Tensor, Tensor]:
    """Convert two operands to tensors on one device in their common dtype; numbers are weak.

    However, a Python int beside 8- or 16-bit numbers is int32, because the NumPy functions that
    this serves convert it to an array first.
    """
    coerced = coerce(op, (x, y))
    device = device_of(coerced)
    if any(isinstance(v, Tensor) and v.dtype.is_small for v in coerced):
        coerced = [
            tensor_of(v, op, device=device) if _is_int(operand) else v
            for v, operand in zip(coerced, (x, y), strict=True)
        ]
    dtype = common_dtype(coerced)
    a, b = (
        converted(v, dtype) if isinstance(v, Tensor) else filled(v, meta_of((), dtype, device))
        for v in coerced
    )
    a, b = on_one_device(op, (a, b))
    return a, b


def _joining(op: str) -> Callable[..., Tensor]:
    def function(
        arrays: Sequence[Operand],
        /,
        axis: int | None = 0,
        out: Out = None,
        *,
        dtype: object = None,
        casting: str = SAME_KIND,
    ) -> Tensor:
        """Join tensors along an existing `axis`; None joins the flattened tensors.

        `dtype` is the dtype of the result, by default the promoted dtype; `casting` limits the
        conversions, also to `out`.

        Raises
        ------
        ShapeError
            If the sizes of the other axes differ.
        DTypeError
            If `casting` does not allow a dtype.
        """
        if isinstance(axis, Tensor):
            raise TypeError(f"{op}: takes a list of tensors, then an axis: pt.{op}([x, y])")
        check_option(op, "casting", casting, dtypes.CASTINGS)
        operands = _together(op, arrays)
        if out is not None or dtype is not None:
            target = operands[0].dtype if dtype is None else dtypes.parse(dtype)
            for x in arrays if dtype is not None else ():
                if isinstance(x, Tensor):
                    dtypes.check_cast(op, x.dtype, target, casting)
            whole = function([converted(x, target) for x in operands], axis)
            return stored_whole(op, whole, out, casting)
        if axis is None:
            operands, axis = [ravel(x) for x in operands], 0
        first = operands[0]
        if not first.ndim:
            raise ShapeError(f"{op}: 0-d tensors have no axis to join along; use stack")
        along = normalize_axis(op, axis, first.ndim)
        shapes.joined(op, [x.shape for x in operands], along)
        nonempty = [x for x in operands if x.size]
        if len(nonempty) == 1:
            return nonempty[0].copy()
        return build(CONCAT, nonempty or operands, along)

    function.__name__ = function.__qualname__ = op
    return function


concat, concatenate = map(_joining, ("concat", "concatenate"))


def stack(
    arrays: Sequence[Operand],
    axis: int = 0,
    out: Out = None,
    *,
    dtype: object = None,
    casting: str = SAME_KIND,
) -> Tensor:
    """Stack tensors of equal shape along a new axis; `dtype` and `casting` as in `concat`."""
    check_option("stack", "casting", casting, dtypes.CASTINGS)
    operands = _together("stack", arrays)
    new_axis = normalize_axis("stack", axis, operands[0].ndim + 1)
    shape = operands[0].shape
    for x in operands[1:]:
        if x.shape != shape:
            raise ShapeError(f"stack: shapes {shape} and {x.shape} differ")
    if out is None and dtype is None and len(operands) > 1 and operands[0].size:
        one = shapes.check_rank("stack", (*shape[:new_axis], 1, *shape[new_axis:]))
        return Tensor(
            bind(CONCAT, tuple([bind(RESHAPE, (node_of(x),), one) for x in operands]), new_axis)
        )
    return concat(
        [expand_dims(x, new_axis) for x in operands], new_axis, out, dtype=dtype, casting=casting
    )


def split(ary: Operand, indices_or_sections: Any, axis: int = 0) -> list[Tensor]:
    """Split `ary` along `axis` into equal parts, or at indices; returns views.

    Raises
    ------
    ShapeError
        If the axis does not divide into that many equal parts.
    """
    x = tensor_of(ary, "split")
    along = normalize_axis("split", axis, x.ndim)
    n = x.shape[along]
    count = _parts("split", indices_or_sections)
    if count is None:
        try:
            cuts = [slice(as_index(i), None).indices(n)[0] for i in indices_or_sections]
        except TypeError:
            raise TypeError(f"split: indices must be ints, not {indices_or_sections!r}") from None
    elif count < 1 or n % count:
        raise ShapeError(
            f"split: axis {along} of shape {x.shape} does not divide into {count} equal parts"
        )
    else:
        cuts = [n // count * i for i in range(1, count)]
    return [sliced(x, along, start, stop) for start, stop in pairwise((0, *cuts, n))]


def _parts(op: str, sections: Any) -> int | None:
    """Return a number of parts; None for a sequence of indices."""
    if isinstance(sections, Sequence) or getattr(sections, "ndim", 0):
        return None
    try:
        return as_index(sections)
    except TypeError:
        raise TypeError(f"{op}: takes a number of parts or indices, not {sections!r}") from None


def unstack(x: Operand, /, *, axis: int = 0) -> tuple[Tensor, ...]:
    """Return the slices along `axis` as a tuple of views; the inverse of `stack`."""
    x = tensor_of(x, "unstack")
    along = normalize_axis("unstack", axis, x.ndim)
    before = (slice(None),) * along
    return tuple(x[(*before, i)] for i in range(x.shape[along]))


def array_split(ary: Operand, indices_or_sections: Any, axis: int = 0) -> list[Tensor]:
    """Like `split`, but parts may differ in length: the first ones are longer by one element."""
    x = tensor_of(ary, "array_split")
    parts = _parts("array_split", indices_or_sections)
    if parts is None:
        return split(x, indices_or_sections, axis)
    if parts < 1:
        raise ValueError(f"array_split: the number of parts must be at least 1, not {parts}")
    n = x.shape[normalize_axis("array_split", axis, x.ndim)]
    each, longer = divmod(n, parts)
    return split(x, [i * each + min(i, longer) for i in range(1, parts)], axis)


def diagonal(a: Operand, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Tensor:
    """Return the diagonals of two axes as the last axis; a read-only view.

    Raises
    ------
    ShapeError
        If there are fewer than two axes.
    """
    x = of_rank("diagonal", a, 2)
    a, b = (normalize_axis("diagonal", axis, x.ndim) for axis in (axis1, axis2))
    if a == b:
        raise ShapeError(f"diagonal: axis {axis1} was passed twice")
    selected = _layout(x).permuted((a, b)).diagonal(offset)
    rest = _layout(x).permuted(tuple(axis for axis in range(x.ndim) if axis not in (a, b)))
    shape, strides = rest.shape + selected.shape, rest.strides + selected.strides
    return view_by(x, Layout(shape, strides, selected.offset), writeable=False)


def laid_out(x: Tensor, order: str | None) -> Tensor:
    """Return a new tensor in an order of memory: for "F" a view of a copy with reversed axes.

    For all other orders it is unchanged, because new tensors are row-major.
    """
    return transpose(transpose(x).copy()) if order in ("F", "f") and x.ndim > 1 else x


def copy(a: Operand, order: str = "K", subok: bool = False) -> Tensor:
    """Return a copy that owns its memory.

    Parameters
    ----------
    order : {"K", "C", "A", "F"}
        Memory is in row-major order, except with "F": then the result is column-major, a view of a
        tensor with its axes reversed.
    subok
        Accepted; has no effect.
    """
    return tensor_of(a, "copy").copy(order)


def shares_memory(a: Tensor, b: Tensor, /, max_work: int = -1) -> bool:
    """Return whether two tensors share an element, so that a write to one changes the other.

    `max_work` is accepted; the answer is always exact.
    """
    if not may_share_memory(a, b):
        return False
    parts = [getattr(v._alias, "part", None) for v in (a, b)]  # pyright: ignore[reportPrivateUsage]
    if None not in parts and parts[0] is not parts[1]:
        return False
    return host.load_numpy().shares_memory(*(_addresses(_layout(v)) for v in (a, b)))


def _addresses(layout: Layout) -> Any:
    """Return a layout as bytes for NumPy, which compares their addresses and never reads them."""
    start = 1 + layout.offset, True  # 0 is no address
    described = {"version": 3, "typestr": "|u1", "data": start}
    described |= {"shape": layout.shape, "strides": layout.strides}
    return host.load_numpy().asarray(SimpleNamespace(__array_interface__=described))


def may_share_memory(a: Tensor, b: Tensor, /, max_work: int = 0) -> bool:
    """Return whether the memory ranges of two tensors overlap; see `shares_memory`."""
    operands = [tensor_of(v, "may_share_memory") for v in (a, b)]
    bases = [v if v.base is None else v.base for v in operands]
    if bases[0] is not bases[1] or not all(v.size for v in operands):
        return False
    (low, high), (low2, high2) = (_layout(v).extent for v in operands)
    return low <= high2 and low2 <= high


for _function in (
    ravel, flatten, permute, swapaxes, expand, broadcast_to, squeeze,
    expand_dims, flip, crop, diagonal, split, matrix_transpose,
):  # fmt: skip
    register(_function)
register(concat, CONCAT, method=False)
install("astype", _astype)
install("reshape", _reshape)
install("unsqueeze", expand_dims)
install("transpose", _transpose)
install("T", property(_transpose))
install("mT", property(matrix_transpose))

# PyTorch's name.
unsqueeze = expand_dims
