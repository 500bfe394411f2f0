"""A machine on which wgpu finds no adapter."""

from __future__ import annotations

from typing import Any

import pytest

import py_tensor as pt
from py_tensor.backends import native_device
from py_tensor.backends.native import NativeBridge
from py_tensor.backends.webgpu import WebGPU


def test_without_an_adapter_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    def request(**_: Any) -> Any:
        raise RuntimeError("Request adapter failed")

    monkeypatch.setattr(native_device.gpu, "request_adapter_sync", request)
    bridge = NativeBridge()
    with pytest.raises(pt.DeviceError, match="no WebGPU device: wgpu found no adapter; install"):
        WebGPU(bridge, bridge.acquire("", 0).wait())
