"""Functions that make and replace generators, with NumPy's names."""

from __future__ import annotations

from py_tensor.random.bit_generator import BitGenerator, Seed
from py_tensor.random.default_generator import default_generator, manual_seed
from py_tensor.random.generator import Core, Generator

__all__ = ["default_rng", "get_bit_generator", "seed", "set_bit_generator"]


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
    return default_generator().bit_generator


def set_bit_generator(bitgen: BitGenerator) -> None:
    """Set the bit generator behind the functions of this module."""
    manual_seed(bitgen)
