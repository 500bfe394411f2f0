"""Storage: what a computed node holds, a buffer of the pool with the elements of one tensor."""

from __future__ import annotations

from py_tensor.backend.failures import NONE, Submission
from py_tensor.backend.pool import Pool


class Storage:
    """A buffer with the elements of one node; goes back to the pool with its last reference."""

    __slots__ = ("exists", "generation", "nbytes", "number", "pool", "submission")

    def __init__(self, number: int, nbytes: int, pool: Pool, generation: int, exists: bool) -> None:
        self.pool = pool
        self.number = number
        self.nbytes = nbytes
        self.generation = generation
        self.exists = exists  # False until the flush that creates the buffer came to its end
        self.submission: Submission = NONE

    def __del__(self) -> None:
        if hasattr(self, "submission"):  # else: interrupted in __init__
            sound = self.exists and self.submission.error is None
            (self.pool.released if sound else self.pool.abandoned).append(self.number)
