"""Storage of a computed node: a buffer of the pool, or a slice of one."""

from __future__ import annotations

from collections import deque
from itertools import product
from types import MethodType
from weakref import ref

from py_tensor.base.dtypes import typed
from py_tensor.base.layout import Layout
from py_tensor.runtime.failures import NONE, Submission
from py_tensor.runtime.pool import Pool

COPIED_BYTES = 1 << 16  # up to this size, elements also stay on the host after a read
MAX_COPIED = 1 << 24  # bytes of all copies on the host


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

    __slots__ = ("exists", "number", "submission")

    def __init__(self, number: int, exists: bool) -> None:
        self.number = number
        self.exists = exists
        self.submission: Submission = NONE

    @property
    def is_sound(self) -> bool:
        """Whether the buffer is known to exist."""
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


class Copies:
    """Host copies of elements that were read; the newest are kept, up to `MAX_COPIED` bytes."""

    def __init__(self) -> None:
        self._kept: deque[tuple[ref[Stored], int]] = deque()
        self._nbytes = 0

    def keep(self, storage: Stored, data: memoryview) -> None:
        """Attach the elements that were read to their storage."""
        if data.nbytes > COPIED_BYTES:
            return
        storage.copy = data.toreadonly()
        self._kept.append((ref(storage), data.nbytes))
        self._nbytes += data.nbytes
        while self._nbytes > MAX_COPIED:
            oldest, nbytes = self._kept.popleft()
            self._nbytes -= nbytes
            if (held := oldest()) is not None:
                held.copy = None


def picked(data: memoryview, layout: Layout, itemsize: int) -> memoryview:
    """Return the elements that a layout selects from all elements, in row-major order."""
    if layout.size == 1:
        return data[layout.offset * itemsize : (layout.offset + 1) * itemsize]
    words = typed(data, {1: "B", 2: "H", 4: "I", 8: "Q"}[itemsize])
    *outer, (n, step) = zip(layout.shape, layout.strides, strict=True)
    lines = bytearray()
    for index in product(*(range(m) for m, _ in outer)):
        start = layout.offset + sum(i * s for i, (_, s) in zip(index, outer, strict=True))
        last = start + step * (n - 1)
        ends = last + 1 if step >= 0 else last - 1 if last else None
        lines += words[start : ends : step or 1].tobytes() * (1 if step else n)
    return memoryview(lines)
