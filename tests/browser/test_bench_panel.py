"""The benchmark panel, and the Python that checks and times (web/python/benchmarks.py)."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.app import AppPage

Run = Callable[[str], dict[str, Any]]

RUN_MS = 60_000


class Panel:
    """The panel under a person's hands."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.root = page.locator("#panel-benchmarks")
        self.words = self.root.locator(".outcome")
        self.estimate = self.root.locator(".estimate")
        self.rows = self.root.locator("table.results tbody tr")

    def choose(self, name: str, *values: str) -> None:
        """Have exactly these of a group chosen."""
        for box in self.root.locator(f'input[name="{name}"]').all():
            if box.is_checked() != (box.get_attribute("value") in values):
                box.locator("xpath=..").click()

    def suite(self, title: str) -> None:
        self.root.get_by_text(title, exact=True).click()

    def button(self, name: str) -> Locator:
        return self.root.get_by_role("button", name=name)


@pytest.fixture
def panel(page: Page) -> Iterator[Panel]:
    page.locator("#tab-benchmarks").click()
    panel = Panel(page)
    panel.suite("Sum over the last axis")  # and back: every choice is the default again
    panel.suite("Elementwise, sums, matmul")
    yield panel
    page.evaluate("pyTensor.interrupt()")
    page.locator("#tab-benchmarks").click()
    expect(panel.button("Run")).to_be_enabled(timeout=RUN_MS)
    page.locator("#tab-console").click()


class TestPanel:
    def test_a_run_fills_table_and_charts(self, panel: Panel) -> None:
        panel.choose("case", "exp", "sum()", "matmul")
        panel.choose("size", "64", "128")
        panel.button("Run").click()
        expect(panel.words).to_have_text(re.compile("^Done: 12 measured"), timeout=RUN_MS)
        expect(panel.rows).to_have_count(6)
        expect(panel.rows.first.locator("th")).to_have_text("exp")
        expect(panel.rows.first.locator("td").first).to_have_text("64")
        expect(panel.rows.first).to_contain_text("GB/s")
        expect(panel.rows.last).to_contain_text("GFLOP/s")
        expect(panel.rows.last.locator("td").last).to_contain_text("×")
        expect(panel.root.locator("figure")).to_have_count(3)
        expect(panel.root.locator("figure").first.locator("circle")).to_have_count(4)

    def test_a_narrow_screen_reaches_every_column(self, panel: Panel) -> None:
        panel.choose("case", "exp")
        panel.choose("size", "64")
        panel.button("Run").click()
        expect(panel.words).to_have_text(re.compile("^Done"), timeout=RUN_MS)
        table = panel.root.get_by_role("region", name="Results")
        expect(table).not_to_have_attribute("tabindex", "0")
        size = panel.page.viewport_size
        assert size is not None
        try:
            panel.page.set_viewport_size({"width": 400, "height": 700})
            expect(table).to_have_attribute("tabindex", "0")
            table.focus()
            table.evaluate("(table) => table.scrollTo({ left: table.scrollWidth })")
            expect(table.locator("td").last).to_be_in_viewport(ratio=0.95)
        finally:
            panel.page.set_viewport_size(size)

    def test_saving(self, panel: Panel, app: AppPage, tmp_path: Path) -> None:
        panel.choose("case", "mul, transposed")
        panel.choose("size", "64")
        panel.button("Run").click()
        expect(panel.words).to_have_text(re.compile("^Done: 2 measured"), timeout=RUN_MS)
        with panel.page.expect_download() as download:
            panel.button("Save as JSON").click()
        download.value.save_as(tmp_path / "results.json")
        record = json.loads((tmp_path / "results.json").read_text("utf-8"))
        assert record["environment"]["adapter"] == app.info["adapter"]
        assert record["choice"]["sizes"] == ["64"]
        assert [result["device"] for result in record["results"]] == ["webgpu", "cpu"]
        for result in record["results"]:
            assert result["event"] == "measured"
            assert 0 <= result["error"] < 1e-5
            assert len(result["samples"]) >= 7
            assert result["least"] <= result["median"] <= result["most"]

    def test_cancelling_keeps_what_there_is(self, panel: Panel, run: Run) -> None:
        panel.choose("size", "64", "128", "256", "512", "1024", "2048")
        panel.button("Run").click()
        expect(panel.rows.first).to_be_visible(timeout=RUN_MS)
        panel.button("Cancel").click()
        expect(panel.words).to_contain_text("Cancelled after", timeout=5_000)
        expect(panel.rows.first).to_be_visible()
        assert run("6 * 7")["result"] == "42"

    def test_a_choice_is_needed(self, panel: Panel) -> None:
        panel.choose("size")
        panel.button("Run").click()
        expect(panel.words).to_have_text("Choose at least one size.")

    def test_the_time_is_estimated_and_bounded(self, panel: Panel) -> None:
        panel.choose("case", "exp")
        panel.choose("size", "64")
        expect(panel.estimate).to_have_text("2 to measure: about 1 s, at most 5 min")
        panel.choose("total", "1200")
        expect(panel.estimate).to_contain_text("at most 20 min")
        panel.choose("case", "exp", "matmul")
        panel.choose("size", "64", "2048")
        expect(panel.estimate).to_have_text(re.compile(r"8 to measure: about \d\d s"))

    def test_it_does_not_run_beside_the_console(self, panel: Panel) -> None:
        panel.page.evaluate("void pyTensor.run('import time; time.sleep(60)')")
        expect(panel.button("Run")).to_be_disabled()
        expect(panel.estimate).to_contain_text("Something runs in the console")
        panel.page.evaluate("pyTensor.interrupt()")
        expect(panel.button("Run")).to_be_enabled()
        expect(panel.estimate).to_contain_text("to measure")

    def test_what_is_typed_meanwhile_waits_and_says_why(self, panel: Panel) -> None:
        panel.choose("size", "64", "128", "256", "512")
        panel.button("Run").click()
        expect(panel.rows.first).to_be_visible(timeout=RUN_MS)
        panel.page.locator("#tab-console").click()
        panel.page.locator("#input").fill("'typed meanwhile'")
        panel.page.keyboard.press("Enter")
        entry = panel.page.locator("#transcript .entry").last
        expect(entry).to_contain_text("This runs when the benchmarks have ended.")
        panel.page.evaluate("pyTensor.interrupt()")
        expect(entry.locator(".result")).to_have_text("'typed meanwhile'")
        expect(entry).not_to_contain_text("benchmarks")

    def test_rounds_far_apart_are_called_noisy(self, page: Page) -> None:
        text = page.evaluate("""async () => {
            const { Results } = await import("./bench/results.js");
            const { resultTable } = await import("./bench/table.js");
            const results = new Results();
            const about = { event: "measured", device: "cpu", case: "exp", extent: 64 };
            const figures = { median: 1, least: 1, most: 2, queued: 1, rate: 1, error: 0 };
            const even = [10, 10, 10, 11, 12];
            const uneven = [6, 6, 10, 12, 12];
            const unit = "GB/s";
            results.add({ ...about, ...figures, unit, size: "64", samples: even });
            results.add({ ...about, ...figures, unit, size: "128", samples: uneven });
            return resultTable(results, ["cpu"]).innerText;
        }""")
        assert "±5 %" in text
        assert "±30 % noisy" in text
        assert text.count("noisy") == 1

    def test_the_suite_of_the_last_axis(self, panel: Panel) -> None:
        panel.suite("Sum over the last axis")
        panel.choose("size", "64 × 64 × 4096")
        panel.choose("device", "cpu")
        panel.button("Run").click()
        expect(panel.words).to_have_text(re.compile("^Done: 1 measured"), timeout=RUN_MS)
        expect(panel.rows.first).to_contain_text("64 × 64 × 4096")

    def test_the_tabs_take_keys(self, page: Page) -> None:
        page.locator("#tab-console").focus()
        page.keyboard.press("ArrowRight")
        expect(page.locator("#panel-benchmarks")).to_be_visible()
        expect(page.locator("#tab-benchmarks")).to_be_focused()
        page.keyboard.press("ArrowLeft")
        expect(page.locator("#panel-console")).to_be_visible()


HARNESS = """
from py_tensor_page import benchmarks
import json
steps = []

class Wrong:
    '''py_tensor with one wrong answer.'''
    def __getattr__(self, name):
        return getattr(pt, name)
    def exp(self, x):
        return pt.exp(x) * {factor}

async def measure(pt_module, budget, sizes=("64",), cases=("exp",), device="cpu", total=60):
    config = benchmarks.Config("square", sizes, cases, (device,), budget, total)
    bench = benchmarks.Bench(pt_module, lambda: True, steps.append, config)
    for case in config.chosen():
        arrays = [benchmarks._random_array(o, i) for i, o in enumerate(case.operands)]
        await bench.try_case(case, device, arrays)
    return [(s["event"], s.get("reason")) for s in steps if s["event"] != "working"]
"""


class TestChecking:
    def test_a_wrong_answer_is_not_timed(self, run: Run) -> None:
        done = run(HARNESS.format(factor=1.001) + "\nawait measure(Wrong(), 5)")
        assert "('wrong', 'AssertionError: wrong by 0.001" in done["result"]

    def test_a_right_answer_is(self, run: Run) -> None:
        done = run(HARNESS.format(factor=1) + "\nawait measure(Wrong(), 5)")
        assert done["result"] == "[('measured', None)]"

    def test_what_would_take_too_long_is_skipped_with_the_reason(self, run: Run) -> None:
        code = "\nawait measure(pt, 0.02, ('64', '2048'), ('matmul',))"
        done = run(HARNESS.format(factor=1) + code)
        assert "('measured', None), ('skipped', 'one would take about " in done["result"]
        assert "the budget is 20 ms" in done["result"]

    def test_what_comes_after_the_time_for_all_is_skipped(self, run: Run) -> None:
        done = run(HARNESS.format(factor=1) + "\nawait measure(pt, 5, total=0)")
        assert done["result"] == "[('skipped', 'the 0 ms for all are over')]"
        code = "\nawait measure(pt, 60, ('64', '2048'), ('matmul',), total=0.5)"
        done = run(HARNESS.format(factor=1) + code)
        assert "what is left for all is" in done["result"]

    def test_an_exception_is_reported_and_the_rest_goes_on(self, run: Run) -> None:
        done = run(
            HARNESS.format(factor="None") + "\nawait measure(Wrong(), 5, cases=('exp', 'mul'))"
        )
        assert done["result"].startswith("[('wrong', ")
        assert done["result"].endswith("('measured', None)]")
