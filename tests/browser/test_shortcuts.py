"""Information in the page: shortcuts, help, running and waiting inputs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.browser.app import AppPage
from tests.browser.repl import Repl
from tests.browser.test_accessibility import AUDIT, AXE, LOOKS, SIZES

OpenPage = Callable[..., AppPage]
WAIT_MS = 60_000


@pytest.fixture
def page(app: AppPage) -> Iterator[Page]:
    app.page.locator("#tab-console").click()
    app.page.locator("#clear").click()
    yield app.page
    app.page.set_viewport_size({"width": 1280, "height": 720})


@pytest.fixture
def repl(page: Page) -> Repl:
    return Repl(page)


class TestSheet:
    def test_a_question_mark_opens_it_where_no_text_is_typed(self, page: Page, repl: Repl) -> None:
        sheet = page.get_by_role("dialog", name="Keyboard shortcuts")
        repl.input.focus()
        page.keyboard.type("pt.sum?")
        repl.expect_text("pt.sum?")
        expect(sheet).to_be_hidden()
        page.keyboard.press("Control+c")
        for view in ("#tab-console", "#tab-reference"):
            page.locator(view).click()
            page.keyboard.press("?")
            expect(sheet).to_be_visible()
            page.keyboard.press("Escape")
            expect(sheet).to_be_hidden()
            expect(page.locator(view)).to_be_focused()
        page.get_by_role("searchbox", name="Search the reference").fill("")
        page.keyboard.type("?")
        expect(page.get_by_role("searchbox")).to_have_value("?")
        expect(sheet).to_be_hidden()
        page.get_by_role("searchbox").fill("")

    def test_a_question_mark_alone_opens_it_at_the_prompt(self, page: Page, repl: Repl) -> None:
        sheet = page.get_by_role("dialog", name="Keyboard shortcuts")
        page.locator("#tab-console").click()
        entries = repl.entries.count()
        for text in ("?", " ?? "):
            repl.type(text)
            expect(sheet).to_be_visible()
            page.keyboard.press("Escape")
            expect(sheet).to_be_hidden()
            expect(repl.input).to_be_focused()
            assert repl.text == ""
        expect(repl.entries).to_have_count(entries)
        repl.type("!ls -l")
        expect(repl.last(".error-message")).to_have_text(
            "SyntaxError: no shell here; os.listdir() lists files"
        )

    def test_the_button_opens_it(self, page: Page) -> None:
        opener = page.get_by_role("button", name="Shortcuts")
        sheet = page.get_by_role("dialog", name="Keyboard shortcuts")
        opener.click()
        expect(sheet).to_contain_text("Search the history")
        page.keyboard.type("11\n")  # not sent to the prompt; Enter presses the Close button
        expect(sheet).to_be_hidden()
        expect(opener).to_be_focused()
        assert Repl(page).text == ""
        opener.click()
        page.mouse.click(5, 300)
        expect(sheet).to_be_hidden()

    @pytest.mark.parametrize(("size", "scheme"), LOOKS)
    def test_axe_finds_nothing(self, page: Page, size: str, scheme: Any) -> None:
        page.emulate_media(color_scheme=scheme)
        width, height = SIZES[size]
        page.set_viewport_size({"width": width, "height": height})
        page.get_by_role("button", name="Shortcuts").click()
        page.evaluate(AXE.read_text("utf-8"))
        assert page.evaluate(AUDIT) == []
        page.keyboard.press("Escape")
        page.emulate_media(color_scheme="light")


class TestHelp:
    @pytest.mark.parametrize(
        ("asked", "name", "example"),
        [
            ("pt.sum?", "sum", ">>> x.sum(axis=0)"),
            ("help(pt.linalg.qr)", "linalg.qr", "qr("),
            ("pt.zeros(3).tolist?", "Tensor.tolist", "tolist()"),
            ("x.shape?", "Tensor.shape", ".shape"),
            ("pt.zeros(3).sum?", "sum", ">>> x.sum(axis=0)"),
        ],
    )
    def test_it_has_an_example_and_its_place_in_the_reference(
        self, page: Page, repl: Repl, asked: str, name: str, example: str
    ) -> None:
        repl.type("x = pt.zeros(3)")
        repl.type(asked)
        link = page.locator(".help").get_by_role("link", name="Reference")
        expect(link).to_have_attribute("href", f"#reference/{name}", timeout=WAIT_MS)
        expect(page.locator(".help pre", has_text=example).last).to_be_attached()
        link.click()
        expect(page.locator(".entry-page h2")).to_have_text(name, timeout=WAIT_MS)

    def test_what_is_not_of_the_library_has_neither(self, page: Page, repl: Repl) -> None:
        repl.type("pt.sum?")
        links = page.locator(".help").get_by_role("link")
        expect(links).to_have_count(1, timeout=WAIT_MS)  # the reference is loaded from now on
        repl.type("def sum(x): return x\n\nsum?")
        expect(page.locator(".help")).to_have_attribute("aria-label", "Help on sum")
        page.evaluate("() => new Promise((resolve) => setTimeout(resolve))")
        expect(links).to_have_count(0, timeout=1)
        expect(page.locator(".help h3", has_text="Example")).to_have_count(0, timeout=1)
        repl.type("del sum")


class TestWhatRuns:
    def test_input_says_that_it_waits(self, page: Page, repl: Repl) -> None:
        repl.type("name = input('Name? '); import time; time.sleep(60)")
        field = page.get_by_label("Input for the program")
        expect(field).to_be_focused()
        expect(field).to_have_attribute("placeholder", "Type here, then press Enter")
        expect(page.locator("#busy-text")).to_have_text("Waiting for your input")
        expect(page.locator("#status-running")).to_have_text("waiting for input")
        page.evaluate(AXE.read_text("utf-8"))
        assert page.evaluate(AUDIT) == []
        page.keyboard.type("Ada\n")
        expect(page.locator("#busy-text")).to_contain_text("Running")
        expect(page.locator("#status-running")).not_to_contain_text("waiting")
        page.keyboard.press("Control+c")
        expect(repl.last(".error")).to_contain_text("KeyboardInterrupt")

    @pytest.mark.parametrize("width", [700, 1280])
    def test_how_to_interrupt_stays_in_view(self, page: Page, repl: Repl, width: int) -> None:
        page.set_viewport_size({"width": width, "height": 720})
        repl.type("import time; time.sleep(60)")
        hint = page.get_by_role("button", name="Interrupt").locator("kbd")
        expect(hint).to_be_in_viewport(ratio=1)
        expect(hint).to_have_text("Ctrl C")
        page.keyboard.press("Control+c")
        expect(repl.last(".error")).to_contain_text("KeyboardInterrupt")

    def test_a_picture_under_way_is_marked(self, fresh_page: OpenPage) -> None:
        app = fresh_page()
        app.run(
            "import py_tensor_page.gallery as gallery, time; make = gallery.PICTURES['mandelbrot']"
        )
        app.run(
            "def slow(*a, **k):\n    time.sleep(1)\n    return make(*a, **k)\n\n"
            "gallery.PICTURES['mandelbrot'] = slow"
        )
        page = app.page
        page.goto("#gallery/mandelbrot")
        picture = page.get_by_role("application", name="The Mandelbrot set")
        expect(picture).to_have_attribute("aria-busy", "true", timeout=WAIT_MS)
        expect(page.locator("#mandelbrot-state")).to_have_text("Computing the picture.")
        mark = "(element) => getComputedStyle(element, '::after').animationName"
        assert picture.evaluate(mark) == "turn"
        expect(picture).to_have_attribute("aria-busy", "false", timeout=WAIT_MS)
        state = page.locator("#mandelbrot-state")
        expect(state).to_contain_text("wide")
        assert picture.evaluate(mark) == "none"
        page.evaluate("() => void pyTensor.run('while True: pass')")
        page.get_by_role("button", name="Zoom in").click()
        expect(state).to_have_text("Waiting for “while True: pass” · Stop it")
        state.get_by_role("button", name="Stop it").click()
        expect(state).to_have_text("Computing the picture.")
        expect(state).to_contain_text("wide", timeout=WAIT_MS)
