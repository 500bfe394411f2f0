"""How long kernels take on the GPU: `with pt.profile() as p: ...`, then `print(p)`."""

from __future__ import annotations

import json
from dataclasses import dataclass
from types import TracebackType
from typing import Any

from py_tensor.backend.device import GPU_DEVICE, default_device
from py_tensor.errors import DeviceError

COARSE = 1000  # ns; a browser that rounds times rounds to far more


@dataclass(frozen=True, slots=True)
class Dispatch:
    """One run of a kernel.

    Attributes
    ----------
    kernel : str
        The ops it computes.
    begin, end : int
        Nanoseconds since the first dispatch began.
    operations, traffic : int
        Elementwise ops and additions; bytes that had to be moved, each counted once.
    """

    kernel: str
    begin: int
    end: int
    operations: int
    traffic: int

    @property
    def time(self) -> int:
        return self.end - self.begin


@dataclass(frozen=True, slots=True)
class Kernel:
    """All runs of the kernels with one label: how many, and their sums."""

    label: str
    calls: int
    time: int
    operations: int
    traffic: int


class Profile:
    """The kernels run inside a ``with`` block, timed by the GPU's own clock.

    Each dispatch runs in a pass of its own meanwhile, so the block as a whole takes longer than it
    would otherwise. What was pending before the block is computed before, and what the block leaves
    pending at its end.

    Attributes
    ----------
    dispatches : list of Dispatch
        In the order in which they ran.
    compiles, planned, flushes : int
        Kernels compiled, flushes whose plan was not in the cache, and flushes altogether.
    """

    def __init__(self) -> None:
        self.dispatches: list[Dispatch] = []
        self.compiles = self.planned = self.flushes = 0

    def __enter__(self) -> Profile:
        if default_device() is not GPU_DEVICE:
            raise DeviceError("profile: only the webgpu device has a clock of its own")
        self._backend: Any = GPU_DEVICE.backend
        GPU_DEVICE.flush()
        self._backend.synchronize()
        self._before: dict[str, int] = self._backend.stats()
        self._backend.start_timing()
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
            timed = self._backend.stop_timing()
        after: dict[str, int] = self._backend.stats()
        for name in ("compiles", "planned", "flushes"):
            setattr(self, name, after[name] - self._before[name])
        self.dispatches = [
            Dispatch(m.program.label, begin, end, m.operations, m.traffic)
            for m, begin, end in timed
        ]

    @property
    def time(self) -> int:
        """Nanoseconds that all dispatches took together."""
        return sum(d.time for d in self.dispatches)

    def kernels(self) -> list[Kernel]:
        """The dispatches by label, those that took longest first."""
        found: dict[str, Kernel] = {}
        for d in self.dispatches:
            k = found.get(d.kernel, Kernel(d.kernel, 0, 0, 0, 0))
            found[d.kernel] = Kernel(
                d.kernel,
                k.calls + 1,
                k.time + d.time,
                k.operations + d.operations,
                k.traffic + d.traffic,
            )
        return sorted(found.values(), key=lambda k: -k.time)

    def __repr__(self) -> str:
        kernels = self.kernels()
        width = max([6, *(len(k.label) for k in kernels)])
        head = f"{'kernel':{width}} {'calls':>6} {'time':>10} {'each':>10} {'GB/s':>8} {'Gop/s':>8}"
        lines = [head]
        for k in kernels:
            rates = " ".join(f"{_rate(n, k.time):>8}" for n in (k.traffic, k.operations))
            times = f"{_duration(k.time):>10} {_duration(k.time / k.calls):>10}"
            lines.append(f"{k.label:{width}} {k.calls:6} {times} {rates}")
        lines.append(
            f"{len(self.dispatches)} dispatches in {_duration(self.time)}; {self.flushes} flushes,"
            f" {self.planned} planned anew; {self.compiles} kernels compiled"
        )
        if self._is_rounded():
            lines.append(
                "This browser rounds GPU times: short ones are 0 or one step of its clock."
            )
        return "\n".join(lines)

    def _is_rounded(self) -> bool:
        times = [d.time for d in self.dispatches if d.time]
        return bool(times) and min(times) >= COARSE and len(set(times)) <= 1 + len(times) // 8

    def to_json(self) -> str:
        """Every dispatch, times in ns: ``{"dispatches": [{"kernel": ..., "begin": ...}, ...]}``."""
        names = "kernel", "begin", "end", "operations", "traffic"
        dispatches = [{name: getattr(d, name) for name in names} for d in self.dispatches]
        counts = {"compiles": self.compiles, "planned": self.planned, "flushes": self.flushes}
        return json.dumps(counts | {"dispatches": dispatches})

    def to_chrome_trace(self) -> str:
        """The dispatches in Chrome's trace event format, which Perfetto opens as well."""
        events = [
            {"name": d.kernel, "ph": "X", "pid": 1, "tid": 1}
            | {"ts": d.begin / 1000, "dur": d.time / 1000}
            | {"args": {"operations": d.operations, "bytes": d.traffic}}
            for d in self.dispatches
        ]
        return json.dumps({"traceEvents": events, "displayTimeUnit": "ns"})


def profile() -> Profile:
    """Time the kernels of a ``with`` block on the GPU.

    Write ``with pt.profile() as p:`` and the work below it; then print `p`.

    Raises
    ------
    DeviceError
        On the cpu device, on an adapter without timestamp queries, inside another profile.
    WaitError
        Where Python cannot block.
    """
    return Profile()


def _duration(ns: float) -> str:
    for unit, size in (("s", 1e9), ("ms", 1e6)):
        if ns >= size:
            return f"{ns / size:.3f} {unit}"
    return f"{ns / 1e3:.1f} µs"


def _rate(amount: int, ns: int) -> str:
    """Per second, in units of 10**9."""
    return f"{amount / ns:.4g}" if ns else "-"
