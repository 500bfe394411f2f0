"""How errors look in the console: the message, the marked lines of the user's code, all frames."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.app import AppPage
from tests.browser.repl import Repl

OpenPage = Callable[..., AppPage]
Run = Callable[[str], dict[str, Any]]

BROADCAST = "x = pt.ones((8, 3, 4))\ny = pt.exp(x) + pt.ones((5, 4))"
CALLED = "def divide(x):\n    return 1 / x\n\ntotal = 3 + divide(0)"


@pytest.fixture
def repl(page: Page) -> Repl:
    page.locator("#tab-console").click()
    page.locator("#clear").click()
    return Repl(page)


def failed(repl: Repl, code: str) -> Locator:
    """Return the error of an input."""
    count = repl.entries.count()
    repl.input.fill(code)
    repl.press("Enter")
    if repl.text:  # an indented block, which an empty line ends
        repl.press("Enter")
    expect(repl.entries).to_have_count(count + 1)
    error = repl.last(".error")
    expect(error).to_be_visible()
    return error


class TestMessage:
    def test_it_stands_first_and_names_the_type(self, repl: Repl) -> None:
        error = failed(repl, "1 / 0")
        expect(error.locator(":scope > :first-child")).to_have_text(
            "ZeroDivisionError: division by zero"
        )
        expect(error).not_to_contain_text("Traceback")

    def test_what_is_drawn_with_characters_keeps_its_columns(self, repl: Repl) -> None:
        detail = failed(repl, BROADCAST).locator(".error-detail")
        lines = detail.evaluate("(pre) => pre.textContent").split("\n")
        assert lines[0].strip() == "(8, 3, 4)"
        assert lines[0].index(")") == lines[1].index(")")
        assert lines[2].index("^") == lines[0].index("3")
        expect(detail).to_have_css("white-space-collapse", "preserve")
        expect(detail).to_have_css("text-wrap-mode", "nowrap")

    def test_a_suggestion_is_part_of_it(self, repl: Repl) -> None:
        error = failed(repl, "tensors = 1\ntensor")
        expect(error.locator(".error-message")).to_contain_text("Did you mean: 'tensors'?")

    @pytest.mark.parametrize(
        ("code", "suggested"),
        [
            ("pt.ones(2).shap", "shape"),
            ("pt.ones(2).drop_nod", None),  # nothing private: _drop_node
            ("pt.sesion", None),  # no module of the library's own
            ("pt.reshap", "reshape"),
            ("pt.random.rnd", "rand"),
        ],
    )
    def test_what_is_suggested_is_public(self, run: Run, code: str, suggested: str | None) -> None:
        last = run(code)["error"].splitlines()[-1]
        assert last.partition("Did you mean: ")[2] == (f"'{suggested}'?" if suggested else "")

    def test_a_package_that_cannot_be_fetched(self, repl: Repl) -> None:
        """micropip's own message is no help if the policy forbids the download."""
        error = failed(repl, "import micropip\nawait micropip.install('no-such-package')")
        expect(error.locator(".error-message")).to_have_text(
            "ValueError: micropip: 'no-such-package' cannot be installed: to install packages of"
            " PyPI, turn on “Packages from the internet” in the status panel (top right); a wheel"
            " of pure Python can be dropped on the page"
        )
        expect(error.locator("mark")).to_have_count(0)

    def test_it_is_text_and_never_markup(self, repl: Repl) -> None:
        error = failed(repl, "raise ValueError('<b id=bold>x</b>')  # <i id=italic>")
        expect(error).to_contain_text("<b id=bold>x</b>")
        expect(error).to_contain_text("# <i id=italic>")
        expect(repl.page.locator("#bold, #italic")).to_have_count(0)


class TestPlaces:
    def test_the_range_in_the_line_is_marked(self, repl: Repl) -> None:
        error = failed(repl, BROADCAST)
        expect(error.locator("mark")).to_have_text("pt.exp(x) + pt.ones((5, 4))")
        expect(error.locator(".error-number")).to_have_text("2")
        expect(repl.last(".source .at-fault code")).to_have_text("y = pt.exp(x) + pt.ones((5, 4))")

    def test_callers_follow(self, repl: Repl) -> None:
        error = failed(repl, CALLED)
        expect(error.locator(".error-where")).to_have_text(["in divide", "called here"])
        expect(error.locator(".error-number")).to_have_text(["2", "4"])
        expect(error.locator("mark")).to_have_text(["1 / x", "divide(0)"])
        expect(error.locator(".frames")).to_have_count(0)  # there are no others
        failed(repl, "divide(0)")
        expect(repl.last(".error-where")).to_have_text(
            ["in divide, an earlier input", "called here"]
        )

    def test_a_syntax_error_points_at_the_place(self, repl: Repl) -> None:
        error = failed(repl, "x = 1\ny = = 2")
        expect(error.locator(".error-message")).to_have_text("SyntaxError: invalid syntax")
        expect(error.locator(".error-line code")).to_have_text("y = = 2")
        expect(error.locator("mark")).to_have_text("=")
        expect(repl.last(".source .at-fault code")).to_have_text("y = = 2")

    def test_recursion_is_told_once(self, repl: Repl) -> None:
        error = failed(repl, "def f(n): return f(n + 1)\nf(0)")
        expect(error.locator(".error-place")).to_have_count(2)
        expect(error.locator(".error-where").first).to_contain_text("more times")

    def test_causes_and_groups(self, repl: Repl) -> None:
        code = "try:\n    1 / 0\nexcept ZeroDivisionError as e:\n    raise ValueError('b') from e"
        error = failed(repl, code)
        expect(error.locator(".error-message")).to_have_text(
            ["ValueError: b", "ZeroDivisionError: division by zero"]
        )
        expect(error.locator(".error-link")).to_have_text("Caused by")
        error = failed(repl, "raise ExceptionGroup('both', [ValueError('a'), KeyError('b')])")
        expect(error.locator(".error-link")).to_have_text(["1 of 2", "2 of 2"])


class TestEveryFrame:
    def test_one_click_and_the_keyboard_open_it(self, repl: Repl) -> None:
        frames = failed(repl, BROADCAST).locator(".frames")
        expect(frames.locator("pre")).to_be_hidden()
        frames.locator("summary").click()
        expect(frames.locator("pre")).to_contain_text("py_tensor/")
        expect(frames.locator("pre")).to_contain_text("Traceback (most recent call last):")
        frames.locator("summary").press("Enter")
        expect(frames.locator("pre")).to_be_hidden()

    def test_the_traceback_as_text_is_what_is_copied(self, fresh_page: OpenPage) -> None:
        app = fresh_page(permissions=["clipboard-read", "clipboard-write"])
        repl = Repl(app.page)
        failed(repl, f"print('before')\n{CALLED}")
        repl.entries.last.hover()
        repl.last(".copy").click()
        expect(repl.last(".copy")).to_have_text("Copied")
        lines = app.page.evaluate("navigator.clipboard.readText()").split("\n")
        assert lines[:2] == ["before", "Traceback (most recent call last):"]
        assert lines[-1] == "ZeroDivisionError: division by zero"


class TestInterrupt:
    def test_it_is_no_error(self, repl: Repl) -> None:
        repl.input.fill("import time\ntime.sleep(60)")
        repl.press("Enter")
        expect(repl.page.locator("#interrupt")).to_be_visible()
        repl.press("Control+c")
        stopped = repl.last(".interrupted")
        expect(stopped.locator("summary")).to_have_text(re.compile(r"^Stopped after \d+\.\d s$"))
        assert stopped.inner_text() == stopped.locator("summary").inner_text()
        red = repl.page.locator("body").evaluate(
            "(body) => getComputedStyle(body).getPropertyValue('--error')"
        )
        style = "(element) => { const { color, borderLeftWidth, backgroundColor } = "
        style += "getComputedStyle(element); return [color, borderLeftWidth, backgroundColor]; }"
        assert red
        muted = repl.page.locator("#busy").evaluate("(busy) => getComputedStyle(busy).color")
        assert stopped.evaluate(style) == [muted, "0px", "rgba(0, 0, 0, 0)"]
        stopped.locator("summary").click()
        expect(stopped.locator("pre")).to_contain_text("line 2, in <module>\n    time.sleep(60)")
        expect(repl.last(".copy")).to_have_count(0)  # there is nothing to copy

    def test_a_program_may_raise_it(self, repl: Repl) -> None:
        error = failed(repl, "raise KeyboardInterrupt('mine')")
        expect(error.locator(".error-message")).to_have_text("KeyboardInterrupt: mine")
        repl.input.fill(
            "try:\n    while True: pass\nexcept KeyboardInterrupt:\n    print('handled')\n"
        )
        repl.press("Enter")
        expect(repl.page.locator("#interrupt")).to_be_visible()
        repl.press("Control+c")
        expect(repl.last(".printed")).to_have_text("handled\n")
        expect(repl.last(".interrupted")).to_have_count(0)


def test_a_narrow_screen_keeps_its_width(fresh_page: OpenPage) -> None:
    app = fresh_page(viewport={"width": 360, "height": 700})
    repl = Repl(app.page)
    for code in (
        BROADCAST,
        f"x = '{'a' * 200}'; raise ValueError(x, {'b' * 100!r})",
        "raise ValueError('one two\\n' + 'three ' * 100)",
    ):
        error = failed(repl, code)
        assert error.evaluate("(error) => error.scrollWidth - error.clientWidth") <= 0
        assert app.page.evaluate("document.documentElement.scrollWidth") <= 360
    detail = repl.entries.first.locator(".error-detail")
    expect(detail).to_have_attribute("tabindex", "0")  # it scrolls, so the keyboard can reach it
