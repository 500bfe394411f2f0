"""The benchmark panel's figures and forms (web/page/bench): pure functions."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Page

from tests.environment import ROOT
from tests.perf.bench import cases, report
from tests.perf.bench.measure import Outcome


def call(page: Page, module: str, body: str, *arguments: Any) -> Any:
    """The value of `body`, JavaScript with the module's exports as `m` and the arguments as `a`."""
    path = f"./sources/page/bench/{module}.js"
    script = f"""async (a) => {{ const m = await import("{path}"); return {body}; }}"""
    return page.evaluate(script, list(arguments))


def measured(*samples: float, **more: Any) -> dict[str, Any]:
    return {"status": "measured", "reason": None, "samples": list(samples), "calls": 1, **more}


def entry(name: str, size: str, **found: dict[str, Any]) -> dict[str, Any]:
    about = {"suite": "square", "case": name, "size": size, "extent": int(size), "ops": 1}
    work = {"flops": 2 * 10**9, "bytes": 10**9, "unit": "GFLOP/s"}
    return about | work | {"contenders": found}


HOVERED = """(() => {
  const figure = m.roofline(a[0]);
  document.body.append(figure);
  const spots = figure.querySelectorAll(".plotted-frame .marks .spot");
  const { left, top } = spots[0].getBoundingClientRect();
  const picture = figure.querySelector(".plotted-picture");
  picture.dispatchEvent(new PointerEvent("pointermove", { clientX: left + 4, clientY: top + 4 }));
  const found = [spots.length, picture.textContent, figure.querySelector(".tip").textContent];
  figure.remove();
  return found;
})()"""
"""The roofline chart of a run: the number of points, its text, and that of the first point."""

RUN: dict[str, Any] = {
    "schema": 1,
    "name": "one | run",
    "date": "2026-11-22T00:00:00Z",
    "browser": "Chromium 156",
    "adapter": {"vendor": "nvidia", "architecture": "hopper"},
    "software": False,
    "versions": {"py_tensor": "0.1.0", "NumPy": "2.2.5"},
    "probes": {
        "copy": {"unit": "GB/s", "work": 10**9, "seconds": [0.1, 0.1, 0.1]},
        "multiplyAdd": {"unit": "GFLOP/s", "work": 10**9, "seconds": [0.02, 0.02, 0.02]},
    },
    "results": [
        entry(
            "matmul",
            "64",
            py_tensor=measured(0.2, 0.2, 0.2, 0.2, 0.2, gpu=0.1, first=1.0, compile=0.5),
            NumPy=measured(0.4, 0.4, 0.4, 0.4, 0.4),
            tfjs={"status": "failed", "reason": "lost its <device>"},
        )
    ],
}
"""Limits of 10 GB/s and 50 GFLOP/s, and a case of 2 flops per byte that reaches 10 GFLOP/s."""


class TestStatistics:
    def test_quantiles_are_numpys(self, page: Page) -> None:
        rng = np.random.default_rng()
        for count in (1, 2, 5, 16):
            samples = rng.lognormal(size=count)
            for part in (0, 0.025, 0.25, 0.5, 0.9, 1):
                got = call(page, "statistics", "m.quantile(a[0], a[1])", samples.tolist(), part)
                assert got == pytest.approx(np.quantile(samples, part), rel=1e-12)

    def test_the_spread_is_half_the_distance_between_the_quartiles(self, page: Page) -> None:
        assert call(page, "statistics", "m.spread(a[0])", [8, 9, 10, 12, 13]) == pytest.approx(0.15)
        assert call(page, "statistics", "m.spread([3])") == 0

    def test_samples_that_are_alike_give_a_sharp_ratio(self, page: Page) -> None:
        got = call(page, "statistics", "m.compare(a[0], a[1])", [2.0] * 5, [6.0] * 7)
        assert got == {"ratio": 3, "low": 3, "high": 3, "verdict": "faster"}
        got = call(page, "statistics", "m.compare(a[0], a[1])", [6.0] * 5, [3.0] * 5)
        assert got == {"ratio": 0.5, "low": 0.5, "high": 0.5, "verdict": "slower"}

    def test_no_winner_if_the_interval_includes_1(self, page: Page) -> None:
        same = [1.0, 1.1, 0.9, 1.2, 0.8, 1.05, 0.95]
        got = call(page, "statistics", "m.compare(a[0], a[0])", same)
        assert got["verdict"] == "unclear"
        assert got["low"] < 1 < got["high"]
        ends_at_1 = call(page, "statistics", "m.compare([1, 1, 1, 1, 1], [1, 1, 1, 2, 2])")
        assert (ends_at_1["low"], ends_at_1["verdict"]) == (1, "unclear")
        assert call(page, "statistics", "m.compare([1], [2])") is None
        assert call(page, "statistics", "m.compare([2, 2, 2, 2], [1, 1, 1, 1, 1])") is None

    def test_the_interval_is_the_bootstraps(self, page: Page) -> None:
        rng = np.random.default_rng(5)
        first, second = rng.lognormal(0, 0.2, 15), rng.lognormal(0.5, 0.3, 21)
        got = call(page, "statistics", "m.compare(a[0], a[1])", first.tolist(), second.tolist())
        drawn = [
            np.median(rng.choice(samples, (50_000, samples.size)), axis=1)
            for samples in (second, first)
        ]
        low, high = np.quantile(drawn[0] / drawn[1], (0.025, 0.975))
        assert got["low"] == pytest.approx(low, rel=0.03)
        assert got["high"] == pytest.approx(high, rel=0.03)
        assert got["ratio"] == pytest.approx(np.median(second) / np.median(first))
        again = call(page, "statistics", "m.compare(a[0], a[1])", first.tolist(), second.tolist())
        assert again == got


class TestComparison:
    def winner(self, page: Page, **found: dict[str, Any]) -> str | None:
        return call(page, "comparison", "m.winnerOf(a[0])", entry("exp", "64", **found))

    def test_the_winner_is_faster_than_all_others(self, page: Page) -> None:
        fast, slow, noisy = [1.0] * 5, [2.0] * 5, [0.5, 2, 0.9, 3, 1]
        assert self.winner(page, a=measured(*fast), b=measured(*slow)) == "a"
        found = {"a": measured(*fast), "b": measured(*slow), "c": measured(*noisy)}
        assert self.winner(page, **found) is None
        assert self.winner(page, a=measured(*fast)) is None
        assert self.winner(page, a=measured(*fast), b={"status": "wrong"}) is None
        wrong = {"status": "wrong", "reason": "off by 0.5 (relative)", "error": 0.5}
        those = {"wrong": wrong, "fast": measured(*fast), "slow": measured(*slow)}
        assert self.winner(page, **those) == "fast"
        text = call(
            page,
            "table",
            "m.summaryTable(a[0], {}).innerText",
            {"results": [entry("x", "1", **those)]},
        )
        assert "Wrong: off by 0.5 (relative)" in text

    def test_summary_of_one_contender_against_the_others(self, page: Page) -> None:
        fast, slow, noisy = [1.0] * 5, [2.0] * 5, [0.5, 2, 0.9, 3, 1]
        results = [
            entry("a", "1", py_tensor=measured(*fast), NumPy=measured(*slow)),
            entry("b", "1", py_tensor=measured(*slow), NumPy=measured(*fast)),
            entry("c", "1", py_tensor=measured(*fast), NumPy=measured(*noisy)),
            entry("d", "1", py_tensor=measured(*fast), NumPy={"status": "wrong"}),
        ]
        got = call(page, "comparison", "m.standings(a[0])", {"results": results})
        counts = {"contender": "NumPy", "faster": 1, "slower": 1, "unclear": 1, "middle": 1}
        assert got == [counts]

    def test_changes_between_two_runs(self, page: Page) -> None:
        other = copy.deepcopy(RUN)
        other["results"].append(entry("exp", "64", py_tensor=measured(1.0)))
        body = "m.changes(a[0], a[1]).map(({ result, contender }) => [result.case, contender])"
        got = call(page, "comparison", body, RUN, other)
        assert got == [["matmul", "py_tensor"], ["matmul", "NumPy"]]


class TestLimits:
    def test_the_roof_is_the_lower_of_both_limits(self, page: Page) -> None:
        roof = call(page, "limits", "m.roofOf(a[0])", RUN["probes"])
        assert roof == pytest.approx({"bandwidth": 10, "peak": 50})
        for intensity, most in ((0.1, 1), (5, 50), (100, 50)):
            got = call(page, "limits", "m.attainable(a[0], a[1])", roof, intensity)
            assert got == pytest.approx(most)

    def test_the_part_of_the_limit(self, page: Page) -> None:
        (result,) = RUN["results"]
        arguments = result, result["contenders"]["py_tensor"], RUN["probes"]
        assert call(page, "limits", "m.partOfLimit(...a)", *arguments) == pytest.approx(0.5)
        assert call(page, "limits", "m.partOfLimit(a[0], a[1], undefined)", *arguments) is None
        without = result | {"bytes": 0}
        assert call(page, "limits", "m.partOfLimit(...a)", without, *arguments[1:]) is None

    def test_a_time_that_is_mostly_overhead_has_no_rate(self, page: Page) -> None:
        def text(gpu: float | None) -> str:
            run = RUN | {"results": [entry("x", "1", py_tensor=measured(*[0.2] * 5, gpu=gpu))]}
            body = """[m.summaryTable(a[0], {}), m.detailTable(a[0], {})]
              .map((table) => table.innerText).join()"""
            return call(page, "table", body, run)

        for busy in (text(0.1), text(None)):
            assert "10.0 GFLOP/s, 50 % of limit" in busy
            assert "overhead" not in busy
        idle = text(0.02)
        assert "GPU busy 10 %" in idle
        assert "mostly overhead" in idle
        assert "GFLOP/s" not in idle
        assert "too short" in text(0)
        assert "not known" in text(None)

    def test_the_picture_has_a_point_for_each_contender_on_the_gpu(self, page: Page) -> None:
        points, text, pointed = call(page, "roofline", HOVERED, RUN)
        assert points == 1  # NumPy is not on this device
        assert "a copy: 10.0 GB/s" in text
        assert "flops per byte" in text
        assert "matmul, 64: 2.00" in pointed
        assert "py_tensor: 10.0 GFLOP/s, 50.0 % of the device's limit" in pointed
        assert call(page, "roofline", "m.roofline(a[0])", RUN | {"probes": None}) is None

    @pytest.mark.parametrize(
        ("software", "whose"), [(False, "the GPU’s"), (True, "the software adapter’s")]
    )
    def test_the_legend_says_what_the_dotted_line_is(
        self, page: Page, software: bool, whose: str
    ) -> None:
        run = RUN | {"software": software}
        legend = "m.charts(a[0], null, {}).querySelector('.legend .faint').textContent"
        assert call(page, "chart", legend, run) == (
            f"dotted: kernels only, by {whose} clock in a separate sample,"
            " which can exceed the whole time"
        )

    def test_the_roof_reaches_both_ends(self, page: Page) -> None:
        """Over seven decades, every second with a tick."""
        sparse, dense = (
            entry("x", size, py_tensor=measured(*[0.2] * 5, gpu=0.1)) | {"flops": flops}
            for size, flops in (("1", 8 * 10**7), ("2", 2 * 10**13))
        )
        body = """((figure) => [figure.querySelector(".roof").getAttribute("d"),
          ...["x1", "x2"].map((end) => figure.querySelector(".base").getAttribute(end))]
        )(m.roofline(a[0]))"""
        path, left, right = call(page, "roofline", body, RUN | {"results": [sparse, dense]})
        ends = [float(point.split()[0]) for point in path[1:].split("L")]
        assert [ends[0], ends[-1]] == pytest.approx([float(left), float(right)], abs=0.1)


class TestRecord:
    def read(self, page: Page, value: Any) -> list[str] | None:
        text = value if isinstance(value, str) else json.dumps(value)
        return call(page, "record", "m.fromJson(a[0]).problems", text)

    def test_a_written_run_can_be_read(self, page: Page) -> None:
        text = call(page, "record", "m.toJson(a[0])", RUN)
        assert self.read(page, text) is None
        outcome = json.loads(text)["results"][0]["contenders"]["py_tensor"]
        assert outcome["median"] == 0.2
        assert outcome["spread"] == 0
        assert outcome["rate"] == pytest.approx(10)
        assert outcome["part_of_limit"] == pytest.approx(0.5)

    def test_runs_of_the_command_line_can_be_read(self, page: Page) -> None:
        probes = {"copy": {"rate": 16.0, "seconds": [1.0]}, "multiplyAdd": {"rate": 1.0}}
        case = cases.suites(cases.SOFTWARE)["matmul"][0]
        found = {
            "py_tensor": Outcome(samples=[1e-3] * 3, calls=1, gpu=9e-4),
            "jax-js": Outcome(status="wrong", reason="off by 1"),
        }
        results = [report.result("matmul", case, found, probes)]
        assert self.read(page, RUN | {"results": results}) is None

    def test_problems_are_explained(self, page: Page) -> None:
        (problem,) = self.read(page, "{") or []
        assert problem.startswith("not valid JSON: ")
        assert self.read(page, []) == ["the whole is an array, not object"]
        assert self.read(page, {k: v for k, v in RUN.items() if k != "date"}) == ["date is missing"]
        assert self.read(page, RUN | {"schema": 2}) == ["schema is 2, not 1"]
        bad = copy.deepcopy(RUN)
        outcomes = bad["results"][0]["contenders"]
        outcomes["py_tensor"]["samples"][1] = -1
        outcomes["NumPy"]["status"] = "fine"
        outcomes["tfjs"]["reason"] = "x" * 3000
        del bad["results"][0]["unit"]
        assert self.read(page, bad) == [
            "results[0].unit is missing",
            "results[0].contenders.py_tensor.samples[1] is -1, not more than 0",
            'results[0].contenders.NumPy.status is "fine", not "measured" or "missing" or '
            '"skipped" or "wrong" or "failed"',
            "results[0].contenders.tfjs.reason has 3000 characters, more than 2000",
        ]

    def test_the_form_is_documented(self, page: Page) -> None:
        schema = call(page, "schema", "m.RUN")
        names = set(_names(schema))
        text = (ROOT / "docs" / "benchmarks.md").read_text("utf-8")
        assert len(names) > 40
        assert [name for name in sorted(names) if f"`{name}`" not in text] == []

    def test_as_markdown(self, page: Page) -> None:
        text = call(page, "markdown", "m.toMarkdown(a[0], {})", RUN)
        lines = text.splitlines()
        assert lines[0] == "### one \\| run"
        assert "- NVIDIA hopper, Chromium 156, 2026-11-22" in lines
        assert "- copy 10.0 GB/s, multiply-adds 50.0 GFLOP/s" in lines
        assert "| case | size | py\\_tensor | NumPy | tfjs |" in lines
        row = "| matmul | 64 | **200 ms** ±0 % (2.00× NumPy, 2.00–2.00) | 400 ms ±0 % | "
        assert row + "failed: lost its \\<device\\> |" in lines


def _names(schema: dict[str, Any]) -> Iterator[str]:
    """Yield the names of all members of a schema."""
    for name, part in schema.get("properties", {}).items():
        yield name
        yield from _names(part)
    for key in ("items", "additionalProperties"):
        if key in schema:
            yield from _names(schema[key])


class TestProgress:
    def test_the_time_left_follows_the_time_passed(self, page: Page) -> None:
        body = """((p) => {
          const told = [[p.fraction, p.left]];
          Object.assign(p, { finished: 1, part: 0.5, passed: 8 });
          told.push([p.fraction, p.left]);
          p.finished = 3;
          told.push([p.left]);
          return told;
        })(new m.Progress([1, 2, 5], a[0]))"""
        # 2 of the expected 8 s took 8 s: the other 6 would take 24, but at most a[0] is left.
        assert call(page, "estimate", body, 100) == [[0, 8], [0.25, 24], [0]]
        assert call(page, "estimate", body, 20) == [[0, 8], [0.25, 12], [0]]
