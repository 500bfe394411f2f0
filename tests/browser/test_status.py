"""The status bar, its panel, and a restart of Python with a spare on standby."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import Page, Route, Worker, expect

from tests.browser.app import AppPage, AppSession
from tests.browser.repl import Repl, interrupted

OpenPage = Callable[..., AppPage]
Run = Callable[[str], dict[str, Any]]

RESTART = """async () => {
  const start = performance.now();
  document.getElementById("restart-now").click();
  const { result } = await pyTensor.run("(pt.arange(16) * 2).sum().item()");
  return { result, ms: performance.now() - start };
}"""

SPARE_MS = 90_000
"""It begins after ten idle seconds, and after the snapshot is stored."""


def open_panel(page: Page) -> None:
    if not page.locator("#status-panel").is_visible():
        page.locator("#status-button").click()
    expect(page.locator("#status-panel")).to_be_visible()


@pytest.fixture(autouse=True)
def _closed(page: Page) -> Any:
    yield
    page.keyboard.press("Escape")


@pytest.fixture(scope="module")
def lost(session: AppSession) -> Iterator[AppPage]:
    """A page in a separate browser whose GPU process was killed twice."""
    browser = session.another_browser()
    app = AppPage(browser.new_page())
    app.boot(session.url)
    app.run("old = pt.arange(3).realize()")
    for _ in range(2):
        app.run("pt.arange(2).sum().item()")
        browser.new_browser_cdp_session().send("Browser.crashGpuProcess")
        until_lost(app)
    yield app
    browser.close()


class TestNoOtherDevice:
    """After its GPU process was killed twice, Chromium offers no adapter."""

    def test_errors_and_device_info_tell_what_is(self, lost: AppPage) -> None:
        failed = lost.run("pt.arange(3)")["error"].splitlines()[-1]
        assert "DeviceError: the GPU device was lost, and no other is available: " in failed
        assert "pt.set_default_device('cpu')" in failed
        assert (
            lost.run("old.tolist()")["error"]
            .splitlines()[-1]
            .startswith("py_tensor.base.errors.DeviceLostError: ")
        )
        info = lost.run("pt.device_info()")["result"]
        assert re.match(r"webgpu\ndevice lost +WebGPU .* no adapter", info)
        assert "SwiftShader" not in info

    def test_the_banner_offers_the_cpu(self, lost: AppPage) -> None:
        page, banner = lost.page, lost.page.locator("#banner")
        expect(page.locator("#status-text")).to_have_text("GPU device lost, and no other available")
        expect(banner).to_contain_text("The GPU device was lost, and the browser offers no other.")
        banner.get_by_role("button", name="Use the CPU device").click()
        expect(page.locator("#status-text")).to_have_text("CPU · NumPy", timeout=60_000)
        expect(banner).to_be_hidden()
        assert lost.run("pt.arange(4).sum().item(), pt.default_device().name")["result"] == (
            "(6, 'cpu')"
        )
        assert "no GPU" in lost.run("pt.device_info()")["result"]


def until_lost(app: AppPage) -> None:
    lost = "import py_tensor_bridge, json; json.loads(py_tensor_bridge.stats())['isLost']"
    while app.run(lost)["result"] != "True":
        app.page.wait_for_timeout(50)


class TestBar:
    def test_memory_is_shown_after_a_run(self, fresh_page: OpenPage) -> None:
        app = fresh_page()
        page, run = app.page, app.run
        run("kept = pt.ones((1024, 1024)) + 1; pt.realize(kept); None")
        amounts = page.locator("#status-figures")
        expect(amounts).to_contain_text("GPU 4 MiB")
        expect(amounts).to_contain_text("Python ")
        run("del kept; pt.empty_cache()")
        expect(amounts).to_contain_text("GPU 0 bytes")

    def test_what_runs_is_timed_in_every_view(self, page: Page, run: Run) -> None:
        page.evaluate("() => { pyTensor.run('import time; time.sleep(30)'); }")
        page.locator("#tab-benchmarks").click()
        expect(page.locator("#status-running")).to_have_text(re.compile(r"^running \d+ s$"))
        page.evaluate("pyTensor.interrupt()")
        expect(page.locator("#status-running")).to_have_text("")
        page.locator("#tab-console").click()

    def test_a_run_is_not_asked(self, page: Page, run: Run) -> None:
        """Python is not queried while it waits, because its state may be inconsistent."""
        done = run(
            "import asyncio\n"
            "calls, memory_info = [], pt.memory_info\n"
            "pt.memory_info = lambda *place: calls.append(1) or memory_info(*place)\n"
            "await asyncio.sleep(3)\n"
            "during = len(calls)"
        )
        assert done["error"] is None
        page.wait_for_timeout(2500)
        after = run("pt.memory_info = memory_info; during, len(calls) > 0")
        assert after["result"] == "(0, True)"

    def test_a_lost_device(self, fresh_page: OpenPage) -> None:
        app = fresh_page()
        app.run("x = pt.ones(3) + 1; x.realize(); import py_tensor_bridge")
        app.run("py_tensor_bridge.loseDevice()")
        text = app.page.locator("#status-text")
        expect(text).to_have_text("GPU device lost: old tensors are gone, new ones work")
        assert "DeviceLostError" in app.run("x.tolist()")["error"]
        assert app.run("(pt.ones(3) + 1).tolist()")["result"] == "[2.0, 2.0, 2.0]"
        expect(text).to_contain_text("restored after a loss")
        open_panel(app.page)
        expect(app.page.locator("#status-panel")).to_contain_text("the device was lost once")


class TestPanel:
    def test_it_tells_what_there_is(self, app: AppPage) -> None:
        open_panel(app.page)
        panel = app.page.locator("#status-panel")
        for words in ("buffers in a kernel", "JSPI", app.info["python"], "in use"):
            expect(panel).to_contain_text(words)

    def test_another_default_device_is_described(self, fresh_page: OpenPage) -> None:
        app = fresh_page()
        open_panel(app.page)
        title = app.page.locator("#status-panel .device-title")
        expect(title).to_contain_text("webgpu")
        app.run("pt.set_default_device('cpu')")
        expect(title).to_have_text("cpu")
        rows = app.page.locator("#status-panel > dl").last
        expect(rows).to_contain_text("loaded for the first tensor on this device")
        expect(app.page.locator("#status-panel")).not_to_contain_text("buffers in a kernel")
        app.run("pt.ones(3) + 1")
        app.page.keyboard.press("Escape")
        open_panel(app.page)
        expect(rows).to_contain_text("self-test")
        app.run("pt.set_default_device('webgpu')")
        expect(title).to_contain_text("webgpu")

    def test_before_the_device_is_known_nothing_stands_for_it(self, fresh_page: OpenPage) -> None:
        page = fresh_page().page
        page.evaluate("() => { window.ended = pyTensor.run('while True: pass'); }")
        open_panel(page)
        expect(page.locator("#status-panel > dl").last).to_be_hidden()
        expect(page.locator("#status-panel .device-title")).to_be_hidden()
        page.evaluate("() => pyTensor.interrupt().then(() => window.ended)")
        page.keyboard.press("Escape")
        open_panel(page)
        # The self-test compiles kernels.
        expect(page.locator("#status-panel .device-title")).to_be_visible()

    def test_the_progress_of_the_start_is_beside_its_words(self, page: Page) -> None:
        """Measured at once, as the status may change at any time."""
        bar, words = page.evaluate("""() => {
            const bar = document.getElementById("boot-progress");
            const words = document.getElementById("status-text");
            const before = words.textContent;
            bar.hidden = false;
            words.textContent = "Starting Python";
            const middles = [bar, words].map((element) => {
                const { top, height } = element.getBoundingClientRect();
                return top + height / 2;
            });
            bar.hidden = true;
            words.textContent = before;
            return middles;
        }""")
        assert bar == pytest.approx(words, abs=1)

    def test_the_keyboard_opens_and_closes_it(self, page: Page) -> None:
        page.locator("#status-button").press("Enter")
        expect(page.locator("#status-panel")).to_be_visible()
        page.keyboard.press("Tab")
        expect(page.locator("#restart-now")).to_be_focused()
        page.keyboard.press("Escape")
        expect(page.locator("#status-panel")).to_be_hidden()
        expect(page.locator("#status-button")).to_be_focused()

    @pytest.mark.parametrize("width", [360, 1280])
    def test_it_lies_within_the_window(self, fresh_page: OpenPage, width: int) -> None:
        app = fresh_page(viewport={"width": width, "height": 640})
        open_panel(app.page)
        box = app.page.locator("#status-panel").bounding_box()
        assert box is not None
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= width
        assert box["y"] + box["height"] <= 640
        assert app.page.evaluate("document.documentElement.scrollWidth") <= width

    def test_the_devices_repr_is_a_table(self, run: Run) -> None:
        shown = run("pt.device_info()")["result"]
        assert shown.startswith("webgpu: ")
        assert "self-test" in shown
        assert len(shown.splitlines()) < 25


BUSY_UNTIL = """async () => {
    const message = new Promise((resolve) => {
        addEventListener("pytensor:message", ({ detail }) => resolve(detail), { once: true });
    });
    pyTensor.run(`
import js
count = js.Int32Array.new(js.SharedArrayBuffer.new(4))
js.postMessage(count)
while True: count[0] += 1
`);
    const count = await message;
    const wait = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
    while (!Atomics.load(count, 0)) await wait(10);
    document.getElementById("restart-now").click();
    const start = performance.now();
    let [last, changed] = [Atomics.load(count, 0), start];
    while (performance.now() - start < 3000) {
        await wait(10);
        if (Atomics.load(count, 0) !== last) changed = performance.now();
        last = Atomics.load(count, 0);
    }
    return changed - start;
}"""
"""For how many ms the old Python continues to run after a restart."""


KEEPS_ITS_DEVICE = """
const request = GPUAdapter.prototype.requestDevice;
GPUAdapter.prototype.requestDevice = async function (...given) {
  return (self.kept = await request.apply(this, given));
};
"""
GETS_NO_ADAPTER = "GPU.prototype.requestAdapter = async () => null;"


def spare_with(lines: str) -> Callable[[Route], None]:
    """Serve the worker's script with lines that run first, if it is a spare's."""

    def serve(route: Route) -> None:
        response = route.fetch()
        first = f"if (self.name === 'py_tensor spare') {{ {lines} }}\n"
        route.fulfill(response=response, body=first + response.text())

    return serve


RENAMED = """
Object.defineProperty(GPUAdapterInfo.prototype, "vendor", { value: "Renamed" });
Object.defineProperty(GPUAdapterInfo.prototype, "architecture", { value: "" });
"""


class TestBanner:
    def test_what_was_hidden_stays_hidden(self, fresh_page: OpenPage) -> None:
        page = fresh_page().page
        banner = page.locator("#banner")
        if not page.evaluate("pyTensor.ready.then((info) => info.isFallbackAdapter)"):
            expect(banner).to_be_hidden()  # there is a GPU, and no warning
            return
        expect(banner).to_contain_text("graphics acceleration")
        banner.get_by_role("button", name="Hide").click()
        expect(banner).to_be_hidden()
        open_panel(page)
        assert page.evaluate(RESTART)["result"] == "240"
        expect(banner).to_be_hidden()

    def test_what_was_hidden_stays_hidden_after_a_reload(self, session: AppSession) -> None:
        def serve(route: Route) -> None:
            response = route.fetch()
            route.fulfill(response=response, body=RENAMED + response.text())

        app = session.open_page()
        try:
            hide = app.page.locator("#banner").get_by_role("button", name="Hide")
            if not app.info["isFallbackAdapter"]:
                expect(hide).to_be_hidden()
                return
            hide.click()
            app.boot(session.url)
            expect(app.page.locator("#status-text")).to_contain_text("software adapter")
            expect(hide).to_be_hidden()
            app.page.context.route("**/worker.js", serve)
            app.boot(session.url)
            expect(app.page.locator("#banner")).to_contain_text("Renamed runs on the CPU.")
            expect(app.page.locator(".tagline")).to_contain_text("a software adapter (Renamed)")
            app.page.context.unroute("**/worker.js")
            app.boot(session.url)
            expect(hide).to_be_visible()  # what was hidden was another warning meanwhile
        finally:
            app.close()

    def test_hiding_works_without_storage(self, session: AppSession) -> None:
        app = session.open_page(boot=False)
        try:
            refuse = "Storage.prototype.getItem = Storage.prototype.setItem = () => { throw 0; };"
            app.page.add_init_script(refuse)
            app.boot(session.url)
            hide = app.page.locator("#banner").get_by_role("button", name="Hide")
            if app.info["isFallbackAdapter"]:
                hide.click()
            expect(hide).to_be_hidden()
            assert app.page.evaluate(RESTART)["result"] == "240"
            expect(hide).to_be_hidden()
        finally:
            app.close()

    def test_the_headline_names_a_software_adapter(self, app: AppPage) -> None:
        tagline = app.page.locator(".tagline")
        if app.info["isFallbackAdapter"]:
            expect(tagline).to_contain_text("a software adapter (Google SwiftShader) on the CPU")
            expect(tagline).not_to_contain_text("your GPU")
        else:
            expect(tagline).to_contain_text("computed on your GPU")

    def test_on_a_phone_it_is_one_line_until_it_is_opened(self, fresh_page: OpenPage) -> None:
        page = fresh_page(viewport={"width": 390, "height": 800}).page
        banner = page.locator("#banner")
        if not page.evaluate("pyTensor.ready.then((info) => info.isFallbackAdapter)"):
            expect(banner).to_be_hidden()
            return
        height = "(element) => element.getBoundingClientRect().height"
        assert banner.evaluate(height) <= 56
        expect(banner.get_by_text("graphics acceleration")).to_be_hidden()
        banner.locator("summary").press("Enter")
        expect(banner.get_by_text("graphics acceleration")).to_be_visible()


NO_FIGURES = "Object.defineProperty(document, 'hidden', { value: true, configurable: true });"
"""The status is not asked for while the page is hidden."""


class TestRestart:
    def test_a_click_is_heard_while_the_panel_is_drawn_anew(
        self, fresh_page: OpenPage, server: str
    ) -> None:
        app = fresh_page(boot=False)
        app.page.add_init_script(NO_FIGURES)
        app.boot(server)
        app.run("gone = 1")
        open_panel(app.page)
        figures = app.page.locator("#status-figures")
        expect(figures).to_be_empty()
        app.page.locator("#restart-now").hover()
        app.page.evaluate("() => { delete document.hidden; }")
        expect(figures).to_contain_text("Python")
        app.page.mouse.down()
        app.run("kept = pt.ones(1000).realize()")
        expect(figures).to_contain_text(re.compile("GPU [1-9]"))
        app.page.mouse.up()
        expect(app.page.locator("#transcript .note").last).to_contain_text("All variables are lost")
        assert "NameError" in app.run("gone")["error"]

    @pytest.mark.alone
    def test_what_runs_ends_at_once(self, fresh_page: OpenPage) -> None:
        """A worker that is terminated while it is busy may run for two more seconds."""
        app = fresh_page()
        open_panel(app.page)
        assert app.page.evaluate(BUSY_UNTIL) < 1000
        assert app.run("1 + 1")["result"] == "2"

    @pytest.mark.alone
    def test_a_spare_python_takes_over(self, fresh_page: OpenPage) -> None:
        """Compared with a boot on this machine under the same load."""
        app = fresh_page(first_visit=True)
        repl = Repl(app.page)
        repl.type("kept = 'on the screen'; kept")
        expect(repl.last(".result")).to_be_visible()
        open_panel(app.page)
        anew = app.page.evaluate(RESTART)  # no spare was booted that soon
        assert anew["result"] == "240"
        open_panel(app.page)
        panel = app.page.locator("#status-panel")
        expect(panel).to_contain_text("instant (a standby Python is ready)", timeout=SPARE_MS)
        assert len(app.page.workers) == 2
        assert app.run("gone = 1; 'first'")["result"] == "'first'"
        open_panel(app.page)
        with_spare = app.page.evaluate(RESTART)
        assert with_spare["result"] == "240"
        assert with_spare["ms"] < 0.2 * anew["ms"]
        assert "NameError" in app.run("gone")["error"]
        expect(repl.entries).to_have_count(1)
        expect(repl.last(".result")).to_have_text("'on the screen'")
        expect(app.page.locator("#transcript .note").last).to_have_text(
            "Python was restarted. All variables are lost."
        )
        assert app.run("x = pt.rand(3); (x == x).all().item()")["result"] == "True"
        assert interrupted(app.page, "while True: pass")["error"].endswith("KeyboardInterrupt")

    def test_a_spare_with_other_choices_among_kernels_is_replaced(
        self, fresh_page: OpenPage
    ) -> None:
        app = fresh_page()
        open_panel(app.page)
        panel = app.page.locator("#status-panel")
        expect(panel).to_contain_text("instant (a standby Python is ready)", timeout=SPARE_MS)
        spare = app.page.workers[-1]
        with spare.expect_event("close"):
            app.page.evaluate("new BroadcastChannel('py_tensor choices').postMessage('an adapter')")
        expect(panel).to_contain_text("no standby Python is ready")
        expect(panel).to_contain_text("instant (a standby Python is ready)", timeout=SPARE_MS)
        assert app.page.evaluate(RESTART)["result"] == "240"
        assert app.run("pt.device_info()['generation']")["result"] == "1"
        expect(app.page.locator("#status-text")).not_to_contain_text("restored")

    def test_a_spare_whose_device_was_lost_gets_another(self, fresh_page: OpenPage) -> None:
        app = fresh_page(routes={"**/worker.js": spare_with(KEEPS_ITS_DEVICE)})
        open_panel(app.page)
        panel = app.page.locator("#status-panel")
        expect(panel).to_contain_text("instant (a standby Python is ready)", timeout=SPARE_MS)
        app.page.workers[-1].evaluate("kept.destroy(); kept.lost.then(() => null)")
        assert app.page.evaluate(RESTART)["result"] == "240"
        assert app.run("pt.device_info()['generation']")["result"] == "2"
        assert app.run("pt.default_device().name")["result"] == "'webgpu'"

    def test_a_spare_without_a_gpu_does_not_stand_by(self, fresh_page: OpenPage) -> None:
        app = fresh_page(routes={"**/worker.js": spare_with(GETS_NO_ADAPTER)})
        ended: list[Worker] = []
        with app.page.expect_event(
            "worker", lambda worker: worker.url.endswith("/worker.js"), timeout=SPARE_MS
        ) as started:
            pass
        started.value.on("close", lambda worker: ended.append(worker))
        deadline = SPARE_MS
        while not ended:
            assert deadline, "it stands by"
            deadline -= 100
            app.page.wait_for_timeout(100)
        open_panel(app.page)
        expect(app.page.locator("#status-panel")).to_contain_text("no standby Python is ready")
        assert app.page.evaluate(RESTART)["result"] == "240"
        assert app.run("pt.default_device().name")["result"] == "'webgpu'"

    def test_a_run_ends_the_boot_of_a_spare(self, fresh_page: OpenPage) -> None:
        app = fresh_page()
        with app.page.expect_event(
            "worker", lambda worker: worker.url.endswith("/worker.js"), timeout=SPARE_MS
        ):
            pass
        app.page.evaluate("() => { pyTensor.run('import time; time.sleep(1)'); }")
        deadline = 100
        while len(app.page.workers) != 1:
            assert deadline, [worker.url for worker in app.page.workers]
            deadline -= 1
            app.page.wait_for_timeout(50)

    def test_none_is_kept_where_there_is_little_memory(self, fresh_page: OpenPage) -> None:
        app = fresh_page(boot=False)
        app.page.add_init_script(
            "Object.defineProperty(Navigator.prototype, 'deviceMemory', { value: 2 })"
        )
        app.page.clock.install()
        app.page.goto("/")
        app.page.evaluate("pyTensor.ready.then(() => null)")
        app.page.clock.fast_forward(60_000)
        app.page.wait_for_timeout(500)
        spares = [w for w in app.page.workers if w.url.endswith("/worker.js")]
        assert len(spares) == 1
