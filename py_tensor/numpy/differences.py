"""Differences, derivatives and integrals along an axis."""

from __future__ import annotations

import math
from typing import Any, cast

from py_tensor.base.dtypes import check_cast
from py_tensor.base.errors import DTypeError, ShapeError, check_option
from py_tensor.base.shapes import normalize_axes, normalize_axis
from py_tensor.ops.elementwise import not_equal, remainder, subtract, where
from py_tensor.ops.movement import as_floating, concat, converted, in_common_dtype, sliced, widened
from py_tensor.ops.operands import Operand, Real, Scalar, number_like, real_number_of, tensor_beside
from py_tensor.ops.reduction import cumsum
from py_tensor.tensors.tensor import Tensor, tensor_of

__all__ = ["diff", "ediff1d", "gradient", "trapezoid", "trapz", "unwrap"]


def diff(
    a: Operand,
    n: int = 1,
    axis: int = -1,
    prepend: Operand | None = None,
    append: Operand | None = None,
) -> Tensor:
    """Return the `n`-th discrete difference along `axis`.

    For bools, whether neighbours differ.

    Parameters
    ----------
    prepend, append : optional
        Values to prepend and append along `axis` first: numbers, or tensors of matching shape.

    Raises
    ------
    ValueError
        If `n` is negative.
    """
    x = tensor_beside("diff", a, prepend, append)
    if n < 0:
        raise ValueError(f"diff: n must be at least 0, not {n}")
    if not n:
        return x
    along = normalize_axis("diff", axis, x.ndim)
    one = (*x.shape[:along], 1, *x.shape[along + 1 :])
    for added, is_first in ((prepend, True), (append, False)):
        if added is not None:
            x, end = in_common_dtype("diff", x, added)
            end = end if end.ndim else end.expand(one)
            x = concat([end, x] if is_first else [x, end], along)
    between = not_equal if x.dtype.is_bool else subtract
    for _ in range(n):
        x = between(sliced(x, along, 1, None), sliced(x, along, None, -1))
    return x


def ediff1d(ary: Operand, to_end: Operand | None = None, to_begin: Operand | None = None) -> Tensor:
    """Return the differences of neighbours in the flattened tensor, with optional ends.

    Raises
    ------
    DTypeError
        If `to_begin` or `to_end` cannot be cast to the tensor's dtype with "same_kind".
    """
    x = tensor_of(ary, "ediff1d").ravel()
    ends: list[list[Tensor]] = []
    for added in (to_begin, to_end):
        end = [] if added is None else [tensor_of(added, "ediff1d", device=x.device).ravel()]
        for v in end:
            check_cast("ediff1d", v.dtype, x.dtype, "same_kind")
        ends.append([converted(v, x.dtype) for v in end])
    return concat([*ends[0], subtract(x[1:], x[:-1]), *ends[1]])


def gradient(f: Operand, *varargs: Any, axis: Any = None, edge_order: int = 1) -> Any:
    """Return the gradient: central differences along each axis, one-sided differences at the ends.

    Parameters
    ----------
    varargs
        The spacing, or a vector of coordinates; one for all axes or one for each.
    axis : int or tuple, optional
        The axes to differentiate along; None means all.
    edge_order : {1, 2}
        The order of accuracy at the ends.

    Returns
    -------
    Tensor, or a tuple of one for each axis
        One tensor if `axis` is an int or there is only one axis.

    Raises
    ------
    ShapeError
        If an axis has fewer than ``edge_order + 1`` elements, or if the coordinates do not match
        it.
    """
    x = as_floating(f, "gradient")
    axes = normalize_axes("gradient", axis, x.ndim)
    if isinstance(axis, list | tuple):
        axes = tuple(normalize_axis("gradient", a, x.ndim) for a in cast("list[Any]", axis))
    check_option("gradient", "edge_order", edge_order, (1, 2))
    steps = varargs or (1.0,)
    steps = steps * len(axes) if len(steps) == 1 else steps
    if len(steps) != len(axes):
        raise TypeError(f"gradient: {len(varargs)} spacings do not match {len(axes)} axes")
    derivatives = [_derived(x, a, step, edge_order) for a, step in zip(axes, steps, strict=True)]
    return derivatives[0] if len(axes) == 1 else tuple(derivatives)


def _derived(x: Tensor, axis: int, step: Any, edge_order: int) -> Tensor:
    n = x.shape[axis]
    if n <= edge_order:
        raise ShapeError(f"gradient: axis {axis} of {x.shape} has too few elements")

    def part(*ends: int | None) -> Tensor:
        return sliced(x, axis, *ends)

    def rise(start: int) -> Tensor:
        return part(start + 1, start + 2) - part(start, start + 1)

    number = number_like(step)
    step = step if number is None else number
    points = None if isinstance(step, int | float) else tensor_of(step, "gradient", device=x.device)
    if points is None or not points.ndim:
        inside = (part(2, None) - part(None, -2)) / (step * 2)
        if edge_order == 1:
            return concat([rise(0) / step, inside, rise(n - 2) / step], axis)
        first = (-3 * part(0, 1) + 4 * part(1, 2) - part(2, 3)) / (step * 2)
        last = (3 * part(n - 1, n) - 4 * part(n - 2, n - 1) + part(n - 3, n - 2)) / (step * 2)
        return concat([first, inside, last], axis)
    if points.shape != (n,):
        words = f"do not match axis {axis} of {x.shape}"
        raise ShapeError(f"gradient: coordinates of shape {points.shape} {words}")
    gaps = as_floating(points, "gradient")
    gaps = (gaps[1:] - gaps[:-1]).reshape(n - 1, *(1,) * (x.ndim - axis - 1))
    before, behind = gaps[:-1], gaps[1:]
    whole = before + behind
    inside = (
        -behind / (before * whole) * part(None, -2)
        + (behind - before) / (before * behind) * part(1, -1)
        + before / (behind * whole) * part(2, None)
    )
    if edge_order == 1:
        return concat([rise(0) / gaps[:1], inside, rise(n - 2) / gaps[-1:]], axis)

    def at_end(start: int, turn: int, a: Tensor, b: Tensor) -> Tensor:
        """Return the derivative at an end, from three elements with gaps `a` and `b`."""
        f, g, h = (part(k, k + 1) for k in range(start, start + 3 * turn, turn))
        return (a + b) / (a * b) * g - (2 * a + b) / (a * (a + b)) * f - a / (b * (a + b)) * h

    first = at_end(0, 1, gaps[:1], gaps[1:2])
    last = at_end(n - 1, -1, gaps[n - 2 :], gaps[n - 3 : n - 2])
    return concat([first, inside, -last], axis)


def trapezoid(y: Operand, x: Operand | None = None, dx: Scalar = 1.0, axis: int = -1) -> Tensor:
    """Integrate `y` along `axis` with the trapezoidal rule.

    Parameters
    ----------
    x : optional
        The coordinates of the elements: of the shape of `y`, or a vector along the axis.
    dx
        The spacing, if `x` is None.
    """
    y = tensor_of(y, "trapezoid")
    along = normalize_axis("trapezoid", axis, y.ndim)
    width: Any = dx
    if x is not None:
        points = tensor_of(x, "trapezoid", device=y.device)
        width = diff(points, 1, -1 if points.ndim == 1 else along)
        if points.ndim == 1:
            width = width.reshape(-1, *(1,) * (y.ndim - along - 1))
    heights = sliced(y, along, 1, None) + sliced(y, along, None, -1)
    return (width * heights / 2.0).sum(along)


def unwrap(
    p: Operand, discont: Real | None = None, axis: int = -1, *, period: Real = 2 * math.pi
) -> Tensor:
    """Unwrap along `axis`: add multiples of the period so that jumps are at most half a period.

    Parameters
    ----------
    discont : optional
        The smallest jump that is corrected; at least half a period.
    period
        If it and `p` are integers, so is the result.
    """
    x = tensor_of(p, "unwrap")
    if x.dtype.is_complex:
        raise DTypeError(f"unwrap: takes real dtypes, not {x.dtype.name}")
    along = normalize_axis("unwrap", axis, x.ndim)
    number = number_like(period)
    if number is None:
        period = cast("Any", tensor_of(period, "unwrap", device=x.device))
    else:
        period = real_number_of("unwrap", "period", number)
    is_whole = isinstance(period, int) and not x.dtype.is_inexact
    high = period // 2 if is_whole else period / 2
    x = widened(x)
    steps = converted(diff(x, axis=along), (x * 1 if is_whole else x * 1.0).dtype)
    within = remainder(steps + high, period) - high
    if not (is_whole and period % 2):
        within = where((within == -high) & (steps > 0), high, within)
    moves = where(abs(steps) < (high if discont is None else discont), 0, within - steps)
    first = converted(sliced(x, along, None, 1), steps.dtype)
    return concat([first, sliced(x, along, 1, None) + cumsum(moves, along)], along)


trapz = trapezoid
