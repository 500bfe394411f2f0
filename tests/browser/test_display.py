"""Output in the transcript: images, charts, live displays, views, objects of other libraries."""

from __future__ import annotations

import base64
import json
import re
import time
from collections.abc import Callable, Iterator
from statistics import median
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Locator, Route, expect

from py_tensor.display import colormaps
from tests.browser.app import EXPECT_SECONDS, AppPage, AppSession
from tests.browser.test_boot import serve_without_jspi

Array = np.ndarray[Any, Any]
OpenPage = Callable[..., AppPage]

PIXELS = """canvas => {
    const copy = document.createElement("canvas");
    [copy.width, copy.height] = [canvas.width, canvas.height];
    const context = copy.getContext("2d", { willReadFrequently: true });
    context.drawImage(canvas, 0, 0);
    let text = "";
    const { data } = context.getImageData(0, 0, copy.width, copy.height);
    for (const byte of data) text += String.fromCharCode(byte);
    return btoa(text);
}"""

PASTE = """(target, text) => {
    const clipboardData = new DataTransfer();
    clipboardData.setData("text/plain", text);
    const event = { clipboardData, bubbles: true, cancelable: true };
    target.dispatchEvent(new ClipboardEvent("paste", event));
}"""

READS = "__import__('json').loads(pt.default_device().backend.bridge.stats())['reads']"

INTERRUPT_MS = 100
INTERRUPTED_AFTER = """async () => {
    const since = performance.now();
    await pyTensor.interrupt();
    return performance.now() - since;
}"""


class Shown:
    """A page's transcript, operated like a user."""

    def __init__(self, app: AppPage) -> None:
        self.app = app
        self.page = app.page
        self.entries = self.page.locator("#transcript .entry")

    def run(self, code: str, state: str = "done") -> Locator:
        """Type code, and return its entry once it has ended like this."""
        before = self.entries.count()
        self.begin(code)
        entry = self.entries.nth(before)
        expect(entry).to_have_class(f"entry {state}", timeout=60_000)
        return entry

    def begin(self, code: str) -> None:
        """Paste code and press Enter."""
        prompt = self.page.locator("#input .cm-content")
        prompt.fill("")
        prompt.evaluate(PASTE, code)
        prompt.press("Enter")

    def value(self, code: str) -> Any:
        """Return the result of an expression, without the transcript."""
        done = self.app.run(code)
        assert done["ok"], done["error"]
        return done["result"]

    def expect_value(self, code: str, result: str) -> None:
        """Wait until an expression has a result: the page moves controls before Python knows."""
        deadline = time.monotonic() + EXPECT_SECONDS
        while self.value(code) != result and time.monotonic() < deadline:
            self.page.wait_for_timeout(20)
        assert self.value(code) == result


def pixels(canvas: Locator) -> Array:
    """R, G, B, A of a canvas's pixels."""
    data = base64.b64decode(canvas.evaluate(PIXELS))
    size = canvas.evaluate("canvas => [canvas.height, canvas.width]")
    return np.frombuffer(data, dtype=np.uint8).reshape(*size, 4)


def pointed(shown: Shown, element: Locator) -> list[str]:
    """Return the lines of a chart's value box while the pointer is on one of its elements."""
    box = element.bounding_box()
    assert box is not None
    shown.page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    return element.locator("xpath=ancestor::figure").locator(".tip text").all_text_contents()


def literal(a: Array) -> str:
    dtype = {"f": "float32", "i": "int32", "u": "uint32"}[a.dtype.kind]
    return f"pt.tensor({a.tolist()}, dtype=pt.{dtype})"


def painting_in_software(route: Route) -> None:
    """The bridge as with a GPU: with a software adapter it would read pixels."""
    response = route.fetch()
    option = "{paintInSoftware:true,choiceStore:"
    body, found = re.subn(r"\{choiceStore:", option, response.text())
    assert found == 1, "the bundle of the worker does not create its bridge as this expects"
    route.fulfill(response=response, body=body)


@pytest.fixture(scope="module")
def _painting(session: AppSession) -> Iterator[AppPage]:
    app = session.open_page(canvas=True, routes={"**/worker.js": painting_in_software})
    yield app
    app.close()


@pytest.fixture(params=["painted", "read"])
def shown(request: pytest.FixtureRequest) -> Shown:
    """Pages in which WebGPU draws on canvases, and in which pixels are read back for them."""
    name = "_painting" if request.param == "painted" else "app"
    found = Shown(request.getfixturevalue(name))
    found.page.locator("#tab-console").click()
    found.page.locator("#clear").click()
    return found


@pytest.fixture
def transcript(app: AppPage) -> Shown:
    app.page.locator("#tab-console").click()
    app.page.locator("#clear").click()
    return Shown(app)


@pytest.fixture
def painting(_painting: AppPage) -> Shown:
    _painting.page.locator("#clear").click()
    return Shown(_painting)


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng()


class TestImages:
    def test_values_through_a_colour_map(self, shown: Shown, rng: np.random.Generator) -> None:
        # 256 levels, none near a boundary between two colours.
        levels = rng.integers(0, 256, (23, 70))
        levels[0, 0], levels[-1, -1] = 0, 255
        values = (levels + rng.uniform(-0.3, 0.3, levels.shape)).clip(0, 255).astype(np.float32)
        entry = shown.run(f"pt.imshow({literal(values)}, vmin=0, vmax=255, cmap='magma')")
        words = np.array(colormaps.table("magma"), dtype="<u4")[levels]
        np.testing.assert_array_equal(
            pixels(entry.locator("canvas")), words.view(np.uint8).reshape(23, 70, 4)
        )

    @pytest.mark.parametrize("size", [(1, 1), (3, 64), (40, 65)])
    def test_colours_are_exact(
        self, shown: Shown, rng: np.random.Generator, size: tuple[int, int]
    ) -> None:
        levels = rng.integers(0, 256, (*size, 3))
        opaque = np.concatenate([levels, np.full((*size, 1), 255)], axis=2)
        for x in (levels.astype(np.int32), (levels / 255).astype(np.float32)):
            entry = shown.run(f"pt.imshow({literal(x)})")
            np.testing.assert_array_equal(pixels(entry.locator("canvas")), opaque)

    def test_alpha(self, shown: Shown, rng: np.random.Generator) -> None:
        levels = rng.integers(0, 256, (9, 13, 4))
        entry = shown.run(f"pt.imshow({literal(levels.astype(np.int32))})")
        found = pixels(entry.locator("canvas")).astype(int)
        alpha = levels[..., 3:]
        np.testing.assert_array_equal(found[..., 3:], alpha)
        # A canvas stores colours multiplied by alpha, so those are compared.
        held = np.round(found[..., :3] * found[..., 3:] / 255)
        np.testing.assert_array_equal(held, np.round(levels[..., :3] * alpha / 255))

    def test_nan_is_transparent(self, shown: Shown) -> None:
        nan = "float('nan')"
        entry = shown.run(f"pt.imshow(pt.tensor([[0.0, {nan}, 1.0]]), cmap='gray')")
        expected = [[[0, 0, 0, 255], [0, 0, 0, 0], [255, 255, 255, 255]]]
        assert pixels(entry.locator("canvas")).tolist() == expected

    def test_an_image_says_what_it_is(self, transcript: Shown) -> None:
        canvas = transcript.run("pt.imshow(pt.ones((4, 8)), scale=10)").locator("canvas")
        expect(canvas).to_have_attribute("role", "img")
        name = "Image of a tensor of shape (4, 8) in viridis colours from 1 to 1"
        expect(canvas).to_have_attribute("aria-label", name)
        box = canvas.bounding_box()
        assert box is not None
        assert (box["width"], box["height"]) == (80, 40)

    @pytest.mark.parametrize("shape", [(1, 5000), (5000, 1), (3, 2000), (40, 1), (1, 1)])
    def test_every_shape_can_be_seen(self, transcript: Shown, shape: tuple[int, int]) -> None:
        canvas = transcript.run(f"pt.imshow(pt.rand{shape})").locator("canvas")
        box, view = canvas.bounding_box(), transcript.page.viewport_size
        assert box is not None
        assert view is not None
        assert 12 <= box["width"] <= view["width"]
        assert 12 <= box["height"] <= 0.9 * view["height"] + 1

    def test_a_picture_and_the_prompt_fit_into_the_console(self, transcript: Shown) -> None:
        page = transcript.page
        before = page.viewport_size
        assert before is not None
        page.set_viewport_size({"width": 1280, "height": 800})
        page.get_by_role("button", name="A picture").click()
        entry = page.locator("#transcript .entry.done")
        labels = entry.locator("text.tick[text-anchor=middle]")
        for part in (entry.locator("canvas"), labels.first, page.locator("#prompt")):
            expect(part).to_be_in_viewport(ratio=1, timeout=60_000)
        page.set_viewport_size(before)

    @pytest.mark.parametrize(("shape", "side"), [((8, 8), 240), ((8, 8, 3), 240), ((2, 3), 144)])
    def test_small_pictures_are_enlarged_and_have_axes(
        self, transcript: Shown, shape: tuple[int, ...], side: int
    ) -> None:
        entry = transcript.run(f"pt.imshow(pt.rand{shape})")
        box = entry.locator("canvas").bounding_box()
        assert box is not None
        assert box["width"] >= side
        ticks = entry.locator("text.tick[text-anchor=middle]").all_text_contents()
        assert ticks == [str(n) for n in range(0, shape[1], 2)]

    def test_nothing_is_read_for_an_image_on_the_gpu(self, painting: Shown) -> None:
        assert painting.value("pt.default_device().backend.can_paint()") == "True"
        before = painting.value(READS)
        painting.run("x = pt.rand(300, 200)\nd = pt.imshow(x, vmin=0, vmax=1)\nd.update(x * 2)\n")
        painting.run("pt.imshow(x, colorbar=False)")
        painting.run("pt.imshow(pt.rand(30, 20, 3))")
        assert painting.value(READS) == before

    def test_an_image_of_the_cpu(self, painting: Shown) -> None:
        entry = painting.run("pt.imshow(pt.tensor([[0, 255]], device='cpu'), cmap='gray')")
        expected = [[[0, 0, 0, 255], [255, 255, 255, 255]]]
        assert pixels(entry.locator("canvas")).tolist() == expected

    def test_errors_are_errors(self, transcript: Shown) -> None:
        entry = transcript.run("pt.imshow(pt.zeros(3))", "failed")
        expect(entry.locator(".error")).to_contain_text("ShapeError: imshow: x must have shape")
        assert entry.locator("canvas").count() == 0

    def test_an_error_of_the_gpu_is_raised(self, painting: Shown) -> None:
        painting.run("old = pt.tensor([[0, 255]]).realize(); pt.synchronize()")
        painting.run("_ = pt.default_device().backend.bridge.loseDevice()")
        entry = painting.run("pt.imshow(old, cmap='gray')", "failed")
        expect(entry.locator(".error")).to_contain_text("DeviceLostError")
        assert entry.locator("canvas").count() == 0
        entry = painting.run("pt.imshow(pt.tensor([[0, 255]]), cmap='gray')")
        assert pixels(entry.locator("canvas")).tolist() == [[[0, 0, 0, 255], [255] * 4]]


class TestOrder:
    def test_displays_are_in_order_with_printed_text(self, transcript: Shown) -> None:
        code = "for i in range(2):\n    print('before', i, end='')\n    pt.imshow(pt.zeros((2, 2)))"
        entry = transcript.run(code + "\nprint('after')\n")
        blocks = entry.locator(":scope > :is(pre, .display)")
        kinds = blocks.evaluate_all("all => all.map(e => e.localName)")
        assert kinds == ["pre", "div", "pre", "div", "pre"]
        assert blocks.nth(2).inner_text() == "before 1"
        assert blocks.nth(4).inner_text() == "after\n"

    def test_displayed_results_are_not_printed_too(self, transcript: Shown) -> None:
        entry = transcript.run("pt.imshow(pt.zeros((2, 2)))")
        assert entry.locator("pre").count() == 0
        assert transcript.run("_").locator(".result").inner_text().startswith("<Display ")

    def test_other_programs_show_things_too(self, transcript: Shown) -> None:
        transcript.app.run("shown = pt.display(pt.zeros((1, 1)), cmap='gray', vmin=0, vmax=1)")
        canvas = transcript.entries.last.locator("canvas")
        assert pixels(canvas).tolist() == [[[0, 0, 0, 255]]]
        transcript.app.run("shown.update(pt.ones((1, 1)))\nshown.update(pt.ones((1, 1)))")
        assert pixels(canvas).tolist() == [[[255] * 4]]


class TestLive:
    def test_updates_come_in_place_and_at_the_rate_of_the_screen(self, shown: Shown) -> None:
        shown.page.evaluate("""() => {
            window.frames_ = 0;
            const count = () => { window.frames_++; requestAnimationFrame(count); };
            requestAnimationFrame(count);
        }""")
        shown.run("d = pt.display(pt.zeros((4, 4)), cmap='gray', vmin=0, vmax=1)")
        shown.run("d.update(pt.zeros((4, 4)))")
        start = shown.page.evaluate("window.frames_")
        entry = shown.run("for i in range(40):\n    d.update(pt.full((4, 4), i / 39))\n")
        frames = shown.page.evaluate("window.frames_") - start
        assert frames >= 38  # an update returns when the previous one was drawn
        assert entry.locator("canvas").count() == 0
        assert shown.page.locator("#transcript canvas").count() == 1
        canvas = shown.page.locator("#transcript canvas")
        shown.run("d.update(pt.full((4, 4), 1.0))")
        expect(canvas).to_be_visible()
        assert (pixels(canvas) == 255).all()

    @pytest.mark.alone
    def test_a_simulation_ends_on_ctrl_c(self, transcript: Shown) -> None:
        transcript.run("x = pt.rand(32, 32)\nd = pt.display(x)\n")
        times: list[float] = []
        for _ in range(3):  # the machine may be busy during one of them
            transcript.begin("while True:\n    x = (x + pt.roll(x, 1, 0)) / 2\n    d.update(x)\n")
            expect(transcript.entries.last).to_have_class("entry running")
            transcript.page.wait_for_timeout(500)
            times.append(transcript.page.evaluate(INTERRUPTED_AFTER))
            expect(transcript.entries.last).to_have_class("entry failed")
        assert median(times) < INTERRUPT_MS
        expect(transcript.entries.last.locator(".error")).to_contain_text("KeyboardInterrupt")
        transcript.run("d.update(pt.zeros((32, 32)))")
        assert transcript.value("1 + 1") == "2"

    def test_a_display_changes_its_kind(self, transcript: Shown) -> None:
        entry = transcript.run("d = pt.display(pt.zeros((2, 2)))")
        transcript.run("d.update('words')")
        expect(entry.locator(".display pre")).to_have_text("'words'")
        transcript.run("d.update(pt.zeros((3, 5)))")
        expect(entry.locator("canvas")).to_have_attribute("width", "5")
        transcript.run("d.update(pt.zeros((3, 5), device='cpu'))")
        expect(entry.locator("canvas")).to_have_attribute("width", "5")

    def test_updates_are_awaited(self, transcript: Shown) -> None:
        code = "d = pt.display(pt.zeros((2, 2)), cmap='gray', vmin=0, vmax=1)"
        entry = transcript.run(code + "\nawait d.update_async(pt.ones((2, 2)))\n")
        transcript.run("await d.update_async(pt.ones((2, 2)))")
        assert (pixels(entry.locator("canvas")) == 255).all()

    def test_updates_of_cleared_displays_continue(self, transcript: Shown) -> None:
        transcript.run("d = pt.display(pt.zeros((2, 2)))")
        transcript.page.locator("#clear").click()
        since = time.monotonic()
        transcript.run("for i in range(5): d.update(pt.ones((2, 2)))\n")
        assert time.monotonic() - since < 10


class TestWithoutJSPI:
    """Then nothing can block."""

    @pytest.fixture(scope="class")
    @classmethod
    def _without(cls, session: AppSession) -> Iterator[AppPage]:
        app = session.open_page(routes={"**/worker.js": serve_without_jspi})
        yield app
        app.close()

    @pytest.fixture
    def without(self, _without: AppPage) -> Shown:
        _without.page.locator("#clear").click()
        return Shown(_without)

    def test_images_updates_and_views(self, without: Shown) -> None:
        entry = without.run("d = pt.imshow(pt.tensor([[0, 255]]), cmap='gray')")
        expect(entry.locator("canvas")).to_be_visible()
        assert pixels(entry.locator("canvas")).tolist() == [[[0, 0, 0, 255], [255] * 4]]
        without.run("await d.update_async(pt.tensor([[7, 7]]), vmin=0, vmax=255)")
        without.run("await d.update_async(pt.tensor([[7, 7]]), vmin=0, vmax=255)")
        assert pixels(entry.locator("canvas")).tolist() == [[[7, 7, 7, 255]] * 2]
        failed = without.run("d.update(pt.tensor([[7, 7]]))", "failed")
        expect(failed.locator(".error")).to_contain_text("await d.update_async(x)")
        tensor = without.run("pt.arange(3)")
        tensor.get_by_role("button", name="Table").click()
        expect(tensor.locator(".elements td").last).to_have_text("2")

    def test_the_last_of_many_updates_stays(self, without: Shown) -> None:
        entry = without.run(
            "import asyncio\n"
            "d = pt.imshow(pt.full((1, 1), 0), cmap='gray', vmin=0, vmax=255)\n"
            "updates = [d.update_async(pt.full((1, 1), i)) for i in range(1, 9)]\n"
            "_ = await asyncio.gather(*updates)\n"
            "d.update(pt.full((1, 1), 9, device='cpu'))\n"
        )
        canvas = entry.locator("canvas")
        expect(canvas).to_be_visible()
        without.run("await d.update_async(pt.full((1, 1), 10))")
        without.run("await d.update_async(pt.full((1, 1), 11))")
        without.page.wait_for_timeout(200)  # for its frame, and for output that must not come
        assert pixels(canvas).tolist() == [[[11] * 3 + [255]]]

    def test_a_failing_display_shows_its_error_in_place(self, without: Shown) -> None:
        without.run("old = pt.tensor([0, 255]).realize(); await pt.synchronize_async()")
        without.run("_ = pt.default_device().backend.bridge.loseDevice()")
        entry = without.run("d = pt.display(old)")
        expect(entry.locator(".display .error")).to_contain_text("DeviceLostError: ")
        expect(entry).not_to_contain_text("…")
        without.run("await pt.init()")
        without.run("await d.update_async(pt.tensor([[0, 255]]), cmap='gray')")
        expect(entry.locator("canvas")).to_be_visible()
        expect(entry.locator(".error")).to_have_count(0)


class TestCharts:
    def test_a_line(self, transcript: Shown) -> None:
        code = "pt.plot([1, 2, 4], [3.0, float('nan'), 5.5], title='Loss', xlabel='step')"
        entry = transcript.run(code)
        name = "Line chart: Loss. y: 3 points, least 3 at 1, greatest 5.5 at 4."
        expect(entry.get_by_role("img")).to_have_attribute("aria-label", name)
        path = entry.locator("path.curve").get_attribute("d")
        assert path is not None
        assert path.count("M") == 2  # there is a gap
        assert {"1", "4"} <= set(entry.locator(".tick").all_text_contents())
        expect(entry.locator("text.title")).to_have_text("Loss")
        expect(entry.locator("text.name")).to_have_text("step")

    def test_points_lie_where_they_should(self, transcript: Shown) -> None:
        entry = transcript.run("pt.scatter([0, 10, 20])")
        dots = entry.locator("circle.spot").evaluate_all(
            "all => all.map(e => [+e.getAttribute('cx'), +e.getAttribute('cy')])"
        )
        (x0, y0), (x1, y1), (x2, y2) = dots
        assert x1 - x0 == pytest.approx(x2 - x1, abs=0.2)
        assert y0 - y1 == pytest.approx(y1 - y2, abs=0.2)
        assert y2 < y0  # upwards

    def test_a_long_line_is_thinned(self, transcript: Shown) -> None:
        entry = transcript.run(
            "y = pt.zeros(1_000_000)\npt.plot(pt.where(pt.arange(1_000_000) == 777_777, 9.0, y))\n"
        )
        label = entry.get_by_role("img").get_attribute("aria-label")
        assert label == "Line chart. y: 1000000 points, least 0 at 0, greatest 9 at 777777."
        path = entry.locator("path.curve").get_attribute("d")
        assert path is not None
        assert path.count("L") < 2100

    def test_log_axes(self, transcript: Shown) -> None:
        code = "pt.scatter([1, 10, 100], [1e-3, 0, 1e3], xscale='log', yscale='log')"
        entry = transcript.run(code)
        assert entry.locator("circle.spot").count() == 2
        texts = entry.locator("text.tick").all_text_contents()
        assert {"1", "10", "100", "0.01"} <= set(texts)
        entry = transcript.run("pt.plot([1e-2, 1e7], yscale='log')")
        texts = entry.locator("text.tick[text-anchor=end]").all_text_contents()
        assert len(texts) > 2
        assert all("e" in text for text in texts)

    @pytest.mark.parametrize(
        ("code", "texts"),
        [
            ("[3, 4, 5]", {"0", "1", "2", "3", "4", "5"}),
            ("[5]", {"-1", "0", "1", "3", "4", "5", "6", "7"}),
            ("np.array([0.0, 2, 1]) + 1.7e9, [1, 2, 3]", {"1700000000", "1700000002"}),
            ("[1e-9, 2e-9, 1.5e-9]", {"1e-9", "2e-9"}),
            ("[0, 3e5, 1.1e6]", {"2e5", "1e6"}),
            ("np.array([9.95e-5, 1.002e-4])", {"9.98e-5", "1e-4"}),
            ("np.array([-1.7e308, 0, 1.7e308])", {"-1e308", "1e308"}),
            ("np.array([1.797e308])", {"1e308"}),
        ],
    )
    def test_ticks_are_whole_and_differ(
        self, transcript: Shown, code: str, texts: set[str]
    ) -> None:
        transcript.app.run("import numpy as np")
        entry = transcript.run(f"pt.plot({code})")
        ticks = entry.locator("text.tick").evaluate_all(
            "all => all.map(e => [e.getAttribute('text-anchor'), e.textContent])"
        )
        assert len({tuple(tick) for tick in ticks}) == len(ticks)  # of one axis, all differ
        for anchor in ("middle", "end"):
            on_axis = [text for place, text in ticks if place == anchor and text != "0"]
            assert len({"e" in text for text in on_axis}) == 1  # in one form
        found = {text.replace("−", "-") for _, text in ticks}
        assert texts <= found
        if len(texts) > 2:
            assert found == texts

    @pytest.mark.parametrize(
        ("code", "texts"),
        [
            ("pt.bar([1, 2, 3], [3, 1, 2])", ["1", "2", "3"]),
            ("pt.bar([0.5, 1.5], [[3, 1], [2, 2]])", ["0.5", "1.5"]),
            ("pt.bar([1, 2, 4], [3, 1, 2])", ["1", "2", "3", "4"]),
            ("pt.hist([1, 2, 3])", ["1", "2", "3"]),
            ("pt.bar(range(100))", [str(n) for n in range(0, 101, 10)]),
        ],
    )
    def test_ticks_of_bars_are_at_their_values(
        self, transcript: Shown, code: str, texts: list[str]
    ) -> None:
        entry = transcript.run(code)
        assert entry.locator(".tick[text-anchor=middle]").all_text_contents() == texts

    def test_ticks_of_bars_differ(self, transcript: Shown) -> None:
        entry = transcript.run("pt.bar([1600000000, 1600000128, 1600000256], [1, 2, 3])")
        texts = entry.locator(".tick[text-anchor=middle]").all_text_contents()
        assert len(texts) == len(set(texts)) > 1

    def test_more_series_than_colours(self, transcript: Shown) -> None:
        entry = transcript.run("pt.plot(pt.rand(5, 20))")
        looks = entry.locator(".marks path.curve").evaluate_all(
            "all => all.map(e => getComputedStyle(e)).map(s => s.stroke + s.strokeDasharray)"
        )
        assert len(set(looks)) == 20

    def test_series_have_names_and_colours(self, transcript: Shown) -> None:
        entry = transcript.run("pt.plot({'a': [1, 2], 'b': [2, 1]})")
        expect(entry.locator(".legend text")).to_have_text(["a", "b"])
        colours = entry.locator(".marks path.curve").evaluate_all(
            "all => all.map(e => getComputedStyle(e).stroke)"
        )
        assert len(set(colours)) == 2

    @pytest.mark.parametrize(
        "code", ["[]", "[float('nan')]", "[5]", "[2, 2]", "[-3e38, 3e38]", "[1e-30, 3e-30]"]
    )
    def test_odd_data(self, transcript: Shown, code: str) -> None:
        entry = transcript.run(f"pt.plot(pt.tensor({code}, dtype=pt.float32))")
        markup = entry.locator("svg").last.evaluate("e => e.outerHTML")
        assert "NaN" not in markup
        assert "Infinity" not in markup

    def test_values_under_the_pointer(self, transcript: Shown) -> None:
        entry = transcript.run(
            "pt.plot([0, 1, 2], {'up': [1, 2, 4], 'down': [4, 2, 1]}, xlabel='t')"
        )
        spots = entry.locator(".marks circle.spot")
        expect(spots).to_have_count(6)
        assert pointed(transcript, spots.nth(2)) == ["t 2", "up  4", "down  1"]
        expect(entry.locator(".ring")).to_have_count(2)
        transcript.page.mouse.move(0, 0)
        expect(entry.locator(".tip")).to_have_count(0)

    def test_points_have_colours(self, transcript: Shown) -> None:
        entry = transcript.run("pt.scatter([0, 1, 2], [5, 6, 7], c=[0, 0.5, 1], cmap='gray')")
        spots = entry.locator(".marks circle.spot")
        fills = spots.evaluate_all("all => all.map(e => getComputedStyle(e).fill)")
        assert fills == ["rgb(0, 0, 0)", "rgb(128, 128, 128)", "rgb(255, 255, 255)"]
        assert {"0.0", "1.0"} <= set(entry.locator(".colour-bar .tick").all_text_contents())
        assert pointed(transcript, spots.nth(1)) == ["1", "6, c 0.5"]

    @pytest.mark.parametrize(("count", "dashes"), [(20, "5px, 4px"), (100, "none")])
    def test_dashes_are_solid_between_dense_markers(
        self, transcript: Shown, count: int, dashes: str
    ) -> None:
        entry = transcript.run(f"x = pt.linspace(0, 6, {count})\npt.plot(x, pt.sin(x), 'r--o')")
        expect(entry.locator(".marks path.curve")).to_have_css("stroke-dasharray", dashes)

    def test_lines_have_the_style_of_their_format_string(self, transcript: Shown) -> None:
        entry = transcript.run("pt.plot([0, 1, 2], [5, 6, 7], 'r--s', lw=3, label='a')")
        for curve in entry.locator("path.curve").all():  # also the legend's
            expect(curve).to_have_css("stroke", "rgb(255, 0, 0)")
            expect(curve).to_have_css("stroke-dasharray", "5px, 4px")
            expect(curve).to_have_css("stroke-width", "3px")
        markers = entry.locator(".marks path.spot")
        expect(markers).to_have_count(3)
        expect(markers.first).to_have_css("fill", "rgb(255, 0, 0)")
        expect(entry.locator("circle.spot")).to_have_count(0)
        points = transcript.run("pt.plot([0, 1, 2], [5, 6, 7], 'bx', label='b')")
        expect(points.locator(".marks path.spot")).to_have_count(3)
        expect(points.locator("path.curve")).to_have_count(0)
        line = transcript.run("pt.plot([0, 1, 2], [5, 6, 7], '-')")
        expect(line.locator(".marks path.curve")).to_have_css("stroke-dasharray", "none")
        expect(line.locator(".marks .spot")).to_have_count(0)
        cloud = transcript.run("pt.scatter([0, 1], [5, 6], 100, marker='D')")
        box = cloud.locator(".marks path.spot").first.bounding_box()
        assert box is not None
        assert box["width"] == pytest.approx(2 * (100 / 3.14159) ** 0.5, abs=0.5)

    def test_bars_of_series_are_side_by_side(self, transcript: Shown) -> None:
        code = "pt.bar(['a', 'b'], {'one': [1, 2], 'two': [3, -1]}, color=['red', 'C2'])"
        entry = transcript.run(code)
        bars = entry.locator(".marks rect.column")
        expect(bars).to_have_count(4)
        boxes = [bar.bounding_box() for bar in bars.all()]
        lefts = [box["x"] for box in boxes if box is not None]
        assert lefts[0] < lefts[2] < lefts[1] < lefts[3]
        heights = [box["height"] for box in boxes if box is not None]
        assert heights == pytest.approx([heights[3] * n for n in (1, 2, 3, 1)], abs=0.5)
        expect(bars.first).to_have_css("fill", "rgb(255, 0, 0)")
        assert entry.locator(".tick[text-anchor=middle]").all_text_contents() == ["a", "b"]
        assert pointed(transcript, bars.nth(1)) == ["b", "one  2", "two  -1"]
        name = "Bar chart. one: 2 bars, least 1 at a, greatest 2 at b."
        expect(entry.get_by_role("img")).to_have_attribute(
            "aria-label", re.compile(re.escape(name))
        )

    def test_a_histogram_on_a_log_axis(self, transcript: Shown) -> None:
        entry = transcript.run("pt.hist([1, 1, 1, 1, 3], bins=[1, 2, 3, 4], yscale='log')")
        bars = entry.locator(".marks rect.column")
        expect(bars).to_have_count(2)  # the empty bin has no bar
        assert pointed(transcript, bars.last) == ["3 to 4", "1"]

    def test_contours_lie_where_the_values_are(self, transcript: Shown) -> None:
        code = (
            "x = pt.linspace(-2, 2, 81)\npt.contour(x, x, x**2 + x[:, None]**2, levels=[1, 2.25])"
        )
        entry = transcript.run(code + "\n")
        lines = entry.locator(".marks path.level")
        expect(lines).to_have_count(2)
        circles = [line.bounding_box() for line in lines.all()]
        widths = [box["width"] for box in circles if box is not None]
        assert widths[1] / widths[0] == pytest.approx(1.5, abs=0.02)  # radii 1 and 1.5
        area = entry.locator("line.base").first.evaluate(
            "e => e.x2.baseVal.value - e.x1.baseVal.value"
        )
        assert widths[0] / area == pytest.approx(0.5, abs=0.02)  # 2 of 4
        expect(entry.locator(".colour-bar .tick")).to_have_text(["1", "2.25"])

    def test_a_sum_is_one_chart(self, transcript: Shown) -> None:
        entry = transcript.run("pt.plot([1, 2], label='a') + pt.scatter([2, 1], label='b')")
        expect(entry.locator("figure")).to_have_count(1)
        expect(entry.locator(".legend text")).to_have_text(["a", "b"])
        expect(entry.locator(".result")).to_have_count(0)
        expect(entry.locator(".display:visible")).to_have_count(1)

    def test_an_image_with_axes(self, shown: Shown) -> None:
        code = (
            "pt.imshow(pt.tensor([[0.0, 1], [2, float('nan')]]), extent=(0, 10, 0, 1), xlabel='km')"
        )
        entry = shown.run(code)
        assert {"0", "10"} <= set(entry.locator(".tick[text-anchor=middle]").all_text_contents())
        ticks = entry.locator(".colour-bar .tick").all_text_contents()
        assert (ticks[0], ticks[-1]) == ("0.0", "2.0")
        box = entry.locator("canvas").bounding_box()
        assert box is not None
        told: list[list[str]] = []
        for across, down in ((0.25, 0.25), (0.75, 0.25), (0.25, 0.75), (0.75, 0.75)):
            x, y = box["x"] + across * box["width"], box["y"] + down * box["height"]
            shown.page.mouse.move(x, y)
            told.append(entry.locator(".tip text").all_text_contents())
        heads = ["km 2.5, y 0.75", "km 7.5, y 0.75", "km 2.5, y 0.25", "km 7.5, y 0.25"]
        assert [head for head, _ in told] == heads
        values = [text for _, text in told]
        assert (values[0], values[2], values[3]) == ("≈ 0", "≈ 2", "nan")
        assert float(values[1].removeprefix("≈ ")) == pytest.approx(1, abs=2 / 255)

    def test_a_live_image_keeps_its_canvas(self, shown: Shown) -> None:
        entry = shown.run("d = pt.imshow(pt.tensor([[0.0, 1.0]]))")
        entry.locator("canvas").evaluate("e => { e.id = 'kept'; }")
        shown.run("d.update(pt.tensor([[0.0, 5.0]]))\nd.update(pt.tensor([[0.0, 8.0]]))\n")
        expect(entry.locator(".colour-bar .tick").last).to_have_text("8")
        expect(entry.locator("canvas#kept")).to_have_count(1)

    def test_a_drag_zooms_in(self, transcript: Shown) -> None:
        entry = transcript.run("d = pt.plot([0, 1, 2, 3, 4], [0, 1, 2, 3, 4])")
        ticks = entry.locator("text.tick[text-anchor=middle]")
        whole = ticks.all_text_contents()
        box = entry.locator(".plotted-picture").bounding_box()
        assert box is not None
        mouse, (left, top) = transcript.page.mouse, (box["x"], box["y"])
        mouse.move(left + 0.5 * box["width"], top + 0.5 * box["height"])
        mouse.down()
        mouse.move(left + 0.7 * box["width"], top + 0.5 * box["height"], steps=3)
        expect(entry.locator(".zoom-box")).to_be_visible()
        mouse.up()
        expect(entry.locator(".marks[clip-path]")).to_have_count(1)
        assert ticks.all_text_contents() != whole
        transcript.run("d.update([0, 1, 2, 3, 9])")
        expect(entry.get_by_role("img")).to_have_attribute("aria-label", re.compile("greatest 9"))
        expect(entry.locator(".marks[clip-path]")).to_have_count(1)  # it still shows this part
        mouse.dblclick(left + 0.5 * box["width"], top + 0.5 * box["height"])
        expect(entry.locator(".marks[clip-path]")).to_have_count(0)
        expect(ticks).to_have_text(whole)

    def test_a_chart_is_drawn_again_for_its_width(self, transcript: Shown) -> None:
        page, before = transcript.page, transcript.page.viewport_size
        entry = transcript.run(
            "pt.plot([1, 2, 3], title='A title that is too long for the narrow screen of a phone')"
        )
        picture = entry.locator(".plotted-picture")
        expect(picture).to_have_attribute("width", "680")
        page.set_viewport_size({"width": 320, "height": 800})
        expect(picture).not_to_have_attribute("width", "680")
        box = picture.bounding_box()
        assert box is not None
        expect(picture).to_have_attribute("width", str(round(box["width"])))
        expect(entry.locator("text.title")).to_have_count(2)
        assert before is not None
        page.set_viewport_size(before)
        expect(picture).to_have_attribute("width", "680")

    def test_a_chart_is_live(self, transcript: Shown) -> None:
        entry = transcript.run("d = pt.plot([1, 2])")
        transcript.run("d.update([1, 2, 3, 7])\nd.update([1, 2, 3, 7])\n")
        expect(entry.locator("circle.spot")).to_have_count(4)

    def test_a_chart_moves_into_a_display(self, transcript: Shown) -> None:
        transcript.run("before = pt.display('before')")
        entry = transcript.run(
            "d, losses = pt.display('x'), []\n"
            "for i in range(400):\n"  # more charts than a run may show
            "    losses.append(i)\n"
            "    d.update(pt.plot(losses, title=f'step {i}'))\n"
        )
        expect(entry.locator("figure")).to_have_count(1)
        expect(entry.locator(".display:visible")).to_have_count(1)
        expect(entry).to_contain_text("step 399")
        expect(entry).not_to_contain_text("displays")
        assert entry.locator(".display").count() < 250
        transcript.run("before.update('after')")
        expect(transcript.entries.nth(-3)).to_contain_text("after")
        for value, part in (
            ("pt.imshow([[0.0, 1.0]])", "canvas"),
            ("pt.display(pt.plot([1, 2]) + pt.scatter([2, 1]))", "figure .legend, figure .spot"),
            ("'words'", ".result"),
            ("d", ".result"),
        ):
            transcript.run(f"d.update({value})")
            expect(entry.locator(f".display:visible {part}").first).to_be_visible()
            expect(entry.locator(".display:visible")).to_have_count(1)
            expect(transcript.entries.last.locator(".display:visible")).to_have_count(0)


class TestViews:
    def test_facts_about_a_tensor(self, transcript: Shown) -> None:
        entry = transcript.run("pt.zeros((3, 4))")
        expect(entry.locator(".tensor-facts")).to_have_text("(3, 4) · float32 · webgpu · 48 bytes")
        expect(entry.locator(".view-button")).to_have_text(["Table", "Heat map", "Histogram"])
        assert entry.locator(".result").inner_text().startswith("tensor([[0., 0., 0., 0.],")
        vector = transcript.run("pt.zeros(100)")
        expect(vector.locator(".tensor-facts")).to_have_text(
            "(100,) · float32 · webgpu · 400 bytes"
        )
        scalar = transcript.run("pt.tensor(2.5)")
        expect(scalar.locator(".tensor-facts")).to_have_text("scalar · float32 · webgpu · 4 bytes")
        assert scalar.locator(".view-button").count() == 0

    def test_a_table_has_pages(self, transcript: Shown, rng: np.random.Generator) -> None:
        a = rng.normal(size=(60, 30)).astype(np.float32)
        entry = transcript.run(f"{literal(a)}")
        button = entry.get_by_role("button", name="Table")
        button.click()
        cells = entry.locator(".elements tbody tr").nth(0).locator("td")
        expect(cells).to_have_text([str(v) for v in a[0, :20]])
        entry.get_by_role("button", name="Next rows").click()
        expect(cells).to_have_text([str(v) for v in a[50, :20]])
        entry.get_by_role("button", name="Next columns").click()
        expect(cells).to_have_text([str(v) for v in a[50, 20:]])
        expect(entry.locator(".elements thead th").first).to_have_text("20")
        expect(button).to_have_attribute("aria-pressed", "true")
        button.click()
        expect(entry.locator(".view")).to_be_hidden()
        expect(button).to_have_attribute("aria-pressed", "false")

    def test_a_heat_map_of_a_plane(self, shown: Shown) -> None:
        entry = shown.run("pt.arange(12).reshape(3, 2, 2)")
        entry.get_by_role("button", name="Heat map").click()
        colours = np.array(colormaps.table("viridis"), dtype="<u4")
        canvas = entry.locator(".view canvas")
        expect(canvas).to_be_visible()
        expected = colours[[0, 85, 170, 255]].view(np.uint8).reshape(2, 2, 4)
        np.testing.assert_array_equal(pixels(canvas), expected)
        expect(entry.locator(".colour-bar .tick").first).to_have_text("0")
        entry.get_by_role("button", name="Next plane").click()
        expect(entry.locator(".pager")).to_contain_text("Plane [1, …], 2 of 3")
        expect(entry.locator(".colour-bar .tick").first).to_have_text("4")
        expect(entry.get_by_role("button", name="Next plane")).to_be_focused()

    def test_a_heat_map_says_what_a_pixel_is(self, transcript: Shown) -> None:
        entry = transcript.run("pt.zeros((1200, 20))")
        entry.get_by_role("button", name="Heat map").click()
        expect(entry.locator(".plotted-note")).to_have_text(
            "1,200 × 20. Each pixel is the mean of 3 × 1 elements."
        )

    def test_a_histogram(self, transcript: Shown) -> None:
        entry = transcript.run("pt.tensor([1, 1, 2, 2, 2, 4, 4])")
        entry.get_by_role("button", name="Histogram").click()
        bars = entry.locator("rect.column")
        expect(bars).to_have_count(4)
        tips = [pointed(transcript, bar) for bar in bars.all()]
        assert tips == [["value 1", "2"], ["value 2", "3"], ["value 3", "0"], ["value 4", "2"]]
        name = "Histogram of 7 elements, from 1 to 4. Most, 3, are in 2."
        expect(entry.locator(".view").get_by_role("img")).to_have_attribute("aria-label", name)

    def test_non_finite_elements_are_reported(self, transcript: Shown) -> None:
        entry = transcript.run("pt.tensor([float('nan'), 1.0, float('inf'), 2.0])")
        entry.get_by_role("button", name="Histogram").click()
        expect(entry.locator(".view")).to_contain_text("Not in the bars: nan 1 · inf 1")

    def test_views_of_tensors_larger_than_memory(self, transcript: Shown) -> None:
        entry = transcript.run("pt.zeros((1_000_000, 1_000_000)) + 1")
        entry.get_by_role("button", name="Table").click()
        expect(entry.locator(".elements td").last).to_have_text("1.0")
        told = {
            "Heat map": "mean of 8 × 8 elements, taken from 1 in 255 rows and 1 in 255 columns.",
            "Histogram": "Drawn from 1 in 65,025 elements.",
        }
        for name, text in told.items():
            entry.get_by_role("button", name=name).click()
            expect(entry.locator(".view")).to_contain_text(text, timeout=120_000)
        entry = transcript.run("pt.ones(10**10) * 2")
        entry.get_by_role("button", name="Plot").click()
        text = "Drawn from 1 in 597 points."
        expect(entry.locator(".view")).to_contain_text(text, timeout=120_000)

    @pytest.mark.alone
    def test_a_view_ends_on_ctrl_c(self, transcript: Shown) -> None:
        entry = transcript.run("x = pt.arange(70_000).reshape(-1, 1) + pt.arange(50_000)\nx.sin()")
        times: list[float] = []
        for _ in range(3):
            entry.get_by_role("button", name="Histogram").click()
            transcript.page.wait_for_timeout(200)
            times.append(transcript.page.evaluate(INTERRUPTED_AFTER))
            expect(entry.locator(".view")).to_contain_text("KeyboardInterrupt")
            entry.get_by_role("button", name="Histogram").click()  # which closes it
            assert transcript.value("6 * 7") == "42"
        assert median(times) < INTERRUPT_MS

    def test_a_tensor_that_no_longer_exists(self, transcript: Shown) -> None:
        entry = transcript.run("pt.arange(3)")
        transcript.app.run("for i in range(60): pt.display(pt.arange(2))\n1")
        entry.get_by_role("button", name="Table").click()
        expect(entry.locator(".view")).to_contain_text("is no longer kept")

    def test_a_view_waits_for_running_code(self, transcript: Shown) -> None:
        entry = transcript.run("pt.arange(3)")
        transcript.begin("import time; time.sleep(0.5); print('done')")
        entry.get_by_role("button", name="Table").click()
        expect(entry.locator(".elements td").last).to_have_text("2")
        expect(transcript.entries.last.locator(".printed")).to_have_text("done\n")


FOREIGN = """class Foreign:
    def __init__(self, **forms): self.forms = forms
    def __repr__(self): return "<foreign>"
    def _repr_html_(self): return self.forms.get("html")
    def _repr_svg_(self): return self.forms.get("svg")
    def _repr_png_(self): return self.forms.get("png")
"""

HARMFUL = """<table class="evil" onclick="window.hit = 1" style="position: fixed">
<tr><td id="a">cell</td></tr></table>
<script>window.hit = 2</script><img src=x onerror="window.hit = 3"><img src="https://example.com/a.png">
<img alt="dot" src="data:image/gif;base64,R0lGODlhAQABAIAAAP///wAAACwAAAAAAQABAAACAkQBADs=">
<a href="javascript:window.hit=4">link</a><iframe srcdoc="<script>parent.hit=5</script>"></iframe>
<svg onload="window.hit = 6"><a xlink:href="javascript:1">s</a></svg>
<form action="/x"><input name="q"></form><style>body { display: none }</style>
<math><mtext></mtext></math><custom-tag>kept <b>text</b></custom-tag>"""


class TestForeignObjects:
    def test_html_is_made_harmless(self, transcript: Shown) -> None:
        asked: list[str] = []
        transcript.page.on("request", lambda request: asked.append(request.url))
        logged = len(transcript.app.logged)
        transcript.app.run(FOREIGN)
        entry = transcript.run(f"Foreign(html={json.dumps(HARMFUL)})")
        foreign = entry.locator(".foreign")
        expect(foreign.locator("td")).to_have_text("cell")
        expect(foreign).to_contain_text("link")
        expect(foreign).to_contain_text("kept text")
        left = foreign.evaluate("""e => [...e.querySelectorAll("*")].flatMap(
            (x) => [x.localName, ...[...x.attributes].map((a) => a.name)])""")
        assert set(left) == {"table", "tbody", "tr", "td", "img", "src", "alt", "b"}
        transcript.page.wait_for_timeout(200)
        assert transcript.page.evaluate("window.hit") is None
        assert [url for url in asked if not url.startswith("data:")] == []
        # During parsing, the browser logs what its policy blocks; nothing else happens.
        refused = "violates the following Content Security Policy directive"
        assert all(refused in line.text for line in transcript.app.logged[logged:])
        assert entry.locator("pre").count() == 0

    def test_html_that_needs_its_scripts_is_shown_as_text(self, transcript: Shown) -> None:
        transcript.app.run(FOREIGN)
        entry = transcript.run("Foreign(html='<div><script>draw()</script></div>')")
        expect(entry.locator("pre.result")).to_have_text("<foreign>")
        expect(entry.locator(".foreign")).to_have_count(0)

    def test_pictures_are_images(self, transcript: Shown) -> None:
        transcript.app.run(FOREIGN)
        svg = (
            '<svg xmlns="http://www.w3.org/2000/svg" width="30" height="20" onload="hit = 7">'
            '<script>window.hit = 8</script><rect width="30" height="20"/></svg>'
        )
        image = transcript.run(f"Foreign(svg={svg!r})").locator("img")
        expect(image).to_have_js_property("naturalWidth", 30)
        expect(image).to_have_attribute("alt", "Output of type Foreign")
        png = (
            "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk"
            "+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
        )
        transcript.app.run("import base64")
        image = transcript.run(f"Foreign(png=base64.b64decode('{png}'))").locator("img")
        expect(image).to_have_js_property("naturalWidth", 1)
        assert transcript.page.evaluate("window.hit") is None

    def test_a_picture_may_contain_lone_surrogates(self, transcript: Shown) -> None:
        transcript.app.run(FOREIGN)
        logged = len(transcript.app.logged)
        svg = (
            r"""'<svg xmlns="http://www.w3.org/2000/svg" width="30"><!-- \ud800 \udfff --></svg>'"""
        )
        image = transcript.run(f"Foreign(svg={svg})").locator("img")
        expect(image).to_have_js_property("naturalWidth", 30)
        assert transcript.app.logged[logged:] == []

    def test_a_form_that_fails_is_passed_over(self, transcript: Shown) -> None:
        transcript.run("class Bad:\n    def _repr_html_(self): raise ValueError\n")
        assert transcript.run("Bad()").locator(".result").inner_text().startswith("<__main__.Bad")
        transcript.run("class Slow:\n    def __repr__(self): raise ValueError('in repr')\n")
        entry = transcript.run("Slow()", "failed")
        expect(entry.locator(".error")).to_contain_text("ValueError: in repr")

    def test_display_shows_them_too(self, transcript: Shown) -> None:
        transcript.app.run(FOREIGN)
        entry = transcript.run("d = pt.display(Foreign(html='<i>slanted</i>'))\nprint('behind')\n")
        expect(entry.locator(".display i")).to_have_text("slanted")
        transcript.run("d.update(Foreign(html='<i>later</i>'))")
        expect(entry.locator(".display i")).to_have_text("later")


BITMAP_DROPPED = """async (by) => {
    const { Displays } = await import("./sources/page/display/displays.js");
    const { TensorPanel } = await import("./sources/page/display/tensor.js");
    const { Engine } = await import("./sources/page/engine.js");
    const bitmap = await createImageBitmap(new ImageData(1, 1));
    const bundle = { kind: "image", width: 1, height: 1, scale: null, label: "", bitmap };
    const around = (change) => change();
    const engine = Object.assign(new EventTarget(), { interpreter: null });
    if (by === "display") {
        const drawn = new Promise((resolve) => { engine.post = resolve; });
        new Displays(engine, around).update(1, bundle);
        await drawn;
    } else if (by === "engine") {
        Engine.prototype.show.call({ listenerOf: () => ({}) }, { id: 1, number: 0, bundle });
    } else {
        const of = { kind: "tensor", number: 1, shape: [1], dtype: "int32", device: "cpu" };
        engine.view = async (number, name, where, { onAnswer }) => {
            panel.close();
            onAnswer(bundle);
            return { ok: true };
        };
        const panel = new TensorPanel({ ...of, bytes: 4, views: ["image"] }, { engine, around });
        await panel.show("image", {});
    }
    return bitmap.width;
}"""


@pytest.mark.parametrize("by", ["display", "engine", "panel"])
def test_a_bitmap_that_is_not_shown_is_closed(app: AppPage, by: str) -> None:
    assert app.page.evaluate(BITMAP_DROPPED, by) == 0


ONE_CANNOT_BE_SENT = """async () => {
    const { Engine } = await import("./sources/page/engine.js");
    const sent = [];
    const postMessage = (message) => {
        if (JSON.stringify(message).includes("first")) throw new Error("it is gone");
        sent.push(message);
    };
    const engine = new Engine(() => ({ postMessage, terminate() {} }));
    engine.take({ kind: "ready", info: {} });
    const outcome = await engine.run("first");
    engine.run("second");
    return [outcome.ok, outcome.error, JSON.stringify(sent.at(-1)).includes("second")];
}"""


def test_data_that_cannot_be_sent_fails_and_the_next_input_runs(app: AppPage) -> None:
    told = "This could not be sent to Python: Error: it is gone"
    assert app.page.evaluate(ONE_CANNOT_BE_SENT) == [False, told, True]
