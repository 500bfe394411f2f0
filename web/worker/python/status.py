"""The figures in the page's status bar about Python and the device, queried between inputs."""

from __future__ import annotations

import json
from importlib import import_module
from typing import Any

import py_tensor as pt
from py_tensor.backends.kinds import CPU_DEVICE, GPU_DEVICE


def figures() -> dict[str, Any]:
    """Memory in use, and the state of the device. Does not wait for anything."""
    from pyodide_js import _module

    device = json.loads(import_module("py_tensor_bridge").stats())
    return {
        "heap": int(_module.HEAPU8.byteLength),
        "gpu": pt.memory_info("webgpu") if device["generation"] else None,
        "generation": device["generation"],
        "isLost": device["isLost"],
        "unavailable": getattr(GPU_DEVICE.backend, "unavailable", "") if device["isLost"] else "",
        "isOnCpu": pt.default_device() is CPU_DEVICE,
    }


def device() -> dict[str, Any]:
    """`pt.device_info()` as rows of text; a query cannot wait for NumPy to be loaded."""
    if CPU_DEVICE is pt.default_device() and not CPU_DEVICE.is_ready:
        return {"title": "cpu", "rows": [("NumPy", "loaded for the first tensor on this device")]}
    info = pt.device_info()
    return {"title": info.title, "rows": info.rows()}
