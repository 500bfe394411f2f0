"""Controls in the page: user input, the output below, errors, interrupts, a reload."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import Locator, expect

from tests.browser.app import AppPage
from tests.browser.editor import Editor
from tests.browser.repl import Repl
from tests.browser.test_accessibility import AUDIT, AXE, LOOKS, SIZES
from tests.browser.test_boot import serve_without_jspi
from tests.browser.test_display import Shown, pixels
from tests.browser.test_sessions import Visits

OpenPage = Callable[..., AppPage]

GREY = """
def grey(level):
    return pt.imshow(pt.full((2, 2), level), vmin=0, vmax=100, cmap="gray")
"""

FRAMES = 120
MOVES = """async ([slider, frames, last]) => {
  for (let left = frames - 1; left >= 0; left--) {
    await new Promise(requestAnimationFrame);
    for (const more of [2, 1, 0]) {
      slider.value = String((3 * left + more + last) % 101);
      slider.dispatchEvent(new Event("input", { bubbles: true }));
    }
  }
}"""
"""Moves a slider three times in each frame, to `last` in the end."""


class Panel:
    """Controls shown by an input."""

    def __init__(self, entry: Locator) -> None:
        self.entry = entry
        self.root = entry.locator(".controls-panel")
        self.output = self.root.locator(".controls-output")
        self.canvas = self.output.locator("canvas")

    def slider(self, name: str = "") -> Locator:
        return self.root.get_by_role("slider", name=name or None)

    def expect_level(self, level: float) -> None:
        """Wait for a grey of `level` percent."""
        for _ in range(100):
            if self.canvas.count() and abs(int(pixels(self.canvas)[0, 0, 0]) - level * 2.55) < 2:
                return
            self.root.page.wait_for_timeout(50)
        pytest.fail(f"the picture shows {pixels(self.canvas)[0, 0]}, not {level} percent")


@pytest.fixture
def shown(app: AppPage) -> Iterator[Shown]:
    app.page.locator("#tab-console").click()
    app.page.locator("#clear").click()
    yield Shown(app)
    app.page.evaluate("pyTensor.interrupt()")


def grey(shown: Shown, value: int = 10) -> Panel:
    """Return a picture whose level is set by a slider."""
    code = f"{GREY}\npt.ui.interact(grey, level=pt.ui.slider(0, 100, value={value}, label='Level'))"
    panel = Panel(shown.run(code))
    panel.expect_level(value)
    return panel


class TestValues:
    def test_a_slider_moved_by_keyboard(self, shown: Shown) -> None:
        panel = grey(shown)
        canvas = panel.canvas.element_handle()
        panel.slider().focus()
        for key, level in (("ArrowRight", 11), ("End", 100), ("Home", 0), ("PageUp", 10)):
            shown.page.keyboard.press(key)
            panel.expect_level(level)
            expect(panel.root.locator("output")).to_have_text(str(level))
        assert panel.canvas.evaluate("(now, before) => now === before", canvas)
        assert shown.page.evaluate("document.activeElement.type") == "range"

    def test_a_slider_between_its_steps(self, shown: Shown) -> None:
        code = (
            "off, tenths, odd = pt.ui.slider(0, 1, 0.25, value=0.3), pt.ui.slider(0, 1, 0.1), "
            "pt.ui.slider(0.013, 5, value=0.5)\n"
            "pt.ui.interact(lambda *, a, b, c: print(a, b, c), a=off, b=tenths, c=odd)"
        )
        for key, value in (("ArrowLeft", "0.25"), ("ArrowRight", "0.5"), ("End", "1")):
            panel = Panel(shown.run(code))
            printed = panel.output.locator(".printed")
            expect(printed).to_have_text("0.3 0.0 0.5")
            slider = panel.slider("a")
            expect(slider).to_have_value("0.3")
            slider.press(key)
            expect(slider).to_have_value(value)
            expect(printed).to_have_text(f"{float(value)} 0.0 0.5")
        for _ in range(3):
            panel.slider("b").press("ArrowRight")
        expect(panel.root.locator("output").nth(1)).to_have_text("0.3")
        odd = panel.slider("c")
        for key, value in (("ArrowRight", 0.55), ("End", 5.0), ("Home", 0.013)):
            odd.press(key)
            expect(panel.root.locator("output").nth(2)).to_have_text(f"{value:g}")
            expect(printed).to_have_text(f"1.0 0.3 {value}")

    def test_each_kind(self, shown: Shown) -> None:
        panel = Panel(
            shown.run(
                "def told(**values): print(values)\n"
                "count = pt.ui.number(0, 9, label='Count')\n"
                "pt.ui.interact(told, slide=(0.0, 1.0, 0.25), number=count,\n"
                "    both=False, way=['up', 'down'], go=pt.ui.button('Go'))"
            )
        )
        first = "{'slide': 0.0, 'number': 0, 'both': False, 'way': 'up', 'go': 0}"
        printed = panel.output.locator(".printed")
        expect(printed).to_have_text(first)
        panel.slider("slide").press("ArrowRight")
        panel.root.get_by_role("spinbutton", name="Count").fill("7")
        panel.root.get_by_role("checkbox", name="both").check()
        panel.root.get_by_role("combobox", name="way").select_option("down")
        button = panel.root.get_by_role("button", name="Go")
        for _ in range(3):
            button.click()
        last = "{'slide': 0.25, 'number': 7, 'both': True, 'way': 'down', 'go': 3}"
        expect(printed).to_have_text(last)

    def test_a_number_that_does_not_fit(self, shown: Shown) -> None:
        panel = Panel(
            shown.run("pt.ui.interact(lambda n: print(n), n=pt.ui.number(1, 9, value=5))")
        )
        field = panel.root.get_by_role("spinbutton", name="n")
        for text in ("12", "", "0", "2.5"):
            field.fill(text)
            expect(field).to_have_attribute("aria-invalid", "true")
            expect(panel.root).to_contain_text("Enter a whole number from 1 to 9.")
        expect(panel.output).to_have_text("5")
        field.fill("3")
        expect(field).to_have_attribute("aria-invalid", "false")
        expect(panel.output).to_have_text("3")

    def test_a_control_by_itself(self, shown: Shown) -> None:
        first = Panel(shown.run("level = pt.ui.slider(0, 9, value=4)\nlevel"))
        expect(first.entry.locator("pre.result")).to_have_count(0)
        second = Panel(shown.run("pt.display(level)"))
        second.slider().press("ArrowRight")
        expect(first.slider()).to_have_value("5")
        shown.expect_value("level.value", "5")
        shown.run("@level.on_change\ndef level_changed(value): print('now', value)")
        second.slider().press("ArrowRight")
        expect(second.output).to_have_text("now 6")

    def test_a_running_loop_sees_them(self, shown: Shown) -> None:
        shown.begin(
            "stop = pt.ui.checkbox(label='Stop')\npt.display(stop)\nview = pt.display(0)\ni = 0\n"
            "while not stop.value:\n    i += 1\n    view.update(i)\nprint('stopped')"
        )
        entry = shown.entries.last
        expect(entry.get_by_role("checkbox", name="Stop")).to_be_visible()
        entry.get_by_role("checkbox", name="Stop").check()
        expect(entry.locator(".printed")).to_have_text("stopped")

    def test_inputs_come_first(self, shown: Shown) -> None:
        """The call waits while an input runs, and uses the last value."""
        begin = "calls, n = [], pt.ui.slider(0, 50)\npt.ui.interact(lambda n: calls.append(n), n=n)"
        panel = Panel(shown.run(begin))
        shown.begin("import asyncio\nwhile n.value < 5: await asyncio.sleep(0.05)\n\nprint(calls)")
        for _ in range(5):
            panel.slider().press("ArrowRight")
        expect(shown.entries.last.locator(".printed")).to_have_text("[0]")
        shown.expect_value("calls", "[0, 5]")


class TestOutput:
    def test_pictures_change_in_place_at_the_rate_of_the_screen(self, shown: Shown) -> None:
        panel = Panel(
            shown.run(f"calls = []\n{GREY}\n@pt.ui.interact(level=(0, 100))\ndef show(level):\n"
                      "    calls.append(level)\n    return grey(level)")
        )  # fmt: skip
        panel.expect_level(0)
        canvas = panel.canvas.element_handle()
        shown.page.evaluate(MOVES, [panel.slider().element_handle(), FRAMES, 37])
        panel.expect_level(37)
        calls = json.loads(shown.value("calls"))
        assert (
            len(calls) <= 1 + FRAMES + 1
        )  # one for each frame, and the first; a frame may end late
        assert calls[-1] == 37
        expect(panel.output.locator(".display")).to_have_count(1)
        assert panel.canvas.evaluate("(now, before) => now === before", canvas)

    @pytest.mark.alone
    def test_a_fast_function_is_called_in_most_frames(self, shown: Shown) -> None:
        """In the best of some tries, because other work of the machine takes frames."""
        shown.run("calls = []\ndef told(n):\n    calls.append(n)\n    print(n)\n\n0")
        panel = Panel(shown.run("pt.ui.interact(told, n=(0, 100))"))
        expect(panel.output.locator(".printed")).to_have_text("0")
        counts: list[int] = []
        for last in (37, 59, 83, 11, 97):
            shown.value("calls.clear()")
            shown.page.evaluate(MOVES, [panel.slider().element_handle(), FRAMES, last])
            expect(panel.output.locator(".printed")).to_have_text(str(last))
            calls = json.loads(shown.value("calls"))
            assert calls[-1] == last
            assert len(calls) <= FRAMES + 1
            counts.append(len(calls))
            if len(calls) >= FRAMES / 2:
                return
        pytest.fail(f"in {FRAMES} frames it was called {counts} times")

    def test_printed_text_is_replaced(self, shown: Shown) -> None:
        panel = Panel(
            shown.run("def f(n):\n    if n: print('n is', n)\n    return pt.arange(n)\n"
                      "pt.ui.interact(f, n=(0, 5))")
        )  # fmt: skip
        expect(panel.output.locator("pre.result")).to_contain_text("[]")
        panel.slider().press("ArrowRight")
        expect(panel.output.locator(".printed")).to_have_text("n is 1")
        panel.slider().press("ArrowRight")
        expect(panel.output.locator(".printed")).to_have_text("n is 2")
        panel.slider().press("Home")
        expect(panel.output.locator(".printed")).to_have_count(0)
        expect(panel.output.locator(".display")).to_have_count(1)

    def test_an_error_is_shown_until_the_next_call(self, shown: Shown) -> None:
        panel = Panel(
            shown.run("def inverse(n):\n    return 6 // n\npt.ui.interact(inverse, n=(0, 5))")
        )
        error = panel.root.locator(".error")
        expect(error).to_contain_text("ZeroDivisionError")
        expect(error).to_contain_text("return 6 // n")
        panel.slider().press("ArrowRight")
        expect(error).to_have_count(0)
        expect(panel.output).to_have_text("6")
        panel.slider().press("Home")
        expect(error).to_contain_text("ZeroDivisionError")
        expect(panel.output).to_have_text("6")  # the last output stays
        expect(panel.entry).to_have_class("entry done")

    def test_an_interrupt_ends_the_call_alone(self, shown: Shown) -> None:
        panel = Panel(
            shown.run("def wait(n):\n    while n: pass\n    return n\n"
                      "pt.ui.interact(wait, n=(0, 5))")
        )  # fmt: skip
        expect(panel.output).to_have_text("0")
        panel.slider().press("ArrowRight")
        button = shown.page.locator("#interrupt")
        expect(button).to_be_visible()
        expect(shown.page.locator("#busy-text")).to_contain_text("Updating")
        button.click()
        expect(panel.root.locator(".error")).to_contain_text("KeyboardInterrupt")
        panel.slider().press("Home")
        expect(panel.root.locator(".error")).to_have_count(0)

    def test_a_call_may_wait(self, shown: Shown) -> None:
        panel = Panel(
            shown.run("import asyncio\nasync def f(n):\n    await asyncio.sleep(0.01)\n"
                      "    return n\npt.ui.interact(f, n=(0, 5))")
        )  # fmt: skip
        expect(panel.output).to_have_text("0")
        panel.slider().press("ArrowRight")
        expect(panel.output).to_have_text("1")

    def test_a_cell_that_runs_again_registers_again(self, fresh_page: OpenPage) -> None:
        shown = Shown(fresh_page())
        panel = Panel(shown.run("seen = []; kept = pt.ui.slider(0, 9); pt.display(kept)"))
        editor = Editor(shown.page).open()
        editor.write(
            "kept.on_change(lambda value: seen.append('changed'))\n"
            "pt.ui.interact(lambda a: seen.append('called'), a=kept)"
        )
        for times in range(1, 6):
            editor.press("Control+Enter")
            expect(editor.outputs.locator(".entry")).to_have_class("entry done")
            assert shown.value("len(seen)") == str(times)
        shown.value("seen.clear()")
        panel.slider().press("ArrowRight")
        expect(editor.outputs.get_by_role("slider")).to_have_value("1")
        shown.expect_value("kept.value", "1")
        assert shown.value("seen") == "['called', 'changed']"
        assert shown.value("len(kept._functions), len(kept.interactions)") == "(1, 1)"
        editor.outputs.get_by_role("button", name="Clear").click()
        panel.slider().press("ArrowRight")
        shown.expect_value("kept.value", "2")
        assert shown.value("seen") == "['called', 'changed']"
        assert shown.value("len(kept._functions), len(kept.interactions)") == "(0, 0)"

    def test_below_long_lines_on_a_phone(self, fresh_page: OpenPage) -> None:
        page = fresh_page(viewport={"width": 390, "height": 800}).page
        editor = Editor(page).open()
        editor.write(f"# {'long ' * 40}\npt.ui.interact(lambda n: n, n=(0, 9))")
        editor.press("Control+Enter")
        panel = Panel(editor.outputs.locator(".entry"))
        expect(panel.output).to_have_text("0")
        box = panel.slider().bounding_box()
        assert box is not None
        assert box["x"] + box["width"] < 390

    def test_a_restart(self, fresh_page: OpenPage) -> None:
        shown = Shown(fresh_page())
        panel = grey(shown)
        shown.page.evaluate("document.querySelector('#restart').click()")
        expect(panel.slider()).to_be_disabled(timeout=60_000)
        expect(panel.root).to_contain_text("Run this input again to use its controls.")

    def test_where_python_cannot_block(self, fresh_page: OpenPage) -> None:
        shown = Shown(fresh_page(routes={"**/worker.js": serve_without_jspi}))
        panel = grey(shown)
        panel.slider().press("End")
        panel.expect_level(100)


class TestAfterAReload:
    def test_they_are_shown_as_they_were(self, visits: Visits) -> None:
        app = visits.open()
        code = (
            f"{GREY}\ndef show(level):\n    print('level', level)\n    grey(level)\n"
            "    1 / (level - 30)\npt.ui.interact(show, level=pt.ui.slider(0, 30, 10, value=10))"
        )
        panel = Panel(Shown(app).run(code))
        panel.expect_level(10)
        panel.slider().press("End")
        expect(panel.root.locator(".error")).to_contain_text("ZeroDivisionError")
        panel.expect_level(30)
        visits.wait_until_written("division by zero")
        repl: Repl = visits.reload(app)
        panel = Panel(repl.entries.first)
        expect(panel.slider()).to_be_disabled()
        expect(panel.slider()).to_have_value("30")
        expect(panel.root).to_contain_text("Run this input again to use its controls.")
        expect(panel.output.locator(".printed")).to_have_text("level 30")
        expect(panel.root.locator(".error")).to_contain_text("ZeroDivisionError")
        panel.expect_level(30)

    def test_a_rejected_number_is_not_shown_again(self, visits: Visits) -> None:
        app = visits.open()
        panel = Panel(Shown(app).run("pt.ui.interact(lambda n: print(n), n=pt.ui.number(1, 9))"))
        field = panel.root.get_by_role("spinbutton")
        field.fill("7")
        expect(panel.output).to_have_text("7")
        field.fill("99")
        expect(panel.root).to_contain_text("Enter a whole number from 1 to 9.")
        visits.wait_until_written('"value":7')
        repl = visits.reload(app)
        panel = Panel(repl.entries.first)
        expect(panel.root.get_by_role("spinbutton")).to_have_value("7")
        expect(panel.root).not_to_contain_text("Enter a")

    def test_below_a_cell(self, visits: Visits) -> None:
        app = visits.open()
        editor = Editor(app.page).open()
        editor.write("pt.ui.interact(lambda n: n * n, n=(0, 9))")
        editor.press("Control+Enter")
        panel = Panel(editor.outputs.locator(".entry"))
        expect(panel.output).to_have_text("0")
        panel.slider().focus()
        for _ in range(3):
            app.page.keyboard.press("ArrowRight")
        expect(panel.output).to_have_text("9")
        assert "n * n" in editor.text.inner_text()
        panel.entry.hover()
        copy = panel.entry.get_by_role("button", name="Copy")
        expect(copy).to_be_visible()
        controls = panel.root.bounding_box()
        beside = copy.bounding_box()
        assert controls
        assert beside
        assert controls["x"] + controls["width"] <= beside["x"]
        visits.wait_until_written('"text":"9"')
        visits.reload(app)
        panel = Panel(editor.outputs.locator(".entry"))
        expect(panel.output).to_have_text("9")
        expect(panel.slider()).to_have_value("3")
        expect(panel.slider()).to_be_disabled()


@pytest.mark.parametrize(("size", "scheme"), LOOKS)
def test_axe(shown: Shown, size: str, scheme: Any) -> None:
    page = shown.page
    width, height = SIZES[size]
    page.set_viewport_size({"width": width, "height": height})
    page.emulate_media(color_scheme=scheme)
    try:
        panel = Panel(
            shown.run(
                "pt.ui.interact(lambda **all: 1 / 0, a=(0, 5), b=pt.ui.number(1, 5), c=True,\n"
                "    d=['x', 'y'], e=pt.ui.button('Go'))"
            )
        )
        expect(panel.root.locator(".error")).to_contain_text("ZeroDivisionError")
        panel.root.get_by_role("spinbutton").fill("9")
        if page.evaluate("typeof axe") == "undefined":
            page.evaluate(AXE.read_text("utf-8"))
        found = page.evaluate(AUDIT)
        assert not [v for v in found if v["impact"] in ("serious", "critical")], found
        assert page.evaluate("document.documentElement.scrollWidth") <= width
    finally:
        page.emulate_media(color_scheme="light")
        page.set_viewport_size({"width": 1280, "height": 720})
