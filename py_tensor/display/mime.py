"""Output for notebooks by MIME type: pictures as PNG, charts as SVG, and text.

IPython and similar hosts request it through `_repr_mimebundle_`. It is made from the same pixels
and points that a `screen.Screen` gets.
"""

from __future__ import annotations

import binascii
import sys
import zlib
from collections.abc import Collection
from html import escape
from struct import pack
from typing import Any
from uuid import uuid4

from py_tensor.convert.formatting import get_printoptions
from py_tensor.convert.presentation import can_wait
from py_tensor.display.drawing import enlargement
from py_tensor.display.pictures import Picture, picture, thumbnail
from py_tensor.display.shapes import is_colour, is_picturable
from py_tensor.tensors.tensor import Tensor

Mimes = dict[str, str]
"""Text by MIME type; a PNG is in base64."""

LARGEST_BESIDE = 512
"""The largest side in pixels of a picture that accompanies the text of a tensor."""

PROCESS = uuid4().hex
"""Distinguishes the displays of this process from those of earlier ones in the same notebook."""


def of_tensor(x: Tensor) -> Mimes:
    """Return the repr of a tensor, and a picture if `imshow` accepts its shape.

    A notebook shows one of the forms, so the HTML contains the text, and also the picture if the
    text omits elements. Complex numbers are drawn as their absolute values.
    """
    text = repr(x)
    if not is_picturable(x) or (x.device.waits and not can_wait()):
        return {"text/plain": text}
    if is_colour(x):
        step = -(-max(x.shape[:2]) // LARGEST_BESIDE)
        small = x[::step, ::step]
    else:
        small = thumbnail(abs(x) if x.dtype.is_complex else x, LARGEST_BESIDE, LARGEST_BESIDE)
    data = png_of(picture(small))
    html = f"<pre>{escape(text)}</pre>"
    if x.size > get_printoptions()["threshold"]:  # the text omits elements
        label = f"Image of a tensor of shape {x.shape}"
        html += f'<img alt="{label}" src="data:image/png;base64,{data}">'
    return {"text/plain": text, "text/html": html, "image/png": data}


def of_object(value: Any) -> Mimes:
    """Return the repr of an object, and the forms that the notebook's formatters make of it."""
    forms: Mimes = shell().display_formatter.format(value)[0]
    return {"text/plain": repr(value), **forms}


def chosen(mimes: Mimes, include: Collection[str] | None, exclude: Collection[str] | None) -> Mimes:
    """Return the MIME types that a notebook requests."""
    return {
        mime: data
        for mime, data in mimes.items()
        if (not include or mime in include) and mime not in (exclude or ())
    }


def png_of(made: Picture, scale: float | None = None) -> str:
    """Return a picture as a PNG in base64.

    Parameters
    ----------
    scale
        The factor by which to enlarge the picture, rounded to an integer (`enlargement`).
    """
    width, height = made.width, made.height
    factor = enlargement(width, height, scale)
    pixels = made.pixels[:, :width].repeat(factor, 0).repeat(factor, 1)
    data = _png(width * factor, height * factor, pixels.tobytes())
    return binascii.b2a_base64(data, newline=False).decode("ascii")


def _png(width: int, height: int, pixels: bytes) -> bytes:
    """Return a PNG (ISO/IEC 15948) of 8-bit RGBA pixels, without filters."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return pack(">I", len(data)) + kind + data + pack(">I", zlib.crc32(kind + data))

    head = pack(">IIBBBBB", width, height, 8, 6, 0, 0, 0)
    rows = (pixels[4 * width * i : 4 * width * (i + 1)] for i in range(height))
    body = zlib.compress(b"".join(b"\0" + row for row in rows))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", body) + chunk(b"IEND", b"")


# -- IPython -------------------------------------------------------------------------------------


def shell() -> Any:
    """Return the running IPython shell, or None; IPython is not imported for it."""
    ipython = sys.modules.get("IPython")
    return None if ipython is None else ipython.get_ipython()


def publish(mimes: Mimes, number: int, is_update: bool) -> None:
    """Show the forms as display `number` of this process, or update that display."""
    shell().display_pub.publish(
        mimes, transient={"display_id": f"py_tensor-{PROCESS}-{number}"}, update=is_update
    )
