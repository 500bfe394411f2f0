"""What NumPy keeps of its old random numbers: `RandomState`, and functions that read its state."""

from __future__ import annotations

from typing import Any

from py_tensor.ops.operands import Operand, number_like
from py_tensor.random.bit_generator import MASK, BitGenerator, Seed
from py_tensor.random.generator import Generator, Methods
from py_tensor.random.parameters import Size
from py_tensor.tensor import Tensor


class RandomState(Methods):
    """A generator with the names that NumPy had before `Generator`; the numbers are Threefry's.

    Its methods take the parameters of those of `Generator`, also where NumPy's take fewer.
    """

    def __init__(self, seed: BitGenerator | Seed = None) -> None:
        super().__init__(seed)

    def seed(self, seed: Seed = None) -> None:
        """Begin anew from a seed."""
        self.bit_generator = type(self.bit_generator)(seed)

    def get_state(self, legacy: bool = True) -> Any:
        """What `set_state` takes: a tuple of the form of NumPy's, or a dict."""
        state = self.bit_generator.state
        if not legacy:
            return state
        key = self.bit_generator.key
        return state["bit_generator"], [key & MASK, key >> 32], self.bit_generator.drawn, 0, 0.0

    def set_state(self, state: Any) -> None:
        """Go on from a state that `get_state` gave.

        Raises
        ------
        ValueError
            For a state of another generator, as NumPy's MT19937: it says nothing of these numbers.
        """
        if not isinstance(state, dict):
            name, words, drawn, *_ = state
            if len(words) != 2:
                raise ValueError(
                    f"set_state: takes the result of get_state, not a state of {len(words)} words,"
                    f" as of NumPy's {name}"
                )
            low, high = words
            inner = {"key": low | high << 32, "counter": drawn}
            state = {"bit_generator": name, "state": inner}
        self.bit_generator.state = state

    def random_integers(
        self, low: Operand, high: Operand | None = None, size: Size = None
    ) -> Tensor:
        """int32 from `low` up to and with `high`; from 1 up to `low` if `high` is None."""
        low, high = (1, low) if high is None else (low, high)
        return self._integers("random_integers", low, high, size, None, endpoint=True)

    def uniform(self, low: Operand = 0.0, high: Operand = 1.0, size: Size = None) -> Tensor:
        """Numbers from the uniform distribution over [low, high), or over (high, low]."""
        first, last = number_like(low), number_like(high)
        if isinstance(first, float | int) and isinstance(last, float | int) and last < first:
            return -self._uniform("uniform", -first, -last, size)
        return Methods.uniform(self, low, high, size)  # also of a `Generator`: the module's

    def tomaxint(self, size: Size = None) -> Tensor:
        """int32 from 0 up to the largest."""
        return self.randint(0, 2**31, size)

    ranf = sample = Generator.random_sample
