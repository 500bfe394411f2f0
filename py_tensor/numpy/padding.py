"""The modes of `pad` that depend on the elements, and values for each side."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from py_tensor.adapters.iterating import ndindex
from py_tensor.base import dtypes
from py_tensor.base.errors import check_option
from py_tensor.numpy.statistics import median
from py_tensor.ops import reduction
from py_tensor.ops.arithmetic import divmod
from py_tensor.ops.creation import arange, linspace
from py_tensor.ops.elementwise import where
from py_tensor.ops.gather import gather_nd
from py_tensor.ops.movement import concat, converted, expand, flip, pad_constant, sides_of, sliced
from py_tensor.ops.operands import beside, whole_number, widest
from py_tensor.ops.rearrange import moveaxis
from py_tensor.ops.sorting import sort
from py_tensor.tensors.tensor import Tensor

Widths = Sequence[tuple[int, int]]

_STATISTICS: dict[str, Callable[..., Tensor]] = {
    "maximum": reduction.max, "mean": reduction.mean, "median": median, "minimum": reduction.min,
}  # fmt: skip
_OPTION = {
    "empty": "", "edge": "", "wrap": "", "constant": "constant_values", "linear_ramp": "end_values",
    **dict.fromkeys(_STATISTICS, "stat_length"), "reflect": "reflect_type",
    "symmetric": "reflect_type",
}  # fmt: skip
"""The modes, and the option that each takes, if any."""


def padded(
    x: Tensor, widths: Widths, mode: str | Callable[..., None], options: dict[str, Any]
) -> Tensor:
    """Pad one axis after another."""
    if callable(mode):
        return _padded_by_function(x, widths, mode, options)
    if mode not in _OPTION:
        modes = ", ".join(_OPTION)
        raise ValueError(f"pad: mode must be one of {modes} or a function, not {mode!r}")
    unknown = sorted(options.keys() - {_OPTION[mode]})
    if unknown:
        raise ValueError(f"pad: mode {mode!r} does not take {', '.join(unknown)}")
    if mode == "empty":
        return pad_constant(x, widths)
    for axis, width in enumerate(widths):
        if mode != "constant" and not x.shape[axis] and any(width):
            raise ValueError(f"pad: axis {axis} of shape {x.shape} has no elements to repeat")
    option = options.get(_OPTION[mode])
    if mode in ("edge", "wrap", "reflect", "symmetric"):
        check_option("pad", "reflect_type", "even" if option is None else option, ("even", "odd"))
        for axis, width in enumerate(widths):
            if option == "odd":
                x = _reflected_odd(x, axis, *width, include_edge=mode == "symmetric")
            else:
                x = _continued(x, axis, *width, mode)
        return x.copy()
    if mode in _STATISTICS and option is None:
        pairs: Any = [(None, None)] * x.ndim
    else:
        pairs = sides_of(_OPTION[mode], 0 if option is None else option, x.ndim)
    for axis, (width, pair) in enumerate(zip(widths, pairs, strict=True)):
        if not any(width):
            continue
        if mode in _STATISTICS:
            sides = _statistics(x, axis, mode, pair)
        elif mode == "linear_ramp":
            sides = _ramps(x, axis, width, pair)
        else:
            sides = [beside(widest([x]), v, "pad", x.device) for v in pair]
        left, right = (
            expand(_cast(side, x), *x.shape[:axis], n, *x.shape[axis + 1 :])
            for side, n in zip(sides, width, strict=True)
        )
        x = concat([left, x, right], axis)
    return x.copy()


def _cast(side: Tensor, x: Tensor) -> Tensor:
    """Convert values to the dtype of the elements; complex ones lose their imaginary parts."""
    if side.dtype.is_complex and not x.dtype.is_complex:
        side = side.real
    return converted(side, x.dtype)


def _padded_by_function(
    x: Tensor, widths: Widths, function: Callable[..., None], options: dict[str, Any]
) -> Tensor:
    """Pad with zeros, then call a function that writes to each vector (a view) along each axis."""
    made = pad_constant(x, widths).copy()
    for axis, width in enumerate(widths):
        rows = moveaxis(made, axis, -1)
        for index in ndindex(*rows.shape[:-1]):
            function(rows[(*index, ...)], width, axis, options)
    return made


def _continued(x: Tensor, axis: int, before: int, after: int, mode: str) -> Tensor:
    """Repeat elements of `x` at positions that follow from the mode."""
    n = x.shape[axis]
    if not before and not after:
        return x
    index = arange(before + n + after, device=x.device) - before
    if mode == "edge":
        index = index.clip(0, n - 1)
    elif mode == "wrap":
        index = index % n
    else:  # mirrored at the last element, or just beyond it
        turn, most = (2 * n - 2, 2 * n - 2) if mode == "reflect" else (2 * n, 2 * n - 1)
        index = index % max(turn, 1)
        index = where(index >= n, most - index, index)
    return gather_nd(x, (axis,), (index,), axis, op="")


def _reflected_odd(x: Tensor, axis: int, before: int, after: int, *, include_edge: bool) -> Tensor:
    """Pad with twice the edge minus the reflected elements, repeatedly if they are too few."""
    n = x.shape[axis]
    if n == 1:
        return _continued(x, axis, before, after, "edge")
    period, skip = (n, 0) if include_edge else (n - 1, 1)

    def part(start: int, stop: int) -> Tensor:
        return converted(sliced(x, axis, start, stop), dtypes.numeric(x.dtype))

    while before or after:
        length = x.shape[axis]
        most = (length - skip) // period * period
        left, right = min(most, before), min(most, after)
        head = 2 * part(0, 1) - flip(part(skip, skip + left), axis)
        end = length - skip
        tail = 2 * part(length - 1, length) - flip(part(end - right, end), axis)
        x = concat([_cast(head, x), x, _cast(tail, x)], axis)
        before, after = before - left, after - right
    return x


def _statistics(x: Tensor, axis: int, mode: str, lengths: tuple[Any, Any]) -> list[Tensor]:
    """Return a statistic of the elements nearest to each side; rounded for integers.

    Those of integers are exact, where NumPy's mean and median round to float64 first.
    """
    n = x.shape[axis]
    values: dict[tuple[int, int], Tensor] = {}  # one for both sides if these take all elements
    sides: list[Tensor] = []
    for side, option in enumerate(lengths):
        length = n if option is None else min(whole_number("pad", "stat_length", option), n)
        if length < 0 or (not length and mode in ("maximum", "minimum")):
            raise ValueError(f"pad: mode {mode!r} is undefined for stat_length {length}")
        window = (n - length, n) if side else (0, length)
        if window not in values:
            elements = sliced(x, axis, *window)
            if x.dtype.is_integer and elements.size and mode in _ROUNDED:
                values[window] = _ROUNDED[mode](elements, axis)
            else:
                values[window] = _STATISTICS[mode](elements, axis=axis, keepdims=True)
        sides.append(values[window])
    return sides


def _rounded_mean(x: Tensor, axis: int) -> Tensor:
    """Return the mean of integers, rounded half to even."""
    n = x.shape[axis]
    wide = dtypes.longest(x.dtype)
    # The sum of 64-bit integers may overflow, that of their quotients and remainders cannot.
    whole, rest = divmod(x, n) if x.dtype is wide else (0, x)
    more, rest = divmod(reduction.sum(rest, axis, wide, keepdims=True), n)
    if x.dtype is wide:
        more = more + reduction.sum(whole, axis, keepdims=True)
    return more + (rest * 2 + (more & 1) > n)


def _rounded_median(x: Tensor, axis: int) -> Tensor:
    """Return the median of integers, rounded half to even."""
    n = x.shape[axis]
    ordered = sort(x, axis)
    low, high = (sliced(ordered, axis, middle, middle + 1) for middle in ((n - 1) // 2, n // 2))
    below = (low >> 1) + (high >> 1) + (low & high & 1)  # the sum of both may overflow
    return below + (below & (low ^ high) & 1)


_ROUNDED = {"mean": _rounded_mean, "median": _rounded_median}


def _ramps(x: Tensor, axis: int, width: tuple[int, int], ends: tuple[Any, Any]) -> list[Tensor]:
    """Return ramps from the end values, inclusive, to the elements at the edges."""
    edges = [x[(slice(None),) * axis + (index,)] for index in (0, -1)]
    left, right = (
        linspace(end, edge, n, endpoint=False, dtype=x.dtype, axis=axis)
        for end, edge, n in zip(ends, edges, width, strict=True)
    )
    return [left, flip(right, axis)]
