"""Magics, lines that begin with a percent sign: splitting an input, and running each magic."""

from __future__ import annotations

import ast
import asyncio
import random
import sys
from collections.abc import Iterator
from typing import Any

import pytest

import py_tensor as pt
from py_tensor.backends.kinds import CPU_DEVICE
from tests.page_python import load

magics = load("magics")
session = load("session")


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A session on the cpu device."""
    hidden = [str(session.__file__).rpartition("/")[0]]
    found = session.Session({"pt": pt, "__name__": "__main__"}, hidden)
    monkeypatch.setattr(sys, "displayhook", found.display)
    monkeypatch.setattr(magics, "MIN_SECONDS", 0.001)
    before = pt.default_device()
    pt.set_default_device("cpu")
    yield found
    pt.set_default_device(before)


def run(made: Any, source: str) -> Any:
    return asyncio.run(made.run(source))


Expected = list[tuple[str, str] | tuple[str, str, tuple[tuple[str, int], ...]]]
"""The magic, code and options of each part."""


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("x + 1", [("", "x + 1")]),
        ("", []),
        ("%time x", [("time", "x")]),
        ("%time  x; y\nz", [("time", "x\ny"), ("", "z")]),
        (
            "a\n%time x\nb\n%timeit y\nc",
            [("", "a"), ("time", "x"), ("", "b"), ("timeit", "y"), ("", "c")],
        ),
        ("%time f(1,\n  2)\nz", [("time", "f(1, 2)"), ("", "z")]),
        ("%time for i in x:\n    i\nz", [("time", "for i in x:\n    i"), ("", "z")]),
        ("%%time\nx = 1\ny", [("time", "x = 1\ny")]),
        ("%%time x = 1\ny", [("time", "x = 1\ny")]),
        ("%timeit -n 10 -r3 x", [("timeit", "x", (("n", 10), ("r", 3)))]),
        ("%timeit -x", [("timeit", "-x")]),
        ("x = (7\n%time)", [("", "x = 7 % time")]),
        ("'''\n%time x\n'''", [("", "'\\n%time x\\n'")]),
        ("%who", [("who", "")]),
        ("%matplotlib inline\nx", [("matplotlib", ""), ("", "x")]),
        ("x\n%config InlineBackend.figure_format = 'svg'", [("", "x"), ("config", "")]),
        ("%load_ext autoreload\n%autoreload 2", [("load_ext", ""), ("autoreload", "")]),
        ("x\n%who\ny", [("", "x"), ("who", ""), ("", "y")]),
        ("%time '''\n%time\n'''", [("time", "'\\n%time\\n'")]),
    ],
)
def test_an_input_is_split(source: str, expected: Expected) -> None:
    found = [p for p in magics.split(source, "<input>") if p.magic or p.tree.body]
    assert [p.magic for p in found] == [magic for magic, *_ in expected]
    for part, (_, code, *options) in zip(found, expected, strict=True):
        assert ast.dump(part.tree) == ast.dump(ast.parse(code))
        assert [part.options] == (options or [()])


@pytest.mark.parametrize("at", range(3))
@pytest.mark.parametrize("magic", ["%time ", "%%timeit ", "%timeit -n 3\t", "%profile   "])
def test_every_piece_of_code_keeps_its_place(at: int, magic: str) -> None:
    """The nodes of a part have the positions of the same code in the source."""
    above = "\n" * (0 if magic.startswith("%%") else at)
    code = "f(α, [b, c\n], d=e.g) + {h: i}[j:k]"
    source = above + magic + code
    (part,) = (p for p in magics.split(source, "<input>") if p.magic)
    plain = ast.parse(code)
    for node, twin in zip(ast.walk(part.tree), ast.walk(plain), strict=True):
        if isinstance(node, ast.expr):
            segment = ast.get_source_segment(source, node)
            assert segment == ast.get_source_segment(code, twin)


@pytest.mark.parametrize(
    ("source", "message", "line", "offset"),
    [
        ("%nope x", "unknown magic %nope; available: %time, %timeit, %profile", 1, 1),
        ("x\n%nope", "unknown magic %nope", 2, 1),
        ("%time", "%time needs code to run: %time x @ x", 1, 1),
        ("%timeit -n 5\nx", "%timeit needs code to run", 1, 1),
        ("x\n%time y = = z", "invalid syntax", 2, 11),
        ("%time x\ny = = z", "invalid syntax", 2, 5),
        ("y = = z\n%time x", "invalid syntax", 1, 5),
        ("% time x", "invalid syntax", 1, 1),
    ],
)
def test_errors_are_shown_at_their_place(source: str, message: str, line: int, offset: int) -> None:
    with pytest.raises(SyntaxError) as caught:
        magics.split(source, "<input>")
    assert str(caught.value.msg).startswith(message)
    assert (caught.value.lineno, caught.value.offset) == (line, offset)
    assert str(caught.value.text).rstrip("\n") == source.split("\n")[line - 1]


def test_time_prints_and_shows_the_value(made: Any, capsys: pytest.CaptureFixture[str]) -> None:
    done = run(made, "x = pt.ones(3)\n%time (x + 1).sum()")
    assert done.error is None
    assert done.result == "tensor(6.)"
    assert capsys.readouterr().out.startswith("Wall time: ")
    assert "__value__" not in made.namespace


def test_time_of_statements(made: Any, capsys: pytest.CaptureFixture[str]) -> None:
    done = run(made, "%%time\ntotal = 0\nfor i in range(4):\n    total += i\n")
    assert (done.error, done.result) == (None, None)
    assert made.namespace["total"] == 6
    assert capsys.readouterr().out.count("Wall time") == 1


def test_timeit_runs_the_code_in_every_loop(made: Any, capsys: pytest.CaptureFixture[str]) -> None:
    done = run(made, "calls = []\n%timeit -n 5 -r 3 calls.append(1)")
    assert done.error is None
    assert len(made.namespace["calls"]) == 1 + 5 * 3
    assert capsys.readouterr().out.endswith("(mean ± std. dev. of 3 runs, 5 loops each)\n")


@pytest.fixture
def computed(made: Any, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The number of requested tensors in each flush."""
    found: list[int] = []
    backend = CPU_DEVICE.backend
    compute = backend.compute

    def count(wanted: Any) -> Any:
        found.append(len(wanted.program.outputs))
        return compute(wanted)

    monkeypatch.setattr(backend, "compute", count)
    return found


@pytest.mark.parametrize(
    ("code", "each"),
    [("x + 1", 1), ("y = x + 1", 1), ("y = x * 2; y + 1", 2), ("d['k'] = x + 1", 1)],
)
def test_timeit_computes_the_results_of_every_loop(
    made: Any, computed: list[int], code: str, each: int
) -> None:
    """Large tensors are lazy; those that the next loop drops must still be computed."""
    run(made, "x, d = pt.ones(10_000), {}\nx.realize()")
    computed.clear()
    assert run(made, f"%timeit -n 4 -r 2 {code}").error is None
    assert sum(computed) == each * (1 + 4 + 4 * 2)  # compilation; a joint computation; two runs
    assert len(computed) == 1 + 1 + 2


@pytest.mark.parametrize(("name", "limit"), [("MAX_NODES", 5), ("MAX_BYTES", 5 * 40_000)])
def test_pending_results_of_timeit_are_bounded(
    made: Any, computed: list[int], monkeypatch: pytest.MonkeyPatch, name: str, limit: int
) -> None:
    run(made, "x = pt.ones(10_000)\nx.realize()")
    monkeypatch.setattr(magics, name, limit)
    computed.clear()
    assert run(made, "%timeit -n 20 -r 1 x + 1").error is None
    assert max(computed) == 5


def test_timeit_of_code_without_tensors_computes_nothing(made: Any, computed: list[int]) -> None:
    assert run(made, "%timeit -n 4 -r 2 sum(range(10))").error is None
    assert computed == []


def test_names_that_timeit_assigns_are_local(made: Any) -> None:
    run(made, "%timeit -n 1 -r 1 mine = 1")
    assert "mine" not in made.namespace


def test_timeit_of_code_that_awaits(made: Any) -> None:
    done = run(made, "import asyncio\n%timeit -n 2 -r 2 await asyncio.sleep(0)")
    assert done.error is None


@pytest.mark.parametrize("magic", ["%time", "%timeit", "%%time", "%timeit -n 1"])
def test_a_traceback_has_the_users_line(made: Any, magic: str) -> None:
    first = "" if magic.startswith("%%") else "x = 0\n"
    done = run(made, f"{first}{magic} [1,\n 1 / 0]")
    lines = done.error.splitlines()
    assert lines[0] == "Traceback (most recent call last):"
    assert f", line {2 + bool(first)}, in " in lines[1]
    assert lines[2] == "    1 / 0]"
    assert lines[-1] == "ZeroDivisionError: division by zero"
    assert done.full_error is not None  # it contains the frames that are left out
    assert "magics.py" not in done.error


def test_a_syntax_error_runs_nothing(made: Any) -> None:
    run(made, "ran = False")
    for source in ("ran = True\n%time return 5", "ran = True\n%nope", "%time ran = True\nx = = 1"):
        assert "SyntaxError" in run(made, source).error
        assert made.namespace["ran"] is False


def test_who_and_reset(made: Any, capsys: pytest.CaptureFixture[str]) -> None:
    run(made, "b = 1\nlonger = 'a'\n%who")
    assert capsys.readouterr().out == "b       int\nlonger  str\n"
    run(made, "%reset\n%who")
    assert capsys.readouterr().out == "Nothing is defined.\n"
    assert made.namespace["pt"] is pt


def test_profile_on_a_device_without_a_clock(made: Any) -> None:
    assert "only the webgpu device" in run(made, "%profile pt.ones(3)").error


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.0, "0 ns"),
        (1.234e-8, "12.3 ns"),
        (9.996e-7, "1 µs"),
        (1.5e-6, "1.5 µs"),
        (0.0012345, "1.23 ms"),
        (0.9996, "1 s"),
        (12.34, "12.3 s"),
        (1234.4, "1,234 s"),
    ],
)
def test_durations(seconds: float, text: str) -> None:
    assert magics.duration(seconds) == text


def test_the_number_of_loops_grows_until_a_run_is_long_enough(source: random.Random) -> None:
    for _ in range(200):
        single = 10 ** source.uniform(-8, 1)
        count, tries = 1, 0
        while count * single < magics.MIN_SECONDS:
            following = magics.next_count(count, count * single)
            assert following > count
            assert str(following).rstrip("0") in ("1", "2", "5")
            count, tries = following, tries + 1
        assert tries <= 2
        assert count == 1 or count * single <= 2.51 * magics.MIN_SECONDS


def test_the_summary() -> None:
    assert magics.summary([0.001, 0.003], 1000) == (
        "2 ms ± 1 ms per loop (mean ± std. dev. of 2 runs, 1,000 loops each)"
    )
    assert (
        magics.summary([1.0], 1) == "1 s ± 0 ns per loop (mean ± std. dev. of 1 run, 1 loop each)"
    )
