"""The benchmark panel's timing method, on fake contenders, and its cases."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import py_tensor as pt
from web.worker.python import benchmarks, contenders, measuring
from web.worker.python.measuring import (
    Answer,
    Chosen,
    Config,
    First,
    Metered,
    MissingError,
    WrongError,
)

CONFIG = Config([Chosen("square", ("64",), ("exp",))], (), rounds=6, budget=60, total=600)
SMALL = {"last-axis": "4 × 5 × 6"}
CASES = [
    (suite, case)
    for suite in benchmarks.SUITES.values()
    for case in suite.cases(SMALL.get(suite.key, "8"))
]
IDS = [f"{suite.key}: {case.name}" for suite, case in CASES]


class Fake:
    """Computes exp with NumPy; every call takes the same made-up time."""

    version: str | None = "1"
    on_gpu = True

    def __init__(self, name: str, log: list[str] | None = None) -> None:
        self.name = name
        self.log = [] if log is None else log
        self.counts: list[int] = []
        self.prepared = 0

    async def prepare(self, case: benchmarks.Case, operands: Sequence[Any]) -> None:
        self.prepared += 1
        self.result = np.exp(operands[0].reshape(-1).astype(np.float64))

    async def first(self) -> First:
        return First(1.5, 1.0)

    async def sample(self, count: int, kept: int) -> float:
        self.log.append(self.name)
        self.counts.append(count)
        return 0.004 * count

    async def values(self, call: int, places: Sequence[int]) -> list[float]:
        return self.result[list(places)].tolist()

    async def metered(self, count: int, kept: int) -> Metered:
        return Metered(0.003 * count, 2 * count, 3)

    async def release(self) -> None:
        self.prepared -= 1


def run(*those: Fake, config: Config = CONFIG) -> list[dict[str, Any]]:
    """Return the results of a run, one for each case."""
    steps: list[dict[str, Any]] = []
    asyncio.run(measuring.run(config, those, steps.append))
    total = sum(len(chosen.those()) for chosen in config.suites)
    assert steps[0] == {"event": "begin", "total": total}
    parts = [step["part"] for step in steps if step["event"] == "working"]
    assert all(0 <= part < 1 for part in parts)
    return [step["result"] for step in steps if step["event"] == "case"]


def test_rounds_take_turns_and_all_is_told() -> None:
    log: list[str] = []
    those = Fake("a", log), Fake("b", log)
    (result,) = run(*those)
    assert log[-12:] == ["a", "b"] * 6
    assert [fake.prepared for fake in those] == [0, 0]
    case = benchmarks.SUITES["square"].cases("64")[0]
    assert (result["flops"], result["bytes"], result["unit"]) == (case.flops, case.bytes, "GB/s")
    outcome = result["contenders"]["a"]
    assert outcome["status"] == "measured"
    assert (outcome["first"], outcome["compile"]) == (1.5, 1.0)
    assert outcome["samples"] == pytest.approx([0.004] * 6)
    assert outcome["gpu"] == pytest.approx(0.003)
    assert (outcome["dispatches"], outcome["submits"]) == (2, 0.5)
    assert outcome["calls"] == 6  # of 4 ms each, at least 20 ms
    assert outcome["warm_ups"] == 2
    assert outcome["settled"]
    assert outcome["error"] < 1e-6


def test_warming_up_lasts_until_samples_agree() -> None:
    class Warming(Fake):
        async def sample(self, count: int, kept: int) -> float:
            await super().sample(count, kept)
            return count * (0.02 + 0.02 / len(self.counts) ** 2)

    (result,) = run(Warming("a"))
    outcome = result["contenders"]["a"]
    assert outcome["settled"]
    assert outcome["warm_ups"] > 2

    class Restless(Fake):
        async def sample(self, count: int, kept: int) -> float:
            await super().sample(count, kept)
            return count * (0.02, 0.03)[len(self.counts) % 2]

    (result,) = run(Restless("a"))
    outcome = result["contenders"]["a"]
    assert not outcome["settled"]
    assert outcome["warm_ups"] == measuring.WARM_UPS
    assert len(outcome["samples"]) == CONFIG.rounds


def test_suites_run_one_after_the_other() -> None:
    suites = [Chosen("square", ("64",), ("exp",)), Chosen("elementwise", ("128", "256"), ("add",))]

    class Adding(Fake):
        async def prepare(self, case: benchmarks.Case, operands: Sequence[Any]) -> None:
            await super().prepare(case, operands)
            if case.name == "add":
                self.result = (operands[0].astype(np.float64) + operands[1]).reshape(-1)

    results = run(Adding("a"), config=replace(CONFIG, suites=suites))
    found = [(result["suite"], result["case"], result["size"]) for result in results]
    additions = [("elementwise", "add", size) for size in ("128", "256")]
    assert found == [("square", "exp", "64"), *additions]
    assert {result["contenders"]["a"]["status"] for result in results} == {"measured"}


@pytest.mark.parametrize("idles", [False, True])
def test_samples_are_taken_at_the_full_clock(idles: bool) -> None:
    """Samples also agree at a low clock, which persists for a while."""

    class Clocked(Fake):
        worked = 0.0

        async def sample(self, count: int, kept: int) -> float:
            seconds = count * (0.001 if self.worked > 0.3 else 0.005)
            self.worked += seconds
            return seconds

    class OnCpu(Fake):
        on_gpu = False

        async def sample(self, count: int, kept: int) -> float:
            on_gpu.worked = 0.0
            return await super().sample(count, kept)

    on_gpu = Clocked("gpu")
    those = (on_gpu, OnCpu("cpu")) if idles else (on_gpu,)
    (result,) = run(*those, config=replace(CONFIG, clock=0.5))
    assert result["contenders"]["gpu"]["samples"] == pytest.approx([0.001] * CONFIG.rounds)


def test_the_gpu_works_before_its_samples_after_idling() -> None:
    class OnCpu(Fake):
        on_gpu = False

    log: list[str] = []
    (result,) = run(OnCpu("cpu", log), Fake("gpu", log))
    # In each round the GPU comes first, after an untimed sample.
    assert log[-3 * CONFIG.rounds :] == ["gpu", "gpu", "cpu"] * CONFIG.rounds
    assert [len(result["contenders"][name]["samples"]) for name in ("cpu", "gpu")] == [6, 6]

    class Sleepy(Fake):
        """Its clock falls after every sample of the other, and rises at the second sample."""

        async def sample(self, count: int, kept: int) -> float:
            factor = 3 if "cpu" in self.log[-2:] else 1
            return factor * await super().sample(count, kept)

    log = []
    (result,) = run(OnCpu("cpu", log), Sleepy("gpu", log))
    assert result["contenders"]["gpu"]["samples"] == pytest.approx([0.004] * 6)

    class Long(Fake):
        """A contender so slow that it has no time for a warm-up, and does not need it."""

        async def first(self) -> First:
            return First(16.0, 0.0)

        async def sample(self, count: int, kept: int) -> float:
            await super().sample(count, kept)
            return 16.0 * count

    log = []
    (result,) = run(OnCpu("cpu", log), Long("gpu", log))
    assert result["contenders"]["gpu"]["warm_ups"] == 0
    assert log[log.index("gpu") :] == ["gpu", "cpu"] * CONFIG.rounds


def test_results_are_kept_as_memory_allows() -> None:
    class Holding(Fake):
        async def sample(self, count: int, kept: int) -> float:
            self.kept_calls = kept
            await super().sample(count, kept)
            return 1e-5 * count

    fake = Holding("a")
    run(fake)
    assert fake.kept_calls == measuring.MAX_KEPT
    assert fake.counts[-1] == measuring.MAX_CALLS
    run(fake, config=replace(CONFIG, result_bytes=10 * 64 * 64 * 4))
    assert fake.kept_calls == 5  # of two groups
    run(fake, config=replace(CONFIG, result_bytes=1))
    assert fake.kept_calls == 1


def test_more_calls_where_a_single_one_mostly_waits() -> None:
    class Waiting(Fake):
        async def sample(self, count: int, kept: int) -> float:
            await super().sample(count, kept)
            return 0.01 + 1e-4 * count

    (result,) = run(Waiting("a"))
    assert 40 <= result["contenders"]["a"]["calls"] <= 100  # by a single one: 3


def test_a_wrong_answer_is_not_timed() -> None:
    class Wrong(Fake):
        async def values(self, call: int, places: Sequence[int]) -> list[float]:
            return [value * 1.001 for value in await super().values(call, places)]

    fake = Wrong("a")
    (result,) = run(fake, Fake("b"))
    outcome = result["contenders"]["a"]
    assert outcome["status"] == "wrong"
    assert outcome["reason"] == "relative error 0.001; at most 1e-06 is allowed"
    assert outcome["error"] == pytest.approx(0.001)
    assert "samples" not in outcome
    assert (fake.counts, fake.prepared) == ([], 0)
    assert result["contenders"]["b"]["status"] == "measured"


def test_later_errors_are_detected() -> None:
    class Decaying(Fake):
        async def values(self, call: int, places: Sequence[int]) -> list[float]:
            factor = 1.001 if len(self.counts) > CONFIG.rounds else 1
            return [value * factor for value in await super().values(call, places)]

    (result,) = run(Decaying("a"))
    assert result["contenders"]["a"]["status"] == "wrong"
    assert "samples" not in result["contenders"]["a"]


def test_failures_leave_the_others() -> None:
    class Failing(Fake):
        async def sample(self, count: int, kept: int) -> float:
            if len(self.counts) > 4:
                raise RuntimeError("lost")
            return await super().sample(count, kept)

    class Lacking(Fake):
        async def prepare(self, case: benchmarks.Case, operands: Sequence[Any]) -> None:
            self.prepared += 1
            raise MissingError("")

    those = Fake("a"), Failing("b"), Lacking("c")
    (result,) = run(*those)
    found = result["contenders"]
    assert [found[name]["status"] for name in "abc"] == ["measured", "failed", "missing"]
    assert [found[name]["reason"] for name in "abc"] == [None, "RuntimeError: lost", None]
    assert [fake.prepared for fake in those] == [0, 0, 0]


def test_a_cancelled_run_releases_everything() -> None:
    class Stuck(Fake):
        async def first(self) -> First:
            raise asyncio.CancelledError

    fake = Stuck("a")
    with pytest.raises(asyncio.CancelledError):
        run(fake)
    assert fake.prepared == 0


def test_cases_that_would_take_too_long_are_skipped() -> None:
    class Slow(Fake):
        async def sample(self, count: int, kept: int) -> float:
            await super().sample(count, kept)
            return 0.1 * count

    config = replace(CONFIG, suites=[Chosen("square", ("64", "2048"), ("exp",))])
    small, large = run(Slow("a"), config=config)
    assert small["contenders"]["a"]["status"] == "measured"
    outcome = large["contenders"]["a"]
    assert outcome["status"] == "skipped"
    assert outcome["reason"] == "one call would take about 2 min; the budget is 60 s"
    (result,) = run(Fake("a"), config=replace(CONFIG, total=0))
    assert result["contenders"]["a"]["reason"] == "the total budget of 0 ms is used up"


def test_a_small_budget_leaves_fewer_rounds() -> None:
    class Slow(Fake):
        async def sample(self, count: int, kept: int) -> float:
            await asyncio.sleep(0.05)
            return 0.05 * count

    (result,) = run(Slow("a"), config=replace(CONFIG, budget=0.3))
    assert 1 <= len(result["contenders"]["a"]["samples"]) < CONFIG.rounds


@pytest.mark.parametrize("name", ["NumPy", "py_tensor (cpu)"])
@pytest.mark.parametrize(("suite", "case"), CASES, ids=IDS)
def test_cases_and_answers_agree(suite: benchmarks.Suite, case: benchmarks.Case, name: str) -> None:
    rng = np.random.default_rng()
    arrays = [1 - rng.random(operand.shape, dtype=np.float32) for operand in case.operands]
    answer = Answer(case, arrays)
    values = asyncio.run(_values(name, case, arrays, answer.places))
    assert len(values) == np.prod(case.result_shape)
    answer.error(values)  # raises
    values[-1] = values[-1] * 1.001 + 0.01
    with pytest.raises(WrongError, match="relative error"):
        answer.error(values)
    with pytest.raises(WrongError, match="relative error inf"):
        answer.error([float("nan")] * len(values))


async def _values(
    name: str, case: benchmarks.Case, arrays: Sequence[Any], places: Sequence[int]
) -> list[float]:
    """Return values of the last of five calls, by the panel's own contenders."""
    (contender,) = contenders.contenders([name], pt, lambda: True, nobody, software=True)
    assert contender.name == name
    before = pt.default_device()
    await contender.prepare(case, arrays)
    await contender.sample(5, 2)
    values = await contender.values(-1, places)
    assert await contender.metered(5, 2) == measuring.Metered()
    await contender.release()
    assert pt.default_device() is before
    return list(values)


def nobody(name: str) -> measuring.Contender:
    raise AssertionError(f"{name} is another library")


def test_large_results_are_checked_at_some_places() -> None:
    case = next(c for c in benchmarks.SUITES["square"].cases("256") if c.name == "exp")
    array = np.full((256, 256), 0.5, dtype=np.float32)
    places = Answer(case, [array]).places
    assert len(places) == measuring.PLACES
    assert {0, 256 * 256 - 1} < set(places)


def test_description_of_the_suites_for_the_page() -> None:
    told = benchmarks.describe()
    assert [suite["key"] for suite in told] == list(benchmarks.SUITES)
    for suite in told:
        assert set(suite["defaultSizes"]) <= set(suite["sizes"])
        pairs = {(work["case"], work["size"]) for work in suite["work"]}
        assert pairs == {(case, size) for case in suite["cases"] for size in suite["sizes"]}
