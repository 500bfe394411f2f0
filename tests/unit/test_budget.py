"""The budget of one kernel: the buffers of its one or two dispatches, and its length."""

from __future__ import annotations

import pytest

from py_tensor.ir.node import Reason
from py_tensor.schedule.kernel import MAX_BODY, Budget, Draft

FOUR, OTHER = frozenset(range(4)), frozenset(range(2, 6))


@pytest.mark.parametrize(
    ("draft", "buffers"),
    [
        (Draft(), 1),
        (Draft(around=FOUR, outputs=2), 6),
        (Draft(inside=FOUR, around=OTHER), 7),
        (Draft(inside=FOUR, words=3), 7),  # the dispatch that stores accumulators has no outputs
        (Draft(around=FOUR, outputs=3, words=2), 9),  # and the next one reads them
        (Draft(inside=FOUR, around=OTHER, outputs=2, words=1), 8),
        (Draft(inside=FOUR, work=2), 7),
    ],
)
def test_buffers_of_one_dispatch(draft: Draft, buffers: int) -> None:
    assert draft.buffers == buffers
    assert Budget(buffers).fits(draft)
    assert Budget(buffers - 1).excess(draft) is Reason.BUFFERS


def test_length() -> None:
    assert Budget(8).fits(Draft(length=MAX_BODY))
    assert Budget(8).excess(Draft(length=MAX_BODY + 1)) is Reason.LONG
    assert Budget(0).excess(Draft(length=MAX_BODY + 1)) is Reason.BUFFERS
