"""Buffers by id: how sizes are rounded, which freed buffers are kept, and what they add up to."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from heapq import heappop, heappush

MIB = 1 << 20
_LARGE_STEP = MIB // 4
_LEAST = 256


def size_class(nbytes: int) -> int:
    """The size allocated for `nbytes`: powers of two up to 1 MiB, then steps of 256 KiB."""
    if nbytes <= _LEAST:
        return _LEAST
    if nbytes <= MIB:
        return 1 << (nbytes - 1).bit_length()
    return -(-nbytes // _LARGE_STEP) * _LARGE_STEP


class Pool:
    """Freed buffers, kept by size for the next that asks.

    That one gets the buffer made first, whatever was freed last, so that a loop has the same
    buffers in the same places and finds its bind groups.

    The pool keeps at most as many bytes as were ever in use at once, or `limit` if that is more.
    Ids are never reused. The caller sends CREATE and DESTROY to the device.
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.pooled_bytes = 0
        self.live_bytes = 0
        self.peak_bytes = 0
        self._free: dict[int, list[int]] = {}
        self._sizes: dict[int, int] = {}
        self._asked: dict[int, int] = {}  # when a size was last asked for
        self._asks = 0
        self._next = 1
        # Finalizers only append here: they may run anywhere, even inside the methods below.
        self.released: list[int] = []
        self.abandoned: list[int] = []  # of a flush that did not come to its end: may not exist
        self._doomed: dict[int, None] = {}

    @property
    def live_buffers(self) -> int:
        return len(self._sizes) - self.pooled_buffers

    @property
    def pooled_buffers(self) -> int:
        return sum(map(len, self._free.values()))

    def has(self, nbytes: int, count: int = 1) -> bool:
        return len(self._free.get(size_class(nbytes), ())) >= count

    def take(self, sizes: Sequence[int]) -> list[tuple[int, bool]]:
        """A buffer of each of these size classes, and whether it exists: else it has a new id."""
        taken: list[tuple[int, bool]] = []
        pooled = new = 0
        for size in sizes:
            free = self._free.get(size)
            if free:
                pooled += size
                taken.append((heappop(free), True))
                if not free:
                    del self._free[size]
            else:
                new += size
                number = self._next
                self._next = number + 1
                self._sizes[number] = size
                taken.append((number, False))
        self._asks += 1
        self._asked |= dict.fromkeys(sizes, self._asks)
        self.pooled_bytes -= pooled
        self.live_bytes += pooled + new
        self.peak_bytes = max(self.peak_bytes, self.live_bytes)
        return taken

    def new(self, size: int) -> int:
        """The id of a buffer of this size class that is to be created."""
        number = self._next
        self._next = number + 1
        self._sizes[number] = size
        self.live_bytes += size
        self.peak_bytes = max(self.peak_bytes, self.live_bytes)
        return number

    def size_of(self, number: int) -> int:
        """The size class of a buffer in use."""
        return self._sizes[number]

    def collect(self) -> None:
        """Take back what finalizers released."""
        released = self.released
        while released:
            number = released.pop()
            size = self._sizes.get(number)
            if size is not None:  # else: it died with its device
                self.live_bytes -= size
                self.pooled_bytes += size
                heappush(self._free.setdefault(size, []), number)
        while self.abandoned:
            number = self.abandoned.pop()
            size = self._sizes.pop(number, None)
            if size is not None:
                self.live_bytes -= size
                self._doomed[number] = None

    def doomed(self) -> list[int]:
        """Ids to be destroyed: what is past the limit, and what was abandoned.

        Of a size that nobody asked for in the longest time, as those of others may be needed next.
        """
        while self.pooled_bytes > max(self.limit, self.peak_bytes):
            self._evict(min(self._free, key=lambda size: (self._asked.get(size, 0), -size)))
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

    def _evict(self, size: int) -> None:
        free = self._free[size]
        self._doomed[free[0]] = None
        number = heappop(free)
        if not free:
            del self._free[size]
        self.pooled_bytes -= size
        del self._sizes[number]

    def reconcile(self, owned: set[int]) -> None:
        """Put the books in order after an interrupt, which may have come between any two steps.

        `owned` are the ids that somebody still holds. Whatever is neither owned nor pooled is
        doomed: nobody knows whether it exists.
        """
        for size, free in list(self._free.items()):
            self._free[size] = sorted(number for number in free if number not in self._doomed)
            if not self._free[size]:
                del self._free[size]
        pooled = {number for free in self._free.values() for number in free}
        for number in [n for n in self._sizes if n not in owned and n not in pooled]:
            self._doomed[number] = None
            del self._sizes[number]
        self.released.clear()
        self.abandoned.clear()
        self.pooled_bytes = sum(size * len(free) for size, free in self._free.items())
        self.live_bytes = sum(self._sizes.get(number, 0) for number in owned)
