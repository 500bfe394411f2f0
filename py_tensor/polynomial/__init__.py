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
from py_tensor.polynomial import chebyshev as chebyshev
from py_tensor.polynomial import hermite as hermite
from py_tensor.polynomial import hermite_e as hermite_e
from py_tensor.polynomial import laguerre as laguerre
from py_tensor.polynomial import legendre as legendre
from py_tensor.polynomial import polynomial as polynomial
from py_tensor.polynomial import polyutils as polyutils

__all__ = [
    "Chebyshev", "Hermite", "HermiteE", "Laguerre", "Legendre", "Polynomial", "chebyshev",
    "hermite", "hermite_e", "laguerre", "legendre", "polynomial", "polyutils",
]  # fmt: skip


def __dir__() -> list[str]:
    return __all__
