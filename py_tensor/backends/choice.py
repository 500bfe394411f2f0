"""Choosing a device: by name, or the default one."""

from __future__ import annotations

from py_tensor.backends.kinds import CPU_DEVICE, GPU_DEVICE
from py_tensor.base.dtypes import DEFAULT, DType
from py_tensor.base.errors import DeviceError, DTypeError
from py_tensor.ir.node import Device
from py_tensor.runtime.device import LazyDevice, with_backend
from py_tensor.runtime.host import host
from py_tensor.runtime.registry import named, unknown

__all__ = ["default_device", "set_default_device"]

_default: LazyDevice | None = None


def default_device() -> LazyDevice:
    """Return the device of new tensors: webgpu if available, else cpu; chosen at first use.

    On CPython a software adapter does not count: NumPy is faster, and Mesa's adapter silently stops
    loops after 65,535 iterations.
    """
    global _default
    if _default is None:
        _default = GPU_DEVICE if _found_gpu() else CPU_DEVICE
    return _default


def _found_gpu() -> bool:
    try:
        adapter = GPU_DEVICE.backend.info()["adapter"]  # makes the backend
    except DeviceError as error:
        GPU_DEVICE.absence = str(error)
        return False
    if adapter["isFallbackAdapter"] and not host.computes_in_software:
        GPU_DEVICE.absence = (
            "only a software adapter, slower than NumPy; device='webgpu' selects it"
        )
        return False
    return True


def set_default_device(device: str | LazyDevice) -> None:
    """Set the device of new tensors: "webgpu", "webgpu:1" (if there are several) or "cpu".

    Raises
    ------
    DTypeError
        If `set_default_dtype` has set a dtype that the device does not have.
    """
    global _default
    chosen = with_backend(parse(device))
    check_default(chosen, DEFAULT.floating)
    _default = chosen


def check_default(device: Device, dtype: DType) -> None:
    """Raise DTypeError unless a device supports the new default dtype."""
    if not device.uses_numpy and not dtype.on_gpu:
        raise DTypeError(
            f"{dtype} cannot be the default dtype on the device {device.name!r}, only on 'cpu';"
            " call set_default_dtype('float32'), or set_default_device('cpu'), first"
        )


def parse(device: object) -> Device:
    """Return a device by name; None means the default device.

    Raises
    ------
    DeviceError
        If the name is unknown.
    """
    if device is None:
        return default_device()
    if isinstance(device, Device):
        return device
    if isinstance(device, DType):
        raise DeviceError(f"{device!r} is not a device; use x.astype(pt.{device.name}) for dtypes")
    if not isinstance(device, str):
        raise unknown(device)
    return named(device)
