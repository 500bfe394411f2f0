"""The editor beside the console: files, tabs, cells with their output below them."""

from __future__ import annotations

import base64
import json
import re
import struct
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.app import AppPage
from tests.browser.editor import Editor, drop, wait_for
from tests.browser.repl import Repl
from tests.browser.test_accessibility import AUDIT, AXE, SIZES
from tests.browser.test_sessions import Visits, enter

CLICK_AT_ONCE = """
  const observer = new MutationObserver(() => {
    const button = document.querySelector("#editor-button");
    if (!button) return;
    observer.disconnect();
    button.click();
  });
  observer.observe(document, { childList: true, subtree: true });
"""


IS_OPEN = """async (store, of) => {
  const sessions = await of(store.getAll(IDBKeyRange.bound(["about"], ["about", []])));
  return sessions.map(({ editor }) => editor.isOpen);
}"""
PATHS = """async (store, of) => {
  const records = await of(store.getAll(IDBKeyRange.bound(["input"], ["input", []])));
  return records.map(({ cell }) => cell.path);
}"""

FULL = """
  const put = IDBObjectStore.prototype.put;
  IDBObjectStore.prototype.put = function (...args) {
    if (window.isFull) throw new DOMException("full", "QuotaExceededError");
    return put.apply(this, args);
  };
"""

TYPE_AND_CLICK = """async ([text, name]) => {
  const { EditorView } = await import("./page/vendor/codemirror.js");
  const root = document.querySelector(".code-editor:not([hidden])").shadowRoot;
  const view = EditorView.findFromDOM(root.querySelector(".cm-content"));
  view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: text } });
  const buttons = [...document.querySelectorAll("button")];
  buttons.find(({ textContent }) => textContent.trim() === name).click();
}"""
"""Replaces the text and presses a button at once, before the text is saved automatically."""

TYPE_UNTIL_CLOSED = """async (name) => {
  const { EditorView } = await import("./page/vendor/codemirror.js");
  const root = document.querySelector(".code-editor:not([hidden])").shadowRoot;
  const view = EditorView.findFromDOM(root.querySelector(".cm-content"));
  const type = () => {
    if (!view.dom.isConnected) return clearInterval(timer);
    window.typed = `'typed at ${performance.now()}'`;
    view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: window.typed } });
  };
  const timer = setInterval(type, 1);
  type();
  const buttons = [...document.querySelectorAll("button")];
  buttons.find(({ textContent }) => textContent.trim() === name).click();
}"""

DELETE_AND_LEAVE = """() => {
  document.querySelector("[aria-label='Delete main.py']").click();
  const rows = [...document.querySelectorAll(".session-row")];
  rows.find(({ textContent }) => textContent.includes("Session 1")).click();
}"""

STORED_OUTPUTS = """async (store, of) => {
  const keys = await of(store.getAllKeys(IDBKeyRange.bound(["file"], ["file", []])));
  const bytes = await of(store.get(keys.find(([, , path]) => path === "book.ipynb")));
  const { cells } = JSON.parse(new TextDecoder().decode(bytes));
  return cells.map(({ outputs }) => outputs.length);
}"""


DAMAGE_TABS = """async (store, of) => {
  const [about] = await of(store.getAll(IDBKeyRange.bound(["about"], ["about", []])));
  await of(store.put({ ...about, editor: { ...about.editor, tabs: 7 } }, ["about", about.id]));
}"""


def width_of(locator: Locator) -> float:
    box = locator.bounding_box()
    assert box
    return box["width"]


def png(rgba: Any) -> bytes:
    """Return a file of 8-bit pixels, (height, width, 4)."""
    height, width, _ = rgba.shape

    def chunk(kind: bytes, data: bytes) -> bytes:
        checked = kind + data
        return struct.pack(">I", len(data)) + checked + struct.pack(">I", zlib.crc32(checked))

    rows = b"".join(b"\0" + row.tobytes() for row in rgba)
    header = struct.pack(">IIBBBBB", width, height, 8, 6, 0, 0, 0)
    parts = [(b"IHDR", header), (b"IDAT", zlib.compress(rows)), (b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunk(*part) for part in parts)


def test_a_first_visit_has_the_button_alone(app: AppPage) -> None:
    expect(app.page.locator("#editor")).to_be_hidden()
    assert app.page.locator("#editor > *").count() == 0
    button = app.page.locator("#editor-button")
    expect(button).to_have_attribute("aria-expanded", "false")


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
        expect(link).to_be_visible(timeout=30_000)
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
        drop(editor.page, other__py=b"import time\ntime.sleep(1)\n")
        editor.act("Run all")
        expect(said).to_have_text("")
        tab.filter(has_text="book.ipynb").click()
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
        page.wait_for_timeout(1000)  # it is stored as cleared by then
        visits.reload(app)
        expect(page.locator("#transcript .kept-note")).to_contain_text("1 cleared input")
        cells = json.loads(saved(page, "Save as a notebook (.ipynb)"))["cells"]
        assert ["".join(cell["source"]) for cell in cells[1:]] == [plot, "z = y * 2; z"]
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


class TestFiles:
    def test_python_reads_what_is_dropped(self, fresh_page: Callable[..., AppPage]) -> None:
        app = fresh_page()
        editor = Editor(app.page)
        app.run("import numpy as np, io; f = io.BytesIO(); np.save(f, np.arange(3))")
        npy = base64.b64decode(
            app.run("import base64; base64.b64encode(f.getvalue()).decode()")["result"]
        )
        drop(app.page, data__csv=b"1,2\n3,4\n", a__npy=npy, prog__py=b"6 * 7\n")
        editor.expect_files("a.npy", "data.csv", "main.py", "prog.py")
        editor.expect_tabs("main.py", "prog.py")
        assert app.run("pt.load('a.npy').tolist()")["result"] == "[0, 1, 2]"
        assert app.run("np.load('a.npy').tolist()")["result"] == "[0, 1, 2]"
        assert app.run("open('data.csv').read()")["result"] == r"'1,2\n3,4\n'"
        editor.text.focus()
        editor.press("Control+Enter")
        expect(editor.outputs).to_contain_text("42", timeout=30_000)
        editor.pane.get_by_role("button", name="a.npy", exact=True).click()
        Repl(app.page).expect_text('pt.load("a.npy")')

    def test_nothing_is_open(self, editor: Editor) -> None:
        hint = editor.pane.get_by_text("No program is open.")
        expect(hint).to_be_hidden()
        editor.act("Delete main.py")
        expect(hint).to_be_visible()
        drop(editor.page, a__npy=b"\x93NUMPY")
        editor.expect_files("a.npy")
        expect(hint).to_be_visible()
        editor.create()
        expect(hint).to_be_hidden()

    def test_pictures_are_read(self, fresh_page: Callable[..., AppPage]) -> None:
        app = fresh_page()
        rgba = np.random.default_rng(0).integers(0, 256, (5, 7, 4), np.uint8)
        rgba[..., 3] = 255
        rgba[0, 0] = 0  # transparent
        drop(app.page, cat__png=png(rgba), bad__png=b"no picture")
        Editor(app.page).expect_files("bad.png", "cat.png", "main.py")
        read = app.run("x = pt.imread('cat.png', 'RGBA'); x.shape, str(x.dtype), x.tolist()")
        assert eval(read["result"]) == ((5, 7, 4), "uint8", rgba.tolist())
        read = app.run(
            "x = pt.imread(open('cat.png', 'rb'), device='cpu'); str(x.device), x.tolist()"
        )
        assert eval(read["result"]) == ("cpu", rgba[..., :3].tolist())
        app.page.evaluate(
            """async () => {
              const canvas = new OffscreenCanvas(16, 8);
              const context = canvas.getContext("2d");
              context.fillStyle = "rgb(200 100 50)";
              context.fillRect(0, 0, 16, 8);
              const blob = await canvas.convertToBlob({ type: "image/jpeg", quality: 1 });
              const dataTransfer = new DataTransfer();
              dataTransfer.items.add(new File([blob], "flat.jpg"));
              const options = { dataTransfer, bubbles: true, cancelable: true };
              document.querySelector("#screen").dispatchEvent(new DragEvent("drop", options));
            }"""
        )
        Editor(app.page).expect_files("bad.png", "cat.png", "flat.jpg", "main.py")
        read = app.run("x = pt.imread('flat.jpg'); x.shape, x[4, 8].tolist()")
        shape, colour = eval(read["result"])
        assert shape == (8, 16, 3)
        assert np.abs(np.subtract(colour, (200, 100, 50))).max() <= 2  # JPEG is lossy
        error = app.run("pt.imread('bad.png')")["error"]
        assert error.endswith("ValueError: imread: the browser cannot decode this as an image")

    def test_a_folder_comes_with_what_is_in_it(self, app: AppPage) -> None:
        found = app.page.evaluate(
            """async () => {
              const { droppedFiles } = await import("./sources/page/editor/dropped.js");
              const file = (name) => ({
                name, isFile: true, file: (done) => done(new File(["1"], name)),
              });
              const folder = (name, ...parts) => ({
                name, isDirectory: true,
                createReader: () => ({ readEntries: (done) => done(parts.splice(0, 2)) }),
              });
              const inner = [folder("in", file("d")), folder(".git", file("e"))];
              const dropped = folder("data", file("a"), file("b"), file("c"), ...inner);
              const items = [dropped, file("f")].map((entry) => ({
                webkitGetAsEntry: () => entry,
              }));
              return (await droppedFiles({ items, files: [] })).map(({ path }) => path);
            }"""
        )
        assert found == ["data/a", "data/b", "data/c", "data/in/d", "f"]

    def test_a_button_opens_files(self, editor: Editor, tmp_path: Path) -> None:
        (tmp_path / "notes.txt").write_text("some words")
        with editor.page.expect_file_chooser() as chooser:
            editor.act("Open…")
        chooser.value.set_files(tmp_path / "notes.txt")
        editor.expect_files("main.py", "notes.txt")
        editor.pane.get_by_role("button", name="notes.txt", exact=True).click()
        expect(editor.text).to_have_text("some words")

    def test_what_is_typed_is_there_for_python_and_the_other_way_round(
        self, fresh_page: Callable[..., AppPage]
    ) -> None:
        app = fresh_page()
        editor = Editor(app.page).open()
        editor.write("def double(x):\n    return 2 * x\n")
        editor.press("ControlOrMeta+s")
        assert app.run("from main import double; double(21)")["result"] == "42"
        app.run("open('main.py', 'a').write('# by Python\\n')")
        expect(editor.text).to_contain_text("# by Python")
        app.run("import os; os.makedirs('out'); open('out/a.txt', 'w').write('1')")
        expect(editor.pane.locator(".files summary")).to_have_text("out/")
        expect(editor.pane.locator(".file-name", has_text="a.txt")).to_be_visible()

    def test_new_rename_delete_undo(self, fresh_page: Callable[..., AppPage]) -> None:
        app = fresh_page()
        editor = Editor(app.page).open()
        editor.create()
        editor.expect_tabs("main.py", "program.py")
        editor.write("'renamed'")
        row = editor.pane.locator(".file", has_text="program.py")
        row.hover()
        row.get_by_role("button", name="Rename").click()
        editor.page.keyboard.type("other")
        editor.press("Enter")
        editor.expect_files("main.py", "other.py")
        editor.expect_tabs("main.py", "other.py")
        assert app.run("open('other.py').read()")["result"] == "\"'renamed'\""
        row = editor.pane.locator(".file", has_text="other.py")
        row.hover()
        row.get_by_role("button", name="Delete").click()
        editor.expect_files("main.py")
        editor.expect_tabs("main.py")
        assert app.run("import os; os.path.exists('other.py')")["result"] == "False"
        editor.act("Undo")
        editor.expect_tabs("main.py", "other.py")
        assert app.run("os.path.exists('other.py')")["result"] == "True"

    def test_undo_of_a_deletion_keeps_a_new_file_of_the_same_name(
        self, fresh_page: Callable[..., AppPage]
    ) -> None:
        app = fresh_page()
        editor = Editor(app.page).open()
        editor.write("'old'\n")
        editor.create()
        editor.expect_files("main.py", "program.py")
        editor.write("'first'\n")
        editor.act("Delete program.py")
        editor.expect_files("main.py")
        editor.create()
        editor.write("'second'\n")
        app.page.wait_for_timeout(1000)  # the text is stored 0.3 s after the last key
        editor.act("Undo")
        editor.expect_files("main.py", "program.py", "program_2.py")
        read = "[open(name).read() for name in ('program.py', 'program_2.py')]"
        expected = repr(["'second'\n", "'first'\n"])
        assert app.run(read)["result"] == expected

    def test_a_file_is_downloaded_as_it_is(self, editor: Editor, tmp_path: Path) -> None:
        editor.write("x = 'ä'\n")
        row = editor.pane.locator(".file")
        row.hover()
        with editor.page.expect_download() as download:
            row.get_by_role("button", name="Download").click()
        assert download.value.suggested_filename == "main.py"
        download.value.save_as(tmp_path / "got.py")
        assert (tmp_path / "got.py").read_text("utf-8") == "x = 'ä'\n"

    def test_a_notebook_is_a_program_and_stays_a_notebook(
        self, fresh_page: Callable[..., AppPage]
    ) -> None:
        notebook: dict[str, Any] = {
            "cells": [
                {"cell_type": "markdown", "metadata": {}, "source": ["# Title\n", "words"]},
                {"cell_type": "code", "metadata": {}, "source": "z = 3\nz * 2", "outputs": []},
                {
                    "cell_type": "code",
                    "id": "k",
                    "metadata": {},
                    "source": "'kept'",
                    "outputs": [1],
                },
            ],
            "metadata": {"mine": 1},
            "nbformat": 4,
            "nbformat_minor": 5,
        }
        app = fresh_page()
        editor = Editor(app.page)
        drop(app.page, book__ipynb=json.dumps(notebook).encode())
        expect(editor.text).to_contain_text("# # Title")
        expect(editor.pane.locator(".editor-said")).to_have_text(
            "Added book.ipynb. Markdown is shown as comments, not rendered."
        )
        editor.put(" + 1", after="z * 2")
        editor.act("Run all")
        editor.expect_done(2)
        expect(editor.outputs.first).to_contain_text("7")
        again = json.loads(eval(app.run("open('book.ipynb').read()")["result"]))
        sources = [(cell["cell_type"], "".join(cell["source"])) for cell in again["cells"]]
        assert sources[:2] == [("markdown", "# Title\nwords"), ("code", "z = 3\nz * 2 + 1")]
        assert again["cells"][2]["outputs"] == [1]  # it is unchanged
        assert again["metadata"]["mine"] == 1

        typed = "# %% A loop\nfor i in range(3):\n    "
        editor.write(typed)
        app.page.wait_for_timeout(1000)  # until it is saved
        shown = editor.text.locator(".cm-line").all_inner_texts()
        assert [line.strip("\n") for line in shown] == typed.split("\n")
        again = json.loads(eval(app.run("open('book.ipynb').read()")["result"]))
        assert again["cells"][0]["metadata"] == {"title": "A loop"}

    def test_a_file_that_is_too_large_is_for_python_alone(
        self, fresh_page: Callable[..., AppPage]
    ) -> None:
        app = fresh_page()
        editor = Editor(app.page).open()
        app.page.evaluate(
            """() => {
              const dataTransfer = new DataTransfer();
              dataTransfer.items.add(new File([new Uint8Array(33 * 2 ** 20)], "big.bin"));
              const options = { dataTransfer, bubbles: true, cancelable: true };
              document.querySelector("#screen").dispatchEvent(new DragEvent("drop", options));
            }"""
        )
        expect(editor.pane.locator(".file", has_text="big.bin")).to_contain_text("not saved")
        expect(app.page.locator("#transcript")).to_contain_text("Not saved: big.bin")
        assert app.run("import os; os.path.getsize('big.bin') >> 20")["result"] == "33"
        app.run("open('small.txt', 'w').write('kept')")
        expect(editor.pane.locator(".file", has_text="small.txt")).not_to_contain_text("not saved")


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


def notebook(*cells: tuple[str, list[Any]]) -> bytes:
    """A notebook of code cells with outputs, in a form that the page itself does not write."""
    made = [
        {"outputs": outputs, "cell_type": "code", "source": source, "metadata": {"mine": i}}
        for i, (source, outputs) in enumerate(cells)
    ]
    whole = {"nbformat": 4, "nbformat_minor": 4, "metadata": {}, "cells": made}
    return json.dumps(whole, indent=3).encode()


def downloaded(editor: Editor, name: str, folder: Path) -> bytes:
    row = editor.pane.locator(".file", has_text=name)
    row.hover()
    with editor.page.expect_download() as download:
        row.get_by_role("button", name="Download").click()
    download.value.save_as(folder / name)
    return (folder / name).read_bytes()


def cells_of(editor: Editor, folder: Path) -> list[dict[str, Any]]:
    """Return the cells of the downloaded notebook."""
    return json.loads(downloaded(editor, "book.ipynb", folder))["cells"]


def shows(**mimes: str | list[str]) -> dict[str, Any]:
    data = {name.replace("__", "/").replace("_xml", "+xml"): text for name, text in mimes.items()}
    return {"output_type": "display_data", "metadata": {}, "data": data}


class TestOutputsOfANotebook:
    @pytest.fixture
    def cells(self, editor: Editor) -> list[tuple[str, list[Any]]]:
        jpeg = editor.page.evaluate(
            """async () => {
              const canvas = new OffscreenCanvas(16, 8);
              canvas.getContext("2d").fillRect(0, 0, 16, 8);
              const blob = await canvas.convertToBlob({ type: "image/jpeg" });
              return btoa(String.fromCharCode(...new Uint8Array(await blob.arrayBuffer())));
            }"""
        )
        picture = base64.encodebytes(png(np.full((5, 7, 4), 255, np.uint8))).decode()
        svg = (
            '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9" onload="window.ran = 1">'
            "<script>window.ran = 1</script></svg>"
        )
        html = '<b id="theirs">bold</b><img src="x" onerror="window.ran = 1">'
        traceback = ["\x1b[0;31mZeroDivisionError\x1b[0m", "by \x1b[1mzero\x1b[0m"]
        return [
            (
                "x = 1\nx",
                [
                    {"output_type": "stream", "name": "stdout", "text": ["one\n", "two\n"]},
                    {"output_type": "stream", "name": "stderr", "text": "\x1b[31mthree\x1b[0m\n"},
                    {"output_type": "execute_result", "data": {"text/plain": ["1"]}},
                ],
            ),
            ("# %% within\n'none'", []),
            (
                "pictures",
                [
                    shows(image__png=picture, text__html=html, text__plain="<a figure>"),
                    shows(image__jpeg=jpeg),
                    shows(image__svg_xml=svg),
                ],
            ),
            (
                "\n\nfails",
                [
                    {"output_type": "error", "traceback": traceback, "ename": "", "evalue": ""},
                    shows(text__html=html, text__plain="<b>as text</b>"),
                ],
            ),
            ("html", [shows(text__html=html)]),
            ("junk", [1, None, {"output_type": "stream"}, {"output_type": "display_data"}]),
        ]

    def test_safe_kinds_are_shown(self, editor: Editor, cells: list[tuple[str, list[Any]]]) -> None:
        drop(editor.page, book__ipynb=notebook(*cells))
        editor.expect_tabs("main.py", "book.ipynb")
        editor.expect_done(4)
        expect(editor.outputs.locator("> .note")).to_have_text(["From the file"] * 4)
        assert editor.lines[:4] == ["# %%", "x = 1", "x", "= one\ntwo\nthree,1"]
        expect(editor.outputs.first.locator(".stderr.colour-1")).to_have_text("three")
        for i, alt in enumerate(["<a figure>", "Picture", "Picture"]):
            image = editor.outputs.nth(1).locator("img").nth(i)
            expect(image).to_have_attribute("alt", alt)
            editor.page.wait_for_function("(image) => image.complete", arg=image.element_handle())
            width = image.evaluate("(image) => image.naturalWidth")
            assert width == [7, 16, 9][i]
        failed = editor.outputs.nth(2)
        expect(failed.locator(".error")).to_have_text("ZeroDivisionError\nby zero")
        expect(failed.locator("pre.result")).to_have_text("<b>as text</b>")
        expect(editor.outputs.nth(3)).to_contain_text("Not shown: output of type text/html.")
        assert editor.page.locator("#theirs").count() == 0
        assert editor.page.evaluate("window.ran") is None

    def test_they_stay_in_the_file_where_cells_do_not_run(
        self, editor: Editor, cells: list[tuple[str, list[Any]]], tmp_path: Path
    ) -> None:
        content = notebook(*cells)
        drop(editor.page, book__ipynb=content)
        editor.expect_done(4)
        assert downloaded(editor, "book.ipynb", tmp_path) == content
        before = json.loads(content)["cells"]
        editor.put("", after="x = 1")
        editor.press("Control+Enter")
        expect(editor.outputs.filter(has_text="From the file")).to_have_count(3)
        editor.expect_done(4)
        assert editor.lines[:4] == ["# %%", "x = 1", "x", "= 1"]
        found = cells_of(editor, tmp_path)
        result = {"data": {"text/plain": ["1"]}, "execution_count": 1, "metadata": {}}
        ran = [result | {"output_type": "execute_result"}]
        assert found == [before[0] | {"outputs": ran, "execution_count": 1}, *before[1:]]
        editor.put("0", after="x = 1")
        found = cells_of(editor, tmp_path)
        assert found[0]["source"] == "x = 10\nx"
        assert found[0]["outputs"] == ran  # as it is shown
        assert found[1:] == before[1:]
        editor.put("", after="fails")
        editor.press("Shift+Home")
        editor.page.keyboard.insert_text("anew")
        found = cells_of(editor, tmp_path)
        assert found[3]["source"] == "anew"
        expect(editor.outputs.filter(has_text="by zero")).to_have_count(1)
        assert found[3]["outputs"] == before[3]["outputs"]  # as it is shown

    def test_what_ran_is_in_the_file(self, editor: Editor, tmp_path: Path) -> None:
        """Everything else is unchanged, byte for byte."""
        said = [{"name": "stdout", "output_type": "stream", "text": ["old\n"]}]
        sources = [
            "import sys\nprint('out')\nprint('err', file=sys.stderr)\n6 * 7",
            "pt.display(pt.rand(4, 4))",
            "pt.plot(pt.arange(3))",
            "1 / 0",
            "'never'",
        ]
        made: list[dict[str, Any]] = [
            {
                "cell_type": "code",
                "execution_count": 1,
                "id": f"mine-{i}",
                "metadata": {"a": 1.0},
                "outputs": said,
                "source": source.splitlines(keepends=True),
            }
            for i, source in enumerate(sources)
        ]
        made.insert(
            1, {"cell_type": "markdown", "id": "text", "metadata": {}, "source": ["# Title"]}
        )
        whole = {
            "cells": made,
            "metadata": {"theirs": {"b": [1e20, "\u00e4"]}},
            "nbformat": 4,
            "nbformat_minor": 5,
            "unknown": None,
        }
        for ascii_only in (True, False):
            content = json.dumps(whole, indent=1, ensure_ascii=ascii_only) + "\n"
            drop(editor.page, book__ipynb=content.encode())
            expect(editor.outputs.filter(has_text="From the file")).to_have_count(5)
            editor.act("Run all")
            expect(editor.outputs.filter(has_text="Not run")).to_have_count(1, timeout=30_000)
            editor.expect_done(5)
            text = downloaded(editor, "book.ipynb", tmp_path).decode()
            found = json.loads(text)
            first, _, image, plot, failed, skipped = found["cells"]
            assert first["outputs"] == [
                {"output_type": "stream", "name": "stdout", "text": ["out\n"]},
                {"output_type": "stream", "name": "stderr", "text": ["err\n"]},
                {
                    "output_type": "execute_result",
                    "execution_count": 2,
                    "data": {"text/plain": ["42"]},
                    "metadata": {},
                },
            ]
            (shown,) = image["outputs"]
            assert base64.b64decode(shown["data"]["image/png"]).startswith(b"\x89PNG")
            (shown,) = plot["outputs"]
            assert "".join(shown["data"]["image/svg+xml"]).startswith("<svg")
            (error,) = failed["outputs"]
            assert (error["ename"], error["evalue"]) == ("ZeroDivisionError", "division by zero")
            assert error["traceback"][0] == "Traceback (most recent call last):"
            assert skipped["outputs"] == said
            counts = [c["execution_count"] for c in (first, image, plot, failed, skipped)]
            assert counts == [2, 3, 4, 5, 1]
            for got in (first, image, plot, failed):  # with its previous contents
                got |= {"outputs": said, "execution_count": 1}
            assert json.dumps(found, indent=1, ensure_ascii=ascii_only) + "\n" == content
            assert text.count('"a": 1.0') == 5
            assert ("\\u00e4" in text) is ascii_only

    def test_a_plot_that_is_not_in_view_is_in_the_file(
        self, editor: Editor, tmp_path: Path
    ) -> None:
        asks = "answer = input('Go? ')\npt.plot(pt.arange(3))"
        drop(editor.page, book__ipynb=notebook((asks, [])))
        editor.expect_tabs("main.py", "book.ipynb")
        editor.act("Run cell")
        field = editor.page.locator("#editor .cell-output input")
        field.fill("yes")
        editor.pane.locator(".editor-tab", has_text="main.py").click()
        expect(field).to_be_hidden()
        field.evaluate(
            """(field) => {
              const enter = { key: "Enter", bubbles: true, cancelable: true };
              field.dispatchEvent(new KeyboardEvent("keydown", enter));
            }"""
        )
        ended = editor.page.locator("#editor .cell-output > .entry.done")
        expect(ended).to_have_count(1, timeout=30_000)
        (cell,) = cells_of(editor, tmp_path)
        svg = "".join(cell["outputs"][-1]["data"]["image/svg+xml"])
        width = re.search(r'viewBox="\S+ \S+ (\S+) ', svg)
        assert width
        assert float(width[1]) > 100

    def test_cells_keep_what_is_theirs(self, editor: Editor, tmp_path: Path) -> None:
        said = {"output_type": "stream", "name": "stdout", "text": "said"}
        marked = 'm = """\n# %% within\n"""\nm'
        whole = json.loads(notebook(("a = 1", [said]), (marked, [said]), ("c = 3", [said])))
        whole["nbformat_minor"] = 5
        for i, cell in enumerate(whole["cells"]):
            cell["id"] = f"id-{i}"
        text = {"cell_type": "markdown", "id": "t", "metadata": {}, "source": "words\n%% of text"}
        whole["cells"].append(text | {"attachments": {"x": {}}})
        drop(editor.page, book__ipynb=json.dumps(whole).encode())
        editor.expect_done(3)
        before = cells_of(editor, tmp_path)
        editor.put("0", after="a = 1")
        editor.put("\n\n# %% new\nn = 4", after="a = 10")
        found = cells_of(editor, tmp_path)
        assert [cell["id"] for cell in found] == ["id-0", "cell-2", "id-1", "id-2", "t"]
        assert found[0] == before[0] | {"source": "a = 10"}
        assert found[1]["metadata"] == {"title": "new"}
        assert found[2:] == before[1:]
        editor.text.locator(".cm-line").get_by_text("m", exact=True).last.click()
        editor.press("End")
        editor.page.keyboard.insert_text(" + '!'")
        editor.press("Control+Enter")
        expect(editor.outputs.last).to_contain_text(r"'\n# %% within\n!'")
        found = cells_of(editor, tmp_path)
        assert [cell["id"] for cell in found] == ["id-0", "cell-2", "id-1", "id-2", "t"]
        assert found[2]["source"] == marked + " + '!'"
        assert found[2]["metadata"] == {"mine": 1}
        editor.put(" and more", after="of text")
        source = {"source": "words\n%% of text and more"}
        assert cells_of(editor, tmp_path)[4] == before[3] | source

    def test_they_come_back_with_the_same_file(self, editor: Editor) -> None:
        said = {"output_type": "stream", "name": "stdout", "text": "said"}
        content = notebook(("a", [said]), ("b", [said]))
        drop(editor.page, book__ipynb=content)
        expect(editor.outputs).to_have_count(2)
        editor.act("Clear outputs")
        expect(editor.outputs).to_have_count(0)
        drop(editor.page, book__ipynb=content)
        expect(editor.outputs).to_have_count(2)

    def test_another_version_of_the_file(self, editor: Editor) -> None:
        said = {"output_type": "stream", "name": "stdout", "text": "first"}
        drop(editor.page, book__ipynb=notebook(("a", [said]), ("b", [said])))
        expect(editor.outputs).to_have_count(2)
        drop(editor.page, book__ipynb=notebook(("a", []), ("b", [said | {"text": "second"}])))
        expect(editor.outputs).to_have_count(1)
        assert editor.lines == ["# %%", "a", "", "# %%", "b", "= second", ""]

    def test_another_version_while_a_cell_runs(self, editor: Editor) -> None:
        said = {"output_type": "stream", "name": "stdout", "text": "first"}
        asks = "name = input('Who? ')\nname.upper()"
        drop(editor.page, book__ipynb=notebook((asks, [said]), ("b", [said])))
        expect(editor.outputs).to_have_count(2)
        editor.put("", after="upper")
        editor.press("Control+Enter")
        field = editor.outputs.locator("input")
        expect(field).to_be_visible()
        said = said | {"text": "second"}
        drop(editor.page, book__ipynb=notebook((asks, [said]), ("b", [said])))
        expect(editor.outputs.filter(has_text="From the file")).to_contain_text("second")
        field.fill("ada")
        field.press("Enter")
        expect(editor.outputs.filter(has_text="ADA")).to_have_count(1)
        editor.expect_done(2)

    def test_values_that_are_no_text(self, visits: Visits) -> None:
        app = visits.open()
        editor = Editor(app.page).open()
        bad = {"toString": 1, "valueOf": 1}
        outputs = [
            {"output_type": "error", "ename": "E", "evalue": bad, "traceback": [bad]},
            {"output_type": "stream", "name": bad, "text": [bad]},
            {"output_type": "display_data", "data": {"image/png": bad, "text/plain": [bad]}},
        ]
        drop(app.page, book__ipynb=notebook(("a", outputs), ("b", [shows(text__plain="sound")])))
        for _ in range(2):
            editor.expect_tabs("main.py", "book.ipynb")
            editor.expect_done(2)
            expect(editor.outputs.first.locator(".error")).to_have_text("E: ")
            expect(editor.outputs.first).to_contain_text("Not shown: output of type image/png")
            expect(editor.outputs.last).to_contain_text("sound")
            visits.reload(app)
        assert [line for line in app.logged if line.kind == "pageerror"] == []

    def test_the_number_that_is_shown_has_a_limit(self, editor: Editor) -> None:
        cells = [(f"{i}", [shows(text__plain=f"<{i}>")]) for i in range(2000)]
        drop(editor.page, book__ipynb=notebook(*cells))
        expect(editor.outputs).to_have_count(300, timeout=30_000)
        expect(editor.outputs.last).to_contain_text("1,700 more outputs are not shown.")

    def test_cleared_ones_stay_cleared(self, visits: Visits) -> None:
        app = visits.open()
        editor = Editor(app.page).open()
        said = {"output_type": "stream", "name": "stdout", "text": "of the file"}
        sources = ("'here'", "'twice'", "'twice'", "'else'")
        drop(app.page, book__ipynb=notebook(*((source, [said]) for source in sources)))
        expect(editor.outputs).to_have_count(4)
        editor.put("", after="here")
        editor.press("Control+Enter")
        expect(editor.outputs.filter(has_text="From the file")).to_have_count(3)
        editor.expect_done(4)
        editor.act("Clear the output of cell 1")
        editor.act("Clear the output of cell 3")
        editor.expect_done(2)
        wait_for(lambda: visits.in_store(STORED_OUTPUTS) == [0, 1, 0, 1], app.page)
        visits.wait_until(lambda kept: not kept)
        visits.reload(app)
        editor.expect_done(2)
        lines = [line for line in editor.lines if line.strip()]
        assert lines[:5] == ["# %%", "'here'", "# %%", "'twice'", "= of the file"]
        editor.act("Clear outputs")
        wait_for(lambda: visits.in_store(STORED_OUTPUTS) == [0] * 4, app.page)
        said = said | {"text": "anew"}
        drop(app.page, book__ipynb=notebook(*((source, [said]) for source in sources)))
        editor.expect_done(4)

    def test_after_a_reload(self, visits: Visits) -> None:
        app = visits.open()
        editor = Editor(app.page).open()
        said = {"output_type": "stream", "name": "stdout", "text": "of the file"}
        drop(app.page, book__ipynb=notebook(("'here'", [said]), ("'else'", [said])))
        expect(editor.outputs).to_have_count(2)
        editor.put("", after="here")
        editor.press("Control+Enter")
        visits.wait_until_ended("# %%\n'here'")
        visits.reload(app)
        editor.expect_done(2)
        assert editor.lines[:3] == ["# %%", "'here'", "= 'here'"]
        expect(editor.outputs.filter(has_text="From the file")).to_contain_text("of the file")


def open_session(app: AppPage, name: str) -> None:
    app.page.locator("#sessions-button").click()
    app.page.locator(".session-row", has_text=name).click()


class TestKept:
    def test_files_and_tabs_are_there_after_a_reload(self, visits: Visits) -> None:
        app = visits.open()
        editor = Editor(app.page).open()
        editor.create()
        editor.expect_tabs("main.py", "program.py")
        editor.write("'typed before the reload'")
        visits.reload(app)
        editor.expect_tabs("main.py", "program.py")
        expect(editor.pane.locator(".editor-tab[aria-current]")).to_have_text("program.py")
        expect(editor.text).to_have_text("'typed before the reload'")
        assert app.run("open('program.py').read()")["result"] == "\"'typed before the reload'\""
        editor.button.click()
        expect(editor.pane).to_be_hidden()
        wait_for(lambda: visits.in_store(IS_OPEN) == [False], app.page)
        visits.reload(app)
        expect(editor.pane).to_be_hidden()

    def test_outputs_are_there_after_a_reload(self, visits: Visits) -> None:
        app = visits.open()
        editor = Editor(app.page).open()
        editor.write(
            "# %%\nn = 2\nprint('printed')\n\n# %%\npt.plot(pt.arange(3))\n\n# %%\nn / 0\n"
        )
        editor.act("Run all")
        editor.expect_done(3)
        editor.put("", after="printed")
        editor.press("Control+Enter")  # again: its output replaces the first
        editor.expect_done(3)
        visits.wait_until(lambda kept: len(kept) == 3 and all(s != "running" for _, s, _ in kept))
        visits.reload(app)
        editor.expect_done(3)
        assert editor.lines[:4] == ["# %%", "n = 2", "print('printed')", "= printed"]
        expect(editor.outputs.locator("svg, canvas").first).to_be_visible()
        expect(editor.outputs.filter(has_text="ZeroDivisionError")).to_have_count(1)
        expect(app.page.locator("#transcript .entry")).to_have_count(0)
        app.page.get_by_role("button", name="Run all again").click()
        expect(app.page.locator("#transcript")).to_contain_text("2 inputs ran again.")
        assert app.run("n")["result"] == "2"
        editor.act("Clear outputs")
        visits.wait_until(lambda kept: not kept)

    def test_a_cell_without_output_says_so(self, visits: Visits) -> None:
        app = visits.open()
        editor = Editor(app.page).open()
        editor.write("n = 2\n")
        editor.act("Run all")

        def expect_note() -> None:
            editor.expect_done(1)
            words = editor.outputs.locator("> .entry").evaluate(
                "(entry) => entry.innerText + getComputedStyle(entry, '::after').content"
            )
            assert "Done. No output." in words
            block, button = (
                part.bounding_box() for part in (editor.outputs, editor.outputs.locator("button"))
            )
            assert block
            assert button
            assert button["y"] + button["height"] <= block["y"] + block["height"]

        expect_note()
        visits.wait_until_ended("n = 2")
        visits.reload(app)
        expect_note()
        app.page.get_by_role("button", name="Run all again").click()
        expect(app.page.locator("#transcript")).to_contain_text("1 input ran again.")
        expect_note()

    def test_a_cell_that_ran_twice_runs_again_at_its_first_place(self, visits: Visits) -> None:
        app = visits.open()
        editor = Editor(app.page).open()
        cells = ["# %%\nimport math", "# %%\na = math.pi", "# %%\nprint('a is', a)"]
        editor.write("\n".join(cells))
        editor.act("Run all")
        editor.expect_done(3)
        editor.put("  # edited", after="import")
        editor.press("Shift+Enter")
        editor.expect_done(3)
        visits.wait_until_ended(f"{cells[0]}  # edited", *cells[1:])
        visits.reload(app)
        app.page.get_by_role("button", name="Run all again").click()
        expect(app.page.locator("#transcript .note").last).to_have_text("3 inputs ran again.")

    def test_running_again_shows_the_cell_that_fails(self, visits: Visits) -> None:
        app = visits.open()
        app.run("given = 1")
        editor = Editor(app.page).open()
        editor.write("# %%\n'works'\n\n# %%\n" + "# a line\n" * 60 + "given\n\n# %%\n'later'\n")
        editor.act("Run all")
        editor.expect_done(3)
        visits.wait_until(lambda kept: [state for _, state, _ in kept] == ["done"] * 3)
        editor.create()
        editor.expect_tabs("main.py", "program.py")
        visits.reload(app)
        app.page.get_by_role("button", name="Run all again").click()
        expect(app.page.locator("#transcript .note").last).to_have_text(
            "Stopped at an error in main.py, cell 2. 1 later input did not run."
        )
        expect(editor.pane.locator(".editor-tab[aria-current]")).to_have_text("main.py")
        expect(editor.outputs.locator(".error")).to_be_in_viewport()

    def test_outputs_leave_the_session_with_their_file(self, visits: Visits) -> None:
        app = visits.open()
        editor = Editor(app.page).open()
        editor.write("# %%\n'a result'\n\n# %%\n1 / 0\n")
        editor.act("Run all")
        editor.expect_done(2)
        visits.wait_until(lambda kept: [state for _, state, _ in kept] == ["done", "failed"])
        visits.reload(app)
        editor.expect_done(2)
        editor.act("Delete main.py")
        editor.expect_files()
        visits.wait_until(lambda kept: not kept)
        enter(Repl(app.page), "'at the prompt'")
        editor.act("Undo")
        editor.expect_done(2)
        visits.wait_until(lambda kept: [s for _, s, _ in kept] == ["done", "failed", "done"])
        visits.reload(app)
        editor.expect_done(2)
        assert "= 'a result'" in editor.lines
        expect(editor.outputs.last).to_contain_text("ZeroDivisionError")
        app.run("import os; os.remove('main.py')")  # a program can do this too
        editor.expect_files()
        visits.wait_until_ended("'at the prompt'")

    def test_undo_acts_once(self, visits: Visits) -> None:
        app = visits.open()
        editor = Editor(app.page).open()
        editor.write("# %%\n'one'\n\n# %%\n'two'\n")
        editor.act("Run all")
        editor.expect_done(2)
        editor.act("Delete main.py")
        editor.expect_files()
        visits.wait_until(lambda kept: not kept)
        undo = editor.pane.get_by_role("button", name="Undo")
        undo.evaluate("(button) => { button.click(); button.click(); }")
        editor.expect_tabs("main.py")
        editor.expect_done(2)
        visits.wait_until_ended("# %%\n'one'", "# %%\n'two'")
        app.page.locator("#sessions-button").click()
        expect(app.page.locator("#sessions-panel")).to_contain_text("2 inputs")

    def test_outputs_go_with_a_file_that_is_renamed(self, visits: Visits) -> None:
        app = visits.open()
        editor = Editor(app.page).open()
        editor.write("'a result'")
        editor.press("Control+Enter")
        editor.expect_done(1)
        visits.wait_until_ended("'a result'")
        visits.reload(app)
        editor.expect_done(1)
        editor.act("Rename main.py")
        editor.page.keyboard.type("other")
        editor.press("Enter")
        editor.expect_tabs("other.py")
        while visits.in_store(PATHS) != ["other.py"]:
            app.page.wait_for_timeout(50)
        visits.reload(app)
        editor.expect_tabs("other.py")
        editor.expect_done(1)
        assert "= 'a result'" in editor.lines

    def test_a_restart_keeps_the_files(self, fresh_page: Callable[..., AppPage]) -> None:
        app = fresh_page()
        editor = Editor(app.page).open()
        editor.write("'still here'")
        editor.press("ControlOrMeta+s")
        editor.page.locator("#status-button").click()
        editor.page.get_by_role("button", name="Restart Python").click()
        editor.page.keyboard.press("Escape")
        assert app.run("open('main.py').read()")["result"] == "\"'still here'\""
        editor.text.focus()
        editor.press("Control+Enter")
        editor.expect_done(1)
        expect(editor.outputs).to_contain_text("still here")

    def test_an_editor_that_is_opened_at_once_overwrites_nothing(self, visits: Visits) -> None:
        app = visits.open()
        editor = Editor(app.page).open()
        editor.write("'mine'")
        editor.press("ControlOrMeta+s")
        expect(editor.pane.locator(".editor-said")).to_have_text("Saved in this browser.")
        editor.button.click()
        app.page.add_init_script(CLICK_AT_ONCE)
        visits.reload(app)
        expect(editor.text).to_have_text("'mine'")
        editor.expect_tabs("main.py")

    def test_another_session_has_its_own(self, visits: Visits) -> None:
        app = visits.open()
        editor = Editor(app.page).open()
        editor.write("'of the first'")
        editor.press("ControlOrMeta+s")
        app.page.locator("#sessions-button").click()
        app.page.get_by_role("button", name="New session").click()
        expect(editor.text).to_contain_text("A cell starts with", timeout=30_000)
        open_session(app, "Session 1")
        expect(editor.text).to_have_text("'of the first'", timeout=30_000)

    def test_another_session_is_opened_right_after_typing(self, visits: Visits) -> None:
        app = visits.open()
        editor = Editor(app.page).open()
        app.page.locator("#sessions-button").click()
        expect(app.page.get_by_role("button", name="New session")).to_be_visible()
        app.page.evaluate(TYPE_AND_CLICK, ["'of the first'", "New session"])
        expect(editor.text).to_contain_text("A cell starts with", timeout=30_000)
        open_session(app, "Session 1")
        expect(editor.text).to_have_text("'of the first'", timeout=30_000)

    def test_text_is_typed_until_another_session_is_opened(self, visits: Visits) -> None:
        app = visits.open()
        editor = Editor(app.page).open()
        app.page.locator("#sessions-button").click()
        expect(app.page.get_by_role("button", name="New session")).to_be_visible()
        app.page.evaluate(TYPE_UNTIL_CLOSED, "New session")
        expect(editor.text).to_contain_text("A cell starts with", timeout=30_000)
        open_session(app, "Session 1")
        expect(editor.text).to_have_text(app.page.evaluate("window.typed"), timeout=30_000)

    def test_another_session_is_opened_while_the_storage_is_full(self, visits: Visits) -> None:
        app = visits.open(script=FULL)
        editor = Editor(app.page).open()
        editor.write("'saved'")
        editor.press("ControlOrMeta+s")
        expect(editor.pane.locator(".editor-said")).to_have_text("Saved in this browser.")
        app.page.evaluate("window.isFull = true")
        editor.write("'typed'")
        app.page.locator("#sessions-button").click()
        app.page.get_by_role("button", name="New session").click()
        expect(editor.text).to_contain_text("A cell starts with", timeout=30_000)
        app.page.evaluate("window.isFull = false")
        open_session(app, "Session 1")
        expect(editor.text).to_have_text("'typed'", timeout=30_000)

    def test_a_file_operation_is_of_the_session_where_it_began(self, visits: Visits) -> None:
        app = visits.open()
        editor = Editor(app.page).open()
        editor.write("'of the first'")
        editor.press("ControlOrMeta+s")
        app.page.locator("#sessions-button").click()
        app.page.get_by_role("button", name="New session").click()
        expect(editor.text).to_contain_text("A cell starts with", timeout=30_000)
        app.page.locator("#sessions-button").click()
        expect(app.page.locator(".session-row")).to_contain_text("Session 1")
        app.page.evaluate(DELETE_AND_LEAVE)
        expect(app.page.locator("#sessions-button")).to_contain_text("Session 1")
        expect(editor.text).to_have_text("'of the first'", timeout=30_000)
        app.run("0")
        editor.expect_files("main.py")

    def test_a_damaged_list_of_tabs(self, visits: Visits) -> None:
        app = visits.open()
        editor = Editor(app.page).open()
        editor.press("ControlOrMeta+s")
        expect(editor.pane.locator(".editor-said")).to_have_text("Saved in this browser.")
        visits.in_store(DAMAGE_TABS)
        visits.reload(app)
        expect(app.page.locator("#transcript")).to_contain_text(
            "The editor could not show the files"
        )
        app.page.locator("#sessions-button").click()
        app.page.get_by_role("button", name="New session").click()
        expect(editor.text).to_contain_text("A cell starts with", timeout=30_000)
        expect(app.page.locator(".divider")).to_have_count(1)

    def test_two_tabs_keep_their_unsaved_text(self, visits: Visits) -> None:
        tabs = [visits.open(script=FULL) for _ in range(2)]
        editors = [Editor(app.page).open() for app in tabs]
        for i, (app, editor) in enumerate(zip(tabs, editors, strict=True)):
            editor.write(f"'saved {i}'")
            editor.press("ControlOrMeta+s")
            expect(editor.pane.locator(".editor-said")).to_have_text("Saved in this browser.")
            app.page.evaluate("window.isFull = true")
            editor.write(f"'typed {i}'")
        for is_full in (True, False):
            for app in tabs:
                app.page.add_init_script(f"window.isFull = {str(is_full).lower()}")
                app.page.goto("about:blank")
            for i, (app, editor) in enumerate(zip(tabs, editors, strict=True)):
                visits.boot(app)
                expect(editor.text).to_have_text(f"'typed {i}'")
        kept = (
            "() => Object.keys(localStorage).filter((key) => key.startsWith('py_tensor.editor '))"
        )
        wait_for(lambda: visits.evaluate(kept) == [], tabs[0].page)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", SIZES)
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
        expect(offered).to_contain_text("bad.ipynb is not a valid notebook.")
        repl = Repl(editor.page)
        repl.expect_text('open("bad.ipynb", "rb").read()')
        repl.input.fill("")

    def test_help_names_its_place(self, editor: Editor) -> None:
        editor.write("pt.sum?")
        editor.press("Control+Enter")
        shown = editor.outputs.locator(".note")
        expect(shown).to_have_text("Help on pt.sum is open in the console, where Esc closes it.")
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
            expect(failed).to_be_visible(timeout=30_000)
            editor.page.clock.run_for(60_000)
            editor.press("ControlOrMeta+s")
            expect(editor.pane.locator(".editor-said")).to_contain_text("aved in this browser")
            expect(failed).to_be_visible()
            act()
            expect(failed).to_have_count(0)
        expect(editor.pane.locator(".editor-said")).to_contain_text("Cell 2 finished.")


class TestNotebooks:
    def test_counts_go_on_from_one_that_is_a_float(self, editor: Editor, tmp_path: Path) -> None:
        whole = json.loads(notebook(("'first'", []), ("'second'", [])))
        for cell, count in zip(whole["cells"], (1.0, 7.0), strict=True):
            cell["execution_count"] = count
        drop(editor.page, book__ipynb=json.dumps(whole).encode())
        editor.expect_tabs("main.py", "book.ipynb")
        editor.put("", after="first")
        editor.press("Control+Enter")
        editor.expect_done(1)
        text = downloaded(editor, "book.ipynb", tmp_path).decode()
        assert [cell["execution_count"] for cell in json.loads(text)["cells"]] == [8, 7]
        assert re.search(r'"execution_count":\s*7\.0\b', text)
        assert not re.search(r'"execution_count":\s*8\.0', text)

    def test_outputs_of_other_code_are_not_stored_in_its_cell(self, visits: Visits) -> None:
        """After a reload an output of earlier code is shown below the cell that took its place."""
        app = visits.open()
        editor = Editor(app.page).open()
        said = {"output_type": "stream", "name": "stdout", "text": "of the file"}
        drop(app.page, book__ipynb=notebook(("'here'", []), ("'else'", [said])))
        editor.expect_tabs("main.py", "book.ipynb")
        editor.put("", after="here")
        editor.press("Control+Enter")
        visits.wait_until_ended("# %%\n'here'")
        wait_for(lambda: visits.in_store(STORED_OUTPUTS) == [1, 1], app.page)
        editor.put("", after="here")
        editor.press("Shift+Home")
        editor.page.keyboard.insert_text("'other'")
        wait_for(lambda: "other" in app.run("open('book.ipynb').read()")["result"], app.page)
        visits.reload(app)
        editor.expect_done(3)  # also that of the file
        editor.act("Clear the output of a cell")
        visits.wait_until(lambda kept: not kept)
        app.page.wait_for_timeout(1000)  # the file would be written by now
        assert visits.in_store(STORED_OUTPUTS) == [1, 1]
