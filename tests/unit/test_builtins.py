"""An input's changes to Python's builtins affect neither the session nor the next input."""

from __future__ import annotations

import asyncio
import builtins
import sys
from collections.abc import Callable

import pytest

from web.worker.python.session import Outcome, Session

Run = Callable[[str], Outcome]
OWN = {name: value for name, value in vars(builtins).items() if name != "_"}


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Run:
    session = Session({"__name__": "__main__"})
    monkeypatch.setattr(sys, "displayhook", session.display)
    return lambda source: asyncio.run(session.run(source))


def now() -> dict[str, object]:
    return {name: value for name, value in vars(builtins).items() if name in OWN}


@pytest.mark.parametrize("name", sorted(OWN))
def test_each_may_be_deleted(run: Run, capsys: pytest.CaptureFixture[str], name: str) -> None:
    outcome = run(f"import builtins\ndel vars(builtins)[{name!r}]")
    assert outcome.ok
    assert now() == OWN
    assert capsys.readouterr().err == (
        f"Deleted from builtins, and put back for the next input: {name}\n"
    )
    assert run("isinstance(1, int), repr(2), [*map(str, range(3))]").result == (
        "(True, '2', ['0', '1', '2'])"
    )
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("name", sorted(OWN.keys() - {"__build_class__", "__debug__"}))
def test_each_may_be_replaced_by_a_failing_function(run: Run, name: str) -> None:
    assert run(f"import builtins\nvars(builtins)[{name!r}] = None").ok
    assert now() == OWN
    failed = run("1 / 0")
    assert failed.error is not None
    assert failed.error.endswith("ZeroDivisionError: division by zero")
    assert failed.failure is not None


def test_an_error_after_a_deletion_is_described(run: Run) -> None:
    outcome = run("import builtins\ndel builtins.isinstance\nisinstance(1, int)")
    assert outcome.error is not None
    assert outcome.error.startswith("Traceback (most recent call last):")
    assert "NameError: name 'isinstance' is not defined" in outcome.error
    assert outcome.failure is not None


def test_all_may_be_deleted(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("import builtins\nvars(builtins).clear()").ok
    assert now() == OWN
    assert capsys.readouterr().err.endswith(", ...\n")
    assert run("sum(range(4))").result == "6"


def test_a_replacement_applies_to_inputs_only(run: Run) -> None:
    run("import builtins\nbuiltins.len = lambda x: 42")
    assert len([]) == 0
    assert run("len([])").result == "42"
    run("del builtins.len")
    assert run("len([])").result == "0"


def test_a_replacement_may_be_taken_back(run: Run) -> None:
    run("import builtins\nlength = len\nbuiltins.len = lambda x: 42")
    run("builtins.len = length")
    assert run("len([])").result == "0"


def test_added_builtins_stay(run: Run) -> None:
    run("import builtins\nbuiltins.added = 3")
    assert run("added").result == "3"
    run("del builtins.added")
    assert run("added").error is not None
