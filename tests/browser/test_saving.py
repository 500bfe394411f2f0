"""Exports from the page: pictures, charts and tensors as files; notebooks with pictures."""

from __future__ import annotations

import base64
import io
import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.app import AppPage
from tests.browser.test_accessibility import AUDIT, AXE
from tests.browser.test_sessions import Visits
from tests.unit.test_mime import pixels

OpenPage = Callable[..., AppPage]
SVG = "{http://www.w3.org/2000/svg}"
WAIT_MS = 60_000

PLOT = (
    """pt.plot({"up": [1.0, 2.0, 3.0], "down": [3.0, 2.0, 1.0]}, title="Both & all", xlabel="t")"""
)
IMAGE = "pt.imshow(pt.tensor([[[255, 0, 0], [0, 255, 0]]]), colorbar=False)"


@pytest.fixture
def page(app: AppPage) -> Page:
    app.page.locator("#tab-console").click()
    app.page.locator("#clear").click()
    return app.page


def enter(page: Page, code: str) -> None:
    page.locator("#input .cm-content").focus()
    page.keyboard.insert_text(code)
    page.keyboard.press("Enter")


def run(page: Page, *inputs: str) -> Locator:
    """Return the entry of the last input, once all have run."""
    for code in inputs:
        enter(page, code)
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


ENCODED = """async (type) => {
    const canvas = new OffscreenCanvas(3, 2);
    const context = canvas.getContext("2d");
    context.fillStyle = "#c04020";
    context.fillRect(0, 0, 3, 2);
    const blob = await canvas.convertToBlob({ type });
    return btoa(String.fromCharCode(...new Uint8Array(await blob.arrayBuffer())));
}"""
"""Three by two pixels of one colour in a file of this type, in base64."""


def in_page(svg: ElementTree.Element, page: Page) -> bytes:
    """A PNG of an SVG, as the browser draws it."""
    encoded: str = page.evaluate(
        """async (text) => {
            const picture = new Image();
            picture.src = `data:image/svg+xml,${encodeURIComponent(text)}`;
            await picture.decode();
            const canvas = new OffscreenCanvas(picture.width, picture.height);
            canvas.getContext("2d").drawImage(picture, 0, 0);
            const bytes = new Uint8Array(await (await canvas.convertToBlob()).arrayBuffer());
            return btoa(String.fromCharCode(...bytes));
        }""",
        ElementTree.tostring(svg, "unicode"),
    )
    return base64.b64decode(encoded)


class TestPictures:
    def test_an_image_is_saved_pixel_for_pixel(self, page: Page) -> None:
        png = downloaded(page, named(run(page, IMAGE), "Save PNG")).read_bytes()
        assert colours(png, page) == [[255, 0, 0, 255], [0, 255, 0, 255]]

    @pytest.mark.parametrize(
        "code",
        [
            IMAGE,
            "pt.display(pt.tensor([[0.0, 0.4]]), vmin=0, vmax=0.4, scale=2)",
            "pt.display(pt.zeros((3, 20, 3)), scale=None)",
        ],
    )
    def test_an_image_is_an_svg_too(self, page: Page, code: str) -> None:
        """It holds the same pixels, and has the size at which they are shown."""
        entry = run(page, code)
        svg = ElementTree.fromstring(downloaded(page, named(entry, "Save SVG")).read_text("utf-8"))
        (image,) = svg.iter(f"{SVG}image")
        png = downloaded(page, named(entry, "Save PNG")).read_bytes()
        data = base64.b64decode(image.get("href", "").split(",")[1])
        assert colours(data, page) == colours(png, page)
        box = entry.locator("canvas").bounding_box() or {}
        for element in (svg, image):
            assert float(element.get("width", "")) == pytest.approx(box["width"], abs=0.01)
            assert float(element.get("height", "")) == pytest.approx(box["height"], abs=0.01)
        assert len(colours(in_page(svg, page), page)) == round(box["width"])

    @pytest.mark.parametrize("kind", ["png", "jpeg"])
    def test_encoded_pictures_of_other_libraries(self, page: Page, kind: str) -> None:
        encoded = page.evaluate(ENCODED, f"image/{kind}")
        entry = run(page, f'class A:\n    def _repr_{kind}_(self): return "{encoded}"\n\nA()')
        data = base64.b64decode(encoded)
        names = ["Save SVG", "Save PNG"] + ["Save JPEG"] * (kind == "jpeg")
        expect(entry.locator(".save-button")).to_have_text(names)
        assert downloaded(page, named(entry, names[-1])).read_bytes() == data
        png = downloaded(page, named(entry, "Save PNG")).read_bytes()
        assert png.startswith(b"\x89PNG")
        np.testing.assert_allclose(colours(png, page), [[192, 64, 32, 255]] * 3, atol=3)
        svg = ElementTree.fromstring(downloaded(page, named(entry, "Save SVG")).read_text("utf-8"))
        assert [svg.get("width"), svg.get("height")] == ["3", "2"]
        (image,) = svg
        assert base64.b64decode(image.get("href", "").split(",")[1]) == data
        assert len(colours(in_page(svg, page), page)) == 3

    def test_an_updated_display_is_saved(self, page: Page) -> None:
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

    def test_a_tensor_too_large_is_reported_until_the_next_click(self, page: Page) -> None:
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

    def test_a_missing_tensor_is_reported(self, fresh_page: OpenPage) -> None:
        page = fresh_page().page
        entry = run(page, "pt.ones(3)")
        named(entry, "Save").click()
        page.evaluate("document.querySelector('#restart').click()")
        page.evaluate("pyTensor.run('pt.zeros(3)')")  # the new Python has a tensor with that number
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
    page.get_by_role("checkbox", name="Include 2 cleared inputs").check()
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


def test_a_notebook_names_its_errors(visits: Visits) -> None:
    """Errors of cleared entries and of an earlier visit are named too."""
    nested = (
        "def f():\n    class Oops(Exception): pass\n    raise Oops('key: value\\n  and: more')\nf()"
    )
    failing = {
        nested: ("Oops", "key: value\n  and: more"),
        "next(iter(()))": ("StopIteration", ""),
        "raise KeyboardInterrupt": ("KeyboardInterrupt", ""),
        "raise SystemExit('all: done')": ("SystemExit", "all: done"),
        "1 +* 2": ("SyntaxError", "invalid syntax"),
        "{}['a']": ("KeyError", "'a'"),
        "import json; json.loads('?')": (
            "JSONDecodeError", "Expecting value: line 1 column 1 (char 0)",
        ),
    }  # fmt: skip
    app = visits.open()
    failed = app.page.locator("#transcript .entry.failed")
    for i, code in enumerate(failing):
        enter(app.page, code)
        expect(failed).to_have_count(i + 1)

    def expect_exported(*, cleared: bool = False) -> None:
        app.page.locator("#share summary").click()
        if cleared:
            name = f"Include {len(failing)} cleared inputs"
            app.page.get_by_role("checkbox", name=name).check()
        button = app.page.get_by_role("button", name="Save as a notebook")
        cells = json.loads(downloaded(app.page, button).read_text("utf-8"))["cells"][1:]
        (outputs,) = zip(*(cell["outputs"] for cell in cells), strict=True)
        assert [(one["ename"], one["evalue"]) for one in outputs] == [*failing.values()]
        assert [one["output_type"] for one in outputs] == ["error"] * len(failing)
        oops = [*outputs[0]["traceback"]]
        assert oops[0] == "Traceback (most recent call last):"
        assert oops[-2:] == ["f.<locals>.Oops: key: value", "  and: more"]

    expect_exported()
    visits.wait_until_ended(*failing)
    visits.reload(app)
    expect(failed).to_have_count(len(failing))
    app.page.locator("#clear").click()
    expect(failed).to_have_count(0)
    expect_exported(cleared=True)


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

    @staticmethod
    def of_svg(svg: str, page: Page) -> list[list[int]]:
        """Return the colours of its picture."""
        (image,) = ElementTree.fromstring(svg).iter(f"{SVG}image")
        return colours(base64.b64decode(image.get("href", "").split(",")[1]), page)

    def of_notebook(self, page: Page) -> list[list[int]]:
        page.locator("#share summary").click()
        page.get_by_role("checkbox", name="Include 1 cleared input").check()
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


class TestMoved:
    """Charts that were moved into a display are stored once, where they are."""

    def test_in_the_notebook_and_after_a_reload(self, visits: Visits) -> None:
        app = visits.open()
        code = (
            "d = pt.display('x')\nfor i in (1, 2, 3): d.update(pt.plot([i], title=f'step {i}'))\n"
        )
        run(app.page, code)
        visits.wait_until_ended(code.strip())
        for _ in range(2):
            expect(app.page.locator("#transcript figure")).to_have_count(1)
            expect(app.page.locator("#transcript .display:visible")).to_have_count(1)
            app.page.locator("#share summary").click()
            button = app.page.get_by_role("button", name="Save as a notebook")
            notebook = json.loads(downloaded(app.page, button).read_text("utf-8"))
            (output,) = notebook["cells"][1]["outputs"]
            assert "step 3" in "".join(output["data"]["image/svg+xml"])
            visits.reload(app)
        expect(app.page.locator("#transcript .entry.restored .display")).to_have_count(1)

    def test_an_update_by_a_later_input_is_stored(self, visits: Visits) -> None:
        app = visits.open()
        first = "d = pt.display('before')\n41 + 1"
        run(app.page, first)
        visits.wait_until_ended(first)
        run(app.page, "d.update('af' + 'ter')")
        visits.wait_until_written("'after'")
        visits.reload(app)
        entry = app.page.locator("#transcript .entry.restored").first
        expect(entry.locator(".display")).to_have_text("'after'")
        expect(entry.locator("pre.result").last).to_have_text("42")


SCRIPT = """async (sources) => {
    const { scriptOf } = await import("./sources/page/repl/script.js");
    return scriptOf(sources);
}"""


class TestScripts:
    """A session saved as a script, which Python itself runs here."""

    @staticmethod
    def run(page: Page, *sources: str) -> tuple[str, dict[str, Any]]:
        script: str = page.evaluate(SCRIPT, sources)
        names: dict[str, Any] = {}

        def work() -> None:
            exec(compile(script, "script", "exec"), names)
            if "_runner" in names:
                names["_runner"].close()

        with ThreadPoolExecutor(1) as thread:  # this one has the event loop of Playwright
            thread.submit(work).result()
        return script, names

    def test_magics(self, page: Page) -> None:
        script, names = self.run(
            page,
            "%time a = 1",
            "a += 1\n%profile b = [\n    a,\n]\nb += [0]",
            "%%time\nc = 0\nfor i in range(4):\n    c += i\n",
            "d = 0\n%timeit -n 2 d = [\n 9,\n]\n\ne = 5",
            "%%timeit\nd = 9\ne = 9",
            "text = '''\n%time x\n%d\n%%time\n'''",
            "%who\n%matplotlib inline\nf = 6",
            "a?",
        )
        assert {name: names[name] for name in "abcdef"} == {
            "a": 2, "b": [2, 0], "c": 6, "d": 0, "e": 5, "f": 6,
        }  # fmt: skip
        assert names["text"] == "\n%time x\n%d\n%%time\n"
        comments = [line for line in script.splitlines() if line.startswith("#")]
        assert comments == [
            "# %timeit -n 2 d = [", "#  9,", "# ]", "# %%timeit", "# d = 9", "# e = 9",
            "# %who", "# %matplotlib inline", "# a?",
        ]  # fmt: skip
        assert "asyncio" not in script

    def test_await(self, page: Page) -> None:
        _, names = self.run(
            page,
            "import asyncio\nasync def later(x):\n    await asyncio.sleep(0)\n    return x",
            "# two\na = await later(1); b = await later(await later(2))\nc = a + b",
            "async def some():\n    for x in range(3):\n        yield x",
            "d = [x async for x in some()]",
            "async for e in some():\n"
            "    f = f'''of\n{await later(e)}\n  it'''\n"
            "    def g():\n        return h",
            "h = 7\nlock = asyncio.Lock()",
            "async with lock:\n    task = asyncio.create_task(later(8))",
            "i = await task",
            "%time j = await later(9)",
            "k: 'dict[str, int]' = {'a': await later(10)}",
        )
        assert {name: names[name] for name in "abcdefijk"} == {
            "a": 1, "b": 2, "c": 3, "d": [0, 1, 2], "e": 2, "f": "of\n2\n  it", "i": 8, "j": 9,
            "k": {"a": 10},
        }  # fmt: skip
        assert names["g"]() == 7

    def test_packages_of_the_page_are_comments(self, page: Page) -> None:
        script, names = self.run(
            page,
            "import micropip\nawait micropip.install('six')",
            "await micropip.install('x')\na = 1",
            "import micropip as m, math\nimport cmath as c, micropip",
        )
        assert names["a"] == 1
        assert [names["math"].sqrt(4), names["c"].sqrt(4)] == [2, 2]
        comments = [line for line in script.splitlines() if line.startswith("#")]
        assert comments == [
            "# micropip is only in Pyodide. Elsewhere, install these packages with pip.",
            "# import micropip", "# await micropip.install('six')", "# await micropip.install('x')",
        ]  # fmt: skip

    def test_no_inputs(self, page: Page) -> None:
        assert self.run(page)[0] == "import py_tensor as pt\n"


def test_bundles_for_notebooks_of_other_hosts(app: AppPage) -> None:
    """Colours are not multiplied by alpha, unlike those of a WebGPU canvas."""
    code = "pt.imshow(pt.tensor([[[200, 100, 0, 128]]]), scale=1)._repr_mimebundle_()['image/png']"
    done = app.run(code)
    assert done["ok"], done["error"]
    assert pixels(done["result"].strip("'")).tolist() == [[[200, 100, 0, 128]]]
