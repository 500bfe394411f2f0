"""The benchmark panel, driven as a user does."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from playwright.sync_api import Locator, Page, Route, expect

from tests.browser.app import AppPage, AppSession
from tests.browser.conftest import Console
from tests.browser.test_saving import SVG, colours, downloaded, texts
from tests.browser.test_snapshot import in_worker

Run = Callable[[str], dict[str, Any]]

RUN_MS = 90_000
PEERS = ["py_tensor", "NumPy", "tfjs", "jax-js"]
TIME = re.compile(r"^[\d.]+ ([nµm]?s)$")


class Panel:
    def __init__(self, page: Page) -> None:
        self.page = page
        self.root = page.locator("#panel-benchmarks")
        self.words = self.root.locator(".outcome")
        self.setup = self.root.locator(".setup")
        self.estimate = self.root.locator(".estimate")
        self.summary = self.root.get_by_role("region", name="Results")
        self.rows = self.summary.locator("tbody tr")
        self.kept = self.root.get_by_role("region", name="Saved runs")

    def choose(self, name: str, *values: str) -> None:
        """Select exactly these of a group, in every selected suite."""
        for box in self.root.locator(f'input[name="{name}"]:not([hidden] *)').all():
            if box.is_checked() != (box.get_attribute("value") in values):
                box.locator("xpath=..").click()

    @property
    def contenders(self) -> list[str | None]:
        boxes = self.root.locator("input[name=contender]:checked").all()
        return [box.get_attribute("value") for box in boxes]

    def suites(self, *keys: str) -> None:
        """Select exactly these suites, and expand them."""
        self.choose("suite", *keys)
        self.open()

    def open(self) -> None:
        """Open the view and expand all its choices."""
        self.setup.wait_for(state="attached")  # the view is loaded when it is opened
        for closed in (".setup:not([open])", ".suite-choice:not([hidden], [open])"):
            for part in self.root.locator(closed).all():
                part.locator("> summary").click()

    def button(self, name: str) -> Locator:
        return self.root.get_by_role("button", name=name, exact=True)

    def run(self) -> None:
        """Run the selected cases to the end."""
        self.button("Run").click()
        expect(self.words).to_have_text(re.compile("^Done"), timeout=RUN_MS)


@pytest.fixture
def panel(page: Page) -> Iterator[Panel]:
    page.locator("#tab-benchmarks").click()
    panel = Panel(page)
    panel.open()
    panel.button("Quick look").click()
    panel.suites("square")
    panel.choose("budget", "20")
    panel.choose("total", "300")
    yield panel
    page.evaluate("pyTensor.interrupt()")
    page.locator("#tab-benchmarks").click()
    expect(panel.button("Run")).to_be_enabled(timeout=RUN_MS)
    page.locator("#tab-console").click()


class TestRunning:
    def test_all_contenders_take_turns(self, panel: Panel, app: AppPage, console: Console) -> None:
        panel.choose("case", "exp", "matmul")
        panel.choose("size", "64")
        panel.choose("contender", "py_tensor", "NumPy", "tfjs", "jax-js")
        panel.run()
        expect(panel.words).to_contain_text("8 measured")
        expect(panel.rows).to_have_count(2)
        expect(panel.rows.first.locator("th")).to_have_text("exp")
        expect(panel.rows.first.locator("td").first).to_have_text("64")
        expect(panel.rows.first).to_contain_text(re.compile(r"B/s, \d.* % of limit|GPU busy \d"))
        expect(panel.rows.last).to_contain_text(re.compile("GFLOP/s|GPU busy"))
        told = panel.root.locator(".headline li")
        expect(told).to_have_count(3)
        expect(told.last).to_contain_text(re.compile(r"py_tensor compared with jax-js: .*× "))
        for name in PEERS[1:]:
            factor = re.compile(rf"× {name} \(|{name}: no winner \(")
            expect(panel.rows.first.locator("td").nth(1)).to_contain_text(factor)
        expect(panel.root.locator(".figures figure")).to_have_count(2)
        expect(
            panel.root.locator(".figures figure").first.locator(".marks .spot.wall")
        ).to_have_count(4)
        names = panel.root.locator(".figures figure").first.locator("text.name")
        expect(names).to_have_text(["size", "time per op"])
        roofline = panel.root.get_by_role("img", name=re.compile("^Roofline"))
        expect(roofline.locator(".marks .spot")).to_have_count(6)
        card = panel.root.locator("details.device")
        expect(card).to_contain_text(re.compile("tfjs 4.*jax-js 0", re.DOTALL))
        expect(card).to_contain_text("multiply-adds")
        panel.root.get_by_text("All figures").click()
        details = panel.root.get_by_role("region", name="Details").locator("tbody tr")
        expect(details).to_have_count(8)
        for row, name in zip(details.all(), [*PEERS, *PEERS], strict=True):
            compiled, first, gpu, dispatches = (
                row.locator("td").nth(column) for column in (2, 3, 7, 8)
            )
            expect(row.locator("td").nth(1)).to_have_text(name)
            expect(first).to_have_text(TIME)
            if name == "NumPy":
                assert [cell.inner_text() for cell in (compiled, gpu, dispatches)] == ["–"] * 3
            else:
                expect(compiled).to_have_text(re.compile(f"{TIME.pattern}|^done before$"))
                expect(gpu).to_have_text(TIME)
                expect(dispatches).to_have_text(
                    "1" if name != "py_tensor" else re.compile(r"^(1|0\.\d+)$")
                )
        assert console.problems == []

    def test_a_narrow_screen_reaches_every_column(self, panel: Panel) -> None:
        panel.choose("case", "exp")
        panel.choose("size", "64")
        panel.run()
        expect(panel.summary).not_to_have_attribute("tabindex", "0")
        size = panel.page.viewport_size
        assert size is not None
        try:
            panel.page.set_viewport_size({"width": 340, "height": 700})
            expect(panel.summary).to_have_attribute("tabindex", "0")
            panel.summary.focus()
            panel.summary.evaluate("(table) => table.scrollTo({ left: table.scrollWidth })")
            expect(panel.rows.first.locator("td").last).to_be_in_viewport(ratio=0.95)
            width = "document.documentElement.scrollWidth - innerWidth"
            assert panel.page.evaluate(width) <= 0
        finally:
            panel.page.set_viewport_size(size)

    def test_cancelling_keeps_what_there_is(self, panel: Panel, run: Run) -> None:
        panel.choose("size", "64", "128", "256", "512", "1024", "2048")
        panel.button("Run").click()
        expect(panel.rows.first).to_be_visible(timeout=RUN_MS)
        expect(panel.root.locator(".left")).to_contain_text(re.compile(r"about \d+ (s|min) left"))
        panel.button("Cancel").click()
        expect(panel.words).to_contain_text("Cancelled after", timeout=5_000)
        expect(panel.rows.first).to_be_visible()
        expect(panel.kept.locator("tbody tr").first).to_be_visible()
        assert run("6 * 7")["result"] == "42"

    @pytest.mark.alone
    def test_the_page_stays_responsive(self, panel: Panel) -> None:
        panel.choose("case", "matmul")
        panel.choose("size", "64", "128", "256")
        panel.page.evaluate("""() => {
          window.longest = 0;
          let last = performance.now();
          window.beats = setInterval(() => {
            const now = performance.now();
            window.longest = Math.max(window.longest, now - last);
            last = now;
          }, 10);
        }""")
        panel.run()
        panel.page.evaluate("clearInterval(window.beats)")
        assert panel.page.evaluate("window.longest") < 1000  # two cores, which SwiftShader uses

    def test_several_suites_are_one_run(self, panel: Panel) -> None:
        panel.suites("square", "elementwise", "small")
        panel.choose("case", "exp", "add")
        panel.choose("size", "64", "128", "16")
        panel.choose("contender", "NumPy")
        # square: exp at 64 and 128; elementwise: add at 128; small: add at 16
        expect(panel.estimate).to_contain_text("4 measurements")
        panel.run()
        expect(panel.words).to_contain_text("4 measured")
        titles = ["Elementwise, sums, matmul", "Elementwise chains", "Small ops"]
        expect(panel.summary.locator("tr.suite")).to_have_text(titles)
        expect(panel.root.locator(".charts h3")).to_have_text(titles)
        expect(panel.root.locator(".figures figure")).to_have_count(3)
        expect(panel.root.get_by_role("heading", name=re.compile("^3 suites, "))).to_be_visible()
        panel.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
        panel.button("Copy as Markdown").click()
        expect(panel.words).to_have_text("Copied as Markdown.")
        text = panel.page.evaluate("navigator.clipboard.readText()")
        assert "| Elementwise chains: add | 128 |" in text
        assert "| Small ops: add | 16 |" in text

    def test_a_library_is_cancelled_while_it_starts(self, panel: Panel, run: Run) -> None:
        panel.choose("contender", "tfjs")
        panel.button("Run").click()
        expect(panel.root.locator(".left")).to_contain_text("tfjs starts", timeout=RUN_MS)
        expect(panel.button("Cancel")).to_be_focused()
        panel.page.keyboard.press("Enter")
        expect(panel.words).to_contain_text("Cancelled after", timeout=5_000)
        expect(panel.button("Run")).to_be_focused()
        assert run("6 * 7")["result"] == "42"

    def test_numpy_is_cancelled_between_two_calls(self, panel: Panel, run: Run) -> None:
        panel.choose("contender", "NumPy")
        panel.choose("size", "64", "128", "256", "512", "1024")
        panel.choose("rounds", "31")  # 20 ms and more each: it cannot end before the click
        panel.button("Run").click()
        expect(panel.root.locator(".left")).to_contain_text("round", timeout=RUN_MS)
        panel.button("Cancel").click()
        expect(panel.words).to_contain_text(re.compile(r"Cancelled after \d of 15"), timeout=5_000)
        assert run("6 * 7")["result"] == "42"

    def test_a_choice_is_needed(self, panel: Panel) -> None:
        panel.choose("size")
        panel.button("Run").click()
        expect(panel.words).to_have_text("Choose at least one size of “Elementwise, sums, matmul”.")

    def test_the_time_is_estimated_and_bounded(self, panel: Panel) -> None:
        panel.choose("case", "exp")
        panel.choose("size", "64")
        expect(panel.estimate).to_have_text("2 measurements, about 3 s")
        panel.choose("case", "exp", "matmul")
        panel.choose("size", "64", "512")
        expect(panel.estimate).to_have_text(re.compile(r"8 measurements, about \d\d s"))
        panel.suites("square", "rows", "products")
        panel.choose("total", "60")
        expect(panel.estimate).to_contain_text("; anything left after 60 s is skipped")

    def test_it_does_not_run_beside_the_console(self, panel: Panel) -> None:
        panel.page.evaluate("void pyTensor.run('import time; time.sleep(60)')")
        expect(panel.button("Run")).to_be_disabled()
        expect(panel.estimate).to_contain_text(
            "Waiting for “import time; time.sleep(60)”, which would distort the timings."
        )
        panel.estimate.get_by_role("button", name="Stop it").click()
        expect(panel.button("Run")).to_be_enabled()
        panel.page.evaluate("void pyTensor.run('import time; time.sleep(60)')")
        expect(panel.button("Run")).to_be_disabled()
        panel.page.evaluate("pyTensor.interrupt()")
        expect(panel.button("Run")).to_be_enabled()
        expect(panel.estimate).to_contain_text("measurements")

    def test_what_is_typed_meanwhile_waits_and_says_why(self, panel: Panel) -> None:
        panel.choose("size", "64", "128", "256", "512")
        panel.button("Run").click()
        expect(panel.rows.first).to_be_visible(timeout=RUN_MS)
        panel.page.locator("#tab-console").click()
        panel.page.locator("#input .cm-content").fill("'typed meanwhile'")
        panel.page.keyboard.press("Enter")
        entry = panel.page.locator("#transcript .entry").last
        expect(entry).to_contain_text("This runs when the benchmarks are done.")
        panel.page.evaluate("pyTensor.interrupt()")
        expect(entry.locator(".result")).to_have_text("'typed meanwhile'")
        expect(entry).not_to_contain_text("benchmarks")

    def test_a_library_that_cannot_be_loaded_leaves_the_others(self, panel: Panel) -> None:
        panel.choose("case", "exp")
        panel.choose("size", "64")
        panel.choose("contender", "py_tensor", "tfjs")
        context = panel.page.context
        context.route("**/vendor/tfjs.js", lambda route: route.abort())
        try:
            panel.run()
        finally:
            context.unroute("**/vendor/tfjs.js")
        expect(panel.words).to_contain_text(", 1 failed")
        expect(panel.rows.first.locator("td").last).to_contain_text("Failed: ")


class TestRuns:
    def test_saved_and_opened_again(self, panel: Panel, app: AppPage, tmp_path: Path) -> None:
        panel.choose("case", "mul, transposed")
        panel.choose("size", "64")
        panel.run()
        with panel.page.expect_download() as download:
            panel.button("Save as JSON").click()
        path = tmp_path / "mine.json"
        download.value.save_as(path)
        record = json.loads(path.read_text("utf-8"))
        assert record["adapter"] == app.info["adapter"]
        chosen = {"suite": "square", "sizes": ["64"], "cases": ["mul, transposed"]}
        assert record["choice"]["suites"] == [chosen]
        assert set(record["versions"]) == {"py_tensor", "NumPy"}
        assert record["probes"]["copy"]["unit"] == "GB/s"
        (result,) = record["results"]
        assert list(result["contenders"]) == ["py_tensor", "NumPy"]
        for outcome in result["contenders"].values():
            assert outcome["status"] == "measured"
            assert 0 <= outcome["error"] < 1e-5
            assert len(outcome["samples"]) == 7
            assert outcome["least"] <= outcome["median"] <= outcome["most"]
            assert outcome["first"] > 0
        assert result["contenders"]["py_tensor"]["gpu"] > 0
        assert result["contenders"]["py_tensor"]["compile"] >= 0
        assert result["contenders"]["py_tensor"]["dispatches"] > 0

        before = panel.kept.locator("tbody tr").count()
        record["name"] = "from elsewhere"
        path.write_text(json.dumps(record), "utf-8")
        panel.root.locator("input[type=file]").set_input_files(path)
        expect(panel.words).to_have_text("Opened mine.json: 1 cases.")
        expect(panel.root.get_by_role("heading", name="from elsewhere")).to_be_visible()
        expect(panel.kept.locator("tbody tr")).to_have_count(before + 1)
        path.write_text(json.dumps(record | {"software": "yes"}), "utf-8")
        panel.root.locator("input[type=file]").set_input_files(path)
        expect(panel.words).to_have_text(
            'mine.json is not a run of these benchmarks: software is "yes", not boolean.'
        )

    def test_charts_are_saved_with_their_legend(self, panel: Panel, tmp_path: Path) -> None:
        names, path = ["earlier", "later", "limits"], tmp_path / "run.json"
        for name in names[:2]:
            path.write_text(json.dumps(run_of(name, 0.1)), "utf-8")
            panel.root.locator("input[type=file]").set_input_files(path)
            expect(panel.root.get_by_role("heading", name=name, exact=True)).to_be_visible()
        panel.kept.get_by_role("checkbox", name="Compare with earlier").check()
        svg = downloaded(panel.page, panel.button("Save SVG of exp")).read_text("utf-8")
        assert {"exp", "py_tensor", "py_tensor, earlier", "size", "64", "128"} <= set(texts(svg))
        spots = [path.get("fill") for path in ElementTree.fromstring(svg).iter(f"{SVG}path")]
        assert "rgb(15, 118, 110)" in spots  # the colour of py_tensor on white
        png = downloaded(panel.page, panel.button("Save PNG of exp")).read_bytes()
        assert len(colours(png, panel.page)) > 900
        expect(panel.root.locator(".figures figure")).to_have_count(1)  # the saved one is gone
        limits = {
            "copy": {"unit": "GB/s", "work": 10**9, "seconds": [0.1] * 3},
            "multiplyAdd": {"unit": "GFLOP/s", "work": 10**9, "seconds": [0.02] * 3},
        }
        path.write_text(json.dumps(run_of(names[2], 0.1) | {"probes": limits}), "utf-8")
        panel.root.locator("input[type=file]").set_input_files(path)
        svg = downloaded(panel.page, panel.button("Save SVG of Roofline")).read_text("utf-8")
        assert {"Roofline", "py_tensor", "flops per byte", "GFLOP/s"} <= set(texts(svg))
        png = downloaded(panel.page, panel.button("Save PNG of Roofline")).read_bytes()
        assert len(colours(png, panel.page)) > 900
        for name in names:
            panel.kept.get_by_role("button", name=f"Delete {name}", exact=True).click()

    def test_kept_named_compared_and_deleted(self, panel: Panel, tmp_path: Path) -> None:
        for name, seconds in (("old", 0.2), ("new", 0.1)):
            path = tmp_path / f"{name}.json"
            path.write_text(json.dumps(run_of(name, seconds)), "utf-8")
            panel.root.locator("input[type=file]").set_input_files(path)
            expect(panel.root.get_by_role("heading", name=name, exact=True)).to_be_visible()
        expect(panel.rows).to_have_count(2)

        panel.kept.get_by_role("checkbox", name="Compare with old").check()
        changes = panel.root.get_by_role("region", name="Changes")
        expect(changes.locator("tbody tr")).to_have_count(2)
        expect(changes).to_contain_text("2.00× (2.00–2.00)")
        expect(panel.root.locator(".figures .spot.before")).to_have_count(2)

        panel.kept.get_by_role("textbox", name="Name of old").fill("the old one")
        panel.kept.get_by_role("textbox", name="Name of old").press("Enter")
        expect(panel.root.get_by_role("heading", name="Compared with the old one")).to_be_visible()
        assert {"new", "the old one"} <= self.names(panel)

        panel.kept.get_by_role("radio", name="Show the old one").check()
        expect(panel.root.get_by_role("heading", name="the old one")).to_be_visible()
        for name in ("the old one", "new"):
            panel.kept.get_by_role("button", name=f"Delete {name}", exact=True).click()
        expect(panel.root.get_by_role("heading", name="the old one")).to_have_count(0)
        assert not {"new", "the old one"} & self.names(panel)

    def names(self, panel: Panel) -> set[str]:
        """Return the names of the runs that the next visit will find."""
        return set(
            panel.page.evaluate("""async () => {
              const { KeptRuns } = await import("./sources/page/bench/runs.js");
              const runs = new KeptRuns();
              await runs.load();
              return runs.all.map(({ run }) => run.name);
            }""")
        )

    def test_a_bounded_number_is_kept(self, page: Page) -> None:
        counts = page.evaluate(
            """async (run) => {
              const { KeptRuns, MAX_RUNS } = await import("./sources/page/bench/runs.js");
              const runs = new KeptRuns();
              const day = (n) => new Date(Date.UTC(2030, 0, 1 + n)).toISOString();
              for (let n = 0; n < MAX_RUNS + 3; n++) await runs.add({ ...run, date: day(n) });
              const again = new KeptRuns();
              await again.load();
              const ours = again.all.filter(({ run }) => run.name === "one of many");
              const found = [runs.all.length - MAX_RUNS, ours.length - MAX_RUNS];
              for (const kept of [...runs.all]) await runs.remove(kept);
              return [...found, runs.all.length, runs.problem];
            }""",
            run_of("one of many", 1),
        )
        assert counts == [0, 0, 0, None]

    def test_copied_as_markdown(self, panel: Panel) -> None:
        panel.choose("case", "exp")
        panel.choose("size", "64")
        panel.choose("contender", "NumPy")
        panel.run()
        panel.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
        panel.button("Copy as Markdown").click()
        expect(panel.words).to_have_text("Copied as Markdown.")
        text = panel.page.evaluate("navigator.clipboard.readText()")
        assert "| case | size | NumPy |" in text
        assert re.search(r"\| exp \| 64 \| [\d.]+ [nµm]s ±\d+ %( noisy)? \|", text)


def reload(app: AppPage) -> None:
    url = app.page.url
    app.page.goto("about:blank")  # otherwise the same URL with a fragment would load nothing
    app.boot(url)


def run_of(name: str, seconds: float) -> dict[str, Any]:
    """Return a run of one case in two sizes, with `seconds` for each op."""
    outcome = {"status": "measured", "samples": [seconds] * 7, "calls": 1}
    about = {"suite": "square", "case": "exp", "flops": 1, "bytes": 8, "unit": "GB/s", "ops": 1}
    sizes = [{"size": str(n), "extent": n} for n in (64, 128)]
    return {
        "schema": 1,
        "name": name,
        "date": "2026-11-22T00:00:00Z",
        "adapter": None,
        "software": True,
        "versions": {"py_tensor": "0.1.0"},
        "results": [about | size | {"contenders": {"py_tensor": outcome}} for size in sizes],
    }


def test_rounds_far_apart_are_called_noisy(page: Page) -> None:
    text = page.evaluate("""async () => {
        const { summaryTable } = await import("./sources/page/bench/table.js");
        const about = { suite: "square", case: "exp", flops: 1, bytes: 1, unit: "GB/s", ops: 1 };
        const result = (size, samples) =>
          ({ ...about, size, contenders: { NumPy: { status: "measured", samples } } });
        const results = [result("64", [10, 10, 10, 11, 12]), result("128", [6, 6, 10, 12, 12])];
        return summaryTable({ results }, {}).innerText;
    }""")
    assert "±5 %" in text
    assert "±30 % noisy" in text
    assert text.count("noisy") == 1


def test_the_first_visit_needs_one_click(fresh_page: Callable[..., AppPage]) -> None:
    app = fresh_page()
    app.page.locator("#tab-benchmarks").click()
    panel = Panel(app.page)
    expect(panel.root.locator(".intro")).to_contain_text("Google SwiftShader")
    expect(panel.root.locator(".intro")).to_contain_text(
        "py_tensor and NumPy, and, if chosen under “What to run”, in the JavaScript libraries"
        " TensorFlow.js (tfjs) and jax-js"
    )
    expect(panel.estimate).to_have_text(re.compile(r"^18 measurements, about \d+ s$"))
    seconds = re.search(r"about (\d+) s", panel.estimate.inner_text())
    assert seconds is not None
    assert int(seconds[1]) <= 30
    expect(panel.setup).not_to_have_attribute("open", "")
    panel.run()
    expect(panel.rows).to_have_count(9)
    expect(panel.root.locator(".headline li")).to_have_count(1)


def without_webgpu(route: Route) -> None:
    """A worker without WebGPU."""
    response = route.fetch()
    absent = 'Object.defineProperty(WorkerNavigator.prototype, "gpu", { value: undefined });'
    route.fulfill(response=response, body=f"{absent}\n{response.text()}")


def peers_that(act: str) -> str:
    """Make workers started by Python's worker do this instead of running, and count them."""
    return (
        "self.peers = 0;\nself.Worker = class extends EventTarget {\n"
        f"constructor() {{ super(); peers++; setTimeout(() => {act}); }}\n"
        "postMessage() {}\nterminate() {}\n};\n"
    )


class TestProbes:
    @pytest.mark.alone
    def test_they_take_as_long_as_they_must(self, page: Page) -> None:
        script = """async () =>
          (await import("./sources/worker/peers/probes.js")).probeLimits({ software: true })"""
        limits = page.evaluate(script)
        assert set(limits) == {"copy", "multiplyAdd", "readOfOne", "readOfHundred"}
        for probe in (limits["copy"], limits["multiplyAdd"]):
            assert 3 <= len(probe["seconds"]) <= 7
            assert probe["work"] > 0
            # The trial of this size took 20 ms; a sample may be faster, but not by much.
            assert max(probe["seconds"]) * probe["dispatches"] > 0.005
        assert min(limits["readOfOne"]["seconds"]) < min(limits["readOfHundred"]["seconds"])

    def test_one_that_fails_is_told_of_and_the_others_go_on(self, page: Page) -> None:
        limits = page.evaluate("""async () => {
          const { probeLimits } = await import("./sources/worker/peers/probes.js");
          const { prototype } = GPUBuffer;
          const original = prototype.getMappedRange;
          prototype.getMappedRange = function (...place) {
            const range = original.apply(this, place);
            if (this.size > 4096) new Float32Array(range)[7] = -1; // as if the copy had gone wrong
            return range;
          };
          try {
            return await probeLimits({ software: true });
          } finally {
            prototype.getMappedRange = original;
          }
        }""")
        assert limits["problem"] == "the copy: a wrong result"
        assert set(limits) == {"problem", "multiplyAdd", "readOfOne", "readOfHundred"}

    def test_a_failure_is_shown_and_not_tried_again(
        self, fresh_page: Callable[..., AppPage]
    ) -> None:
        app = fresh_page(
            routes=in_worker("worker.js", peers_that("this.dispatchEvent(new Event('error'))"))
        )
        app.page.locator("#tab-benchmarks").click()
        panel = Panel(app.page)
        panel.open()
        panel.choose("contender", "NumPy")
        panel.choose("case", "exp")
        for _ in range(2):
            panel.run()
        assert app.run("from js import peers\npeers")["result"] == "1"
        card = panel.root.locator("details.device")
        expect(card).to_contain_text(re.compile("not measured: .*could not be loaded"))

    def test_they_are_cancelled(self, fresh_page: Callable[..., AppPage]) -> None:
        app = fresh_page(routes=in_worker("worker.js", peers_that("null")))
        app.page.locator("#tab-benchmarks").click()
        panel = Panel(app.page)
        panel.button("Run").click()
        expect(panel.words).to_have_text("Measuring what the device can do")
        panel.button("Cancel").click()
        expect(panel.words).to_have_text("Cancelled after 0 of 9 cases", timeout=5_000)
        assert app.run("6 * 7")["result"] == "42"


class TestTheCpuDevice:
    def test_the_default_device_has_no_effect(self, panel: Panel, app: AppPage) -> None:
        panel.choose("case", "exp")
        panel.choose("size", "64")
        panel.choose("contender", "py_tensor", "py_tensor (cpu)")
        app.run("pt.set_default_device('cpu')")
        try:
            intro = panel.root.locator(".intro")
            expect(intro).to_contain_text("The default device does not matter here")
            panel.run()
            assert app.run("pt.default_device().name")["result"] == "'cpu'"
        finally:
            app.run("pt.set_default_device('webgpu')")
        expect(panel.words).to_contain_text("2 measured")
        expect(panel.rows.first.locator("td").nth(1)).to_contain_text("py_tensor (cpu)")

    def test_without_webgpu_it_is_measured_beside_numpy(self, session: AppSession) -> None:
        app = session.open_page(webgpu=False)
        try:
            panel = Panel(app.page)
            app.page.locator("#tab-benchmarks").click()
            panel.open()
            expect(panel.root.locator(".intro")).to_contain_text(
                "No WebGPU here: only py_tensor’s cpu device and NumPy can run."
            )
            contenders = panel.root.locator("input[name=contender]")
            chosen = contenders.and_(app.page.locator(":checked")).all()
            assert [box.get_attribute("value") for box in chosen] == ["py_tensor (cpu)", "NumPy"]
            for name in ("py_tensor", "tfjs", "jax-js"):
                expect(contenders.and_(app.page.locator(f"[value='{name}']"))).to_be_disabled()
            panel.choose("case", "exp")
            panel.choose("size", "64")
            panel.run()
            expect(panel.words).to_have_text(re.compile(r"^Done: 2 measured"))
            headline = panel.root.locator(".headline")
            expect(headline).to_contain_text("py_tensor (cpu) compared with NumPy")
        finally:
            app.close()


class TestStaying:
    def test_a_choice_outlives_the_page_and_what_is_damaged_does_not(
        self, fresh_page: Callable[..., AppPage]
    ) -> None:
        app = fresh_page()
        panel = Panel(app.page)
        app.page.locator("#tab-benchmarks").click()
        panel.open()
        panel.suites("rows", "small")
        panel.choose("case", "softmax", "add")
        panel.choose("contender", "NumPy", "jax-js")
        panel.choose("rounds", "31")
        words = panel.setup.locator("> summary").inner_text()
        told = panel.estimate.inner_text()
        assert "2 suites; NumPy, jax-js" in words
        reload(app)
        app.page.locator("#tab-benchmarks").click()
        expect(panel.setup.locator("> summary")).to_have_text(words)
        expect(panel.estimate).to_have_text(told)
        for damaged in (
            "{",
            '{"contenders": ["NumPy"]}',
            '{"suites": 3}',
            '{"suites": [{"suite": "none", "cases": [], "sizes": []}]}',
        ):
            app.page.evaluate(
                "(text) => localStorage.setItem('py_tensor.benchmarks', text)", damaged
            )
            reload(app)
            app.page.locator("#tab-benchmarks").click()
            expect(panel.root.locator(".intro")).to_be_visible()
        assert [line for line in app.logged if line.kind == "pageerror"] == []

    def test_a_reload_in_the_middle_leaves_what_there_is(
        self, fresh_page: Callable[..., AppPage]
    ) -> None:
        app = fresh_page()
        panel = Panel(app.page)
        app.page.locator("#tab-benchmarks").click()
        panel.open()
        panel.choose("contender", "NumPy")
        panel.choose("rounds", "31")
        panel.button("Run").click()
        expect(panel.rows.nth(1)).to_be_visible(timeout=RUN_MS)
        reload(app)
        app.page.locator("#tab-benchmarks").click()
        name = panel.kept.get_by_role("textbox")
        expect(name).to_have_value(re.compile("unfinished$"))
        panel.kept.get_by_role("radio").check()
        assert panel.rows.count() >= 1

    def test_what_is_typed_and_held_stays_where_python_starts_anew(
        self, fresh_page: Callable[..., AppPage]
    ) -> None:
        app = fresh_page()
        panel = Panel(app.page)
        app.page.locator("#tab-benchmarks").click()
        panel.open()
        panel.choose("contender", "NumPy")
        panel.choose("case", "exp")
        panel.run()
        box = panel.setup.locator("input[name=rounds][value='31']")
        box.focus()
        app.page.evaluate("document.querySelector('#restart').click()")
        expect(panel.button("Run")).to_be_enabled(timeout=RUN_MS)
        expect(box).to_be_focused()
        expect(panel.rows).to_have_count(3)

    def test_a_redraw_leaves_the_focus_and_what_is_open(self, panel: Panel, tmp_path: Path) -> None:
        for name in ("old", "new"):
            path = tmp_path / f"{name}.json"
            path.write_text(json.dumps(run_of(name, 0.1)), "utf-8")
            panel.root.locator("input[type=file]").set_input_files(path)
            expect(panel.root.get_by_role("heading", name=name, exact=True)).to_be_visible()
        every = panel.root.get_by_text("All figures")
        every.focus()
        panel.page.keyboard.press("Enter")
        compare = panel.kept.get_by_role("checkbox", name="Compare with old")
        compare.focus()
        panel.page.keyboard.press("Space")
        expect(panel.root.get_by_role("heading", name="Compared with old")).to_be_visible()
        expect(compare).to_be_focused()
        expect(panel.root.get_by_role("region", name="Details")).to_be_visible()
        show = panel.kept.get_by_role("radio", name="Show new")
        show.focus()
        panel.page.keyboard.press("ArrowDown")  # the browser checks the next one
        expect(show).not_to_be_checked()
        expect(panel.kept.locator("input[type=radio]:checked")).to_be_focused()
        for name in ("old", "new"):
            panel.kept.get_by_role("button", name=f"Delete {name}", exact=True).press("Enter")
        expect(panel.button("Open JSON…")).to_be_focused()

    @pytest.mark.parametrize("has_webgpu_first", [True, False])
    def test_a_restart_that_changes_the_device(
        self, session: AppSession, has_webgpu_first: bool
    ) -> None:
        served: list[Route] = []

        def serve(route: Route) -> None:
            served.append(route)
            has_webgpu = has_webgpu_first == (len(served) == 1)
            route.continue_() if has_webgpu else without_webgpu(route)

        states = [
            ("WebGPU here is Google SwiftShader", ["py_tensor", "NumPy"]),
            ("No WebGPU here", ["py_tensor (cpu)", "NumPy"]),
        ]
        first, second = states if has_webgpu_first else states[::-1]
        app = session.open_page(routes={"**/worker.js": serve})
        try:
            page = app.page
            panel = Panel(page)
            page.locator("#tab-benchmarks").click()
            panel.open()
            intro = panel.root.locator(".intro")
            headline = panel.root.locator(".headline")
            expect(intro).to_contain_text(first[0])
            assert panel.contenders == first[1]
            panel.choose("case", "exp")
            panel.choose("size", "64")
            panel.run()
            told = headline.inner_text()
            assert told.startswith(f"{first[1][0]} compared with NumPy")
            page.evaluate("document.querySelector('#restart').click()")
            expect(intro).to_contain_text(second[0], timeout=RUN_MS)
            expect(panel.button("Run")).to_be_enabled(timeout=RUN_MS)
            assert panel.contenders == second[1]
            expect(panel.setup.locator("> summary")).to_contain_text(f"exp; {second[1][0]}, NumPy")
            expect(panel.estimate).to_contain_text("2 measurements")
            assert headline.inner_text() == told  # of the run that is shown
            panel.run()
            expect(headline).to_contain_text(f"{second[1][0]} compared with NumPy")
        finally:
            app.close()

    def test_contenders_that_cannot_run_stay_chosen(self, session: AppSession) -> None:
        app = session.open_page()
        try:
            page = app.page
            panel = Panel(page)

            def open_again() -> None:
                reload(app)
                page.locator("#tab-benchmarks").click()
                panel.open()

            page.locator("#tab-benchmarks").click()
            panel.open()
            panel.choose("contender", "py_tensor", "NumPy", "tfjs")
            page.context.route("**/worker.js", without_webgpu)
            open_again()
            expect(panel.root.locator(".intro")).to_contain_text("No WebGPU here")
            assert panel.contenders == ["py_tensor (cpu)", "NumPy"]
            panel.choose("contender", "NumPy")
            panel.choose("rounds", "31")
            open_again()
            assert panel.contenders == ["NumPy"]
            page.context.unroute("**/worker.js")
            open_again()
            assert panel.contenders == ["py_tensor", "NumPy", "tfjs"]
            expect(panel.root.locator("input[name=rounds][value='31']")).to_be_checked()
        finally:
            app.close()
