"""What code that shows tensors needs beside the functions of `py_tensor`.

This module is public, so that a library can show tensors as `py_tensor.display` does: it uses only
public names.
"""

from __future__ import annotations

from typing import Any

from py_tensor.convert.conversion import drawable as drawable
from py_tensor.runtime.device import with_backend
from py_tensor.runtime.host import finish as finish
from py_tensor.runtime.host import host
from py_tensor.tensors.tensor import Tensor
from py_tensor.tensors.tensor import install as install

# Not a literal, so that web/build/names.py does not make these names of `py_tensor` itself.
_NAMES = (
    *("can_paint", "can_wait", "check_can_wait", "is_on_gpu", "paint"),
    *("drawable", "finish", "install"),
)
__all__ = sorted(_NAMES)  # pyright: ignore[reportUnsupportedDunderAll]


def can_wait() -> bool:
    """Return whether Python can block here until a GPU is done."""
    return host.can_wait()


def check_can_wait(what: str) -> None:
    """Raise WaitError if Python cannot block here; `what` names the call that would."""
    host.check_can_wait(what)


def is_on_gpu(x: Tensor) -> bool:
    """Return whether a GPU computes the tensor, and neither the CPU nor a software adapter."""
    adapter = with_backend(x.device).backend.info().get("adapter")  # None for the CPU
    return adapter is not None and not adapter.get("isFallbackAdapter")


def can_paint(x: Tensor) -> bool:
    """Return whether pixels on this tensor's device can be drawn to a canvas without being read."""
    backend: Any = with_backend(x.device).backend
    return x.device.waits and x.device.kind == "webgpu" and backend.can_paint()


async def paint(x: Tensor, width: int, height: int, *, blocking: bool) -> Any:
    """Return a tensor of pixels as a JavaScript ImageBitmap; its device can paint.

    Parameters
    ----------
    x
        uint32 of shape (height, stride): R | G << 8 | B << 16 | A << 24 for each pixel. The stride
        is a multiple of 64, and at least `width`.
    blocking
        Whether to wait for the GPU without suspending.
    """
    node = x._to_read()  # pyright: ignore[reportPrivateUsage]
    x.device.compute([node])
    backend: Any = with_backend(x.device).backend
    return await backend.paint(node, width, height, blocking=blocking)
