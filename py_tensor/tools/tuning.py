"""Tuning: finds the fastest kernels on this adapter, and stores and shows the choices.

The values of a tuning parameter are compared on workloads: first their results, then their times.
A value is timed only if all its results are correct in buffers filled with NaN beforehand.
The fastest value is chosen only if it is also correct for further sizes and layouts.

Workloads are expressions whose exact results NumPy computes. Elements are small odd integers, so
every sum is exact in float32 in any order, and a result is either bitwise correct or wrong. The
rows of an operand repeat after 29, and the columns of the right operand of a product after 31, so
the expected results take a fraction of a second. Kernels work in powers of two, so displacing or
omitting an element gives wrong results.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from itertools import chain
from operator import methodcaller
from pathlib import Path
from statistics import median
from textwrap import wrap
from time import perf_counter
from typing import Any

from py_tensor.backends.choice import default_device
from py_tensor.backends.webgpu import Candidate, WebGPU
from py_tensor.base.errors import DeviceError, DeviceLostError, GPUError
from py_tensor.codegen.adapter_profile import (
    Choices,
    Tile,
    Value,
    defaults,
    kept_choices,
    tuning_parameters,
    value_of,
)
from py_tensor.convert.conversion import tensor
from py_tensor.runtime.device import LazyDevice
from py_tensor.runtime.host import host
from py_tensor.tensors.tensor import Tensor
from py_tensor.tools.profiling import duration, is_rounded, written

__all__ = ["Tuning", "tune", "tuning"]

SECONDS = 10.0
MARGIN = 0.05  # the relative margin by which a value must be faster than the default
ROUNDS = 9
MIN_ROUNDS = 4  # the fewest rounds for a decision
HOPELESS_ROUNDS, HOPELESS = 2, 1.5  # after these rounds, drop values this many times slower
SAMPLE_SECONDS = 0.008  # the intended duration of a measurement
MAX_RUNS = 400  # the maximum number of runs in a measurement
PARAMETER_SECONDS = 0.5  # the time limit for measurements, after `MIN_ROUNDS`

OUT_OF_TIME = "not tried: no time left"

ROWS, COLUMNS = 29, 31  # the periods of the rows of an operand, and of the columns of another
ELEMENTS = (-3, -1, 1, 3)


def tune(*names: str, seconds: float = SECONDS) -> Tuning:
    """Measure which kernels are fastest on this GPU, and use and store the choices.

    Each tuning parameter of the code generator has a few values, which `pt.tuning()` lists. Kernels
    are compiled and run with each value. Values whose results are not exact in every bit are
    rejected, and the others are timed in turns. A value that is 5 % faster than the default is
    chosen.

    A choice that this session has already used does not change until the next session, so a program
    always generates the same kernels. The page stores the choices in the browser (IndexedDB) for
    this adapter and this build of the page. Outside a browser they are stored in the user's cache
    folder for this adapter. In other pages they last for the session; use `Tuning.to_json` to save
    them.

    Parameters
    ----------
    names : str
        The tuning parameters; by default all that apply to this kind of adapter.
    seconds : float
        The time limit. Parameters for which no time is left are unchanged. A compilation that has
        started is finished.

    Returns
    -------
    Tuning
        The choices, as returned by `pt.tuning()`.

    Raises
    ------
    DeviceError
        On the cpu device, which has no kernels, or inside a profile.
    ValueError
        If a tuning parameter is unknown.
    WaitError
        If Python cannot block.
    DeviceLostError
        If the device was lost meanwhile. Then, as after an interrupt, nothing has changed.
    """
    backend = _backend("tune")
    values = tuning_parameters(backend.profile.software)
    for name in names:
        if name not in values:
            known = ", ".join(values)
            raise ValueError(f"tune: unknown tuning parameter {name!r}; known parameters: {known}")
    host.check_can_wait("pt.tune()")
    deadline = perf_counter() + seconds
    backend.synchronize()
    generation = backend.generation
    record = _Record.of(backend)
    choices = kept_choices(backend.record, backend.profile.software) or _defaults(backend)
    for name in (name for name in values if name in names or not names):
        if perf_counter() > deadline:
            chosen, attempts = choices, [Attempt(str(v), None, OUT_OF_TIME) for v in values[name]]
        else:
            chosen, attempts = Contest(backend, name, choices, deadline).result()
        if backend.generation != generation:
            raise DeviceLostError("tune: the GPU device was lost; its choices were not changed")
        if name in record.choices and any(a.verdict == OUT_OF_TIME for a in attempts):
            continue  # an earlier complete result is better than an incomplete contest
        choices, record.attempts[name] = chosen, attempts
        if attempts[0].verdict != OUT_OF_TIME:
            record.choices[name] = str(getattr(choices, name))
    default_device().collect()
    backend.empty_cache()
    record.when = datetime.now(UTC).isoformat(timespec="seconds")
    backend.keep_choices(record.to_json())
    return tuning()


def tuning() -> Tuning:
    """Return the choices of kernels on this GPU, and the results of `pt.tune()`.

    Print it for a table.

    Raises
    ------
    DeviceError
        On the cpu device, which has no kernels.
    """
    backend = _backend("tuning")
    record, chosen, software = _Record.of(backend), backend.profile.chosen, backend.profile.software
    later = (kept_choices(backend.record, software) or defaults(software)).named()
    rows = tuple(
        TuningParameter(
            name,
            chosen.named()[name],
            later[name],
            str(values[0]),
            name in backend.profile.used,
            tuple(record.attempts.get(name, ())),
        )
        for name, values in tuning_parameters(software).items()
    )
    return Tuning(record.adapter, record.when, rows, backend.unkept, backend.record)


@dataclass(frozen=True, slots=True)
class TuningParameter:
    """A tuning parameter of the code generator, with its values.

    Attributes
    ----------
    name : str
    value : str
        The value in this session.
    later : str
        The value in the next session.
    default : str
    is_used : bool
        Whether this session has kernels that depend on it, so it cannot change any more.
    attempts : tuple of Attempt
        The outcome for each value when it was tuned.
    """

    name: str
    value: str
    later: str
    default: str
    is_used: bool
    attempts: tuple[Attempt, ...]


@dataclass(frozen=True, slots=True)
class Tuning:
    """The choices of kernels on an adapter. Its `repr` is a table.

    Attributes
    ----------
    adapter : dict
        As in `pt.device_info()`.
    when : str or None
        When it was last tuned, in ISO 8601; None if it was not.
    parameters : tuple of TuningParameter
    unkept : str
        The reason if the choices are not stored; otherwise "".
    """

    adapter: Mapping[str, Any]
    when: str | None
    parameters: tuple[TuningParameter, ...]
    unkept: str
    _record: str

    def to_json(self, path: str | Path | None = None) -> str:
        """Return all results as JSON; also write them to the file at `path`, if given.

        ::

            {"adapter": {...}, "when": "...", "choices": {parameter: value, ...},
             "attempts": {parameter: [{"value", "time", "verdict"}, ...], ...}}

        Times are in seconds. Under Pyodide paths refer to its virtual file system.
        """
        return written(self._record or _Record(dict(self.adapter), None, {}, {}).to_json(), path)

    @staticmethod
    def from_json(source: str | Path) -> Tuning:
        """Use and store choices from `to_json`, from this or another session on the same adapter.

        Parameters
        ----------
        source : str or Path
            The JSON text, or the path of a file.

        Raises
        ------
        ValueError
            If the text is not valid, has unknown parameters or values, is for another adapter, or
            gives wrong results on this one. Then nothing has changed.
        """
        backend = _backend("from_json")
        text = source.read_text(encoding="utf-8") if isinstance(source, Path) else source
        record = _Record.parsed(text, backend)
        host.check_can_wait("from_json")
        for name, value in record.choices.items():
            choices = _with(_defaults(backend), {name: value}, backend)
            if choices != _defaults(backend) and (wrong := error_with(backend, name, choices)):
                raise ValueError(f"from_json: {name} = {value} does not work here: {wrong}")
        backend.keep_choices(record.to_json())
        return tuning()

    def reset(self) -> Tuning:
        """Forget all results and use the defaults; parameters in use change in the next session."""
        backend = _backend("reset")
        host.check_can_wait("reset")
        backend.keep_choices("")
        return tuning()

    def __repr__(self) -> str:
        return self.table(shutil.get_terminal_size().columns)

    def table(self, columns: int) -> str:
        """Return the choices with every value and its time, as text of limited width."""
        lines = [self._head(), *chain.from_iterable(map(_lines, self.parameters))]
        return "\n".join(
            row
            for line in lines
            for row in wrap(line, max(20, columns), subsequent_indent="    ") or [""]
        )

    def _head(self) -> str:
        names = (self.adapter.get(key) for key in ("vendor", "architecture", "device"))
        name = " ".join(str(x) for x in names if x) or "this adapter"
        if self.when is None:
            return f"{name}: not tuned (run pt.tune())"
        kept = f"lost with this session: {self.unkept}" if self.unkept else "kept"
        return f"{name}: tuned {self.when}, {kept}"


def _lines(row: TuningParameter) -> Iterator[str]:
    default = "default" if row.value == row.default else f"default {row.default}"
    later = f"; from the next session on {row.later}" if row.later != row.value else ""
    yield f"{row.name} = {row.value} ({default}){later}"
    width = max((len(a.value) for a in row.attempts), default=0)
    for a in row.attempts:
        time = "-" if a.time is None else duration(a.time * 1e9)
        yield f"  {a.value:{width}} {time:>9}  {a.verdict}"


@dataclass(slots=True)
class _Record:
    """The stored result of tuning: the choices of the tuned parameters, and the attempts."""

    adapter: dict[str, Any]
    when: str | None
    choices: dict[str, str]
    attempts: dict[str, list[Attempt]]

    @staticmethod
    def of(backend: WebGPU) -> _Record:
        """Return the record stored for the device; an empty one if it is missing or unreadable."""
        try:
            return _Record.parsed(backend.record, backend)
        except ValueError:
            return _Record(backend.adapter, None, {}, {})

    @staticmethod
    def parsed(text: str, backend: WebGPU) -> _Record:
        """Parse the output of `to_json`; raises ValueError for other text, or another device."""
        try:
            stored: Any = json.loads(text)
            attempts = {
                str(name): [
                    Attempt(str(a["value"]), a["time"] and float(a["time"]), str(a["verdict"]))
                    for a in rows
                ]
                for name, rows in stored["attempts"].items()
            }
            choices = {str(name): str(value) for name, value in stored["choices"].items()}
            record = _Record(dict(stored["adapter"]), stored["when"], choices, attempts)
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            raise ValueError("from_json: text must be the output of to_json") from None
        adapter = backend.adapter
        if record.adapter != adapter:
            raise ValueError(f"from_json: the choices are for {record.adapter}, not for {adapter}")
        _with(_defaults(backend), choices, backend)
        return record

    def to_json(self) -> str:
        return json.dumps(asdict(self), indent=1)


def _defaults(backend: WebGPU) -> Choices:
    return defaults(backend.profile.software)


def _with(choices: Choices, named: Mapping[str, str], backend: WebGPU) -> Choices:
    """Replace choices by values given as text; raises ValueError for unknown values."""
    software = backend.profile.software
    return replace(choices, **{n: value_of(n, value, software) for n, value in named.items()})


def _backend(op: str) -> WebGPU:
    """Return the webgpu device."""
    device = default_device()
    if device.kind != "webgpu":
        raise DeviceError(f"{op}: the {device} device has no kernels to tune")
    backend: Any = device.backend
    return backend


# -- Comparing values ------------------------------------------------------------------------------


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
        if wrong := self.bench.check(entrant.backend):
            return wrong
        for other in self.entrants:
            if other is entrant:
                break
            if not other.attempt.verdict and other.backend.runs() == entrant.backend.runs():
                return f"the same kernels as {other.value}"
        return ""

    def _measure(self) -> None:
        """Measure all values in turn, so that other load on the machine affects all of them."""
        left = [e for e in self.entrants if not e.attempt.verdict]
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
        left = [e for e in self.entrants if not e.attempt.verdict]
        for entrant in left:
            if entrant.samples:
                entrant.attempt.time = median(entrant.samples)
        ranked = sorted(left, key=lambda e: e.attempt.time or 0.0)
        is_out = bool(default.attempt.verdict)
        better = (e for e in ranked if is_out or is_faster(e.samples, default.samples))
        return next(better, default)

    def _wrong_further(self, entrant: Entrant) -> str:
        if self.is_over:
            return OUT_OF_TIME
        return _Bench(self.backend, self.workloads.further).check(entrant.backend)

    def _conclude(self, best: Entrant) -> None:
        """Set the verdicts of all attempts."""
        for entrant in self.entrants:
            attempt = entrant.attempt
            if entrant.attempt.verdict:
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


# -- Workloads -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Workload:
    """An expression, its operands as NumPy arrays of float32, and the bytes of its result."""

    expression: Callable[..., Any]
    operands: tuple[Any, ...]
    expected: bytes


Make = Callable[[], Workload]
"""Makes a workload only when it is called for, because its operands are large."""


@dataclass(frozen=True)
class Workloads:
    """The workloads on which the values of a parameter are timed, and the best one is checked."""

    timed: tuple[Make, ...]
    further: tuple[Make, ...] = ()


def workloads_for(parameter: str, software: bool) -> Workloads:
    """Return the workloads that depend on a parameter, in sizes for the kind of adapter."""
    return (_ON_SOFTWARE if software else _ON_GPU)[parameter]


def _later(make: Callable[..., Workload]) -> Callable[..., Make]:
    """Return a function of the same parameters whose result makes the workload."""
    return partial(partial, make)


@_later
def product(m: int, n: int, k: int, *, transposed: bool = False) -> Workload:
    """Return a product of an m x k and a k x n matrix; `transposed`: both are stored transposed."""
    left, right = _elements((m, 0), ROWS, k), _elements((n, 1), COLUMNS, k).T
    expected = _repeated(left @ right, m, n).tobytes()
    a, b = _repeated(left, m, k), _repeated(right, k, n)

    def expression(x: Any, y: Any) -> Any:
        return x.T @ y.T if transposed else x @ y

    return Workload(expression, (a.T.copy(), b.T.copy()) if transposed else (a, b), expected)


@_later
def _over_rows(expression: Callable[..., Any], operands: int, rows: int, length: int) -> Workload:
    """Return a workload whose operands have some rows of some length."""
    arrays = [_repeated(_elements((seed,), ROWS, length), rows, length) for seed in range(operands)]
    return Workload(expression, tuple(arrays), expression(*arrays).tobytes())


def _centred(x: Any) -> Any:
    """Return three passes over each row, as in softmax.

    The maximum of each row is subtracted, and then the mean square of the result. The length of a
    row is a power of two, so means are exact.
    """
    below = x - x.max(-1, keepdims=True)
    return below - (below * below).mean(-1, keepdims=True)


def _multiplied_and_added(x: Any, y: Any) -> Any:
    return x * y + x


row_sums, column_sums, whole_sum = (
    partial(_over_rows, methodcaller("sum", axis), 1) for axis in (-1, 0, None)
)
centred = partial(_over_rows, _centred, 1)
map_of_two = partial(_over_rows, _multiplied_and_added, 2)


def _elements(seed: tuple[int, ...], rows: int, columns: int) -> Any:
    np = host.load_numpy()
    return np.random.default_rng(seed).choice(np.float32(ELEMENTS), (rows, columns))


def _repeated(unit: Any, rows: int, columns: int) -> Any:
    """Return a matrix that repeats another one cyclically."""
    np = host.load_numpy()
    return unit[np.ix_(np.arange(rows) % unit.shape[0], np.arange(columns) % unit.shape[1])]


_ODD_PRODUCTS = (product(261, 135, 67), product(260, 132, 68, transposed=True))
_ON_GPU = {
    "large_tile": Workloads((product(2048, 2048, 512),), _ODD_PRODUCTS),
    "medium_tile": Workloads((product(1024, 1024, 512),), _ODD_PRODUCTS),
    "small_tile": Workloads((product(512, 512, 512),), _ODD_PRODUCTS),
    "processors": Workloads((product(768, 768, 512), product(64, 64, 2**14))),
    "row_lanes": Workloads(
        (centred(2048, 4096), row_sums(4096, 4096)), (centred(67, 512), row_sums(67, 1021))
    ),
    "short_row_lanes": Workloads(
        (row_sums(2**17, 128),), (row_sums(1001, 61), column_sums(61, 1001))
    ),
    "unroll": Workloads(
        (whole_sum(4096, 4096), row_sums(4096, 4096)), (row_sums(67, 1021), column_sums(1021, 67))
    ),
    "reduce_groups": Workloads(
        (whole_sum(4096, 4096), column_sums(4096, 4096)), (column_sums(8191, 67),)
    ),
    "map_workgroup": Workloads((map_of_two(2048, 4096),), (map_of_two(1021, 67),)),
}
_ON_SOFTWARE = {
    "unroll": Workloads((whole_sum(512, 1024), row_sums(512, 1024)), (row_sums(67, 1021),)),
    "reduce_groups": Workloads((whole_sum(2048, 1024),), (column_sums(8191, 67),)),
    "map_workgroup": Workloads((map_of_two(512, 1024),), (map_of_two(1021, 67),)),
}
