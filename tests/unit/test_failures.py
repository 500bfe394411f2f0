"""The failure of an input as data (web/worker/python/failures.py), obtained from the session."""

from __future__ import annotations

import asyncio
import inspect
import json
import random
import signal
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from web.worker.python import session as session_module
from web.worker.python.failures import CHARACTERS, INNERMOST, LINES, OUTERMOST, Failure, Line, Place
from web.worker.python.session import Outcome, Session

Fail = Callable[..., Failure]


def run(session: Session, source: str) -> Outcome:
    """Run one input, with the session's display hook instead of Python's."""
    before = sys.displayhook
    sys.displayhook = session.display
    try:
        return asyncio.run(session.run(textwrap.dedent(source)))
    finally:
        sys.displayhook = before


@pytest.fixture
def session() -> Session:
    return Session({"__name__": "__main__"})


@pytest.fixture
def fail(session: Session) -> Fail:
    """Run inputs, and return the failure of the last one."""

    def fail(*sources: str) -> Failure:
        outcomes = [run(session, source) for source in sources]
        failure = outcomes[-1].failure
        assert failure is not None
        assert json.loads(outcomes[-1].to_json())["failure"]["type"] == failure.type
        return failure

    return fail


def code(place: Place) -> str:
    """Its lines, with the marked part in brackets."""
    return "\n".join(
        f"{line.before}[{line.marked}]{line.after}" if line.marked else line.before
        for line in place.lines
    )


class TestMessage:
    def test_type_and_message(self, fail: Fail) -> None:
        failure = fail("1 / 0")
        assert (failure.type, failure.message) == ("ZeroDivisionError", "division by zero")

    @pytest.mark.parametrize(
        ("source", "message"),
        [
            ("raise ValueError", ""),
            ("raise ValueError('a: b')", "a: b"),
            ("raise ValueError('a\\n    (2, 3)\\n       ^')", "a\n    (2, 3)\n       ^"),
            ("class E(Exception): pass\nraise E('own')", "own"),
            ("import json\njson.loads('{')", "Expecting property name enclosed in double quotes: "
             "line 1 column 2 (char 1)"),
            ("e = ValueError('x'); e.add_note('a note'); raise e", "x\na note"),
            ("class E(Exception):\n    def __str__(self): return 1 / 0\nraise E",
             "<exception str() failed>"),
        ],
    )  # fmt: skip
    def test_what_stands_behind_the_name(self, fail: Fail, source: str, message: str) -> None:
        assert fail(source).message == message

    @pytest.mark.parametrize(
        ("source", "type_name"),
        [
            ("next(iter(()))", "StopIteration"),
            ("import asyncio\nawait asyncio.sleep(0)\nnext(iter(()))", "StopIteration"),
            ("%timeit -n1 -r1 next(iter(()))", "StopIteration"),
            ("async def f(): next(iter(()))\nawait f()", "RuntimeError"),
            ("def f():\n    yield next(iter(()))\nlist(f())", "RuntimeError"),
            ("raise RuntimeError from StopIteration()", "RuntimeError"),
        ],
    )
    def test_only_coroutines_and_generators_of_inputs_replace_stop_iteration(
        self, fail: Fail, source: str, type_name: str
    ) -> None:
        failure = fail(source)
        assert failure.type == type_name
        assert failure.places

    def test_exit_is_no_failure(self, session: Session) -> None:
        assert run(session, "raise SystemExit(3)").failure is None


class TestPlaces:
    def test_the_range_in_the_line(self, fail: Fail) -> None:
        (place,) = fail("x = 0\ny = 1 + 1 / x").places
        assert (place.input, place.function, code(place)) == (1, "<module>", "y = 1 + [1 / x]")
        assert place.lines[0].number == 2

    def test_a_whole_line_is_not_marked(self, fail: Fail) -> None:
        (place,) = fail("1 / 0").places
        assert place.lines == (Line(1, "1 / 0", "", ""),)

    def test_columns_are_of_characters(self, fail: Fail) -> None:
        (place,) = fail("ä = 'größe 😀'; 1 / 0; ä").places
        assert code(place) == "ä = 'größe 😀'; [1 / 0]; ä"

    def test_calls_and_an_earlier_input(self, fail: Fail) -> None:
        failure = fail("def divide(x):\n    return 1 / x", "2 + divide(0)")
        assert [place.input for place in failure.places] == [2, 1]
        assert [place.function for place in failure.places] == ["<module>", "divide"]
        assert [code(place) for place in failure.places] == ["2 + [divide(0)]", "return [1 / x]"]
        assert failure.input == 2
        assert not failure.hides

    def test_a_statement_of_several_lines(self, fail: Fail) -> None:
        (place,) = fail("def f():\n    pass\nx = [\n    1,\n    int(\n        'a'),\n]").places
        assert [line.number for line in place.lines] == [5, 6]
        assert code(place) == "[int(]\n    ['a')],"

    def test_long_statements_and_lines_are_cut(self, fail: Fail) -> None:
        many = "".join(f"    {i},\n" for i in range(50))
        (place,) = fail(f"dict(\n{many})").places
        assert len(place.lines) == LINES
        (place,) = fail(f"x = '{'a' * 500}'; 1 / 0; y = '{'b' * 500}'").places
        (line,) = place.lines
        assert line.marked == "1 / 0"
        assert (len(line.before), len(line.after)) == (CHARACTERS + 1, CHARACTERS + 1)
        assert (line.before[0], line.after[-1]) == ("…", "…")

    def test_frames_of_the_library_are_hidden(self, fail: Fail) -> None:
        failure = fail("import json\njson.loads('{')")
        assert [code(place) for place in failure.places] == ["json.loads('{')"]
        assert failure.hides

    def test_recursion(self, fail: Fail) -> None:
        limit = sys.getrecursionlimit()
        failure = fail("def f(): f()", "f()")
        assert failure.type == "RecursionError"
        top, again = failure.places
        assert (top.repeated, top.input) == (0, 2)
        assert 0 < again.repeated < limit
        assert failure.hides

    def test_of_many_the_ends_are_kept(self, fail: Fail, source: random.Random) -> None:
        depth = source.randrange(20, 40)
        functions = "\n".join(f"def f{i}(): f{i + 1}()" for i in range(depth))
        failure = fail(f"{functions}\ndef f{depth}(): raise OSError", "f0()")
        names = ["<module>", *(f"f{i}" for i in range(depth + 1))]
        kept = names[:OUTERMOST] + names[-INNERMOST:]
        assert [place.function for place in failure.places] == kept
        skipped = len(names) - len(kept)
        expected = [0] * OUTERMOST + [skipped] + [0] * (INNERMOST - 1)
        assert [place.skipped for place in failure.places] == expected

    def test_a_module_of_the_user(
        self, fail: Fail, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (tmp_path / "users_own.py").write_text("def f(x):\n    return x.nothing\n")
        monkeypatch.syspath_prepend(tmp_path)
        place = fail("import users_own\nusers_own.f(1)").places[-1]
        assert place.input is None
        assert place.file.endswith("users_own.py")
        assert code(place) == "return [x.nothing]"


class TestSyntax:
    @pytest.mark.parametrize(
        ("source", "number", "marked"),
        [
            ("x = 1\ny = = 2", 2, "y = [=] 2"),
            ("x = (1,", 1, "x = [(]1,"),
            ("if True:\nx", 2, "[x]"),
            ("größe = 1; 'größe' = 2", 1, "größe = 1; ['größe'] = 2"),
            ("def f():\n    return 1 +", 2, "return 1 +[ ]"),
        ],
    )
    def test_it_points_at_the_place(
        self, fail: Fail, source: str, number: int, marked: str
    ) -> None:
        failure = fail(source)
        (place,) = failure.places
        assert place.lines[0].number == number
        assert code(place) == marked
        assert "<input" not in failure.message

    def test_one_in_what_is_imported_has_both_places(
        self, fail: Fail, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (tmp_path / "broken_module.py").write_text("x = 1\ny = $\n")
        monkeypatch.syspath_prepend(tmp_path)
        importer, place = fail("import broken_module").places
        assert code(importer) == "import broken_module"
        assert place.file.endswith("broken_module.py")
        assert code(place) == "y = [$]"

    def test_without_a_place(self, fail: Fail) -> None:
        assert fail("x = 1\0").places == ()


class TestChain:
    def test_a_cause(self, fail: Fail) -> None:
        failure = fail(
            "try:\n    1 / 0\nexcept ZeroDivisionError as e:\n    raise KeyError('k') from e"
        )
        assert (failure.type, failure.link) == ("KeyError", "cause")
        assert failure.origin is not None
        assert failure.origin.type == "ZeroDivisionError"
        assert code(failure.origin.places[0]) == "1 / 0"

    def test_what_was_being_handled(self, fail: Fail) -> None:
        failure = fail("try:\n    1 / 0\nexcept ZeroDivisionError:\n    nothing")
        assert failure.link == "context"
        assert failure.origin is not None

    def test_what_is_suppressed(self, fail: Fail) -> None:
        failure = fail("try:\n    1 / 0\nexcept ZeroDivisionError:\n    raise KeyError from None")
        assert (failure.link, failure.origin) == (None, None)

    def test_a_group(self, fail: Fail) -> None:
        failure = fail(
            """
            found = []
            for text in ("1", "a", "b"):
                try:
                    int(text)
                except ValueError as error:
                    found.append(error)
            raise ExceptionGroup("wrong numbers", found)
            """
        )
        assert failure.message == "wrong numbers (2 sub-exceptions)"
        assert [part.message[-3:] for part in failure.exceptions] == ["'a'", "'b'"]
        assert [code(part.places[0]) for part in failure.exceptions] == ["int(text)"] * 2

    def test_circles_and_long_chains_end(self, fail: Fail) -> None:
        failure = fail(
            """
            first, second = ValueError(1), ValueError(2)
            first.__cause__, second.__cause__ = second, first
            raise first
            """
        )
        assert failure.origin is not None
        failure = fail(
            """
            error = None
            for i in range(50):
                try:
                    raise ValueError(i) from error
                except ValueError as caught:
                    error = caught
            raise error
            """
        )
        count = 0
        while failure.origin is not None:
            failure, count = failure.origin, count + 1
        assert 1 < count < 10


class Unreadable:
    async def __repr_async__(self) -> str:
        raise OSError("no device")


@pytest.mark.parametrize(
    ("code", "name", "own"),
    [
        ("np.zeros(3)", "np", ", or use pt.zeros"),
        ("x = 1; y = np . linalg.solve(x, x)", "np", ", or use pt.linalg.solve"),
        ("'é', numpy.linspace(0, 1)", "numpy", ", or use pt.linspace"),
        ("np.datetime_as_string(0)", "np", ""),
        ("np", "np", ""),
        (
            "def f():\n    return [np.cos(x)\n            for x in (1,)]\nf()",
            "np",
            ", or use pt.cos",
        ),
    ],
)
def test_a_missing_import_of_numpy_is_named(fail: Fail, code: str, name: str, own: str) -> None:
    numpy = "numpy" if name == "numpy" else "numpy as np"
    assert fail("pt = nq = 0", code).message == (
        f"name '{name}' is not defined; first `import {numpy}` (arrays) or"
        f" `import py_tensor as {name}` (tensors){own}"
    )


@pytest.mark.parametrize(
    "code",
    ["!ls", "  !ls -l *.py", "files = !ls", "!!ls", "%ls", "%cd ..", "%%bash\nls", "x = 1\n!rm x"],
)
def test_there_is_no_shell(fail: Fail, code: str) -> None:
    failure = fail(code)
    assert failure.type == "SyntaxError"
    assert failure.message == "no shell here; os.listdir() lists files"


@pytest.mark.parametrize("code", ["x = 1 !ls", "x != = 2", "%lsmagic", "1 %ls %"])
def test_other_syntax_errors_are_not_about_a_shell(fail: Fail, code: str) -> None:
    assert "shell" not in fail(code).message


def test_a_repr_that_is_awaited_fails_at_its_line() -> None:
    session = Session({"x": Unreadable()}, [str(Path(__file__).parent)], can_block=lambda: False)
    outcome = run(session, "y = 1\nx")
    assert outcome.failure is not None
    assert [code(place) for place in outcome.failure.places] == ["x"]
    assert outcome.failure.places[0].lines[0].number == 2
    assert outcome.error is not None
    assert outcome.error.splitlines() == [
        "Traceback (most recent call last):",
        '  File "<input 1>", line 2, in <module>',
        "    x",
        "OSError: no device",
    ]
    assert not inspect.iscoroutine(outcome.result)


def test_an_interrupt_says_where() -> None:
    outcome = run(Session({}), "x = 1\nraise KeyboardInterrupt")
    assert outcome.interrupted
    assert outcome.failure is not None
    assert outcome.failure.places[0].lines[0].number == 2


def test_interrupts_that_follow_do_not_spoil_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """The page sends interrupts repeatedly until the run has ended."""
    original = session_module.describe

    def interrupted(*args: Any) -> Failure:
        for _ in range(5):
            signal.raise_signal(signal.SIGINT)
        return original(*args)

    monkeypatch.setattr(session_module, "describe", interrupted)
    outcome = run(Session({}), "x = 1\nraise KeyboardInterrupt")
    assert outcome.error is not None
    assert outcome.error.endswith("raise KeyboardInterrupt\nKeyboardInterrupt")
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
