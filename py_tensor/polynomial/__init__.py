"""What NumPy keeps in `polynomial`, of powers: `Polynomial`, and functions of coefficients.

Those in the submodule `polynomial` take the coefficient of the lowest power first. `polyutils` has
what such functions share.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from py_tensor.polynomial import polynomial as polynomial
from py_tensor.polynomial import polyutils as polyutils
from py_tensor.polynomial.objects import Polynomial as Polynomial

__all__ = ["Polynomial", "polynomial", "polyutils"]


def __dir__() -> list[str]:
    return __all__


if not TYPE_CHECKING:

    def __getattr__(name: str) -> NoReturn:
        """What NumPy has besides: other bases, of a copy."""
        words = f"module 'py_tensor.polynomial' has no attribute '{name}'"
        if name[:1] != "_":
            words += f"; powers are the only basis, and np.polynomial.{name} takes x.numpy()"
        raise AttributeError(words, name=name, obj=None)
