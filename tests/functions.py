"""The public functions that compute with tensors: the ops, and those that are composed of ops."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import py_tensor as pt

FOLDERS = ("py_tensor.ops.", "py_tensor.numpy.")
OTHERS = {"rand", "randint", "randn"}
# These ask for what is known without elements, or read and write files.
WITHOUT_ELEMENTS = (
    "attributes", "conversions", "files", "kernel", "memory", "numeric",
)  # fmt: skip
NO_OPS = {"broadcast_shapes", "iscomplexobj", "isrealobj", "ndenumerate", "ndindex"}


def functions() -> dict[str, Callable[..., Any]]:
    """Return these functions by name; their modules are imported."""
    public = {name: getattr(pt, name) for name in dir(pt)}
    return {
        name: function
        for name, function in public.items()
        if inspect.isfunction(function)
        and function.__name__ == name
        and (_is_of_ops(function.__module__) or name in OTHERS)
        and name not in NO_OPS
    }


def _is_of_ops(module: str) -> bool:
    return module.startswith(FOLDERS) and not module.endswith(WITHOUT_ELEMENTS)
