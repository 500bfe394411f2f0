"""Storage: what a computed node holds, a buffer of the pool, or a slice of one."""

from __future__ import annotations

from py_tensor.backend.failures import NONE, Submission
from py_tensor.backend.pool import Pool


class Storage:
    """A buffer with the elements of one node, or of several: a slab.

    It goes back to the pool with its last reference.

    Attributes
    ----------
    pool : Pool
        That of the device on which the buffer is: each device has a pool of its own.
    number : int
        The buffer's id.
    exists : bool
        False until the flush that creates the buffer came to its end.
    submission : Submission
        The flush that computes the elements.
    """

    __slots__ = ("exists", "number", "pool", "submission")

    def __init__(self, pool: Pool, number: int, exists: bool) -> None:
        self.pool = pool
        self.number = number
        self.exists = exists
        self.submission: Submission = NONE

    def __del__(self) -> None:
        try:
            sound = self.submission.error is None and self.exists
        except AttributeError:  # interrupted in __init__
            return
        (self.pool.released if sound else self.pool.abandoned).append(self.number)


class Slice:
    """A part of a slab, with the elements of one node. The slab lives as long as any of its slices.

    Attributes
    ----------
    slab : Storage
    number : int
        The slice's own id.
    """

    __slots__ = ("number", "slab")

    def __init__(self, slab: Storage, position: int) -> None:
        self.slab = slab
        self.number = slab.number + 1 + position

    @property
    def pool(self) -> Pool:
        return self.slab.pool

    @property
    def submission(self) -> Submission:
        """The flush that computes the slab's elements."""
        return self.slab.submission


Stored = Storage | Slice  # the elements of a node
