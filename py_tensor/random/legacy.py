"""NumPy's legacy `RandomState`, and functions that make generators or set the default one."""

from __future__ import annotations

from typing import Any

from py_tensor.ops.operands import Operand, number_like
from py_tensor.random.bit_generator import BitGenerator, Seed
from py_tensor.random.common import drawn_integers
from py_tensor.random.define import Size
from py_tensor.random.generator import Core, Generator, default_generator, function_of, manual_seed
from py_tensor.random.threefry import MASK
from py_tensor.tensors.tensor import Tensor

__all__ = [
    "RandomState", "default_rng", "get_bit_generator", "get_state", "random_integers", "ranf",
    "sample", "seed", "set_bit_generator", "set_state", "uniform",
]  # fmt: skip


class RandomState(Core):
    """A generator with NumPy's legacy names; the algorithm is Threefry.

    Its methods take the same parameters as those of `Generator`, even if NumPy's take fewer.
    """

    def __init__(self, seed: BitGenerator | Seed = None) -> None:
        super().__init__(seed)

    def seed(self, seed: Seed = None) -> None:
        """Reseed the generator."""
        self.bit_generator = type(self.bit_generator)(seed)

    def get_state(self, legacy: bool = True) -> Any:
        """Return the state for `set_state`: a tuple in NumPy's form, or a dict."""
        state = self.bit_generator.state
        if not legacy:
            return state
        key = self.bit_generator.key
        return state["bit_generator"], [key & MASK, key >> 32], self.bit_generator.drawn, 0, 0.0

    def set_state(self, state: Any) -> None:
        """Set the state to one that `get_state` returned.

        Raises
        ------
        ValueError
            If the state belongs to another generator, such as NumPy's MT19937.
        """
        if not isinstance(state, dict):
            name, words, drawn, *_ = state
            if len(words) != 2:
                raise ValueError(
                    f"set_state: takes the result of get_state, not a state of {len(words)} words,"
                    f" such as NumPy's {name}"
                )
            low, high = words
            inner = {"key": low | high << 32, "counter": drawn}
            state = {"bit_generator": name, "state": inner}
        self.bit_generator.state = state

    def random_integers(
        self, low: Operand, high: Operand | None = None, size: Size = None
    ) -> Tensor:
        """Draw int32 from `low` to `high`, both included; from 1 to `low` if `high` is None."""
        low, high = (1, low) if high is None else (low, high)
        return drawn_integers(self, "random_integers", low, high, size, None, True, None)

    def uniform(self, low: Operand = 0.0, high: Operand = 1.0, size: Size = None) -> Tensor:
        """Draw from the uniform distribution over [low, high), or over (high, low]."""
        first, last = number_like(low), number_like(high)
        if isinstance(first, float | int) and isinstance(last, float | int) and last < first:
            return -Core.uniform(self, -first, -last, size)
        return Core.uniform(self, low, high, size)  # `self` may be the module's `Generator`

    def tomaxint(self, size: Size = None) -> Tensor:
        """Draw int32 from 0 to the largest int32."""
        return self.randint(0, 2**31, size)

    ranf = sample = Core.random_sample


get_state = function_of(RandomState.get_state)
random_integers = function_of(RandomState.random_integers)
ranf = function_of(RandomState.ranf)
sample = function_of(RandomState.sample)
set_state = function_of(RandomState.set_state)
uniform = function_of(RandomState.uniform)


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
