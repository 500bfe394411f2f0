"""Bit generators: a key and a counter of drawn words."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import cached_property
from operator import index as as_index
from typing import Any, cast

from py_tensor.adapters.hosted import naming
from py_tensor.backends.choice import default_device
from py_tensor.base import dtypes
from py_tensor.base.shapes import Shape, parse_shape, size_of
from py_tensor.ir.bind import bind
from py_tensor.ir.node import Device, Node
from py_tensor.ir.primitives import const, index
from py_tensor.ops.creation import zeros
from py_tensor.ops.movement import converted
from py_tensor.ops.operands import int_like, whole_number
from py_tensor.random.threefry import MASK, offset, random_bits
from py_tensor.runtime.host import host
from py_tensor.runtime.registry import WRITING
from py_tensor.runtime.trace import note_draw
from py_tensor.tensors.tensor import Tensor, tensor_of

__all__ = [
    "MT19937", "PCG64", "PCG64DXSM", "SFC64", "BitGenerator", "Philox", "SeedSequence", "Threefry",
]  # fmt: skip

BLOCK = 2**32  # the number of counters that share a key
_GOLDEN = 0x9E3779B97F4A7C15  # 2**64 divided by the golden ratio: the distance between keys

Seed = Any  # an int, ints, a SeedSequence, or None
_POOL = 4  # the words in the pool of a seed sequence, at least


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
        self.entropy: Any = int.from_bytes(os.urandom(16)) if entropy is None else entropy
        self.spawn_key = tuple(spawn_key)
        self.pool_size = whole_number("SeedSequence", "pool_size", pool_size, _POOL)
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
        count = whole_number("generate_state", "n_words", n_words, 0)
        words = self.numpys.generate_state(count, kind.name)
        return tensor_of(words, "generate_state", dtype=kind)

    def spawn(self, n_children: int) -> list[SeedSequence]:
        """Create independent child sequences."""
        count = whole_number("spawn", "n_children", n_children, 0)
        first, self.n_children_spawned = self.n_children_spawned, self.n_children_spawned + count
        return [
            SeedSequence(self.entropy, spawn_key=(*self.spawn_key, n), pool_size=self.pool_size)
            for n in range(first, self.n_children_spawned)
        ]


def key_of(sequence: SeedSequence) -> int:
    """Return the key of a generator: the entropy itself if it is a valid key, else a hash."""
    number = int_like(getattr(sequence, "entropy", None))
    if not getattr(sequence, "spawn_key", ()) and number is not None and number < 2**64:
        return number
    low, high = getattr(sequence, "numpys", sequence).generate_state(2).tolist()
    return low | high << 32


class BitGenerator:
    """Threefry2x32 with a 64-bit key and a counter; all subclasses use the same algorithm.

    Parameters
    ----------
    seed : int, sequence of ints, SeedSequence, optional
        An int from 0 to 2**64 - 1 is the key itself. Other seeds are hashed by `SeedSequence`; None
        takes entropy from the operating system. NumPy's `SeedSequence` is accepted too.

    Attributes
    ----------
    key : int
        The 64-bit key. From word 2**32 on, its upper half is XORed with the block number.
    drawn : int
        The counter: the number of words drawn.
    """

    def __init__(self, seed: Seed = None) -> None:
        number = int.from_bytes(os.urandom(8)) if seed is None else int_like(seed)
        if number is not None and number < 0:
            raise ValueError(f"{self._name}: seed must be at least 0, not {number}")
        self._entropy: Seed = seed if number is None else number
        self.key = key_of(self.seed_seq) if number is None or number >= 2**64 else number
        self.drawn = 0

    @property
    def _name(self) -> str:
        return type(self).__name__

    def __repr__(self) -> str:
        return f"{self._name}(key={self.key}, counter={self.drawn})"

    @cached_property
    def seed_seq(self) -> SeedSequence:
        """The seed sequence for spawning."""
        is_made = hasattr(self._entropy, "generate_state")
        return self._entropy if is_made else SeedSequence(self._entropy)

    def take(self, count: int) -> tuple[int, int, int]:
        """Draw words; return the counter of the first word, and both halves of the key."""
        note_draw(self, count)
        with WRITING:  # threads may share a generator
            high, low = divmod(self.drawn, BLOCK)
            if low + count > BLOCK:  # a draw does not cross into the next block of counters
                high, low = high + 1, 0
            self.drawn = high * BLOCK + low + count
        return low, self.key & MASK, (self.key >> 32) ^ (high & MASK)

    def numbered(self, shape: Shape, device: Device) -> tuple[Node, ...]:
        """Draw a word per element: return a unique counter for each, and the key."""
        words = self.take(size_of(shape))
        start, *key = (const(word, dtypes.uint32, device) for word in words)
        return bind(offset, (index(shape, device, dtypes.uint32), start)), *key

    def random_raw(self, size: Any = None, output: bool = True) -> Any:
        """Return 32-bit words in a uint64 tensor, like NumPy's MT19937; without a size, an int.

        With ``output=False`` the words are drawn but not returned.
        """
        shape = parse_shape("random_raw", () if size is None else size)
        if not output:
            self.take(size_of(shape))
            return None
        if not size_of(shape):
            return zeros(shape, dtypes.uint64)
        bits = Tensor(bind(random_bits, self.numbered(shape, default_device())))
        words = converted(bits, dtypes.uint64)
        return words.item() if size is None else words

    @property
    def state(self) -> dict[str, Any]:
        """The state of the generator as a dict; it can be assigned."""
        return {"bit_generator": self._name, "state": {"key": self.key, "counter": self.drawn}}

    @state.setter
    def state(self, state: dict[str, Any]) -> None:
        if not isinstance(cast("Any", state), dict):
            raise TypeError(f"{self._name}: a state must be a dict, not {type(state).__name__}")
        if state.get("bit_generator") != self._name:
            raise ValueError(f"{self._name}: the state belongs to {state.get('bit_generator')!r}")
        self.key, self.drawn = state["state"]["key"], state["state"]["counter"]

    def spawn(self, n_children: int) -> list[BitGenerator]:
        """Create bit generators of this class with independent streams."""
        with WRITING:  # threads may share a generator
            seeds = self.seed_seq.spawn(n_children)
        return [type(self)(seed) for seed in seeds]

    def advance(self, delta: int) -> BitGenerator:
        """Advance the counter by a number of words, and return self."""
        with WRITING:
            self.drawn = (self.drawn + as_index(delta)) % (BLOCK * BLOCK)
        return self

    def jumped(self, jumps: int = 1) -> BitGenerator:
        """Return a bit generator with an independent stream: the same counter, a different key."""
        jumped = type(self)((self.key + as_index(jumps) * _GOLDEN) % 2**64)
        return jumped.advance(self.drawn)


class Threefry(BitGenerator):
    """The default bit generator."""


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
            self.advance(whole_number("Philox", "counter", counter, 0))


class SFC64(BitGenerator):
    """Threefry with the name of a NumPy generator; the numbers differ from NumPy's."""
