"""`Generator`, whose methods' modules are imported on first use, and the default generator."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from inspect import signature
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, Self, TypeVar

from py_tensor.base import first_use
from py_tensor.ops.define import OnFirstUse
from py_tensor.random.bit_generator import BitGenerator, Seed, Threefry

if TYPE_CHECKING:
    from py_tensor.random.methods import Methods  # a stub, written by `npm run names`
else:
    Methods = object

__all__ = ["Generator", "manual_seed", "rand", "randint", "randn"]

P = ParamSpec("P")
R = TypeVar("R")


class Core(Methods):
    """A stream of random words, with the methods of generators.

    Parameters
    ----------
    bit_generator : BitGenerator or seed, optional
        The source of random words, or a seed for a `BitGenerator`.
    """

    def __init__(self, bit_generator: BitGenerator | Seed = None) -> None:
        is_made = isinstance(bit_generator, BitGenerator)
        self.bit_generator = bit_generator if is_made else Threefry(bit_generator)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(seed={self.bit_generator.key})"

    def spawn(self, n_children: int) -> list[Self]:
        """Create generators with independent streams.

        Parameters
        ----------
        n_children : int
            The number of generators. Raises ValueError if it is negative. Keys are hashed on the
            host from the seed and the number spawned before (`SeedSequence.spawn`).
        """
        return [type(self)(made) for made in self.bit_generator.spawn(n_children)]


for _name, _module in first_use.METHODS.items():
    setattr(Core, _name, OnFirstUse(Core, _module, _name))


class Generator(Core):
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


# -- The default generator ----------------------------------------------------------------------

_default = Generator()


def default_generator() -> Generator:
    """Return the generator behind the functions."""
    return _default


def function_of(method: Callable[Concatenate[Any, P], R]) -> Callable[P, R]:
    """Return a function that calls a method of the default generator."""

    @wraps(method)
    def function(*args: P.args, **options: P.kwargs) -> R:
        return method(_default, *args, **options)

    called = signature(method)
    vars(function)["__signature__"] = called.replace(parameters=[*called.parameters.values()][1:])
    function.__module__, function.__qualname__ = "py_tensor.random", method.__name__  # for pickles
    return function


def manual_seed(seed: Seed) -> Generator:
    """Reseed the generator behind `rand`, `randn` and `randint`, and return it."""
    global _default
    _default = Generator(seed)
    return _default


rand = function_of(Generator.rand)
randint = function_of(Generator.randint)
randn = function_of(Generator.randn)
