"""The class and the functions of the power basis, with NumPy's names."""

from __future__ import annotations

from py_tensor.polynomial import powers
from py_tensor.polynomial.objects import Polynomial as Polynomial
from py_tensor.polynomial.powers import *  # noqa: F403

__all__ = ["Polynomial", *powers.__all__]  # pyright: ignore[reportUnsupportedDunderAll]
