"""Buffers: storage of computed nodes, the pool of freed buffers, and memory accounting.

A flush is one submission. Its error is reported later. It affects every result of that flush and
everything computed from these; all other tensors remain usable.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush
from types import MethodType

from py_tensor.codegen.slabs import Kind
from py_tensor.schedule.body import Check

COPIED_BYTES = 1 << 16  # up to this size, elements also stay on the host after a read


@dataclass(eq=False, slots=True)
class Submission:
    """One flush: the submissions that it reads from, a label, its number, and its error.

    Attributes
    ----------
    work : int
        The estimated number of instructions.
    checks : tuple of Check
        Its index checks. An index out of range is not an error of its results.
    settled : bool
        Whether its failures are known.
    """

    sources: set[Submission] = field(default_factory=set["Submission"])
    label: str = ""
    work: int = 0
    checks: tuple[Check, ...] = ()
    number: int = 0
    error: BaseException | None = None
    settled: bool = False

    def note_sources(self) -> None:
        """Keep those of its sources that may still affect it."""
        self.sources = {s for s in self.sources if s.error or s.sources or not s.settled}

    def check(self) -> None:
        """Raise the first error of the submission and its transitive sources."""
        if self.settled and not self.sources and self.error is None:
            return
        seen: set[Submission] = set()
        stack: list[Submission] = [self]
        while stack:
            current = stack.pop()
            if current not in seen:
                seen.add(current)
                stack.extend(current.sources)
        errors = {s.number: s.error for s in seen if s.error is not None}
        if errors:
            first = errors[min(errors)]  # the others are consequences
            # A new exception: the stored one would accumulate tracebacks and keep their frames.
            raise type(first)(*first.args)
        if all(s.settled for s in seen):
            self.sources = set()


NONE = Submission(settled=True)


@dataclass(eq=False, slots=True)
class Buffer:
    """What the pool must know of a buffer that returns to it.

    Attributes
    ----------
    number : int
        Its id.
    exists : bool
        False until the flush that creates it has been sent.
    submission : Submission
        The flush that computes its elements.
    """

    number: int
    exists: bool
    submission: Submission = NONE

    @property
    def is_sound(self) -> bool:
        """False for a buffer of an incomplete or failed flush, which may not exist."""
        return self.exists and self.submission.error is None


class Storage:
    """A buffer with the elements of one node, or of several nodes (a slab).

    It returns to the pool with its last reference.

    Attributes
    ----------
    pool : Pool
        The pool of the buffer's device; each device has its own.
    number : int
        The buffer's id.
    buffer : Buffer
    copy : memoryview, optional
        The elements on the host.
    source : str
        The function of NumPy that computed the elements on the host; "" for all others.
    """

    # The finalizer is a function implemented in C, as for tensors (`Node.__call__`).
    __slots__ = ("__del__", "__weakref__", "buffer", "copy", "number", "pool", "source")

    def __init__(self, pool: Pool, number: int, exists: bool) -> None:
        self.pool = pool
        self.number = number
        self.buffer = Buffer(number, exists)
        self.copy: memoryview | None = None
        self.source = ""
        self.__del__ = MethodType(pool.released.append, self.buffer)


class Slice:
    """A part of a slab, with the elements of one node; it keeps the slab alive.

    Attributes
    ----------
    slab : Storage
    pool, buffer
        Those of the slab.
    number : int
        The slice's own id.
    copy : memoryview, optional
        The elements on the host.
    """

    __slots__ = ("__weakref__", "buffer", "copy", "number", "pool", "slab")

    def __init__(self, slab: Storage, position: int) -> None:
        self.slab = slab
        self.pool = slab.pool
        self.buffer = slab.buffer
        self.number = slab.number + 1 + position
        self.copy: memoryview | None = None


Stored = Storage | Slice  # the elements of a node


class Pool:
    """Freed buffers, kept by kind for reuse.

    A request gets the free buffer with the smallest id, whatever was freed last. A loop therefore
    has the same buffers in the same places in each pass, and finds its bind groups.

    The pool keeps at most `limit` bytes, or the peak of bytes in use if that is more. Ids are never
    reused; the ids of a slab's slices follow its own. A slab counts as one buffer, which is
    released with the last of its slices. The caller sends CREATE and DESTROY to the device.

    An interrupt may come between any two steps. Methods that change the pool set a flag while they
    run. Every use of the pool begins with `collect`, which first repairs a change that was not
    completed. Buffers from `take` and `new` are dropped by that repair unless `handed_over` was
    called to say that they have owners.
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.pooled_bytes = 0
        self.live_bytes = 0
        self.peak_bytes = 0
        self._free: dict[Kind, list[int]] = {}
        self._kinds: dict[int, Kind] = {}
        self._asked: dict[Kind, int] = {}  # kind -> number of the last request for it
        self._asks = 0
        self._next = 1
        # Finalizers only append here: they may run anywhere, even inside the methods below.
        self.released: deque[Buffer] = deque()
        self._to_destroy: dict[int, None] = {}
        self._taken: list[int] = []  # without an owner yet
        self._is_changing = False

    @property
    def live_buffers(self) -> int:
        return len(self._kinds) - self.pooled_buffers

    @property
    def pooled_buffers(self) -> int:
        return sum(map(len, self._free.values()))

    def has(self, kind: Kind, count: int = 1) -> bool:
        return len(self._free.get(kind, ())) >= count

    def allocate(self, kinds: Sequence[Kind]) -> list[Storage]:
        """Return a buffer of each kind: pooled ones, or new ones that the caller must create."""
        self.collect()
        storages = [Storage(self, number, exists) for number, exists in self.take(kinds)]
        self._taken.clear()  # they have owners now
        return storages

    def take(self, kinds: Sequence[Kind]) -> list[tuple[int, bool]]:
        """Return a buffer of each kind: its id, and whether it exists already."""
        self._is_changing = True
        taken: list[tuple[int, bool]] = []
        pooled = new = 0
        for kind in kinds:
            free = self._free.get(kind)
            if free:
                pooled += kind.nbytes
                self._taken.append(free[0])
                taken.append((heappop(free), True))
                if not free:
                    del self._free[kind]
            else:
                new += kind.nbytes
                taken.append((self._number(kind), False))
        self._asks += 1
        self._asked |= dict.fromkeys(kinds, self._asks)
        self.pooled_bytes -= pooled
        self.live_bytes += pooled + new
        self.peak_bytes = max(self.peak_bytes, self.live_bytes)
        self._is_changing = False
        return taken

    def new(self, kind: Kind) -> int:
        """Return the id of a new buffer of this kind, which the caller must create."""
        self._is_changing = True
        number = self._number(kind)
        self.live_bytes += kind.nbytes
        self.peak_bytes = max(self.peak_bytes, self.live_bytes)
        self._is_changing = False
        return number

    def handed_over(self) -> None:
        """Record that the taken buffers have owners, which will release them."""
        self._taken.clear()

    def _number(self, kind: Kind) -> int:
        """Return a new id, and reserve the following ids for its slices."""
        number = self._next
        self._taken.append(number)
        self._next = number + 1 + kind.slices
        self._kinds[number] = kind
        return number

    def kind_of(self, number: int) -> Kind:
        """Return the kind of a buffer in use."""
        return self._kinds[number]

    def collect(self) -> None:
        """Take back what finalizers released."""
        if self._is_changing or self._taken:
            self._repair()
        self._is_changing = True
        released = self.released
        while released:
            number = released[0].number
            kind = self._kinds.get(number)
            if kind is not None:  # otherwise it was destroyed in a repair
                self.live_bytes -= kind.nbytes
                if released[0].is_sound:
                    self.pooled_bytes += kind.nbytes
                    heappush(self._free.setdefault(kind, []), number)
                else:
                    self._to_destroy[number] = None
                    del self._kinds[number]
            released.popleft()
        self._is_changing = False

    def to_destroy(self) -> list[int]:
        """Return the ids of buffers to destroy: those above the limit, and abandoned ones.

        The least recently requested kinds are evicted first.
        """
        while self.pooled_bytes > max(self.limit, self.peak_bytes):
            self._evict(min(self._free, key=lambda k: (self._asked.get(k, 0), -k.nbytes)))
        return list(self._to_destroy)

    def destroyed(self, numbers: Iterable[int]) -> None:
        """Record that the device was told to destroy these buffers."""
        for number in numbers:
            self._to_destroy.pop(number, None)

    def drain(self) -> None:
        """Mark all pooled buffers for destruction."""
        while self._free:
            self._evict(next(iter(self._free)))

    def _evict(self, kind: Kind) -> None:
        self._is_changing = True
        free = self._free[kind]
        self._to_destroy[free[0]] = None
        number = heappop(free)
        if not free:
            del self._free[kind]
        self.pooled_bytes -= kind.nbytes
        del self._kinds[number]
        self._is_changing = False

    def _repair(self) -> None:
        """Rebuild the state after an interrupt, which may have come between any two steps.

        Taken buffers without an owner are destroyed, because it is unknown whether they exist. This
        method may itself be interrupted: repeating any part of it changes nothing.
        """
        kinds = self._kinds
        released = list(self.released)
        abandoned = [buffer.number for buffer in released if not buffer.is_sound]
        for number in (*self._taken, *abandoned):
            if number in kinds:
                self._to_destroy[number] = None
        for number in self._to_destroy:
            kinds.pop(number, None)
        pooled = {number for free in self._free.values() for number in free}
        pooled.update(buffer.number for buffer in released)
        pooled = sorted(number for number in pooled if number in kinds)
        kept: dict[Kind, list[int]] = {}
        for number in pooled:
            kept.setdefault(kinds[number], []).append(number)
        self._free = kept
        self.pooled_bytes = sum(kinds[number].nbytes for number in pooled)
        self.live_bytes = sum(kind.nbytes for kind in kinds.values()) - self.pooled_bytes
        for _ in released:
            self.released.popleft()
        self._taken.clear()
        self._is_changing = False
