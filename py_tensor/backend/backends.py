"""The backend of each device, and the bridge of a process: imported when they are first used."""

from __future__ import annotations

from typing import TYPE_CHECKING

from py_tensor.backend.device import CPU_DEVICE, GPU_DEVICE, Backend
from py_tensor.backend.host import CPython, host

if TYPE_CHECKING:
    from py_tensor.backend.bridge import Bridge


def _make_cpu() -> Backend:
    from py_tensor.backend.cpu import CPU

    return CPU(host.load_numpy())


def _make_webgpu() -> Backend:
    from py_tensor.backend.webgpu import acquire

    return acquire()


def _make_native_bridge() -> Bridge:
    from py_tensor.backend.native import NativeBridge

    return NativeBridge()


CPU_DEVICE.make_backend = _make_cpu
GPU_DEVICE.make_backend = _make_webgpu
if isinstance(host, CPython):
    host.make_native_bridge = _make_native_bridge
