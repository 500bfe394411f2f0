"""Seed sequences.

M. E. O'Neill, "Developing a seed_seq alternative", 2015: words are mixed into a pool of four words,
and any number of words is hashed from the pool. Results equal those of NumPy's `SeedSequence`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from itertools import permutations, product
from typing import Any, cast

from py_tensor.base import dtypes
from py_tensor.ops.movement import converted
from py_tensor.ops.operands import int_like, whole_number
from py_tensor.random.threefry import MASK
from py_tensor.tensors.tensor import Tensor, tensor_of

__all__ = ["SeedSequence"]

_POOL = 4


def _words(entropy: Any) -> list[int]:
    """Split integers into 32-bit words, lowest word first."""
    number = int_like(entropy)
    if number is not None:
        if number < 0:
            raise ValueError(f"SeedSequence: numbers must be at least 0, not {number}")
        return [number >> n & MASK for n in range(0, max(number.bit_length(), 1), 32)]
    if isinstance(entropy, str | bytes) or not hasattr(entropy, "__iter__"):
        raise TypeError(f"SeedSequence: takes ints, not {entropy!r}")
    numbers = entropy.tolist() if hasattr(entropy, "tolist") else entropy
    return [word for number in numbers for word in _words(number)]


def _hasher(mask: int, factor: int) -> Callable[[int], int]:
    """Return a function that hashes successive words."""

    def hashed(word: int) -> int:
        nonlocal mask
        word, mask = word ^ mask, mask * factor & MASK
        word = word * mask & MASK
        return word ^ word >> 16

    return hashed


def _mixed(x: int, y: int) -> int:
    word = (x * 0xCA01F9DD - y * 0x4973F715) & MASK
    return word ^ word >> 16


class SeedSequence:
    """Entropy that seeds generators and their children.

    Parameters
    ----------
    entropy : int or sequence of ints, optional
        The source of the seed; by default 128 bits from the operating system.
    spawn_key : sequence of ints
        The position of this sequence in the tree of spawned sequences.
    pool_size : int
        The number of words in the pool, at least 4.
    n_children_spawned : int
        The number of children spawned so far.

    Attributes
    ----------
    pool : tuple of ints
        The mixed words.
    state : dict
        The parameters.

    Raises
    ------
    TypeError
        If the entropy is not an int or a sequence of ints.
    ValueError
        If an integer is negative or the pool is too small.
    """

    def __init__(
        self,
        entropy: Any = None,
        *,
        spawn_key: Sequence[int] = (),
        pool_size: int = _POOL,
        n_children_spawned: int = 0,
    ) -> None:
        if pool_size < _POOL:
            raise ValueError(f"SeedSequence: pool_size must be at least {_POOL}, not {pool_size}")
        self.entropy = int.from_bytes(os.urandom(16)) if entropy is None else entropy
        self.spawn_key = tuple(spawn_key)
        self.pool_size = pool_size
        self.n_children_spawned = n_children_spawned
        self.pool = tuple(self._mix())

    def __repr__(self) -> str:
        child = f", spawn_key={self.spawn_key}" if self.spawn_key else ""
        return f"SeedSequence(entropy={self.entropy}{child})"

    @property
    def state(self) -> dict[str, Any]:
        names = ("entropy", "spawn_key", "pool_size", "n_children_spawned")
        return {name: getattr(self, name) for name in names}

    def _mix(self) -> list[int]:
        words, size = _words(self.entropy), self.pool_size
        if self.spawn_key:  # after a full pool, so that it cannot equal longer entropy
            words += [0] * (size - len(words)) + _words(self.spawn_key)
        hashed = _hasher(0x43B0D7E5, 0x931E8875)
        pool = [hashed(word) for word in [*words, *([0] * size)][:size]]
        for source, target in permutations(range(size), 2):
            pool[target] = _mixed(pool[target], hashed(pool[source]))
        for word, target in product(words[size:], range(size)):
            pool[target] = _mixed(pool[target], hashed(word))
        return pool

    def hashed_words(self, count: int) -> list[int]:
        """Return `count` 32-bit words."""
        hashed = _hasher(0x8B51F9DD, 0x58F38DED)
        return [hashed(self.pool[n % self.pool_size]) for n in range(count)]

    def generate_state(self, n_words: int, dtype: object = "uint32") -> Tensor:
        """Return words of 32 or 64 bits to seed a generator.

        The words are computed on the host.

        Raises
        ------
        ValueError
            If the dtype is neither uint32 nor uint64, or the number of words is negative.
        """
        kind = dtypes.parse(dtype)
        if not kind.is_unsigned or kind.is_packed:
            raise ValueError(f"generate_state: takes uint32 or uint64, not {kind}")
        words = self.hashed_words(count_of("generate_state", "n_words", n_words) * kind.words)
        if kind.is_wide:
            words = [low | high << 32 for low, high in zip(words[::2], words[1::2], strict=True)]
        return converted(tensor_of(words, "generate_state", dtype=kind), kind)

    def spawn(self, n_children: int) -> list[SeedSequence]:
        """Create independent child sequences."""
        count = count_of("spawn", "n_children", n_children)
        first, self.n_children_spawned = self.n_children_spawned, self.n_children_spawned + count
        return [
            SeedSequence(self.entropy, spawn_key=(*self.spawn_key, n), pool_size=self.pool_size)
            for n in range(first, self.n_children_spawned)
        ]


def count_of(op: str, name: str, value: Any) -> int:
    """Return a value as a nonnegative int."""
    count = whole_number(op, name, value)
    if count < 0:
        raise ValueError(f"{op}: {name} must be at least 0, not {count}")
    return count


def key_of(sequence: SeedSequence) -> int:
    """Return the key of a generator: the entropy itself if it is a valid key, else a hash."""
    number = int_like(getattr(sequence, "entropy", None))
    if not getattr(sequence, "spawn_key", ()) and number is not None and number < 2**64:
        return number
    is_ours = isinstance(cast("object", sequence), SeedSequence)
    low, high = sequence.hashed_words(2) if is_ours else sequence.generate_state(2).tolist()
    return low | high << 32
