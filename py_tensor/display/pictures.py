"""Pictures of tensors: expressions that compute pixels, and their transfer to a canvas or as bytes.

A pixel is one uint32, R | G << 8 | B << 16 | A << 24: four bytes in the order of the channels.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite as is_finite
from typing import Any

from py_tensor.base.dtypes import float32, int32, uint32
from py_tensor.base.errors import ShapeError
from py_tensor.convert.conversion import tensor
from py_tensor.convert.presentation import can_paint, paint
from py_tensor.display.colormaps import COLOURS, STOPS, table
from py_tensor.display.options import PLAIN, Options
from py_tensor.display.shapes import is_colour, is_picturable
from py_tensor.ops.elementwise import clip, floor, isfinite, isnan, maximum
from py_tensor.ops.gather import take, where
from py_tensor.ops.movement import stack
from py_tensor.ops.reduction import max as largest
from py_tensor.ops.reduction import min as least
from py_tensor.tensors.tensor import Tensor

ROW_PIXELS = 64
"""Rows are padded to a multiple of this: WebGPU copies rows of 256 bytes to textures."""

LARGEST_SIDE = 4096
"""The largest side of a picture in pixels; larger tensors are subsampled with an integer step."""

INFINITY = float("inf")


@dataclass(frozen=True, slots=True)
class Picture:
    """A tensor of pixels that is not computed yet.

    Attributes
    ----------
    pixels : Tensor
        uint32 of shape (height, stride), where stride is `width` rounded up to `ROW_PIXELS`.
    """

    pixels: Tensor
    width: int
    height: int


def picture(x: Tensor, options: Options = PLAIN, premultiplied: bool = False) -> Picture:
    """Return the pixels of a tensor; see `screen.imshow`.

    Parameters
    ----------
    x
        A tensor for which `is_picturable` is true.
    premultiplied
        Whether to multiply colours by their alpha, as the canvas of a GPU requires.
    """
    step = -(-max(x.shape[:2]) // LARGEST_SIDE)
    if step > 1:
        x = x[::step, ::step]
    if x.ndim == 2:
        colours = tensor(table(options.cmap), dtype=uint32, device=x.device)
        pixels = _mapped(x, options.vmin, options.vmax, colours)
    else:
        pixels = _packed(x, premultiplied)
    height, width = pixels.shape
    return Picture(pixels.pad(((0, 0), (0, -width % ROW_PIXELS))), width, height)


def check_shape(op: str, x: Tensor) -> None:
    """Raise ShapeError if `is_picturable` is false."""
    if not is_picturable(x):
        raise ShapeError(
            f"{op}: x must have shape (H, W), (H, W, 3) or (H, W, 4), not {x.shape}"
            if x.size
            else f"{op}: a tensor of shape {x.shape} has no pixels"
        )


def _mapped(x: Tensor, vmin: float | None, vmax: float | None, colours: Tensor) -> Tensor:
    """Map values to colours, linearly from `vmin` to `vmax`.

    The default bounds are the smallest and the largest finite value. Infinities get the colours of
    the ends; NaN is transparent.
    """
    values = _real(x)
    bounded = vmin is not None or vmax is not None
    finite = isfinite(values)
    low = least(where(finite, values, INFINITY)) if vmin is None else vmin
    high = largest(where(finite, values, -INFINITY)) if vmax is None else vmax
    # Halves, because the difference of two finite values may be infinite.
    span = tensor(0.5, dtype=values.dtype, device=x.device) * high - low * 0.5
    share = (values * 0.5 - low * 0.5) / where(span > 0, span, 1.0)
    if bounded:  # a single given bound may lie beyond all values
        end = values > vmin if vmin is not None else values >= vmax
        share = where(span > 0, share, where(end, 1.0, 0.0))
    share = where(finite, share, where(values > 0, 1.0, 0.0))
    index = clip(floor(share * (COLOURS - 1) + 0.5), 0, COLOURS - 1)
    return where(isnan(values), 0, take(colours, index.astype(int32)))


def _real(x: Tensor) -> Tensor:
    return x if x.dtype.is_floating else x.astype(float32)


def _packed(x: Tensor, premultiplied: bool) -> Tensor:
    """Pack channels into pixels: floats from 0 to 1, integers from 0 to 255, or bools; NaN is 0."""
    if x.dtype.is_floating:
        levels = floor(clip(where(isnan(x), 0.0, x), 0, 1) * 255 + 0.5)
    elif x.dtype.is_bool:
        levels = x.astype(int32) * 255
    else:
        levels = clip(x, 0, 255)
    words = levels.astype(uint32)
    r, g, b = words[:, :, 0], words[:, :, 1], words[:, :, 2]
    if x.shape[2] == 3:
        return r | g << 8 | b << 16 | 0xFF << 24
    a = words[:, :, 3]
    if premultiplied:
        r, g, b = ((channel * a + 127) // 255 for channel in (r, g, b))
    return r | g << 8 | b << 16 | a << 24


def value_ends(x: Tensor) -> Tensor:
    """Return the smallest and the largest finite element; (inf, -inf) if there are none."""
    values = _real(x)
    finite = isfinite(values)
    return stack(
        [least(where(finite, values, INFINITY)), largest(where(finite, values, -INFINITY))]
    )


async def numbers(x: Tensor, blocking: bool) -> Any:
    """Return the elements as nested lists; wait for a GPU by blocking or by suspending."""
    return x.tolist() if blocking else (await x.to_numpy_async()).tolist()


def colours(
    cmap: str, vmin: float | None, vmax: float | None, low: float, high: float
) -> dict[str, Any] | None:
    """Return the stops and the range of a colour bar, or None if its range is not finite.

    Parameters
    ----------
    low, high
        The smallest and the largest finite value, used for bounds that are not given.
    """
    first, last = low if vmin is None else vmin, high if vmax is None else vmax
    if not (is_finite(first) and is_finite(last)):
        return None
    stops = [f"#{stop}" for stop in STOPS[cmap].split()]
    return {"stops": stops, "range": [first, max(first, last)]}


def figure_facts(
    o: Options, x: Tensor, ends: Sequence[float], has_axes: bool, of: dict[str, Any] | None = None
) -> dict[str, Any]:
    """Return the title, axes and colour bar of a picture.

    `ends` are the smallest and the largest finite value of x.
    """
    has_values = not is_colour(x)
    height, width = x.shape[:2]
    return {
        **{name: getattr(o, name) for name in ("title", "xlabel", "ylabel", "extent")},
        "hasAxes": has_axes,
        "hasValues": has_values,
        "isWhole": not x.dtype.is_floating,
        "colours": colours(o.cmap, o.vmin, o.vmax, *ends) if o.colorbar and has_values else None,
        "of": of or {"width": width, "height": height},
    }


def thumbnail(x: Tensor, height: int, width: int) -> Tensor:
    """Reduce a 2-D tensor to at most `height` x `width` elements, the means of blocks.

    Only finite elements count; a block without any is NaN. A tensor that is small enough is
    returned unchanged.
    """
    down, across = (-(-n // most) for n, most in zip(x.shape, (height, width), strict=True))
    if down == across == 1:
        return x
    values = _real(x)
    finite = isfinite(values)
    rows, columns = (-(-n // step) for n, step in zip(x.shape, (down, across), strict=True))
    missing = (0, rows * down - x.shape[0]), (0, columns * across - x.shape[1])
    blocks = (rows, down, columns, across)
    counts = where(finite, 1.0, 0.0).pad(missing).reshape(blocks).sum((1, 3))
    shares = where(finite, values, 0.0) / (down * across)  # a sum of large values could overflow
    sums = shares.pad(missing).reshape(blocks).sum((1, 3))
    means = sums * (down * across / maximum(counts, 1.0))
    return where(counts > 0, means, float("nan"))


async def taken(picture: Picture, blocking: bool) -> Any:
    """Take the pixels of a picture off their device.

    The result is a JavaScript ImageBitmap if the device can paint (`can_paint`), and bytes
    otherwise.

    Parameters
    ----------
    blocking
        Whether to wait for the GPU without suspending.
    """
    x = picture.pixels
    if can_paint(x):
        return await paint(x, picture.width, picture.height, blocking=blocking)
    rows = x[:, : picture.width]
    return (rows if blocking else await rows.to_numpy_async()).tobytes()
