"""Compares the values of a tuning parameter: first their results, then their times.

A value is timed only if all its results are correct in buffers filled with NaN beforehand.
The fastest value is chosen only if it is also correct for further sizes and layouts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from statistics import median
from time import perf_counter

from py_tensor.backends.webgpu import Candidate, WebGPU
from py_tensor.base.errors import GPUError
from py_tensor.codegen.choices import Choices, Tile, Value, tuning_parameters
from py_tensor.convert.conversion import tensor
from py_tensor.runtime.device import LazyDevice
from py_tensor.tensors.tensor import Tensor
from py_tensor.tools.profiling import is_rounded
from py_tensor.tools.workloads import Make, workloads_for

MARGIN = 0.05  # the relative margin by which a value must be faster than the default
ROUNDS = 9
MIN_ROUNDS = 4  # the fewest rounds for a decision
HOPELESS_ROUNDS, HOPELESS = 2, 1.5  # after these rounds, drop values this many times slower
SAMPLE_SECONDS = 0.008  # the intended duration of a measurement
MAX_RUNS = 400  # the maximum number of runs in a measurement
PARAMETER_SECONDS = 0.5  # the time limit for measurements, after `MIN_ROUNDS`

OUT_OF_TIME = "not tried: no time left"


@dataclass(slots=True)
class Attempt:
    """The outcome for one value of a parameter.

    Attributes
    ----------
    value : str
    time : float or None
        Median seconds over the workloads; None if it was not measured.
    verdict : str
        "chosen", "default" (no other was faster), "slower", or the reason why it was rejected.
    """

    value: str
    time: float | None = None
    verdict: str = ""


@dataclass(slots=True)
class Entrant:
    """A value, the backend that uses it, and its measurements in seconds."""

    value: Value
    backend: Candidate
    attempt: Attempt
    samples: list[float] = field(default_factory=list[float])

    @property
    def is_out(self) -> bool:
        return bool(self.attempt.verdict)


def error_with(backend: WebGPU, parameter: str, choices: Choices) -> str:
    """Describe an error in the results that depend on a parameter; "" if they are correct."""
    workloads = workloads_for(parameter, backend.profile.software)
    candidate = Candidate(backend, _in_use(parameter, choices))
    benches = (_Bench(backend, makes) for makes in (workloads.timed, workloads.further))
    return next((wrong for bench in benches if (wrong := bench.check(candidate))), "")


def _in_use(parameter: str, choices: Choices) -> Choices:
    """Return choices with which workloads of any size use the parameter's value."""
    tiles = ("large_tile", "medium_tile", "small_tile")
    if parameter in tiles:
        return replace(choices, **dict.fromkeys(tiles, getattr(choices, parameter)))
    return choices


class _Bench:
    """Runs and times workloads on a device that is separate from the session's own."""

    def __init__(self, backend: WebGPU, makes: Sequence[Make]) -> None:
        self.backend = backend
        self.workloads = [make() for make in makes]
        self.device = LazyDevice("webgpu")
        self._use(Candidate(backend, backend.profile.chosen))
        self.operands = [
            [tensor(array, device=self.device) for array in workload.operands]
            for workload in self.workloads
        ]
        self.has_clock = "timestamp-query" in backend.info().get("features", ())

    def _use(self, candidate: Candidate) -> None:
        self.device.use(candidate)  # pyright: ignore[reportArgumentType] - it delegates

    def _results(self, candidate: Candidate) -> list[Tensor]:
        self._use(candidate)
        pairs = zip(self.workloads, self.operands, strict=True)
        return [workload.expression(*operands).realize() for workload, operands in pairs]

    def check(self, candidate: Candidate) -> str:
        """Describe an error in the results of the workloads; "" if they are correct."""
        candidate.poison = True
        try:
            for workload, result in zip(self.workloads, self._results(candidate), strict=True):
                if bytes(result._read()) != workload.expected:  # pyright: ignore[reportPrivateUsage]
                    return "wrong results"
        except (GPUError, MemoryError) as error:
            return f"failed: {error}"
        finally:
            candidate.poison = False
        return ""

    def seconds(self, candidate: Candidate, times: int) -> float:
        """Return the seconds for one run of all workloads, averaged over `times` runs."""
        candidate.times = times
        total = sum(self._by_gpu(candidate)) if self.has_clock else self._by_host(candidate)
        return total / times

    def _by_gpu(self, candidate: Candidate) -> list[float]:
        """Return the seconds of each dispatch, from GPU timestamps."""
        self.backend.start_timing()
        try:
            self._by_host(candidate)
        finally:
            timed = self.backend.stop_timing()
        return [(end - begin) * 1e-9 for _, begin, end in timed.times]

    def _by_host(self, candidate: Candidate) -> float:
        """Return the wall time in seconds of all runs together."""
        begin = perf_counter()
        self._results(candidate)
        self.backend.synchronize()
        return perf_counter() - begin

    def enough_runs(self, candidate: Candidate) -> int:
        """Return the number of runs in a measurement; stop using timestamps that are rounded."""
        times = 1
        while True:
            candidate.times = times
            seconds = self._by_host(candidate)
            if seconds >= SAMPLE_SECONDS / 2 or times == MAX_RUNS:
                break
            times = min(MAX_RUNS, max(2 * times, int(times * SAMPLE_SECONDS / seconds)))
        if self.has_clock:
            self.has_clock = not is_rounded([round(x * 1e9) for x in self._by_gpu(candidate)])
        return times


class Contest:
    """Finds the best value of a parameter.

    Parameters
    ----------
    base : Choices
        The values of the other parameters.
    deadline : float
        In terms of `perf_counter`; values for which no time is left are not tried.
    """

    def __init__(self, backend: WebGPU, parameter: str, base: Choices, deadline: float) -> None:
        self.backend = backend
        self.parameter = parameter
        self.base = base
        self.deadline = deadline
        values = tuning_parameters(backend.profile.software)[parameter]
        self.entrants = [self._entrant(value) for value in values]
        self.workloads = workloads_for(parameter, backend.profile.software)
        self.bench = _Bench(backend, self.workloads.timed)

    def _entrant(self, value: Value) -> Entrant:
        choices = _in_use(self.parameter, replace(self.base, **{self.parameter: value}))
        return Entrant(value, Candidate(self.backend, choices), Attempt(str(value)))

    @property
    def is_over(self) -> bool:
        return perf_counter() > self.deadline

    def result(self) -> tuple[Choices, list[Attempt]]:
        """Return the choices with the best value, and the attempts for all, the default first.

        Raises
        ------
        DeviceLostError, KeyboardInterrupt
            The contest then has no result.
        """
        for entrant in self.entrants:
            entrant.attempt.verdict = self._verdict(entrant)
        self._measure()
        best = self._fastest()
        while best is not self.entrants[0] and (wrong := self._wrong_further(best)):
            best.attempt.verdict = wrong
            self._measure()  # some values were dropped because of the wrong one
            best = self._fastest()
        self._conclude(best)
        choices = replace(self.base, **{self.parameter: best.value})
        return choices, [entrant.attempt for entrant in self.entrants]

    def _verdict(self, entrant: Entrant) -> str:
        """Return the reason to exclude a value; "" if there is none."""
        if entrant is not self.entrants[0]:
            if self.is_over:
                return OUT_OF_TIME
            most = self.backend.profile.workgroup_memory
            if isinstance(entrant.value, Tile) and entrant.value.memory > most:
                return f"needs {entrant.value.memory} bytes of workgroup memory, of {most}"
        wrong = self.bench.check(entrant.backend)
        if wrong:
            return wrong
        for other in self.entrants:
            if other is entrant:
                break
            if not other.is_out and other.backend.runs() == entrant.backend.runs():
                return f"the same kernels as {other.value}"
        return ""

    def _measure(self) -> None:
        """Measure all values in turn, so that other load on the machine affects all of them."""
        left = [e for e in self.entrants if not e.is_out]
        if len(left) < 2 or self.is_over:
            return
        times = self.bench.enough_runs(left[0].backend)
        begin = perf_counter()
        for number in range(ROUNDS):
            for entrant in left:
                if self.is_over:
                    return
                entrant.samples.append(self.bench.seconds(entrant.backend, times))
            if number + 1 >= HOPELESS_ROUNDS:
                most = HOPELESS * min(min(e.samples) for e in left)
                left = [e for e in left if min(e.samples) <= most or e is self.entrants[0]]
            if number + 1 >= MIN_ROUNDS and perf_counter() - begin > PARAMETER_SECONDS:
                return

    def _fastest(self) -> Entrant:
        """Return the fastest value that beats the default, or the fastest if that is excluded."""
        default = self.entrants[0]
        left = [e for e in self.entrants if not e.is_out]
        for entrant in left:
            if entrant.samples:
                entrant.attempt.time = median(entrant.samples)
        ranked = sorted(left, key=lambda e: e.attempt.time or 0.0)
        better = (e for e in ranked if default.is_out or is_faster(e.samples, default.samples))
        return next(better, default)

    def _wrong_further(self, entrant: Entrant) -> str:
        if self.is_over:
            return OUT_OF_TIME
        return _Bench(self.backend, self.workloads.further).check(entrant.backend)

    def _conclude(self, best: Entrant) -> None:
        """Set the verdicts of all attempts."""
        for entrant in self.entrants:
            attempt = entrant.attempt
            if entrant.is_out:
                continue
            if entrant is best:
                attempt.verdict = "default" if best is self.entrants[0] else "chosen"
            elif attempt.time is None:
                attempt.verdict = OUT_OF_TIME
            elif best.attempt.time is None or attempt.time > best.attempt.time:
                attempt.verdict = "slower"
            else:
                attempt.verdict = "not reliably faster"


def is_faster(samples: Sequence[float], default: Sequence[float]) -> bool:
    """Return whether both the median and the minimum of these times are better than the default's.

    Other load on the machine only makes times longer, so the two together are rarely wrong.
    """
    if len(samples) < MIN_ROUNDS:
        return False
    return all(time(samples) < (1 - MARGIN) * time(default) for time in (median, min))
