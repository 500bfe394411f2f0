"""The editor beside the console: tabs, cells with their output below them, runs, messages."""

from __future__ import annotations

import base64
import json
import re
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Locator, Page, Route, expect

from tests.browser.app import AppPage
from tests.browser.editor import Editor, drop, notebook, png, shows, wait_for
from tests.browser.repl import Repl
from tests.browser.test_accessibility import AUDIT, AXE, LOOKS, SIZES
from tests.browser.test_sessions import Visits, enter


def width_of(locator: Locator) -> float:
    box = locator.bounding_box()
    assert box
    return box["width"]


def test_a_first_visit_has_the_button_alone(app: AppPage) -> None:
    expect(app.page.locator("#editor")).to_be_hidden()
    assert app.page.locator("#editor > *").count() == 0
    button = app.page.locator("#editor-button")
    expect(button).to_have_attribute("aria-expanded", "false")


UNTIL_INTERRUPTED = """import time
try:
    print("started")
    time.sleep(60)
except KeyboardInterrupt:
    pass
"""


class TestRunning:
    def test_all_cells_show_below_themselves(self, editor: Editor) -> None:
        editor.write("# %% one\nx = 2\nx + 1\n\n# %% two\nprint('two')\nx * 10\n")
        editor.act("Run all")
        editor.expect_done(2)
        wanted = ["# %% one", "x = 2", "x + 1", "= 3", "", "# %% two", "print('two')", "x * 10"]
        assert editor.lines[:9] == [*wanted, "= two,20"]
        assert editor.page.locator("#transcript .entry").count() == 0

    def test_the_cell_with_the_caret(self, editor: Editor) -> None:
        editor.write("# %%\n'first'\n\n# %%\n'second'\n")
        editor.put("", after="second")
        editor.press("Control+Enter")
        editor.expect_done(1)
        assert "= 'second'" in editor.lines
        editor.put("", after="second")
        editor.page.keyboard.type(" + '!'")  # which the prompt does not handle
        editor.press("Control+Enter")
        expect(editor.outputs).to_contain_text("second!")  # replaces the previous one
        editor.expect_done(1)

    def test_shift_enter_walks_through_the_cells(self, editor: Editor) -> None:
        editor.write("# %%\n'a'\n# %%\n'b'")
        editor.put("", after="'a'")
        editor.press("Shift+Enter")
        editor.press("Shift+Enter")
        editor.expect_done(2)
        editor.page.keyboard.insert_text("'c'")
        editor.press("Control+Enter")
        editor.expect_done(3)
        assert editor.lines == [
            "# %%",
            "'a'",
            "= 'a'",
            "# %%",
            "'b'",
            "= 'b'",
            "",
            "# %%",
            "'c'",
            "= 'c'",
        ]

    def test_cells_of_text_have_no_run_button(self, editor: Editor) -> None:
        editor.write("# %% [markdown]\n# words\n\n# %%\n'code'\n\n# %% [raw]\n# raw\n")
        marks = editor.pane.locator(".code-editor:not([hidden]) .cm-run")
        expect(marks).to_have_count(1)
        marks.click()
        editor.expect_done(1)
        assert "= 'code'" in editor.lines

    def test_the_selection(self, editor: Editor) -> None:
        editor.write("y = 1\ny + 1\ny + 2\n")
        editor.put("", after="y + 1")
        editor.press("Shift+ArrowUp")
        expect(editor.pane.get_by_role("button", name="Run selection")).to_be_enabled()
        editor.press("ControlOrMeta+a")
        editor.press("ArrowLeft")
        editor.press("Shift+ArrowDown")
        editor.press("Shift+ArrowDown")
        editor.press("Control+Enter")
        editor.expect_done(1)
        assert editor.lines[:4] == ["y = 1", "y + 1", "= 2", "y + 2"]

    def test_a_failure_ends_the_run_and_names_the_line_of_the_file(self, editor: Editor) -> None:
        editor.write("# %%\na = 1\n\n# %%\na\na / 0\n\n# %%\n'never'\n")
        editor.act("Run all")
        editor.expect_done(3)
        failed = editor.outputs.nth(1)
        expect(failed).to_contain_text("ZeroDivisionError")
        expect(failed.locator(".error-number")).to_have_text("6")
        skipped = editor.outputs.nth(2)
        expect(skipped.locator(".note")).to_have_text("Not run: an earlier input failed.")
        expect(skipped.locator(".error, .failed")).to_have_count(0)
        border = "(block) => getComputedStyle(block).borderLeftColor"
        assert failed.evaluate(border) != skipped.evaluate(border)

    def test_a_failure_is_in_view_and_linked(self, editor: Editor) -> None:
        """Cells of text are not counted, as in notebooks."""
        lines = "# a line\n" * 60
        editor.write(
            f"# %% [markdown]\n# words\n\n# %%\n'a'\n\n# %%\n{lines}1 / 0\n\n# %%\n{lines}"
        )
        editor.press("ControlOrMeta+Home")
        editor.act("Run all")
        link = editor.pane.locator(".editor-said").get_by_role("button", name="Cell 2 failed.")
        expect(link).to_be_visible()
        failed = editor.outputs.locator("> .failed .error")
        expect(failed).to_be_in_viewport()
        border = failed.evaluate(
            "(error) => getComputedStyle(error.closest('.cell-output')).borderLeftColor"
        )
        expect(link).to_have_css("color", border)
        editor.text.focus()
        editor.press("ControlOrMeta+Home")
        expect(failed).not_to_be_in_viewport()
        link.click()
        expect(failed).to_be_in_viewport()
        expect(editor.text).to_be_focused()

    def test_a_message_belongs_to_its_file(self, editor: Editor) -> None:
        said = editor.pane.locator(".editor-said")
        tab = editor.pane.locator(".editor-tab")
        editor.write("1 / 0")
        editor.act("Run all")
        expect(said).to_have_text("The program failed.")
        drop(editor.page, book__ipynb=notebook(("1", []), ("1 / 0", [])))
        expect(said).to_have_text("Added book.ipynb.")
        editor.act("Run all")
        expect(said).to_have_text("Cell 2 failed.")
        tab.filter(has_text="main.py").click()
        expect(said).to_have_text("The program failed.")
        drop(editor.page, other__py=UNTIL_INTERRUPTED.encode())
        expect(said).to_have_text("Added other.py.")
        editor.act("Run all")
        expect(editor.outputs).to_contain_text("started")
        expect(said).to_have_text("")
        tab.filter(has_text="book.ipynb").click()
        editor.page.evaluate("pyTensor.interrupt()")
        expect(said).to_have_text("other.py: The program finished.Cell 2 failed.")
        tab.filter(has_text="other.py").click()
        expect(said).to_have_text("other.py: The program finished.")
        tab.filter(has_text="main.py").click()
        expect(said).to_have_text("The program failed.")
        editor.put("  # edited", after="1 / 0")
        expect(said).to_have_text("")

    def test_an_output_stays_with_its_cell(self, editor: Editor) -> None:
        editor.write("# %%\n'a'")
        editor.press("Control+Enter")
        editor.expect_done(1)
        editor.put("\n# %%\n'b'", after="'a'")
        assert editor.lines == ["# %%", "'a'", "= 'a'", "# %%", "'b'"]
        editor.put("  # a note", after="'a'")
        assert editor.lines[1:3] == ["'a'  # a note", "= 'a'"]
        editor.act("Clear outputs")
        expect(editor.outputs).to_have_count(0)

    def test_the_line_numbers_follow_the_height_of_an_output(self, editor: Editor) -> None:
        """Here all of the text is visible, so its height is that of the editor."""
        editor.write("# %%\n'a'\n\n# %%\n'b'\n")
        editor.act("Run all")
        editor.expect_done(2)
        offsets = """(content) => {
          const lines = [...content.querySelectorAll(".cm-line")];
          const root = content.getRootNode();
          const numbers = [...root.querySelectorAll(".cm-lineNumbers .cm-gutterElement")];
          const top = (element) => element.getBoundingClientRect().top;
          return lines.map((line, i) =>
            top(numbers.find(({ textContent }) => textContent === `${i + 1}`)) - top(line));
        }"""
        wait_for(lambda: editor.text.evaluate(offsets) == [0] * 6, editor.page)
        entry = editor.outputs.first.locator("> .entry")
        entry.evaluate("(entry) => { entry.style.paddingBottom = '30px'; }")
        taller = "(entry) => entry.getBoundingClientRect().height > 50"
        assert entry.evaluate(taller)
        wait_for(lambda: editor.text.evaluate(offsets) == [0] * 6, editor.page)

    def test_pictures_and_questions_are_shown_there(self, editor: Editor) -> None:
        editor.write("pt.imshow(pt.rand(4, 4))\nname = input('Who? ')\nname.upper()")
        editor.press("Control+Enter")
        field = editor.outputs.locator("input")
        field.fill("ada")
        field.press("Enter")
        editor.expect_done(1)
        expect(editor.outputs.locator("canvas")).to_be_visible()
        expect(editor.outputs).to_contain_text("ADA")

    def test_cells_wait_for_another_program(self, editor: Editor) -> None:
        editor.page.evaluate("() => void pyTensor.run('while True: pass')")
        editor.write("# %%\n'a'\n# %%\nwhile True: pass\n# %%\n'c'\n# %%\n'd'\n")
        editor.act("Run all")
        note = editor.outputs.locator(".note")
        waits = re.compile(r"^Waiting for “while True: pass” \(\d+ s\) · Stop it$")
        expect(note).to_have_text(waits)  # only the first: the others wait for it
        note.get_by_role("button", name="Stop it").click()
        expect(editor.outputs.nth(1).locator("> .entry.running")).to_be_visible()
        prompt = editor.page.locator("#input .cm-content")
        prompt.fill("'typed'")
        prompt.press("Enter")
        typed = editor.page.locator("#transcript .entry").last
        expect(typed.locator(".note")).to_contain_text("Waiting for cell 2 of main.py (")
        editor.act("Interrupt")
        expect(typed.locator(".result")).to_have_text("'typed'")
        expect(editor.outputs.nth(0)).to_contain_text("'a'")
        expect(editor.outputs.nth(1).locator("summary")).to_contain_text("Stopped after")
        dropped = ("the input before it", "an earlier input")
        expect(note).to_have_text([f"Not run: {which} was interrupted." for which in dropped])

    def test_an_interrupt(self, editor: Editor) -> None:
        editor.write("while True: pass")
        editor.press("Control+Enter")
        expect(editor.outputs.locator("> .entry.running")).to_be_visible()
        editor.act("Interrupt")
        editor.expect_done(1)
        expect(editor.pane.get_by_role("button", name="Interrupt")).to_be_hidden()
        expect(editor.outputs).to_contain_text("KeyboardInterrupt")


BOXES = """() => {
  const boxOf = (element) => {
    const { left, right, top, bottom } = element.getBoundingClientRect();
    return { left, right, top, bottom, width: right - left };
  };
  const one = (selector) => boxOf(document.querySelector(selector));
  const hints = [...document.querySelectorAll(".keys")].flatMap((keys) => {
    const line = boxOf(keys);
    const shown = [...keys.children].map(boxOf).filter(({ top }) => top < line.bottom);
    return shown.map(({ right }) => line.right - right);
  });
  return {
    banner: one("#banner"), masthead: one(".masthead"), workplace: one(".workplace"),
    colophon: one(".colophon"), editor: one("#editor"), console: one("#console"),
    bar: one(".editor-bar"), foot: one(".editor-foot"), consoleFoot: one(".console-foot"),
    all: one(".editor-acts .primary"), run: one(".editor-acts .run"),
    close: one("[aria-label='Close the editor']"), interrupt: one("#interrupt"),
    facts: one(".tensor-facts"), views: one(".view-buttons"),
    save: one(".tensor-line .save-button"), hints,
    scrolls: document.documentElement.scrollWidth > document.documentElement.clientWidth,
  };
}"""


@pytest.mark.parametrize("width", [1280, 900, 390])
def test_the_layout(fresh_page: Callable[..., AppPage], width: int) -> None:
    page = fresh_page().page
    page.set_viewport_size({"width": width, "height": 800})
    editor = Editor(page).open()
    repl = Repl(page)
    repl.type("pt.zeros((4, 5, 3), dtype=pt.uint8)")
    expect(repl.last(".tensor-line")).to_be_visible()
    editor.write("import time\ntime.sleep(2)")
    editor.press("ArrowLeft")
    before = page.evaluate(BOXES)
    for edge in ("left", "right"):
        places = {before[name][edge] for name in ("banner", "masthead", "workplace", "colophon")}
        assert max(places) - min(places) < 0.5, edge
    editor.act("Run all")
    expect(page.locator("#interrupt")).to_be_visible()
    expect(editor.pane.get_by_role("button", name="Interrupt")).to_be_visible()
    running = page.evaluate(BOXES)
    editor.expect_done(1)
    editor.text.focus()
    editor.press("ControlOrMeta+a")
    expect(editor.pane.get_by_role("button", name="Run selection")).to_be_visible()
    selected = page.evaluate(BOXES)
    assert before["hints"] or width == 900  # where none has room beside the buttons
    for boxes in (before, running, selected):
        assert not boxes["scrolls"]
        assert all(room >= 0 for room in boxes["hints"])  # none is cut off
        assert boxes["close"]["top"] == boxes["all"]["top"]
        for name in ("bar", "foot"):
            height = boxes[name]["bottom"] - boxes[name]["top"]
            assert height == before[name]["bottom"] - before[name]["top"], name
        assert boxes["run"]["width"] == before["run"]["width"]
        if width > 390:
            assert boxes["foot"]["top"] == boxes["consoleFoot"]["top"]
    assert running["interrupt"]["right"] <= running["console"]["right"]
    save, others = before["save"], (before["facts"], before["views"])
    assert any(save["top"] < o["bottom"] and save["bottom"] > o["top"] for o in others)


@pytest.mark.parametrize("has_editor", [True, False])
def test_every_view_is_as_wide_as_the_masthead(
    fresh_page: Callable[..., AppPage], has_editor: bool
) -> None:
    page = fresh_page(viewport={"width": 1600, "height": 800}).page
    if has_editor:
        Editor(page).open()
    edges = """(selector) => {
        const { left, right } = document.querySelector(selector).getBoundingClientRect();
        return [left, right];
    }"""
    masthead = page.evaluate(edges, ".masthead")
    for tab in page.get_by_role("tab").all():
        tab.click()
        expect(tab).to_have_attribute("aria-selected", "true")
        for selector in (".masthead", "#banner", ".panel:not([hidden])", ".colophon"):
            found = page.evaluate(edges, selector)
            assert found == pytest.approx(masthead, abs=0.5), (tab.inner_text(), selector)


class TestSearch:
    def test_find_and_replace(self, editor: Editor) -> None:
        """Also in lines far from the view."""
        editor.write("x = 1\n" * 300 + "needle = 2")
        editor.press("Control+Home")
        needle = editor.text.locator(".cm-line", has_text="needle")
        expect(needle).to_have_count(0)
        editor.press("ControlOrMeta+f")
        field = editor.pane.get_by_role("textbox", name="Find")
        expect(field).to_be_focused()
        editor.page.keyboard.type("needle")
        editor.press("Enter")
        expect(needle).to_be_in_viewport()
        editor.pane.get_by_role("textbox", name="Replace").fill("pin")
        editor.pane.get_by_role("button", name="Replace all").click()
        expect(editor.text.locator(".cm-line", has_text="pin = 2")).to_be_visible()
        field.press("Escape")
        expect(field).to_have_count(0)
        expect(editor.text).to_be_focused()


def saved(page: Page, item: str) -> str:
    """What an item of the menu Share saves."""
    page.locator("#share summary").click()
    with page.expect_download() as download:
        page.get_by_role("button", name=item).click()
    return Path(download.value.path()).read_text("utf-8")


class TestSharing:
    """Links and exports contain the cells that ran, in the order of the session."""

    @pytest.fixture
    def editor(self, fresh_page: Callable[..., AppPage]) -> Editor:
        """With a session of its own."""
        return Editor(fresh_page().page).open()

    @staticmethod
    def link(page: Page, item: str) -> str:
        """The code in a copied link."""
        page.evaluate("""() => {
            const writeText = async (text) => { window.copied = text; };
            Object.defineProperty(navigator, "clipboard", { value: { writeText } });
        }""")
        page.locator("#share summary").click()
        page.get_by_role("button", name=item).click()
        expect(page.locator(".said")).to_contain_text("Link copied")
        packed = page.evaluate("window.copied").partition("#code=")[2]
        return zlib.decompress(base64.urlsafe_b64decode(packed + "=="), -15).decode()

    @staticmethod
    def inputs(page: Page) -> list[str]:
        cells = json.loads(saved(page, "Save as a notebook (.ipynb)"))["cells"]
        return ["".join(cell["source"]) for cell in cells]

    def test_an_input_that_depends_on_a_cell(self, editor: Editor) -> None:
        page, repl = editor.page, Repl(editor.page)
        magics = "%matplotlib inline\nw = y\n%timeit -n 1 [\n    w,\n\n]\nw = '''\n%d'''"
        editor.write(f"# %%\ny = 5\n\n# %%\n1 / 0\n\n# %%\n{magics}\n")
        editor.put("", after="y = 5")
        editor.press("Control+Enter")
        editor.expect_done(1)
        enter(repl, "z = y * 2; z")
        for after, count in (("1 / 0", 2), ("matplotlib", 3)):
            editor.put("", after=after)
            editor.press("Control+Enter")
            editor.expect_done(count)
        first, second, third = "# %%\ny = 5", "z = y * 2; z", f"# %%\n{magics}"
        script = saved(page, "Save as a script (.py)")
        last = re.sub(r"(?m)^(%matplotlib|%timeit|    w|\])", r"# \1", third)
        assert script == "\n\n".join(("import py_tensor as pt", first, second, last)) + "\n"
        expect(page.locator(".said")).to_contain_text("One input that failed or did not finish")
        names: dict[str, Any] = {}
        exec(script, names)
        assert (names["z"], names["w"]) == (10, "\n%d")
        notebook = json.loads(saved(page, "Save as a notebook (.ipynb)"))["cells"]
        sources = ["".join(cell["source"]) for cell in notebook]
        assert sources == ["import py_tensor as pt", first, second, "# %%\n1 / 0", third]
        assert notebook[2]["outputs"][0]["data"] == {"text/plain": ["10"]}
        assert notebook[3]["outputs"][0]["ename"] == "ZeroDivisionError"
        shared = self.link(page, "Copy a link to the session")
        shown = [">>> " + source.replace("\n", "\n... ") for source in (first, second, third)]
        assert shared == "\n".join(shown)

    def test_a_cell_that_ran_twice_keeps_its_place(self, editor: Editor) -> None:
        page, repl = editor.page, Repl(editor.page)
        editor.write("y = 5")
        editor.press("Control+Enter")
        editor.expect_done(1)
        enter(repl, "z = y * 2; z")
        editor.put(" + 1", after="y = 5")
        editor.press("Control+Enter")
        expect(editor.pane.locator(".editor-said")).to_contain_text("The program finished.")
        editor.expect_done(1)
        assert self.inputs(page)[1:] == ["y = 5 + 1", "z = y * 2; z"]
        assert self.link(page, "Copy a link to the last input that ran") == "y = 5 + 1"

    def test_cells_of_an_earlier_visit(self, visits: Visits) -> None:
        """Also with the editor closed and the inputs of the console cleared."""
        app = visits.open()
        page, repl = app.page, Repl(app.page)
        editor = Editor(page).open()
        plot = "y = 5\npt.plot(pt.ones(3), title='Of a cell')"
        editor.write(plot)
        editor.press("Control+Enter")
        editor.expect_done(1)
        enter(repl, "z = y * 2; z")
        repl.press("Control+l")
        expect(repl.entries).to_have_count(0)
        editor.act("Close the editor")
        visits.wait_until_ended(plot, "z = y * 2; z")
        page.wait_for_timeout(3000)  # it is stored as cleared by then
        visits.reload(app)
        expect(page.locator("#transcript .kept-note")).to_contain_text("1 cleared input")
        cells = json.loads(saved(page, "Save as a notebook (.ipynb)"))["cells"]
        assert ["".join(cell["source"]) for cell in cells[1:]] == [plot]
        (picture,) = cells[1]["outputs"]
        assert "Of a cell" in "".join(picture["data"]["image/svg+xml"])

    def test_without_storage(self, visits: Visits) -> None:
        refusal = "throw new DOMException('', 'SecurityError');"
        page = visits.open(script=f"IDBFactory.prototype.open = () => {{ {refusal} }};").page
        editor = Editor(page).open()
        editor.write("y = 5")
        editor.press("Control+Enter")
        editor.expect_done(1)
        assert self.inputs(page)[1:] == ["y = 5"]


class TestFocus:
    def test_after_an_answer(self, editor: Editor) -> None:
        editor.write("# %%\nname = input('Who? ')\nname.upper()")
        editor.put("", after="input")
        editor.press("Control+Enter")
        field = editor.outputs.locator("input")
        expect(field).to_be_focused()
        editor.page.keyboard.type("ada")
        editor.press("Enter")
        editor.expect_done(1)
        expect(editor.text).to_be_focused()
        editor.page.keyboard.insert_text("  # here")
        expect(editor.text).to_contain_text("name = input('Who? ')  # here")

    def test_it_stays_where_the_user_put_it_while_the_editor_loads(
        self, fresh_page: Callable[..., AppPage]
    ) -> None:
        held: list[Route] = []
        page = fresh_page(
            first_visit=True, routes={"**/editor.css": lambda route: held.append(route)}
        ).page
        editor = Editor(page)
        editor.button.click()
        repl = Repl(page)
        repl.input.focus()
        page.keyboard.insert_text("1 +")
        wait_for(lambda: bool(held), page)
        held[0].continue_()
        expect(editor.text).to_be_visible()
        page.keyboard.insert_text(" 1")
        repl.expect_text("1 + 1")
        expect(editor.text).to_contain_text("# %%")

    def test_it_stays_where_the_user_put_it_while_a_program_is_added(
        self, fresh_page: Callable[..., AppPage]
    ) -> None:
        held: list[Route] = []
        routes = {"**/editor.css": lambda route: held.append(route)}
        page = fresh_page(first_visit=True, routes=routes, path="#gallery/life").page
        page.get_by_role("button", name="Open in the editor").click()
        repl = Repl(page)
        repl.input.focus()
        wait_for(lambda: bool(held), page)
        held[0].continue_()
        editor = Editor(page)
        expect(editor.text).to_be_visible()
        editor.expect_files("life.py", "main.py")
        expect(editor.pane.locator(".editor-tab[aria-current]")).to_have_text("life.py")
        page.keyboard.insert_text("1 + 1")
        repl.expect_text("1 + 1")

    def test_a_question_does_not_take_it_from_another_field(self, editor: Editor) -> None:
        repl = Repl(editor.page)
        repl.type("import asyncio; await asyncio.sleep(2); input('Who? ')")
        editor.text.focus()
        field = editor.page.locator("#transcript .entry").last.locator("input")
        assert not field.is_visible()  # the focus moved before the question
        expect(field).to_be_visible()
        expect(editor.text).to_be_focused()
        field.fill("ada")
        field.press("Enter")
        expect(repl.last(".result")).to_have_text("'ada'")
        expect(repl.input).to_be_focused()

    def test_the_questions_of_two_cells_take_it(self, editor: Editor) -> None:
        editor.write("# %%\nprint(input('One? '))\n\n# %%\nprint(input('Two? '))\n")
        editor.act("Run all")
        for i, name in enumerate(("ada", "bob")):
            expect(editor.outputs.nth(i).locator("input")).to_be_focused()
            editor.page.keyboard.type(name)
            editor.press("Enter")
        editor.expect_done(2)
        expect(editor.outputs.nth(1)).to_contain_text("bob")

    def test_in_the_file_tree(self, editor: Editor) -> None:
        page = editor.page
        drop(page, a__txt=b"", b__txt=b"", c__txt=b"")
        editor.expect_files("a.txt", "b.txt", "c.txt", "main.py")

        def press(verb: str, name: str) -> None:
            button = editor.pane.get_by_role("button", name=f"{verb} {name}", exact=True)
            button.focus()
            editor.press("Enter")

        def expect_focus(name: str) -> None:
            focused = editor.page.locator(":is(.file-name, .editor-bar summary):focus")
            expect(focused).to_have_text(name)

        press("Rename", "b.txt")
        page.keyboard.type("z")
        editor.press("Enter")
        editor.expect_files("a.txt", "c.txt", "main.py", "z.txt")
        expect_focus("z.txt")
        press("Rename", "c.txt")
        editor.press("Escape")
        expect_focus("c.txt")
        press("Delete", "c.txt")
        editor.expect_files("a.txt", "main.py", "z.txt")
        expect_focus("main.py")
        press("Delete", "z.txt")
        editor.expect_files("a.txt", "main.py")
        expect_focus("main.py")
        editor.pane.get_by_role("button", name="Undo").last.focus()
        editor.press("Enter")
        editor.expect_files("a.txt", "main.py", "z.txt")
        expect_focus("z.txt")
        press("Delete", "main.py")
        expect_focus("z.txt")
        press("Delete", "z.txt")
        expect_focus("a.txt")
        press("Delete", "a.txt")
        editor.expect_files()
        expect_focus("New")

    def test_an_undo_button_with_the_focus_stays(self, fresh_page: Callable[..., AppPage]) -> None:
        page = fresh_page().page
        editor = Editor(page).open()
        page.clock.install()
        editor.act("Delete main.py")
        undo = editor.pane.get_by_role("button", name="Undo")
        expect(undo).to_be_visible()  # a jump of the clock would end the wait for storage
        page.clock.run_for(15_000)
        expect(undo).to_be_visible()
        undo.focus()
        page.clock.run_for(30_000)
        expect(undo).to_be_focused()
        editor.pane.locator("summary", has_text="New").focus()
        page.clock.run_for(7_000)
        expect(undo).to_have_count(0)


class TestDivider:
    def test_the_pointer_moves_it(self, editor: Editor) -> None:
        page = editor.page
        divider = page.get_by_role("separator", name="Width of the editor")
        usual = width_of(page.locator("#editor"))
        at = divider.bounding_box()
        assert at
        x, y = at["x"] + at["width"] / 2, at["y"] + at["height"] / 2
        page.mouse.move(x, y)
        page.mouse.down()
        page.mouse.move(x - 150, y, steps=3)
        page.mouse.up()
        assert width_of(page.locator("#editor")) == pytest.approx(usual - 150, abs=1)
        both = width_of(page.locator(".workplace")) - at["width"]
        percent = round(100 * (usual - 150) / both)
        expect(divider).to_have_attribute("aria-valuenow", str(percent))
        page.mouse.move(x, y)  # it no longer drags it
        assert width_of(page.locator("#editor")) == pytest.approx(usual - 150, abs=1)
        divider.dblclick()
        assert width_of(page.locator("#editor")) == pytest.approx(usual, abs=1)

    def test_the_keyboard_moves_it_within_bounds(self, editor: Editor) -> None:
        divider = editor.page.get_by_role("separator", name="Width of the editor")
        divider.focus()
        before = width_of(editor.pane)
        now = int(divider.get_attribute("aria-valuenow") or "")
        editor.press("ArrowLeft")
        expect(divider).to_have_attribute("aria-valuenow", str(now - 2))
        assert width_of(editor.pane) < before
        editor.press("ArrowRight")
        expect(divider).to_have_attribute("aria-valuenow", str(now))
        for key, bound in (("Home", "aria-valuemin"), ("End", "aria-valuemax")):
            editor.press(key)
            editor.press("ArrowLeft" if key == "Home" else "ArrowRight")
            limit = divider.get_attribute(bound)
            assert limit
            expect(divider).to_have_attribute("aria-valuenow", limit)
        editor.press("Enter")
        expect(divider).to_have_attribute("aria-valuenow", str(now))
        expect(divider).to_be_focused()

    def test_it_stays_where_it_was_put(self, visits: Visits) -> None:
        app = visits.open()
        editor = Editor(app.page).open()
        divider = app.page.get_by_role("separator", name="Width of the editor")
        divider.press("Home")
        width = width_of(editor.pane)
        visits.reload(app)
        expect(divider).to_have_attribute("aria-valuenow", "30")
        assert width_of(editor.pane) == pytest.approx(width, abs=1)
        editor.button.click()
        expect(divider).to_be_hidden()
        editor.button.click()
        expect(divider).to_be_visible()
        app.page.set_viewport_size({"width": 390, "height": 800})
        expect(divider).to_be_hidden()
        assert width_of(editor.pane) == pytest.approx(width_of(app.page.locator("#console")), abs=1)


@pytest.mark.parametrize(("size", "scheme"), LOOKS)
def test_axe_finds_nothing(fresh_page: Callable[..., AppPage], size: str, scheme: Any) -> None:
    page = fresh_page().page
    width, height = SIZES[size]
    page.set_viewport_size({"width": width, "height": height})
    page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
    editor = Editor(page).open()
    editor.write("# %%\nprint('shown')\n\n# %%\n1 / 0\n")
    editor.act("Run all")
    editor.expect_done(2)
    editor.text.focus()
    editor.press("ControlOrMeta+f")
    page.keyboard.type("shown")
    editor.press("Enter")
    expect(editor.pane.locator(".cm-searchMatch-selected")).to_be_visible()
    page.evaluate(AXE.read_text("utf-8"))

    def audit() -> None:
        violations = page.evaluate(AUDIT)
        assert [v for v in violations if v["impact"] in ("serious", "critical")] == []
        assert page.evaluate("() => document.documentElement.scrollWidth") <= width

    audit()
    picture = base64.b64encode(png(np.full((5, 7, 4), 255, np.uint8))).decode()
    error = {"output_type": "error", "traceback": ["E: e"]}
    drop(page, book__ipynb=notebook(("1", [shows(image__png=picture), error])))
    editor.expect_done(1)
    audit()


def test_the_keyboard_leaves_the_text(editor: Editor) -> None:
    editor.text.focus()
    editor.press("Tab")
    expect(editor.text).to_be_focused()
    editor.press("Escape")
    editor.press("Tab")
    expect(editor.text).not_to_be_focused()


class TestMessages:
    def test_a_run_ends_the_message_of_the_one_before(self, editor: Editor) -> None:
        messages = editor.pane.locator(".editor-said")
        editor.write("1 + 1")
        editor.press("Control+Enter")
        expect(messages).to_contain_text("The program finished.")
        editor.write("input('name? ')")
        editor.press("Control+Enter")
        field = editor.outputs.locator(".printed input")
        expect(field).to_be_visible()
        expect(messages).to_have_text("")
        field.press("Enter")
        expect(messages).to_contain_text("The program finished.")

    def test_a_rename_ends_the_message_of_the_one_before(self, editor: Editor) -> None:
        rename = editor.pane.get_by_role("textbox", name="New name of main.py")
        for name in ("../x.py", "x.py"):
            editor.act("Rename main.py")
            rename.fill(name)
            rename.press("Enter")
            if name == "../x.py":
                refusal = "../x.py is not a valid file name."
                expect(editor.pane.locator(".editor-said")).to_have_text(refusal)
        editor.expect_files("x.py")
        expect(editor.pane.locator(".editor-said")).to_have_text("")

    def test_a_notebook_that_is_none(self, editor: Editor) -> None:
        drop(editor.page, bad__ipynb=b'{"cells": 7}')
        offered = editor.page.locator("#offered")
        expect(offered).to_contain_text("bad.ipynb is not a valid notebook, or")
        repl = Repl(editor.page)
        repl.expect_text('open("bad.ipynb", "rb").read()')
        repl.input.fill("")

    def test_help_names_its_place(self, editor: Editor) -> None:
        editor.write("pt.sum?")
        editor.press("Control+Enter")
        shown = editor.outputs.locator(".note")
        expect(shown).to_have_text("Help on pt.sum is open in the console. Close it with Esc.")
        panel = editor.page.get_by_role("region", name="Help on pt.sum")
        expect(panel).to_be_visible()
        Repl(editor.page).input.press("Escape")
        expect(panel).to_be_hidden()

    def test_messages_do_not_end_an_offer_to_undo(self, editor: Editor) -> None:
        drop(editor.page, a__txt=b"a", b__txt=b"b")
        editor.expect_files("a.txt", "b.txt", "main.py")
        editor.act("Delete a.txt")
        editor.act("Delete b.txt")
        editor.expect_files("main.py")
        editor.text.focus()
        editor.press("ControlOrMeta+s")
        messages = editor.pane.locator(".editor-said")
        for words in ("Saved in this browser.", "Deleted a.txt.", "Deleted b.txt."):
            expect(messages).to_contain_text(words)
        undo = messages.get_by_role("button", name="Undo")
        expect(undo).to_have_count(2)
        undo.first.click()
        editor.expect_files("a.txt", "main.py")
        expect(messages).not_to_contain_text("Deleted a.txt.")
        expect(messages).to_contain_text("Deleted b.txt.")
        undo.click()
        editor.expect_files("a.txt", "b.txt", "main.py")
        expect(undo).to_have_count(0)

    def test_a_failure_is_shown_until_the_next_edit_or_run(
        self, fresh_page: Callable[..., AppPage]
    ) -> None:
        editor = Editor(fresh_page().page).open()
        editor.page.clock.install()
        editor.write("# %%\n1 / 0\n\n# %%\n'works'\n")
        editor.put("", after="/ 0")
        failed = editor.pane.get_by_role("button", name="Cell 1 failed.")
        for act in (
            lambda: editor.page.keyboard.insert_text("  # edited"),
            lambda: (editor.put("", after="works"), editor.press("Control+Enter")),
        ):
            editor.press("Control+Enter")
            expect(failed).to_be_visible()
            editor.page.clock.run_for(60_000)
            editor.press("ControlOrMeta+s")
            expect(editor.pane.locator(".editor-said")).to_contain_text("aved in this browser")
            expect(failed).to_be_visible()
            act()
            expect(failed).to_have_count(0)
        expect(editor.pane.locator(".editor-said")).to_contain_text("Cell 2 finished.")
