"""Interrupts that arrive in the session's own code, around an input."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from web.worker.python.interrupts import Interrupts
from web.worker.python.session import Session


class Interrupted:
    """A session, and the interrupts that the page sends to it."""

    def __init__(self) -> None:
        self.names: dict[str, Any] = {"ran": []}
        self.interrupts = Interrupts((), lambda of_bridge: None)
        self.session = Session(
            self.names, is_interrupted=self.interrupts.has_recorded, check=self.interrupts.check
        )
        self.interrupts._session = self.session  # `install` would handle the test's own SIGINT


LOOPS = {
    "sync": "for n in (1, 2): ran.append(n)",
    "async": "for n in (1, 2):\n    await sleep(0); ran.append(n)",
}


@pytest.mark.parametrize("step", ["give", "take"])
@pytest.mark.parametrize("source", LOOPS.values(), ids=LOOPS)
def test_none_is_lost_around_the_program(
    monkeypatch: pytest.MonkeyPatch, step: str, source: str
) -> None:
    """`give` is the session's last step before the program, and `take` the first one after it."""
    given = Interrupted()
    given.names["sleep"] = asyncio.sleep
    builtins = given.session._builtins
    original = getattr(builtins, step)
    is_beginning = iter([step == "take"])  # the session also takes the builtins at the beginning

    def interrupted() -> None:
        original()
        if not next(is_beginning, False):
            given.interrupts.told()

    monkeypatch.setattr(builtins, step, interrupted)
    outcome = asyncio.run(given.session.run(source))
    assert outcome.interrupted
    assert given.names["ran"] == ([] if step == "give" else [1, 2])
