"""Seed sequences, which NumPy's `SeedSequence` hashes on the host."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from py_tensor.adapters.hosted import naming
from py_tensor.base import dtypes
from py_tensor.ops.operands import int_like, whole_number
from py_tensor.runtime.host import host
from py_tensor.tensors.tensor import Tensor, tensor_of

__all__ = ["SeedSequence"]

_POOL = 4


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
        self.entropy: Any = int.from_bytes(os.urandom(16)) if entropy is None else entropy
        self.spawn_key = tuple(spawn_key)
        self.pool_size = pool_size
        self.n_children_spawned = n_children_spawned
        with naming("SeedSequence"):
            self.numpys = host.load_numpy().random.SeedSequence(
                self.entropy.tolist() if hasattr(self.entropy, "tolist") else self.entropy,
                spawn_key=self.spawn_key,
                pool_size=pool_size,
            )
        self.pool = tuple(self.numpys.pool.tolist())

    def __repr__(self) -> str:
        child = f", spawn_key={self.spawn_key}" if self.spawn_key else ""
        return f"SeedSequence(entropy={self.entropy}{child})"

    @property
    def state(self) -> dict[str, Any]:
        names = ("entropy", "spawn_key", "pool_size", "n_children_spawned")
        return {name: getattr(self, name) for name in names}

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
        count = count_of("generate_state", "n_words", n_words)
        words = self.numpys.generate_state(count, kind.name)
        return tensor_of(words, "generate_state", dtype=kind)

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
    low, high = getattr(sequence, "numpys", sequence).generate_state(2).tolist()
    return low | high << 32
