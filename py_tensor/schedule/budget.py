"""Whether one kernel fits a device: the buffers that it binds, and the length of its code.

Every pass that makes a kernel larger describes it as a `Draft` and asks the `Budget` of the device.
"""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass
from typing import NamedTuple

from py_tensor.ir.node import Reason

MAX_BODY = 96  # ops inlined into one kernel: limits compile time and registers
_NOTHING: frozenset[int] = frozenset()


class Draft(NamedTuple):
    """What a kernel, finished or not, needs of a device.

    A kernel that folds takes one dispatch or two. The first of two stores the words of its
    accumulators, each of which counts as a buffer, and the second reads them.

    Attributes
    ----------
    inside, around : set of int
        The slots that its stages read, and those that its other bodies read. The buffer of indices
        out of range (`FAULTS`) is one of them where indices are checked.
    outputs : int
        Buffers for its results.
    words : int
        Words of its accumulators, if it may take two dispatches.
    work : int
        Other buffers that a dispatch binds.
    length : int
        Ops inlined into it.
    """

    inside: Set[int] = _NOTHING
    around: Set[int] = _NOTHING
    outputs: int = 1
    words: int = 0
    work: int = 0
    length: int = 0

    @property
    def buffers(self) -> int:
        """The most storage buffers that one of its dispatches binds."""
        inside, around, outputs, words, work, _ = self
        together = len(inside | around) + outputs + work
        return max(together, max(len(inside), len(around) + outputs) + words) if words else together


@dataclass(frozen=True, slots=True)
class Budget:
    """The limits of a kernel.

    Attributes
    ----------
    max_buffers, max_bytes : int
        How many buffers it may bind, and the size limit of each.
    """

    max_buffers: int
    max_bytes: int = 2**62

    def excess(self, draft: Draft) -> Reason | None:
        """Return the limit that a kernel exceeds; None if it fits."""
        if draft.buffers > self.max_buffers:
            return Reason.BUFFERS
        return Reason.LONG if draft.length > MAX_BODY else None

    def fits(self, draft: Draft) -> bool:
        """Return whether a kernel exceeds no limit."""
        return self.excess(draft) is None
