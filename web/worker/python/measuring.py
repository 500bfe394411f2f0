"""Checks and times the cases of a suite on every contender, and reports as it goes.

The rule. A sample is a number of calls of the case's op, each with a result of its own, all of
which are done before the clock is read. There are so many calls that a sample takes some
milliseconds, and one wait for all of them: what is timed is work. Results are kept, as many as
memory allows; older ones make room. A contender first makes one call, whose time is reported apart
(it compiles and plans), and its answer is compared with float64: nothing is timed that is wrong.
Then it warms up until two samples in a row agree. Then the rounds begin: one sample of each
contender, in turn, so that whatever else the machine does meets all of them. While a contender
computes on the CPU the GPU idles and its clock falls. So those come last in a round, and where
there are any, each GPU contender first works untimed until its samples are as they were before. At
the end the answers of the last sample are compared again; then the GPU's clock is asked and
dispatches are counted, in a sample of their own.
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
"""What a sample should take at least,"""
MOST_CALLS = 2000
"""with no more calls than this."""
MOST_KEPT = 200
"""Of so many calls the results are kept; then they make room for those of the next ones."""
AGREED = 0.1
"""Two samples agree that are apart by no more than this part."""
WARM_UPS = 8
LOADS = 4
"""Untimed samples before a timed one, at most, after the GPU has idled."""
LONG_SECONDS = 0.1
"""In a sample of this length the GPU's clock has risen without one."""
PLACES = 4096
"""Larger results are checked at so many places: the first, the last and others at random."""
_FLOAT = 4  # bytes


class MissingError(Exception):
    """The contender has nothing for this case; the message says why, if there is more to say."""


class WrongError(Exception):
    """An answer is wrong, by `error` (relative) if that is a number."""

    def __init__(self, message: str, error: float | None = None) -> None:
        super().__init__(message)
        self.error = error


@dataclass(frozen=True)
class First:
    """The very first call of a case."""

    seconds: float
    compile: float | None
    """Seconds of it until kernels were compiled; None where nobody can tell."""


@dataclass(frozen=True)
class Metered:
    """What a sample was, beside its time; None where nobody can tell."""

    gpu: float | None = None
    """Seconds by the GPU's own clock."""
    dispatches: int | None = None
    submits: int | None = None


class Contender(Protocol):
    """A library on a device. For each case: `prepare`, `first`, samples, `release`."""

    name: str
    on_gpu: bool
    """Whether it computes on a GPU, which has a clock that falls while it idles."""
    version: str | None
    """None until it is known: some libraries are started by their first case."""

    async def prepare(self, case: Case, operands: Sequence[Array]) -> None:
        """Bring the operands (as they lie in memory) to the device; raises `MissingError`."""
        ...

    async def first(self) -> First:
        """Call the op once."""
        ...

    async def sample(self, count: int, kept: int) -> float:
        """Seconds for `count` calls of the op by the rule above, in groups of `kept`.

        The results of the last group are kept.
        """
        ...

    async def values(self, call: int, places: Sequence[int]) -> Sequence[float]:
        """Elements of what a call of the last sample gave, by flat index.

        `call` is 0 for the first one whose results are kept, -1 for the last.
        """
        ...

    async def metered(self, count: int, kept: int) -> Metered:
        """What can be told of such a sample but for its time, which this may change."""
        ...

    async def release(self) -> None:
        """Give back what the case holds; also after an error."""
        ...


@dataclass(frozen=True)
class Chosen:
    """What to run of a suite; the names are those of `benchmarks.describe`."""

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
    """What to run."""

    suites: Sequence[Chosen]
    contenders: Sequence[str]
    """Their names."""
    rounds: int
    """Samples of each contender."""
    budget: float
    """Seconds that checking and timing one case on one contender may take."""
    total: float
    """Seconds that all of it may take. What comes too late is skipped."""
    result_bytes: int = 2**28
    """That the results may take which a contender holds at a time."""
    clock: float = 0.0
    """Seconds of work within which a GPU's clock rises that has idled."""

    @classmethod
    def of(cls, given: dict[str, Any]) -> Config:
        """From what JSON held, which this uses up."""
        suites = given.pop("suites")
        return cls(suites=[Chosen(**chosen) for chosen in suites], **given)


async def run(config: Config, contenders: Sequence[Contender], report: Report) -> None:
    """Check and time every chosen case, and report as it goes.

    The steps are dictionaries that JSON can hold: `begin` with the `total` of cases; `working` with
    the `case`, its `size`, a `label` of what is done and the `part` of the case that is done; and
    after each case `case` with its `result`, as docs/benchmarks.md says, and the `versions` of the
    contenders that have run so far.
    """
    bench = Bench(config, report)
    cases = [(chosen.suite, case) for chosen in config.suites for case in chosen.those()]
    report({"event": "begin", "total": len(cases)})
    for suite, case in cases:
        result = {"suite": suite, **await bench.try_case(suite, case, contenders)}
        versions = {c.name: c.version for c in contenders if c.version is not None}
        report({"event": "case", "result": result, "versions": versions})


class Bench:
    """One run over the cases: remembers how long the smaller sizes took, and when it must end."""

    def __init__(self, config: Config, report: Report) -> None:
        self._config = config
        self._report = report
        self._end = time.perf_counter() + config.total
        self._seconds_per_work: dict[tuple[str, str, str], float] = {}

    async def try_case(
        self, suite: str, case: Case, contenders: Sequence[Contender]
    ) -> dict[str, Any]:
        """Measure a case on these contenders; gives its entry among the results."""
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
"""The part of a case's time that passes before its rounds, roughly."""


@dataclass
class _Turn:
    """One contender at one case."""

    case: Case
    contender: Contender
    config: Config
    status: str = "measured"
    """Or "missing" (it has nothing for this case), "skipped" (there is no time), "wrong" (an
    answer), "failed" (an exception)."""
    reason: str | None = None
    samples: list[float] = field(default_factory=list)
    """Seconds for one op."""
    calls: int = 0
    """In each sample."""
    warm_ups: int = 0
    settled: bool = False
    """Whether the warm-up came to samples that agree."""
    error: float | None = None
    """The largest, relative."""
    first: First | None = None
    metered: Metered | None = None
    _last: float = 0.0
    """Seconds of the last sample of so many calls."""
    _spent: float = 0.0
    _is_prepared: bool = False

    @property
    def is_alive(self) -> bool:
        return self.status == "measured"

    def skip_if_too_long(self, estimate: float, left: float, config: Config) -> None:
        """Give up beforehand, where one call takes so long that checking leaves no time."""
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
        """Take a step, if nothing has gone wrong before; an exception becomes the outcome."""
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
            except Exception as error:  # it may be what has just failed
                self.reason = self.reason or f"{type(error).__name__}: {error}"

    async def begin(self, arrays: Sequence[Array], answer: Answer) -> None:
        """Bring the operands, check, find out how many calls a sample takes, warm up."""
        self._is_prepared = True
        started = time.perf_counter()
        await self.contender.prepare(self.case, arrays)
        self.first = await self.contender.first()
        await self._check(answer)
        seconds = self.first.seconds
        if self._leaves(started, 2 * seconds):  # the first may have compiled something
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
            if enough > 1.5 * self.calls:  # much of a single call was a wait that all now share
                self.calls, last = enough, float("inf")
            elif abs(sample - last) <= AGREED * sample and worked >= clock:
                self.settled = True
                break
            else:
                last = sample
        self._last = self.calls * seconds  # also where there was no time to warm up

    def _leaves(self, started: float, seconds: float) -> bool:
        """Whether half of the budget is left for the rounds after so much more."""
        return time.perf_counter() - started + seconds < self.config.budget / 2

    async def round(self, *, gpu_idles: bool) -> None:
        """One sample; `gpu_idles` while others have their turns."""
        if self.samples and self._spent + self.samples[-1] * self._ops > self.config.budget:
            return
        if gpu_idles and self.contender.on_gpu:
            await self._load()
        self.samples.append(await self._sample() / self._ops)

    async def _load(self) -> None:
        """Have the GPU work until samples take as long as before, or its clock has risen."""
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
        """Check the last answers, ask the GPU's clock, count dispatches."""
        await self._check(answer)
        if self._spent + self.samples[-1] * self._ops < self.config.budget:
            self.metered = await self.contender.metered(self.calls, self._kept)

    @property
    def _ops(self) -> int:
        """In a sample."""
        return self.calls * self.case.ops

    def _enough_calls(self, seconds: float) -> int:
        """Calls in one sample, where a single one takes so long."""
        if self.case.calls is not None:
            return self.case.calls
        return max(1, min(round(SAMPLE_SECONDS / max(seconds, 1e-9) + 0.5), MOST_CALLS))

    @property
    def _kept(self) -> int:
        """Calls in a group; the results of one are still there while the next one computes."""
        by_memory = self.config.result_bytes // (2 * _product(self.case.result_shape) * _FLOAT)
        return max(1, min(by_memory, MOST_KEPT))

    async def _check(self, answer: Answer) -> None:
        """Compare the answers of the first and the last call whose results are kept."""
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
    """The right values of a case at some places of its result.

    Parameters
    ----------
    case : Case
        What is computed.
    arrays : sequence of array
        The operands as they lie in memory.
    """

    def __init__(self, case: Case, arrays: Sequence[Array]) -> None:
        import numpy as np

        self._np = np
        self._case = case
        elements = _product(case.result_shape)
        if elements <= PLACES:
            places = np.arange(elements)
        else:
            # The corners too: it is there that kernels go wrong.
            inside = np.random.default_rng(0).integers(0, elements, PLACES - 2)
            places = np.concatenate([[0, elements - 1], inside])
        self.places: list[int] = places.tolist()
        at = tuple(np.unravel_index(places, case.result_shape)) if case.result_shape else ()
        seen = [as_seen(a, operand) for a, operand in zip(arrays, case.operands, strict=True)]
        expected = case.expected(np, at, *seen)
        self._expected = np.asarray(expected, dtype=np.float64).reshape(-1)

    def error(self, got: Sequence[float]) -> float:
        """The largest relative error; raises `WrongError` where it is too large, or NaN."""
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
    """The operand from its contiguous tensor or array."""
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
