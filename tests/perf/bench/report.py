"""The benchmarks' figures: as a table, printed row by row as they arrive, and as JSON.

The JSON is one object. `schema` is the version of its format, `SCHEMA`; it increases with changes
that affect readers.

- `date`, `command`, `machine` (the host: platform, CPUs, Python), `browser`, `adapter` (WebGPU's
  description), `software` (whether it is a software adapter), `versions` (of every contender);
- `effort`: the fields of `measure.Effort`;
- `probes`: `copy` and `multiplyAdd`, each with `unit`, `work` (bytes or flops per dispatch),
  `dispatches` per sample, `seconds` (per dispatch, for each sample, before and after all cases)
  and `rate` (of the median, in 10**9 of the unit); `readOfOne` and `readOfHundred`, with the
  `seconds` to compute one number by 1 or 100 small dispatches and read it, in JavaScript only;
- `results`: one object per case, with `suite`, `case`, `size`, `flops`, `bytes`, `unit`, `ops`
  (per call), and `contenders`: by name, the fields of `measure.Outcome`, with times in seconds per
  op; if measured, also `median`, `least`, `most`, `spread` (half the interquartile range, relative
  to the median), `rate` and `part_of_probe`; and the `ratios` of py_tensor: `best_peer` (speed
  relative to the fastest of the other WebGPU libraries) and `pytorch` (time relative to PyTorch's).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from tests.perf.bench.cases import Case
from tests.perf.bench.measure import Outcome

SCHEMA = 1

OURS = "py_tensor"
PYTORCH = "PyTorch"
NATIVE = "native"
PROBES = {"GB/s": "copy", "GFLOP/s": "multiplyAdd"}
"""The probe to which a case is compared."""


def result(suite: str, case: Case, outcomes: Mapping[str, Outcome], probes: Any) -> dict[str, Any]:
    """Return a case's entry among the results."""
    about = {"suite": suite, "case": case.name, "size": case.size, "flops": case.flops}
    about |= {"bytes": case.bytes, "unit": case.unit, "ops": case.ops}
    found = {name: _outcome(case, outcome, probes) for name, outcome in outcomes.items()}
    return {**about, "contenders": found, "ratios": _ratios(outcomes)}


def _outcome(case: Case, outcome: Outcome, probes: Any) -> dict[str, Any]:
    entry = asdict(outcome)
    if outcome.status != "measured":
        return entry
    entry |= {"median": outcome.median, "spread": outcome.spread}
    entry |= {"least": min(outcome.samples), "most": max(outcome.samples)}
    if case.work:
        rate = case.work / outcome.median / 1e9
        entry |= {"rate": rate, "part_of_probe": rate / probes[PROBES[case.unit]]["rate"]}
    return entry


def _ratios(outcomes: Mapping[str, Outcome]) -> dict[str, float]:
    medians = {n: o.median for n, o in outcomes.items() if o.status == "measured"}
    if OURS not in medians:
        return {}
    ours = medians.pop(OURS)
    pytorch = medians.pop(PYTORCH, None)
    medians.pop(NATIVE, None)
    ratios = {"best_peer": min(medians.values()) / ours} if medians else {}
    return ratios | ({"pytorch": ours / pytorch} if pytorch else {})


class Table:
    """A table of text with columns for these contenders."""

    def __init__(self, contenders: Sequence[str]) -> None:
        self._others = [name for name in contenders if name != OURS]
        self._has_peers = any(name not in (PYTORCH, NATIVE) for name in self._others)
        self._has_pytorch = PYTORCH in self._others

    def head(self) -> str:
        cells = ["kernels", OURS, "±", "GPU alone", "rate", "of probe", *self._others]
        cells += ["× peer"] * self._has_peers + ["of PyTorch"] * self._has_pytorch
        return _line("case", cells)

    def row(self, entry: Mapping[str, Any]) -> str:
        found, ratios = entry["contenders"], entry["ratios"]
        ours = found[OURS]
        if ours["status"] == "measured":
            kernels = "" if ours["dispatches"] is None else f"{ours['dispatches'] / entry['ops']:g}"
            gpu = duration(ours["gpu"]) if ours["gpu"] else ""
            spread = f"{ours['spread']:.0%}" if len(ours["samples"]) >= FEW else ""
            cells = [kernels, duration(ours["median"]), spread, gpu]
            cells += _rate(ours, entry["unit"])
        else:
            cells = ["", _brief(ours), "", "", "", ""]
        cells += [_brief(found[name]) if name in found else "" for name in self._others]
        if self._has_peers:
            cells.append(f"{ratios['best_peer']:.2f}" if "best_peer" in ratios else "")
        if self._has_pytorch:
            cells.append(f"{ratios['pytorch']:.2f}" if "pytorch" in ratios else "")
        return _line(f"{entry['case']}, {entry['size']}", cells)

    def notes(self, entry: Mapping[str, Any]) -> list[str]:
        """Return notes on the contenders that do not fit into a cell."""
        found = entry["contenders"]
        told = [
            f"    {name}: {outcome['reason'][:WIDEST_NOTE]}"
            for name, outcome in found.items()
            if outcome["reason"]
        ]
        if more := found[OURS]["more_dispatches"]:
            told.append(f"    {OURS}: up to {more} dispatches more in a sample than its calls need")
        return told


NAME, FIRST, RATE, REST = 42, 8, 14, 12
"""Widths of the columns."""
WIDEST_NOTE = 160
FEW = 3
"""With fewer samples no spread is shown."""


def _line(name: str, cells: Sequence[str]) -> str:
    widths = [FIRST, REST, 6, REST, RATE, FIRST + 1]
    widths += [REST] * (len(cells) - len(widths))
    return f"{name:<{NAME}}" + "".join(f"{c:>{w}}" for c, w in zip(cells, widths, strict=True))


def _brief(outcome: Mapping[str, Any]) -> str:
    """Return a contender's time, or why there is none; empty if it lacks the op."""
    match outcome["status"]:
        case "measured":
            return duration(outcome["median"])
        case "missing":
            return "none" if outcome["reason"] else ""
        case status:
            return status


def _rate(outcome: Mapping[str, Any], unit: str) -> list[str]:
    if "rate" not in outcome:
        return ["", ""]
    return [_scaled(outcome["rate"], unit), f"{outcome['part_of_probe']:.0%}"]


def _scaled(rate: float, unit: str) -> str:
    """Format a rate with a prefix: 1234 GB/s is 1.23 TB/s."""
    if rate >= 1000:
        return f"{rate / 1000:.2f} {unit.replace('G', 'T', 1)}"
    return f"{rate:.3g} {unit}"


def duration(seconds: float) -> str:
    for unit, size in (("s", 1.0), ("ms", 1e-3)):
        if seconds >= size:
            return f"{seconds / size:.3f} {unit}"
    return f"{seconds * 1e6:.2f} µs"
