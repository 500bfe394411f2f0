"""The interface of the benchmarks to a library, wherever it runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from tests.perf.bench.cases import Case
from tests.perf.bench.operands import Made


class MissingError(Exception):
    """The library does not implement this case; the message is the missing name, if any."""


@dataclass(frozen=True)
class Sample:
    """The total time of some calls of a case's op, including the GPU's work."""

    seconds: float
    dispatches: int | None = None
    """Number of kernels that they ran, if known."""


class Contender(Protocol):
    """A library on a device. For each case: `prepare`, samples, `release`."""

    name: str
    version: str

    def prepare(self, case: Case, operands: Sequence[Made]) -> None:
        """Move the operands to the device; raises `MissingError`."""
        ...

    def sample(self, count: int) -> Sample:
        """Time `count` calls of the op by the rule of `measure`; raises `MissingError`."""
        ...

    def values(self, call: int, places: Sequence[int]) -> list[float]:
        """Return elements of the result of a call of the last sample, by flat index."""
        ...

    def gpu_seconds(self, count: int) -> float | None:
        """Return the seconds for `count` calls by the GPU's own clock, if available."""
        ...

    def release(self) -> None:
        """Release what the case holds; also called after an error."""
        ...
