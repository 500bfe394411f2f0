"""Functions and methods made of rarely used modules, which are imported when they are needed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from py_tensor.ops.declare import OnFirstUse
from py_tensor.ops.define import register
from py_tensor.ops.movement import pad_constant, pad_widths
from py_tensor.ops.operands import Operand, number_like
from py_tensor.tensors.tensor import Tensor, install, tensor_of

__all__ = ["pad"]


def pad(
    array: Operand,
    pad_width: Any,
    mode: str | Callable[..., None] = "constant",
    **kwargs: Any,
) -> Tensor:
    """Pad the tensor along each axis in order.

    Parameters
    ----------
    pad_width
        (before, after) for each axis; one pair or one int applies to all axes. A dict maps axes to
        widths.
    mode : str or callable
        "constant": pad with `constant_values`. "empty": undefined values. "edge": the edge element.
        "wrap": elements from the other end. "reflect" and "symmetric": the mirror image without or
        with the edge element. "linear_ramp": a ramp from the edge to `end_values`. "maximum",
        "mean", "median", "minimum": the statistic of the elements along the axis.

        A function writes the values: ``f(vector, (before, after), axis, kwargs)`` is called with a
        view of each vector of the result along each axis, padded with zeros.
    constant_values, end_values
        One number for all sides, a pair for both sides of all axes, or a pair for each axis; by
        default 0. They are converted to the dtype of the elements.
    stat_length
        The number of elements nearest to the side that the statistic uses, in the same forms; by
        default all.
    reflect_type : {"even", "odd"}
        "odd" pads with twice the edge element minus the reflected elements.

    Raises
    ------
    ShapeError
        If the widths do not match the axes or are negative.
    ValueError
        If the mode is unknown, the mode does not take an option, an axis is empty in a mode other
        than "constant" and "empty", or the statistic is undefined for `stat_length`.
    TypeError
        If the widths are not ints.
    """
    x = tensor_of(array, "pad")
    if mode == "constant" and kwargs.keys() <= {"constant_values"}:
        wraps_in = x.dtype if x.dtype.is_unsigned else None
        fill = number_like(kwargs.get("constant_values", 0), wraps_in)
        if fill is not None:
            return pad_constant(x, pad_width, fill)
    from py_tensor.numpy.padding import padded

    return padded(x, pad_widths(pad_width, x.ndim), mode, kwargs)


register(pad)
install("choose", cast("Any", OnFirstUse(Tensor, "py_tensor.numpy.functional", "choose")))
