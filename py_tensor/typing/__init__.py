"""NumPy's names for types of arrays."""

from __future__ import annotations

from typing import Any

from py_tensor.tensors.tensor import Tensor

__all__ = ["ArrayLike", "DTypeLike", "NDArray"]


def __dir__() -> list[str]:
    return __all__


NDArray = Tensor
ArrayLike = DTypeLike = Any
