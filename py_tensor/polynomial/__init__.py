"""Polynomial classes and functions of coefficients, with the names of NumPy's `polynomial`.

Functions take coefficients from the lowest power, or from the first basis polynomial. The functions
for the power basis are in the submodule `polynomial`, those for other bases in `chebyshev`,
`legendre`, `hermite`, `hermite_e` and `laguerre`, which are imported on first use. `polyutils` has
shared helper functions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from py_tensor.polynomial import polynomial as polynomial
from py_tensor.polynomial import polyutils as polyutils
from py_tensor.polynomial.objects import Polynomial as Polynomial

_CLASSES = ("Chebyshev", "Hermite", "HermiteE", "Laguerre", "Legendre")
_MODULES = ("chebyshev", "hermite", "hermite_e", "laguerre", "legendre")

__all__ = [
    "Chebyshev", "Hermite", "HermiteE", "Laguerre", "Legendre", "Polynomial", "chebyshev",
    "hermite", "hermite_e", "laguerre", "legendre", "polynomial", "polyutils",
]  # fmt: skip


def __dir__() -> list[str]:
    return __all__


if TYPE_CHECKING:
    from py_tensor.polynomial import chebyshev as chebyshev
    from py_tensor.polynomial import hermite as hermite
    from py_tensor.polynomial import hermite_e as hermite_e
    from py_tensor.polynomial import laguerre as laguerre
    from py_tensor.polynomial import legendre as legendre
    from py_tensor.polynomial.bases import Chebyshev as Chebyshev
    from py_tensor.polynomial.bases import Hermite as Hermite
    from py_tensor.polynomial.bases import HermiteE as HermiteE
    from py_tensor.polynomial.bases import Laguerre as Laguerre
    from py_tensor.polynomial.bases import Legendre as Legendre
else:

    def __getattr__(name: str) -> object:
        """Import the module of another basis on first use."""
        from importlib import import_module

        if name in _MODULES:
            return import_module(f"py_tensor.polynomial.{name}")
        if name in _CLASSES:
            return getattr(import_module("py_tensor.polynomial.bases"), name)
        raise AttributeError(
            f"module 'py_tensor.polynomial' has no attribute '{name}'", name=name, obj=None
        )
