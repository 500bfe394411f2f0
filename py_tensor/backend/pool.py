"""Buffers by id: which freed ones are kept, and what they add up to."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from heapq import heappop, heappush

from py_tensor.codegen.slabs import Slab

Kind = int | Slab
"""Of a buffer: a size class, or a slab. What is freed serves the next of its kind."""


def bytes_of(kind: Kind) -> int:
    """What a buffer of this kind takes."""
    return kind.nbytes if isinstance(kind, Slab) else kind


class Pool:
    """Freed buffers, kept by kind for the next that asks.

    That one gets the buffer made first, whatever was freed last, so that a loop has the same
    buffers in the same places and finds its bind groups.

    The pool keeps at most as many bytes as were ever in use at once, or `limit` if that is more.
    Ids are never reused; those of a slab's slices are the ones behind its own. A slab is one buffer
    here: whoever holds slices of it releases it with the last of them. The caller sends CREATE and
    DESTROY to the device.
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.pooled_bytes = 0
        self.live_bytes = 0
        self.peak_bytes = 0
        self._free: dict[Kind, list[int]] = {}
        self._kinds: dict[int, Kind] = {}
        self._asked: dict[Kind, int] = {}  # when a kind was last asked for
        self._asks = 0
        self._next = 1
        # Finalizers only append here: they may run anywhere, even inside the methods below.
        self.released: list[int] = []
        self.abandoned: list[int] = []  # of a flush that did not come to its end: may not exist
        self._doomed: dict[int, None] = {}

    @property
    def live_buffers(self) -> int:
        return len(self._kinds) - self.pooled_buffers

    @property
    def pooled_buffers(self) -> int:
        return sum(map(len, self._free.values()))

    def has(self, kind: Kind, count: int = 1) -> bool:
        return len(self._free.get(kind, ())) >= count

    def take(self, kinds: Sequence[Kind]) -> list[tuple[int, bool]]:
        """A buffer of each of these kinds, and whether it exists: else it has a new id."""
        taken: list[tuple[int, bool]] = []
        pooled = new = 0
        for kind in kinds:
            free = self._free.get(kind)
            if free:
                pooled += bytes_of(kind)
                taken.append((heappop(free), True))
                if not free:
                    del self._free[kind]
            else:
                new += bytes_of(kind)
                taken.append((self._number(kind), False))
        self._asks += 1
        self._asked |= dict.fromkeys(kinds, self._asks)
        self.pooled_bytes -= pooled
        self.live_bytes += pooled + new
        self.peak_bytes = max(self.peak_bytes, self.live_bytes)
        return taken

    def new(self, kind: Kind) -> int:
        """The id of a buffer of this kind that is to be created."""
        number = self._number(kind)
        self.live_bytes += bytes_of(kind)
        self.peak_bytes = max(self.peak_bytes, self.live_bytes)
        return number

    def _number(self, kind: Kind) -> int:
        """A new id, and behind it those of its slices."""
        number = self._next
        self._next = number + 1 + (kind.slices if isinstance(kind, Slab) else 0)
        self._kinds[number] = kind
        return number

    def kind_of(self, number: int) -> Kind:
        """The kind of a buffer in use."""
        return self._kinds[number]

    def collect(self) -> None:
        """Take back what finalizers released."""
        released = self.released
        while released:
            number = released.pop()
            kind = self._kinds.get(number)
            if kind is not None:  # else: it died with its device
                self.live_bytes -= bytes_of(kind)
                self.pooled_bytes += bytes_of(kind)
                heappush(self._free.setdefault(kind, []), number)
        while self.abandoned:
            number = self.abandoned.pop()
            kind = self._kinds.pop(number, None)
            if kind is not None:
                self.live_bytes -= bytes_of(kind)
                self._doomed[number] = None

    def doomed(self) -> list[int]:
        """Ids to be destroyed: what is past the limit, and what was abandoned.

        Of a kind that nobody asked for in the longest time, as those of others may be needed next.
        """
        while self.pooled_bytes > max(self.limit, self.peak_bytes):
            self._evict(min(self._free, key=lambda k: (self._asked.get(k, 0), -bytes_of(k))))
        return list(self._doomed)

    def doom(self, number: int) -> None:
        """Have an id destroyed of which nobody knows whether it exists."""
        self._doomed[number] = None

    def destroyed(self, numbers: Iterable[int]) -> None:
        """The device was told to destroy these."""
        for number in numbers:
            self._doomed.pop(number, None)

    def drain(self) -> None:
        """Doom everything pooled."""
        while self._free:
            self._evict(next(iter(self._free)))

    def _evict(self, kind: Kind) -> None:
        free = self._free[kind]
        self._doomed[free[0]] = None
        number = heappop(free)
        if not free:
            del self._free[kind]
        self.pooled_bytes -= bytes_of(kind)
        del self._kinds[number]

    def reconcile(self, owned: set[int]) -> None:
        """Put the books in order after an interrupt, which may have come between any two steps.

        `owned` are the ids that somebody still holds. Whatever is neither owned nor pooled is
        doomed: nobody knows whether it exists.
        """
        for kind, free in list(self._free.items()):
            self._free[kind] = sorted(number for number in free if number not in self._doomed)
            if not self._free[kind]:
                del self._free[kind]
        pooled = {number for free in self._free.values() for number in free}
        for number in [n for n in self._kinds if n not in owned and n not in pooled]:
            self._doomed[number] = None
            del self._kinds[number]
        self.released.clear()
        self.abandoned.clear()
        self.pooled_bytes = sum(bytes_of(kind) * len(free) for kind, free in self._free.items())
        self.live_bytes = sum(bytes_of(self._kinds.get(number, 0)) for number in owned)
