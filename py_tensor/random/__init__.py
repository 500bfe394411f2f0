"""Random numbers from a counter-based generator, with NumPy's names.

The functions are methods of one `Generator`, which `seed` and `manual_seed` reseed. Rarely used
distributions are imported on first use.
"""

from __future__ import annotations

import sys
from functools import wraps
from inspect import signature
from typing import TYPE_CHECKING, Any

from py_tensor.ops.define import register
from py_tensor.random.bit_generator import MT19937 as MT19937
from py_tensor.random.bit_generator import PCG64 as PCG64
from py_tensor.random.bit_generator import PCG64DXSM as PCG64DXSM
from py_tensor.random.bit_generator import SFC64 as SFC64
from py_tensor.random.bit_generator import BitGenerator as BitGenerator
from py_tensor.random.bit_generator import Philox as Philox
from py_tensor.random.bit_generator import Seed
from py_tensor.random.bit_generator import Threefry as Threefry
from py_tensor.random.define import Size as Size  # the page explains the types in signatures
from py_tensor.random.generator import METHODS, Core
from py_tensor.random.generator import Generator as Generator
from py_tensor.random.seed_sequence import SeedSequence as SeedSequence

_default = Generator()


def manual_seed(seed: Seed) -> Generator:
    """Reseed the generator behind `rand`, `randn` and `randint`, and return it."""
    global _default
    _default = Generator(seed)
    return _default


def seed(seed: Seed = None) -> None:
    """Reseed the generator behind the functions of this module, like `manual_seed`."""
    manual_seed(seed)


def default_rng(seed: Core | BitGenerator | Seed = None) -> Generator:
    """Create a generator from a seed or a bit generator.

    A `Generator` is returned unchanged. A `RandomState` gives a generator with its bit generator.
    """
    if isinstance(seed, Generator):
        return seed
    return Generator(seed.bit_generator if isinstance(seed, Core) else seed)


def get_bit_generator() -> BitGenerator:
    """Return the bit generator behind the functions of this module."""
    return _default.bit_generator


def set_bit_generator(bitgen: BitGenerator) -> None:
    """Set the bit generator behind the functions of this module."""
    manual_seed(bitgen)


def _of_default(method: Any) -> Any:
    """Return a function that calls a method of the default generator."""

    @wraps(method)
    def function(*args: Any, **options: Any) -> Any:
        return method(_default, *args, **options)

    whole = signature(method)
    vars(function)["__signature__"] = whole.replace(parameters=[*whole.parameters.values()][1:])
    function.__module__, function.__qualname__ = __name__, method.__name__
    return function


if TYPE_CHECKING:
    from py_tensor.random.legacy import RandomState as RandomState

    rand = _default.rand
    randint = _default.randint
    randn = _default.randn
    beta = _default.beta
    binomial = _default.binomial
    bytes = _default.bytes
    chisquare = _default.chisquare
    choice = _default.choice
    dirichlet = _default.dirichlet
    exponential = _default.exponential
    f = _default.f
    gamma = _default.gamma
    geometric = _default.geometric
    get_state = RandomState().get_state
    gumbel = _default.gumbel
    hypergeometric = _default.hypergeometric
    laplace = _default.laplace
    logistic = _default.logistic
    lognormal = _default.lognormal
    logseries = _default.logseries
    multinomial = _default.multinomial
    multivariate_hypergeometric = _default.multivariate_hypergeometric
    multivariate_normal = _default.multivariate_normal
    negative_binomial = _default.negative_binomial
    noncentral_chisquare = _default.noncentral_chisquare
    noncentral_f = _default.noncentral_f
    normal = _default.normal
    pareto = _default.pareto
    permutation = _default.permutation
    permuted = _default.permuted
    poisson = _default.poisson
    power = _default.power
    random = _default.random
    random_integers = RandomState().random_integers
    random_sample = ranf = sample = _default.random_sample
    rayleigh = _default.rayleigh
    set_state = RandomState().set_state
    shuffle = _default.shuffle
    standard_cauchy = _default.standard_cauchy
    standard_exponential = _default.standard_exponential
    standard_gamma = _default.standard_gamma
    standard_normal = _default.standard_normal
    standard_t = _default.standard_t
    triangular = _default.triangular
    uniform = RandomState().uniform
    vonmises = _default.vonmises
    wald = _default.wald
    weibull = _default.weibull
    zipf = _default.zipf
else:
    rand, randn, randint = map(_of_default, (Generator.rand, Generator.randn, Generator.randint))
    for _function in (rand, randn, randint):
        register(_function, method=False)

    _HERE = {
        "BitGenerator", "Generator", "MT19937", "PCG64", "PCG64DXSM", "Philox", "SFC64",
        "SeedSequence", "Threefry", "default_rng", "get_bit_generator", "manual_seed", "rand",
        "randint", "randn", "seed", "set_bit_generator",
    }  # fmt: skip
    _LEGACY = {"get_state", "random_integers", "ranf", "sample", "set_state", "uniform"}
    _LATER = {*" ".join(METHODS.values()).split(), *_LEGACY, "RandomState"}

    def __getattr__(name: str) -> Any:
        """Return a function that calls a method of the default generator, or `RandomState`."""
        if name not in _LATER:
            words = f"module 'py_tensor.random' has no attribute '{name}'"
            raise AttributeError(words, name=name, obj=sys.modules[__name__])
        from py_tensor.random.legacy import RandomState  # it has all methods of Generator, too

        value = RandomState if name == "RandomState" else _of_default(getattr(RandomState, name))
        globals()[name] = value
        return value

    def __dir__() -> list[str]:
        return sorted({*_HERE, *_LATER})
