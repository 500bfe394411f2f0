"""Storage: what a computed node holds, a buffer of the pool with the elements of one tensor."""

from __future__ import annotations

from py_tensor.backend.failures import NONE, Submission
from py_tensor.backend.pool import Pool


class Storage:
    """A buffer with the elements of one node; goes back to the pool with its last reference.

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
