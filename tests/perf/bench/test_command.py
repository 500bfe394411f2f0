"""`npm run bench`, from its command line to its JSON, on one small case."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from tests.environment import ROOT


def bench(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tests.perf.bench", "--no-setup", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)


def test_a_case_is_timed_and_kept(tmp_path: Path) -> None:
    kept = tmp_path / "out.json"
    chosen = ["--suite", "square", "--case", "exp, 64", "--rounds", "3"]
    done = bench(*chosen, "--json", str(kept))
    assert done.returncode == 0, done.stdout + done.stderr
    record = json.loads(kept.read_text("utf-8"))
    assert record["schema"] == 1
    assert record["command"] == ["--no-setup", *chosen, "--json", str(kept)]
    assert all(record["probes"][name]["rate"] > 0 for name in ("copy", "multiplyAdd"))
    for name in ("readOfOne", "readOfHundred"):
        assert min(record["probes"][name]["seconds"]) > 0
    (result,) = record["results"]
    assert (result["suite"], result["case"], result["size"]) == ("square", "exp", "64")
    ours = result["contenders"]["py_tensor"]
    assert ours["status"] == "measured"
    assert ours["dispatches"] == 1
    assert len(ours["samples"]) == 3
    assert ours["least"] <= ours["median"] <= ours["most"]
    assert "exp, 64" in done.stdout


def test_unknown_names_are_reported() -> None:
    done = bench("--suite", "nothing")
    assert done.returncode == 2
    assert "no suite 'nothing'; there are matmul" in done.stderr


def test_list() -> None:
    done = bench("--list")
    assert done.returncode == 0
    assert "    tanh(x*y + exp(-x)), 4096\n" in done.stdout
