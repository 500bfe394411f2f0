"""The shapes of tensors that are shown as pictures; every result of the page is asked for it."""

from __future__ import annotations

from py_tensor.tensors.tensor import Tensor


def is_colour(x: Tensor) -> bool:
    """Return whether the last of three axes holds channels: 3 (RGB) or 4 (RGBA)."""
    return x.ndim == 3 and x.shape[2] in (3, 4)


def is_picturable(x: Tensor) -> bool:
    """Return whether a tensor can be shown as a picture."""
    return bool(x.size) and (x.ndim == 2 or is_colour(x))
