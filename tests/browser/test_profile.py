"""`pt.profile`: GPU times of every dispatch."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.browser.app import AppPage

WORK = """
import json
x = pt.rand(256, 256).realize()
kept = x * 3
with pt.profile() as p:
    y = (x @ x).realize()
    z = pt.exp(x) / (1 + x)
print(json.dumps([z.shape, p.flushes, p.planned]))
"""


@pytest.fixture(scope="module")
def profiled(app: AppPage) -> dict[str, Any]:
    printed = app.run(WORK + "print(p.to_json())\nprint(p.to_chrome_trace())\nprint(p)")["stdout"]
    first, report, trace, table = printed.split("\n", 3)
    return {
        "first": json.loads(first),
        "report": json.loads(report),
        "trace": json.loads(trace),
        "table": table,
    }


def test_every_dispatch_of_the_block_and_no_other(profiled: dict[str, Any]) -> None:
    dispatches = profiled["report"]["dispatches"]
    assert [d["kernel"] for d in dispatches] == ["matmul", "exp_add_divide"]
    assert [d["operations"] for d in dispatches] == [2 * 256**3, 3 * 256**2]
    assert [d["traffic"] for d in dispatches] == [2 * 4 * 256**2] * 2
    assert profiled["first"][1:] == [2, 2]


def test_times_are_those_of_a_clock(profiled: dict[str, Any]) -> None:
    first, second = profiled["report"]["dispatches"]
    assert first["begin"] == 0
    assert first["begin"] < first["end"] <= second["begin"] <= second["end"] < 60e9


def test_the_table_and_the_trace_agree(profiled: dict[str, Any]) -> None:
    lines = profiled["table"].splitlines()
    assert lines[0].split()[:3] == ["kernel", "calls", "time"]
    assert {line.split()[0] for line in lines[1:3]} == {"matmul", "exp_add_divide"}
    assert lines[3].startswith("dispatches: 2 in ")
    events = [e for e in profiled["trace"]["traceEvents"] if e["ph"] == "X"]
    assert [e["name"] for e in events] == ["matmul", "exp_add_divide"]
    longest = profiled["report"]["dispatches"][0]
    assert {k["label"] for k in profiled["report"]["kernels"]} == {"matmul", "exp_add_divide"}
    assert events[0]["dur"] == pytest.approx((longest["end"] - longest["begin"]) / 1000)


def test_compilation_is_timed(app: AppPage) -> None:
    code = """
x = pt.rand(64, 64).realize()
def work():
    with pt.profile() as p:
        (pt.cos(x) * pt.sin(x) - 0.125).realize()
    return p.compiles, [(c.kernel, c.time > 0) for c in p.compilations], p.planned, p.recalled
[work(), work()]
"""
    assert app.run(code)["result"] == (
        "[(1, [('cos_sin_multiply_subtract', True)], 1, 0), (0, [], 0, 1)]"
    )


def test_work_continues_afterwards_without_the_clock(app: AppPage) -> None:
    error = app.run("with pt.profile() as p:\n    (pt.ones(3) + 1).realize()\n    1 / 0")["error"]
    assert error.splitlines()[-1].startswith("ZeroDivisionError")
    assert app.run("len(p.dispatches), (pt.ones(3) + 1).tolist()")["result"] == (
        "(1, [2.0, 2.0, 2.0])"
    )


def test_more_dispatches_than_one_query_set_holds(app: AppPage) -> None:
    code = """
with pt.profile() as p:
    x = pt.ones(4)
    for i in range(2500):
        x = (x + 1).realize()
len(p.dispatches), x.tolist(), p.dispatches == sorted(p.dispatches, key=lambda d: d.begin)
"""
    assert app.run(code)["result"] == "(2500, [2501.0, 2501.0, 2501.0, 2501.0], True)"


def test_one_profile_at_a_time(app: AppPage) -> None:
    error = app.run("with pt.profile():\n    with pt.profile():\n        pass")["error"]
    assert "DeviceError: profile: another profile is running" in error
    assert app.run("with pt.profile() as p: pass\nlen(p.dispatches)")["result"] == "0"


def test_the_cpu_device_has_no_clock(app: AppPage) -> None:
    code = "pt.set_default_device('cpu')\nwith pt.profile(): pass"
    assert "DeviceError: profile: only the webgpu device" in app.run(code)["error"]
    app.run("pt.set_default_device('webgpu')")
