"""The inspection functions of the array API standard, and DLPack."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from py_tensor.backends.choice import default_device, parse
from py_tensor.base import dtypes
from py_tensor.base.dtypes import DType
from py_tensor.base.errors import DeviceError
from py_tensor.base.shapes import MAX_RANK
from py_tensor.convert.conversion import asarray
from py_tensor.convert.dlpack import BfloatAsBits
from py_tensor.ir.node import Device
from py_tensor.numpy.numeric import isdtype
from py_tensor.runtime.device import LazyDevice
from py_tensor.runtime.host import host
from py_tensor.runtime.registry import all_devices
from py_tensor.tensors.tensor import Tensor

__all__ = ["__array_namespace_info__", "from_dlpack"]

_HOST_MEMORY = (1, 3, 11, 13)  # DLPack's device types of host memory


class Info:
    """The result of `__array_namespace_info__`: capabilities, devices and dtypes."""

    def capabilities(self) -> dict[str, Any]:
        """Return the capabilities: boolean indexing, data-dependent shapes and the maximum rank."""
        return {
            "boolean indexing": True,
            "data-dependent shapes": True,
            "max dimensions": MAX_RANK,
        }

    def default_device(self) -> Device:
        """Return the default device."""
        return default_device()

    def devices(self) -> tuple[Device, ...]:
        """Return the available devices; requests the GPU."""
        return tuple(device for device in all_devices() if _is_available(device))

    def default_dtypes(self, *, device: str | Device | None = None) -> dict[str, DType]:
        """Return the default dtypes of Python numbers and of indices."""
        return {
            "real floating": dtypes.DEFAULT.floating,
            "complex floating": dtypes.DEFAULT.complex,
            "integral": dtypes.DEFAULT_INT,
            "indexing": dtypes.DEFAULT_INT,
        }

    def dtypes(self, *, device: str | Device | None = None, kind: Any = None) -> dict[str, DType]:
        """Return the dtypes of the standard that a device supports, optionally of some kinds."""
        has_all = parse(device).uses_numpy
        return {
            dtype.name: dtype
            for dtype in dtypes.ALL
            if not (dtype.is_floating and dtype.is_packed)  # the standard lacks these
            and (has_all or dtype.on_gpu)
            and (kind is None or isdtype(dtype, kind))
        }


def _is_available(device: LazyDevice) -> bool:
    if device.waits:
        with suppress(DeviceError):
            return bool(device.backend.info())
    return not device.waits


def __array_namespace_info__() -> Info:  # noqa: N807 - the standard's name
    """Return the capabilities of the library, as defined by the array API standard."""
    return Info()


def from_dlpack(
    x: Any, /, *, device: str | Device | None = None, copy: bool | None = None
) -> Tensor:
    """Create a tensor from a DLPack object, as a copy made by NumPy.

    A copy in host memory is requested from an object on another device.

    Raises
    ------
    BufferError
        If `copy` is False, or the object cannot export a copy in host memory.
    """
    if isinstance(x, Tensor):
        return asarray(x, device=device, copy=copy)
    if copy is False:
        raise BufferError("from_dlpack: copy=False is not supported; a tensor owns its memory")
    kind, number = map(int, x.__dlpack_device__())
    bits = BfloatAsBits(x)
    try:
        array = host.load_numpy().from_dlpack(bits, device=None if kind in _HOST_MEMORY else "cpu")
    except BufferError as error:
        if kind in _HOST_MEMORY:
            raise
        raise BufferError(
            f"from_dlpack: the memory is on device ({kind}, {number}), not on the host ({error});"
            " copy the array to host memory first"
        ) from None
    x = asarray(array, dtypes.parse(array.dtype), device=device, op="from_dlpack")
    return x.view("bfloat16").copy() if bits.is_bfloat else x
