"""Bit generators with the names of NumPy's."""

from __future__ import annotations

from py_tensor.ops.operands import whole_number
from py_tensor.random.bit_generator import BitGenerator, Seed
from py_tensor.random.parameters import count_of

__all__ = ["MT19937", "PCG64", "PCG64DXSM", "SFC64", "Philox"]


class MT19937(BitGenerator):
    """Threefry with the name of a NumPy generator; the numbers differ from NumPy's."""


class PCG64(BitGenerator):
    """Threefry with the name of a NumPy generator; the numbers differ from NumPy's."""


class PCG64DXSM(BitGenerator):
    """Threefry with the name of a NumPy generator; the numbers differ from NumPy's."""


class Philox(BitGenerator):
    """Threefry with the name of a NumPy generator; the numbers differ from NumPy's.

    Parameters
    ----------
    seed : optional
        As in `BitGenerator`.
    counter : int, optional
        The initial number of drawn words.
    key : int, optional
        From 0 to 2**128 - 1, instead of a seed. From 2**64 on it is hashed like a seed.

    Raises
    ------
    ValueError
        If both a seed and a key are passed, or one is out of range.
    """

    def __init__(
        self, seed: Seed = None, counter: int | None = None, key: int | None = None
    ) -> None:
        if seed is not None and key is not None:
            raise ValueError("Philox: takes either seed or key, not both")
        if key is not None and not 0 <= whole_number("Philox", "key", key) < 2**128:
            raise ValueError(f"Philox: key must be from 0 to 2**128 - 1, not {key}")
        super().__init__(seed if key is None else key)
        if counter is not None:
            self.advance(count_of("Philox", "counter", counter))


class SFC64(BitGenerator):
    """Threefry with the name of a NumPy generator; the numbers differ from NumPy's."""
