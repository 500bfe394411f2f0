"""`Generator`: common distributions; the modules of other methods are imported on first use."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from py_tensor.random.bit_generator import BitGenerator, Seed
from py_tensor.random.core import Core

if TYPE_CHECKING:
    from py_tensor.random.multivariate import Multivariate
    from py_tensor.random.orders import Orders

    class Methods(Multivariate, Orders):
        """All methods."""

else:

    class _Later:
        """A method whose module is imported when the method is first used."""

        def __init__(self, module: str, name: str) -> None:
            self.module, self.name = module, name

        def __get__(self, generator: Any, owner: type) -> Any:
            module = import_module(f"py_tensor.random.{self.module}")
            for name, method in vars(getattr(module, self.module.capitalize())).items():
                if not name.startswith("__"):
                    setattr(Methods, name, method)
            return getattr(owner if generator is None else generator, self.name)

    ON_FIRST_USE = {
        "continuous": (
            "beta chisquare f gamma gumbel laplace logistic noncentral_chisquare noncentral_f "
            "pareto power rayleigh standard_cauchy standard_gamma standard_t triangular vonmises "
            "wald weibull _gammas _gammas_and_powers"
        ),
        "discrete": (
            "binomial geometric hypergeometric logseries negative_binomial poisson zipf _binomials "
            "_hypergeometrics"
        ),
        "multivariate": ("dirichlet multinomial multivariate_hypergeometric multivariate_normal"),
        "orders": "bytes choice permutation permuted shuffle spawn",
    }
    """The methods of each module, including private methods that other modules call."""

    class Methods(Core):
        """All methods."""

    for _module, _names in ON_FIRST_USE.items():
        for _name in _names.split():
            setattr(Methods, _name, _Later(_module, _name))


class Generator(Methods):
    """A stream of random numbers.

    A number depends only on the seed and on the number of words drawn before it. Both are fixed
    when a method is called, so it does not matter when, where or how the numbers are computed. All
    devices use the same bits; results differ only by rounding, which may decide whether a number is
    rejected or which integer it becomes. Seeds and `bytes` are computed on the host; other host
    computations are documented by the method. The algorithm is Threefry for every bit generator, so
    the numbers differ from NumPy's for the same seed.

    Parameters
    ----------
    bit_generator : int, BitGenerator, SeedSequence, sequence of ints, optional
        A seed or a bit generator; by default a seed from the operating system.

    Examples
    --------
    >>> import py_tensor as pt
    >>> pt.random.Generator(pt.random.PCG64(7)).poisson(4.0, 5).dtype
    py_tensor.int32
    """

    def __init__(self, bit_generator: BitGenerator | Seed = None) -> None:
        super().__init__(bit_generator)
