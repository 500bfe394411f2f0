"""The timing method, on fake contenders."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from tests.perf.bench import cases, report
from tests.perf.bench.contender import MissingError, Sample
from tests.perf.bench.measure import Effort, Outcome, measure
from tests.perf.bench.operands import Array, Made

EFFORT = Effort(rounds=4, sample_seconds=0.01, most_calls=10, result_bytes=2**26, case_seconds=60)
CASE = next(c for c in cases.suites(cases.SOFTWARE)["elementwise"] if c.name == "exp")


class Fake:
    """Computes exp with NumPy; every call takes the same made-up time."""

    version = "0"

    def __init__(self, name: str, log: list[str] | None = None) -> None:
        self.name = name
        self.log = [] if log is None else log
        self.counts: list[int] = []
        self.prepared = 0

    def prepare(self, case: cases.Case, operands: Sequence[Made]) -> None:
        self.prepared += 1
        self.result: Array = np.exp(operands[0].array.reshape(-1))

    def sample(self, count: int) -> Sample:
        self.log.append(self.name)
        self.counts.append(count)
        return Sample(0.004 * count, self.dispatches(count))

    def dispatches(self, count: int) -> int:
        return count

    def values(self, call: int, places: Sequence[int]) -> list[float]:
        return self.result[list(places)].tolist()

    def gpu_seconds(self, count: int) -> float | None:
        return None

    def release(self) -> None:
        self.prepared -= 1


def run(*contenders: Fake, anew: bool = False) -> dict[str, Outcome]:
    return measure(CASE, contenders, EFFORT, lambda: anew)


def test_rounds_take_turns() -> None:
    log: list[str] = []
    found = run(Fake("a", log), Fake("b", log))
    assert log[-2 * EFFORT.rounds :] == ["a", "b"] * EFFORT.rounds
    assert [len(found[name].samples) for name in "ab"] == [EFFORT.rounds] * 2
    assert found["a"].calls == 3  # of 4 ms each
    assert found["a"].median == pytest.approx(0.004)
    assert found["a"].spread == pytest.approx(0)


def test_a_shared_result_is_not_timed_twice() -> None:
    class Sharing(Fake):
        def dispatches(self, count: int) -> int:
            return 1

    outcome = run(Sharing("a"))["a"]
    assert outcome.status == "wrong"
    assert outcome.reason == "3 calls of 1 dispatches ran only 1"


def test_a_wrong_answer_is_not_timed() -> None:
    class Wrong(Fake):
        def values(self, call: int, places: Sequence[int]) -> list[float]:
            return [value * 1.001 for value in super().values(call, places)]

    contender = Wrong("a")
    outcome = run(contender)["a"]
    assert (outcome.status, outcome.samples, contender.prepared) == ("wrong", [], 0)


def test_later_errors_are_detected() -> None:
    class Decaying(Fake):
        def values(self, call: int, places: Sequence[int]) -> list[float]:
            factor = 1.001 if len(self.counts) > EFFORT.rounds + 2 else 1
            return [value * factor for value in super().values(call, places)]

    assert run(Decaying("a"))["a"].status == "wrong"


def test_a_failure_leaves_the_others() -> None:
    class Failing(Fake):
        def sample(self, count: int) -> Sample:
            if len(self.counts) > 3:
                raise RuntimeError("lost")
            return super().sample(count)

    class Lacking(Fake):
        def prepare(self, case: cases.Case, operands: Sequence[Made]) -> None:
            raise MissingError("exp")

    contenders = Fake("a"), Failing("b"), Lacking("c")
    found = run(*contenders)
    assert [found[name].status for name in "abc"] == ["measured", "failed", "missing"]
    assert [contender.prepared for contender in contenders] == [0, 0, -1]
    assert found["b"].reason == "lost"


def test_after_a_new_start_the_others_begin_again() -> None:
    class Failing(Fake):
        def sample(self, count: int) -> Sample:
            raise RuntimeError("no end after 60 s")

    first = Fake("a")
    found = run(first, Failing("b"), anew=True)
    assert [found[name].status for name in "ab"] == ["measured", "failed"]
    assert first.prepared == 1  # its first preparation was lost with the page
    assert len(found["a"].samples) == EFFORT.rounds


def test_figures() -> None:
    ours = Outcome(samples=[1e-3, 1e-3, 1e-3], calls=1, dispatches=1, gpu=9e-4)
    others = {"tfjs": Outcome(samples=[2e-3]), "jax-js": Outcome(status="wrong", reason="off by 1")}
    outcomes = {"py_tensor": ours, **others, "PyTorch": Outcome(samples=[5e-4])}
    probes = {"copy": {"rate": 16.0}, "multiplyAdd": {"rate": 100.0}}
    entry = report.result("elementwise", CASE, outcomes, probes)
    assert entry["ratios"] == {"best_peer": 2.0, "pytorch": 2.0}
    assert entry["contenders"]["py_tensor"]["rate"] == pytest.approx(8 * 1024**2 / 1e-3 / 1e9)
    assert entry["contenders"]["py_tensor"]["part_of_probe"] == pytest.approx(8.388608 / 16)
    table = report.Table(list(outcomes))
    row = table.row(entry)
    assert len(row) == len(table.head())
    words = row.split()
    assert words[:2] == ["exp,", "1024"]
    assert words[-2:] == ["2.00", "2.00"]
    assert "8.39 GB/s" in row
    assert "wrong" in words
    assert table.notes(entry) == ["    jax-js: off by 1"]
