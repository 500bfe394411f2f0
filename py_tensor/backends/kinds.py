"""The devices of the package, and the bridges of a process.

Their modules are imported when they are first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from py_tensor.runtime.device import Backend
from py_tensor.runtime.host import CPython, host
from py_tensor.runtime.registry import Kind, register

if TYPE_CHECKING:
    from py_tensor.runtime.bridge import Bridge


def _make_webgpu(index: int) -> Backend:
    from py_tensor.backends.webgpu import acquire

    return acquire(index)


def _make_cpu(_index: int) -> Backend:
    from py_tensor.backends.cpu import CPU

    return CPU(host.load_numpy())


def _make_native_bridge() -> Bridge:
    from py_tensor.backends.native import NativeBridge

    return NativeBridge()


GPU_DEVICE = register(Kind("webgpu", _make_webgpu, lambda: host.adapters))
CPU_DEVICE = register(Kind("cpu", _make_cpu, computes_cpu_ops=True))
if isinstance(host, CPython):
    host.make_native_bridge = _make_native_bridge
