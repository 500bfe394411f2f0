"""Random numbers from a counter-based generator, with NumPy's names.

The functions are methods of one `Generator`, which `seed` and `manual_seed` reseed. Rarely used
distributions are imported on first use.
"""

from __future__ import annotations

from functools import wraps
from inspect import signature
from typing import TYPE_CHECKING, Any

from py_tensor.graph.node import Device
from py_tensor.ops.define import register
from py_tensor.ops.operands import Operand
from py_tensor.random.bit_generator import BitGenerator as BitGenerator
from py_tensor.random.bit_generator import Seed
from py_tensor.random.bit_generator import Threefry as Threefry
from py_tensor.random.core import Core
from py_tensor.random.generator import Generator as Generator
from py_tensor.random.parameters import Size
from py_tensor.random.seed_sequence import SeedSequence as SeedSequence
from py_tensor.tensor import Tensor

_default = Generator()


def manual_seed(seed: Seed) -> Generator:
    """Reseed the generator behind `rand`, `randn` and `randint`, and return it."""
    global _default
    _default = Generator(seed)
    return _default


def seed(seed: Seed = None) -> None:
    """Reseed the generator behind the functions of this module, like `manual_seed`."""
    manual_seed(seed)


def rand(*shape: Any, device: str | Device | None = None) -> Tensor:
    """Draw float32 numbers from the uniform distribution over [0, 1): `rand(2, 3)`."""
    return _default.rand(*shape, device=device)


def randn(*shape: Any, device: str | Device | None = None) -> Tensor:
    """Draw float32 numbers from the standard normal distribution."""
    return _default.randn(*shape, device=device)


def randint(
    low: Operand,
    high: Operand | None = None,
    size: Size = None,
    dtype: object = None,
    *,
    device: str | Device | None = None,
) -> Tensor:
    """Draw integers from `low` (inclusive) to `high` (exclusive).

    If `high` is None, draw from 0 to `low`. The result has `dtype`, int32 by default.
    """
    return _default.randint(low, high, size, dtype, device=device)


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

    found = signature(method)
    vars(function)["__signature__"] = found.replace(parameters=[*found.parameters.values()][1:])
    return function


for _function in (rand, randn, randint):
    register(_function, method=False)

if TYPE_CHECKING:
    from py_tensor.random.legacy import RandomState as RandomState
    from py_tensor.random.numpy_names import MT19937 as MT19937
    from py_tensor.random.numpy_names import PCG64 as PCG64
    from py_tensor.random.numpy_names import PCG64DXSM as PCG64DXSM
    from py_tensor.random.numpy_names import SFC64 as SFC64
    from py_tensor.random.numpy_names import Philox as Philox

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
    _HERE = (
        *(
            "BitGenerator",
            "Generator",
            "SeedSequence",
            "Threefry",
            "default_rng",
            "get_bit_generator",
        ),
        *("manual_seed", "rand", "randint", "randn", "seed", "set_bit_generator"),
    )
    _NUMPYS = ("MT19937", "PCG64", "PCG64DXSM", "Philox", "SFC64")
    _LEGACY = ("get_state", "random_integers", "ranf", "sample", "set_state", "uniform")
    _METHODS = {n for n in dir(Generator) if n.islower() and not n.startswith("_")} - {"spawn"}

    def __getattr__(name: str) -> Any:
        """Return a method of the default generator, or import a name on first use."""
        if name in _NUMPYS:
            from py_tensor.random import numpy_names as module

            found = getattr(module, name)
        elif name in _LEGACY or name == "RandomState":
            from py_tensor.random.legacy import RandomState

            found = RandomState if name == "RandomState" else _of_default(vars(RandomState)[name])
        elif name in _METHODS:
            found = _of_default(getattr(Generator, name))
        else:
            import sys

            words = f"module 'py_tensor.random' has no attribute '{name}'"
            raise AttributeError(words, name=name, obj=sys.modules[__name__])
        globals()[name] = found
        return found

    def __dir__() -> list[str]:
        return sorted({*_HERE, *_NUMPYS, *_LEGACY, *_METHODS, "RandomState"})
