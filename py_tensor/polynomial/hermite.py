"""Functions of Hermite series (physicists) and the class: NumPy's, for tensors; see `adapter`."""

from __future__ import annotations

from typing import Any

from py_tensor.adapters import polynomial as adapter


def __getattr__(name: str) -> Any:
    return adapter.attribute("hermite", name)


def __dir__() -> list[str]:
    return adapter.names("hermite")
