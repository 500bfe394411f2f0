"""Exports from the page: pictures, charts and tensors as files; notebooks with pictures."""

from __future__ import annotations

import base64
import io
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.app import AppPage
from tests.browser.test_accessibility import AUDIT, AXE
from tests.browser.test_sessions import Visits
from tests.browser.visitor import Regular
from tests.unit.test_mime import pixels

OpenPage = Callable[..., AppPage]
SVG = "{http://www.w3.org/2000/svg}"
WAIT_MS = 60_000

PLOT = (
    """pt.plot({"up": [1.0, 2.0, 3.0], "down": [3.0, 2.0, 1.0]}, title="Both & all", xlabel="t")"""
)
IMAGE = "pt.imshow(pt.tensor([[[255, 0, 0], [0, 255, 0]]]))"


@pytest.fixture
def page(app: AppPage) -> Page:
    app.page.locator("#tab-console").click()
    app.page.locator("#clear").click()
    return app.page


def run(page: Page, *inputs: str) -> Locator:
    """The entry of the last of the inputs, once they have run."""
    for code in inputs:
        page.locator("#input .cm-content").focus()
        page.keyboard.insert_text(code)
        page.keyboard.press("Enter")
    entries = page.locator("#transcript .entry")
    expect(entries.last).to_have_class("entry done", timeout=WAIT_MS)
    return entries.last


def downloaded(page: Page, button: Locator) -> Path:
    with page.expect_download() as download:
        button.click()
    return download.value.path()


def named(entry: Locator, name: str) -> Locator:
    return entry.get_by_role("button", name=name, exact=True)


def texts(svg: str) -> list[str]:
    return [text.text or "" for text in ElementTree.fromstring(svg).iter(f"{SVG}text")]


def colours(png: bytes, page: Page) -> list[list[int]]:
    """R, G, B, A of the first row of a PNG, as the browser reads it."""
    return page.evaluate(
        """async (data) => {
            const picture = new Image();
            picture.src = `data:image/png;base64,${data}`;
            await picture.decode();
            const canvas = new OffscreenCanvas(picture.width, picture.height);
            const context = canvas.getContext("2d");
            context.drawImage(picture, 0, 0);
            const { data: bytes } = context.getImageData(0, 0, picture.width, 1);
            const places = Array.from({ length: picture.width }, (_, i) => 4 * i);
            return places.map((at) => [...bytes.slice(at, at + 4)]);
        }""",
        base64.b64encode(png).decode(),
    )


class TestPictures:
    def test_an_image_is_saved_pixel_for_pixel(self, page: Page) -> None:
        png = downloaded(page, named(run(page, IMAGE), "Save PNG")).read_bytes()
        assert colours(png, page) == [[255, 0, 0, 255], [0, 255, 0, 255]]

    def test_what_an_update_shows_is_saved(self, page: Page) -> None:
        entry = run(page, f"d = {IMAGE}", "d.update(pt.zeros((1, 3, 3)))")
        entry = page.locator("#transcript .entry").nth(-2)
        png = downloaded(page, named(entry, "Save PNG")).read_bytes()
        assert colours(png, page) == [[0, 0, 0, 255]] * 3

    def test_a_chart_has_its_words(self, page: Page) -> None:
        entry = run(page, PLOT)
        svg = downloaded(page, named(entry, "Save SVG")).read_text("utf-8")
        assert {"Both & all", "up", "down", "t"} <= set(texts(svg))
        strokes = [path.get("stroke") for path in ElementTree.fromstring(svg).iter(f"{SVG}path")]
        assert {"rgb(15, 118, 110)", "rgb(180, 84, 26)"} <= set(strokes)
        png = downloaded(page, named(entry, "Save PNG")).read_bytes()
        assert len(colours(png, page)) > 1000

    def test_a_chart_keeps_its_buttons_while_it_changes(self, page: Page) -> None:
        button = named(run(page, "d = pt.plot([1, 2])"), "Save SVG")
        button.focus()
        before = button.element_handle()
        page.evaluate("pyTensor.run('d.update([5000, 7000])')")
        svg = downloaded(page, button).read_text("utf-8")
        assert "7000" in texts(svg)
        assert button.evaluate("(button, before) => button === before", before)
        expect(button).to_be_focused()

    def test_views_of_tensors(self, page: Page) -> None:
        entry = run(page, "pt.arange(6).reshape(2, 3)")
        named(entry, "Heat map").click()
        svg = downloaded(page, named(entry, "Save SVG")).read_text("utf-8")
        (image,) = ElementTree.fromstring(svg).iter(f"{SVG}image")
        assert len(colours(base64.b64decode(image.get("href", "").split(",")[1]), page)) == 3
        assert len(colours(downloaded(page, named(entry, "Save PNG")).read_bytes(), page)) > 100
        named(entry, "Histogram").click()
        svg = downloaded(page, named(entry, "Save SVG")).read_text("utf-8")
        assert ElementTree.fromstring(svg).tag == f"{SVG}svg"

    def test_pictures_of_other_libraries(self, page: Page) -> None:
        data = """<svg xmlns='http://www.w3.org/2000/svg' width='4' height='2'/>"""
        entry = run(page, f'class A:\n    def _repr_svg_(self): return "{data}"\n\nA()')
        assert downloaded(page, named(entry, "Save SVG")).read_text() == data
        assert len(colours(downloaded(page, named(entry, "Save PNG")).read_bytes(), page)) == 8


class TestTensors:
    def test_files(self, page: Page) -> None:
        entry = run(page, "pt.arange(6).reshape(2, 3) / 10")
        named(entry, "Save").click()
        a = np.load(io.BytesIO(downloaded(page, named(entry, "Save as .npy")).read_bytes()))
        np.testing.assert_array_equal(
            a, np.arange(6, dtype=np.float32).reshape(2, 3) / np.float32(10)
        )
        assert a.dtype == np.float32
        csv = downloaded(page, named(entry, "Save as .csv")).read_text()
        assert csv == "0.0,0.1,0.2\n0.3,0.4,0.5\n"

    def test_a_list_by_the_keyboard(self, fresh_page: OpenPage) -> None:
        page = fresh_page(permissions=["clipboard-read", "clipboard-write"]).page
        entry = run(page, "pt.tensor([[1.5, float('nan')], [0.1, 2]])")
        named(entry, "Save").focus()
        page.keyboard.press("Enter")
        for _ in range(3):
            page.keyboard.press("Tab")
        expect(named(entry, "Copy as list")).to_be_focused()
        page.keyboard.press("Enter")
        expect(entry.get_by_text("Copied.")).to_be_visible()
        assert (
            page.evaluate("navigator.clipboard.readText()") == "[[1.5, float('nan')], [0.1, 2.0]]"
        )
        expect(named(entry, "Copy as list")).to_be_focused()

    @pytest.mark.parametrize(
        "clipboard",
        ["{ writeText: () => Promise.reject(new DOMException()) }", "undefined"],
        ids=["no permission", "no secure origin"],
    )
    def test_a_list_where_the_browser_does_not_copy(self, page: Page, clipboard: str) -> None:
        how = f"{{ value: {clipboard}, configurable: true }}"
        page.evaluate(f"() => {{ Object.defineProperty(navigator, 'clipboard', {how}); }}")
        entry = run(page, "pt.tensor([1.5, 2])")
        named(entry, "Save").click()
        named(entry, "Copy as list").click()
        dialog = page.get_by_role("dialog", name="Copy the text")
        text = dialog.get_by_role("textbox", name="Text to copy")
        expect(text).to_have_value("[1.5, 2.0]")
        expect(text).to_be_focused()
        selected = "(text) => text.value.slice(text.selectionStart, text.selectionEnd)"
        assert text.evaluate(selected) == "[1.5, 2.0]"
        expect(entry.locator(".save-said")).to_have_text("")
        page.evaluate(AXE.read_text("utf-8"))
        assert page.evaluate(AUDIT) == []
        page.keyboard.press("Escape")
        expect(dialog).to_have_count(0)
        expect(named(entry, "Copy as list")).to_be_focused()
        page.evaluate("() => { delete navigator.clipboard; }")

    def test_what_is_too_large_is_said_until_the_next_click(self, page: Page) -> None:
        entry = run(page, "pt.zeros(1_000_001)")
        said = entry.locator(".save-said")
        named(entry, "Save").click()
        named(entry, "Save as .csv").click()
        expect(said).to_contain_text("up to 1,000,000 elements")
        named(entry, "Copy as list").click()
        expect(said).to_contain_text("up to 100,000 elements")
        page.wait_for_timeout(6000)
        expect(said).to_contain_text("up to 100,000 elements", timeout=1)
        downloaded(page, named(entry, "Save as .npy"))
        expect(said).to_have_text("")

    def test_what_is_gone_is_said(self, fresh_page: OpenPage) -> None:
        page = fresh_page().page
        entry = run(page, "pt.ones(3)")
        named(entry, "Save").click()
        page.evaluate("document.querySelector('#restart').click()")
        page.evaluate("pyTensor.run('pt.zeros(3)')")  # the new Python has a tensor of that number
        named(entry, "Save as .npy").click()
        expect(entry.get_by_text("lost when Python restarted")).to_be_visible()


def test_axe_finds_nothing(page: Page) -> None:
    entry = run(page, IMAGE, PLOT, "pt.arange(6).reshape(2, 3)")
    named(entry, "Save").click()
    page.evaluate(AXE.read_text("utf-8"))
    assert page.evaluate(AUDIT) == []


def test_a_notebook_has_its_pictures(fresh_page: OpenPage) -> None:
    page = fresh_page().page
    run(page, f"print(1)\n{IMAGE}\nprint(2)")
    run(page, PLOT)
    expect(page.locator("#transcript .plotted")).to_be_visible()
    page.locator("#clear").click()
    expect(page.locator("#transcript .plotted")).to_have_count(0)
    run(page, IMAGE.replace("0, 255, 0", "0, 0, 255"))
    page.locator("#share summary").click()
    button = page.get_by_role("button", name="Save as a notebook")
    notebook = json.loads(downloaded(page, button).read_text("utf-8"))
    outputs: list[list[Any]] = [cell["outputs"] for cell in notebook["cells"]]
    printed, picture, more = outputs[1]
    assert [printed["text"], more["text"]] == [["1\n"], ["2\n"]]
    assert picture["output_type"] == "display_data"
    png = base64.b64decode(picture["data"]["image/png"])
    assert colours(png, page) == [[255, 0, 0, 255], [0, 255, 0, 255]]
    (chart,) = outputs[2]
    assert "Both & all" in texts("".join(chart["data"]["image/svg+xml"]))
    assert chart["data"]["text/plain"][0].startswith("Line chart: Both & all.")
    png = base64.b64decode(outputs[3][0]["data"]["image/png"])
    assert colours(png, page)[1] == [0, 0, 255, 255]


SLOW_DECODING = """
  const { createImageBitmap } = window;
  window.createImageBitmap = async (...given) => {
    await new Promise((resolve) => setTimeout(resolve, 1500));
    return createImageBitmap(...given);
  };
"""


class TestAfterAReload:
    """A picture with axes of an earlier visit."""

    FIGURE = IMAGE[:-1] + ", xlabel='x')"

    @pytest.fixture
    def visits(self, regular: Callable[[bool], Regular]) -> Iterator[Visits]:
        visitor = regular(False)
        yield Visits(visitor)
        visitor.leave()

    @staticmethod
    def of_svg(svg: str, page: Page) -> list[list[int]]:
        """The colours of its picture."""
        (image,) = ElementTree.fromstring(svg).iter(f"{SVG}image")
        return colours(base64.b64decode(image.get("href", "").split(",")[1]), page)

    def of_notebook(self, page: Page) -> list[list[int]]:
        page.locator("#share summary").click()
        button = page.get_by_role("button", name="Save as a notebook")
        notebook = json.loads(downloaded(page, button).read_text("utf-8"))
        (output,) = notebook["cells"][1]["outputs"]
        return self.of_svg("".join(output["data"]["image/svg+xml"]), page)

    @pytest.mark.parametrize("is_cleared_before", [True, False])
    def test_it_is_exported_though_it_was_cleared(
        self, visits: Visits, is_cleared_before: bool
    ) -> None:
        app = visits.open(script=SLOW_DECODING)
        run(app.page, self.FIGURE)
        visits.wait_until_ended(self.FIGURE)
        if is_cleared_before:
            app.page.locator("#clear").click()
            expect(app.page.locator("#transcript .cleared")).to_be_visible()
            app.page.wait_for_timeout(1000)  # it is written by then
        visits.reload(app)
        if not is_cleared_before:
            app.page.locator("#transcript .image-figure").wait_for()
            app.page.locator("#clear").click()  # before it is decoded
        expect(app.page.locator("#transcript .image-figure")).to_have_count(0)
        assert self.of_notebook(app.page) == [[255, 0, 0, 255], [0, 255, 0, 255]]

    def test_it_is_saved_before_it_is_decoded(self, visits: Visits) -> None:
        app = visits.open(script=SLOW_DECODING)
        run(app.page, self.FIGURE)
        visits.wait_until_ended(self.FIGURE)
        visits.reload(app)
        entry = app.page.locator("#transcript .entry").first
        svg = downloaded(app.page, named(entry, "Save SVG")).read_text("utf-8")
        assert self.of_svg(svg, app.page) == [[255, 0, 0, 255], [0, 255, 0, 255]]


def test_what_notebooks_of_other_hosts_get(app: AppPage) -> None:
    """Colours are not multiplied by alpha, as those of a canvas of WebGPU are."""
    code = "pt.imshow(pt.tensor([[[200, 100, 0, 128]]]), scale=1)._repr_mimebundle_()['image/png']"
    done = app.run(code)
    assert done["ok"], done["error"]
    assert pixels(done["result"].strip("'")).tolist() == [[[200, 100, 0, 128]]]
