"""A machine on which wgpu finds no adapter."""

from __future__ import annotations

from typing import Any

import pytest

import py_tensor as pt
from py_tensor.backends import native_device
from py_tensor.backends.native import NativeBridge
from py_tensor.backends.webgpu import WebGPU


def test_without_an_adapter_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    def request(_instance: Any, _options: Any, _told: Any) -> None: ...

    class Without:
        wgpuInstanceRequestAdapter = staticmethod(request)  # noqa: N815 - WebGPU's name

        def __getattr__(self, name: str) -> Any:
            return getattr(real, name)

    real = native_device.lib
    monkeypatch.setattr(native_device, "lib", Without())
    bridge = NativeBridge()
    with pytest.raises(pt.DeviceError, match="no WebGPU device: wgpu found no adapter; install"):
        WebGPU(bridge, bridge.acquire("", 0).wait())
