"""Where a program's time goes, on the GPU and the host: `with pt.profile() as p:`, `print(p)`."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from textwrap import wrap
from types import TracebackType
from typing import TYPE_CHECKING, Any

from py_tensor.backend.device import GPU_DEVICE, default_device
from py_tensor.backend.phases import PHASES, Phase
from py_tensor.convert.printing import label_lines
from py_tensor.errors import DeviceError

if TYPE_CHECKING:
    from py_tensor.backend.webgpu import Timed

COARSE = 1000  # ns; a browser that rounds times rounds to far more


@dataclass(frozen=True, slots=True)
class Dispatch:
    """One run of a kernel.

    Attributes
    ----------
    kernel : str
        The ops it computes.
    variant : str
        How it goes about it, as `pt.explain` tells.
    begin, end : int
        Nanoseconds since the first dispatch began.
    operations, traffic : int
        Elementwise ops and additions; bytes that had to be moved, each counted once.
    """

    kernel: str
    variant: str
    begin: int
    end: int
    operations: int
    traffic: int

    @property
    def time(self) -> int:
        """Nanoseconds that it took."""
        return self.end - self.begin


@dataclass(frozen=True, slots=True)
class Compile:
    """One kernel that was compiled: its ops and variant, and the nanoseconds until it was ready."""

    kernel: str
    variant: str
    time: int


@dataclass(frozen=True, slots=True)
class Kernel:
    """All runs of the kernels with one label: how many, and their sums.

    Attributes
    ----------
    label : str
        The ops it computes.
    calls, time : int
        Dispatches, and the nanoseconds that they took.
    operations, traffic : int
        As of a `Dispatch`.
    compiles, compile_time : int
        How many variants were compiled, and the nanoseconds until they were ready.
    """

    label: str
    calls: int = 0
    time: int = 0
    operations: int = 0
    traffic: int = 0
    compiles: int = 0
    compile_time: int = 0


class Profile:
    """The kernels run inside a ``with`` block, timed by the GPU's own clock, and the host's time.

    Each dispatch runs in a pass of its own meanwhile, and new kernels are compiled one by one, so
    the block as a whole takes longer than it would otherwise. What was pending before the block is
    computed before, and what the block leaves pending at its end.

    Attributes
    ----------
    dispatches : list of Dispatch
        In the order in which they ran.
    compilations : list of Compile
        The kernels that were compiled, in that order. Where Python cannot block they are not timed,
        and not listed.
    compiles : int
        Kernels compiled.
    planned, recalled : int
        Computations whose plan was made, and those whose plan was found in the cache.
    flushes : int
        Calls into JavaScript, uploads included.
    host : dict
        Nanoseconds that the block took on the host, by phase: "planning" kernels, "compiling" them,
        "submitting" the commands, "waiting" for the GPU, and "recording", which is all the rest:
        recording ops, and the block's own Python.
    """

    def __init__(self) -> None:
        self.dispatches: list[Dispatch] = []
        self.compilations: list[Compile] = []
        self.compiles = self.planned = self.recalled = self.flushes = 0
        self.host: dict[Phase, int] = dict.fromkeys(PHASES, 0)

    def __enter__(self) -> Profile:
        if default_device() is not GPU_DEVICE:
            raise DeviceError("profile: only the webgpu device can be profiled")
        self._backend: Any = GPU_DEVICE.backend
        GPU_DEVICE.flush()
        self._backend.synchronize()
        self._before: dict[str, int] = self._backend.stats()
        self._backend.start_timing()
        self._began: dict[Phase, int] = self._backend.phases.times()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            if error is None:
                GPU_DEVICE.flush()
        finally:
            ended: dict[Phase, int] = self._backend.phases.times()
            self.host = {phase: ended[phase] - self._began[phase] for phase in PHASES}
            timed: Timed = self._backend.stop_timing()
        after: dict[str, int] = self._backend.stats()
        for name in ("compiles", "planned", "recalled", "flushes"):
            setattr(self, name, after[name] - self._before[name])
        self.dispatches = [
            Dispatch(m.program.label, m.program.variant, begin, end, m.operations, m.traffic)
            for m, begin, end in timed.times
        ]
        self.compilations = [Compile(p.label, p.variant, ns) for p, ns in timed.compiles]

    @property
    def time(self) -> int:
        """Nanoseconds that all dispatches took together."""
        return sum(d.time for d in self.dispatches)

    def kernels(self) -> list[Kernel]:
        """The dispatches by label, those that took longest first."""
        found: dict[str, Kernel] = {}
        for d in self.dispatches:
            k = found.get(d.kernel, Kernel(d.kernel))
            found[d.kernel] = replace(
                k,
                calls=k.calls + 1,
                time=k.time + d.time,
                operations=k.operations + d.operations,
                traffic=k.traffic + d.traffic,
            )
        for c in self.compilations:
            k = found.get(c.kernel, Kernel(c.kernel))
            found[c.kernel] = replace(
                k, compiles=k.compiles + 1, compile_time=k.compile_time + c.time
            )
        return sorted(found.values(), key=lambda k: -k.time)

    def __repr__(self) -> str:
        return self.table(shutil.get_terminal_size().columns)

    def table(self, columns: int) -> str:
        """The kernels, those that took longest first, in lines of at most so many columns.

        Where there is less room, the columns that tell least are left out.
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
        """All of it as JSON, times in ns; also written to the file at `path`, if one is given.

        ::

            {"dispatches": [{"kernel", "variant", "begin", "end", "operations", "traffic"}, ...],
             "kernels": [{"label", "calls", "time", "operations", "traffic",
                          "compiles", "compile_time"}, ...],
             "compilations": [{"kernel", "variant", "time"}, ...],
             "compiles": n, "planned": n, "recalled": n, "flushes": n,
             "host": {"recording", "planning", "compiling", "submitting", "waiting"}}

        The values are those of `Dispatch`, `Kernel`, `Compile` and `Profile`. Under Pyodide a path
        is one of its own file system.
        """
        counts = ("compiles", "planned", "recalled", "flushes")
        report = {
            "dispatches": [asdict(d) for d in self.dispatches],
            "kernels": [asdict(k) for k in self.kernels()],
            "compilations": [asdict(c) for c in self.compilations],
            "host": self.host,
        } | {name: getattr(self, name) for name in counts}
        return _written(json.dumps(report), path)

    def to_chrome_trace(self, path: str | Path | None = None) -> str:
        """The dispatches in Chrome's trace event format, which Perfetto and chrome://tracing open.

        Also written to the file at `path`, if one is given. Each dispatch is a complete event
        ("ph": "X") with "ts" and "dur" in microseconds and, in "args", its variant, operations,
        bytes, and GB/s. What was compiled is in "otherData": the host's clock is not the GPU's.
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
        return _written(json.dumps(trace), path)


def profile() -> Profile:
    """Time the kernels of a ``with`` block on the GPU, and what the host does beside them.

    Write ``with pt.profile() as p:`` and the work below it; then print `p`.

    Raises
    ------
    DeviceError
        On the cpu device, on an adapter without timestamp queries, inside another profile.
    WaitError
        Where Python cannot block.
    """
    return Profile()


def is_rounded(times: Sequence[int]) -> bool:
    """Whether a browser seems to round these times of dispatches, in ns, to a coarse step."""
    times = [time for time in times if time]
    return bool(times) and min(times) >= COARSE and len(set(times)) <= 1 + len(times) // 8


def _written(text: str, path: str | Path | None) -> str:
    if path is not None:
        Path(path).write_text(text, encoding="utf-8")
    return text


# -- The table ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Column:
    """A column of numbers; those of higher rank are left out first."""

    head: str
    width: int
    rank: int
    cell: Callable[[Kernel], str]


NAME_WIDTH = 14  # that a table leaves for the names of kernels, if they are that long
_COLUMNS = (
    _Column("calls", 6, 1, lambda k: str(k.calls)),
    _Column("time", 9, 0, lambda k: duration(k.time)),
    _Column("each", 9, 3, lambda k: duration(k.time / k.calls) if k.calls else "-"),
    _Column("bytes", 8, 5, lambda k: _bytes_text(k.traffic)),
    _Column("GB/s", 6, 2, lambda k: _rate(k.traffic, k.time)),
    _Column("GFLOP/s", 7, 4, lambda k: _rate(k.operations, k.time)),
    _Column("compile", 9, 6, lambda k: duration(k.compile_time) if k.compiles else "-"),
)


def _columns_for(width: int) -> list[_Column]:
    """The columns that tell most, as many as fit, in their order."""
    chosen: list[_Column] = []
    for column in sorted(_COLUMNS, key=lambda c: c.rank):
        if sum(c.width + 1 for c in (*chosen, column)) > width:
            break
        chosen.append(column)
    return [c for c in _COLUMNS if c in chosen]


def duration(ns: float) -> str:
    """With three digits, in seconds or a part of them."""
    for unit, size in (("s", 1e9), ("ms", 1e6)):
        if ns >= 0.9995 * size:
            return f"{_digits(ns / size)} {unit}"
    return f"{_digits(ns / 1e3)} µs"


def _bytes_text(n: int) -> str:
    """Bytes with three digits."""
    for unit, size in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if n >= 0.9995 * size:
            return f"{_digits(n / size)} {unit}"
    return f"{n} B"


def _rate(amount: int, ns: int) -> str:
    """Per second, in units of 10**9."""
    return _digits(amount / ns) if ns else "-"


def _digits(x: float) -> str:
    """Three digits, or all before the point; of what is below 0.1, two behind it."""
    return f"{x:.0f}" if x >= 99.95 else f"{x:.3g}" if x >= 0.0995 else f"{x:.2f}"
