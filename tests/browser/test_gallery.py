"""The views and their addresses, the gallery's pages, and "How it works"."""

from __future__ import annotations

import base64
import re
import struct
import zlib
from collections.abc import Callable, Iterator
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from playwright.sync_api import Locator, Page, expect

from py_tensor.display.colormaps import table
from tests.browser.app import AppPage
from tests.browser.test_display import READS, painting_in_software, pixels
from tests.browser.test_examples import correlate, escape_times
from tests.browser.test_views import tab
from tests.browser.visitor import Regular
from tests.environment import ROOT

OpenPage = Callable[..., AppPage]
WAIT_MS = 60_000
"""Timeout for pictures on a software adapter shared with other tests."""

Array = Any  # a NumPy array

FULL = """() => {
  Storage.prototype.setItem = () => { throw new DOMException("full", "QuotaExceededError"); };
}"""

KEEP_FRAMES = """
  window.frames_ = [];
  window.moved_ = 0;
  window.tracks_ = [];
  const { prototype } = OffscreenCanvasRenderingContext2D;
  const { getImageData } = prototype;
  prototype.getImageData = function (...where) {
    const image = getImageData.apply(this, where);
    const { width, height, data } = image;
    frames_ = [frames_[1], { width, height, data: data.slice() }];
    if (height !== 300) moved_++;
    return image;
  };
  const getUserMedia = navigator.mediaDevices.getUserMedia.bind(navigator.mediaDevices);
  navigator.mediaDevices.getUserMedia = async (wanted) => {
    const stream = await getUserMedia(wanted);
    tracks_.push(...stream.getTracks());
    return stream;
  };
"""
"""Records the last two filtered pictures, and the camera's tracks."""

PAINTING = {"canvas": True, "routes": {"**/worker.js": painting_in_software}}


class TestGallery:
    def test_open_is_shown_and_not_run(self, fresh_page: OpenPage) -> None:
        page = fresh_page(path="#gallery/elementwise").page
        page.get_by_role("button", name="Open in the console").click()
        tab(page, "Console")
        expect(page.locator("#offered")).to_contain_text("ready to edit")
        expect(page.locator("#transcript .entry")).to_have_count(0)
        page.keyboard.press("Enter")
        expect(page.locator("#transcript .entry.done")).to_have_count(1, timeout=WAIT_MS)
        expect(page.locator("#transcript .printed")).to_contain_text("add_sqrt_multiply_sin_divide")

    def test_open_keeps_what_was_typed(self, fresh_page: OpenPage) -> None:
        page = fresh_page().page
        prompt = page.locator("#input .cm-content")
        prompt.click()
        page.keyboard.type("draft = 6 * 7")
        page.get_by_role("tab", name="Gallery").click()
        page.get_by_role("link", name="The Game of Life").click()
        page.get_by_role("button", name="Open in the console").click()
        expect(prompt).to_contain_text("def generation(cells)")
        expect(page.locator("#offered")).to_contain_text("Undo restores")
        page.keyboard.press("Control+z")
        expect(prompt).to_have_text("draft = 6 * 7")
        prompt.fill("")
        page.keyboard.press("ArrowUp")
        expect(prompt).to_have_text("draft = 6 * 7")

    def test_only_what_was_typed_is_kept(self, fresh_page: OpenPage) -> None:
        page = fresh_page().page
        prompt = page.locator("#input .cm-content")
        note = page.locator("#offered")
        for title in ("The Game of Life", "The Game of Life", "A Monte Carlo estimate"):
            page.goto("#gallery")
            page.get_by_role("link", name=title).click()
            page.get_by_role("button", name="Open in the console").click()
            expect(note).to_contain_text(title)
            expect(note).not_to_contain_text("Undo restores")
        page.keyboard.press("Control+End")
        page.keyboard.type("# mine")
        page.goto("#gallery")
        page.get_by_role("link", name="The Game of Life").click()
        page.get_by_role("button", name="Open in the console").click()
        expect(note).to_contain_text("Undo restores")
        prompt.fill("")
        page.keyboard.press("ArrowUp")
        expect(prompt).to_contain_text("# mine")
        page.keyboard.press("Control+Home")
        page.keyboard.press("ArrowUp")
        expect(prompt).to_contain_text("# mine")  # there is nothing before it

    def test_run(self, fresh_page: OpenPage) -> None:
        page = fresh_page(path="#gallery/elementwise").page
        page.get_by_role("button", name="Run", exact=True).click()
        output = page.locator("#panel-gallery .cell-output")
        expect(output.locator(".entry.done")).to_have_count(1, timeout=WAIT_MS)
        expect(output.locator(".printed")).to_contain_text("add_sqrt_multiply_sin_divide")
        expect(output).to_be_in_viewport()

    @pytest.mark.parametrize(("width", "height"), [(1280, 800), (390, 800)])
    def test_the_output_is_in_view_while_it_runs(
        self, fresh_page: OpenPage, width: int, height: int
    ) -> None:
        page = fresh_page(
            path="#gallery/life", viewport={"width": width, "height": height}, **PAINTING
        ).page
        page.get_by_role("button", name="Run", exact=True).click()
        picture = page.locator("#panel-gallery .cell-output canvas")
        expect(picture).to_be_in_viewport(ratio=0.9, timeout=WAIT_MS)
        expect(page.locator("#panel-gallery .entry.running")).to_have_count(1)
        page.mouse.move(width / 2, height / 2)
        page.mouse.wheel(0, -10_000)  # the reader scrolls elsewhere, and stays there
        page.wait_for_timeout(500)  # some frames of 300
        page.evaluate("pyTensor.interrupt()")
        expect(page.locator("#panel-gallery .entry.failed")).to_have_count(1, timeout=WAIT_MS)
        expect(picture).not_to_be_in_viewport()

    def test_edit_in_place(self, fresh_page: OpenPage) -> None:
        page = fresh_page(path="#gallery/monte_carlo").page
        page.get_by_role("button", name="Edit", exact=True).click()
        text = page.locator("#panel-gallery .cm-content")
        expect(text).to_be_focused()
        page.keyboard.press("ControlOrMeta+a")
        page.keyboard.type("'edited'.upper()")
        page.get_by_role("button", name="Run", exact=True).click()
        output = page.locator("#panel-gallery .cell-output")
        expect(output).to_contain_text("EDITED", timeout=WAIT_MS)
        page.get_by_role("link", name="Gallery", exact=True).click()
        page.get_by_role("link", name="A Monte Carlo estimate").click()
        expect(output).to_contain_text("EDITED")  # it is unchanged
        page.get_by_role("button", name="Reset").click()
        expect(text).to_contain_text("import py_tensor")
        expect(output).to_have_count(0)
        stop = page.locator("#panel-gallery").get_by_role("button", name="Interrupt")
        expect(stop).to_be_hidden()
        for width, height in ((390, 700), (1280, 800)):
            page.set_viewport_size({"width": width, "height": height})
            text.fill("for i in range(80): print(i)\nwhile True: pass")
            page.get_by_role("button", name="Run", exact=True).click()
            expect(stop).to_be_in_viewport(ratio=1)
            page.mouse.move(200, 400)
            for distance in (-10_000, 600):
                page.mouse.wheel(0, distance)
                expect(stop).to_be_in_viewport(ratio=1)
            bar = page.locator("#panel-gallery .stop-bar")
            expect(bar).to_contain_text(re.compile(r"^A Monte Carlo estimate \d+\.\d s"))
            stop.click()
            expect(output.locator(".interrupted summary")).to_contain_text("Stopped after")
            expect(stop).to_be_hidden()
            expect(bar).to_be_hidden()
            red = page.evaluate("getComputedStyle(document.body).getPropertyValue('--error')")
            assert output.evaluate("(e) => getComputedStyle(e).borderLeftColor") != red

    def test_a_program_waits_for_another(self, fresh_page: OpenPage) -> None:
        page = fresh_page(path="#gallery/monte_carlo").page
        panel = page.locator("#panel-gallery")
        run = panel.get_by_role("button", name="Run", exact=True)

        def start(title: str, code: str) -> None:
            panel.get_by_role("link", name="Gallery", exact=True).click()
            panel.get_by_role("link", name=title).click()
            panel.get_by_role("button", name="Edit", exact=True).click()
            panel.locator(".cm-content").fill(code)
            run.click()

        start("A Monte Carlo estimate", "while True: pass")
        start("Elementwise", "'second'")
        output = panel.locator(".cell-output")
        waits = r"^Waiting for A Monte Carlo estimate \(\d+ s\) · Stop it$"
        expect(output.locator(".note")).to_have_text(re.compile(waits))
        page.locator("#tab-console").click()
        page.locator("#input .cm-content").fill("'third'")
        page.keyboard.press("Enter")
        third = page.locator("#transcript .entry").last
        expect(third.locator(".note")).to_have_text(re.compile(waits))
        running = re.compile(r"^Running \d+\.\d s · A Monte Carlo estimate$")
        expect(page.locator("#busy-text")).to_have_text(running)
        third.get_by_role("button", name="Stop it").click()
        expect(third.locator(".result")).to_have_text("'third'")
        page.locator("#tab-gallery").click()
        expect(output.locator(".result")).to_have_text("'second'")
        panel.get_by_role("link", name="Gallery", exact=True).click()
        panel.get_by_role("link", name="A Monte Carlo estimate").click()
        expect(output.locator(".interrupted")).to_contain_text("Stopped after")

    @pytest.mark.parametrize("path", ["gallery/life", "reference/sum"])
    def test_edits_survive_a_reload(self, fresh_page: OpenPage, path: str) -> None:
        page = fresh_page(path=f"#{path}").page
        panel = page.locator(f"#panel-{path.partition('/')[0]}")
        edit = panel.get_by_role("button", name="Edit", exact=True)
        reset = panel.get_by_role("button", name="Reset")
        text = panel.locator(".cm-content")
        edit.click()
        expect(text).to_be_focused()
        page.keyboard.insert_text("# edited\n")
        page.reload()
        expect(text).to_contain_text("# edited")
        expect(edit).to_be_hidden()
        panel.get_by_role("button", name="Open in the console").click()
        if path == "gallery/life":
            expect(page.locator("#input .cm-content")).to_contain_text("# edited")
        page.go_back()
        reset.click()
        expect(text).not_to_contain_text("# edited")
        page.reload()
        expect(edit).to_be_visible()
        expect(text).to_have_count(0)
        expect(panel.locator("pre.code")).not_to_contain_text("# edited")
        page.evaluate(FULL)
        edit.click()
        expect(text).to_be_focused()
        page.keyboard.insert_text("# edited\n")
        lost = "This text is not saved: browser storage is full. It is lost when the page closes."
        expect(panel.get_by_role("status").filter(has_text=lost)).to_be_visible()

    def test_open_in_the_editor(self, fresh_page: OpenPage) -> None:
        page = fresh_page(path="#gallery/monte_carlo").page
        page.get_by_role("button", name="Open in the editor").click()
        expect(page.locator("#panel-console")).to_be_visible()
        tabs = page.locator("#editor .editor-tab")
        expect(tabs.filter(has_text="monte_carlo.py")).to_have_attribute("aria-current", "true")
        page.get_by_role("tab", name="Gallery").click()
        page.get_by_role("button", name="Open in the editor").click()
        expect(tabs.filter(has_text="monte_carlo")).to_have_count(1)  # the same file

    def test_the_code_is_the_file(self, fresh_page: OpenPage) -> None:
        page = fresh_page(boot=False).page
        page.goto("/#gallery/life")
        expect(page.locator(".code .tok-keyword").first).to_be_visible()
        source = (ROOT / "examples" / "life.py").read_text("utf-8")
        code = page.locator(".code").text_content()
        assert code
        assert source.endswith(code)
        assert page.locator(".code .tok-keyword").count() > 5

    def test_every_page_and_picture(self, fresh_page: OpenPage) -> None:
        app = fresh_page(boot=False)
        page = app.page
        page.goto("/#gallery")
        expect(page.locator(".card").first).to_be_visible()
        for card in page.locator(".card").all():
            card.scroll_into_view_if_needed()
            picture = card.locator("img")
            page.wait_for_function("img => img.complete", arg=picture.element_handle())
            assert picture.evaluate("img => img.naturalWidth") == 320
        assert not [line for line in app.logged if line.kind in ("error", "pageerror")]


@pytest.fixture(params=["painted", "read"])
def gallery(request: pytest.FixtureRequest, fresh_page: OpenPage, server: str) -> OpenPage:
    """Open pages in which WebGPU draws on canvases, and in which pixels are read back for them."""
    options = PAINTING if request.param == "painted" else {}

    def open_page(path: str, init: str = "", **more: Any) -> AppPage:
        app = fresh_page(boot=False, **options, **more)
        app.page.add_init_script(init)
        app.boot(server + path)
        return app

    return open_page


SAVED = """async (data) => {
    const picture = new Image();
    picture.src = `data:image/png;base64,${data}`;
    await picture.decode();
    const context = new OffscreenCanvas(picture.width, picture.height).getContext("2d");
    context.drawImage(picture, 0, 0);
    const { data: bytes } = context.getImageData(0, 0, picture.width, picture.height);
    return [picture.height, picture.width, new Uint8Array(bytes.buffer).toBase64()];
}"""


def saved_pixels(page: Page, button: Locator) -> Array:
    """R, G, B, A of the PNG that a button saves, as the browser reads it."""
    with page.expect_download() as download:
        button.click()
    return read_pixels(page, base64.b64encode(download.value.path().read_bytes()).decode())


def read_pixels(page: Page, data: str) -> Array:
    """R, G, B, A of a PNG in base64."""
    height, width, found = page.evaluate(SAVED, data)
    return np.frombuffer(base64.b64decode(found), np.uint8).reshape(height, width, 4)


class TestMandelbrot:
    @staticmethod
    def at(page: Page, width: str) -> Array:
        """Return the picture, once it has this width."""
        expect(page.locator("#mandelbrot-state")).to_contain_text(f"{width} wide", timeout=WAIT_MS)
        return pixels(page.locator(".live-picture canvas"))

    def test_the_picture(self, gallery: OpenPage) -> None:
        page = gallery("#gallery/mandelbrot").page
        found = self.at(page, "2.6")
        times, certain = escape_times(-0.65, 0.0, 2.6, 480, 96)
        levels = np.log(times) / np.log(96)  # from 1 to 96
        colours = np.array(table("viridis"), np.uint32).view(np.uint8).reshape(-1, 4)
        near = [
            colours[np.clip(np.round(255 * levels) + n, 0, 255).astype(int)] for n in (-1, 0, 1)
        ]
        assert certain.mean() > 0.9
        is_near = np.any([(found == one).all(-1) for one in near], axis=0)
        assert is_near[certain].all()

        button = page.get_by_role("button", name="Save PNG")
        np.testing.assert_array_equal(saved_pixels(page, button), found)
        page.get_by_role("button", name="Zoom in").click()
        zoomed = self.at(page, "0.87")
        assert (zoomed != found).any()
        np.testing.assert_array_equal(saved_pixels(page, button), zoomed)
        with page.expect_download() as download:
            page.get_by_role("button", name="Save SVG").click()
        svg = ElementTree.fromstring(download.value.path().read_text("utf-8"))
        assert [svg.get("width"), svg.get("height")] == ["480", "480"]
        (image,) = svg
        inside = read_pixels(page, image.get("href", "").split(",")[1])
        np.testing.assert_array_equal(inside, zoomed)

    @pytest.fixture(scope="class")
    @classmethod
    def read(cls, regular: Callable[[bool], Regular]) -> Iterator[AppPage]:
        """A page with the picture, whose pixels are read back."""
        app = regular(False).open_page(path="#gallery/mandelbrot")
        yield app
        app.page.close()

    @pytest.fixture
    def drawn(self, read: AppPage) -> AppPage:
        read.page.get_by_role("button", name="Start again").click()
        self.at(read.page, "2.6")
        return read

    def test_zoom(self, drawn: AppPage) -> None:
        page = drawn.page
        whole = self.at(page, "2.6")
        picture = page.get_by_role("application", name="The Mandelbrot set")
        assert picture.locator("[role], [aria-label]").count() == 0  # its contents have no name
        picture.focus()
        page.keyboard.press("+")
        assert (self.at(page, "0.87") != whole).any()
        page.get_by_role("button", name="Start again").click()
        np.testing.assert_array_equal(self.at(page, "2.6"), whole)
        picture.click(position={"x": 120, "y": 240})  # the left quarter, on the real axis
        self.at(page, "0.87")
        expect(page.locator("#mandelbrot-state")).to_contain_text("About −1.3")

    def test_nothing_is_read_and_no_input_is_used_up(self, fresh_page: OpenPage) -> None:
        """Until pictures drawn by the CPU replace those painted by the GPU."""
        app = fresh_page(path="#gallery/mandelbrot", **PAINTING)
        whole = self.at(app.page, "2.6")
        number = "int(__import__('sys')._getframe().f_code.co_filename[7:-1])"
        before = [int(app.run(code)["result"]) for code in (READS, number)]
        for width in ("0.87", "0.29", "0.096"):
            app.page.get_by_role("button", name="Zoom in").click()
            self.at(app.page, width)
        after = [int(app.run(code)["result"]) for code in (READS, number)]
        assert after == [before[0], before[1] + 2]  # the two that ask for it
        expect(app.page.locator("#transcript .entry")).to_have_count(0)
        app.run("pt.set_default_device('cpu')")
        app.page.get_by_role("button", name="Start again").click()
        app.run("0")  # after the drawing
        assert (self.at(app.page, "2.6") == whole).mean() > 0.95

    def test_what_others_print_meanwhile_is_not_lost(self, drawn: AppPage) -> None:
        app = drawn
        app.run(
            "import asyncio, py_tensor_page.gallery as gallery\n"
            "make = gallery.live_picture\n"
            "def telling(*given):\n    print('meanwhile')\n    return make(*given)\n"
            "gallery.live_picture = telling"
        )
        app.page.get_by_role("button", name="Zoom in").click()
        self.at(app.page, "0.87")
        expect(app.page.locator("#transcript")).to_contain_text("meanwhile")
        app.run("gallery.live_picture = make")

    def test_a_drawing_is_interrupted(self, drawn: AppPage) -> None:
        app = drawn
        app.run(
            "import py_tensor_page.gallery as gallery\n"
            "def forever(*given, **more):\n    while True: pass\n"
            "make, gallery.PICTURES['mandelbrot'] = gallery.PICTURES['mandelbrot'], forever"
        )
        app.page.get_by_role("button", name="Zoom in").click()
        app.page.wait_for_timeout(300)
        app.page.keyboard.press("Control+c")
        expect(app.page.locator("#mandelbrot-state")).to_have_text("Stopped.")
        app.run("gallery.PICTURES['mandelbrot'] = make")
        app.page.get_by_role("button", name="Start again").click()
        self.at(app.page, "2.6")


def choose_filter(page: Page, name: str) -> None:
    page.get_by_label("Filter", exact=True).select_option(name)


def filtered(frame: Array, name: str) -> Array:
    """Return a filtered picture of bytes, as unrounded bytes."""
    colours = frame[..., :3] / 255
    if name == "edges":
        grey = colours @ [0.299, 0.587, 0.114]
        slope = np.array([[-1, 0, 1], [-2, 0, 2], [-1, 0, 1]])
        steep = np.hypot(correlate(grey, slope), correlate(grey, slope.T))
        return 255 * np.clip(np.repeat(steep[..., None], 3, axis=2), 0, 1)
    weights = {
        "none": np.eye(1),
        "blur": np.outer([1, 2, 3, 2, 1], [1, 2, 3, 2, 1]) / 81,
        "sharpen": np.array([[0, -1, 0], [-1, 5, -1], [0, -1, 0]]),
        "emboss": np.array([[-2, -1, 0], [-1, 1, 1], [0, 1, 2]]),
    }[name]
    return 255 * np.clip(correlate(colours, weights), 0, 1)


FAIL_ONCE = """() => {
    const { prototype } = OffscreenCanvasRenderingContext2D;
    const { getImageData } = prototype;
    prototype.getImageData = () => {
        prototype.getImageData = getImageData;
        throw new Error("no memory");
    };
    const promise = new Promise((resolve) => {
        const tell = (event) => (event.preventDefault(), resolve(String(event.reason)));
        addEventListener("unhandledrejection", tell, { once: true });
    });
    return { promise };
}"""
"""Makes reading the next frame from its canvas fail; returns the outcome of the error."""


class TestFilters:
    def test_a_picture_of_the_readers(self, gallery: OpenPage) -> None:
        app = gallery("#gallery/filters")
        page = app.page
        expect(page.locator(".figures")).to_contain_text("480 × 300 pixels", timeout=WAIT_MS)
        levels = np.random.default_rng().integers(0, 256, (40, 61, 3), dtype=np.uint8)
        choose_filter(page, "none")
        page.locator("#picture-file").set_input_files(
            {"name": "p.png", "mimeType": "image/png", "buffer": png(levels)}
        )
        expect(page.locator(".figures")).to_contain_text("61 × 40 pixels", timeout=WAIT_MS)
        canvas = page.locator(".live-picture canvas")
        np.testing.assert_array_equal(pixels(canvas)[..., :3], levels)
        saved = saved_pixels(page, page.get_by_role("button", name="Save PNG"))
        np.testing.assert_array_equal(saved[..., :3], levels)
        for name in ("blur", "sharpen", "emboss", "edges"):
            choose_filter(page, name)
            app.run("0")  # after the drawing
            np.testing.assert_allclose(pixels(canvas)[..., :3], filtered(levels, name), atol=0.6)

    def test_a_drawing_that_could_not_begin_does_not_keep_the_next_from_it(
        self, fresh_page: OpenPage
    ) -> None:
        page = fresh_page(path="#gallery/filters").page
        expect(page.locator(".figures")).to_contain_text("480 × 300 pixels", timeout=WAIT_MS)
        expect(page.get_by_role("img", name="The filtered picture")).to_have_count(1)
        canvas = page.locator(".live-picture canvas")
        before = pixels(canvas)
        failed = page.evaluate_handle(FAIL_ONCE)
        choose_filter(page, "blur")
        assert failed.evaluate("({ promise }) => promise") == "Error: no memory"
        np.testing.assert_array_equal(pixels(canvas), before)
        choose_filter(page, "none")
        page.evaluate("pyTensor.run('0')")  # after the drawing
        assert (pixels(canvas) != before).any()

    def test_no_picture(self, fresh_page: OpenPage) -> None:
        page = fresh_page(path="#gallery/filters").page
        page.locator("#picture-file").set_input_files(
            {"name": "p.png", "mimeType": "image/png", "buffer": b"nothing"}
        )
        expect(page.locator(".live p[role=status]")).to_contain_text("as a picture")


class TestCamera:
    @staticmethod
    def start(app: AppPage) -> None:
        """Use the camera until some of its frames have been drawn."""
        expect(app.page.locator(".figures")).to_contain_text("pixels", timeout=WAIT_MS)
        app.page.get_by_role("button", name="Use the camera").click()
        app.page.wait_for_function("() => moved_ > 3", timeout=WAIT_MS)

    @staticmethod
    def states(app: AppPage) -> list[str]:
        return app.page.evaluate("tracks_.map((track) => track.readyState)")

    def test_its_frames_are_filtered(self, gallery: OpenPage) -> None:
        app = gallery("#gallery/filters", permissions=["camera"], init=KEEP_FRAMES)
        choose_filter(app.page, "edges")
        reads = int(app.run(READS)["result"])
        self.start(app)
        app.page.get_by_role("button", name="Stop the camera").click()
        assert self.states(app) == ["ended"]
        app.run("0")  # after the last drawing
        before, last = app.page.evaluate(
            """frames_.map(({ data, ...size }) => (
              { ...size, data: new Uint8Array(data.buffer).toBase64() }))"""
        )
        levels = np.frombuffer(base64.b64decode(last["data"]), np.uint8)
        frame = levels.reshape(last["height"], last["width"], 4)
        assert frame.shape == (180, 240, 4)
        assert before["data"] != last["data"]  # it moves
        found = pixels(app.page.locator(".live-picture canvas"))
        np.testing.assert_allclose(found[..., :3], filtered(frame, "edges"), atol=0.6)
        if app.run("pt.default_device().backend.can_paint()")["result"] == "True":
            assert int(app.run(READS)["result"]) == reads

    def test_control_c_ends_it(self, gallery: OpenPage) -> None:
        app = gallery("#gallery/filters", permissions=["camera"], init=KEEP_FRAMES)
        self.start(app)
        app.page.evaluate("""async () => {
            while (tracks_[0].readyState === "live") {
                await pyTensor.interrupt(); // there is nothing to interrupt between two frames
                await new Promise((resolve) => setTimeout(resolve));
            }
        }""")
        assert self.states(app) == ["ended"]
        expect(app.page.locator(".live p[role=status]")).to_have_text("Stopped.")
        expect(app.page.get_by_role("button", name="Use the camera")).to_be_visible()

    def test_a_camera_that_goes_away_and_a_reader_who_does(
        self, fresh_page: OpenPage, server: str
    ) -> None:
        app = fresh_page(boot=False, permissions=["camera"])
        app.page.add_init_script(KEEP_FRAMES)
        app.boot(server + "#gallery/filters")
        self.start(app)
        app.page.evaluate("() => { tracks_[0].dispatchEvent(new Event('ended')); }")
        expect(app.page.locator(".live p[role=status]")).to_have_text("The camera has stopped.")
        app.page.evaluate("() => { moved_ = 0; tracks_ = []; }")
        self.start(app)
        app.page.get_by_role("tab", name="Console").click()
        assert self.states(app) == ["ended"]
        assert app.run("6 * 7")["result"] == "42"

    def test_refused(self, fresh_page: OpenPage) -> None:
        app = fresh_page(path="#gallery/filters", permissions=["clipboard-read"])
        app.page.get_by_role("button", name="Use the camera").click()
        expect(app.page.locator(".live p[role=status]")).to_have_text(
            "Camera access was denied. You can allow it in the browser's settings for this page."
        )

    @pytest.mark.parametrize(
        ("init", "words"),
        [
            (
                "navigator.mediaDevices.getUserMedia = async () => {"
                "  throw new DOMException('Requested device not found', 'NotFoundError'); };",
                "No camera found.",
            ),
            (
                "delete Navigator.prototype.mediaDevices;",  # as in an insecure context
                "This browser does not offer a camera to this page.",
            ),
        ],
    )
    def test_no_camera(self, fresh_page: OpenPage, init: str, words: str) -> None:
        app = fresh_page(boot=False)
        app.page.add_init_script(init)
        app.page.goto("/#gallery/filters")
        app.page.get_by_role("button", name="Use the camera").click()
        expect(app.page.locator(".live p[role=status]")).to_have_text(words)


def png(levels: Array) -> bytes:
    """Return a PNG file of colours, uint8 of shape (height, width, 3)."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return (
            struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        )

    height, width, _ = levels.shape
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    rows = zlib.compress(b"".join(b"\0" + row.tobytes() for row in levels))
    parts = chunk(b"IHDR", header) + chunk(b"IDAT", rows) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + parts
