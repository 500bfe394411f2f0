"""Moving and repeating axes, sliding windows, and parts of matrices: compositions of other ops."""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from typing import Any, cast

from py_tensor.base import dtypes
from py_tensor.base.errors import ShapeError, check_option
from py_tensor.base.layout import Layout
from py_tensor.base.shapes import Shape, normalize_axis, parse_shape
from py_tensor.ir.bind import Recipes, Step, follow, steps
from py_tensor.ir.node import Device, Meta
from py_tensor.ir.primitives import ROLL
from py_tensor.ops.creation import arange, eye
from py_tensor.ops.define import register
from py_tensor.ops.elementwise import multiply, where
from py_tensor.ops.gather import take
from py_tensor.ops.movement import along_axis, concat, of_rank, pad_constant, reshape_copy, view_by
from py_tensor.ops.operands import Operand, numbers_of, tensor_beside, tensors_of, whole_number
from py_tensor.ops.out import Out
from py_tensor.ops.reduction import sum
from py_tensor.tensors.tensor import Tensor, install, tensor_of

__all__ = [
    "as_strided", "diag", "hstack", "meshgrid", "moveaxis", "outer", "repeat", "roll", "row_stack",
    "sliding_window_view", "tile", "trace", "tril", "triu", "vstack",
]  # fmt: skip


def several(value: Any) -> tuple[Any, ...]:
    """Return one or several axes or counts as a tuple; a tensor of them is read."""
    value = value.tolist() if hasattr(value, "tolist") else value
    return tuple(cast("Sequence[Any]", value)) if isinstance(value, Sequence) else (value,)


def moveaxis(a: Operand, source: int | Sequence[int], destination: int | Sequence[int]) -> Tensor:
    """Move the axes `source` to the positions `destination`; the others keep their order.

    Raises
    ------
    ShapeError
        If `source` and `destination` differ in length, or either repeats an axis.
    """
    x = tensor_of(a, "moveaxis")
    moved, positions = (
        [normalize_axis("moveaxis", axis, x.ndim) for axis in several(axes)]
        for axes in (source, destination)
    )
    if not len(moved) == len(positions) == len(set(moved)) == len(set(positions)):
        raise ShapeError(
            f"moveaxis: source {source} and destination {destination} must have equal"
            " lengths and no repeated axes"
        )
    order = [axis for axis in range(x.ndim) if axis not in moved]
    for position, axis in sorted(zip(positions, moved, strict=True)):
        order.insert(position, axis)
    return x.permute(tuple(order))


def repeat(a: Operand, repeats: int | Sequence[int] | Tensor, axis: int | None = None) -> Tensor:
    """Repeat each element `repeats` times along `axis`; None repeats the flattened elements.

    Parameters
    ----------
    repeats
        The number of repetitions, one for all or one for each index of the axis; a tensor is read.

    Raises
    ------
    TypeError, ValueError
        If `repeats` are not ints or are negative.
    ShapeError
        If the number of `repeats` is neither one nor the length of the axis.
    """
    x, along = along_axis("repeat", a, axis, of_scalar=True)
    before, n, behind = x.shape[:along], x.shape[along], x.shape[along + 1 :]
    numbers, shape = numbers_of("repeat", repeats)
    counts = [whole_number("repeat", "a count", number, 0) for number in numbers]
    if len(shape) > 1 or (len(counts) != 1 and len(counts) != n):
        raise ShapeError(
            f"repeat: repeats of shape {shape} do not match axis {along} of shape {x.shape}"
        )
    if len(counts) != 1:
        return take(x, [i for i, count in enumerate(counts) for _ in range(count)], along)
    (count,) = counts
    return reshape_copy(
        x.expand_dims(along + 1).expand((*before, n, count, *behind)), (*before, n * count, *behind)
    )


def tile(A: Operand, reps: int | Sequence[int]) -> Tensor:  # noqa: N803 - NumPy's name
    """Repeat the whole tensor ``reps[axis]`` times along each axis.

    Missing axes of `A` or `reps` are leading axes of length 1.
    """
    x = tensor_of(A, "tile")
    counts = [whole_number("tile", "a count", n, 0) for n in several(reps)]
    counts = [1] * (x.ndim - len(counts)) + counts
    x = reshape_copy(x, (1,) * (len(counts) - x.ndim) + x.shape)
    for axis, count in enumerate(counts):
        if count != 1:
            before, n, behind = x.shape[:axis], x.shape[axis], x.shape[axis + 1 :]
            copies = x.expand_dims(axis).expand((*before, count, n, *behind))
            x = reshape_copy(copies, (*before, count * n, *behind))
    return x


def roll(a: Operand, shift: int | Sequence[int], axis: int | Sequence[int] | None = None) -> Tensor:
    """Shift the elements by `shift` along `axis`; those past the end wrap to the front.

    None shifts the flattened tensor. Several shifts apply to as many axes, and one shift to all
    axes; several shifts for one axis add up. A tensor or an array of shifts is read.

    Raises
    ------
    ShapeError
        If the numbers of shifts and axes differ and neither is one.
    """
    x = tensor_of(a, "roll")
    if axis is None:
        return reshape_copy(roll(x.ravel(), shift, 0), x.shape)
    node = x._node  # pyright: ignore[reportPrivateUsage]
    is_one = type(shift) is int and type(axis) is int
    moves = _rolls[node.meta, shift, axis] if is_one else _rolled(node.meta, shift, axis)
    return Tensor(follow(node, moves)) if moves else x.copy()


def _rolled(meta: Meta, shift: int | Sequence[int], axis: int | Sequence[int]) -> tuple[Step, ...]:
    axes, shifts = several(axis), several(shift)
    count = len(axes) if len(shifts) == 1 else len(shifts)
    shifts *= count if len(shifts) == 1 else 1
    axes *= count if len(axes) == 1 else 1
    if len(shifts) != len(axes):
        raise ShapeError(f"roll: {len(shifts)} shifts do not match {len(axes)} axes")
    by = [0] * len(meta.shape)  # the distance by which elements move to the front along each axis
    for number, shift_along in zip(axes, shifts, strict=True):
        along = normalize_axis("roll", number, len(by))
        distance = by[along] - whole_number("roll", "shift", shift_along)
        by[along] = distance % max(meta.shape[along], 1)
    return steps(meta, (ROLL, tuple(by))) if any(by) else ()


_rolls = Recipes[tuple[Meta, Any, Any], tuple[Step, ...]](_rolled)


def vstack(tup: Sequence[Operand], *, dtype: object = None, casting: str = "same_kind") -> Tensor:
    """Stack tensors vertically; a vector counts as a row. Options as in `concat`."""
    rows = [x.reshape((1, x.size)) if x.ndim < 2 else x for x in tensors_of("vstack", tup)]
    return concat(rows, dtype=dtype, casting=casting)


row_stack = vstack


def hstack(tup: Sequence[Operand], *, dtype: object = None, casting: str = "same_kind") -> Tensor:
    """Stack tensors horizontally: along the second axis, or the first for vectors.

    Options as in `concat`.
    """
    operands = [x if x.ndim else x.reshape((1,)) for x in tensors_of("hstack", tup)]
    along = 0 if operands and operands[0].ndim == 1 else 1
    return concat(operands, along, dtype=dtype, casting=casting)


def meshgrid(
    *xi: Operand, copy: bool = True, sparse: bool = False, indexing: str = "xy"
) -> tuple[Tensor, ...]:
    """Return coordinate grids: each vector along its own axis, repeated along the others.

    Parameters
    ----------
    copy : bool
        Whether each result can be written to; otherwise they are read-only views.
    sparse : bool
        Whether each result keeps length 1 along the axes of the others, to broadcast.
    indexing : {"xy", "ij"}
        Whether the first two vectors are along the second and the first axis ("xy"), or in order
        ("ij").
    """
    check_option("meshgrid", "indexing", indexing, ("xy", "ij"))
    flat = [tensor_beside("meshgrid", x, *xi).reshape(-1) for x in xi]
    order = list(range(len(flat)))
    if indexing == "xy":
        order[:2] = order[1::-1]
    shape = tuple(flat[i].size for i in order)
    grids = [
        x.reshape(tuple(x.size if axis == n else 1 for axis in order)) for n, x in enumerate(flat)
    ]
    if not sparse:
        grids = [x.expand(shape) for x in grids]
    return tuple(x.copy() for x in grids) if copy else tuple(grids)


def outer(a: Operand, b: Operand, out: Out = None) -> Tensor:
    """Outer product of the flattened operands."""
    x, y = tensors_of("outer", (a, b))
    return multiply(x.ravel().expand_dims(1), y.ravel(), out)


# -- Windows, in which elements may occur several times ------------------------------------------


def as_strided(
    x: Operand,
    shape: int | Sequence[int] | None = None,
    strides: Sequence[int] | None = None,
    subok: bool = False,
    writeable: bool = True,
) -> Tensor:
    """Return a view of the memory of `x` with another shape and other strides.

    Parameters
    ----------
    shape, strides
        The size of each axis and its stride in bytes; by default those of `x`.
    subok
        Accepted; has no effect.
    writeable : bool
        Whether elements can be assigned. This is only possible if no element occurs twice in the
        view; otherwise the view is read-only.

    Raises
    ------
    ShapeError
        If there is not one stride for each axis, or a stride is not a multiple of the element size.
    ValueError
        If an element would be outside the memory of `x`.
    """
    x = tensor_of(x, "as_strided")
    sizes = x.shape if shape is None else parse_shape("as_strided", shape)
    tensor: Any = x
    steps: tuple[int, ...] = tensor._steps if strides is None else tuple(strides)
    whole = x if x.base is None else x.base
    step = whole.itemsize
    if len(sizes) != len(steps) or any(s % step for s in steps):
        raise ShapeError(
            f"as_strided: strides {steps} do not fit shape {sizes} of {step}-byte elements"
        )
    layout = Layout(sizes, tuple(s // step for s in steps), tensor._layout.offset)
    low, high = layout.extent
    if layout.size and not 0 <= low <= high < whole.size:
        raise ValueError(f"as_strided: shape {sizes} with strides {steps} is outside the memory")
    return view_by(x, layout, writeable=writeable and layout.is_injective)


def sliding_window_view(
    x: Operand,
    window_shape: int | Sequence[int],
    axis: int | Sequence[int] | None = None,
    *,
    subok: bool = False,
    writeable: bool = False,
) -> Tensor:
    """Return all windows of a shape in `x` as a view.

    Parameters
    ----------
    window_shape
        The window size along each axis in `axis`, by default all axes. These are the last axes of
        the result; the first axes are the positions of the windows.
    subok
        Accepted; has no effect.
    writeable : bool
        Whether elements can be assigned. This is only possible if the windows do not overlap;
        otherwise the view is read-only.

    Raises
    ------
    ShapeError
        If the window is larger than `x`, or there is not one size for each axis.
    """
    x = tensor_of(x, "sliding_window_view")
    window = parse_shape("sliding_window_view", window_shape)
    named = range(x.ndim) if axis is None else numbers_of("sliding_window_view", axis)[0]
    axes = [normalize_axis("sliding_window_view", a, x.ndim) for a in named]
    if len(axes) != len(window):
        raise ShapeError(f"sliding_window_view: window {window} does not match axes {tuple(axes)}")
    layout_of_x: Any = x._layout  # pyright: ignore[reportPrivateUsage]
    shape = list(x.shape)
    for a, n in zip(axes, window, strict=True):
        shape[a] -= n - 1
        if shape[a] < 1:
            raise ShapeError(f"sliding_window_view: window {window} is larger than {x.shape}")
    strides = (*layout_of_x.strides, *(layout_of_x.strides[a] for a in axes))
    layout = Layout((*shape, *window), strides, layout_of_x.offset)
    return view_by(x, layout, writeable=writeable and layout.is_injective)


# -- Parts of matrices --------------------------------------------------------------------------


def lower_half(shape: Shape, k: int, device: Device) -> Tensor:
    """Return a mask of the elements on or below the `k`-th diagonal of the last two axes."""
    n, m = shape[-2:]
    rows, columns = arange(n, device=device), arange(m, device=device)
    k = builtins.max(-n - 1, builtins.min(k, m))  # no diagonals beyond these
    return (rows + k).expand_dims(1) >= columns


def _matrix(x: Operand, op: str) -> Tensor:
    """Return an operand with at least two axes; a vector becomes a square matrix of such rows."""
    x = of_rank(op, x, 1)
    return x.expand((x.size, x.size)) if x.ndim == 1 else x


def tril(m: Operand, k: int = 0) -> Tensor:
    """Lower triangle: 0 above the `k`-th diagonal of the last two axes."""
    x = _matrix(m, "tril")
    return where(lower_half(x.shape, k, x.device), x, False)


def triu(m: Operand, k: int = 0) -> Tensor:
    """Upper triangle: 0 below the `k`-th diagonal of the last two axes."""
    x = _matrix(m, "triu")
    return where(lower_half(x.shape, k - 1, x.device), False, x)


def diag(v: Operand, k: int = 0) -> Tensor:
    """Extract the `k`-th diagonal of a matrix, or build a matrix with a vector on it.

    The diagonal of a matrix is a read-only view.

    Raises
    ------
    ShapeError
        If `v` is neither a vector nor a matrix.
    """
    x = tensor_of(v, "diag")
    if x.ndim == 1:
        n = x.size + abs(k)
        row = pad_constant(x, ((max(k, 0), max(-k, 0)),))
        return where(eye(n, k=k, dtype=dtypes.bool_, device=x.device), row, False)
    if x.ndim != 2:
        raise ShapeError(f"diag: takes a vector or a matrix, not shape {x.shape}")
    return x.diagonal(k)


def trace(
    a: Operand,
    offset: int = 0,
    axis1: int = 0,
    axis2: int = 1,
    dtype: object = None,
    out: Out = None,
) -> Tensor:
    """Sum along a diagonal of two axes; dtypes as in `sum`."""
    return sum(of_rank("trace", a, 2).diagonal(offset, axis1, axis2), -1, dtype, out)


register(roll, ROLL, method=False)
install("repeat", repeat)
install("trace", trace)
