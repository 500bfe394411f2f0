"""Pure functions on shapes and axes, and their errors."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from operator import index as as_index
from typing import Any, cast

from py_tensor.base.errors import AxisError, ShapeError

Shape = tuple[int, ...]
MAX_RANK = 64  # as in NumPy; of a tensor, and of the iteration space of one kernel


size_of: Callable[[Shape], int] = math.prod
"""Returns the number of elements of a shape."""


def unravel(number: int, shape: Shape) -> Shape:
    """Return the index of an element of a shape, from its number in row-major order."""
    index: list[int] = []
    for n in reversed(shape[1:]):
        number, inner = divmod(number, n)
        index.insert(0, inner)
    return (number, *index) if shape else ()


def row_major(shape: Shape) -> tuple[int, ...]:
    """Return the strides, in elements, of a contiguous tensor."""
    strides = [1] * len(shape)
    for axis in range(len(shape) - 2, -1, -1):
        strides[axis] = strides[axis + 1] * shape[axis + 1]
    return tuple(strides)


def parse_shape(op: str, shape: object) -> Shape:
    """Return a shape from an int or a sequence of ints, all of them non-negative."""
    sizes = parse_sizes(op, shape)
    if sizes and min(sizes) < 0:
        raise ShapeError(f"{op}: negative size in shape {sizes}")
    return check_rank(op, sizes) if len(sizes) > MAX_RANK else sizes


def parse_sizes(op: str, shape: object) -> Shape:
    """Return the sizes of a reshape, where -1 stands for the remaining elements."""
    try:
        return tuple(map(as_index, _listed(shape)))
    except TypeError:
        raise TypeError(f"{op}: shape must be an int or a tuple of ints, not {shape!r}") from None


def _listed(sizes: Any) -> Sequence[Any]:
    """Return one or several unchecked sizes or axes, as a sequence."""
    if hasattr(sizes, "tolist"):  # an array, or a tensor, which this reads
        sizes = sizes.tolist()
    return cast("Sequence[Any]", sizes) if isinstance(sizes, Sequence) else (sizes,)


def check_rank(op: str, shape: Shape) -> Shape:
    """Return the shape itself, if it has at most `MAX_RANK` axes."""
    if len(shape) > MAX_RANK:
        raise ShapeError(
            f"{op}: shape {shape} has {len(shape)} axes; at most {MAX_RANK} are supported"
        )
    return shape


def broadcast(op: str, *shapes: Shape) -> Shape:
    """Return the shape to which all `shapes` broadcast.

    Raises
    ------
    ShapeError
        With a diagram that points at the axis that does not match.
    """
    rank = max(map(len, shapes), default=0)
    result = [1] * rank
    for shape in shapes:
        for axis, n in enumerate(shape, rank - len(shape)):
            if n != 1 and n != result[axis]:
                if result[axis] != 1:
                    raise ShapeError(_broadcast_message(op, shapes, axis - rank))
                result[axis] = n
    return tuple(result)


def _broadcast_message(op: str, shapes: Sequence[Shape], axis: int) -> str:
    """Return an error diagram of two of the shapes that do not match at `axis` (negative)."""
    sized = [s for s in shapes if len(s) >= -axis and s[axis] != 1]
    first = sized[0]
    second = next(s for s in sized if s[axis] != first[axis])
    rank = max(len(first), len(second))
    widths = [max(len(str(s[a])) for s in (first, second) if len(s) >= -a) for a in range(-rank, 0)]
    full = sum(widths) + 2 * rank - 1  # the width of a line without the closing bracket

    def draw(shape: Shape) -> str:
        sizes = [f"{n:>{w}}" for n, w in zip(shape, widths[rank - len(shape) :], strict=True)]
        return f"{'(' + ', '.join(sizes).lstrip():>{full}}" + (",)" if len(shape) == 1 else ")")

    column = full - sum(w + 2 for w in widths[rank + axis + 1 :])
    shown = " and ".join(map(str, shapes))
    return (
        f"{op}: shapes {shown} do not broadcast\n"
        f"    {draw(first)}\n    {draw(second)}\n"
        f"    {'^':>{column}} axis {axis}: {first[axis]} vs {second[axis]}"
        " (sizes must be equal, or one must be 1)"
    )


def axes_of(rank: int) -> str:
    """Return a number of axes, in words."""
    return "1 axis" if rank == 1 else f"{rank} axes"


def joined(op: str, shapes: Sequence[Shape], axis: int) -> Shape:
    """Return the shape of tensors concatenated along an axis.

    Raises
    ------
    ShapeError
        Unless all other axes agree.
    """
    first = shapes[0]
    beside = first[:axis], first[axis + 1 :]
    for shape in shapes[1:]:
        if len(shape) != len(first):
            raise ShapeError(
                f"{op}: shapes {first} and {shape} have {axes_of(len(first))}"
                f" and {axes_of(len(shape))}"
            )
        if (shape[:axis], shape[axis + 1 :]) != beside:
            raise ShapeError(
                f"{op}: shapes {first} and {shape} differ in an axis other than axis {axis}"
            )
    return (*beside[0], sum(shape[axis] for shape in shapes), *beside[1])


def normalize_axis(op: str, axis: Any, rank: int, *, of_scalar: bool = False) -> int:
    """Convert an axis to a number in ``[0, rank)``.

    With `of_scalar`, 0 and -1 are also axes of a 0-d tensor, as in NumPy's reductions and scans.
    """
    try:
        number = as_index(axis)
    except TypeError:
        raise TypeError(f"{op}: axis must be an int, not {axis!r}") from None
    count = rank or int(of_scalar)
    if not -count <= number < count:
        raise AxisError(f"{op}: axis {number} is out of bounds for a tensor of {axes_of(rank)}")
    return number % count


def normalize_axes(op: str, axes: object, rank: int, *, of_scalar: bool = False) -> tuple[int, ...]:
    """Convert axes to sorted numbers in ``[0, rank)``; None means all axes.

    `of_scalar` is as in `normalize_axis`, for one axis that is not in a tuple; it selects no axis.
    """
    if axes is None:
        return tuple(range(rank))
    if of_scalar and not rank and not isinstance(axes, Sequence):
        normalize_axis(op, axes, rank, of_scalar=True)
        return ()
    listed = _listed(axes)
    numbers = [normalize_axis(op, axis, rank) for axis in listed]
    if len(set(numbers)) != len(numbers):
        raise AxisError(f"{op}: repeated axis in {tuple(listed)}")
    return tuple(sorted(numbers))


def check_axes(op: str, axes: object, rank: int) -> None:
    """Raise AxisError unless `axes` are distinct numbers in ``[0, rank)``."""
    if not isinstance(axes, tuple):
        raise TypeError(f"{op}: axes must be a tuple of ints, not {axes!r}")
    numbers = cast("tuple[Any, ...]", axes)
    if normalize_axes(op, numbers, rank) != tuple(sorted(numbers)):
        raise AxisError(f"{op}: axes must be nonnegative, not {axes}")


def reduced(shape: Shape, axes: tuple[int, ...]) -> Shape:
    """Return the shape after a reduction that keeps its axes as length 1."""
    return tuple(1 if axis in axes else n for axis, n in enumerate(shape))


def dropped(shape: Shape, axes: tuple[int, ...]) -> Shape:
    """Return the shape without the given axes."""
    return tuple(n for axis, n in enumerate(shape) if axis not in axes)


def resolve_reshape(op: str, shape: Shape, target: Shape) -> Shape:
    """Return `target` with -1 replaced by the size that preserves the number of elements."""
    size = size_of(shape)
    unknown = target.count(-1)
    known = math.prod(n for n in target if n != -1)
    if unknown > 1 or any(n < -1 for n in target):
        raise ShapeError(f"{op}: shape {target} may have one -1 and no other negative size")
    if unknown and known and size % known == 0:
        target = tuple(size // known if n == -1 else n for n in target)
    if -1 in target or size_of(target) != size:
        raise ShapeError(f"{op}: cannot reshape {shape}, {size} elements, to {target}")
    return check_rank(op, target)


def expands(shape: Shape, target: Shape) -> bool:
    """Return whether `shape` expands to `target` by axes of length 1 or new ones."""
    lead = len(target) - len(shape)
    return lead >= 0 and all(n in (1, m) for n, m in zip(shape, target[lead:], strict=True))


def check_expansion(op: str, shape: Shape, target: Shape) -> None:
    """Raise ShapeError unless `shape` expands to `target`."""
    if not expands(shape, target):
        raise ShapeError(f"{op}: shape {shape} does not broadcast to {target}")
