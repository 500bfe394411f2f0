"""Host time by phase: a clock that is always in one of a few phases."""

from __future__ import annotations

from time import perf_counter_ns
from typing import Literal

Phase = Literal["recording", "planning", "compiling", "submitting", "waiting"]
"""All that is none of the others is recording: of ops, and whatever else Python does."""

PHASES: tuple[Phase, ...] = ("recording", "planning", "compiling", "submitting", "waiting")


class Phases:
    """Nanoseconds that went by in each phase; what a phase does within another is its own."""

    def __init__(self) -> None:
        self._times = dict.fromkeys(PHASES, 0)
        self._current: Phase = "recording"
        self._since = perf_counter_ns()

    def times(self) -> dict[Phase, int]:
        """Those until now."""
        self.enter(self._current)
        return dict(self._times)

    def enter(self, phase: Phase) -> Phase:
        """Be in a phase from now on; returns the one before it, to go back to at its end."""
        before, now = self._current, perf_counter_ns()
        self._times[before] += now - self._since
        self._current, self._since = phase, now
        return before
