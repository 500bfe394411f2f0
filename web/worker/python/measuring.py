"""Checks and times the cases of a suite on every contender, and reports progress.

A sample is a number of calls of the case's op, each with its own result, all complete before the
clock is read. There are enough calls to take SAMPLE_SECONDS, and one wait for all of them, so that
the time is that of the work. As many results are kept as memory allows; older ones are dropped.

1. Each contender makes one call. Its time is reported separately, because it includes compiling
   and planning. Its result is compared with float64: a wrong contender is not timed.
2. Each contender warms up until two consecutive samples agree.
3. In each round every contender takes one sample in turn, so that disturbances by other programs
   affect them all. While a contender computes on the CPU, the GPU idles and its clock rate falls.
   So CPU contenders come last in a round, and if there are any, each GPU contender first takes
   untimed samples until they are as fast as before.
4. The results of the last sample are checked again. A separate sample then measures GPU time with
   timestamps and counts dispatches.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any, Protocol

from .benchmarks import SUITES, Case, Operand

Report = Callable[[dict[str, Any]], None]
Array = Any

SAMPLE_SECONDS = 0.02
"""The minimum duration of a sample, unless it needs more than MAX_CALLS calls."""
MAX_CALLS = 2000
"""The most calls in a sample."""
MAX_KEPT = 200
"""The most calls in a group. The results of one group are kept until the next is complete."""
AGREED = 0.1
"""The largest relative difference between two samples that agree."""
WARM_UPS = 8
LOADS = 4
"""Untimed samples before a timed one, at most, after the GPU has idled."""
LONG_SECONDS = 0.1
"""The length of a sample in which the GPU's clock rate rises without untimed samples."""
PLACES = 4096
"""The most elements checked of a result: the first, the last, and others at random."""
_FLOAT = 4  # bytes


class MissingError(Exception):
    """The contender does not implement this case; the message says why, if not empty."""


class WrongError(Exception):
    """A result is wrong, by the relative error `error` if that is finite."""

    def __init__(self, message: str, error: float | None = None) -> None:
        super().__init__(message)
        self.error = error


@dataclass(frozen=True)
class First:
    """The first call of a case."""

    seconds: float
    compile: float | None
    """Seconds spent compiling kernels; None if unknown."""


@dataclass(frozen=True)
class Metered:
    """Measurements of a sample other than its wall time; None if unknown."""

    gpu: float | None = None
    """Seconds of GPU time, from timestamps."""
    dispatches: int | None = None
    submits: int | None = None


class Contender(Protocol):
    """A library on a device. For each case: `prepare`, `first`, samples, `release`."""

    name: str
    on_gpu: bool
    """Whether it computes on a GPU, whose clock rate falls while it idles."""
    version: str | None
    """None until known: some libraries start with their first case."""

    async def prepare(self, case: Case, operands: Sequence[Array]) -> None:
        """Upload the operands (contiguous, not transposed yet); may raise `MissingError`."""
        ...

    async def first(self) -> First:
        """Call the op once."""
        ...

    async def sample(self, count: int, kept: int) -> float:
        """Return the seconds for one sample of `count` calls of the op, in groups of `kept` calls.

        The results of the last group are kept.
        """
        ...

    async def values(self, call: int, places: Sequence[int]) -> Sequence[float]:
        """Return elements of the result of one call of the last sample, by flat index.

        `call` is 0 for the first call whose result is kept, -1 for the last.
        """
        ...

    async def metered(self, count: int, kept: int) -> Metered:
        """Take a sample and measure other properties than its time, which this may change."""
        ...

    async def release(self) -> None:
        """Free the case's operands and results; also called after an error."""
        ...


@dataclass(frozen=True)
class Chosen:
    """The chosen sizes and cases of a suite, by their names in `benchmarks.describe`."""

    suite: str
    sizes: Sequence[str]
    cases: Sequence[str]

    def those(self) -> list[Case]:
        suite = SUITES[self.suite]
        sizes = [size for size in suite.sizes if size in self.sizes]
        by_size = {size: {case.name: case for case in suite.cases(size)} for size in sizes}
        return [by_size[size][name] for name in self.cases for size in sizes]


@dataclass(frozen=True)
class Config:
    """The configuration of a run."""

    suites: Sequence[Chosen]
    contenders: Sequence[str]
    """The names of the contenders."""
    rounds: int
    """The number of samples of each contender."""
    budget: float
    """The most seconds for checking and timing one case on one contender."""
    total: float
    """The most seconds for the whole run. Cases that would exceed it are skipped."""
    result_bytes: int = 2**28
    """The most memory for the results that a contender holds at a time."""
    clock: float = 0.0
    """Seconds of work until the clock rate of an idle GPU has risen."""

    @classmethod
    def of(cls, given: dict[str, Any]) -> Config:
        """Make a configuration from decoded JSON, which is modified."""
        suites = given.pop("suites")
        return cls(suites=[Chosen(**chosen) for chosen in suites], **given)


async def run(config: Config, contenders: Sequence[Contender], report: Report) -> None:
    """Check and time every chosen case, and report each step.

    Steps are dictionaries that JSON can hold: `begin` with the `total` number of cases; `working`
    with the `case`, its `size`, a `label` for the current step and the `part` of the case that is
    done; and after each case `case` with its `result` (documented in docs/benchmarks.md) and the
    `versions` of the contenders that have run so far.
    """
    bench = Bench(config, report)
    cases = [(chosen.suite, case) for chosen in config.suites for case in chosen.those()]
    report({"event": "begin", "total": len(cases)})
    for suite, case in cases:
        result = {"suite": suite, **await bench.try_case(suite, case, contenders)}
        versions = {c.name: c.version for c in contenders if c.version is not None}
        report({"event": "case", "result": result, "versions": versions})


class Bench:
    """One run over the cases: remembers the times of smaller sizes, and the deadline."""

    def __init__(self, config: Config, report: Report) -> None:
        self._config = config
        self._report = report
        self._end = time.perf_counter() + config.total
        self._seconds_per_work: dict[tuple[str, str, str], float] = {}

    async def try_case(
        self, suite: str, case: Case, contenders: Sequence[Contender]
    ) -> dict[str, Any]:
        """Measure a case on these contenders; return its result as an entry of the report."""
        turns = [_Turn(case, contender, self._config) for contender in contenders]
        for turn in turns:
            key = suite, case.name, turn.contender.name
            estimate = self._seconds_per_work.get(key, 0.0) * case.work
            left = self._end - time.perf_counter()
            turn.skip_if_too_long(estimate, left / len(turns), self._config)
        try:
            await self._take_turns(case, turns)
        finally:
            for turn in turns:
                await turn.release()
        for turn in turns:
            if turn.samples and case.work:
                key = suite, case.name, turn.contender.name
                self._seconds_per_work[key] = median(turn.samples) * case.ops / case.work
        return {
            "case": case.name,
            "size": case.size,
            "extent": case.extent,
            "flops": case.flops,
            "bytes": case.bytes,
            "unit": case.unit,
            "ops": case.ops,
            "contenders": {turn.contender.name: turn.entry() for turn in turns},
        }

    async def _take_turns(self, case: Case, turns: Sequence[_Turn]) -> None:
        if not any(turn.is_alive for turn in turns):
            return
        self._working(case, "making the operands", 0.0)
        arrays = [_random_array(operand, seed) for seed, operand in enumerate(case.operands)]
        answer = Answer(case, arrays)
        for i, turn in enumerate(turns):
            if turn.is_alive:
                label = f"{turn.contender.name} starts, is checked, warms up"
                self._working(case, label, BEGINNING * i / len(turns))
                await turn.attempt(lambda turn=turn: turn.begin(arrays, answer))
        order = sorted(turns, key=lambda turn: not turn.contender.on_gpu)
        rounds = self._config.rounds
        for number in range(rounds):
            label = f"round {number + 1} of {rounds}, each in turn"
            self._working(case, label, BEGINNING + (1 - BEGINNING) * number / rounds)
            idles = any(turn.is_alive and not turn.contender.on_gpu for turn in turns)
            for turn in order:
                await turn.attempt(lambda turn=turn, idles=idles: turn.round(gpu_idles=idles))
        for turn in turns:
            await turn.attempt(lambda turn=turn: turn.end(answer))

    def _working(self, case: Case, label: str, part: float) -> None:
        about = {"case": case.name, "size": case.size, "label": label, "part": part}
        self._report({"event": "working", **about})


BEGINNING = 0.5
"""The approximate fraction of a case's time that passes before its rounds."""


@dataclass
class _Turn:
    """One contender at one case."""

    case: Case
    contender: Contender
    config: Config
    status: str = "measured"
    """Or "missing" (not implemented), "skipped" (no time left), "wrong" (result), "failed"
    (exception)."""
    reason: str | None = None
    samples: list[float] = field(default_factory=list)
    """Seconds per op."""
    calls: int = 0
    """Calls per sample."""
    warm_ups: int = 0
    settled: bool = False
    """Whether two consecutive samples of the warm-up agreed."""
    error: float | None = None
    """The largest relative error."""
    first: First | None = None
    metered: Metered | None = None
    _last: float = 0.0
    """Seconds of the last sample of `calls` calls."""
    _spent: float = 0.0
    _is_prepared: bool = False

    @property
    def is_alive(self) -> bool:
        return self.status == "measured"

    def skip_if_too_long(self, estimate: float, left: float, config: Config) -> None:
        """Skip the case if the total time is used up, or checking would exceed the budget."""
        if left <= 0:
            self.status, self.reason = (
                "skipped",
                f"the total budget of {_duration(config.total)} is used up",
            )
            return
        budget = min(config.budget, left)
        if 3 * estimate > budget:
            limit = "the budget is" if budget == config.budget else "the remaining time is"
            self.status = "skipped"
            self.reason = (
                f"one call would take about {_duration(estimate)}; {limit} {_duration(budget)}"
            )

    async def attempt(self, step: Callable[[], Awaitable[None]]) -> None:
        """Take a step, unless an earlier one failed; an exception becomes the status."""
        if not self.is_alive:
            return
        started = time.perf_counter()
        try:
            await step()
        except MissingError as error:
            self._give_up("missing", str(error))
        except WrongError as error:
            self.error = error.error
            self._give_up("wrong", str(error))
        except Exception as error:
            self._give_up("failed", f"{type(error).__name__}: {error}")
        self._spent += time.perf_counter() - started
        if not self.is_alive:
            await self.release()

    def _give_up(self, status: str, reason: str) -> None:
        self.status, self.reason = status, reason or None
        self.samples.clear()

    async def release(self) -> None:
        if self._is_prepared:
            self._is_prepared = False
            try:
                await self.contender.release()
            except Exception as error:  # the contender may have failed already
                self.reason = self.reason or f"{type(error).__name__}: {error}"

    async def begin(self, arrays: Sequence[Array], answer: Answer) -> None:
        """Upload the operands, check the result, set the calls per sample, and warm up."""
        self._is_prepared = True
        started = time.perf_counter()
        await self.contender.prepare(self.case, arrays)
        self.first = await self.contender.first()
        await self._check(answer)
        seconds = self.first.seconds
        if self._leaves(started, 2 * seconds):  # the first call may include compilation
            seconds = min(seconds, await self.contender.sample(1, 1))
        self.calls = self._enough_calls(seconds)
        last = float("inf")
        worked = 0.0
        clock = self.config.clock if self.contender.on_gpu else 0.0
        while (self.warm_ups < WARM_UPS or worked < clock) and self._leaves(
            started, 2 * self.calls * seconds
        ):
            sample = await self._sample()
            worked += sample
            self.warm_ups += 1
            seconds = sample / self.calls
            enough = self._enough_calls(seconds)
            if enough > 1.5 * self.calls:  # most of a single call was a wait that calls now share
                self.calls, last = enough, float("inf")
            elif abs(sample - last) <= AGREED * sample and worked >= clock:
                self.settled = True
                break
            else:
                last = sample
        self._last = self.calls * seconds  # also if there was no time to warm up

    def _leaves(self, started: float, seconds: float) -> bool:
        """Return whether half of the budget is left for the rounds after another `seconds`."""
        return time.perf_counter() - started + seconds < self.config.budget / 2

    async def round(self, *, gpu_idles: bool) -> None:
        """Take one sample; `gpu_idles` if the GPU idles during the turns of others."""
        if self.samples and self._spent + self.samples[-1] * self._ops > self.config.budget:
            return
        if gpu_idles and self.contender.on_gpu:
            await self._load()
        self.samples.append(await self._sample() / self._ops)

    async def _load(self) -> None:
        """Take untimed samples until they are as fast as before, or the GPU's clock has risen."""
        tries, worked, before = 0, 0.0, self._last
        while before <= LONG_SECONDS and (tries < LOADS or worked < self.config.clock):
            last = await self._sample()
            if abs(last - before) <= AGREED * before:
                return
            tries, worked, before = tries + 1, worked + last, min(before, last)

    async def _sample(self) -> float:
        self._last = await self.contender.sample(self.calls, self._kept)
        return self._last

    async def end(self, answer: Answer) -> None:
        """Check the last results, measure GPU time, and count dispatches."""
        await self._check(answer)
        if self._spent + self.samples[-1] * self._ops < self.config.budget:
            self.metered = await self.contender.metered(self.calls, self._kept)

    @property
    def _ops(self) -> int:
        """Ops per sample."""
        return self.calls * self.case.ops

    def _enough_calls(self, seconds: float) -> int:
        """Return the number of calls per sample, if a single call takes `seconds`."""
        if self.case.calls is not None:
            return self.case.calls
        return max(1, min(round(SAMPLE_SECONDS / max(seconds, 1e-9) + 0.5), MAX_CALLS))

    @property
    def _kept(self) -> int:
        """Calls per group; the results of one group stay alive while the next one computes."""
        by_memory = self.config.result_bytes // (2 * _product(self.case.result_shape) * _FLOAT)
        return max(1, min(by_memory, MAX_KEPT))

    async def _check(self, answer: Answer) -> None:
        """Check the results of the first and the last call that are kept."""
        for call in (0, -1):
            error = answer.error(await self.contender.values(call, answer.places))
            self.error = max(error, self.error or 0.0)

    def entry(self) -> dict[str, Any]:
        entry: dict[str, Any] = {"status": self.status, "reason": self.reason}
        if self.first is not None:
            entry |= {"first": self.first.seconds, "compile": self.first.compile}
        if self.status == "wrong":
            entry["error"] = self.error
        if not self.is_alive:
            return entry
        metered = self.metered or Metered()
        return entry | {
            "samples": self.samples,
            "calls": self.calls,
            "warm_ups": self.warm_ups,
            "settled": self.settled,
            "error": self.error,
            "gpu": None if metered.gpu is None else metered.gpu / self._ops,
            "dispatches": _each(metered.dispatches, self.calls),
            "submits": _each(metered.submits, self.calls),
        }


class Answer:
    """The expected values of a case at some elements of its result.

    Parameters
    ----------
    case : Case
        The case.
    arrays : sequence of array
        The operands, contiguous, before any transposition.
    """

    def __init__(self, case: Case, arrays: Sequence[Array]) -> None:
        import numpy as np

        self._np = np
        self._case = case
        elements = _product(case.result_shape)
        if elements <= PLACES:
            places = np.arange(elements)
        else:
            # Include the corners, where kernels tend to go wrong.
            inside = np.random.default_rng(0).integers(0, elements, PLACES - 2)
            places = np.concatenate([[0, elements - 1], inside])
        self.places: list[int] = places.tolist()
        at = tuple(np.unravel_index(places, case.result_shape)) if case.result_shape else ()
        seen = [as_seen(a, operand) for a, operand in zip(arrays, case.operands, strict=True)]
        expected = case.expected(np, at, *seen)
        self._expected = np.asarray(expected, dtype=np.float64).reshape(-1)

    def error(self, got: Sequence[float]) -> float:
        """Return the largest relative error; raises `WrongError` if it is too large, or NaN."""
        np = self._np
        if len(got) != len(self._expected):
            raise WrongError(f"{len(got)} elements instead of {len(self._expected)}")
        apart = np.abs(np.asarray(got, dtype=np.float64) - self._expected)
        scale = np.maximum(np.abs(self._expected), self._case.least)
        otherwise = np.where(apart == 0, 0.0, np.inf)
        relative = np.divide(apart, scale, out=otherwise, where=scale > 0)
        error = float(np.max(np.where(np.isnan(relative), np.inf, relative)))
        if error > self._case.tolerance:
            raise WrongError(
                f"relative error {error:.2g}; at most {self._case.tolerance:.0e} is allowed",
                error if np.isfinite(error) else None,
            )
        return error


def as_seen(value: Any, operand: Operand) -> Any:
    """Return the operand made from its contiguous tensor or array."""
    return value.T if operand.transposed else value


def _random_array(operand: Operand, seed: int) -> Array:
    """Uniform in (0, 1]: no zero, so that relative errors are defined."""
    import numpy as np

    return np.float32(1) - np.random.default_rng(seed).random(operand.shape, dtype=np.float32)


def _each(number: int | None, calls: int) -> float | None:
    return None if number is None else number / calls


def _product(shape: Sequence[int]) -> int:
    total = 1
    for length in shape:
        total *= length
    return total


def _duration(seconds: float) -> str:
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    return f"{seconds:.0f} s" if seconds < 90 else f"{seconds / 60:.0f} min"
