"""NumPy's names for types of arrays."""

from __future__ import annotations

from typing import Any

from py_tensor.tensor import Tensor

NDArray = Tensor
ArrayLike = DTypeLike = Any
