"""Profiling of the GPU and the host: `with pt.profile() as p:`, then `print(p)`."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING, Any

from py_tensor.backends.choice import default_device
from py_tensor.base.errors import DeviceError
from py_tensor.convert.printing import label_lines
from py_tensor.runtime.connection import PHASES, Phase

if TYPE_CHECKING:
    from py_tensor.backends.webgpu import Timed

__all__ = ["Profile", "profile"]

COUNTS = ("compiles", "planned", "recalled", "flushes")
COARSE = 1000  # ns; browsers that round times use much larger steps


@dataclass(frozen=True, slots=True)
class Dispatch:
    """One run of a kernel.

    Attributes
    ----------
    kernel : str
        The ops it computes.
    variant : str
        The implementation, as in `pt.explain`.
    begin, end : int
        Nanoseconds since the first dispatch began.
    operations, traffic : int
        The number of elementwise ops and additions, and of bytes that had to be moved.
    """

    kernel: str
    variant: str
    begin: int
    end: int
    operations: int
    traffic: int

    @property
    def time(self) -> int:
        """Duration in nanoseconds."""
        return self.end - self.begin


@dataclass(frozen=True, slots=True)
class Compile:
    """One compiled kernel: its ops, its variant and the compile time in nanoseconds."""

    kernel: str
    variant: str
    time: int


@dataclass(slots=True)
class Kernel:
    """All runs of the kernels with one label, and their totals.

    Attributes
    ----------
    label : str
        The ops it computes.
    calls, time : int
        The number of dispatches and their total time in nanoseconds.
    operations, traffic : int
        As in `Dispatch`.
    compiles, compile_time : int
        The number of compiled variants and the compile time in nanoseconds.
    """

    label: str
    calls: int = 0
    time: int = 0
    operations: int = 0
    traffic: int = 0
    compiles: int = 0
    compile_time: int = 0


class Profile:
    """Timings of the kernels run in a ``with`` block, by GPU timestamps, and of the host.

    Each dispatch runs in a separate pass, and new kernels are compiled one at a time, so the block
    as a whole takes longer than without a profile. Ops pending before the block are computed before
    it, and those pending at its end are computed as part of it.

    Attributes
    ----------
    dispatches : list of Dispatch
        In execution order.
    compilations : list of Compile
        The compiled kernels, in order. Empty if Python cannot block, because they are not timed
        then.
    compiles : int
        The number of compiled kernels.
    planned, recalled : int
        The number of computations with a new plan, and with a cached plan.
    flushes : int
        Calls of the bridge that send commands, including uploads.
    host : dict
        Host time of the block in nanoseconds, by phase: "planning" kernels, "compiling" them,
        "submitting" commands, "waiting" for the GPU, and "recording" for the rest: recording ops,
        and the Python code of the block.
    """

    def __init__(self) -> None:
        self.dispatches: list[Dispatch] = []
        self.compilations: list[Compile] = []
        self.compiles = self.planned = self.recalled = self.flushes = 0
        self.host: dict[Phase, int] = dict.fromkeys(PHASES, 0)

    def __enter__(self) -> Profile:
        self._device = default_device()
        if self._device.kind != "webgpu":
            raise DeviceError("profile: only the webgpu device can be profiled")
        self._backend: Any = self._device.backend
        self._device.flush()
        self._backend.synchronize()
        self._before: dict[str, int] = self._backend.stats()
        self._backend.start_timing()
        self._began: dict[Phase, int] = self._backend.phases.times()
        return self

    def __exit__(self, kind: type[BaseException] | None, *error: object) -> None:
        try:
            if kind is None:
                self._device.flush()
        finally:
            ended: dict[Phase, int] = self._backend.phases.times()
            self.host = {phase: ended[phase] - self._began[phase] for phase in PHASES}
            timed: Timed = self._backend.stop_timing()
        after: dict[str, int] = self._backend.stats()
        for name in COUNTS:
            setattr(self, name, after[name] - self._before[name])
        self.dispatches = [
            Dispatch(m.program.label, m.program.variant, begin, end, m.operations, m.traffic)
            for m, begin, end in timed.times
        ]
        self.compilations = [Compile(p.label, p.variant, ns) for p, ns in timed.compiles]

    @property
    def time(self) -> int:
        """The total time of all dispatches in nanoseconds."""
        return sum(d.time for d in self.dispatches)

    def kernels(self) -> list[Kernel]:
        """Return the dispatches by label, longest total time first."""
        labels = [*self.dispatches, *self.compilations]
        by_name = {each.kernel: Kernel(each.kernel) for each in labels}
        for d in self.dispatches:
            k = by_name[d.kernel]
            k.calls += 1
            k.time += d.time
            k.operations += d.operations
            k.traffic += d.traffic
        for c in self.compilations:
            k = by_name[c.kernel]
            k.compiles += 1
            k.compile_time += c.time
        return sorted(by_name.values(), key=lambda k: -k.time)

    def __repr__(self) -> str:
        return self.table(shutil.get_terminal_size().columns)

    def table(self, columns: int) -> str:
        """Return the kernels as a table of limited width, longest total time first.

        Less important columns are omitted if there is not enough room.
        """
        kernels = self.kernels()
        name = max([6, *(len(k.label) for k in kernels)])
        shown = _columns_for(columns - min(name, NAME_WIDTH))
        name = min(name, columns - sum(c.width + 1 for c in shown))
        heads = "".join(f" {c.head:>{c.width}}" for c in shown)
        lines = [f"{'kernel':{name}}{heads}"]
        for k in kernels:
            first, *more = label_lines(k.label, name)
            cells = "".join(f" {c.cell(k):>{c.width}}" for c in shown)
            lines += [f"{first:{name}}{cells}", *more]
        for remark in self._remarks():
            lines += wrap(remark, columns)
        return "\n".join(lines)

    def _remarks(self) -> list[str]:
        compile_time = sum(c.time for c in self.compilations)
        in_time = f" in {duration(compile_time)}" if self.compiles else ""
        remarks = [
            f"dispatches: {len(self.dispatches)} in {duration(self.time)};"
            f" plans: {self.recalled} found, {self.planned} made;"
            f" compiles: {self.compiles}{in_time}"
        ]
        if any(self.host.values()):
            phases = ", ".join(f"{phase} {duration(ns)}" for phase, ns in self.host.items())
            remarks.append(f"host: {duration(sum(self.host.values()))}; {phases}")
        if is_rounded([d.time for d in self.dispatches]):
            remarks.append(
                "This browser rounds GPU times: short ones are 0 or one step of its clock."
            )
        return remarks

    def to_json(self, path: str | Path | None = None) -> str:
        """Return the profile as JSON, times in ns; also write it to the file at `path`, if given.

        ::

            {"dispatches": [{"kernel", "variant", "begin", "end", "operations", "traffic"}, ...],
             "kernels": [{"label", "calls", "time", "operations", "traffic",
                          "compiles", "compile_time"}, ...],
             "compilations": [{"kernel", "variant", "time"}, ...],
             "compiles": n, "planned": n, "recalled": n, "flushes": n,
             "host": {"recording", "planning", "compiling", "submitting", "waiting"}}

        The values are those of `Dispatch`, `Kernel`, `Compile` and `Profile`. Under Pyodide, paths
        refer to its virtual file system.
        """
        report = {
            "dispatches": [asdict(d) for d in self.dispatches],
            "kernels": [asdict(k) for k in self.kernels()],
            "compilations": [asdict(c) for c in self.compilations],
            "host": self.host,
        } | {name: getattr(self, name) for name in COUNTS}
        return written(json.dumps(report), path)

    def to_chrome_trace(self, path: str | Path | None = None) -> str:
        """Return the dispatches in Chrome's trace event format, for Perfetto and chrome://tracing.

        The trace is also written to the file at `path`, if given. Each dispatch is a complete event
        ("ph": "X") with "ts" and "dur" in microseconds and, in "args", its variant, operations,
        bytes and GB/s. Compilations are in "otherData", because they use the host's clock.
        """
        names = ("process_name", "py_tensor"), ("thread_name", "GPU")
        events: list[dict[str, Any]] = [
            {"name": kind, "ph": "M", "pid": 1, "tid": 1, "args": {"name": name}}
            for kind, name in names
        ]
        for d in self.dispatches:
            rate = d.traffic / d.time if d.time else None
            args = {"variant": d.variant, "operations": d.operations, "bytes": d.traffic}
            events.append(
                {"name": d.kernel, "cat": "kernel", "ph": "X", "pid": 1, "tid": 1}
                | {"ts": d.begin / 1000, "dur": d.time / 1000, "args": args | {"GB/s": rate}}
            )
        other = {
            "compilations": [asdict(c) for c in self.compilations],
            "plans found": self.recalled,
            "plans made": self.planned,
        }
        trace = {"traceEvents": events, "displayTimeUnit": "ns", "otherData": other}
        return written(json.dumps(trace), path)


def profile() -> Profile:
    """Profile a ``with`` block: the kernels on the GPU, and the host.

    Use ``with pt.profile() as p:`` and then print `p`.

    Raises
    ------
    DeviceError
        On the cpu device, on an adapter without timestamp queries, or inside another profile.
    WaitError
        If Python cannot block.
    """
    return Profile()


def is_rounded(times: Sequence[int]) -> bool:
    """Return whether a browser seems to round these times, in ns, to a coarse step."""
    times = [time for time in times if time]
    return bool(times) and min(times) >= COARSE and len(set(times)) <= 1 + len(times) // 8


def written(text: str, path: str | Path | None) -> str:
    """Return a text, after writing it to the file at `path`, if given."""
    if path is not None:
        Path(path).write_text(text, encoding="utf-8")
    return text


# -- The table ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Column:
    """A column of numbers; columns with a higher rank are omitted first."""

    head: str
    width: int
    rank: int
    cell: Callable[[Kernel], str]


NAME_WIDTH = 14  # the width that a table reserves for long kernel names
_COLUMNS = (
    _Column("calls", 6, 1, lambda k: str(k.calls)),
    _Column("time", 9, 0, lambda k: duration(k.time)),
    _Column("each", 9, 3, lambda k: duration(k.time / k.calls) if k.calls else "-"),
    _Column("bytes", 8, 5, lambda k: f"{count_text(k.traffic)}B"),
    _Column("GB/s", 6, 2, lambda k: _rate(k.traffic, k.time)),
    _Column("GFLOP/s", 7, 4, lambda k: _rate(k.operations, k.time)),
    _Column("compile", 9, 6, lambda k: duration(k.compile_time) if k.compiles else "-"),
)


def _columns_for(width: int) -> list[_Column]:
    """Return the most important columns that fit, in their order."""
    columns = list(_COLUMNS)
    while columns and sum(column.width + 1 for column in columns) > width:
        columns.remove(max(columns, key=lambda column: column.rank))
    return columns


def duration(ns: float) -> str:
    """Return a duration with three digits and a unit."""
    for unit, size in (("s", 1e9), ("ms", 1e6)):
        if ns >= 0.9995 * size:
            return f"{_digits(ns / size)} {unit}"
    return f"{_digits(ns / 1e3)} µs"


def count_text(n: int) -> str:
    """Return a count with three digits and a decimal prefix: "67.1 M"."""
    value, units = float(n), iter(("", "k", "M", "G", "T", "P"))
    unit = next(units)
    while value >= 999.5:
        value, unit = value / 1000, next(units)
    return f"{value:.3g} {unit}"


def _rate(amount: int, ns: int) -> str:
    """Return a rate per second in units of 10**9."""
    return _digits(amount / ns) if ns else "-"


def _digits(x: float) -> str:
    """Return a number with three digits, or all before the point; below 0.1, with two decimals."""
    return f"{x:.0f}" if x >= 99.95 else f"{x:.3g}" if x >= 0.0995 else f"{x:.2f}"
