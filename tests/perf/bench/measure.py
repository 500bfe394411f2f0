"""Checks one case on every contender and times it, interleaved and by the same method.

A sample is a number of calls of the case's op, each with its own result. All results are kept and
complete before the clock is read, so the time includes the GPU's work. There are enough calls for a
sample to take a few milliseconds.

A contender first runs until its samples agree, so that everything is compiled and planned, and its
results are compared with float64. Then, in each round, every contender takes one sample in turn, so
that disturbances by other programs affect them all. At the end the results of the last sample are
checked again. The dispatches of py_tensor are counted: every sample must have as many as its calls
need, so that no result shared by several calls is counted as several. One dispatch may serve
several small independent calls, each of which stores its result.
"""

from __future__ import annotations

import contextlib
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from py_tensor.schedule.pack import SMALL
from tests.perf.bench.cases import FLOAT, Case
from tests.perf.bench.contender import Contender, MissingError, Sample
from tests.perf.bench.operands import Array, Made, make

PLACES = 4096
"""The largest number of elements checked of a result: the first, the last, and random others."""
RESULTS = 8
"""The most small results in one dispatch, which sets the least valid number of dispatches."""
AGREED = 0.1
"""The largest relative difference between two samples that agree."""
WARM_UPS = 6


@dataclass(frozen=True)
class Effort:
    """The effort spent on a case."""

    rounds: int
    sample_seconds: float
    """The minimum duration of a sample, unless one of the next two limits is reached."""
    most_calls: int
    """The most calls in a sample."""
    result_bytes: int
    """The most memory for a sample's results."""
    case_seconds: float
    """A contender that has taken this long ends its warm-up, or gets no further rounds."""


ON_HARDWARE = Effort(11, 0.01, 200, 2**32, 2.0)
ON_SOFTWARE = Effort(5, 0.03, 20, 2**28, 0.7)


class WrongError(Exception):
    """A result is wrong, or took an unexpected number of kernels."""


@dataclass
class Outcome:
    """What a contender did with a case."""

    status: str = "measured"
    """Or "missing" (not implemented), "wrong" (a wrong result), "failed" (an exception)."""
    reason: str | None = None
    samples: list[float] = field(default_factory=list)
    """Seconds for one op."""
    calls: int = 0
    """Seconds for one op in each sample."""
    error: float | None = None
    """The largest relative error."""
    dispatches: int | None = None
    """Number of dispatches of one call."""
    more_dispatches: int = 0
    """The most dispatches that a sample ran beyond those of its calls."""
    gpu: float | None = None
    """Seconds for one op by the GPU's clock."""

    @property
    def median(self) -> float:
        return statistics.median(self.samples)

    @property
    def spread(self) -> float:
        """Half the interquartile range, relative to the median."""
        low, high = np.quantile(self.samples, (0.25, 0.75))
        return float(high - low) / 2 / self.median


def measure(
    case: Case,
    contenders: Sequence[Contender],
    effort: Effort,
    mend: Callable[[], bool],
) -> dict[str, Outcome]:
    """Time a case on these contenders; always return an outcome for each, by name.

    `mend` is called after a failure, to restore what it may have broken. It returns whether it had
    to restart; then the other contenders have also lost their preparations, and start again.
    """
    operands = [make(operand, seed) for seed, operand in enumerate(case.operands)]
    answer = Answer(case, operands)
    outcomes: dict[str, Outcome] = {}
    while len(outcomes) < len(contenders):
        left = [contender for contender in contenders if contender.name not in outcomes]
        turns = [_Turn(case, contender, answer, effort) for contender in left]
        culprit = _take_turns(turns, operands, effort.rounds, mend)
        outcomes |= {t.contender.name: t.outcome for t in turns if culprit in (None, t)}
    return {contender.name: outcomes[contender.name] for contender in contenders}


def _take_turns(
    turns: Sequence[_Turn], operands: Sequence[Made], rounds: int, mend: Callable[[], bool]
) -> _Turn | None:
    """Take all steps; on a restart, stop and return the contender that caused it."""
    steps = [(turn, lambda turn=turn: turn.begin(operands)) for turn in turns]
    steps += [(turn, turn.round) for _ in range(rounds) for turn in turns]
    steps += [(turn, turn.end) for turn in turns]
    for turn, step in steps:
        if turn.attempt(step, mend):
            return turn
    return None


class Answer:
    """The expected values of a case at some positions of its result."""

    def __init__(self, case: Case, operands: Sequence[Made]) -> None:
        self._case = case
        shape = case.result_shape
        self.places = _places(int(np.prod(shape)))
        at = tuple(np.unravel_index(self.places, shape)) if shape else ()
        expected = case.expected(np, at, *(made.array for made in operands))
        self._expected = np.asarray(expected, dtype=np.float64).reshape(-1)

    def error(self, got: Sequence[float]) -> float:
        """Return the largest relative error; raises `WrongError` if it is too large."""
        apart = np.abs(np.asarray(got, dtype=np.float64) - self._expected)
        scale = np.maximum(np.abs(self._expected), self._case.least)
        relative: Array = np.divide(
            apart, scale, out=np.where(apart == 0, 0, np.inf), where=scale > 0
        )
        error = float(np.max(np.where(np.isnan(relative), np.inf, relative)))
        if error > self._case.tolerance:
            raise WrongError(f"error {error:.2g}; at most {self._case.tolerance:.0e} is allowed")
        return error


def _places(elements: int) -> Array:
    if elements <= PLACES:
        return np.arange(elements)
    inside = np.random.default_rng(0).integers(0, elements, PLACES - 2)
    return np.concatenate([[0, elements - 1], inside])


class _Turn:
    """One contender running one case."""

    def __init__(self, case: Case, contender: Contender, answer: Answer, effort: Effort) -> None:
        self.contender = contender
        self.outcome = Outcome()
        self._case = case
        self._answer = answer
        self._effort = effort
        self._spent = 0.0
        self._is_prepared = False

    def attempt(self, step: Callable[[], None], mend: Callable[[], bool]) -> bool:
        """Take a step, if none has failed before; an exception becomes the outcome.

        Returns whether a restart was needed after it.
        """
        if self.outcome.status != "measured":
            return False
        try:
            step()
        except MissingError as error:
            self._give_up("missing", error)
        except WrongError as error:
            self._give_up("wrong", error)
        except Exception as error:
            anew = mend()
            self._is_prepared &= not anew
            self._give_up("failed", error)
            return anew
        return False

    def _give_up(self, status: str, error: Exception) -> None:
        self.outcome.status = status
        self.outcome.reason = str(error) or None
        self._release()

    def _release(self) -> None:
        if self._is_prepared:
            self._is_prepared = False
            with contextlib.suppress(Exception):  # it may have failed just now
                self.contender.release()

    @property
    def has_time(self) -> bool:
        return self._spent < self._effort.case_seconds

    def begin(self, operands: Sequence[Made]) -> None:
        """Move the operands, determine the number of calls in a sample, check, and warm up."""
        self._is_prepared = True
        self.contender.prepare(self._case, operands)
        single = self._sample(1)
        if self.has_time:  # that call may have compiled kernels
            single = self._sample(1)
        self.outcome.dispatches = single.dispatches
        self._check_kernels(single.dispatches)
        self._check(calls=1)
        self.outcome.calls = self._enough_calls(single.seconds)
        last = float("inf")
        for _ in range(WARM_UPS):
            if not self.has_time:
                break
            before, last = last, self._sample(self.outcome.calls).seconds
            if abs(last - before) <= AGREED * last:
                break
        self._spent = 0.0  # the rounds have the same time again

    def round(self) -> None:
        if not self.has_time:
            return
        sample = self._sample(self.outcome.calls)
        self.outcome.samples.append(sample.seconds / (self.outcome.calls * self._case.ops))

    def end(self) -> None:
        """Check the last results, measure GPU time, and release everything."""
        self._check(self.outcome.calls)
        gpu = self.contender.gpu_seconds(self.outcome.calls)
        if gpu is not None:
            self.outcome.gpu = gpu / (self.outcome.calls * self._case.ops)
        self._release()

    def _enough_calls(self, seconds: float) -> int:
        """Return the number of calls in a sample, if a single call takes this long.

        Much of that time is a wait that all calls of a sample share, so several steps are needed. A
        new number of calls is planned again, twice until the buffers of the previous ones are
        reused.
        """
        calls = self._calls(seconds)
        while calls > 1 and self.has_time:
            each = min(self._sample(calls).seconds for _ in range(3)) / calls
            enough = self._calls(each)
            if enough <= calls:
                return enough
            calls = enough
        return calls

    def _calls(self, seconds: float) -> int:
        """Return the number of calls in a sample, if each takes this long."""
        if self._case.calls is not None:
            return self._case.calls
        result = max(int(np.prod(self._case.result_shape)) * FLOAT, 1)
        by_memory = self._effort.result_bytes // result
        by_time = round(self._effort.sample_seconds / max(seconds, 1e-9) + 0.5)
        return max(1, min(by_time, by_memory, self._effort.most_calls))

    def _sample(self, count: int) -> Sample:
        started = time.perf_counter()
        sample = self.contender.sample(count)
        self._spent += time.perf_counter() - started
        each = self.outcome.dispatches
        if each is not None and sample.dispatches is not None:
            if sample.dispatches < self._least(count * each):
                raise WrongError(f"{count} calls of {each} dispatches ran only {sample.dispatches}")
            more = sample.dispatches - count * each
            self.outcome.more_dispatches = max(more, self.outcome.more_dispatches)
        return sample

    def _least(self, kernels: int) -> int:
        """Return the least number of dispatches for this many calls."""
        elements = int(np.prod(self._case.result_shape)) // self._case.ops
        return kernels if elements > SMALL else -(-kernels // RESULTS)

    def _check_kernels(self, found: int | None) -> None:
        """Check that one call runs as many kernels as it must, and no more than it may."""
        if found is None:
            return
        least = max(self._case.least_kernels, self._least(self._case.ops))
        most = self._case.most_kernels
        if found < least:
            raise WrongError(f"{found} dispatches, where {least} are the least that can be right")
        if most is not None and found > most:
            self.outcome.reason = f"{found} kernels; {most} at most are promised"

    def _check(self, calls: int) -> None:
        """Check the results of the first and the last call of the last sample."""
        for call in {0, calls - 1}:
            values = self.contender.values(call, self._answer.places.tolist())
            error = self._answer.error(values)
            self.outcome.error = max(error, self.outcome.error or 0.0)
