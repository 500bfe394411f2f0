"""`Generator`: common distributions; the modules of other methods are imported on first use."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from py_tensor import first_use
from py_tensor.random.bit_generator import BitGenerator, Seed
from py_tensor.random.core import Core

__all__ = ["Generator"]

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
            owned = self.module.rpartition(".")[2].capitalize()
            for name, method in vars(getattr(import_module(self.module), owned)).items():
                if not name.startswith("__"):
                    setattr(Methods, name, method)
            return getattr(owner if generator is None else generator, self.name)

    class Methods(Core):
        """All methods."""

    for _name, _module in first_use.METHODS.items():
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
