"""Functions of Laguerre series, and the class: NumPy's, for tensors (see `adapter`)."""

from __future__ import annotations

from typing import Any

from py_tensor.adapters import polynomial as adapter


def __getattr__(name: str) -> Any:
    return adapter.attribute("laguerre", name)


def __dir__() -> list[str]:
    return adapter.names("laguerre")
