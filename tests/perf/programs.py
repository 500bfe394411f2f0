"""Times whole programs outside a browser, and in PyTorch if it is installed.

usage: python3 -m tests.perf.programs FILE [--device webgpu|cpu] [--small] [--only NAME]...
                                           [--rounds N] [--json FILE]

FILE is Python with a function `programs(*, small)`, which maps names to the text of programs. Each
defines `work()`, which returns a 0-d result. Both libraries run the same text: `xp` is one of them,
and `roll`, `erf`, `swap`, `amax` and `pad` are its functions. Each program runs in its own process,
so that `cold`, the first call, plans and compiles everything; `warm` is the median of later calls.
Times are in milliseconds and include reading the result.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import runpy
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

OURS = """
import py_tensor as xp
roll, erf = xp.roll, xp.erf
swap = lambda a: xp.permute_dims(a, (0, 1, 3, 2))
amax = lambda a, axis: a.max(axis, keepdims=True)
pad = lambda a, value: xp.pad(a, 1, constant_values=value)
"""
TORCH = """
import torch as xp
xp.backends.cuda.matmul.allow_tf32 = False
xp.set_default_device("cuda" if xp.cuda.is_available() else "cpu")
erf = xp.erf
roll = lambda a, by, axis: xp.roll(a, by, dims=axis)
swap = lambda a: a.transpose(2, 3)
amax = lambda a, axis: a.amax(axis, keepdim=True)
pad = lambda a, value: xp.nn.functional.pad(a, (1, 1, 1, 1), value=value)
"""
CLOSE = 1e-3  # relative: summation orders differ


def main() -> int:
    assert __doc__ is not None
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("file", type=Path)
    parser.add_argument("--device", choices=("webgpu", "cpu"), default="webgpu")
    parser.add_argument("--small", action="store_true", help="sizes for a CPU")
    parser.add_argument("--only", action="append", metavar="NAME")
    parser.add_argument("--rounds", type=int, default=6, metavar="N", help="calls after the first")
    parser.add_argument("--json", type=Path, metavar="FILE")
    parser.add_argument("--here", help=argparse.SUPPRESS)  # the only program of this process
    options = parser.parse_args()
    texts: dict[str, str] = runpy.run_path(str(options.file))["programs"](small=options.small)
    if options.here is not None:
        print(json.dumps(timed(texts[options.here], options.device, options.rounds)))
        return 0
    rows: dict[str, dict[str, Any]] = {}
    for name in options.only or texts:
        rows[name] = in_process(name)
        print(f"{name:18} {line(rows[name])}", flush=True)
    ratios = [row["warm/torch"] for row in rows.values() if "warm/torch" in row]
    if ratios:
        print(f"geometric mean of warm/torch: {statistics.geometric_mean(ratios):.2f}")
    if options.json is not None:
        options.json.write_text(json.dumps(rows, indent=1) + "\n", "utf-8")
    return int(any("error" in row or not row.get("agree", True) for row in rows.values()))


def in_process(name: str) -> dict[str, Any]:
    """Run this command again, for one program."""
    command = [sys.executable, "-m", "tests.perf.programs", *sys.argv[1:], "--here", name]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        return {"error": done.stderr.strip().rpartition("\n")[2]}
    return json.loads(done.stdout.splitlines()[-1])


def timed(text: str, device: str, rounds: int) -> dict[str, Any]:
    """The times of one program; with PyTorch, also its times, and whether the results agree."""
    import py_tensor as pt

    pt.set_default_device(device)
    pt.ones(1).tolist()  # the device exists before the clock starts
    value, first, later = called(OURS + text, rounds)
    row: dict[str, Any] = {"value": value, "cold": first, "warm": statistics.median(later)}
    if importlib.util.find_spec("torch") is not None:
        value, _, later = called(TORCH + text, rounds)
        row["torch"] = statistics.median(later)
        row["warm/torch"] = row["warm"] / row["torch"]
        row["agree"] = abs(value - row["value"]) <= CLOSE * abs(value)
    return row


def called(text: str, rounds: int) -> tuple[float, float, list[float]]:
    """Return the result of `work`, the time of the first call, and those of the others."""
    space: dict[str, Any] = {}
    exec(text, space)
    times: list[float] = []
    value = 0.0
    for _ in range(rounds + 1):
        started = time.perf_counter()
        value = float(space["work"]())
        times.append(1e3 * (time.perf_counter() - started))
    return value, times[0], times[1:]


def line(row: dict[str, Any]) -> str:
    return ", ".join(f"{k} {v:.5g}" if isinstance(v, float) else f"{k} {v}" for k, v in row.items())


if __name__ == "__main__":
    sys.exit(main())
