"""The interface of the benchmarks to a library, wherever it runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from tests.perf.bench.cases import Case
from tests.perf.bench.operands import Made


class MissingError(Exception):
    """The library has nothing for this case; the message is the name that it lacks, if any."""


@dataclass(frozen=True)
class Sample:
    """How long some calls of a case's op took together, the GPU's part included."""

    seconds: float
    dispatches: int | None = None
    """Kernels that they ran, where that is known."""


class Contender(Protocol):
    """A library on a device. For each case: `prepare`, samples, `release`."""

    name: str
    version: str

    def prepare(self, case: Case, operands: Sequence[Made]) -> None:
        """Bring the operands to the device; raises `MissingError`."""
        ...

    def sample(self, count: int) -> Sample:
        """Time `count` calls of the op by the rule of `measure`; raises `MissingError`."""
        ...

    def values(self, call: int, places: Sequence[int]) -> list[float]:
        """Elements of what a call of the last sample gave, by flat index."""
        ...

    def gpu_seconds(self, count: int) -> float | None:
        """Of `count` calls by the GPU's own clock, if the library can tell."""
        ...

    def release(self) -> None:
        """Give back what the case holds; also after an error."""
        ...
