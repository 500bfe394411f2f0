"""Functions for `Laguerre` series, with NumPy's names; see `bases`."""

from __future__ import annotations

from typing import Any

from py_tensor.polynomial import bases
from py_tensor.polynomial.bases import Laguerre as Laguerre


def __getattr__(name: str) -> Any:
    return bases.LAGUERRE.named(name)


def __dir__() -> list[str]:
    return bases.LAGUERRE.names()
