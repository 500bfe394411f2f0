"""The console in separate pages: restarts, links, narrow screens."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import pytest
from playwright.sync_api import Route, expect

from tests.browser.app import AppPage
from tests.browser.repl import Repl

OpenPage = Callable[..., AppPage]


class TestPageOfItsOwn:
    def test_a_reload_a_crash_and_code_that_cannot_be_interrupted(
        self, fresh_page: OpenPage
    ) -> None:
        """One page for three events that end its Python, because each boot takes seconds."""
        app = fresh_page()
        repl = Repl(app.page)
        repl.type("'typed before'")
        expect(repl.last(".result")).to_be_visible()
        app.page.reload()
        app.page.evaluate("pyTensor.ready.then(() => null)")
        repl.input.focus()
        repl.press("ArrowUp")
        repl.expect_text("'typed before'")

        app.run("gone = 1")
        done = app.run("import os; os.abort()")
        assert "Python crashed" in done["error"]
        assert "NameError" in app.run("gone")["error"]

        repl.input.fill("sum(range(10**12))")
        repl.press("Enter")
        repl.page.locator("#interrupt").click()
        repl.page.locator("#restart").click()
        expect(repl.last(".error")).to_have_text("Python was restarted.")
        assert app.run("1 + 1")["result"] == "2"  # waits for the new Python
        notes = repl.page.locator("#transcript .note")
        expect(notes.last).to_have_text(
            "All variables are lost."
        )  # the reason is in the entry above
        repl.page.evaluate("document.querySelector('#restart').click()")
        expect(notes.last).to_have_text("Python was restarted. All variables are lost.")

    def test_packages_are_unpacked_and_imported_whole(self, fresh_page: OpenPage) -> None:
        """An interrupt waits for the import: a half-imported NumPy could not be imported again."""
        app = fresh_page()

        def fetched(route: Route) -> None:
            app.page.evaluate("() => void pyTensor.interrupt()")
            route.continue_()

        app.page.route("**/wheels/micropip-*", fetched)
        app.run(
            "import _thread, sys\n"
            "moments, reached = [], []\n"
            "def look(event, args):\n"
            "    if event == 'shutil.unpack_archive' or args[:1] == ('numpy.lib',):\n"
            "        moments.append(event); _thread.interrupt_main()\n"
            "sys.addaudithook(look)"
        )
        inside = "def f():\n    import numpy\n    reached.append(numpy)\nf()"
        for code in ("import micropip", "import numpy", inside):
            done = app.run(f"{code}\nreached.append(1)")
            assert done["error"].endswith("KeyboardInterrupt"), done
        assert app.run("moments, reached")["result"] == (
            "(['shutil.unpack_archive', 'shutil.unpack_archive', 'import'], [])"
        )
        assert app.run("import micropip\nmicropip.__name__")["result"] == "'micropip'"
        assert app.run("import numpy as np\nint(np.arange(5).sum())")["result"] == "10"

    def test_code_in_a_link_is_shown_and_not_run(self, fresh_page: OpenPage) -> None:
        app = fresh_page(path="#code=print(1)%0Aran%20%3D%20True")
        repl = Repl(app.page)
        repl.expect_text("print(1)\nran = True")
        expect(repl.entries).to_have_count(0)
        assert "NameError" in app.run("ran")["error"]

    def test_no_code_shows_beyond_the_note_on_a_link(self, fresh_page: OpenPage) -> None:
        """However far the reader scrolls, the note is at the edge of the screen."""
        lines = "%0A".join(f"print({n})" for n in range(100))
        page = fresh_page(path=f"#code={lines}").page
        note, screen = page.locator("#offered"), page.locator("#screen")
        expect(note).to_contain_text("came with the link")
        above = """(note) =>
            note.getBoundingClientRect().top - note.closest(".screen").getBoundingClientRect().top
        """
        for place in (400, 10_000):
            screen.evaluate("(screen, place) => { screen.scrollTop = place; }", place)
            assert note.evaluate(above) == pytest.approx(0, abs=1)

    def test_an_explanation_has_no_scroll_bars_of_its_own(self, fresh_page: OpenPage) -> None:
        app = fresh_page(viewport={"width": 1280, "height": 800})
        app.page.get_by_role("button", name="Editor", exact=True).click()
        expect(app.page.locator("#editor")).to_be_visible()
        repl = Repl(app.page)
        repl.type("pt.explain(pt.softmax(pt.rand(100, 100) @ pt.rand(100, 100)).sum(0))")
        result = repl.last(".result")
        expect(result).to_contain_text("matmul")
        hidden = "e => [e.scrollWidth - e.clientWidth, e.scrollHeight - e.clientHeight]"
        assert result.evaluate(hidden) == [0, 0]
        repl.type("list(range(9000))")
        expect(repl.last(".result")).to_contain_text("8999")
        assert repl.last(".result").evaluate(hidden)[1] > 0

    def test_a_narrow_screen_has_no_sideways_scrolling(self, fresh_page: OpenPage) -> None:
        app = fresh_page(viewport={"width": 360, "height": 700})
        repl = Repl(app.page)
        repl.type("list(range(300))\nprint('x' * 500)")
        expect(repl.last(".printed")).to_be_visible()
        for view in ("console", "benchmarks"):
            app.page.locator(f"#tab-{view}").click()
            width = app.page.evaluate("document.documentElement.scrollWidth")
            assert width <= 360, view

    def test_the_actions_of_a_file_are_large_enough_to_touch(self, fresh_page: OpenPage) -> None:
        touched = {"has_touch": True, "is_mobile": True, "viewport": {"width": 390, "height": 844}}
        page = fresh_page(first_visit=True, **touched).page
        page.get_by_role("button", name="Editor", exact=True).tap()
        acts = page.locator(".file-act")
        expect(acts).to_have_count(3)
        boxes = [act.bounding_box() for act in acts.all()]
        for box in boxes:
            assert box is not None
            assert min(box["width"], box["height"]) >= 32
        rooms = [b["x"] - a["x"] - a["width"] for a, b in pairwise(filter(None, boxes))]
        assert min(rooms) >= 4

    def test_errors_wrap_and_rows_scroll(self, fresh_page: OpenPage) -> None:
        app = fresh_page(viewport={"width": 400, "height": 700})
        repl = Repl(app.page)
        overflow = "(block) => block.scrollWidth - block.clientWidth"
        repl.type("pt.zeros((8, 3, 4)) + pt.ones((5, 4))")
        expect(repl.last(".error")).to_contain_text("ShapeError")
        assert repl.last(".error").evaluate(overflow) <= 0
        expect(repl.last(".error")).not_to_have_attribute("tabindex", "0")

        repl.type("type('Rows', (), {'__repr__': lambda _: '0 ' * 40 + '\\n' + '1 ' * 40})()")
        result = repl.last(".result")
        expect(result).to_have_attribute("tabindex", "0")
        assert result.evaluate(overflow) > 0
        result.focus()
        repl.press("ArrowRight")
        expect(result).not_to_have_js_property("scrollLeft", 0)
        app.page.set_viewport_size({"width": 1280, "height": 700})
        expect(result).not_to_have_attribute("tabindex", "0")

    def test_tensors_fit_the_width(self, fresh_page: OpenPage) -> None:
        app = fresh_page(viewport={"width": 400, "height": 700})
        repl = Repl(app.page)

        def longest_line() -> int:
            repl.type("pt.ones((100,)) / 3")
            expect(repl.last(".result")).to_be_visible()
            overflow = "(result) => result.scrollWidth - result.clientWidth"
            assert repl.last(".result").evaluate(overflow) <= 0
            return max(map(len, repl.last(".result").inner_text().split("\n")))

        assert 30 < longest_line() < 50
        app.page.set_viewport_size({"width": 1280, "height": 700})
        expect(app.page.locator("#transcript")).not_to_have_css("width", "0px")
        app.page.wait_for_timeout(100)
        repl.type("import shutil; 40 < shutil.get_terminal_size().columns <= 120")
        expect(repl.last(".result")).to_have_text("True")
        assert longest_line() > 80
