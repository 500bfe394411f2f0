"""Polynomial classes and functions of coefficients, with the names of NumPy's `polynomial`.

Functions take coefficients from the lowest power, or from the first basis polynomial. The functions
for the power basis are in the submodule `polynomial`, those for other bases in `chebyshev`,
`legendre`, `hermite`, `hermite_e` and `laguerre`. `polyutils` has shared helper functions. NumPy
computes them on the host (see `adapter`).
"""

from __future__ import annotations

from py_tensor.adapters.polynomial import Chebyshev as Chebyshev
from py_tensor.adapters.polynomial import Hermite as Hermite
from py_tensor.adapters.polynomial import HermiteE as HermiteE
from py_tensor.adapters.polynomial import Laguerre as Laguerre
from py_tensor.adapters.polynomial import Legendre as Legendre
from py_tensor.adapters.polynomial import Polynomial as Polynomial
from py_tensor.adapters.polynomial import module as _module

__all__ = [
    "Chebyshev", "Hermite", "HermiteE", "Laguerre", "Legendre", "Polynomial", "chebyshev",
    "hermite", "hermite_e", "laguerre", "legendre", "polynomial", "polyutils",
]  # fmt: skip

chebyshev = _module("chebyshev", "Functions of Chebyshev series, and the class.")
hermite = _module("hermite", "Functions of Hermite series (physicists), and the class.")
hermite_e = _module("hermite_e", "Functions of Hermite series (probabilists), and the class.")
laguerre = _module("laguerre", "Functions of Laguerre series, and the class.")
legendre = _module("legendre", "Functions of Legendre series, and the class.")
polynomial = _module("polynomial", "Functions of power series, and the class.")
polyutils = _module("polyutils", "Helper functions for series.")


def __dir__() -> list[str]:
    return __all__
