"""Movement: shapes, axes, slices, padding, joining.

What shape, strides and an offset can say is free.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import index as as_index
from types import EllipsisType
from typing import Any, cast

from py_tensor import dtypes
from py_tensor.errors import DeviceError, ShapeError
from py_tensor.graph.node import make, meta_of
from py_tensor.graph.primitives import CAST, CONCAT, EXPAND, FLIP, PAD, PERMUTE, RESHAPE, SLICE
from py_tensor.ops.define import (
    Operand,
    Scalar,
    build,
    empty_node,
    filled,
    lift,
    node_of,
    number_of,
    register,
)
from py_tensor.shapes import (
    Shape,
    check_rank,
    normalize_axes,
    normalize_axis,
    parse_shape,
    resolve_reshape,
)
from py_tensor.tensor import Tensor, install

__all__ = [
    "astype", "broadcast_to", "concat", "concatenate", "crop", "expand", "expand_dims", "flip",
    "matrix_transpose", "pad", "permute", "permute_dims", "ravel", "reshape", "split",
    "squeeze", "stack", "swapaxes", "transpose", "unsqueeze",
]  # fmt: skip


def tensor_of(x: Operand, op: str) -> Tensor:
    from py_tensor.interop import asarray

    return x if isinstance(x, Tensor) else asarray(x, op=op)


def _ints(values: Sequence[Any]) -> Sequence[Any]:
    """``f(x, 2, 3)`` as ``f(x, (2, 3))``."""
    first: Any = values[0] if len(values) == 1 else None
    return cast("Sequence[Any]", first) if isinstance(first, Sequence) else values


def astype(x: Operand, dtype: object, /) -> Tensor:
    """The elements converted to another dtype; the tensor itself if it has it.

    A float becomes an integer by dropping its fraction. NaN, infinities and what does not fit
    give the least int32, and wrap or give 0 in uint32.
    """
    x, target = tensor_of(x, "astype"), dtypes.parse(dtype)
    if x.dtype is target:
        return x
    x.device.backend.check("astype", meta_of((), target, x.device))
    return build(CAST, (x,), None, x.shape, target, x.device)


def reshape(x: Operand, /, *shape: Any) -> Tensor:
    """The same elements, in row-major order, in another shape; one size may be -1.

    Free unless the elements would have to be visited in another order than they lie.
    """
    x = tensor_of(x, "reshape")
    given = _ints(shape)
    target = tuple(as_index(n) for n in given)
    target = resolve_reshape("reshape", x.shape, target)
    return x if target == x.shape else build(RESHAPE, (x,), None, target, x.dtype, x.device)


def ravel(x: Operand, /) -> Tensor:
    """All elements in one axis, in row-major order."""
    return reshape(x, -1) if tensor_of(x, "ravel").size else reshape(x, 0)


def permute(x: Operand, /, *axes: Any) -> Tensor:
    """The axes in another order: axis i of the result is axis ``axes[i]`` of `x`.

    Raises
    ------
    AxisError, ShapeError
        Unless `axes` names each axis once.
    """
    x = tensor_of(x, "permute")
    order = tuple(normalize_axis("permute", a, x.ndim) for a in _ints(axes))
    if sorted(order) != list(range(x.ndim)):
        raise ShapeError(
            f"permute: axes {order} do not name each of the {x.ndim} axes of {x.shape} once"
        )
    if order == tuple(range(x.ndim)):
        return x
    return build(PERMUTE, (x,), order, tuple(x.shape[a] for a in order), x.dtype, x.device)


def transpose(x: Operand, /, *axes: Any) -> Tensor:
    """The axes reversed, or in the order given."""
    x = tensor_of(x, "transpose")
    if len(axes) > 1 and len(axes) != x.ndim:
        raise ShapeError(
            f"transpose: axes {axes} do not order the {x.ndim} axes of {x.shape};"
            " swapaxes exchanges two"
        )
    return (
        permute(x, *axes)
        if axes and axes != (None,)
        else permute(x, tuple(reversed(range(x.ndim))))
    )


def swapaxes(x: Operand, axis1: int, axis2: int, /) -> Tensor:
    """Two axes exchanged."""
    x = tensor_of(x, "swapaxes")
    order = list(range(x.ndim))
    a, b = (normalize_axis("swapaxes", axis, x.ndim) for axis in (axis1, axis2))
    order[a], order[b] = b, a
    return permute(x, tuple(order))


def matrix_transpose(x: Operand, /) -> Tensor:
    """The last two axes exchanged."""
    x = tensor_of(x, "matrix_transpose")
    if x.ndim < 2:
        raise ShapeError(f"matrix_transpose: needs at least 2 axes, got shape {x.shape}")
    return swapaxes(x, -2, -1)


def expand(x: Operand, /, *shape: Any) -> Tensor:
    """Axes of length 1, and new leading ones, repeated to `shape`; free.

    Raises
    ------
    ShapeError
        If an axis is neither of length 1 nor of the length asked for.
    """
    x = tensor_of(x, "expand")
    target = parse_shape("expand", _ints(shape))
    lead = len(target) - x.ndim
    if lead < 0 or any(n not in (1, m) for n, m in zip(x.shape, target[lead:], strict=True)):
        raise ShapeError(f"expand: shape {x.shape} does not broadcast to {target}")
    return x if target == x.shape else build(EXPAND, (x,), None, target, x.dtype, x.device)


def broadcast_to(x: Operand, shape: Any, /) -> Tensor:
    """`expand`, under NumPy's name."""
    return expand(x, shape)


def squeeze(x: Operand, axis: int | tuple[int, ...] | None = None) -> Tensor:
    """Without the axes of length 1: those given, or all.

    Raises
    ------
    ShapeError
        If an axis given is longer.
    """
    x = tensor_of(x, "squeeze")
    axes = normalize_axes("squeeze", axis, x.ndim)
    if axis is None:
        axes = tuple(a for a in axes if x.shape[a] == 1)
    long = [a for a in axes if x.shape[a] != 1]
    if long:
        raise ShapeError(f"squeeze: axis {long[0]} of shape {x.shape} is not of length 1")
    return reshape(x, tuple(n for a, n in enumerate(x.shape) if a not in axes))


def expand_dims(x: Operand, axis: int | tuple[int, ...] = 0) -> Tensor:
    """New axes of length 1, which stand at the positions `axis` of the result."""
    x = tensor_of(x, "expand_dims")
    given = axis if isinstance(axis, tuple) else (axis,)
    axes = normalize_axes("expand_dims", given, x.ndim + len(given))
    sizes = iter(x.shape)
    shape = tuple(1 if a in axes else next(sizes) for a in range(x.ndim + len(given)))
    return reshape(x, check_rank("expand_dims", shape))


def flip(x: Operand, axis: int | tuple[int, ...] | None = None) -> Tensor:
    """The elements in reverse order along `axis`, or along all axes; free."""
    x = tensor_of(x, "flip")
    axes = normalize_axes("flip", axis, x.ndim)
    return build(FLIP, (x,), axes, x.shape, x.dtype, x.device) if axes else x


def crop(x: Operand, window: Sequence[tuple[int, int]], /) -> Tensor:
    """For each axis the elements from start to stop, ``window[axis] == (start, stop)``; free."""
    x = tensor_of(x, "crop")
    pairs = _pairs("crop", window, x.ndim)
    for axis, ((start, stop), n) in enumerate(zip(pairs, x.shape, strict=True)):
        if not 0 <= start <= stop <= n:
            raise ShapeError(
                f"crop: ({start}, {stop}) does not lie within axis {axis} of shape {x.shape}"
            )
    return _slice(x, tuple((start, stop - start, 1) for start, stop in pairs))


def pad(
    x: Operand,
    widths: Sequence[tuple[int, int]] | tuple[int, int] | int,
    /,
    constant_values: Scalar = 0,
) -> Tensor:
    """The elements with `constant_values` around them.

    Parameters
    ----------
    widths
        (before, after) for each axis; one pair, or one int, goes for all axes.
    constant_values
        One number, which goes for all sides.

    Raises
    ------
    ShapeError
        For widths that do not fit the axes, or are negative.
    TypeError
        If `constant_values` is anything but a number.
    """
    x = tensor_of(x, "pad")
    constant_values = number_of("pad", "constant_values", constant_values)
    given: Any = ((widths, widths),) * x.ndim if isinstance(widths, int) else widths
    if x.ndim != 1 and len(given) == 2 and all(isinstance(w, int) for w in given):
        given = (given,) * x.ndim
    if x.ndim == 1 and len(given) == 2 and all(isinstance(w, int) for w in given):
        given = (given,)
    pairs = _pairs("pad", given, x.ndim)
    if any(w < 0 for pair in pairs for w in pair):
        raise ShapeError(f"pad: negative width in {pairs}; use crop to take elements away")
    shape = tuple(n + low + high for n, (low, high) in zip(x.shape, pairs, strict=True))
    if x.dtype is not dtypes.bool_ or constant_values not in (0, 1):  # 0 and 1 are bools as well
        dtype = dtypes.with_scalar("pad", x.dtype, constant_values)
    else:
        dtype = dtypes.bool_
    x = astype(x, dtype)
    if shape == x.shape:
        return x
    meta = meta_of(shape, dtype, x.device)
    if not meta.size:
        return Tensor(empty_node(meta))
    if not x.size:
        return filled(constant_values, meta)
    fill = lift("pad", constant_values, (), dtype, x.device)
    return Tensor(make(PAD, (node_of(x), fill), pairs, meta))


def _pairs(op: str, given: Sequence[Sequence[int]], rank: int) -> tuple[tuple[int, int], ...]:
    try:
        pairs = tuple((as_index(low), as_index(high)) for low, high in given)
    except (TypeError, ValueError):
        raise ShapeError(f"{op}: takes a pair of ints for each axis, not {given!r}") from None
    if len(pairs) != rank:
        raise ShapeError(f"{op}: got {len(pairs)} pairs for {rank} axes")
    return pairs


# -- Indexing -----------------------------------------------------------------------------------


def _slice(x: Tensor, slices: tuple[tuple[int, int, int], ...]) -> Tensor:
    """(start, count, step) along each axis."""
    if all(s == (0, n, 1) for s, n in zip(slices, x.shape, strict=True)):
        return x
    return build(SLICE, (x,), slices, tuple(n for _, n, _ in slices), x.dtype, x.device)


def getitem(x: Tensor, key: Any) -> Tensor:
    """Basic indexing: ints, slices with any step, ``...`` and ``None``; free.

    Raises
    ------
    IndexError
        For an index out of range, or more indices than axes.
    TypeError
        For anything else.
    """
    keys = cast("tuple[Any, ...]", key if isinstance(key, tuple) else (key,))
    for k in keys:
        if not _is_basic(k):
            raise TypeError(f"index: {_instead_of(k)}")
    keys = _without_ellipsis(keys, x.ndim)
    slices: list[tuple[int, int, int]] = []
    shape: list[int] = []
    for k in keys:
        if k is None:
            shape.append(1)
            continue
        axis = len(slices)
        if isinstance(k, slice):
            k = cast("slice[Any, Any, Any]", k)
            slices.append(_normalize_slice(k, x.shape[axis]))
            shape.append(slices[-1][1])
        else:
            slices.append((_normalize_index(k, axis, x.shape), 1, 1))
    return reshape(_slice(x, tuple(slices)), check_rank("index", tuple(shape)))


def _is_basic(key: Any) -> bool:
    if isinstance(key, slice | EllipsisType | None):
        return True
    return hasattr(key, "__index__") and not getattr(key, "ndim", 0) and not is_mask(key)


def is_mask(key: Any) -> bool:
    """Whether it is a bool, or a tensor, an array or lists of them."""
    if isinstance(key, list):
        members = cast("list[Any]", key)
        return bool(members) and all(is_mask(k) for k in members)
    return isinstance(key, bool) or getattr(getattr(key, "dtype", None), "kind", None) == "b"


def _instead_of(key: Any) -> str:
    """What there is in the place of an index that is not basic."""
    if is_mask(key):
        return (
            "a mask selects as many elements as its data says, which is not supported; keep the"
            " shape with pt.where(mask, x, 0), or select in NumPy with x.numpy()[mask.numpy()]"
        )
    dtype = getattr(key, "dtype", None)
    if isinstance(key, list) or getattr(dtype, "kind", "") in ("i", "u"):
        return (
            "integers in a tensor or list stand alone, as in x[i]; along another axis they are"
            " taken with pt.take(x, i, axis)"
        )
    what = type(key).__name__ if dtype is None else f"a tensor of {dtype}"
    return f"takes ints, slices, ..., None, or integers in a tensor or list, not {what}"


def _without_ellipsis(keys: tuple[Any, ...], rank: int) -> tuple[Any, ...]:
    used = sum(1 for k in keys if k is not None and k is not Ellipsis)
    if used > rank:
        raise IndexError(f"index: {used} indices for a tensor of {rank} axes")
    dots = [i for i, k in enumerate(keys) if k is Ellipsis]
    if len(dots) > 1:
        raise IndexError("index: only one ... may stand in an index")
    fill = (slice(None),) * (rank - used)
    return (*keys[: dots[0]], *fill, *keys[dots[0] + 1 :]) if dots else (*keys, *fill)


def _normalize_index(k: Any, axis: int, shape: Shape) -> int:
    i, n = as_index(k), shape[axis]
    if not -n <= i < n:
        raise IndexError(f"index: {i} is out of range for axis {axis} of shape {shape}")
    return i % n


def _normalize_slice(k: slice, n: int) -> tuple[int, int, int]:
    start, stop, step = k.indices(n)
    return start, len(range(start, stop, step)), step


# -- Joining ------------------------------------------------------------------------------------


def _together(op: str, tensors: Sequence[Operand]) -> list[Tensor]:
    """Operands on one device, in their common dtype."""
    given = [tensor_of(x, op) for x in tensors]
    if not given:
        raise ValueError(f"{op}: needs at least one tensor")
    dtype = given[0].dtype
    for x in given[1:]:
        if x.device is not given[0].device:
            raise DeviceError(
                f"{op}: operands on {given[0].device} and {x.device}; move one with x.to(device)"
            )
        dtype = dtypes.promote(op, dtype, x.dtype)
    return [astype(x, dtype) for x in given]


def concat(tensors: Sequence[Operand], /, axis: int | None = 0) -> Tensor:
    """The tensors side by side along `axis`; None joins them flattened.

    Raises
    ------
    ShapeError
        Unless all other axes agree.
    """
    if isinstance(axis, Tensor):
        raise TypeError("concat: takes one list of tensors, and then an axis: pt.concat([x, y])")
    given = _together("concat", tensors)
    if axis is None:
        given, axis = [ravel(x) for x in given], 0
    first = given[0]
    if not first.ndim:
        raise ShapeError("concat: 0-d tensors have no axis to join along; use stack")
    at = normalize_axis("concat", axis, first.ndim)
    for x in given[1:]:
        if x.ndim != first.ndim or any(
            n != m for a, (n, m) in enumerate(zip(x.shape, first.shape, strict=True)) if a != at
        ):
            raise ShapeError(f"concat: shapes {first.shape} and {x.shape} differ beside axis {at}")
    total = sum(x.shape[at] for x in given)
    shape = tuple(total if a == at else n for a, n in enumerate(first.shape))
    parts = [x for x in given if x.size]
    if len(parts) == 1:
        return parts[0]
    return build(CONCAT, parts, at, shape, first.dtype, first.device)


def stack(tensors: Sequence[Operand], /, axis: int = 0) -> Tensor:
    """The tensors, all of one shape, along a new axis."""
    given = _together("stack", tensors)
    at = normalize_axis("stack", axis, given[0].ndim + 1)
    for x in given[1:]:
        if x.shape != given[0].shape:
            raise ShapeError(f"stack: shapes {given[0].shape} and {x.shape} differ")
    return concat([expand_dims(x, at) for x in given], axis=at)


def split(x: Operand, parts: int | Sequence[int], /, axis: int = 0) -> list[Tensor]:
    """`x` cut along `axis` into that many equal parts, or before each of the indices given; free.

    Raises
    ------
    ShapeError
        If the axis does not divide into so many parts.
    """
    x = tensor_of(x, "split")
    at = normalize_axis("split", axis, x.ndim)
    n = x.shape[at]
    if isinstance(parts, int):
        if parts < 1 or n % parts:
            raise ShapeError(
                f"split: axis {at} of shape {x.shape} does not divide into {parts} equal parts"
            )
        cuts = [n // parts * i for i in range(1, parts)]
    else:
        cuts = [slice(i, None).indices(n)[0] for i in parts]
    stops = [*cuts, n]
    whole = (slice(None),) * at
    return [getitem(x, (*whole, slice(a, b))) for a, b in zip([0, *cuts], stops, strict=True)]


for _function in (
    astype, reshape, ravel, permute, transpose, swapaxes, expand, broadcast_to, squeeze,
    expand_dims, flip, crop, pad, split, matrix_transpose,
):  # fmt: skip
    register(_function)
register(concat, CONCAT, method=False)
register(stack, method=False)
install("flatten", ravel)
install("unsqueeze", expand_dims)
install("T", property(transpose))
install("mT", property(matrix_transpose))

# The array API's aliases, and others that users look for.
permute_dims, unsqueeze, concatenate = permute, expand_dims, concat
