"""Host time by phase: a clock that is always in exactly one phase."""

from __future__ import annotations

from threading import get_ident
from time import perf_counter_ns
from typing import Literal

Phase = Literal["recording", "planning", "compiling", "submitting", "waiting"]
""""recording" is the default: it covers recording ops and everything else that Python does."""

PHASES: tuple[Phase, ...] = ("recording", "planning", "compiling", "submitting", "waiting")


class Phases:
    """Nanoseconds spent in each phase; time in a nested phase counts only for that phase.

    One thread is measured: the one that creates the object.
    """

    def __init__(self) -> None:
        self._thread = get_ident()
        self._times = dict.fromkeys(PHASES, 0)
        self._current: Phase = "recording"
        self._since = perf_counter_ns()

    def times(self) -> dict[Phase, int]:
        """Return the times so far."""
        self.enter(self._current)
        return dict(self._times)

    def enter(self, phase: Phase) -> Phase:
        """Enter a phase; return the previous one, to enter again at its end."""
        before, now = self._current, perf_counter_ns()
        if get_ident() != self._thread:
            return before
        self._times[before] += now - self._since
        self._current, self._since = phase, now
        return before
