"""`Generator`: what most programs draw, and other methods that are imported on first use."""

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
        """A method that its module defines, which is imported when the method is first used."""

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
    """The methods of each module, and what other modules call of it."""

    class Methods(Core):
        """All methods."""

    for _module, _names in ON_FIRST_USE.items():
        for _name in _names.split():
            setattr(Methods, _name, _Later(_module, _name))


class Generator(Methods):
    """A stream of random numbers.

    A number depends on the seed and on how many words were drawn before alone; both are fixed when
    a method is called, so that it does not matter when, where or how the numbers are computed. All
    devices draw the same bits: they differ by rounding, which may decide whether a number is drawn
    again, or which integer it becomes. Nothing is computed on the host but seeds, `bytes`, and what
    methods say of themselves. The numbers are those of Threefry, whatever the bit generator is
    called; they are not those that NumPy has for the same seed.

    Parameters
    ----------
    bit_generator : int, BitGenerator, SeedSequence, sequence of ints, optional
        A seed, or where the words come from; by default a seed from the operating system.

    Examples
    --------
    >>> import py_tensor as pt
    >>> pt.random.Generator(pt.random.PCG64(7)).poisson(4.0, 5).dtype
    py_tensor.int32
    """

    def __init__(self, bit_generator: BitGenerator | Seed = None) -> None:
        super().__init__(bit_generator)
