"""`pt.profile` without a GPU: its table and its exports for given times."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import py_tensor as pt
from py_tensor.backends import choice
from py_tensor.tools import profiling
from py_tensor.tools.profiling import Compile, Dispatch, Profile
from tests.unit.fake_bridge import GPU


@pytest.fixture
def place(gpu: GPU, monkeypatch: pytest.MonkeyPatch) -> GPU:
    """The fake GPU as the default device."""
    monkeypatch.setattr(choice, "_default", gpu.device)
    return gpu


def profiled(place: GPU) -> Profile:
    x = pt.ones((8, 8), device=place.device).realize()
    with pt.profile() as p:
        for n in range(3):
            (x + n).realize()
        (x @ x).realize()
    return p


def test_calls_plans_and_compiles(place: GPU) -> None:
    p = profiled(place)
    assert [(k.label, k.calls, k.compiles) for k in p.kernels()] == [
        ("add", 3, 1),
        ("matmul", 1, 1),
    ]
    assert [k.time for k in p.kernels()] == [6000, 4000]
    assert (p.planned, p.recalled, p.compiles, p.flushes) == (2, 2, 2, 4)
    assert all(c.time > 0 for c in p.compilations)
    assert p.dispatches[0].variant == "run"
    assert set(p.host) == {"recording", "planning", "compiling", "submitting", "waiting"}
    assert all(ns > 0 for phase, ns in p.host.items() if phase != "waiting")
    assert p.host["waiting"] == 0, "nothing was read"
    assert "host: " in repr(p)
    again = profiled(place)
    assert again.host["planning"] == again.host["compiling"] == 0
    assert (again.planned, again.recalled, again.compiles, again.compilations) == (0, 4, 0, [])


def some(*labels: str) -> Profile:
    p = Profile()
    p.dispatches = [
        Dispatch(label, "run", 10**7 * n, 10**7 * n + 1_234_567 * 10**n, 5 * 10**9, 3 * 10**6)
        for n, label in enumerate(labels)
    ]
    p.compilations = [Compile(labels[0], "run", 35_000_000)]
    p.compiles = 1
    return p


def test_the_table() -> None:
    text = some("exp_add", "matmul").table(80).splitlines()
    assert text == [
        "kernel   calls      time      each    bytes   GB/s GFLOP/s   compile",
        "matmul       1   12.3 ms   12.3 ms     3 MB  0.243     405         -",
        "exp_add      1   1.23 ms   1.23 ms     3 MB   2.43    4050     35 ms",
        "dispatches: 2 in 13.6 ms; plans: 0 found, 0 made; compiles: 1 in 35 ms",
    ]


@pytest.mark.parametrize("columns", [30, 40, 60, 80, 200])
def test_the_table_fits(columns: int) -> None:
    long = "_".join(f"subtract_exp{n}" for n in range(8))
    text = some("sum", long, "matmul_add", "sum").table(columns)
    assert max(map(len, text.splitlines())) <= columns
    head = text.splitlines()[0].split()
    assert head[:1] == ["kernel"]
    assert "time" in head
    assert ("compile" in head) == (columns >= 80)
    for word in long.split("_"):
        assert word in text


def test_the_json() -> None:
    p = some("sum", "exp", "sum")
    report = json.loads(p.to_json())
    assert set(report) == {
        "dispatches", "kernels", "compilations", "compiles", "planned", "recalled", "flushes",
        "host",
    }  # fmt: skip
    assert [Dispatch(**d) for d in report["dispatches"]] == p.dispatches
    assert [profiling.Kernel(**k) for k in report["kernels"]] == p.kernels()
    assert [Compile(**c) for c in report["compilations"]] == p.compilations
    assert report["compiles"] == 1


def test_the_chrome_trace() -> None:
    p = some("sum", "exp")
    trace = json.loads(p.to_chrome_trace())
    first, second = (e for e in trace["traceEvents"] if e["ph"] == "X")
    assert (first["name"], second["name"]) == ("sum", "exp")
    assert (first["ts"], first["dur"]) == (0, 1234.567)
    assert first["args"]["GB/s"] == pytest.approx(3e6 / 1_234_567)
    assert all({"pid", "tid", "args"} <= set(e) for e in trace["traceEvents"])
    assert trace["otherData"]["compilations"][0]["kernel"] == "sum"


def test_files(tmp_path: Path) -> None:
    p = some("sum")
    for write in (p.to_json, p.to_chrome_trace):
        path = tmp_path / "out.json"
        assert write(path) == path.read_text() == write(str(path))


def test_a_dispatch_of_no_time_has_no_rate() -> None:
    p = some("sum")
    p.dispatches = [Dispatch("sum", "run", 0, 0, 10, 10)]
    assert " - " in p.table(80)
    json.loads(p.to_chrome_trace())
