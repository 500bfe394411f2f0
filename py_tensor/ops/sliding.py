"""Sliding windows and strided views, in which elements may occur several times."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from py_tensor.base.errors import ShapeError
from py_tensor.base.layout import Layout
from py_tensor.base.shapes import normalize_axis, parse_shape
from py_tensor.ops.movement import view_by
from py_tensor.ops.operands import Operand, numbers_of
from py_tensor.tensors.tensor import Tensor, tensor_of

__all__ = ["as_strided", "sliding_window_view"]


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
